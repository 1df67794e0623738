"""The registry of report formats: every module of this package is one format, under the module's own name.

Such a module defines ``FORMAT``. Nothing else has to be told about it: the choices of ``--format``, the help, error
messages, completion, the endings of ``-o FILE`` and the list in the documentation are read from here. The test
``tests/report/test_registry.py`` says when a new one is done.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable

from chainer2torch.report.extras import Extras
from chainer2torch.report.model import Report


@dataclasses.dataclass(frozen=True)
class Format:
    """One way to write a report.

    ``help`` is one sentence for `--help` and the documentation. ``endings`` are the ends of file names, in small
    letters, that stand for the format in ``-o FILE``. ``media`` is the media type of what ``render`` returns.
    """

    help: str
    media: str
    render: Callable[[Report, Extras], str]
    endings: tuple[str, ...] = ()


def names() -> tuple[str, ...]:
    """The names of all formats, sorted. No format is imported for that."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def get(name: str) -> Format:
    """The format of that name; only its own module is imported. LookupError when there is none."""
    if name not in names():
        raise LookupError(f"no report format {name}; there are {', '.join(names())}")
    found: Format = importlib.import_module(f"{__name__}.{name}").FORMAT
    return found


def every() -> dict[str, Format]:
    """All formats by name."""
    return {name: get(name) for name in names()}


def render(name: str, report: Report, extras: Extras) -> str:
    """The report in the format of that name."""
    return get(name).render(report, extras)


def endings() -> dict[str, str]:
    """The format that each ending of a file name stands for; longer endings come first, because they say more."""
    found = {ending: name for name, form in every().items() for ending in form.endings}
    return dict(sorted(found.items(), key=lambda pair: (-len(pair[0]), pair[0])))


def format_of(path: str) -> str | None:
    """The format that the ending of a file name stands for, or None."""
    return next((name for ending, name in endings().items() if path.lower().endswith(ending)), None)
