"""Models that nobody described and whose modules were never meant to be imported: they are compared all the same."""

import pytest

from chainer2torch.verify.judge.outcome import PASSED
from chainer2torch.verify.models.verify_models import verify_models
from tests.support import model_batch

SCRIPT = """
import argparse
import chainer
import chainer.functions as F
import chainer.links as L
from neighbour import FACTOR

parser = argparse.ArgumentParser()
parser.add_argument('data')
parser.add_argument('--units', type=int, default=6)
args = parser.parse_args()
words = open('no_such_file').read().split()


class Net(chainer.Chain):
    def __init__(self, n_units, activation):
        super().__init__(fc=L.Linear(5, n_units))
        self.activation = activation

    def __call__(self, x):
        return self.activation(self.fc(x)) * FACTOR


class Configured(chainer.Chain):
    def __init__(self, config):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(config.n_in, config.n_units)

    def forward(self, x):
        return F.tanh(self.fc(x))


class Wrapper(chainer.Chain):
    def __init__(self, predictor):
        super().__init__(predictor=predictor)

    def __call__(self, *args):
        x, t = args
        return F.mean_squared_error(self.predictor(x), t)


class Scale(chainer.Link):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.w = chainer.Parameter(1.0, (8,))

    def encode(self, x):
        return x * F.broadcast_to(self.w, x.shape)


class Counter(chainer.Chain):
    def __init__(self):
        super().__init__(rnn=L.StatelessLSTM(8, 8))
        self.c = self.h = None

    def __call__(self, x):
        self.c, self.h = self.rnn(self.c, self.h, x)
        return self.h


class Asks(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(4, words.count("a")))

    def __call__(self, x):
        return self.fc(x)


model = Net(args.units, F.relu)
for word in words:
    model.train(word)
"""


