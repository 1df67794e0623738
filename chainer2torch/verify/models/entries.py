"""Which models ``verify models`` runs, and with what: the tables of ``pyproject.toml``."""

from __future__ import annotations

import dataclasses
import difflib
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from chainer2torch.verify.worker import model_text

_KEYS = frozenset({"target", "args", "kwargs", "inputs", "modes"})
_TABLES = frozenset({"model", "names"})


class Code(str):
    """A text of Python that stands for a value."""

    def __repr__(self) -> str:
        return str(self)


class ModelsError(Exception):
    """The table ``[[tool.chainer2torch.verify.model]]`` is wrong; the message names the file, the entry and the key."""


@dataclasses.dataclass(frozen=True)
class ModelEntry:
    """One model to verify: where its class is, what it is made from, and what it is called with."""

    target: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    inputs: Mapping[str, Any]
    modes: Sequence[str]
    # Whether arguments and inputs were read from the code, not given: they may be wrong.
    inferred: bool = False
    # Whether they were found by trying what Chainer takes.
    tried: bool = False

    # The method that is called; empty: the model itself.
    method: str = ""
    # Inputs that are arrays where the others are variables.
    plain: Sequence[str] = ()
    # Whether its file is of Chainer 1: calls without ``train`` or ``test`` are those of training.
    is_first_version: bool = False
    # How many values its parameters have, where that is known.
    size: int = 0

    def arguments(self) -> str:
        """What the model is made from, as text."""
        return ", ".join([*map(repr, self.args), *(f"{key}={value!r}" for key, value in self.kwargs.items())])

    def call(self) -> str:
        """The call that makes the model: ``MLP(8, n_out=10)``; with the method that is called then."""
        made = f"{self.target.partition(':')[2]}({self.arguments()})"
        return f"{made}.{self.method}" if self.method else made

    def text(self, torch: bool = False) -> str:
        """The snippet that makes the model and calls it."""
        return str(model_text.text(self.target, self.arguments(), self.method, list(self.inputs), torch))


def _settings(src: Path) -> Mapping[str, Any]:
    """``[tool.chainer2torch.verify]`` of ``src/pyproject.toml``; empty when there is none. Raises ModelsError."""
    path = src / "pyproject.toml"
    if not path.is_file():
        return {}
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ModelsError(f"{path}: not valid TOML: {error}") from None
    table = data.get("tool", {}).get("chainer2torch", {}).get("verify", {})
    if not isinstance(table, dict):
        raise ModelsError(f"{path}: [tool.chainer2torch.verify] must be a table")
    _check_keys(table, _TABLES, f"{path}: [tool.chainer2torch.verify]")
    return table


def _check_keys(table: Mapping[str, Any], known: Collection[str], where: str) -> None:
    """Raises ModelsError for a key that is not known, with the nearest that is: a typo must not be passed over."""
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, sorted(known), 1)
            raise ModelsError(
                f"{where}: unknown key `{key}`; "
                + (f"did you mean `{near[0]}`?" if near else f"known are {', '.join(sorted(known))}")
            )


def read_names(src: Path) -> Mapping[str, Any]:
    """The names that a port written by hand uses: ``[tool.chainer2torch.verify.names]``, for all models, and tables in
    it for one: ``[tool.chainer2torch.verify.names."net:MLP"]``. Raises ModelsError.
    """
    table: dict[str, Any] = _settings(src).get("names", {})
    flat = [*table.items(), *(item for inner in table.values() if isinstance(inner, dict) for item in inner.items())]
    for key, value in flat:
        if not isinstance(value, str) and not (isinstance(value, dict) and ":" in key):
            raise ModelsError(
                f"{src / 'pyproject.toml'}: [tool.chainer2torch.verify.names]: `{key}` must be a text: "
                'the name of a module or parameter of the port, such as "features.0"'
            )
    return table


def read_entries(src: Path) -> list[ModelEntry]:
    """The models that ``src/pyproject.toml`` names; an empty list when there is none. Raises ModelsError."""
    path = src / "pyproject.toml"
    tables = _settings(src).get("model", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ModelsError(f"{path}: write [[tool.chainer2torch.verify.model]], in two brackets, once for each model")
    entries = []
    for number, table in enumerate(tables, 1):
        where = f"{path}: model {number} of [[tool.chainer2torch.verify.model]]"
        _check_keys(table, _KEYS, where)
        if not isinstance(table.get("target"), str) or table["target"].count(":") != 1:
            raise ModelsError(f'{where}: `target` is written "module:Class"')
        inputs = table.get("inputs")
        if not isinstance(inputs, (list, dict)) or not inputs:
            raise ModelsError(f'{where}: `inputs` is a list such as ["f32[4,784]"], or a table by parameter')
        named = dict(inputs) if isinstance(inputs, dict) else {f"x{i}": spec for i, spec in enumerate(inputs)}
        for key, kind, meaning in (("args", list, "a list"), ("kwargs", dict, "a table")):
            if not isinstance(table.get(key, kind()), kind):
                raise ModelsError(f"{where}: `{key}` is {meaning} of what the model is made from")
        modes = table.get("modes", ["train", "eval"])
        if not isinstance(modes, list) or not all(mode in ("train", "eval") for mode in modes):
            raise ModelsError(f'{where}: `modes` is a list of "train" and "eval"')
        entries.append(ModelEntry(table["target"], table.get("args", []), table.get("kwargs", {}), named, modes))
    return entries
