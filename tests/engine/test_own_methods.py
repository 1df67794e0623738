"""Methods of Chainer's links that a class writes itself: optimizers, copies and loops over links go through them."""

import chainer
import numpy as np
import pytest
import torch

from chainer2torch.compat.links.own_methods import own_name
from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
from tests.support.both_sides import both

HEAD = """\
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

"""
FROZEN = """
class Frozen(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(3, 3, initialW=1)
            self.b = L.Linear(3, 2, initialW=2)

    def params(self, include_uninit=True):
        return self.b.params(include_uninit)

    def forward(self, x):
        return self.b(self.a(x))


class Outer(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.inner = Frozen()
            self.c = L.Linear(2, 2, initialW=1)

    def forward(self, x):
        return self.c(self.inner(x))
"""


def arrays(side, link):
    return [np.asarray(p.detach() if isinstance(p, torch.Tensor) else p.array) for p in side(link)]


@pytest.mark.parametrize("name", ["Frozen", "Outer"])
def test_an_optimizer_changes_what_params_lists(name):
    """Freezing a part by leaving it out of `params()`, at the top and below."""
    source = (
        FROZEN
        + f"""
def train(x):
    net = {name}()
    optimizer = chainer.optimizers.MomentumSGD(0.1)
    optimizer.setup(net)
    optimizer.add_hook(chainer.optimizer.WeightDecay(0.01))
    for _ in range(3):
        optimizer.update(lambda: F.sum(net(x)))
    inner = net.inner if hasattr(net, 'inner') else net
    return [inner.a.W.array, inner.a.b.array, inner.b.W.array, inner.b.b.array], len(list(net.params()))
"""
    )
    original, migrated = both(source, head=HEAD)
    x = np.random.RandomState(0).randn(4, 3).astype("f")
    theirs, count = original["train"](x)
    ours, ours_count = migrated["train"](torch.from_numpy(x))
    assert count == ours_count
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-5)
    np.testing.assert_array_equal(ours[0], np.ones((3, 3)))


def test_an_optimizer_clears_gradients_with_the_models_own_method():
    original, migrated = both(
        """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(3, 2, initialW=1)
        self.asked = []

    def cleargrads(self):
        self.asked.append('clear')
        super().cleargrads()

    def zerograds(self):
        self.asked.append('zero')
        super().zerograds()


def train(x):
    net = Net()
    optimizer = chainer.optimizers.SGD(0.1)
    optimizer.setup(net)
    for use in (True, False):
        optimizer.use_cleargrads(use)
        for _ in range(2):
            optimizer.update(lambda: F.sum(net.a(x)))
    return net.asked, net.a.W.array
""",
        head=HEAD,
    )
    x = np.random.RandomState(1).randn(4, 3).astype("f")
    asked, weight = original["train"](x)
    ours, our_weight = migrated["train"](torch.from_numpy(x))
    assert asked == ours == ["clear", "clear", "zero", "zero"]
    np.testing.assert_allclose(weight, our_weight.numpy(), rtol=1e-5)


WRAPPED = """
class Wrap(chainer.Link):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.inner.cleargrads()

    def copyparams(self, link, copy_persistent=True):
        self.inner.copyparams(link.inner, copy_persistent)

    def addgrads(self, link):
        self.inner.addgrads(link.inner)

    def cleargrads(self):
        self.inner.cleargrads()

    def zerograds(self):
        self.inner.zerograds()

    def count_params(self):
        return self.inner.count_params()

    def namedparams(self, include_uninit=True):
        return self.inner.namedparams(include_uninit)

    def forward(self, x):
        return self.inner(x)


class Both(chainer.ChainList):
    def forward(self, x):
        for link in self:
            x = link(x)
        return x

    def take(self, other):
        for mine, theirs in zip(self, other):
            mine.copyparams(theirs)

    def add(self, other):
        for mine, theirs in zip(self, other):
            mine.addgrads(theirs)

    def clear(self):
        for link in self:
            link.cleargrads()

    def zero(self):
        for link in self:
            link.zerograds()

    def counts(self):
        return [link.count_params() for link in self]


def make(a, b):
    return Both(L.Linear(3, 3, initialW=a), Wrap(L.Linear(3, 2, initialW=b)))


def run(x):
    one, two = make(1, 2), make(3, 4)
    one.cleargrads(), two.cleargrads()
    found = [one.counts()]
    F.sum(two(x)).backward()
    F.sum(one(x)).backward()
    one.add(two)
    found.append([one[1].inner.W.grad.copy(), one[1].inner.b.grad.copy()])
    one.take(two)
    found.append([one[0].W.array, one[1].inner.W.array])
    one.zero()
    found.append([one[1].inner.W.grad.copy()])
    one.clear()
    found.append([one[1].inner.W.grad])
    whole = make(5, 6)
    whole.copyparams(two)
    found.append([whole[0].W.array, whole[1].inner.W.array])
    found.append([name for name, _ in whole.namedparams()])
    return found
"""


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.tolist() if hasattr(value, "tolist") else value


def test_links_in_a_loop_are_asked_for_their_own_methods():
    """What they hold is registered nowhere, so nothing else finds it."""
    original, migrated = both(WRAPPED, head=HEAD)
    x = np.ones((2, 3), "f")
    assert plain(original["run"](x)) == plain(migrated["run"](torch.from_numpy(x)))


