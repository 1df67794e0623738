"""Decides what a project's dependency files ask for once its code is migrated."""

from __future__ import annotations

import ast
import dataclasses
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from chainer2torch.analysis.memory import made_once
from chainer2torch.analysis.source import Nodes, nodes_of
from chainer2torch.project import files
from chainer2torch.vendor import compat_file
from chainer2torch.project.dependencies import requirement_places, python_places
from chainer2torch.project.dependencies.editing import (
    Change,
    Group,
    Item,
    Wanted,
    added,
    apply,
    canonical,
    line_of,
    parse,
    replaced,
)
from chainer2torch.project.files import Entry, FileError, Source
from chainer2torch.project.tree import ResultLike, Tree
from chainer2torch.plan.site import Site
from chainer2torch.rules.table import Library

CODE = "C2T016"
_IMPORTS_TORCH = re.compile(rb"^[ \t\"]*(?:import|from)[ \t]+torch\b", re.MULTILINE)
# import name -> package and the oldest version with which the helpers and rules are proved; the order of the new lines
_PACKAGES = {
    "torch": Wanted("torch", "2.13"),
    "torchvision": Wanted("torchvision", ""),
    "pfrl": Wanted("pfrl", "0.4"),
    "ignite": Wanted("pytorch-ignite", "0.5.5"),
    "pytorch_pfn_extras": Wanted("pytorch-pfn-extras", "0.9"),
    "parameterized": Wanted("parameterized", "0.9"),
    # these came with Chainer
    "numpy": Wanted("numpy", "1.26"),
    "six": Wanted("six", ""),
    "filelock": Wanted("filelock", ""),
    "typing_extensions": Wanted("typing-extensions", ""),
}
# what conda's channels call them; the others come from pip there
_ON_CONDA = {
    "torch": "pytorch",
    "numpy": "numpy",
    "six": "six",
    "filelock": "filelock",
    "typing-extensions": "typing-extensions",
}


@dataclasses.dataclass
class Moved:
    """A dependency file: as it was, as it becomes, and what the report says of it."""

    source: Source
    text: str
    sites: list[Site]


@dataclasses.dataclass(frozen=True)
class _Needs:
    """What the code below a folder imports once it is migrated."""

    migrated: bool  # whether it was Chainer code, or is PyTorch code by now
    imports: frozenset[str]  # top-level modules and, for libraries, dotted ones
    left: int  # references to Chainer that it still has
    kept: bool = False  # whether some of them were left to another stage

    def stays(self, package: str, libraries: Mapping[str, Library]) -> bool:
        """Whether a package of Chainer's is still needed."""
        own = {library.module.split(".")[0] for library in libraries.values() if canonical(library.package) == package}
        if own:
            return bool(own & self.imports)
        if package == "chainermn":
            return "chainermn" in self.imports
        needed = self.left > 0 or self.kept or "chainer" in self.imports
        return needed or (package.startswith("cupy") and "cupy" in self.imports)

    @property
    def wanted(self) -> list[Wanted]:
        """The packages that it imports, of those that may have to be added."""
        return [wanted for name, wanted in _PACKAGES.items() if name in self.imports]


def move_tree(
    tree: Tree,
    found: Iterable[tuple[Entry, str, bytes]],
    load_libraries: Callable[[], Mapping[str, Library]],
    rewrite: bool,
    problems: list[FileError],
) -> None:
    """Edits the dependency files that were found in a folder, and its setup.py (see ``dependencies.move``)."""
    for entry, kind, raw in found:
        try:
            needs = _needs(tree, entry.relative, rewrite)
            if needs.migrated:
                source = files.decode(raw, entry.path)
                text, sites = _edited(
                    source.text, requirement_places.groups(kind, source.text), needs, load_libraries(), kind
                )
                tree.requirements[entry.relative] = Moved(source, text if rewrite else source.text, sites)
        except FileError as error:
            problems.append(error)
        except ValueError as error:
            problems.append(FileError("C2T004", tree.show(entry.relative), f"is not well formed: {error}"))
    for path, result in list(tree.results.items()):
        if posixpath.basename(path) == "setup.py" and path in tree.reported and path not in tree.broken:
            _setup_py(tree, path, result, load_libraries(), rewrite)


