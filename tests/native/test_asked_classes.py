"""Questions for a class or a function have the answers that they had: what a row makes may be something else."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import pytorch_pfn_extras  # noqa: F401 - can be imported only once, and helpers come and go here

from tests.support.native_snippets import run as run_both

LINKS = "import chainer.links as L\n"

MADE = {
    "chainer.Initializer": {
        "chainer.initializers.Normal(0.02)": True,
        "chainer.initializers.Zero()": True,
        "chainer.initializers.Constant(3)": True,
        "chainer.initializers.HeNormal()": True,
        "chainer.initializers.NaN()": True,
        "'Zero'": False,
    },
    "chainer.initializers.Constant": {"chainer.initializers.Constant(2)": True, "chainer.initializers.Zero()": False},
    "(chainer.initializers.Normal, chainer.initializers.One)": {
        "chainer.initializers.Normal()": True,
        "chainer.initializers.One()": True,
        "chainer.initializers.Uniform()": False,
    },
    "chainer.Sequential": {
        "chainer.Sequential(L.Linear(2, 3), F.relu)": True,
        "chainer.Sequential(L.Linear(2, 3)).repeat(2)": True,
        "chainer.ChainList(L.Linear(2, 3))": False,
        "L.Linear(2, 3)": False,
    },
    "chainer.ChainList": {"chainer.Sequential(L.Linear(2, 3), F.relu)": True, "chainer.Chain(a=L.Linear(2, 3))": False},
    "chainer.Chain": {
        "chainer.Chain(a=L.Linear(2, 3))": True,
        "L.Classifier(L.Linear(2, 3))": True,
        "L.Bias(1, (3,))": False,
        "L.PReLU()": False,
        "L.Parameter(np.zeros(3, 'f'))": False,
        "L.Linear(2, 3)": False,
    },
    "(chainer.Chain, chainer.ChainList)": {"chainer.Chain(a=L.Linear(2, 3))": True, "L.PReLU()": False},
    "L.Classifier": {
        "L.Classifier(L.Linear(2, 3))": True,
        "L.Classifier(L.Linear(2, 3), lossfun=F.mean_squared_error)": True,
        "L.Linear(2, 3)": False,
    },
    "chainer.dataset.DatasetMixin": {
        "chainer.datasets.TransformDataset([1, 2], abs)": True,
        "chainer.datasets.SubDataset([1, 2, 3], 0, 2)": True,
        "chainer.datasets.ConcatenatedDataset([1], [2])": True,
        "chainer.datasets.ImageDataset(['a.png'])": True,
        "[1, 2]": False,
    },
    "chainer.dataset.Iterator": {
        "chainer.iterators.SerialIterator([1, 2, 3], 2)": True,
        "chainer.iterators.SerialIterator([1, 2, 3], 2, order_sampler=lambda order, position: np.arange(3))": True,
    },
    "chainer.training.extensions.PlotReport": {"chainer.training.extensions.PlotReport(['a'])": True},
}
CASES = [(asked, made, wanted) for asked, many in MADE.items() for made, wanted in many.items()]
CLASSIFIER = "class Own(L.Classifier):\n    pass\n\n"


def run(program: str) -> tuple[object, object, str]:
    return run_both(LINKS + program)


@pytest.mark.parametrize(("asked", "made", "wanted"), CASES)
def test_isinstance_answers_as_in_chainer(asked: str, made: str, wanted: bool) -> None:
    theirs, ours, code = run(f"def run(xs):\n    x = {made}\n    return isinstance(x, {asked})\n")
    assert theirs is ours is wanted, code


@pytest.mark.parametrize("asked", MADE)
def test_objects_of_several_kinds_in_one_program(asked: str) -> None:
    made = ", ".join(MADE[asked])
    theirs, ours, code = run(f"def run(xs):\n    return [isinstance(x, {asked}) for x in ({made},)]\n")
    assert theirs == ours == list(MADE[asked].values()), code


@pytest.mark.parametrize("made", ["L.Classifier(L.Linear(2, 3))", "Own(L.Linear(2, 3))", "make[0](L.Linear(2, 3))"])
def test_a_classifier_that_is_a_base_too(made: str) -> None:
    program = f"{CLASSIFIER}make = [L.Classifier]\n\n\ndef run(xs):\n    return isinstance({made}, L.Classifier)\n"
    theirs, ours, code = run(program)
    assert theirs is ours is True, code


COUNTED = [
    ("chainer.dataset.DatasetMixin", "chainer.datasets.TupleDataset([1, 2], [3, 4])"),
    ("chainer.dataset.DatasetMixin", "chainer.datasets.DictDataset(a=[1, 2])"),
    ("chainer.iterators.SerialIterator", "chainer.iterators.MultithreadIterator([1, 2], 1)"),
    ("L.NStepLSTM", "L.NStepBiLSTM(1, 2, 3, 0.)"),
]


@pytest.mark.parametrize(("asked", "made"), COUNTED)
def test_what_counts_in_pytorch_only_is_marked(asked: str, made: str) -> None:
    *_, code = run(f"def run(xs):\n    return isinstance({made}, {asked}) is None\n")
    assert "may become the same class" in code, code


FUNCTIONS = [
    "F.relu",
    "F.tanh",
    "F.sigmoid",
    "F.leaky_relu",
    "F.max_pooling_2d",
    "F.concat",
    "F.exp",
    "own",
    "L.Linear",
]
ASKED = ["inspect.isfunction(f)", "isinstance(f, types.FunctionType)"]
TABLE = """
import inspect
import types

