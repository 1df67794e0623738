"""A trace of one run: what it records, what the migration decides with it and says of it, and the models it gives."""

import json
import subprocess
import sys

import pytest

from chainer2torch.rules.table import load_rules
from chainer2torch.verify.trace import TraceError, entries, hints, migrate_with_trace, read, run_trace
from chainer2torch.verify.models.verify_models import verify_models

NET = """
import chainer
import chainer.functions as F
import chainer.links as L


class Block(chainer.Chain):
    def __init__(self, n, slope=0.1, size=(3, 3)):
        super(Block, self).__init__()
        self.slope = slope
        with self.init_scope():
            self.conv = L.Convolution2D(2, n, size, pad=1)
            self.embed = L.EmbedID(7, n)

    def forward(self, x, t):
        h = F.leaky_relu(self.conv(x), self.slope)
        return F.sum(h, axis=(2, 3)) + self.embed(t)


class Head(chainer.Chain):
    def __init__(self, body):
        super(Head, self).__init__()
        with self.init_scope():
            self.body = body

    def forward(self, x, t):
        return swap(self.body(x, t))


def swap(h):
    return h.transpose(1, 0)


def either(v):
    return v.T


TOOLS = {"swap": swap, "either": either}
"""
TRAIN = """
import sys
import chainer
import chainer.functions as F
import numpy as np
from net import TOOLS, Block, Head


def main():
    model = Head(Block(int(sys.argv[1])))
    optimizer = chainer.optimizers.SGD()
    optimizer.setup(model)
    for i in range(4):
        x = chainer.Variable(np.ones((5, 2, 3, 3), 'f'))
        t = np.array([0, 1, 6, 2, 2], 'i')
        h = model(x, t)
        TOOLS["swap"](h)
        TOOLS["either"](h)
        TOOLS["either"](F.sum(h, axis=0))
        loss = F.sum(h)
        model.cleargrads()
        loss.backward()
        optimizer.update()


if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    tree = tmp_path_factory.mktemp("src")
    (tree / "net.py").write_text(NET)
    (tree / "train.py").write_text(TRAIN)
    return tree


@pytest.fixture(scope="module")
def trace(project):
    return run_trace(project, ["train.py", "4"], iterations=2)


def _line(text, part):
    return next(i for i, line in enumerate(text.splitlines(), 1) if part in line)


def test_parameters_calls_and_classes(trace):
    assert trace["problem"] is None
    forward = trace["functions"]["net.py:Block.forward"]
    assert forward["count"] == 3  # two updates, and the forward before the third
    assert forward["parameters"] == {
        "x": ["tensor rank 4 dtype float32 shape 5x2x3x3"],
        "t": ["array rank 1 dtype int32 shape 5"],
    }
    line = _line(NET, "F.leaky_relu")
    calls = {key: call for key, call in trace["calls"].items() if key.startswith(f"net.py:{line}:")}
    assert {call["callee"] for call in calls.values()} == {
        "chainer.functions.leaky_relu",
        "chainer.links.Convolution2D",
    }
    if sys.version_info >= (3, 11):
        column = NET.splitlines()[line - 1].index("F.leaky_relu") + 1
        assert calls[f"net.py:{line}:{column}"]["callee"] == "chainer.functions.leaky_relu"
    block = trace["classes"]["net:Block"]
    assert block["args"] == [4, 0.1, {"tuple": [3, 3]}] and block["inputs"] == ["f32[5,2,3,3]", "i32[5] in [0,6]"]
    assert all(not name.startswith("<") for name in trace["functions"])


def test_hints_hold_only_what_every_call_had(trace):
    found = hints(trace)
    assert found["net.py:Block.forward.x"] == "tensor rank 4"
    assert found["net.py:Block.forward.t"] == "device rank 1 dtype int32"
    assert found["net.py:swap.h"] == "tensor rank 2"
    assert found["net.py:either.v"] == "tensor"  # of two ranks
    assert "net.py:Head.__init__.body" not in found  # the project's own class
    assert found["net.py:Block.__init__.n"] == "int"


def test_the_migration_decides_with_it_and_says_so(project, trace):
    sources = {
        "other.py": "def swap(h):\n    import chainer\n    return h.transpose(1, 0)\n",
        "net.py": NET.replace("        return swap(self.body(x, t))\n", "        return self.body(x, t)\n"),
    }
    rules = load_rules()
    plain = migrate_with_trace(sources, {}, rules=rules)
    traced = migrate_with_trace(sources, hints(trace), rules=rules)
    assert "h.transpose(1, 0)" in plain["net.py"].code and "h.permute(1, 0)" in traced["net.py"].code
    assert "h.transpose(1, 0)" in traced["other.py"].code  # another file's function of that name
    noted = {(site.line, site.state) for site in traced["net.py"].sites if "trace" in site.message}
    assert noted == {(_line(sources["net.py"], part), "close") for part in ("h.transpose(1, 0)", "v.T")}
    assert not any("trace" in site.message for site in plain["net.py"].sites)


def test_what_the_code_says_counts_more_than_one_run():
    source = {
        "net.py": "import chainer\nimport chainer.functions as F\n\n\ndef turn(v):\n    return v.size\n\n\n"
        "def use(x):\n    return turn(F.sum(x, axis=1, keepdims=True)), turn(F.reshape(x, (2, 3)))\n"
    }
    rules = load_rules()
    plain = migrate_with_trace(source, {}, rules=rules)["net.py"].code
    assert "v.numel()" in plain
    wrong = migrate_with_trace(source, {"net.py:turn.v": "array rank 3"}, rules=rules)["net.py"].code
    assert wrong == plain


def test_models_of_a_trace_are_verified(project, trace, tmp_path):
    found, left = entries(trace, project)
    assert [entry.target for entry in found] == ["net:Block"]
    assert left == ["net:Head: made from Block"]
    (tmp_path / "trace.json").write_text(json.dumps(trace))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "chainer2torch",
            "migrate",
            str(project),
            "-o",
            str(tmp_path / "out"),
            "--trace",
            str(tmp_path / "trace.json"),
        ],
        capture_output=True,
        text=True,
    )
    assert (tmp_path / "out" / "net.py").is_file(), done.stderr
    report = verify_models(project, tmp_path / "out", trace=tmp_path / "trace.json", steps=1)
    text = "\n".join(report.lines(verbose=True))
    assert report.exit_code == 0 and report.compared == 4, text
    assert "not verified: net:Head (trace): made from Block" in text


def test_the_command_and_its_errors(project, tmp_path):
    out = tmp_path / "t.json"
    command = [sys.executable, "-m", "chainer2torch", "trace", "-o", str(out), "--iterations", "1", "--"]
    done = subprocess.run([*command, "train.py", "3"], cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert read(out)["classes"]["net:Block"]["args"][0] == 3
    done = subprocess.run([*command, "train.py", "x"], cwd=project, capture_output=True, text=True)
    assert done.returncode == 2 and "the script failed: ValueError" in done.stderr and read(out)["problem"]
    done = subprocess.run([*command, "none.py"], cwd=project, capture_output=True, text=True)
    assert done.returncode == 2 and "none.py: no such script" in done.stderr
    out.write_text("[]")
    with pytest.raises(TraceError, match="not a trace"):
        read(out)
