"""The Chainer side runs under old interpreters: its files are Python 3.6, and where one is there, it is tried.

``CHAINER2TORCH_LEGACY_PYTHONS`` names interpreters with a Chainer of their time, separated as in ``PATH``.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from chainer2torch.verify.trace import run_trace
from chainer2torch.verify.models.verify_models import verify_models
from chainer2torch.verify.rules.verify_rules import verify_rules
from chainer2torch.verify.script.verify_script import verify_script
from tests.support import model_batch
from tests.verify.test_script import CHAINER, TORCH

WORKER = Path(__file__).resolve().parents[2] / "chainer2torch" / "verify" / "worker"
SHARED = {
    "batch_order",
    "old_iterators",
    "clipped_norms",
    "shared_parameters",
    "old_names",
    "wire",
    "lockstep",
    "missing",
    "roots",
    "definitions",
    "first_names",
    "first_version",
    "old_own_optimizers",
}
SHARED |= {
    "host_cupy",
    "own_distribution",
    "outcomes",
    "kept_state",
    "model_text",
    "search_room",
    "search_values",
    "search_areas",
    "search_arguments",
    "search_conditions",
    "search_lists",
    "search_arrays",
    "search_globals",
    "search_methods",
    "search_neighbours",
    "search_parts",
    "search_state",
    "search_shapes",
    "attempt_values",
    "cheap_layers",
}
FILES = sorted(path for path in WORKER.glob("*.py") if path.stem.startswith("chainer_") or path.stem in SHARED)
# Of the standard library since Python 3.6.
LIBRARY = {
    "argparse",
    "ast",
    "builtins",
    "contextlib",
    "functools",
    "inspect",
    "io",
    "itertools",
    "json",
    "math",
    "operator",
    "os",
    "random",
    "re",
    "runpy",
    "signal",
    "sys",
    "threading",
    "tokenize",
    "time",
    "traceback",
    "types",
    "warnings",
    "zlib",
}
LEGACY = [python for python in os.environ.get("CHAINER2TORCH_LEGACY_PYTHONS", "").split(os.pathsep) if python]
# Those with Chainer's version 1.
_ASK = "import chainer; print(chainer.__version__)"
FIRST = [
    python
    for python in LEGACY
    if subprocess.run([python, "-c", _ASK], capture_output=True, text=True).stdout.startswith("1.")
]
VERSION_1 = """
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L
from chainer import Variable


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(conv=L.Convolution2D(1, 4, 3), bn=F.BatchNormalization(4), fc=L.Linear(None, 3))
        self.train = True

    def __call__(self, x):
        h = F.dropout(F.relu(self.bn(self.conv(x), test=not self.train)), 0.5, train=self.train)
        return self.fc(h) + F.matmul(self.fc(h)[:, 0], np.ones((1, 3), 'f')) / len(h)


model = L.Classifier(Net())
optimizer = chainer.optimizers.MomentumSGD(0.1)
optimizer.setup(model)
optimizer.add_hook(chainer.optimizer.WeightDecay(0.001))
for i in range(8):
    x, t = np.random.randn(6, 1, 5, 5).astype('f'), np.random.randint(0, 3, 6).astype('i')
    model.zerograds()
    loss = model(Variable(x), Variable(t))
    loss.backward()
    optimizer.update()
    model.predictor.train = False
    loss = model(Variable(x, volatile='on'), Variable(t, volatile='on'))
    model.predictor.train = True
    print(float(loss.data))
"""
NET = """
import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(2, 4, 3, pad=1)
            self.bn = L.BatchNormalization(4, eps=1e-11)  # Chainer 3 adds it to the running variance
            self.fc = L.Linear(None, 3)

    def __call__(self, x):
        h = F.max_pooling_2d(F.leaky_relu(self.bn(self.conv(x))), 2)
        return self.fc(F.dropout(h, 0.3))
