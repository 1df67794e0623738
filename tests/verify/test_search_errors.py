"""Classes that a search finds by what failed attempts say: kinds of numbers, checks of sizes, tables of settings."""

from collections import OrderedDict

import pytest

from chainer2torch.verify.judge.outcome import PASSED
from chainer2torch.verify.models.verify_models import verify_models
from chainer2torch.verify.worker import (
    search_areas,
    search_arguments,
    search_lists,
    search_parts,
    search_shapes,
    search_values,
)
from chainer2torch.verify.worker.search_values import IMAGE, LABEL, SENTENCES, WORDS, array
from tests.support import model_batch
from tests.support.command_line import run

PROJECT = """
import chainer
import chainer.functions as F
import chainer.links as L


class Conditional(chainer.Chain):
    def __init__(self):
        super().__init__(conv=L.Convolution2D(3, 4, 3))

    def __call__(self, x, label):
        label = self.xp.stack([label] * x.shape[2], 2)
        label = self.xp.stack([label] * x.shape[3], 3)
        return F.sum(self.conv(x)) + F.sum(F.concat([x, label]))


class Sentences(chainer.Chain):
    def __init__(self, width, longest):
        super().__init__(conv=L.Convolution2D(1, 6, (3, width)), fc=L.Linear(6, 4))
        self.longest = longest

    def __call__(self, x):
        return self.fc(F.max_pooling_2d(F.relu(self.conv(x)), (self.longest - 2, 1)))


class Keeps(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(8, 4))

    def __call__(self, x, t):
        self.y = self.fc(x)
        self.loss = F.mean_squared_error(self.y, t)
        return self


class Deep(chainer.Chain):
    def __init__(self, depth):
        super().__init__(conv=L.Convolution2D(3, 4, 3, pad=1))
        n = (depth - 4) / 6
        assert (depth - 4) % 6 == 0, 'depth should be 6n+4'
        self.n = int(n)

    def __call__(self, x):
        h = self.conv(x)
        for _ in range(self.n):
            h = F.relu(h)
        return h


class Groups(chainer.Chain):
    def __init__(self):
        super().__init__(bias=L.Bias(axis=1, shape=(1,)))

    def __call__(self, x):
        groups = x.shape[1] // 9
        assert groups > 0, 'too few channels'
        return self.bias(F.sum(x[:, :groups], axis=1, keepdims=True))


class Settings(chainer.Chain):
    def __init__(self, opts):
        super().__init__()
        self.deep = opts['deep']
        with self.init_scope():
            self.a = L.Linear(opts['n_units'], opts['n_units'])
            self.b = L.Linear(opts['n_units'], opts['n_out'])

    def __call__(self, x):
        return self.b(self.a(x, deep=True) if self.deep else F.relu(self.a(x)))


class Maps(chainer.Chain):
    def __init__(self):
        super().__init__(conv=L.Convolution2D(3, 5, 1))

    def loss(self, h, t):
        return F.softmax_cross_entropy(h, t) + F.accuracy(h, t)

    def __call__(self, *args):
        x, t = args
        return self.loss(self.conv(x), t)
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    root = tmp_path_factory.mktemp("errors")
    (root / "src").mkdir()
    (root / "src" / "net.py").write_text(PROJECT)
    return verify_models(root / "src", model_batch.migrated_tree(root / "src", root / "out"), steps=1, timeout=300)


@pytest.mark.parametrize("name", ["Conditional", "Sentences", "Keeps", "Deep", "Groups", "Settings", "Maps"])
def test_what_is_found(report, name):
    outcomes = [o for o in report.outcomes if o.pair.row == f"net:{name}"]
    assert outcomes and outcomes[0].status == PASSED, report.lines(verbose=True)
    assert report.classes()[f"net:{name}"] == "proved"


def test_what_a_call_leaves_in_the_model_is_compared(report):
    compared = [o for o in report.outcomes if o.pair.row == "net:Keeps"]
    assert all("model.loss, model.y][1:]" in o.pair.chainer for o in compared)


ON_GPU = """
import chainer
import chainer.functions as F
import chainer.links as L
from chainer import cuda

