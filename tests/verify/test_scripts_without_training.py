"""A script that trains nothing: what it prints and writes is compared, from weights that Chainer has written."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from chainer2torch.verify.script import outputs, printed
from chainer2torch.verify.script.verify_script import verify_script
from tests.support import model_batch

SCRIPT = """
import time

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from PIL import Image


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.a = L.Linear(3, 4)
            self.b = L.Linear(4, 3)

    def forward(self, x):
        return F.softmax(self.b(F.leaky_relu(self.a(x))))


start = time.time()
net = Net()
LOAD
x = np.random.rand(5, 3).astype('f')
with chainer.using_config('train', False), chainer.no_backprop_mode():
    y = net(x)
print('classes', F.argmax(y, axis=1).array, 'of', y.shape)
print('mean: {:.6f}'.format(float(F.mean(y).array)), 'largest', y.array.max())
print('took', time.time() - start, 'sec')
np.save('found.npy', y.array)
np.savez('found.npz', best=y.array.argmax(axis=1), y=y.array)
Image.fromarray((y.array * 255).astype(np.uint8)).save('found.png')
"""
LOAD = "chainer.serializers.load_npz('net.npz', net)"


def _verified(tmp_path):
    return verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=300)


def _weights(tmp_path):
    rng = np.random.RandomState(3)
    shapes = {"a/W": (4, 3), "a/b": (4,), "b/W": (3, 4), "b/b": (3,)}
    np.savez(tmp_path / "original" / "net.npz", **{key: rng.randn(*shape).astype("f") for key, shape in shapes.items()})


@pytest.mark.parametrize("load", [LOAD, ""], ids=["loaded", "as made"])
def test_what_it_prints_and_writes_is_compared(tmp_path, load):
    model_batch.migrated(tmp_path, SCRIPT.replace("LOAD", load))
    _weights(tmp_path)  # of a training under Chainer, after the migration
    text = "\n".join(_verified(tmp_path).lines())
    assert "EQUAL: " in text and "it trains nothing" in text, text
    for name in ("printed: 9 values", "found.npy: array: 15 values", "found.npz: best: 5", "found.png: pixels: 15"):
        assert name in text, text


FAULTS = {
    "printed": ("'largest'", "1, 'largest'"),
    "text": ("'largest'", "'smallest'"),
    "a value": ("negative_slope=0.2", "negative_slope=0.1"),
    "a line": ("print('took'", "print(3)\nprint('took'"),
    "an array": ("np.save('found.npy', ", "np.save('found.npy', 1.5 * "),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(tmp_path, fault):
    model_batch.migrated(tmp_path, SCRIPT.replace("LOAD", LOAD))
    _weights(tmp_path)
    script = Path(tmp_path / "out" / "net.py")
    text = script.read_text()
    assert FAULTS[fault][0] in text
    script.write_text(text.replace(*FAULTS[fault]))
    report = _verified(tmp_path)
    assert not report.ok and report.exit_code == 1, "\n".join(report.lines())


@pytest.mark.parametrize("argument", ["", "scale.txt"])
def test_a_script_that_finds_its_files_in_its_own_folder_is_run_there(tmp_path, argument):
    folder = tmp_path / "original" / "tools"
    folder.mkdir(parents=True)
    (folder / "scale.txt").write_text("2.5\n")
    (folder / "run.py").write_text(
        "import chainer.functions as F\nimport numpy as np\n"
        "import sys\nwith open(sys.argv[-1] if OPENS else 'scale.txt') as file:\n    scale = float(file.read())\n"
        "print(scale * F.sum(np.ones(3, 'f')).array)\n"
    )
    script = (folder / "run.py").read_text()
    (folder / "run.py").write_text(script.replace("OPENS", str(bool(argument))))
    model_batch.migrated_tree(tmp_path / "original", tmp_path / "out")
    argv = ["tools/run.py", *filter(None, [argument])]
    report = verify_script(tmp_path / "original", tmp_path / "out", argv, timeout=300)
    text = "\n".join(report.lines())
    assert report.ok and "printed: 1 values" in text and "run in tools" in text, text


def test_a_script_that_finds_a_module_from_its_own_folder_is_run_there(tmp_path):
    """``sys.path.append('../..')`` counts from the folder in which a script is started."""
    folder = tmp_path / "original" / "work" / "run" / "first"
    folder.mkdir(parents=True)
    (tmp_path / "original" / "work" / "parts.py").write_text("SCALE = 2.5\n")
    (folder / "run.py").write_text(
        "import sys\nimport chainer.functions as F\nimport numpy as np\nsys.path.append('../..')\n"
        "from parts import SCALE\nrng = np.random.RandomState(seed=3)\n"
        "print(SCALE * F.sum(rng.rand(3).astype('f')).array + np.random.default_rng(seed=2).random())\n"
    )
    model_batch.migrated_tree(tmp_path / "original", tmp_path / "out")
    report = verify_script(tmp_path / "original", tmp_path / "out", ["work/run/first/run.py"], timeout=300)
    text = "\n".join(report.lines())
    assert report.ok and "printed: 1 values" in text and "run in work/run/first" in text, text


def test_nothing_that_could_be_compared_is_no_success(tmp_path):
    model_batch.migrated(tmp_path, "import chainer.functions as F\nimport numpy as np\nF.sum(np.ones(3, 'f'))\n")
    report = _verified(tmp_path)
    assert not report.ok and "FAILED: nothing was compared" in "\n".join(report.lines())


def _take(steps, *step):
    steps.append(step)


LINES = {
    "a Variable and a tensor": ("Loss: variable(2.1853855)", "Loss: tensor(2.1854, grad_fn=<AddBackward0>)", True),
    "a Variable and an array": ("variable([1. 2.])", "[1. 2.]", True),
    "arrays over lines": ("[[1. 2.]\n [3. 4.]]", "[[1.  2.]\n [3.  4.]]", True),
    "fewer digits": ("0.00123456", "0.0012", True),
    "another last digit": ("0.12", "0.13", False),
    "another whole number": ("12", "13", False),
    "another word": ("loss 1", "accuracy 1", False),
    "times": ("epoch took 3.5 sec", "epoch took 9.1 sec", True),
    "a bar": ("10 iters/sec\r20 iters/sec", "30 iters/sec\r40 iters/sec", True),
    "a day": ("begun at 2026_11_29_0_22_28", "begun at 2026_11_29_0_22_31", True),
    "numbers in names": ("conv1_2 3", "conv1_3 3", False),
    "more lines": ("1", "1\n2", False),
}


def test_words_count_that_the_program_does_not_say_itself():
    steps, problems = [], []
    text = "Ready.\nthe red house\n3 of 4\n"
    printed.compare(text, text, partial(_take, steps), problems, 'print("Ready.")')
    assert [step[2] for step in steps] == ["printed lines of words", "printed", "printed"] and problems == []


@pytest.mark.parametrize("name", LINES)
def test_which_lines_are_alike(name):
    theirs, ours, alike = LINES[name]
    steps, problems = [], []
    printed.compare(theirs, ours, lambda *step: steps.append(step), problems)
    assert (not problems and all(a == b for *_, a, b in steps)) == alike


def test_files_in_a_folder_that_is_named_by_the_time_are_the_same_files():
    def found(*moments):
        return {f"logs/{moment}_a/log": [{"loss": 1.5}] for moment in moments}

    pairs = [
        ("20261128_235657", "20261128_235701"),
        ("2026-11-28_23-56-57", "2026-11-29_00-00-01"),
        ("1795910400", "1795910411.25"),
    ]
    for left, right in pairs:
        steps, problems, unverified = [], [], []
        take = partial(_take, steps)
        outputs.compare(found(left), found(right), take, problems, unverified)
        assert (problems, unverified) == ([], []) and steps == [(1, 0, "log logs/<time>_a/log: loss", 1.5, 1.5)]
    steps, unverified = [], []
    several = {f"{n}/x.png": None for n in ("20261128", "20261129")}
    outputs.compare(several, {"00020261128/x.png": None}, partial(_take, steps), [], unverified)
    assert len(unverified) == 3


def test_a_script_of_python_2_writes_no_file_of_the_tree(tmp_path):
    """It runs in a copy in which other files are links."""
    source = tmp_path / "original"
    source.mkdir()
    (source / "found.txt").write_text("of an earlier run")
    (source / "net.py").write_text(
        "import chainer.functions as F\nimport numpy as np\n"
        "y = F.sum(np.ones(3, 'f')).data\nprint 'sum', y\n"
        "with open('found.txt', 'w') as file:\n    file.write(str(y))\n"
    )
    model_batch.migrated_tree(source, tmp_path / "out")
    report = _verified(tmp_path)
    assert report.ok and not report.unverified, "\n".join(report.lines())
    assert (source / "found.txt").read_text() == "of an earlier run"


@pytest.mark.parametrize(
    "asks",
    [
        "import pkg_resources\n__version__ = pkg_resources.get_distribution('own-nets').version",
        "from importlib.metadata import version\n__version__ = version('own_nets')",
    ],
)
def test_a_package_of_the_tree_that_is_not_installed_has_a_version(tmp_path, asks):
    package = tmp_path / "original" / "own_nets"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"{asks}\nfrom own_nets.net import doubled\n")
    (package / "net.py").write_text("import chainer.functions as F\ndef doubled(x):\n    return F.sum(x).array * 2\n")
    (tmp_path / "original" / "net.py").write_text(
        "import numpy as np\nimport own_nets\nprint(own_nets.doubled(np.ones(3, 'f')))\n"
    )
    model_batch.migrated_tree(tmp_path / "original", tmp_path / "out")
    report = _verified(tmp_path)
    assert report.ok, "\n".join(report.lines())
