"""chainer_compat.py is built from the text of the rooms: complete, minimal, importable and always the same."""

import ast
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from chainer2torch import compat, native
from chainer2torch.analysis.source import Nodes, nodes_of
from chainer2torch.vendor import compat_file, imports
from chainer2torch.vendor import rooms as rooms_module
from chainer2torch.vendor.compat_file import VendorError

TOY = {
    "alpha": '''
        """A room."""
        from __future__ import annotations

        import math
        import os
        from collections.abc import Iterator, Sequence

        from chainer2torch.compat.beta import twice

        __all__ = ["area"]

        # the ratio of a circle
        _RATIO = math.pi


        # kept: says why
        @staticmethod
        def area(radius: float) -> float:
            """Area.  Odd   spacing stays."""
            return _RATIO * twice(radius)  # and so do comments


        def numbers(n: int) -> Iterator[int]:
            yield from range(n)


        def local(area: int) -> int:
            return area


        def unused(values: Sequence[int]) -> str:
            return os.sep


        class Child(twice(object) if False else dict):
            pass
        ''',
    "beta": """
        import functools
        import os.path
        import xml.sax

        from chainer2torch.compat import gamma


        def twice(x):
            from chainer2torch.compat.alpha import numbers
            return x + gamma.once(x) + 0 * len(list(numbers(1)))


        @functools.lru_cache
        def join(a):
            return os.path.join(a, "b")
        """,
    "gamma": """
        LIMIT = _default() if False else 3
        _A, _B = 1, 2


        def _default():
            return LIMIT


        def once(x):
            return x * _A


        class Iterator:
            def clone(self) -> "Iterator":
                return self
        """,
}


@pytest.fixture
def rooms(tmp_path):
    folder = tmp_path / "compat"
    folder.mkdir()
    for name, text in TOY.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text).lstrip())
    return folder


def run(text):
    space = {"__name__": "chainer_compat"}
    exec(compile(text, "chainer_compat.py", "exec"), space)
    return space


def test_closure_is_complete_and_minimal(rooms):
    text = compat_file.build(["area"], rooms)
    space = run(text)
    assert space["area"](1.0) == pytest.approx(2 * 3.14159265)
    assert {"area", "twice", "once", "numbers", "_RATIO", "_A"} <= set(space)
    assert not {"unused", "local", "join", "Child", "os", "LIMIT"} & set(space)


def test_text_is_verbatim_with_comments_and_decorators(rooms):
    text = compat_file.build(["area"], rooms)
    assert "# the ratio of a circle\n_RATIO = math.pi" in text
    assert "# kept: says why\n@staticmethod\ndef area" in text
    assert '"""Area.  Odd   spacing stays."""\n    return _RATIO * twice(radius)  # and so do comments' in text
    assert "chainer2torch.compat" not in text
    assert "return x + once(x)" in text, "gamma.once is once in one module"


def test_only_needed_imports_sorted(rooms):
    assert "import os.path" in compat_file.build(["join"], rooms)
    assert "xml" not in compat_file.build(["join", "area", "Child"], rooms)
    assert "from collections.abc import Iterator, Sequence" in compat_file.build(["numbers", "unused"], rooms)


def test_a_parameter_is_no_use_of_the_helper_of_that_name(rooms):
    assert "def area" not in compat_file.build(["local"], rooms)


def test_what_runs_at_import_comes_after_what_it_needs(rooms):
    text = compat_file.build(["LIMIT", "Child"], rooms)
    assert text.index("def _default") < text.index("LIMIT =")
    assert text.index("def twice") < text.index("class Child")
    run(text)


def test_an_import_named_as_a_helper_is_written_in_full(rooms):
    text = compat_file.build(["numbers", "Iterator"], rooms)
    assert "-> collections.abc.Iterator[int]" in text and "import collections.abc" in text
    assert "class Iterator:" in text
    run(text)


def test_same_names_same_bytes(rooms):
    assert compat_file.build(["area", "join"], rooms) == compat_file.build({"join", "area"}, rooms)


def test_unknown_name_and_unclear_rooms_are_errors(rooms):
    with pytest.raises(VendorError, match="no helper named nothing"):
        compat_file.build(["nothing"], rooms)
    other = rooms / "other" / "compat"
    shutil.copytree(rooms, other)
    (other / "delta.py").write_text("def area():\n    pass\n")
    with pytest.raises(VendorError, match="area is defined in both"):
        compat_file.build(["area"], other)
    assert "def join" in compat_file.build(["join"], other), "a clash elsewhere is no matter"
    other = rooms / "third"
    other.mkdir()
    (other / "loops.py").write_text("for i in range(3):\n    print(i)\n")
    with pytest.raises(VendorError, match="only imports, functions, classes and constants"):
        compat_file.build([], other)


