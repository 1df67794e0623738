"""Which names a link may have registered, so that an assignment outside of ``init_scope`` can be a plain one."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

NET = """
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(2, 2, initialW=0.5)
        self.head = L.Linear(2, 2, initialW=2)

    def forward(self, x):
        return self.head(self.l(x))

OTHERS

def run(xs):
    net = Net()
    DO
    return [sorted(path for path, _ in net.namedparams()), np.array(net(xs[0]).array)]
"""
PLAIN = "object.__setattr__(self, 'head'"
ASKS = "compat.set_unregistered(self, 'head'"

CHILDREN = """
def swap(link, names=('l',)):
    LOOP
        old = getattr(link, NAME)
        delattr(link, NAME)
        with link.init_scope():
            setattr(link, NAME, L.Linear(2, 2, initialW=3))
"""


@pytest.mark.parametrize(
    ("loop", "name"),
    [
        ("for name in sorted(link._children):", "name"),
        ("names = link._children.copy()\n    for name in names:", "name"),
        ("for child in list(link.children()):", "child.name"),
    ],
)
def test_what_takes_the_place_of_children_gives_links_no_new_names(loop, name):
    others = CHILDREN.replace("LOOP", loop).replace("NAME", name)
    code = migrated(NET.replace("OTHERS", others).replace("DO", "swap(net)")).code
    assert PLAIN in code and ASKS not in code


def test_children_that_are_exchanged_are_trained():
    loop = "names = link._children.copy()\n    for name in names:"
    others = CHILDREN.replace("LOOP", loop).replace("NAME", "name")
    theirs, ours, code = run(NET.replace("OTHERS", others).replace("DO", "swap(net)"))
    assert PLAIN in code
    assert theirs[0] == ours[0] == ["/l/W", "/l/b"]
    np.testing.assert_allclose(theirs[1], ours[1])


@pytest.mark.parametrize(
    "loop",
    [
        "for name in names:",
        "for name in sorted(other._children):",
        "names = names or link._children.copy()\n    for name in names:",
        "for name in sorted(link._children) + ['head']:",
        "link = link.copy()\n    for name in sorted(link._children):",
    ],
)
def test_other_names_may_be_any(loop):
    others = "other = Net()\n" + CHILDREN.replace("LOOP", loop).replace("NAME", "name")
    code = migrated(NET.replace("OTHERS", others).replace("DO", "swap(net)")).code
    assert ASKS in code and PLAIN not in code


SHARED = """
def share(link, name, value):
    SETS
"""


def test_outside_of_init_scope_nothing_gets_registered():
    others = SHARED.replace("SETS", "setattr(link, name, np.frombuffer(value, 'f'))")
    code = migrated(NET.replace("OTHERS", others).replace("DO", "share(net, 'n', b'1234')")).code
    assert PLAIN in code and ASKS not in code


@pytest.mark.parametrize(
    ("sets", "do"),
    [
        ("with link.init_scope():\n        setattr(link, name, value)", "share(net, 'head', net.l)"),
        ("setattr(link, name, value)", "with net.init_scope():\n        share(net, 'head', net.l)"),
    ],
)
def test_inside_of_it_a_computed_name_may_be_any(sets, do):
    code = migrated(NET.replace("OTHERS", SHARED.replace("SETS", sets)).replace("DO", do)).code
    assert ASKS in code and PLAIN not in code


BUILT = """
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.build()

    def build(self):
        self.add()

    def add(self):
        self.l = L.Linear(2, 2, initialW=0.5)

    def swap(self, other):
        self.l = other

    def forward(self, x):
        return self.l(x)

def run(xs):
    net = Net()
    net.swap(L.Linear(2, 2, initialW=3, nobias=True))
    return [sorted(path for path, _ in net.namedparams()), np.array(net(xs[0]).array)]
"""


def test_what_a_method_registers_inside_of_init_scope_stays_registered():
    theirs, ours, code = run(BUILT)
    assert "object.__setattr__(self, 'l', other)" not in code
    assert theirs[0] == ours[0] == ["/l/W"]
    np.testing.assert_allclose(theirs[1], ours[1])


HEIRS = """
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self, n, activation=F.relu WORDS):
        super().__init__(HANDED)
        self.activation = activation
        with self.init_scope():
            self.l = L.Linear(2, n, initialW=0.5)

    def forward(self, x):
        return self.activation(self.l(x))

class Heir(Net):
    def __init__(self, n, activation=F.relu):
        self.activation = activation
        super().__init__(n=n, activation=activation)

class Agent:
    def __init__(self, net, **words):
        self.net = net
        self.words = words

def run(xs):
    agent = Agent(globals()['Heir'](2, activation=L.Linear(2, 2, initialW=1)), activation=3)
    return [sorted(path for path, _ in agent.net.namedparams()), np.array(agent.net(xs[0]).array)]
"""


def test_words_that_a_base_of_ones_own_takes_register_nothing():
    theirs, ours, code = run(HEIRS.replace(" WORDS", "").replace("HANDED", ""))
    assert "object.__setattr__(self, 'activation', activation)" in code and "set_unregistered" not in code
    assert theirs[0] == ours[0] == ["/l/W", "/l/b"]
    np.testing.assert_allclose(theirs[1], ours[1])


def test_a_base_that_hands_words_on_may_register_them():
    code = migrated(HEIRS.replace(" WORDS", ", **links").replace("HANDED", "**links")).code
    assert "compat.set_unregistered(self, 'activation', activation)" in code


def test_a_class_of_unknown_bases_may_hand_its_words_on():
    code = migrated(HEIRS.replace(" WORDS", "").replace("HANDED", "").replace("Agent:", "Agent(OF):")).code
    assert "compat.set_unregistered(self, 'activation', activation)" in code  # nobody knows what OF is


TAKEN = """
import chainer.links as L

class Net(L.Classifier):
    def __init__(self, first, second):
        super().__init__(first)
        self.predictor = second
        self.other = second

def run(xs):
    net = Net(L.Linear(2, 2, initialW=1), L.Linear(2, 2, initialW=3, nobias=True))
    of = L.Classifier(L.Linear(2, 2, initialW=1))
    of.predictor = L.Linear(2, 2, initialW=2, nobias=True)
    paths = [sorted(path for path, _ in n.namedparams()) for n in (net, of)]
    return [*paths, np.array(net.predictor(xs[0]).array), np.array(of.predictor(xs[0]).array)]
"""


def test_what_takes_the_place_of_a_child_of_chainers_own_links_is_trained():
    theirs, ours, code = run(TAKEN)
    assert "object.__setattr__" not in code
    assert theirs[:2] == ours[:2] == [["/predictor/W"], ["/predictor/W"]]
    np.testing.assert_allclose(theirs[2], ours[2], rtol=1e-6)
    np.testing.assert_allclose(theirs[3], ours[3], rtol=1e-6)


@pytest.mark.parametrize("owner", ["self", "self.l"])
def test_what_takes_the_place_of_a_parameter_of_theirs_is_in_review(owner):
    source = f"""
import chainer.links as L

class Net(L.Bilinear):
    def __init__(self, w):
        super().__init__(2, 2, 2)
        with self.init_scope():
            self.l = L.Bilinear(2, 2, 2)
        {owner}.W = chainer.Parameter(w)

def run(xs):
    return [Net(np.ones((2, 2, 2), 'f'))(xs[0], xs[0]).array]
"""
    result = migrated(source)
    assert "goes around the registration" in result.code
