"""Walks over links in native style: which of them are plain, short or faithful."""

import pytest

from tests.support.native_programs import HEAD, both, migrated


def code_of(source: str) -> str:
    return migrated(source, HEAD).code


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("for p in net.params(): p.data *= 2", "for p in net.parameters():"),
        ("n = 0\nfor p in net.params(): n += p.size", "for p in net.parameters(): n += p.numel()"),
        ("n = sum(p.size for p in net.params())", "sum(p.numel() for p in net.parameters())"),
        ("for p in net.params(): print(p)", "for p in compat.params(net): print(p)"),
        ("old = [p.data for p in net.params()]", "for p in compat.params(net)]"),
        ("print(list(net.params()))", "print(list(compat.params(net)))"),
        ("print(dict(net.namedparams()))", "print(dict(compat.namedparams(net)))"),
        ("print(list(net.children()))", "print(list(compat.children(net)))"),
        (
            "for i, f in enumerate(chainer.ChainList(net).children()): f",
            "in enumerate(nn.ModuleList([net]).children()):",
        ),
        ("print(list(net.links(skipself=True)))", "print(list(compat.links(net, skipself=True)))"),
        ("print(dict(net.namedlinks()))", "print(dict(compat.namedlinks(net)))"),
        (
            "print([p.name for p in net.params()])",
            "print([compat.parameter_name(net, p) for p in compat.params(net)])",
        ),
    ],
)
def test_forms(line: str, after: str) -> None:
    assert after in code_of(f"net = Net()\n{line}\n")


def test_a_name_in_a_loop_over_a_model() -> None:
    theirs, ours, code = both(
        """
        def f():
            found = []
            net = Net()
            for param in net.params():
                if param.name == 'W':
                    found.append(param.shape)
            return found
        """
    )
    assert "for param in compat.params(net):" in code and "compat.parameter_name(net, param) == 'W'" in code
    assert [tuple(s) for s in ours["f"]()] == theirs["f"]() == [(4, 3), (2, 4)]


def test_names_that_are_asked_for_elsewhere_are_told_by_the_faithful_walks() -> None:
    source = """
        def named(param):
            return param.name

        def f():
            return [named(p) for _, p in sorted(Net().namedparams())]
    """
    theirs, ours, code = both(source)
    assert "compat.faithful_namedparams(" in code
    assert ours["f"]() == theirs["f"]() == ["W", "b", "W", "b"]


def test_a_class_with_its_own_walk_is_asked() -> None:
    source = """
        class Half(Net):
            def namedparams(self, include_uninit=True):
                for path, param in super().namedparams():
                    if path.startswith('/l1'):
                        yield path, param

        def f():
            return [path for path, _ in Half().namedparams()]
    """
    theirs, ours, code = both(source)
    assert ours["f"]() == theirs["f"]() == ["/l1/W", "/l1/b"]
    assert "compat.faithful_namedparams(" in code


ORDERED = """
class Back(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.z = L.Linear(2, 2, initialW=2.)
            self.a = L.Linear(2, 2, initialW=1.)

def f():
    net = Back()
    BODY
    return [float((p.array * np.arange(1, p.size + 1).reshape(p.shape)).sum()) for _, p in sorted(net.namedparams())]
"""


@pytest.mark.parametrize(
    "body",
    [
        "old = [p.array * 3 for p in net.params()]\n    for p, o in zip(net.params(), old): p.array[...] = o",
        "i = 0\n    for p in net.params():\n        p.array[...] = i\n        i += p.size",
        "kept = []\n    for p in net.params():\n        kept.append(p.array + 1)\n"
        "    for i, p in enumerate(net.params()):\n        p.array[...] = kept[i]",
        "it = iter(range(9))\n    for p in net.params():\n        p.array[...] = next(it)",
        "last = 1\n    for p in net.params():\n        p.array[...] = last\n        last = p.array.sum() + 1",
        "def first():\n        for p in net.params():\n            return p\n    first().array[...] = 7",
        "for p in net.params():\n        p.array[...] = 5\n        break",
        "flat = np.concatenate([p.array.ravel() for p in net.params()])\n    net.a.b.array[...] = flat[0]",
    ],
)
def test_what_is_left_of_an_order_is_that_of_chainer(body: str) -> None:
    theirs, ours, code = both(ORDERED.replace("BODY", body))
    assert ours["f"]() == theirs["f"](), code
