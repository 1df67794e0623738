"""Compares the original with the copy, as far as that can be done here, and remembers the results."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from chainer2torch.port.state import State, digest_of_python
from chainer2torch.report.verification import PASSED, UNVERIFIED, Check, checks_of, document_of

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
        if self.name != MODELS:
            return f"{self.name}: {'; '.join(map(_outcome, self.checks))}"
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


def _outcome(check: Check) -> str:
    """What came of a script."""
    word = "equal" if check.status == PASSED else "different" if check.failed else UNVERIFIED
    if check.raises:
        word = "stopped by an error"
    return f"{word} ({_short(check.message)})" if check.message else word


def _short(text: str, width: int = 120) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 3].rstrip() + "..."


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
    run: Callable[[], Sequence[Check]],
    missing_here: str,
    again: bool = False,
) -> Compared:
    """Compares, or says what an earlier call has found when nothing has changed since: files, packages.

    ``again``: what is not proved is compared once more; data may have come.
    """
    digest = f"{digest_of_python(src, out)} {installed()}"
    known = state.checks.get(name)
    if known is not None and known["digest"] == digest:
        found = checks_of(known["document"])
        if not again or all(check.status == PASSED for check in found):
            return Compared(name, found)
    if missing_here:
        return Compared(name, why=missing_here)
    from chainer2torch import verify
    from chainer2torch.verify.models.entries import ModelsError

    try:
        found = tuple(run())
    except (verify.WorkerError, verify.DeviceError, ModelsError) as error:
        return Compared(name, why=" ".join(str(error).split()))
    state.checks[name] = {"digest": digest, "document": {"version": 1, "checks": [*map(dataclasses.asdict, found)]}}
    state.save(out)
    return Compared(name, found)


def is_proved(known: Mapping[str, Any]) -> bool:
    """Whether what is remembered says more than that a script could not be compared."""
    return any(check.status != UNVERIFIED for check in checks_of(known["document"]))


def installed() -> str:
    """A digest of what is installed: what could not be compared for want of a package is tried again with it."""
    found = sorted(f"{one.name}=={one.version}" for one in importlib.metadata.distributions())
    return hashlib.sha256("\n".join(found).encode()).hexdigest()[:16]


def models_of(report: Any) -> tuple[Check, ...]:
    """The results, without the problem that there is no table of models: that is no difference. Of the models that
    could not be run it is said why, each by its name, and where there are none nothing is wrong.
    """
    from chainer2torch.verify.models.verify_models import NO_TABLE

    return tuple(check for check in checks_of(json.loads(document_of(report))) if not check.message.endswith(NO_TABLE))