"""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_worker_files_are_python_3_6(path):
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 6))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level}
    roots = {name.split(".")[0] for name in imported}
    # pkg_resources, importlib.metadata and Pillow are asked for and may be missing; CuPy is of the time.
    assert roots <= LIBRARY | {
        "numpy",
        "chainer",
        "cupy",
        "chainer2torch_worker",
        "pkg_resources",
        "PIL",
        "importlib",
        "gc",
        "zipfile",
        "collections",
        "resource",
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            assert {alias.name for alias in node.names} <= {other.stem for other in FILES}
        assert not isinstance(node, (ast.AnnAssign, ast.JoinedStr)), f"{path.stem}.py:{node.lineno}"


def test_an_interpreter_that_is_too_old_is_told_so():
    text = (WORKER / "chainer_worker.py").read_text(encoding="utf-8")
    assert "sys.version_info < (3, 6)" in text
    ancient = "import sys\nsys.version_info = (2, 7)\n" + text
    done = subprocess.run([sys.executable, "-c", ancient], capture_output=True, text=True)
    assert done.returncode == 1 and "Python 3.6 or newer is needed" in done.stderr


legacy = pytest.mark.skipif(not LEGACY, reason="CHAINER2TORCH_LEGACY_PYTHONS names no interpreter")


@pytest.mark.skipif(not FIRST, reason="CHAINER2TORCH_LEGACY_PYTHONS names none with Chainer 1")
@pytest.mark.parametrize("python", FIRST)
def test_a_script_of_version_1(python, tmp_path):
    """Vectors are columns, `len` counts elements; the losses show it."""
    code = model_batch.migrated(tmp_path, VERSION_1)
    assert "initial_avg_var=0" in code and "compat.matmul_of_columns(" in code and ".numel()" in code
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], chainer_python=python)
    assert report.exit_code == 0 and report.iterations == 8, "\n".join(report.lines())
    report = verify_rules(["F.relu", "F.max_pooling_2d", "L.Convolution2D"], matrix=False, chainer_python=python)
    lines = "\n".join(report.lines())
    assert report.compared > 10 and ", 0 failed" in lines, lines


@legacy
@pytest.mark.parametrize("python", [python for python in LEGACY if python not in FIRST])
def test_rules_models_scripts_and_traces(python, tmp_path):
    report = verify_rules(["F.relu", "F.leaky_relu", "F.dropout", "L.EmbedID"], matrix=False, chainer_python=python)
    assert report.exit_code == 0, "\n".join(report.lines())
    text = model_batch.migrated(tmp_path, NET)
    fault = text.replace("negative_slope=0.2", "negative_slope=0.3")
    assert fault != text
    for name, code in (("equal", text), ("fault", fault)):
        (tmp_path / "out" / "net.py").write_text(code)
        (tmp_path / "original" / "pyproject.toml").write_text(
            '[[tool.chainer2torch.verify.model]]\ntarget = "net:Net"\ninputs = ["f32[4,2,6,6]"]\n'
        )
        report = verify_models(tmp_path / "original", tmp_path / "out", chainer_python=python)
        lines = "\n".join(report.lines(verbose=True))
        assert report.exit_code == (name == "fault") and report.compared == (4 if name == "equal" else 0), lines
        assert name == "equal" or "first diverging link: /fc" in lines
    for name, code in (("src", CHAINER), ("port", TORCH)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.py").write_text(code)
    script = verify_script(tmp_path / "src", tmp_path / "port", ["train.py", "12"], chainer_python=python)
    assert script.exit_code == 0 and script.iterations == 12, "\n".join(script.lines())
    trace = run_trace(tmp_path / "src", ["train.py", "3"], chainer_python=python)
    assert trace["functions"]["train.py:Net.__call__"]["parameters"]["x"] == ["array rank 2 dtype float32 shape 7x5"]
    assert "chainer.functions.relu" in {call["callee"] for call in trace["calls"].values()}