def test_rooms_of_another_folder_import_under_its_name(rooms):
    native = rooms.parent / "native"
    (native / "sums").mkdir(parents=True)
    (native / "sums" / "adding.py").write_text(
        "from chainer2torch.native.parts import one\n\n\ndef two():\n    return 2 * one()\n"
    )
    parts = """
        from chainer2torch.native.sums import adding

        def one():
            return 1

        def four():
            return 2 * adding.two()
        """
    (native / "parts.py").write_text(textwrap.dedent(parts))
    assert run(compat_file.build(["two"], native))["two"]() == 2
    assert "def four" not in compat_file.build(["two"], native)
    assert run(compat_file.build(["four"], native))["four"]() == 4
    for line in (
        "from chainer2torch.compat.alpha import area",
        "import chainer2torch.compat",
        "from chainer2torch import rules",
    ):
        (native / "wrong.py").write_text(f"{line}\n")
        copy = rooms.parent / str(len(line)) / "native"
        shutil.copytree(native, copy)
        with pytest.raises(VendorError, match="only what is in chainer2torch.native is shipped"):
            compat_file.build(["two"], copy)


def test_header_says_where_it_comes_from(rooms):
    text = compat_file.build(["area"], rooms)
    assert compat_file.is_ours(text) and "the standard library only" in text
    assert not compat_file.is_ours("def mine(): pass\n")


@pytest.mark.parametrize(
    "line, expected",
    [
        ("import chainer_compat as compat\ncompat.relu6(compat.other)", {"relu6", "other"}),
        ("import chainer_compat\nchainer_compat.a()", {"a"}),
        ("from chainer_compat import a, b", {"a", "b"}),
        ("from . import chainer_compat as c\nc.a", {"a"}),
        ("from .chainer_compat import a", {"a"}),
        ("# chainer_compat.a", set()),
        ("compat.a; chainer_compat = 1", set()),
        ("import chainer_compat as (", set()),
    ],
)
def test_names_used(line, expected, monkeypatch):
    monkeypatch.setattr(compat_file, "helper_names", lambda **_: frozenset({"relu6", "other", "a", "b"}))
    assert compat_file.names_used(line) == expected