@pytest.mark.parametrize("name", ["copyparams", "addgrads", "cleargrads", "zerograds", "count_params"])
def test_links_in_a_loop_are_asked_at_run_time_in_the_native_style(name):
    """One of PyTorch's has no such method, one of the program's has its own: a plain call would suit one of them."""
    code = migrate_source(HEAD + WRAPPED, rules=load_rules(style="native", lazy=True)).code
    walks = code[code.index("def take") : code.index("def make")]
    assert f"compat.{name}_of(" in walks and f".{name}(" not in walks


SUPER = """
class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.a = L.Linear(3, 2, initialW=1)

    def params(self, include_uninit=True):
        return super(Net, self).params(include_uninit)

    def namedparams(self, include_uninit=True):
        return super(Net, self).namedparams(include_uninit)

    def copyparams(self, link):
        super(Net, self).copyparams(link)

    def addgrads(self, link):
        super().addgrads(link)

    def zerograds(self):
        super().zerograds()

    def to_cpu(self):
        return super(Net, self).to_cpu()

    def children(self):
        return super(Net, self).children()

    def links(self, skipself=False):
        return super(Net, self).links(skipself)

    def namedlinks(self, skipself=False):
        return super().namedlinks(skipself)

    def copy(self, mode='share'):
        return super(Net, self).copy(mode)

    def count_params(self):
        return super().count_params()

    def disable_update(self):
        super().disable_update()


def run():
    net, other = Net(), Net()
    other.a.W.array[...] = 3
    chainer.optimizers.SGD(0.1).setup(net)
    net.zerograds(), other.zerograds()
    other.a.W.grad[...] = 2
    net.copyparams(other)
    net.addgrads(other)
    net.disable_update()
    return [[p.array for p in net.params()], [p.grad for p in net.params()], [n for n, _ in net.namedparams()],
            len(list(net.children())), len(list(net.links())), len(list(net.links(True))),
            [n for n, _ in net.namedlinks()], net.copy().a.W.array, net.count_params(), net.to_cpu() is net,
            net.a.W.update_rule.enabled]
"""


def test_what_a_method_of_its_own_asks_super_for():
    """`super()` has none of the instance's attributes, which a helper looks at."""
    original, migrated = both(SUPER, head=HEAD)
    assert plain(original["run"]()) == plain(migrated["run"]())


def test_what_is_no_such_link_for_sure_keeps_the_plain_form():
    own = "class Net(chainer.Chain):\n    def cleargrads(self):\n        pass\n"
    loop = "def f(net: chainer.Chain):\n    net.cleargrads()\nf(chainer.Chain())\n"
    assert "    net.zero_grad()" in migrate_source(HEAD + loop).code
    code = migrate_source(f"{HEAD}{own}{loop}link = L.Linear(2, 2)\nlink.cleargrads()\nNet().cleargrads()\n").code
    assert "    compat.cleargrads_of(net)" in code
    assert "\nlink.zero_grad()" in code and "\nNet().cleargrads()" in code


HIDING = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 2, initialW=1)

    def train(self):
        return F.sum(self.l(np.ones((2, 3), 'f')))

    def apply(self, x, scale=1):
        return scale * F.sum(self.l(x))


class Timer(object):
    def train(self):
        return 'not a link'


def run(x, names):
    made = {'net': Net(), 'timer': Timer()}
    found = []
    for name in names:
        thing = made[str(name)]
        found.append(thing.train())
        if name == 'net':
            found.append(thing.apply(x, scale=2))
    return found
"""


def test_a_method_that_has_another_name_now_is_found_on_what_nobody_knows():
    """`model.train()` of torch's own would switch the mode and compute nothing."""
    original, migrated = both(
        HIDING.replace("made[str(name)]", "look(made, name)")
        + """
def look(things, name):
    return eval('things[name]')
""",
        head=HEAD,
    )
    assert "compat.own_name(thing, 'train')()" in migrated["__code__"]
    x = np.ones((2, 3), "f")
    loss, applied, text = original["run"](x, ["net", "timer"])
    ours = migrated["run"](torch.from_numpy(x), ["net", "timer"])
    assert [float(ours[0]), float(ours[1]), ours[2]] == [float(loss.array), float(applied.array), text]


def test_such_a_name_of_other_modules_and_objects_stays():
    linear = torch.nn.Linear(2, 2).eval()
    assert own_name(linear, "train")() is linear and linear.training


SET = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.bn = L.BatchNormalization(2)
            self.l = L.Linear(3, 2, initialW=1)

    def forward(self, x):
        return self.bn(self.l(x))


def look(net):
    return eval('net')


def run(x, scale):
    found = []
    for net in (Net(), look(Net())):
        net.bn.decay = 0.5
        for _ in range(2):
            net(x)
        found.append(net.bn.avg_mean)
        net.l.W = chainer.Variable(np.full((2, 3), 2, 'f'))
        found += [net.l(x).array, net.l.W.array, len(list(net.params()))]
        net.l.W = scale * chainer.Parameter(np.ones((2, 3), 'f'))
        found += [net.l(x).array, net.l.W.array]
    return found
"""


def test_what_is_set_on_a_link_under_its_name_in_chainer():
    """`bn.decay = 0.5` would be heeded by no layer of torch's, which take no plain tensor as a weight either."""
    original, migrated = both(SET, head=HEAD)
    x = np.random.RandomState(0).randn(4, 3).astype("f")
    scale = np.ones((2, 1), "f") * 3
    theirs = original["run"](chainer.Variable(x), chainer.Variable(np.broadcast_to(scale, (2, 3)).copy()))
    ours = migrated["run"](torch.from_numpy(x), torch.from_numpy(scale).expand(2, 3))
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(one, other.detach() if isinstance(other, torch.Tensor) else other, rtol=1e-5)
