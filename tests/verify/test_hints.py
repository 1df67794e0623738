"""What the search for a model begins with, as a project's own code tells it, and which classes are run once only."""

import pytest

from chainer2torch.verify.models.inferred import infer
from chainer2torch.verify.models.models_report import LEFT, PROVED, ModelsReport
from chainer2torch.verify.models.ports import Ports
from chainer2torch.verify.judge.outcome import PASSED, Outcome, Pair

HEAD = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\n"
NET = (
    HEAD
    + """

class Unit(chainer.Chain):
    def __init__(self, n_in, n_out):
        super().__init__(conv=L.Convolution3D(n_in, n_out, 3, pad=1))

    def forward(self, x):
        return F.relu(self.conv(x))


class Wide(Unit):
    pass


class Stage(chainer.ChainList):
    def __init__(self, block, n_layers, n_in):
        super().__init__(*[block(n_in, n_in) for _ in range(n_layers)])

    def forward(self, x):
        for f in self:
            x = f(x)
        return x


class Heads(chainer.Chain):
    def __init__(self, sizes):
        super().__init__()
        with self.init_scope():
            self.stage = Stage(table['unit'], 2, 3)
            for name in sizes:
                setattr(self, name, L.Linear(None, sizes[name]))
        self.names = list(sizes)

    def forward(self, x):
        h = self.stage(x)
        return [self[name](h) for name in self.names]


class Flat(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.rnn = L.NStepLSTM(1, 3, 3, 0.0)
            self.conv = L.Convolution2D(3, 3, 3)
        self.out_size = 3

    def reset(self, batch_size):
        self.h = None

    def forward(self, x):
        return self.rnn(None, None, list(F.max(self.conv(x), axis=2)))


class Last(chainer.Chain):
    def __init__(self, body):
        super().__init__(body=body, fc=L.Linear(body.out_size, 2))

    def forward(self, x):
        return self.fc(self.body(x))


table = {'unit': Unit, 'size': 3}


def build(factory, n_class):
    return factory({'hm': n_class, 'wh': 2})


model = build(Heads, unknown())
"""
)


def _read(root, files):
    src, out = root / "src", root / "out"
    for path, text in files.items():
        for tree in (src, out):
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text)
    found, left = infer(src, out, (), Ports(out, {}))
    hints = {some.target: some.hints for some in found} | {what.target: what.hints for what in left}
    return hints, {what.target: what.twin for what in left if what.twin}


@pytest.fixture(scope="module")
def hints(tmp_path_factory):
    return _read(tmp_path_factory.mktemp("hints"), {"net.py": NET})[0]


def test_layers_of_parts_and_bases_tell_what_a_class_takes(hints):
    first = {name.partition(":")[2]: hint["first"] for name, hint in hints.items()}
    assert first == {**dict.fromkeys(("Unit", "Wide", "Stage", "Heads"), "films"), "Flat": "images", "Last": "vectors"}


def test_what_a_constructor_calls_is_a_class_of_the_project(hints):
    unit = "importlib.import_module('net').Unit"
    assert hints["net:Stage"]["values"]["block"][0] == unit
    assert hints["net:Stage"]["recipes"][0]["block"] == unit


def test_what_is_asked_of_a_parameter_tells_its_class(hints):
    assert hints["net:Last"]["fitting"] == {"body": ["Flat"]} and hints["net:Heads"]["fitting"] == {}
    assert hints["net:Last"]["values"]["body"] == ["importlib.import_module('net').Flat()"]


def test_methods_that_set_an_attribute_are_known(hints):
    assert hints["net:Flat"]["setters"]["h"] == {"reset": ["batch_size"]}


def test_tables_are_read_with_guesses_for_what_is_not_known(hints):
    assert hints["net:Heads"]["values"]["sizes"] == ["{'hm': 10, 'wh': 2}"]


def test_copies_of_a_file_are_run_once(tmp_path):
    other = NET.replace("3, pad=1", "1")
    files = {"a/net.py": NET, "b/net.py": NET, "c/net.py": other, "d/own.py": "from net import Unit\n" + NET}
    files["e/own.py"] = files["d/own.py"]  # another `net` may be meant
    _, twins = _read(tmp_path, files)
    names = ("Unit", "Wide", "Stage", "Heads", "Flat", "Last")
    assert twins == {f"b.net:{name}": f"a.net:{name}" for name in names}
    way = "import os\nimport sys\nsys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))\n"
    (tmp_path / "out" / "b" / "net.py").write_text(f"{way}import chainer_compat as compat\n{NET}")
    report = ModelsReport([], [], {}, "cpu")
    left = [what for what in infer(tmp_path / "src", tmp_path / "out", (), Ports(tmp_path / "out", {}))[1] if what.twin]
    report.add_left(left)
    assert report.classes()["b.net:Unit"] == LEFT
    report.outcomes.append(Outcome(Pair("a.net:Unit", "a.net:Unit", "", "", ""), PASSED, [], compared=True))
    assert report.classes()["b.net:Unit"] == PROVED and report.classes()["b.net:Wide"] == LEFT
    assert "b.net:Unit: a copy of a.net:Unit, which is proved" in report.lines()


SEVERAL = """
import chainer
import chainer.links as L


class One(chainer.Chain):
    def __call__(self, x):
        return x


class Two(chainer.Chain):
    def __call__(self, x, h, scale=1):
        return x * h * scale


class Outer(chainer.Chain):
    def __init__(self, decoder):
        super().__init__()
        with self.init_scope():
            self.decoder = decoder

    def __call__(self, x, h):
        return self.decoder(x, h)


class Kernel(chainer.Chain):
    def __init__(self, n_in, n_out, ksize=None, pad=0):
        super().__init__(conv=L.Convolution2D(n_in, n_out, ksize, pad=pad))


def made(size):
    return Kernel(3, 4, ksize=size), Kernel(4, n_out=5, ksize=1)
"""


def test_what_is_called_with_several_inputs_takes_as_many(tmp_path):
    hints, _ = _read(tmp_path, {"net.py": SEVERAL})
    assert hints["net:Outer"]["fitting"] == {"decoder": ["Two"]}
    recipes = hints["net:Kernel"]["recipes"]
    assert {"n_in": "3", "n_out": "4", "ksize": "1"} in recipes and len(recipes) == 2
    assert not any("pad" in recipe for recipe in recipes)
