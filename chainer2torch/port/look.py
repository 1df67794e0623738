"""What a project consists of, as far as files tell without being run."""

from __future__ import annotations

import ast
import dataclasses
import re
import shlex
from collections import Counter
from pathlib import PurePosixPath

from chainer2torch.project import submodules
from chainer2torch.project.tree import Tree

_WEIGHTS = frozenset({".npz", ".h5", ".hdf5", ".model", ".caffemodel", ".chainermodel", ".state"})
_DATA = frozenset({".csv", ".tsv", ".json", ".jsonl", ".png", ".jpg", ".jpeg", ".wav", ".npy", ".mat", ".pkl", ".gz"})
_MAIN = re.compile(r"^if\s+__name__\s*==\s*['\"]__main__['\"]|\bparse_args\(", re.MULTILINE)
# the options of usual training scripts that make a short run without a GPU
_SHORT = (("--epoch", "1"), ("--epochs", "1"), ("--n_epoch", "1"), ("--iteration", "2"), ("--iterations", "2"))
_ON_CPU = (("--gpu", "-1"), ("--gpus", "-1"), ("--device", "-1"))
# words that tell the version of Chainer, the oldest first
_ERAS = (
    ("1", re.compile(r"\bFunctionSet\b|\bzero_grads\(|\bvolatile\s*=|\bforward_cpu_test\b")),
    ("1", re.compile(r"\bchainer\.cuda\.init\(|\bF\.dropout\([^)\n]*train\s*=|\btest\s*=\s*(?:not|self|test)\b")),
    ("2 or later", re.compile(r"\binit_scope\(|\busing_config\(|\bconfig\.train\b")),
    ("5 or later", re.compile(r"\bchainer\.get_device\(|\bchainer\.backend\b|\bto_device\(|\bchainerx\b")),
)


@dataclasses.dataclass(frozen=True)
class Script:
    """A program of the project, and how a short run of it is probably started."""

    path: str
    arguments: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # what a person has to fill in: arguments that have to be given, in capitals

    @property
    def command(self) -> str:
        """As it is typed."""
        return shlex.join([self.path, *self.needs, *self.arguments])


@dataclasses.dataclass(frozen=True)
class Look:
    """What there is. ``pin`` is the requirement on Chainer, ``eras`` what the words of the files say of its version."""

    files: int
    python2: tuple[str, ...]
    pin: str
    eras: tuple[str, ...]
    scripts: tuple[Script, ...]
    weights: tuple[str, ...]
    data: tuple[tuple[str, int], ...]
    absent: tuple[str, ...] = ()  # git submodules that are not checked out

    def line(self) -> str:
        """All of it in one line."""
        parts = [_count(len(self.python2), "of Python 2", "of Python 2")] if self.python2 else []
        parts.append(
            f"Chainer {self.pin}" if self.pin else f"Chainer {', '.join(self.eras)}" if self.eras else "Chainer"
        )
        if self.scripts:
            parts.append(_count(len(self.scripts), "script"))
        if self.weights:
            parts.append(_count(len(self.weights), "file with weights", "files with weights"))
        if self.data:
            parts.append("data (" + ", ".join(f"{count} {suffix}" for suffix, count in self.data[:3]) + ")")
        if self.absent:
            parts.append(_count(len(self.absent), "git submodule") + " not checked out")
        return f"{_count(self.files, 'Python file')}: " + ", ".join(parts)


def look(tree: Tree, texts: dict[str, str], python2: tuple[str, ...]) -> Look:
    """Looks at a folder. ``texts`` are the files that have to do with Chainer, as Python 3."""
    others = [entry.relative for entry in tree.entries if entry.kind == "file" and not entry.python]
    suffixes = Counter(PurePosixPath(path).suffix.lower() for path in others)
    eras = [era for era, words in _ERAS if any(words.search(text) for text in texts.values())]
    return Look(
        files=len(tree.reported),
        python2=python2,
        pin=f"{tree.pin.major} ({tree.pin.path})" if tree.pin is not None else "",
        eras=tuple(dict.fromkeys(eras)),
        scripts=tuple(
            Script(path, *arguments)
            for path, text in sorted(
                texts.items(), key=lambda item: ("train" not in PurePosixPath(item[0]).stem, item[0])
            )
            if path.endswith(".py") and _MAIN.search(text) and (arguments := _arguments(text)) is not None
        ),
        weights=tuple(path for path in others if PurePosixPath(path).suffix.lower() in _WEIGHTS),
        data=tuple((suffix, n) for suffix, n in suffixes.most_common() if suffix in _DATA),
        absent=tuple(submodules.absent(tree.base)),
    )


def _arguments(text: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """How a short run is started, by the names of the script's options, and what has to be filled in.

    None for what is no program.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    added = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"
    ]
    names = {
        node: [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)] for node in added
    }
    named = {name for listed in names.values() for name in listed}
    short = next(((option, value) for option, value in _SHORT if option in named), ())
    device = next(((option, value) for option, value in _ON_CPU if option in named), ())
    needs = [word for node in sorted(added, key=lambda node: node.lineno) for word in _needed(node, names[node])]
    return (*short, *device), tuple(needs)


def _needed(call: ast.Call, names: list[str]) -> tuple[str, ...]:
    """An argument that has to be given: one without dashes and not optional, or an option that is required."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if not names or "action" in given:
        return ()
    name = max(names, key=len)
    if not name.startswith("-"):
        nargs = given.get("nargs")
        optional = isinstance(nargs, ast.Constant) and nargs.value in ("?", "*")
        return () if optional else (name.upper(),)
    required = given.get("required")
    if name in {option for option, _ in (*_SHORT, *_ON_CPU)}:
        return ()
    wanted = isinstance(required, ast.Constant) and required.value is True
    return (name, name.lstrip("-").upper()) if wanted else ()


def _count(number: int, noun: str, nouns: str = "") -> str:
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"
