"""The tool checks itself: what it writes, migrated once more in memory, has to stay as it is."""

from __future__ import annotations

from collections.abc import Iterable

from chainer2torch.project.asked_once import alone, ask_once
from chainer2torch.project.files import FileError
from chainer2torch.project.output import Change
from chainer2torch.project.scan import Project
from chainer2torch.project.tree import Engine, Tree

_WORDS = "please report it with this file, if you may (--no-self-check leaves this check out)"


def self_check(project: Project, wanted: Iterable[Change], engine: Engine) -> list[FileError]:
    """Errors for the files that a second run would change, each with the first line that it would change."""
    wanted = list(wanted)
    return [
        error
        for tree in project.trees
        if any(change.tree is tree and change.relative in tree.sources for change in wanted)
        for error in _check(tree, {change.relative: change for change in wanted if change.tree is tree}, engine)
    ]


def _check(tree: Tree, changes: dict[str, Change], engine: Engine) -> Iterable[FileError]:
    texts = {path: tree.results[path].code if path in changes else source.text for path, source in tree.sources.items()}
    texts.update((path, change.new.decode()) for path, change in changes.items() if change.is_helpers)
    try:
        results = engine(texts, tree.pin.major if tree.pin else None, tree.name)
    except Exception as error:  # noqa: B902 - it is a defect of ours, and so is what this looks for
        yield _defect(tree, "", f"a second run fails ({type(error).__name__}: {error})", None)
        return
    ask_once(results, tree.reported)
    for path in tree.reported:
        if path in changes and path in results:
            result = results[path]
            if result.error:
                yield _defect(tree, path, f"a second run fails ({result.error})", None)
            elif alone(result.code) != alone(texts[path]):
                line = _first_difference(texts[path], result.code)
                yield _defect(tree, path, "a second run would change the migrated file again", line)


def _defect(tree: Tree, path: str, what: str, line: int | None) -> FileError:
    message = f"internal error of chainer2torch: {what}; {_WORDS}"
    return FileError("C2T009", tree.show(path) or ".", " ".join(message.split()), line)


def _first_difference(before: str, after: str) -> int:
    pairs = zip(before.splitlines(), after.splitlines())
    return next((number for number, (one, other) in enumerate(pairs, 1) if one != other), before.count("\n") + 1)