def _setup_py(tree: Tree, path: str, result: ResultLike, libraries: Mapping[str, Library], rewrite: bool) -> None:
    needs = _needs(tree, path, rewrite)
    if not needs.migrated:
        return
    before, stray = python_places.groups(tree.sources[path].text)
    _, sites = _edited(tree.sources[path].text, before, needs, libraries, "pip")
    for line, text in stray:
        found = parse(text)
        if found is not None and _ours(found.name, libraries):
            sites.append(
                Site(
                    line,
                    1,
                    found.name,
                    "manual",
                    CODE,
                    "asks for it in a form that is not understood here; change it by hand",
                )
            )
    if not sites or not dataclasses.is_dataclass(result):
        return
    code = result.code
    if rewrite:
        code, _ = _edited(code, python_places.groups(code)[0], needs, libraries, "pip")
        ast.parse(code)
    tree.results = {
        **tree.results,
        path: dataclasses.replace(
            result, code=code, sites=sorted([*result.sites, *sites], key=lambda site: (site.line, site.column))
        ),
    }


def _needs(tree: Tree, path: str, rewrite: bool) -> _Needs:
    """What is imported by the code below the file's folder, or by all when there is none."""
    folder = posixpath.dirname(path)
    scope = [p for p in tree.reported if not folder or p.startswith(folder + "/")]
    scope = [p for p in scope if posixpath.basename(p) != "setup.py"] or tree.reported
    imports: set[str] = set()
    helpers: set[str] = set()
    left = 0
    migrated = kept = False
    for name in scope:
        result = tree.results.get(name)
        if name in tree.broken and name in tree.sources:
            left += 1  # not migrated: it has what it had
        if result is None:  # without a word of Chainer: perhaps it is PyTorch code
            migrated = migrated or _is_torch(tree.base / name)
            continue
        if compat_file.is_helper_module(name, result.code):
            continue  # what it has to hold is told by those who use it
        if result.modules is None:  # it was not analysed
            found, used = _imports(result.code), compat_file.names_used(result.code, tree.style)
        else:
            found, used = result.modules, result.uses
        imports |= found
        helpers |= used | (result.helpers if rewrite else set())
        kept = kept or any(True for _ in result.kept)
        left += result.left
        migrated = migrated or result.changed or "torch" in found or (not rewrite and any(True for _ in result.sites))
    if helpers:
        imports.update(
            made_once(
                tree.memory,
                lambda: sorted(compat_file.modules_of_helpers(frozenset(helpers), tree.style)),
                "imports of helpers",
                sorted(helpers),
                tree.style,
            )
        )
    return _Needs(migrated, frozenset(imports), left, kept)


def _is_torch(path: Path) -> bool:
    try:
        return _IMPORTS_TORCH.search(files.read(path)) is not None
    except FileError:
        return False


def _imports(code: str) -> frozenset[str]:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    return compat_file.top_modules(Nodes(nodes_of(tree)))


def _ours(package: str, libraries: Mapping[str, Library]) -> bool:
    """Whether a package is Chainer, CuPy or a library on Chainer."""
    return re.fullmatch(r"chainer|chainermn|cupy(?:-(?:cuda|rocm)[\w-]*)?", package) is not None or any(
        canonical(library.package) == package for library in libraries.values()
    )


