"""Notebooks run on both sides: the cells as one program, compared step by step."""

import json

import pytest

from chainer2torch.cli.running import run
from chainer2torch.cli.settings import settings
from chainer2torch.project import output
from chainer2torch.project.files import FileError
from chainer2torch.verify import verify_script
from chainer2torch.verify.script.notebook_script import as_script

CELLS = [
    "from __future__ import print_function\n%matplotlib inline\nimport numpy as np",
    "import chainer\nimport chainer.functions as F\nimport chainer.links as L\nnames = !ls",
    "%%bash\nexit 1",
    "class Net(chainer.Chain):\n    def __init__(self):\n        super().__init__()\n        with self.init_scope():\n"
    "            self.l = L.Linear(3, 2)\n\n    def forward(self, x):\n        return F.leaky_relu(self.l(x))",
    "model = L.Classifier(Net())\noptimizer = chainer.optimizers.MomentumSGD(lr=0.1)\noptimizer.setup(model)",
    "x = np.random.RandomState(0).normal(size=(4, 3)).astype(np.float32)\nt = np.array([0, 1, 0, 1], np.int32)",
    "%%time\nfor _ in range(3):\n    loss = model(x, t)\n    model.cleargrads()\n    loss.backward()\n"
    "    optimizer.update()\ndisplay(float(loss.array))",
]


def notebook(cells):
    made = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": cell} for cell in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def trees(tmp_path):
    src, out = tmp_path / "src", tmp_path / "out"
    (src / "work").mkdir(parents=True)
    (src / "work/train.ipynb").write_text(notebook(CELLS))
    project = run((src,), settings((src,), (), (), (), (), quiet=True))
    output.write_out(project, output.changes(project), out, force=False)
    return src, out


def test_a_notebook_is_compared_step_by_step(trees):
    src, out = trees
    text = (out / "work/train.ipynb").read_text()
    assert "import chainer\\n" not in text and "negative_slope=0.2" in text
    found = verify_script(src, out, ["work/train.ipynb"])
    assert found.ok, found.lines()
    assert [step.name for step in found.steps].count("loss") == 3
    assert not list(src.rglob("*.py")), "the source stays as it is"


def test_lines_about_the_future_may_stand_in_any_cell(tmp_path):
    cells = ["%matplotlib inline\nx = 7", "from __future__ import print_function\ny = x", "print(y)"]
    (tmp_path / "a.ipynb").write_text(notebook(cells))
    script = tmp_path / as_script(tmp_path, "a.ipynb")
    assert script.read_text().startswith("from __future__ import print_function\n")
    compile(script.read_text(), "<script>", "exec")


def test_a_notebook_that_computes_something_else_differs(trees):
    src, out = trees
    path = out / "work/train.ipynb"
    path.write_text(path.read_text().replace("negative_slope=0.2", "negative_slope=0.3"))
    assert not verify_script(src, out, ["work/train.ipynb"]).ok


def test_the_script_of_a_notebook(tmp_path):
    (tmp_path / "a.ipynb").write_text(notebook(["from __future__ import division\n%pylab", "x = !ls", "y = 1\n"]))
    (tmp_path / "a_ipynb.py").write_text("taken")
    assert as_script(tmp_path, "train.py") == "train.py"
    assert as_script(tmp_path, "a.ipynb") == "a_ipynb_.py"
    names = {}
    exec(compile((tmp_path / "a_ipynb_.py").read_text(), "a", "exec"), names)
    assert names["x"] is None and names["y"] == 1 and names["division"]
    assert (tmp_path / "a_ipynb.py").read_text() == "taken"
    (tmp_path / "b.ipynb").write_text("no JSON")
    with pytest.raises(FileError):
        as_script(tmp_path, "b.ipynb")
