"""Notebooks on the command line: what changes is the source of code cells, and nothing else of the file."""

import json

import pytest

from chainer2torch.project import notebooks
from chainer2torch.project.files import FileError
from tests.support import command_line

IMPORTS = (
    "%matplotlib inline\nimport numpy as np\nimport chainer  # the framework\nimport chainer.functions as F\n"
    "import chainer.links as L\n"
)
NET = """class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(4, 3)

    def forward(self, x):
        return F.leaky_relu(self.l1(x))"""
USE = """x = np.ones((5, 4), 'f')
%time y = F.tanh(model(x))
print('%s'
      % y.data)
model?
files = !ls
y.shape"""


def run(*arguments, cwd):
    return command_line.run(*arguments, cwd=cwd, env=command_line.PLAIN)


def notebook(*cells, single=False):
    made = []
    for number, cell in enumerate(cells):
        kind, source = cell if isinstance(cell, tuple) else ("code", cell)
        lines = source if single else source.splitlines(keepends=True)
        made.append({"cell_type": kind, "metadata": {"tags": ["é"]}, "source": lines})
        if kind == "code":
            made[-1] |= {
                "execution_count": 3,
                "id": f"c{number}",
                "outputs": [{"name": "stdout", "output_type": "stream", "text": ["import chainer\n", "0.5"]}],
            }
    return {
        "cells": made,
        "metadata": {"kernelspec": {"language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def sources(path):
    return ["".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]


@pytest.fixture
def folder(tmp_path):
    src = tmp_path / "src"
    src.mkdir()
    document = notebook(
        ("markdown", "# uses chainer"),
        IMPORTS,
        NET,
        "%%time\nmodel = Net()",
        USE,
        "",
        "# chainer, later",
        "%%bash\nls\n",
    )
    (src / "train.ipynb").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return src


def test_names_and_kinds_flow_through_the_cells(folder, tmp_path):
    done = run("migrate", folder, "-o", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    cells = sources(tmp_path / "out" / "train.ipynb")
    assert cells[0] == "# uses chainer"
    assert cells[1].startswith("%matplotlib inline\nimport numpy as np\nimport torch\nimport torch.nn as nn\n")
    assert cells[2].startswith("class Net(nn.Module):\n") and "negative_slope=0.2" in cells[2]
    assert cells[3] == "%%time\nmodel = Net()"
    assert cells[4] == USE.replace("F.tanh(model(x))", "torch.tanh(model(torch.as_tensor(x)))").replace(
        "y.data", "y.detach().cpu().numpy()"
    )
    assert cells[5:] == ["", "# chainer, later", "%%bash\nls\n"]
    assert not (tmp_path / "out" / "chainer_compat.py").exists(), "PyTorch has all that it uses"
    again = run("migrate", tmp_path / "out", cwd=tmp_path)
    assert again.returncode == 0 and again.stdout == "", "a second run changes nothing"


@pytest.mark.parametrize(
    "layout",
    [
        {"indent": 1, "ensure_ascii": False},
        {"indent": 2, "ensure_ascii": True},
        {},
        {"separators": (",", ":")},
        {"indent": "\t", "ensure_ascii": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_everything_but_the_sources_stays_byte_for_byte(tmp_path, layout, single, end):
    document = notebook(IMPORTS + "s = 'ü'\n", NET, single=single)
    text = json.dumps(document, **layout) + end
    raw = text.replace("\n", "\r\n").encode() if end == "\r\n" else text.encode()
    read = notebooks.read(raw, "n.ipynb")
    assert read.encode(read.text) == raw
    code = read.text.replace("import chainer  # the framework", "import torch").replace("chainer.Chain", "nn.Module")
    result = read.encode(code)
    expected = notebook(
        IMPORTS.replace("import chainer  # the framework", "import torch") + "s = 'ü'\n",
        NET.replace("chainer.Chain", "nn.Module"),
        single=single,
    )
    wanted = json.dumps(expected, **layout) + end
    assert result == (wanted.replace("\n", "\r\n") if end == "\r\n" else wanted).encode()


def test_diff_shows_cells_and_reports_name_them(folder):
    done = run("migrate", ".", cwd=folder)
    assert done.returncode == 1
    assert "--- a/train.ipynb:cell 3\n+++ b/train.ipynb:cell 3\n" in done.stdout
    assert "-class Net(chainer.Chain):\n+class Net(nn.Module):\n" in done.stdout and "outputs" not in done.stdout
    text = run("report", ".", cwd=folder).stdout
    assert "train.ipynb:cell 3:8:16: C2T100 exact chainer.functions.leaky_relu" in text
    assert "train.ipynb:cell 5:2:11: C2T100 exact chainer.functions.tanh" in text, "the column behind a magic"
    assert "train.ipynb:cell 3:1:" in run("check", ".", cwd=folder).stdout
    document = json.loads(run("report", ".", "--format", "json", cwd=folder).stdout)
    site = next(s for s in document["files"][0]["sites"] if s["symbol"] == "chainer.functions.leaky_relu")
    assert (site["cell"], site["line"]) == (3, 8)
    sarif = json.loads(run("check", ".", "--format", "sarif", cwd=folder).stdout)
    lines = (folder / "train.ipynb").read_text().splitlines()
    for result in sarif["runs"][0]["results"]:
        line = lines[result["locations"][0]["physicalLocation"]["region"]["startLine"] - 1]
        if result["properties"]["symbol"] == "chainer.functions.leaky_relu":
            assert "F.leaky_relu" in line
    page = run("report", ".", "--format", "html", cwd=folder)
    assert page.returncode == 0 and "# %% cell 3" in page.stdout


def test_a_module_beside_it_and_write(tmp_path):
    (tmp_path / "net.py").write_text(
        "import chainer\nimport chainer.links as L\n\n\nclass Net(chainer.Chain):\n    def __init__(self):\n"
        "        super().__init__()\n        with self.init_scope():\n            self.l = L.Linear(3, 2)\n"
    )
    path = tmp_path / "use.ipynb"
    cells = ["from net import Net\nmodel = Net()", "model.cleargrads()\nmodel.l.W"]
    path.write_text(json.dumps(notebook(*cells), indent=1))
    done = run("migrate", ".", "--write", "--force", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sources(path)[1] == "model.zero_grad()\nmodel.l.weight"


def test_magics_that_name_chainer_are_listed_and_kept(tmp_path):
    path = tmp_path / "m.ipynb"
    cells = [
        "!pip install -q chainer==7.8.1 \\\n    cupy-cuda101\nimport chainer.functions as F\nF.relu",
        "%%writefile net.py\nimport chainer\n",
        "!ls",
        "%%html\n<b>chain</b>",
    ]
    path.write_text(json.dumps(notebook(*cells), indent=1))
    done = run("report", path, cwd=tmp_path)
    assert "m.ipynb:cell 1:1:1: C2T015 manual chainer:" in done.stdout
    assert "m.ipynb:cell 2:1:1: C2T015 manual chainer:" in done.stdout
    assert done.stdout.count("C2T015") == 2 and done.returncode == 1
    run("migrate", path, "--write", "--force", cwd=tmp_path)
    assert sources(path) == [
        cells[0].replace("import chainer.functions as F", "import torch.nn.functional as F"),
        *cells[1:],
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{"cells": [\n"chainer", }', 2, "invalid JSON"),
        ("import chainer\n", 1, "invalid JSON"),
        ('{"chainer": 1}', None, "no list of cells"),
        ('{"cells": [{"cell_type": "code", "source": [1, "chainer"]}]}', None, "cell 1 is not text"),
    ],
)
def test_what_is_no_notebook_is_said(tmp_path, text, line, message):
    (tmp_path / "bad.ipynb").write_text(text)
    (tmp_path / "good.py").write_text("import chainer.functions as F\nF.relu\n")
    done = run("migrate", ".", "--write", "--force", cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr
    assert done.stderr.startswith(f"bad.ipynb:{line}: C2T013" if line else "bad.ipynb: C2T013"), done.stderr
    assert (tmp_path / "bad.ipynb").read_text() == text
    assert "torch" in (tmp_path / "good.py").read_text(), "the others are done"


def test_a_syntax_error_names_the_cell(tmp_path):
    path = tmp_path / "n.ipynb"
    path.write_text(json.dumps(notebook(IMPORTS, "x = 1\nprint x\ny = [for z in x]"), indent=1))
    before = path.read_bytes()
    done = run("migrate", path, "--write", "--force", cwd=tmp_path)
    assert done.returncode == 2 and "n.ipynb:cell 2:2: C2T005 is Python 2" in done.stderr, done.stderr
    assert path.read_bytes() == before


def test_cells_of_python_2_are_converted(tmp_path):
    path = tmp_path / "n.ipynb"
    path.write_text(
        json.dumps(notebook(IMPORTS, "x = 1\nprint x, 7 / 2", "def half(n):\n    return n / 2\nprint F.relu"), indent=1)
    )
    done = run("migrate", path, "--write", "--force", cwd=tmp_path)
    assert "n.ipynb" in done.stderr and "made Python 3" in done.stderr, done.stderr
    cells = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert cells[1] == "x = 1\nprint(x, 7 // 2)", cells
    assert cells[2].splitlines()[1].startswith("    # TODO(chainer2torch C2T018)"), cells


def test_other_languages_and_old_formats(tmp_path):
    other = notebook("library(chainer)")
    other["metadata"]["kernelspec"]["language"] = "R"
    assert notebooks.read(json.dumps(other).encode(), "r.ipynb").text == ""
    old = {
        "metadata": {},
        "nbformat": 3,
        "worksheets": [
            {
                "cells": [
                    {"cell_type": "code", "input": ["import chainer\n", "chainer"], "language": "python", "outputs": []}
                ]
            }
        ],
    }
    read = notebooks.read(json.dumps(old).encode(), "o.ipynb")
    assert read.text == "import chainer\nchainer"
    assert b'["import torch\\n", "chainer"]' in read.encode("import torch\nchainer")


@pytest.mark.parametrize(
    "source",
    [
        "!ls\n",
        "  !ls",
        "x = !ls | wc",
        "x, y = %run a.py",
        "%timeit -n 10 f(x)",
        "%timeit",
        "%%capture out\nf(x)",
        "?f",
        "f??",
        "a.b?",
        "%time x = f(\\\n   1)",
        "if x:\n    !ls\n    %cd a\nelse:\n    y = 1",
        "s = '''\n%no\n'''\n!ls",
        "f(a\n  % b)\n!ls",
        "%%javascript\nif (x) {",
        ";f a b",
        "!a \\\n  b \\\n  c\nx = 1",
        "# %no\n!ls",
        "print('?')\n!x?",
        "%%bash\n\n\n",
        "\n\n",
        "",
        "x = 'a\\\n%b'\n%c",
        "await f()",
    ],
)
def test_magics_come_back(source):
    cells = ["a = 1", source, "b = 2"]
    read = notebooks.read(json.dumps(notebook(*cells)).encode(), "n.ipynb")
    compile(read.text, "n", "exec", dont_inherit=True, flags=0x2000)  # top-level await is allowed
    assert list(read.sources(read.text)) == cells
    for line in range(1, read.text.count("\n") + 2):
        place = read.place(line)
        assert 1 <= place.line <= cells[place.cell - 1].count("\n") + 1


def test_a_text_that_cannot_be_divided_is_refused():
    read = notebooks.read(json.dumps(notebook("!ls", "b = 2")).encode(), "n.ipynb")
    with pytest.raises(FileError, match="cells"):
        read.encode(read.text.replace("__c2t_cell__(1)", "pass"))
    with pytest.raises(FileError, match="magic"):
        read.encode(read.text.replace("__c2t_magic__(0)", "pass"))