def _edited(
    text: str, groups: Iterable[Group], needs: _Needs, libraries: Mapping[str, Library], kind: str
) -> tuple[str, list[Site]]:
    """The new text of a file, and a site for each requirement that is Chainer's."""
    changes: list[Change] = []
    sites: list[Site] = []
    groups = list(groups)
    for group in groups:
        mine = [item for item in group.items if _ours(item.requirement.name, libraries)]
        if not mine:
            continue
        gone = [item for item in mine if not needs.stays(item.requirement.name, libraries)]
        gone = [] if group.unclear else gone
        present = {item.requirement.name for item in group.items}
        only_cupy = all(item.requirement.name.startswith("cupy") for item in mine)
        wanted = [w for w in needs.wanted if not only_cupy or w.package == "torch"]
        if kind == "conda" and group is groups[0]:
            # a list for pip that names Chainer's packages gets all that is wanted in their place, below
            if gone and not any(_ours(item.requirement.name, libraries) for item in groups[1].items):
                changes += _from_pip(text, groups, [w for w in wanted if w.package not in _ON_CONDA])
            wanted = [dataclasses.replace(w, package=_ON_CONDA[w.package]) for w in wanted if w.package in _ON_CONDA]
        new = [w for w in wanted if canonical(w.package) not in present]
        sites += _sites(text, group, mine, gone, new, libraries, kind, needs.kept)
        if not group.unclear and (gone or new):
            changes += replaced(text, group, gone, mine[-1], new)
    return apply(text, changes), sorted(sites, key=lambda site: (site.line, site.column))


def _from_pip(text: str, groups: list[Group], wanted: list[Wanted]) -> Iterable[Change]:
    """What conda gets from pip: behind its list for pip, which is made when there is none."""
    own, inner = groups
    new = [w.package for w in wanted if w.package not in {item.requirement.name for item in inner.items}]
    if not new:
        return
    last = (inner.items or own.items)[-1]
    start = max(text.rfind("\n", 0, last.start), text.rfind("\r", 0, last.start)) + 1
    indent = re.match(r"[ \t]*", text[start:])
    depth = indent[0] if indent else ""
    if inner.items:
        yield added(text, last, [f"{depth}- {package}" for package in new])
    else:
        pip = [] if any(item.requirement.name == "pip" for item in own.items) else [f"{depth}- pip"]
        yield added(text, last, [*pip, f"{depth}- pip:", *(f"{depth}  - {package}" for package in new)])


def _sites(
    text: str,
    group: Group,
    mine: list[Item],
    gone: list[Item],
    new: list[Wanted],
    libraries: Mapping[str, Library],
    kind: str,
    kept: bool,
) -> Iterable[Site]:
    names = ", ".join(wanted.package for wanted in new)
    for item in mine:
        name = item.requirement.name
        if group.unclear:
            state, said = "manual", f"{group.unclear}; it is to be {names or 'taken out'}"
        elif item not in gone and kept:
            state, said = "exact", f"stays{f' beside {names}' if names else ''} while the project needs both"
        elif item not in gone:
            library = next((found for found in libraries.values() if canonical(found.package) == name), None)
            why = library.advice if library else "the migrated code still needs it"
            state, said = "manual", f"stays{f' beside {names}' if names else ''}: {why}"
        elif kind == "conda" and names:
            state, said = "review", f"becomes {names}; see that your channels have them, or list them under pip"
        else:
            state, said = "exact", f"becomes {names}" if item is gone[0] and names else "goes"
        yield _site(text, item, state, said)
    for item in group.items:
        if item.requirement.name == "numpy" and item.requirement.capped and mine:
            yield _site(
                text,
                item,
                "review",
                "kept as it is; the migrated code is proved with NumPy 1.26 and newer: "
                "see that this version goes with PyTorch",
            )


def _site(text: str, item: Item, state: str, message: str) -> Site:
    start = max(text.rfind("\n", 0, item.start), text.rfind("\r", 0, item.start)) + 1
    return Site(
        line_of(text, item.start),
        len(text[start : item.start].encode(errors="replace")) + 1,
        item.requirement.name,
        state,
        CODE,
        message,
    )
