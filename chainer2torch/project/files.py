"""Reading, walking and writing files so that nothing is lost: bytes in, bytes out.

Nothing here knows about Chainer, and nothing here is heavy: no LibCST, no torch. What only writing needs is imported
where it is used: a hook that finds no Chainer should cost no time.
"""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import io
import os
import re
import signal
import stat
import threading
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from chainer2torch.project.visible import visible

PYTHON_SUFFIXES = frozenset({".py", ".pyw", ".pyi"})
NOTEBOOK_SUFFIX = ".ipynb"
# What --write makes beside the files, and takes away (transaction.py); it is part of no tree.
JOURNAL, TEMPORARY = ".chainer2torch-journal", ".c2t-new"
VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".bzr"})
# Never migrated, because nobody wrote them by hand; -o copies them all the same.
_NOT_SOURCE = frozenset({"__pycache__", "node_modules", "site-packages", ".tox", ".nox", ".eggs", ".ipynb_checkpoints"})
_SHEBANG = re.compile(rb"#!.*\bpython[0-9.]*\b")


class FileError(Exception):
    """One file could not be handled: a stable code, the file, and a message that says what to do."""

    def __init__(
        self, code: str, path: str | Path, message: str, line: int | None = None, cell: int | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.path, self.message, self.line, self.cell = (
            code,
            visible(str(path)),
            visible(message),
            line,
            cell,
        )

    @property
    def place(self) -> str:
        """The file, with the line where it is known; in a notebook the cell and its line."""
        cell = "" if self.cell is None else f":cell {self.cell}"
        return f"{self.path}{cell}" if self.line is None else f"{self.path}{cell}:{self.line}"

    def __str__(self) -> str:
        return f"{self.place}: {self.code} {self.message}"


@dataclasses.dataclass(frozen=True)
class Entry:
    """One thing in a tree: ``kind`` is file, link, dir or special; ``python`` says whether it is source to look at."""

    path: Path
    relative: str
    kind: str
    python: bool = False  # notebooks included


@dataclasses.dataclass(frozen=True)
class Source:
    """The text of a Python file with what is needed to write it back byte for byte."""

    raw: bytes
    text: str
    encoding: str

    def encode(self, text: str) -> bytes:
        """The bytes of a new text of this file, in its own encoding and with its byte order mark if it had one."""
        return text.encode(self.encoding)


def walk(root: Path, problem: Callable[[FileError], object]) -> Iterator[Entry]:
    """Everything under ``root`` in a stable order; links are not followed, version control folders are left out.

    A folder that cannot be read is handed to ``problem``, and the rest is still walked.
    """
    yield from _walk(root, "", True, problem)


def _walk(folder: Path, prefix: str, source: bool, problem: Callable[[FileError], object]) -> Iterator[Entry]:
    try:
        children = sorted(os.scandir(folder), key=lambda child: child.name)
    except OSError as error:
        problem(FileError("C2T002", folder, f"the folder cannot be read: {reason(error)}"))
        return
    source = source and not any(child.name == "pyvenv.cfg" for child in children)
    for child in children:
        path, relative = folder / child.name, prefix + child.name
        if child.name in VERSION_CONTROL:  # a folder, or in a linked work tree a file
            continue
        if child.is_symlink():
            yield Entry(path, relative, "link")
        elif child.is_dir(follow_symlinks=False):
            yield Entry(path, relative, "dir")
            yield from _walk(path, relative + "/", source and child.name not in _NOT_SOURCE, problem)
        elif child.is_file(follow_symlinks=False):
            yield Entry(path, relative, "file", source and is_python(path))
        else:
            yield Entry(path, relative, "special")


def is_python(path: Path) -> bool:
    """By its ending (notebooks included), or for a file without one by its first line."""
    if path.suffix:
        return path.suffix in PYTHON_SUFFIXES or path.suffix == NOTEBOOK_SUFFIX
    try:
        with open(path, "rb") as stream:
            return bool(_SHEBANG.match(stream.readline(200)))
    except OSError:
        return False


def is_transient(path: Path) -> bool:
    """Whether a file belongs to a run with --write that has not ended, or was killed."""
    return path.name.startswith(JOURNAL) or path.name.startswith(".") and path.name.endswith(TEMPORARY)


def is_not_source(relative: str) -> bool:
    """Whether a path lies in a folder that nobody writes by hand."""
    return not _NOT_SOURCE.isdisjoint(relative.split("/"))


def read(path: Path) -> bytes:
    """The bytes of a regular file; FileError otherwise (a FIFO or a device would block for ever)."""
    try:
        before = path.stat()
        if stat.S_ISDIR(before.st_mode):
            raise FileError("C2T002", path, "is a folder, not a file")
        if not stat.S_ISREG(before.st_mode):
            raise FileError("C2T006", path, "is not a regular file (a pipe, socket or device)")
        data = path.read_bytes()
        after = path.stat()
        if (before.st_ino, before.st_size, before.st_mtime_ns) != (after.st_ino, after.st_size, after.st_mtime_ns):
            raise FileError("C2T002", path, "changed while it was being read; run the command again")
        return data
    except FileNotFoundError:
        raise FileError("C2T001", path, "does not exist") from None
    except OSError as error:
        raise FileError("C2T002", path, f"cannot be read: {reason(error)}") from None


def decode(raw: bytes, path: str | Path) -> Source:
    """Decodes as Python does (byte order mark, coding cookie, else UTF-8); line ends stay as they are."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")).readline)
    except SyntaxError as error:
        raise FileError(
            "C2T003", path, f"cannot be decoded: {error.msg}; correct the coding line or convert the file"
        ) from None
    try:
        text = raw.decode(encoding)
        same = text.encode(encoding) == raw
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FileError(
            "C2T003",
            path,
            f"cannot be decoded as {encoding} (byte 0x{raw[error.start]:02x}); convert it to UTF-8, "
            "or declare its encoding in the first line: # -*- coding: NAME -*-",
            line,
        ) from None
    except (LookupError, ValueError) as error:  # rot13, base64, undefined and their like; Python refuses them, too
        raise FileError(
            "C2T003",
            path,
            f"its coding line names {encoding}, which Python cannot read source in ({' '.join(str(error).split())}); "
            "correct the coding line, or convert the file to UTF-8",
        ) from None
    if not same:
        raise FileError(
            "C2T003", path, f"decoding it as {encoding} does not give the same bytes back; convert the file to UTF-8"
        )
    return Source(raw, text, codecs.lookup(encoding).name)


def write_atomic(path: Path, data: bytes, *, like: Path | None = None) -> bool:
    """Replaces ``path`` by ``data`` in one step; false when it has these bytes already. Parents are made.

    ``like`` gives the mode of a new file; an existing one keeps its own. FileError when it cannot be written; then the
    old content is intact and no temporary file is left behind. Files that belong together: transaction.py.
    """
    shown, path = path, Path(os.path.realpath(path))  # a link stays a link
    try:
        current = path.read_bytes() if path.is_file() else None
        if current == data:
            return False
        if path.exists() and not path.stat().st_mode & 0o222:
            raise FileError("C2T007", shown, "is read-only; allow writing (chmod u+w) and run the command again")
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.parent.stat().st_mode & 0o222:
            raise FileError("C2T007", shown, f"its folder {path.parent} is read-only; allow writing (chmod u+w)")
        mode_of = path if current is not None else like
        mode = stat.S_IMODE(mode_of.stat().st_mode) if mode_of is not None else 0o666 & ~_umask()
        with interrupts_wait():
            _replace(path, data, mode)
    except OSError as error:
        raise FileError("C2T007", shown, f"cannot be written: {reason(error)}") from None
    return True


def _replace(path: Path, data: bytes, mode: int) -> None:
    import tempfile

    handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".c2t", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            if path.exists():  # the only copy of somebody's work: on disk before it takes the old one's place
                stream.flush()
                os.fsync(stream.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def interrupts_wait() -> Iterator[None]:
    """Holds Ctrl-C and SIGTERM back for the moment that one file takes.

    It could come between the making of the temporary file and the code that takes it away, or just after the file has
    taken its place.
    """
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    if not handlers or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, Any]] = []
    for held in handlers:
        signal.signal(held, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        for held, handler in handlers.items():
            signal.signal(held, handler)
    for number, frame in came[:1]:
        handler = handlers[signal.Signals(number)]
        assert callable(handler)
        handler(number, frame)


def _umask() -> int:
    value = os.umask(0)
    os.umask(value)
    return value


def copy(entry: Entry, target: Path) -> None:
    """Copies a file or a link as it is, with its mode and times."""
    try:
        if entry.kind == "link":
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.is_symlink() or target.is_file():
                target.unlink()
            os.symlink(os.readlink(entry.path), target)
            return
        import shutil

        data = read(entry.path)
        write_atomic(target, data, like=entry.path)
        shutil.copystat(entry.path, target)
    except OSError as error:
        raise FileError("C2T007", target, f"cannot be written: {reason(error)}") from None


def reason(error: OSError) -> str:
    """What the operating system says, without the errno and the path, which the message has already."""
    return error.strerror or str(error)
