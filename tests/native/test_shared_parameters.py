"""A parameter that a model has in several places: Chainer's optimizers step it once for each of them.

PyTorch's step it once: the declared difference ``shared-parameters``. With it on Chainer's side, both are equal.
"""

import contextlib
from collections.abc import Iterator

import chainer
import chainer.links as L
import pytest

from chainer2torch.verify.worker import shared_parameters
from tests.support import native_programs

_TRAIN = """
def train(model):
    optimizer = optimizers.MomentumSGD(0.1)
    optimizer.setup(model)
    losses = []
    for i in range(3):
        x = chainer.Variable(np.array([0, 1, 4], 'i'))
        t = chainer.Variable(np.array([1, 1, 0], 'i'))
        loss = F.softmax_cross_entropy(model(x), t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        losses.append(loss.array)
    return losses + [sum(1 for _ in model.params())]
"""
_SHARED = """
class Decoder(chainer.Chain):
    def __init__(self, embed):
        super().__init__()
        with self.init_scope():
            self.embed = embed
            self.out = L.Linear(3, 5)

    def __call__(self, x):
        return self.out(self.embed(x))


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(5, 3)
            self.decoder = Decoder(self.embed)

    def __call__(self, x):
        return self.decoder(x) + F.sum(self.embed(x))
"""
_TIED = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(5, 3)
            self.out = L.Linear(3, 5, nobias=True)
        self.out.W = self.embed.W

    def __call__(self, x):
        return self.out(F.tanh(self.embed(x)))
"""
_TWICE = """
class Net(chainer.Chain):
    def __init__(self):
        layer = L.Linear(3, 3)
        super().__init__(embed=L.EmbedID(5, 3), one=layer, other=layer)

    def __call__(self, x):
        return self.other(F.tanh(self.one(self.embed(x))))
"""
_APART = """
class Decoder(chainer.Chain):
    def __init__(self, embed):
        super().__init__()
        with self.init_scope():
            self.embed = embed
            self.out = L.Linear(3, 5)

    def __call__(self, x):
        return self.out(self.embed(x))


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.one = Decoder(L.EmbedID(5, 3))
            self.other = Decoder(L.EmbedID(5, 3))

    def __call__(self, x):
        return self.one(x) + self.other(x)
"""
_AVERAGED = """
class Averaged(chainer.Chain):
    def __init__(self, target):
        super().__init__()
        with self.init_scope():
            self.target = target
            self.other = L.Linear(3, 5)

    def __call__(self, x):
        return self.target(x) + self.other(x)


class Net(chainer.Chain):
    def __init__(self, averaged=True):
        super().__init__()
        layer = L.Linear(3, 5)
        if averaged:
            out = Averaged(layer)
        else:
            out = layer
        with self.init_scope():
            self.embed = L.EmbedID(5, 3)
            self.out = out

    def __call__(self, x):
        return self.out(self.embed(x))
"""
_TAKEN = """
class Update(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.mlp = L.Linear(3, 3)

    def __call__(self, x):
        return F.tanh(self.mlp(x))


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(5, 3)
            self.first = Update().mlp
            self.update = Update()
            self.out = L.Linear(3, 5)

    def __call__(self, x):
        return self.out(self.update(self.first(self.embed(x))))
"""
_BOTH = _AVERAGED.replace("out = Averaged(layer)", "out = chainer.Sequential(Averaged(layer), L.Linear(5, 3), layer)")
_HEAD = native_programs.HEAD.split("class Net")[0]


@contextlib.contextmanager
def stepped_once() -> Iterator[None]:
    again, left_out = shared_parameters.stepped_once()
    try:
        yield
    finally:
        again()
    assert left_out


_HOOKS = """    optimizer.add_hook(chainer.optimizer.GradientClipping(0.1))
    optimizer.add_hook(chainer.optimizer.WeightDecay(0.2))
"""


@pytest.mark.parametrize("model", [_SHARED, _TIED, _TWICE])
@pytest.mark.parametrize("made", ["MomentumSGD(0.1)", "Adam(0.1)", "RMSprop(0.1)"])
@pytest.mark.parametrize("hooks", ["", _HOOKS])
def test_a_shared_parameter_is_stepped_once(model, made, hooks):
    train = _TRAIN.replace("MomentumSGD(0.1)", made).replace("setup(model)\n", f"setup(model)\n{hooks}")
    with stepped_once():
        code = native_programs.check(model + train, head=_HEAD)
    assert "(model.parameters()" in code and ".faithful_" not in code
    with pytest.raises(AssertionError):  # it is a difference
        native_programs.check(model + train, head=_HEAD)


def test_it_is_declared_where_the_optimizer_gets_its_model():
    for model, declared in ((_SHARED, ["shared-parameters"]), (_APART, [])):
        sites = native_programs.migrated(model + _TRAIN, _HEAD).sites
        assert [s.difference for s in sites if s.difference == "shared-parameters"] == declared


def test_what_may_be_an_optimizer_keeps_chainers_steps():
    """Nothing could be said of the difference where nobody knows what is set up."""
    other = """
def begin(made, model):
    made.setup(model)
"""
    code = native_programs.check(_SHARED + _TRAIN + other, head=_HEAD)
    assert "torch.optim" not in code


def test_only_optimizers_are_shown_each_parameter_once():
    shared = L.Linear(2, 2)
    again, left_out = shared_parameters.stepped_once()
    model = chainer.ChainList(shared, shared)
    assert len(list(model.params())) == 4 and not left_out
    optimizer = chainer.optimizers.SGD().setup(model)
    model.cleargrads()
    optimizer.update()
    assert left_out
    again()
    left_out.clear()
    optimizer.update()
    assert not left_out


def test_links_of_their_own_keep_the_optimizer_of_torch():
    code = native_programs.check(_APART + _TRAIN, head=_HEAD)
    assert "torch.optim.SGD" in code or "compat.MomentumSGD" in code
    assert ".faithful_" not in code


def test_links_that_are_alternatives_of_an_attribute_are_in_one_place_of_a_model():
    code = native_programs.check(_AVERAGED + _TRAIN, head=_HEAD)
    assert ".faithful_" not in code and ".MomentumSGD(model.parameters()" in code


def test_an_alternative_that_holds_a_link_twice_has_it_in_two_places():
    with stepped_once():
        code = native_programs.check(_BOTH + _TRAIN, head=_HEAD)
    assert ".faithful_" not in code


def test_a_link_out_of_an_object_that_is_held_nowhere_is_in_one_place():
    code = native_programs.check(_TAKEN + _TRAIN, head=_HEAD)
    assert ".faithful_" not in code and ".MomentumSGD(model.parameters()" in code


_HELD = """
class Update(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.mlp = L.Linear(3, 3)


ONE = Update()


def held():
    return ONE


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(5, 3)
            self.first = held().mlp
            self.second = held().mlp
            self.out = L.Linear(3, 5)

    def __call__(self, x):
        return self.out(F.tanh(self.second(self.first(self.embed(x)))))
"""


def test_a_link_out_of_an_object_that_a_function_holds_may_be_in_two_places():
    with stepped_once():
        code = native_programs.check(_HELD + _TRAIN, head=_HEAD)
    assert ".faithful_" not in code