def own(x):
    return x

table = {MADE}

def run(xs):
    return [ASKED for f in table]
"""


@pytest.mark.parametrize(("asked", "function"), itertools.product(ASKED, FUNCTIONS))
def test_functions_count_as_functions(asked: str, function: str) -> None:
    theirs, ours, code = run(TABLE.replace("{MADE}", f"[{function}]").replace("ASKED", asked))
    assert theirs == ours == [function != "L.Linear"], code


def test_functions_out_of_a_table_that_nobody_knows_are_marked() -> None:
    program = TABLE.replace("{MADE}", f"[{', '.join(FUNCTIONS)}]").replace("for f in table", "for f in pick(table)")
    program += "\n\ndef pick(values):\n    import operator\n    return operator.methodcaller('copy')(values)\n"
    theirs, ours, code = run(program.replace("ASKED", ASKED[0]))
    assert theirs == ours and "both count as functions here" in code, code


@pytest.mark.parametrize(("function", "marked"), [("F.relu", False), ("F.tanh", False), ("F.absolute", True)])
def test_names_of_functions_that_torch_calls_otherwise_are_marked(function: str, marked: bool) -> None:
    program = f"def run(xs):\n    f = {function}\n    return (lambda: f.__name__) and 1\n"
    *_, code = run(program)
    assert ("may have another name" in code) == marked, code


def test_functions_are_asked_nothing_without_chainers_among_them() -> None:
    program = "import inspect\n\n\ndef run(xs):\n    return F.relu(xs[0]), inspect.isfunction(xs)\n"
    theirs, ours, code = run(program)
    np.testing.assert_array_equal(theirs[0].array, ours[0].detach().numpy())  # type: ignore[index]
    assert theirs[1] is ours[1] is False  # type: ignore[index]
    assert "inspect.isfunction(xs)" in code


ASKED_OF_OBJECTS = {
    "a Sequential turned round": "x = chainer.Sequential(F.relu, F.tanh)\n    x.reverse()\n    return len(x)",
    "whether batches come again": "return chainer.iterators.SerialIterator([1, 2, 3], 2).repeat",
    "the size of a layer that waits": "x = L.Linear(None, 3)\n    return x.in_size, x(xs[0]).shape, x.in_size",
    "the size of a layer": "x = L.Linear(2, 3)\n    return x.in_size, x(xs[0]).shape",
    "repeated normalizations": "x = L.BatchNormalization(2)\n    x.gamma.array[...] = 3\n"
    "    return [float(y.gamma.array.sum()) for y in x.repeat(2)] + [float(x.copy('init').beta.array.sum())]",
    "groups": "return L.GroupNormalization(2, 4).groups, Groups(3, 6).ask()",
    "deconvolutions": "return Spread(2, 4, 3, dilate=2).ask(), L.Deconvolution2D(2, 4, 3).outsize",
}
CLASSES = """
class Groups(L.GroupNormalization):
    def ask(self):
        return self.groups

class Spread(L.Deconvolution2D):
    def ask(self):
        return self.dilate, self.outsize

"""


@pytest.mark.parametrize("name", ASKED_OF_OBJECTS)
def test_attributes_and_methods_of_objects(name: str) -> None:
    theirs, ours, code = run(f"{CLASSES}def run(xs):\n    {ASKED_OF_OBJECTS[name]}\n")
    assert theirs == ours, code


KEPT_NO_MORE = ["L.NStepLSTM.n_weights", "L.NStepBiGRU.use_bi_direction", "L.NStepGRU.ws", "L.LSTM.bias_init"]


@pytest.mark.parametrize("name", KEPT_NO_MORE)
def test_attributes_that_a_layer_no_longer_has_are_marked_in_classes_on_it(name: str) -> None:
    cls, _, attribute = name.rpartition(".")
    *_, code = run(
        f"class Own({cls}):\n    def ask(self):\n        return self.{attribute}\n\ndef run(xs):\n    pass\n"
    )
    assert f"{attribute}: " in code, code