cuda.get_device(0).use()
xp = cuda.cupy


class OnGpu(chainer.Chain):
    def __init__(self, n):
        super().__init__(fc=L.Linear(n, n), w=L.Parameter(xp.ones((1, n), dtype='f')))

    def __call__(self, x):
        return self.fc(x) + F.broadcast_to(self.w(), x.shape) * xp.random.randn(*x.shape).astype('f')
"""


def test_a_program_for_a_gpu_alone_draws_and_makes_arrays_on_the_host(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "net.py").write_text(ON_GPU)
    assert run("migrate", tmp_path / "src", "-q", "-o", tmp_path / "out").returncode in (0, 1)
    found = verify_models(tmp_path / "src", tmp_path / "out", steps=1, timeout=300)
    assert found.classes() == {"net:OnGpu": "proved"}, found.lines(verbose=True)


def _found(repaired, inputs, text):
    return [found for found, _ in repaired(inputs, {}, text, ValueError())]


def test_lists_that_should_be_arrays():
    found = _found(search_lists.repaired, {"x": SENTENCES, "t": SENTENCES}, "'list' object has no attribute 'shape'")
    assert found[0]["x"] == SENTENCES and found[0]["t"]["shape"] == [3, 4]
    assert [isinstance(value, dict) for value in found[-1].values()] == [True, True]


def test_maps_that_are_much_longer_than_high():
    found = [found["x"]["shape"] for found, _ in search_areas.by_area({"x": IMAGE}, {}, 16 * 6 * 6, 16 * 19 * 121)]
    assert [4, 3, 84, 492] in found  # a side of 32 gives 6 and each four more one more


def test_labels_of_images_are_maps():
    found = _found(search_shapes.repaired, {"x": IMAGE, "t": LABEL}, "An Expr instance cannot be evaluated as bool")
    assert found[0]["t"]["shape"] == [4, 32, 32]


def test_integers_beside_floats_become_floats_first():
    inputs = {"x": IMAGE, "label": WORDS}
    found = [found for found, _ in search_values.dtypes(inputs, {}, "Actual: float32 != int32")]
    assert found[0]["x"] == IMAGE and found[0]["label"]["dtype"] == "float32"
    stacked = {"x": IMAGE, "label": array("float32", (4, 5))}
    assert [found for found, _ in search_values.dtypes(stacked, {}, "float32 != object")][1]["label"]["plain"]


def test_settings_are_made_together_and_small():
    keys = {"opts": ["n_units", "dropout"]}
    options = {"n_units": ["512"], "dropout": ["0.3"]}
    _, whole = next(iter(search_arguments.others({}, {"opts": "{}"}, "'n_units'", options, keys)))
    assert whole == {"opts": "{'n_units': 8, 'dropout': 0.3}"}
    others = list(search_arguments.other_settings({"opts": "{'deep': True, 'n': 8}"}, {}))
    assert others[0] == {"opts": "{'deep': False, 'n': 8}"}
    assert list(search_arguments.other_settings({"n": "8"}, {})) == []


class _Search:
    without, optional = ["ksize", "name"], set()

    def values(self, name):
        return ["3", "4"]


class _Attempt:
    arguments, inputs = OrderedDict(n="8"), {"x": IMAGE}


def test_an_argument_that_an_error_names_is_given():
    error = TypeError("_make() missing 1 required positional argument: 'ksize'")
    found = [arguments for _, arguments in search_parts.instead_of_none(_Search(), _Attempt(), error)]
    assert found == [{"n": "8", "ksize": "3"}, {"n": "8", "ksize": "4"}]
    assert list(search_parts.instead_of_none(_Search(), _Attempt(), TypeError("'other' is missing"))) == []