INSIDE = """
import chainer
import cupy
import numpy
from chainer import cuda
import chainer.functions as F
import chainer.links as L

xp = cuda.cupy


class Sized(chainer.Chain):
    def __init__(self, n_mid, depth=None):
        super().__init__(fc=L.Linear(8, n_mid), norm=L.GroupNormalization(24))
        self.depth = depth
        if depth == 'odd':
            self.extra = 1
        elif depth is None:
            raise ValueError('no such depth')

    def forward(self, x):
        return self.norm(self.fc(x))


class Deeper(Sized):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def forward(self, x):
        return -self.norm(self.fc(x))


class Reader(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(8, 7))

    def encode(self, x):
        return F.tanh(self.fc(x)), F.sigmoid(self.fc(x))


class Writer(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(7, 3))

    def decode(self, pair):
        first, second = pair
        assert first.shape == (4, 7) and second.shape == (4, 7)
        return self.fc(first * second)


class Gate(chainer.Chain):
    def __init__(self, table, inner):
        super().__init__(fc=L.Linear(4, table['units'][1]['out']))
        self.inner = inner

    def mix(self, h, state, how):
        if how != 3 or len(state) != 2:
            raise ValueError('how?')
        return self.fc(h) * F.broadcast_to(F.sum(state[0] + state[1]), (h.shape[0], 5))


class Holder(chainer.Chain):
    def __init__(self):
        super().__init__(gate=Gate({'units': [{}, {'out': 5}]}, F.relu), other=L.Linear(8, 4))

    def forward(self, x):
        h = self.other(x)
        return self.gate.mix(h, (h, h), 3)


class Early(L.NStepLSTM):
    def __init__(self, in_size, out_size):
        with self.init_scope():
            super(Early, self).__init__(1, in_size, out_size, 0.0)

    def forward(self, xs):
        return super(Early, self).forward(None, None, xs)[2]


class Words(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(8, 4))

    def best(self, x):
        return F.argmax(self.fc(x), axis=1)


class Two(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(8, 4))

    def mask(self, x):
        return x * 0 + 1

    def encode(self, x):
        return self.fc(x)


class Flattens(chainer.Chain):
    def __init__(self):
        super().__init__(conv=L.Convolution2D(2, 3, 3))
        self.add_link('fc', chainer.Sequential(L.Linear(None, 18), F.relu))

    def forward(self, x):
        return self.conv(F.reshape(self.fc(x), (-1, 2, 3, 3)))


class OnGpu(chainer.Chain):
    def __init__(self, device, adjacency, limit=None):
        super().__init__(fc=L.Linear(adjacency.shape[0], 4))
        self.device = device
        self.limit = float(limit)

    def forward(self, x):
        if isinstance(x.data, cupy.core.core.ndarray):
            x = x + 1
        ones = cuda.to_gpu(xp.ones((x.shape[0], 4), dtype=x.dtype))
        return F.ReLU()(self.fc(x)) * (ones + self.device)


class Memory(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(8, 6))

    def start(self, batch_size):
        self.kept = self.xp.zeros((batch_size, 6), dtype=numpy.float32)

    def forward(self, x):
        self.kept = F.tanh(self.fc(x) + self.kept)
        return self.kept


class Encoder(chainer.Chain):
    def __init__(self, n_units):
        super().__init__(rnn=L.NStepLSTM(1, 4, n_units, 0.0))
        self.out_size = n_units

    def forward(self, xs):
        h, _, _ = self.rnn(None, None, xs)
        return F.concat(h, axis=1)


class Head(chainer.Chain):
    def __init__(self, body):
        super().__init__(fc=L.Linear(body.out_size, 3))
        with self.init_scope():
            self.body = body

    def forward(self, xs):
        return self.fc(self.body(xs))


class Several(chainer.ChainList):
    def __init__(self, *sizes):
        super().__init__(*[L.Linear(None, size) for size in sizes])

    def forward(self, x):
        return self[1](F.relu(self[0](x)))


class OfArrays(chainer.Chain):
    def __init__(self, n_units):
        super().__init__(fc=L.Linear(9, n_units))

    def forward(self, x):
        return self.fc(chainer.Variable(x))


class Created(chainer.Chain):
    def __init__(me):
        pass

    def create(me, n_units, gpu):
        super().__init__(fc=L.Linear(8, n_units))

    def forward(me, x):
        return F.tanh(me.fc(x))


class Named(chainer.Chain):
    def __init__(self, **parts):
        super().__init__(**parts)

    def forward(self, x):
        return self.bn(self.last_part(F.relu(x)))


class Starts(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(3, 2))

    def start(self, x):
        return x * 0
"""


@pytest.fixture(scope="module")
def inside(tmp_path_factory):
    root = tmp_path_factory.mktemp("inside")
    (root / "src").mkdir()
    (root / "src" / "net.py").write_text(INSIDE)
    return verify_models(root / "src", model_batch.migrated_tree(root / "src", root / "out"), steps=1, timeout=300)


