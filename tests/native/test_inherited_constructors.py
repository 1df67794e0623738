"""Links that reach a Chain through a base of the project, or under names that are computed, are layers like others."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
import chainer.links as L


class Base(chainer.Chain):
    def __call__(self, x):
        return self.last(self.first(x))

    def last(self, x):
        return F.sigmoid(self.b(x))


class Given(chainer.Chain):
    def __init__(self, **links):
        chainer.Chain.__init__(self, **links)
        self.count = len(links)

    def __call__(self, x):
        return F.sigmoid(self.b(F.relu(self.a(x))))


{net}


def run(xs):
    net = Net(6)
    for i, (name, p) in enumerate(sorted(net.namedparams())):
        p.array[...] = np.sin(np.arange(p.array.size).reshape(p.array.shape) + i)
    net.cleargrads()
    x = chainer.Variable(np.sin(np.arange(24, dtype='f')).reshape(4, 2, 3))
    y = net(x)
    F.sum(y * y).backward()
    return [y.array, x.grad] + [p.grad for name, p in sorted(net.namedparams())]
"""

HEIRS = [
    "super().__init__(a=L.Linear(n, n), b=L.Linear(n, 3))",
    "super(Net, self).__init__(a=L.Linear(n, n), b=L.Linear(n, 3))",
    "Base.__init__(self, a=L.Linear(n, n), b=L.Linear(n, 3))",
]


def agree(text):
    theirs, ours, code = run(PROGRAM.format(net=text))
    assert len(theirs) == len(ours) > 3
    for one, other in zip(theirs, ours):
        np.testing.assert_allclose(other.detach().numpy(), one, rtol=1e-4, atol=1e-6)
    assert "compat.Linear" not in code and "add_links" not in code, code


@pytest.mark.parametrize("made", HEIRS)
def test_a_base_without_a_constructor(made):
    agree(f"""
class Net(Base):
    def __init__(self, n):
        {made}

    def first(self, x):
        return F.relu(self.a(x))
""")


@pytest.mark.parametrize("made", [text.replace("Base.", "Given.") for text in HEIRS])
def test_a_base_that_is_given_its_links(made):
    agree(f"""
class Net(Given):
    def __init__(self, n):
        {made}
""")


NUMBERED = """
class Net(chainer.Chain):
    def __init__(self, n):
        {made}

    def __call__(self, x):
        for i in range(2):
            x = F.relu({taken}(x))
        return x
"""


@pytest.mark.parametrize("taken", ["self['l%d' % i]", "getattr(self, 'l{}'.format(i))"])
@pytest.mark.parametrize(
    "made",
    [
        "super().__init__(**{'l%d' % i: L.Linear(n, n) for i in range(2)})",
        "layers = {}; layers['l0'] = L.Linear(n, n); layers['l1'] = L.Linear(n, 6); super().__init__(**layers)",
        "super().__init__(l0=L.Linear(n, n), **dict(l1=L.Linear(n, n)))",
        "super().__init__(); [self.add_link('l%d' % i, L.Linear(n, n)) for i in range(2)]",
        "super().__init__(); self.add_link('l%d' % 0, L.Linear(n, n)); self.add_link('l1', L.Linear(n, n))",
    ],
)
def test_computed_names(made, taken):
    agree(NUMBERED.format(made=made, taken=taken))


def test_a_method_of_a_computed_name_is_no_child():
    agree("""
class Net(chainer.Chain):
    def __init__(self, n):
        super().__init__(**{'l%d' % i: L.Linear(n, n) for i in range(2)})

    def l_of(self, x):
        return F.relu(x) * 2

    def __call__(self, x):
        for name in ('of', 'of'):
            x = getattr(self, 'l_' + name)(x)
        return getattr(self, 'l0')(self['l' + str(1)](x))
""")


LISTS = """
class Net(chainer.{base}):
    def __init__(self, n):
        super().__init__({given})
        {fill}

    def __call__(self, x):
        for link, other in zip({taken}, {taken}):
            x = F.relu(link(x)) + other(x)
        return x
"""


@pytest.mark.parametrize(
    ("base", "given", "fill", "taken"),
    [
        (
            "Chain",
            "",
            "links = chainer.ChainList()\n        for _ in range(2):\n            links.add_link(L.Linear(n, n))\n"
            "        self.add_link('parts', links)",
            "self.parts",
        ),
        ("Chain", "parts=chainer.ChainList(L.Linear(n, n), L.Linear(n, n))", "pass", "self.parts"),
        ("ChainList", "L.Linear(n, n)", "self.add_link(L.Linear(n, n)); self.append(L.Linear(n, n))", "self"),
        ("ChainList", "*[L.Linear(n, n) for _ in range(2)]", "self.insert(0, L.Linear(n, n))", "self"),
    ],
)
def test_links_that_lists_hold(base, given, fill, taken):
    agree(LISTS.format(base=base, given=given, fill=fill, taken=taken))


@pytest.mark.parametrize("base", ["L.Linear", "chainer.training.Extension", "chainer.dataset.DatasetMixin"])
@pytest.mark.parametrize("called", ["Own.__init__(self{more})", "super().__init__({more})"])
def test_the_constructor_of_a_base_that_is_no_chain_stays(base, called):
    """`Own.__init__` is the program's own name, whatever it inherits: no reference, and no marker."""
    more = "3, 3" if base == "L.Linear" else ""
    call = called.format(more=f", {more}" if more and "self" in called else more)
    result = migrated(
        f"""
import chainer.links as L

class Own({base}):
    pass

class Net(Own):
    def __init__(self):
        {call}
"""
    )
    assert call in result.code and "TODO" not in result.code, result.code
    assert all(site.state == "exact" for site in result.sites), result.sites
