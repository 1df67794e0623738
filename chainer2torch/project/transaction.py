"""Files of a folder that are replaced together: all of them, or none, whenever the process is killed.

1. A journal names the temporary files that will be made.          killed before 3: the next run takes all back
2. The new contents are written into temporary files, each beside the file that it will replace.
3. The journal becomes the decision to replace: one rename.        killed after 3: the next run finishes
4. The temporary files take the places of the files; the journal goes.

Both journals stand in the folder under one fixed name, and the next run looks there before it reads anything. A folder
is locked while it is read and written, for this process only; the lock ends with the process and leaves no file.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from chainer2torch.project.files import JOURNAL, TEMPORARY, FileError, interrupts_wait, reason

_NEW_JOURNAL = JOURNAL + ".new"
_CHANGED = "changed while it was being migrated; run the command again"


class Busy(Exception):
    """Another run writes into the same folder; the message names it."""


class Transaction:
    """New contents for files under ``base``: ``add`` each, then ``commit``. Use it in a ``with`` statement.

    What is not committed when the statement ends is taken back.
    """

    def __init__(self, base: Path, names: Iterable[str]) -> None:
        """``names`` are the files that may be added, relative to ``base``, with ``/``."""
        self.shown, self.base = base, Path(os.path.realpath(base))
        self.names = list(names)
        self.entries: list[dict[str, Any]] = []
        self.decided = False

    def __enter__(self) -> Transaction:
        _write_journal(self.base, {"version": 1, "decided": False, "names": self.names, "files": []})
        return self

    def __exit__(self, *_: object) -> None:
        if not self.decided:
            _take_back(self.base, self.names)

    def add(self, name: str, data: bytes, expected: bytes | None, needs: Iterable[str] = ()) -> None:
        """Writes the new content of a file beside it; ``expected`` is the old one, None where there is none.

        It is only used when all files in ``needs``, which were added before, take their places. FileError when it
        cannot be written, or the file is not as expected; the others can still be added and committed.
        """
        path = self.base / name
        temporary = _temporary(path)
        try:
            _check_place(path, expected)
            temporary.unlink(missing_ok=True)
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(handle)
            if expected is not None:
                os.chmod(temporary, stat.S_IMODE(path.stat().st_mode))
        except (OSError, _Refused) as error:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise FileError("C2T007", self.shown / name, _why(error)) from None
        self.entries.append({"name": name, "old": _digest(expected), "new": _digest(data), "needs": list(needs)})

    def commit(self) -> dict[str, FileError]:
        """Puts all added contents in their places; the files that kept their old content, with the reasons."""
        for folder in {(self.base / entry["name"]).parent for entry in self.entries}:
            _sync(folder)
        _write_journal(self.base, {"version": 1, "decided": True, "files": self.entries})
        self.decided = True
        failed = _finish(self.base, self.entries)
        return {name: FileError("C2T007", self.shown / name, message) for name, message in failed.items()}


class _Refused(Exception):
    """A file is not as it was, or may not be written."""


def _why(error: OSError | _Refused) -> str:
    return f"cannot be written: {reason(error)}" if isinstance(error, OSError) else str(error)


def _check_place(path: Path, expected: bytes | None) -> None:
    if path.is_symlink():
        raise _Refused("is a link; put a file in its place, and run the command again")
    if expected is None and path.exists():
        raise _Refused("appeared while the files were being migrated; run the command again")
    if expected is not None:
        if path.read_bytes() != expected:
            raise _Refused(_CHANGED)
        if not path.stat().st_mode & 0o222:
            raise _Refused("is read-only; allow writing (chmod u+w) and run the command again")
    if not path.parent.stat().st_mode & 0o222:
        raise _Refused(f"its folder {path.parent} is read-only; allow writing (chmod u+w)")


def _temporary(path: Path) -> Path:
    return path.with_name(f".{_sha256(os.fsencode(path.name))[:16]}{TEMPORARY}")  # the name itself could be too long


def _digest(data: bytes | None) -> str | None:
    return None if data is None else _sha256(data)


def _sha256(data: bytes) -> str:
    import hashlib  # here and below: most runs write nothing

    return hashlib.sha256(data).hexdigest()


def _digest_of(path: Path) -> str | None:
    return _digest(path.read_bytes()) if path.is_file() and not path.is_symlink() else None


def _write_journal(base: Path, content: dict[str, Any]) -> None:
    """The journal appears, or changes, as a whole."""
    import json

    journal = base / JOURNAL
    try:
        with open(base / _NEW_JOURNAL, "w", encoding="ascii") as stream:
            json.dump(content, stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(base / _NEW_JOURNAL, journal)
        _sync(base)
    except BaseException as error:
        with contextlib.suppress(OSError):
            (base / _NEW_JOURNAL).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise FileError("C2T007", journal, f"cannot be written: {reason(error)}; nothing was changed") from None
        raise


def _sync(folder: Path) -> None:
    """Makes names in a folder last through a power cut, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _take_back(base: Path, names: Iterable[str]) -> None:
    for name in names:
        with contextlib.suppress(OSError):
            _temporary(base / name).unlink(missing_ok=True)
    _end(base)


