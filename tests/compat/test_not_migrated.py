"""The stand-in for what was not migrated: imports pass, uses raise."""

import copy

import pytest

from chainer2torch.compat.utils.not_migrated import not_migrated
from chainer2torch.native.not_migrated import not_migrated as native_stand_in

MESSAGE = "chainer.a.b was not migrated"


def test_uses_raise_and_say_what_is_missing() -> None:
    missing = not_migrated("chainer.a.b")

    class Derived(missing):  # type: ignore[misc]
        pass

    for use in (
        lambda: missing(1),
        lambda: Derived(),
        lambda: isinstance(1, missing),
        lambda: issubclass(int, missing),
        lambda: missing[0],
        lambda: list(missing),
        lambda: len(missing),
        lambda: bool(missing),
        lambda: missing.__enter__(),
    ):
        with pytest.raises(NotImplementedError, match=MESSAGE):
            use()


def test_who_looks_for_tests_finds_none() -> None:
    missing = not_migrated("chainer.testing")
    assert not hasattr(missing, "place_as") and not hasattr(missing, "__test__")


def test_only_the_top_of_an_imported_module_may_call_it() -> None:
    code = "made = missing.c(1)\nclass A:\n    x = missing()\n"
    space: dict[str, object] = {"missing": not_migrated("chainer.a.b"), "__name__": "module"}
    exec(code, space)
    with pytest.raises(NotImplementedError, match="chainer.a.b.c was not migrated"):
        space["made"](2)  # type: ignore[operator]
    with pytest.raises(NotImplementedError, match="chainer.a.b.c was not migrated"):
        exec(code, {**space, "__name__": "__main__"})


def test_it_has_no_special_names_of_its_own() -> None:
    assert not hasattr(not_migrated("chainer.a"), "__wrapped__")


def test_the_error_names_the_comment_at_the_marked_place(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "net.py"
    comment = "# TODO(chainer2torch C2T090): chainer.a.b: no rule"
    path.write_text(f"missing = not_migrated('chainer')\n{comment}\nclass A(missing.a.b):\n    pass\n")
    space: dict[str, object] = {"__name__": "net", "not_migrated": not_migrated}
    exec(compile(path.read_text(), str(path), "exec"), space)
    with pytest.raises(NotImplementedError) as raised:
        space["A"]()  # type: ignore[operator]
    assert str(raised.value) == f"chainer.a.b was not migrated. {path}:2: {comment} (chainer2torch explain C2T090)"
    with pytest.raises(NotImplementedError, match=r"# TODO\(chainer2torch CODE\)"):
        bool(not_migrated("chainer.other"))


def test_of_two_comments_the_error_names_the_one_above_the_line(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "net.py"
    comment = "# TODO(chainer2torch C2T10{}): chainer.a.b: no rule"
    uses = "\n".join(f"def f{i}():\n    {comment.format(i)}\n    return chainer.a.b\n" for i in range(3))
    path.write_text(f"chainer = not_migrated('chainer')\n{uses}")
    space: dict[str, object] = {"__name__": "net", "not_migrated": not_migrated}
    exec(compile(path.read_text(), str(path), "exec"), space)
    for i in range(3):
        with pytest.raises(
            NotImplementedError, match=rf"net\.py:{3 + 4 * i}: # TODO.* \(chainer2torch explain C2T10{i}\)"
        ):
            space[f"f{i}"]()  # type: ignore[operator]


def test_nothing_is_set_and_copies_are_stand_ins() -> None:
    missing = not_migrated("chainer.a")
    with pytest.raises(NotImplementedError):
        missing.use = 1
    with pytest.raises(NotImplementedError):
        copy.deepcopy(missing)()
    with pytest.raises(NotImplementedError):
        missing.b  # noqa: B018 - in a function, the name alone


@pytest.mark.parametrize("stand_in", [not_migrated, native_stand_in])
def test_a_module_may_bind_private_names_of_what_is_left(stand_in) -> None:  # type: ignore[no-untyped-def]
    """``_check = convolution_2d._check`` at the top of a module took the whole package with it."""
    code = "_check = left._check\nclass A:\n    made = left._made\ndef f():\n    return left._check\n"
    space: dict[str, object] = {"left": stand_in("chainer.a"), "__name__": "module"}
    exec(code, space)
    with pytest.raises(NotImplementedError, match=r"chainer\.a\._check was not migrated"):
        space["_check"](1)  # type: ignore[operator]
    with pytest.raises(AttributeError, match="_check.* was not migrated"):
        space["f"]()  # type: ignore[operator]
    assert not hasattr(space["left"], "_pytestfixturefunction") and not hasattr(space["left"], "__test__")