@pytest.mark.parametrize("folder, at_least", [(None, 50), (compat_file.NATIVE, 15)], ids=["compat", "native"])
def test_every_real_helper_alone_and_all_together(folder, at_least, tmp_path):
    names = sorted(compat_file.helper_names(folder))
    assert len(names) > at_least and not {name for name in names if not name.isidentifier()}
    for name in names:
        text = compat_file.build([name], folder)
        assert "chainer2torch." not in text, name
        (tmp_path / f"{name}.py").write_text(text)
    together = tmp_path / "chainer_compat.py"
    together.write_text(compat_file.build(names, folder))
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--target-version",
        "py310",
        "--select",
        "F,E9",
        str(tmp_path),
    ]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    pytest.importorskip("torch")
    probe = f"import chainer_compat; print(all(hasattr(chainer_compat, name) for name in {names!r}))"
    done = subprocess.run([sys.executable, "-c", probe], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("package, at_least", [(compat, 900), (native, 15)])
def test_any_helpers_can_be_shipped_together(package, at_least):
    """A name at the top of two rooms, private ones too, would stop the migration of a project that needs both."""
    homes: dict[str, str] = {}
    clashes = []
    for path in sorted(Path(package.__file__).parent.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            names = (
                [node.name]
                if isinstance(node, (ast.FunctionDef, ast.ClassDef))
                else [t.id for t in node.targets if isinstance(t, ast.Name)]
                if isinstance(node, ast.Assign)
                else []
            )
            clashes += [
                (name, homes[name], path.stem)
                for name in names
                if not name.startswith("__") and homes.setdefault(name, path.stem) != path.stem
            ]
    assert len(homes) > at_least and not clashes


@pytest.mark.parametrize("folder", [compat, native], ids=lambda module: module.__name__)
def test_definitions_that_are_parsed_when_they_are_needed_are_those_of_the_whole_module(folder):
    root = Path(folder.__file__).parent
    rooms = [path for path in sorted(root.rglob("*.py")) if path.name != "__init__.py"]
    assert len(rooms) > 15
    for path in rooms:
        found = rooms_module.read_room(path, folder.__name__).definitions
        shown = {name: ast.dump(one.node, include_attributes=True) for one in found for name in one.names}
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                assert shown.pop(node.name) == ast.dump(node, include_attributes=True), (path, node.name)
        assert {name for one in found if one.parsed is not None for name in one.names} == shown.keys()
        assert [one.line for one in found] == sorted(one.line for one in found)


def test_that_docstrings_are_summaries_in_the_native_style() -> None:
    """The tool's own sources keep the whole text; what a docstring says first is never cut."""
    text = compat_file.build(["Trainer"], style="native")
    long = compat_file.build(["Trainer"], style="faithful")
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    summaries = {node.name: ast.get_docstring(node) for node in found if ast.get_docstring(node)}
    assert summaries and not any("\n\n" in (summary or "") for summary in summaries.values())
    assert any(
        "\n\n" in (ast.get_docstring(node) or "")
        for node in ast.walk(ast.parse(long))
        if isinstance(node, ast.ClassDef)
    )
    for room in compat_file.NATIVE.glob("*.py"):
        for node in ast.parse(room.read_text()).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name in summaries:
                whole = ast.get_docstring(node) or ""
                assert (summaries[node.name] or "").strip() == whole.split("\n\n")[0]


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_the_head_tells_the_style(style: str) -> None:
    text = compat_file.build(["Adam", "get_mnist"], style=style)
    assert compat_file.is_ours(text) and compat_file.style_of(text) == style
    assert max(map(len, text.partition("import ")[0].splitlines())) <= 120


ROOM = '''
from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from copy import copy as shallow_copy
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
import torch.nn as nn
from pytorch_pfn_extras.training import extensions as ppe_extensions
from torch import Tensor
from torch.nn.parameter import is_lazy
from torch.utils.data import Dataset

_LIMITS: dict[str, float] = {"a": 1.0}


class Field(NamedTuple):
    """A field."""

    name: str
    size: int = 3


class Examples(Dataset[Any]):
    """Examples."""

    apply: ClassVar[Callable[..., Tensor]]  # says what it is
    names: ClassVar[list[str]] = ["a"]

    def __getitem__(self, index: int) -> Any:  # type: ignore[override]
        found: list[Tensor] = []
        empty: Iterator[int]

        @torch.no_grad()
        def inner(x: Tensor, *more: Tensor, scale: float = 1.0, **rest: Any) -> Tensor:
            return x * scale

        return shallow_copy(found), copy.deepcopy(self), is_lazy(inner(torch.ones(2))), Tensor


def from_torch(Tensor: Any, is_lazy: Callable[[Any], bool], ppe: int = 1) -> bool:
    """A function whose parameters are called as what is imported."""
    return is_lazy(Tensor)


def long_header(
    first: int,
    second: Callable[[int, str, float], Iterator[int]] | None = None,
    third: np.ndarray[Any, Any] | None = None,
    *others: Callable[..., Any],
    fourth: bool = False,
) -> dict[str, Callable[..., Any]]:
    # a comment
    return {"a": ppe_extensions.LogReport}


def kept(ppe: Any) -> Any:
    """Nothing else can be called ppe here."""
    return ppe, ppe_extensions.LogReport, nn.Linear, math.pi
'''


def test_the_native_style_has_code_without_annotations_and_few_imports(tmp_path: Path) -> None:
    """What stays: fields of named tuples; the name of an import that another name of a function hides."""
    (tmp_path / "room.py").write_text(ROOM)
    native = compat_file._rooms(tmp_path, "native.", brief=True)
    every = {name for room in native for part in room.definitions for name in part.names}
    module = compat_file._Module("native", native)
    text = module.render(sorted(every - {"kept"}))
    head = text.partition("_LIMITS = {")[0].split("\n")
    assert [row for row in head if "import" in row] == [
        "from __future__ import annotations",
        "import copy",
        "from typing import NamedTuple",
        "import pytorch_pfn_extras as ppe",
        "import torch",
        "import torch.nn as nn",
    ]
    for part in (
        "    name: str\n    size: int = 3\n",
        'class Examples(torch.utils.data.Dataset):\n    """Examples."""\n\n    names = ["a"]\n\n    def __getitem__(',
        "        found = []\n\n        @torch.no_grad()\n        def inner(x, *more, scale=1.0, **rest):\n",
        "copy.copy(found), copy.deepcopy(self), nn.parameter.is_lazy(inner(torch.ones(2))), torch.Tensor\n",
        "def from_torch(Tensor, is_lazy, ppe=1):\n",
        "    return is_lazy(Tensor)\n",
        "def long_header(first, second=None, third=None, *others, fourth=False):\n    # a comment\n",
        "ppe.training.extensions.LogReport}",
    ):
        assert part in text, part
    compile(text, "chainer_compat.py", "exec")
    text = module.render(["kept"])
    assert "from pytorch_pfn_extras.training import extensions as ppe_extensions" in text
    assert "from __future__" not in text


def test_every_import_of_a_helper_is_spelled_as_what_it_means() -> None:
    plain = {"copy", "collections", "functools", "itertools", "os"}
    items = {item for room in compat_file._module(None, "native").rooms.values() for item in room.imports}
    for item in items:
        spelled = imports.spelling(item, plain)
        if spelled is not None and "chainer" not in item.module:
            homes: dict[str, Any] = {}
            for statement in *imports.import_blocks([item]), *imports.import_blocks([spelled[1]]):
                exec(statement, homes)
            meant = item.module.split(".")[0] if item.name is None and item.alias is None else item.binds
            assert eval(spelled[0], homes) is eval(meant, homes), item


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_what_helpers_import_is_known_without_their_text(style: str) -> None:
    """Imports of the module and those inside of its functions, of every helper by itself and of some together."""
    names = sorted(compat_file.helper_names(style=style))
    for wanted in [[name] for name in [*names[::7], "read_image"]]:
        text = compat_file.build(wanted, style=style)
        imported = compat_file.top_modules(Nodes(nodes_of(ast.parse(text)))) - {"__future__"}
        assert compat_file.modules_of_helpers(frozenset(wanted), style) == imported, wanted
    text = compat_file.build(names, style=style)
    imported = compat_file.top_modules(Nodes(nodes_of(ast.parse(text)))) - {"__future__"}
    assert compat_file.modules_of_helpers(frozenset(names), style) == imported