@pytest.mark.parametrize(
    "name, note",
    [
        # a constant that the code compares with, and sizes that a number of groups divides
        ("Sized", "found by trying: Sized(24, depth='odd') of f32[4,8]"),
        # what the base needs is handed on
        ("Deeper", "found by trying: Deeper(n_mid=24, depth='odd') of f32[4,8]"),
        # what another model gives
        ("Writer", "found by trying: Writer().decode of f32[4,7], f32[4,7]"),
        # as another model makes and calls it
        (
            "Gate",
            "found by trying: Gate(table={'units': [{}, {'out': 5}]}, inner=F.relu).mix of f32[4,4], "
            "['f32[4,4]', 'f32[4,4]'], 3",
        ),
        # an error since Chainer 5
        ("Early", "found by trying: Early(8, 8) of ['f32[4,8]', 'f32[6,8]', 'f32[4,8]']"),
        # integers have no gradient
        ("Words", "found by trying: Words().best of f32[4,8]"),
        # a method that its parameters have a part in
        ("Two", "found by trying: Two().encode of f32[4,8]"),
        # what a Linear flattens is a vector
        ("Flattens", "found by trying: Flattens() of f32[4,8]"),
        # a program for a GPU alone, an array as an argument, what is None by default and cannot be, names of then
        ("OnGpu", "found by trying: OnGpu(8, numpy.tri(8, dtype=numpy.float32), limit=8) of f32[4,8]"),
        # a state that another method makes
        ("Memory", "found by trying: Memory() after start(4) of f32[4,8]"),
        # a Variable in the place of a list, before Chainer 6
        ("Encoder", "found by trying: Encoder(8) of ['f32[4,4]', 'f32[6,4]', 'f32[4,4]']"),
        # layers that a method makes, once
        ("Created", "found by trying: Created() after create(8, -1) of f32[4,8]"),
        # arrays, not Variables
        ("OfArrays", "found by trying: OfArrays(8) of f32[4,9]"),
        # any number of arguments, and parts of any name
        ("Several", "found by trying: Several(8, 8) of f32[4,8]"),
        (
            "Named",
            "found by trying: Named(bn=L.BatchNormalization(5), "
            "last_part=importlib.import_module('net').Holder()) of f32[4,8]",
        ),
        # a class that has what is asked of the argument
        (
            "Head",
            "found by trying: Head(importlib.import_module('net').Encoder(8)) of ['f32[4,4]', 'f32[6,4]', 'f32[4,4]']",
        ),
    ],
)
def test_what_the_rest_of_the_project_tells(inside, name, note):
    outcomes = [o for o in inside.outcomes if o.pair.row == f"net:{name}"]
    assert outcomes and {o.status for o in outcomes} == {PASSED}, inside.lines(verbose=True)
    assert note in outcomes[0].notes


def test_a_method_that_no_parameter_has_a_part_in_proves_nothing(inside):
    assert inside.classes()["net:Starts"] == "not verified"
    assert "no parameter has a part in" in inside.reason("net:Starts")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    root = tmp_path_factory.mktemp("search")
    folder = root / "src" / "chainer-1.5"
    folder.mkdir(parents=True)
    (folder / "train-net.py").write_text(SCRIPT)
    (root / "src" / "parts").mkdir()
    (root / "src" / "parts" / "neighbour.py").write_text("FACTOR = 3\n")
    out = model_batch.migrated_tree(root / "src", root / "out")
    told = []
    report = verify_models(root / "src", out, steps=1, timeout=200, tell=lambda part, left: told.append(left))
    assert told and told[-1] == 0
    return report


@pytest.mark.parametrize(
    "name, note",
    [
        # as the script makes it, with the option's default
        ("Net", "found by trying: Net(6, F.relu) of f32[4,5]"),
        ("Configured", "found by trying: Configured(types.SimpleNamespace(n_in=8, n_units=8)) of f32[4,8]"),
        ("Wrapper", "found by trying: Wrapper(L.Linear(8, 8)) of f32[4,8], f32[4,8]"),
        ("Scale", "found by trying: Scale().encode of f32[4,8]"),
        ("Counter", "found by trying: Counter() of f32[4,8]"),
    ],
)
def test_what_is_compared_and_with_what(report, name, note):
    target = f"chainer-1.5/train-net:{name}"
    outcomes = [o for o in report.outcomes if o.pair.row == target]
    assert len(outcomes) == 4 and {o.status for o in outcomes} == {PASSED}, report.lines(verbose=True)
    assert note in outcomes[0].notes


def test_what_did_not_run_is_named_where_it_is_needed(report):
    why = report.reason("chainer-1.5/train-net:Asks")
    assert "words of chainer-1.5/train-net.py:12.count is needed here" in why and "it is not run" in why


def test_the_classes_are_counted(report):
    assert report.classes()["chainer-1.5/train-net:Net"] == "proved"
    assert report.lines()[-1] == "5 of 6 classes proved (83%); 1 not verified"
    assert report.exit_code == 0
    report.at_least = 90
    assert report.exit_code == 1
    assert report.lines()[-1] == "FAILED: 83% of the classes are proved, fewer than --at-least 90"
    report.at_least = 0
