"""Compares the original with the copy, as far as that can be done here, and remembers the results."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from chainer2torch.port.state import State, digest_of_python
from chainer2torch.project import files
from chainer2torch.report.verification import Check, checks_of, document_of

MODELS = "models"
_INSTALL = "pip install 'chainer2torch[verify]' (the README says with which constraints)"


@dataclasses.dataclass(frozen=True)
class Compared:
    """What was compared: its name, the results, and in words why there are none."""

    name: str
    checks: tuple[Check, ...] = ()
    why: str = ""

    def count(self, part: str) -> int:
        """How many cases passed, failed, or are unverified."""
        return sum(getattr(check, part) for check in self.checks)

    def line(self) -> str:
        """The outcome in one line."""
        if self.why:
            return f"{self.name}: not compared: {self.why}"
        equal = sum(check.status == "passed" for check in self.checks)
        raising = [check.name for check in self.checks if check.raises]
        differ = [check.name for check in self.checks if check.failed and not check.raises]
        open_ones = len(self.checks) - equal - len(differ) - len(raising)
        if not self.checks:
            return f"{self.name}: there are none to compare"
        parts = [f"{equal} equal"] if equal else []
        for names, words in ((differ, "different"), (raising, "stopped by an error")):
            if names:
                parts.append(f"{len(names)} {words} ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})")
        if open_ones:
            parts.append(f"{open_ones} not verified")
        return f"{self.name}: {', '.join(parts)}"


def missing(options: Mapping[str, Any]) -> str:
    """What has to be installed before anything can be compared; empty when all is there."""
    wanted = [
        package
        for package, key in (("chainer", "chainer_python"), ("torch", "torch_python"))
        if not options.get(key) and importlib.util.find_spec(package) is None
    ]
    return f"{' and '.join(wanted)} not installed here: {_INSTALL}" if wanted else ""


def compare(
    name: str,
    src: Path,
    out: Path,
    state: State,
    run: Callable[[Path, Path], Any],
    modern: Mapping[str, bytes],
    missing_here: str,
) -> Compared:
    """Compares, or says what an earlier call has found when nothing has changed since.

    ``run`` gets the original, in which files of Python 2 stand as Python 3 (``modern``), and the copy.
    """
    digest = digest_of_python(src, out)
    known = state.checks.get(name)
    if known is not None and known["digest"] == digest:
        return Compared(name, checks_of(known["document"]))
    if missing_here:
        return Compared(name, why=missing_here)
    from chainer2torch import verify
    from chainer2torch.verify.models.entries import ModelsError

    with _original(src, modern) as original:
        try:
            document = _without_advice(json.loads(document_of(run(original, out))))
        except (verify.WorkerError, verify.DeviceError, ModelsError) as error:
            return Compared(name, why=" ".join(str(error).split()))
    state.checks[name] = {"digest": digest, "document": document}
    state.save(out)
    return Compared(name, checks_of(document))


def _without_advice(document: dict[str, Any]) -> dict[str, Any]:
    """The results, without the problem that there is no table of models: that is no difference. Of the models that
    could not be run it is said why, each by its name, and where there are none nothing is wrong.
    """
    from chainer2torch.verify.models.verify_models import NO_TABLE

    kept = [check for check in document["checks"] if not check.get("message", "").endswith(NO_TABLE)]
    return {**document, "checks": kept}


@contextlib.contextmanager
def _original(src: Path, modern: Mapping[str, bytes]) -> Iterator[Path]:
    """The original as Python 3 can import it: itself, or a copy for a while."""
    if not modern:
        yield src
        return
    with tempfile.TemporaryDirectory(prefix="chainer2torch-") as folder:
        copied = Path(folder) / (src.resolve().name or "src")
        shutil.copytree(src, copied, symlinks=True, ignore=shutil.ignore_patterns(*files.VERSION_CONTROL))
        for path, data in modern.items():
            (copied / path).write_bytes(data)
        yield copied
