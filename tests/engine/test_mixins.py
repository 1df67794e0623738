"""Classes that are mixed into links work with a link: in their methods, in their constructors, across files."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest
import torch

from chainer2torch.engine import migrate_source, migrate_sources
from tests.support.both_sides import both, check_class

HEAD = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\nimport numpy as np\n"
METHODS = """
    def size(self):
        return sum(p.size for p in self.params())
    def names(self):
        return [n for n, p in self.namedparams()], self.count_params(), len(list(self.children()))
    def predict(self, x):
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            return F.softmax(self(x)).array
    def zeros(self):
        self.cleargrads()
        return self.xp.zeros(3, 'f'), self.head.W.array
    def grow(self, n):
        with self.init_scope():
            self.extra = L.Linear(n, n)
        self.add_persistent('count', n)
"""
NET = """
class Net({bases}):
    def __init__(self):
        super().__init__(l=L.Linear(3, 2), head=L.Linear(3, 3))
        self.grow(2)
    def __call__(self, x):
        return self.extra(self.l(F.relu(self.head(x))))
"""


@pytest.mark.parametrize("mixin", ["Mixin(object)", "Mixin", "Mixin(abc.ABC)"])
@pytest.mark.parametrize("bases", ["Mixin, chainer.Chain", "chainer.Chain, Mixin"])
def test_methods_of_a_mixin(mixin: str, bases: str) -> None:
    head = HEAD + "import abc\n"
    text = f"class {mixin}:{METHODS}{NET.format(bases=bases)}"
    check_class(text, [np.random.RandomState(0).randn(4, 3).astype("f")], head=head)
    original, migrated = both(text, head=head)
    theirs, ours = original["Net"](), migrated["Net"]()
    assert ours.size() == theirs.size() and ours.names() == theirs.names()
    assert ours.predict(torch.ones(2, 3)).shape == theirs.predict(np.ones((2, 3), "f")).shape
    assert ours.zeros()[1].shape == theirs.zeros()[1].shape


@pytest.mark.parametrize("call", ["super().__init__(*args, **links)", "super(Mixin, self).__init__(**links)"])
def test_a_mixin_that_hands_links_on_to_the_chain(call: str) -> None:
    star = "*args, " if "*args" in call else ""
    check_class(
        f"""
        class Mixin(object):
            def __init__(self, {star}**links):
                {call}
                self.calls = 0
            def __call__(self, x):
                self.calls += 1
                return self.l(x)
        class Net(Mixin, chainer.Chain):
            def __init__(self):
                super().__init__(l=L.Linear(3, 2))
        """,
        [np.random.RandomState(0).randn(4, 3).astype("f")],
    )


def test_a_mixin_in_front_of_a_base_with_arguments_of_its_own() -> None:
    code = check_class(
        """
        class Mixin(object):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
        class Sized(chainer.Chain):
            def __init__(self, n):
                super().__init__(l=L.Linear(n, 2))
        class Net(Mixin, Sized):
            def __init__(self):
                super().__init__(3)
            def __call__(self, x):
                return self.l(x)
        """,
        [np.random.RandomState(0).randn(4, 3).astype("f")],
    )
    assert "super().__init__(*args, **kwargs)" in code


def test_mixins_of_another_file() -> None:
    results = migrate_sources(
        {
            "pkg/__init__.py": "",
            "pkg/mixins.py": "class Mixin(object):\n    def size(self):\n"
            "        return sum(p.size for p in self.params())\n",
            "pkg/net.py": HEAD + "from pkg.mixins import Mixin\n\n\nclass Net(Mixin, chainer.Chain):\n    pass\n",
        }
    )
    assert "compat.params(self)" in results["pkg/mixins.py"].code
    assert "import chainer_compat as compat" in results["pkg/mixins.py"].code


@pytest.mark.parametrize("other", ["class Other(Mixin):\n    pass\n", "helper = Mixin()\n"])
def test_a_class_that_is_also_used_without_a_link_is_none(other: str) -> None:
    code = migrate_source(
        HEAD
        + textwrap.dedent("""
        class Mixin(object):
            def __call__(self, x):
                return F.relu(x)
        class Net(Mixin, chainer.Chain):
            pass
        """)
        + other
    ).code
    assert "def __call__(self, x):" in code


CODER = """
class Coder(object):
    def {call}(self, x):
        return self.decode(self.encode(x))
    def encode(self, x):
        return F.relu(self["encoder"](x))
    def decode(self, x):
        return F.sigmoid(self["decoder"](x))
"""


@pytest.mark.parametrize("call", ["__call__", "forward"])
@pytest.mark.parametrize(
    "bases", ["chainer.Chain, Coder", "chainer.Chain,\n          Coder", "chainer.Chain, Other, Coder"]
)
def test_a_mixin_behind_the_chain_says_what_a_call_computes(call: str, bases: str) -> None:
    """Chainer looks for the `__call__` of the other bases; `forward` of nn.Module must not hide it."""
    net = f"""
class Other(object):
    def more(self):
        return 1
{CODER.format(call=call)}
class Net({bases}):
    def __init__(self):
        super(Net, self).__init__()
        self.add_link("encoder", L.Linear(3, 2))
        self.add_link("decoder", L.Linear(2, 3))
"""
    check_class(net, [np.random.RandomState(0).randn(4, 3).astype("f")])


def test_a_call_of_a_mixin_stands_before_a_forward_of_the_class() -> None:
    own = "    def forward(self, x):\n        return self.l(x)\n"  # Chainer calls `__call__` of the mixin
    result = migrate_source(f"{HEAD}{CODER.format(call='__call__')}class Net(chainer.Chain, Coder):\n{own}")
    assert [site.state for site in result.sites if site.symbol == "chainer.Chain"] == ["exact"]
    assert "class Net(Coder, nn.Module):" in result.code and "def __call__(self" in result.code


def test_which_base_is_meant_is_asked_where_the_frameworks_differ() -> None:
    text = CODER.format(call="__call__") + "    def __init__(self):\n        pass\n"  # Chain's constructor came first
    result = migrate_source(HEAD + text + "class Net(chainer.Chain, Coder):\n    def other(self):\n        pass\n")
    assert [site.state for site in result.sites if site.symbol == "chainer.Chain"] == ["review"]
    assert "`__init__` of another base" in result.code
