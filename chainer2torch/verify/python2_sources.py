"""Originals of Python 2: Chainer's side runs them as Python 3, with the division of Python 2.

The tree stays as it is; what is run is a copy, in which files other than sources are links to those of the tree.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import shutil
import tempfile
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path

from chainer2torch.analysis.source import Source
from chainer2torch.python2 import beside, convert, division, names, suspects

# what workers put among the builtins (verify/worker/old_names.py)
_DIVIDE = "_python2_division"
_LEFT_OUT = shutil.ignore_patterns(".git", ".hg", ".svn", ".venv", "venv", "__pycache__", "node_modules", ".tox")


@contextlib.contextmanager
def readable(src: Path) -> Iterator[Path]:
    """The tree, or a copy of it as Python 3 if it has files that only Python 2 runs; it lasts as long as the context.

    Files that nobody can read stay as they are: what imports them says so.
    """
    modern = _modern(src)
    if not modern:
        yield src
        return
    root = Path(tempfile.mkdtemp(prefix="chainer2torch-python2-"))
    try:
        copy = root / src.resolve().name
        shutil.copytree(src, copy, ignore=_LEFT_OUT, copy_function=_link, symlinks=True)
        for path, text in modern.items():
            (copy / path).unlink()
            (copy / path).write_bytes(text)
        yield copy
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _link(source: str, target: str) -> str:
    if source.endswith(".py"):  # a source that is a link is not read, for it may lead out of its tree
        return str(shutil.copy2(source, target))
    os.symlink(os.path.abspath(source), target)
    return target


def _modern(src: Path) -> dict[str, bytes]:
    """The files of a tree that only Python 2 runs, as Python 3, in their own encoding."""
    texts, encodings = {}, {}
    for folder, folders, files in os.walk(src):
        skipped = _LEFT_OUT(folder, folders)
        folders[:] = [name for name in folders if name not in skipped]
        for name in files:
            if name.endswith(".py"):
                path = os.path.relpath(os.path.join(folder, name), src).replace(os.sep, "/")
                with contextlib.suppress(SyntaxError, UnicodeDecodeError, OSError):
                    raw = (src / path).read_bytes()
                    encodings[path] = tokenize.detect_encoding(io.BytesIO(raw).readline)[0]
                    texts[path] = raw.decode(encodings[path])
    found = {path: new for path, text in texts.items() if (new := as_python3(path, text, texts)) is not None}
    old = {path for path in found if not suspects.parses(texts[path])}
    for path in beside.only_python2(texts, texts, old, suspects.parses):
        converted = convert.convert(texts[path], beside.siblings_of(path, texts, texts))
        if converted is not None:
            found[path] = _with_divisions(Source(converted.text, ast.parse(converted.text)))
            old.add(path)
    for path in beside.run_with(texts, old):  # they run under Python 2, too
        if path not in found and "/" in texts[path] and suspects.parses(texts[path]):
            divided = _with_divisions(Source(texts[path], ast.parse(texts[path])))
            if divided != texts[path]:
                found[path] = divided
    return {path: text.encode(encodings[path]) for path, text in found.items()}


def as_python3(path: str, text: str, texts: Mapping[str, str]) -> str | None:
    """A file of Python 2 as Python 3 that computes the same; None: Python 3 reads it as it is, or nobody does.

    ``texts`` are those of the whole tree, by path.
    """
    if suspects.may_be_python2(text) and not suspects.parses(text):
        converted = convert.convert(text, beside.siblings_of(path, texts, texts))
        new = None if converted is None else converted.text
    elif names.suspected(text) and suspects.parses(text):
        new = names.of_today(text)
    else:
        return None
    return None if new is None else _with_divisions(Source(new, ast.parse(new)))


def _with_divisions(source: Source) -> str:
    """The text in which a helper decides, by the numbers that it is given, what ``/`` means."""
    if not division.changed_meaning(source):
        return source.text
    edits: list[tuple[int, int, str]] = []  # from, to, what stands there then
    for found in division.true_ones(source):
        assert isinstance(found.node, (ast.BinOp, ast.AugAssign))
        begin, end = source.span(found.node)
        if isinstance(found.node, ast.BinOp):
            edits += [(begin, begin, f"{_DIVIDE}("), (found.sign, found.sign + 1, ","), (end, end, ")")]
        else:
            start, stop = source.span(found.operands[0])
            edits += [
                (found.sign, found.sign + 2, f"= {_DIVIDE}({source.text[start:stop]}, "),
                (end, end, ", in_place=True)"),
            ]
    text = source.text
    for begin, end, new in sorted(edits, key=lambda edit: edit[0], reverse=True):
        text = text[:begin] + new + text[end:]
    return text