def _end(base: Path) -> None:
    for name in (JOURNAL, _NEW_JOURNAL):
        with contextlib.suppress(OSError):
            (base / name).unlink(missing_ok=True)


def _finish(base: Path, entries: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Replaces the files, each only while it is as it was; what is done already stays done."""
    failed: dict[str, str] = {}
    for entry in entries:
        path = base / entry["name"]
        temporary = _temporary(path)
        try:
            if not os.path.lexists(temporary):
                continue  # it took its place before
            if not failed.keys().isdisjoint(entry["needs"]):
                raise _Refused("is left as it is: its helpers could not be written")
            if _digest_of(temporary) != entry["new"]:
                raise _Refused("its new content is damaged; run the command again")
            if _digest_of(path) != entry["old"]:
                raise _Refused(_CHANGED)
            os.replace(temporary, path)
        except (OSError, _Refused) as error:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            failed[entry["name"]] = _why(error)
    _end(base)
    return failed


def interrupted(base: Path) -> list[Path]:
    """The folder and those above it in which a run that wrote was killed.

    Above it only one's own runs count: what lies in a folder such as /tmp can be anybody's.
    """
    base = Path(os.path.realpath(base))
    return [folder for folder in (base, *base.parents) if _journal_in(folder, own=folder != base)]


def _journal_in(folder: Path, own: bool) -> bool:
    for name in (JOURNAL, _NEW_JOURNAL):
        try:
            owner = os.lstat(folder / name).st_uid
        except OSError:
            continue
        if not own or not hasattr(os, "geteuid") or owner == os.geteuid():
            return True
    return False


def recover(base: Path) -> list[FileError]:
    """Finishes, or takes back, what a killed run had begun in this folder, which has to be locked.

    A journal is data of the folder and may be anybody's: it can only name files in the folder, and replace them by the
    temporary files beside them. FileError when it is none of ours.
    """
    import json

    journal = base / JOURNAL
    if not journal.is_file() or journal.is_symlink():
        _end(base)
        return []
    try:
        content = json.loads(journal.read_text(encoding="ascii"))
        decided = content["decided"]
        entries = [
            {"old": e["old"], "new": e["new"], "needs": set(e["needs"]), "name": e["name"]} for e in content["files"]
        ]
        names = [entry["name"] for entry in entries] if decided else content["names"]
        ours = content["version"] == 1 and all(_inside(base, name) for name in names)
    except (OSError, ValueError, KeyError, TypeError):
        ours = False
    if not ours:
        raise FileError("C2T007", journal, "is no journal of chainer2torch; look what it is, remove it, and run again")
    with interrupts_wait():
        if not decided:
            _take_back(base, names)
            return []
        failed = _finish(base, entries)
    return [FileError("C2T007", base / name, message) for name, message in failed.items()]


def _inside(base: Path, name: object) -> bool:
    """Whether this is a relative name of a file in the folder, not through a link."""
    if not isinstance(name, str) or not name or name.startswith("/") or ".." in name.split("/"):
        return False
    path = base / name
    return base in path.parents and Path(os.path.realpath(path.parent)) == path.parent


@contextlib.contextmanager
def locked(folders: Iterable[Path]) -> Iterator[None]:
    """Keeps other runs out of these folders and of all in and above them that they would write; Busy otherwise.

    The folders are locked for this process alone, and those above them for runs that want them whole. The system lets
    go when the process ends, however it ends. Where it cannot lock folders (Windows, some network drives) nothing is.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    real = {Path(os.path.realpath(folder)) for folder in folders}
    alone = {folder for folder in real if real.isdisjoint(folder.parents)}
    shared = {above for folder in alone for above in folder.parents}
    handles: list[int] = []

    def let_go() -> None:
        while handles:
            os.close(handles.pop())

    # a worker process that outlives a killed run must not keep its locks
    os.register_at_fork(after_in_child=let_go)
    try:
        for folder in sorted(alone | shared):
            try:
                handle = os.open(folder, os.O_RDONLY)
            except OSError:
                continue  # a folder that may not be read
            handles.append(handle)
            try:
                fcntl.flock(handle, (fcntl.LOCK_EX if folder in alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Busy(
                    f"{folder}: another `chainer2torch migrate --write` works here; wait until it has ended, "
                    "and run the command again"
                ) from None
            except OSError:
                continue
        yield
    finally:
        let_go()
