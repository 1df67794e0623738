"""Walks over links in native style: which of them are plain, short or faithful."""

import pytest

from tests.support.native_programs import HEAD, both, migrated


def code_of(source: str) -> str:
    return migrated(source, HEAD).code


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("for p in net.params(): print(p)", "for p in net.parameters(): print(p)"),
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
