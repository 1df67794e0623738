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

_KEYS = frozenset("target args kwargs inputs modes call port port_args port_kwargs port_call".split())
_TABLES = frozenset({"model", "names", "classes"})


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
    # The call of another method that goes before each call: ``reset_state(4)``.
    before: str = ""
    # Calls that go before the model is made, each with its file: ``util.py: XP.set_library(-1)``.
    started: Sequence[str] = ()
    # Inputs that are arrays where the others are variables.
    plain: Sequence[str] = ()
    # Whether its file is of Chainer 1: calls without ``train`` or ``test`` are those of training.
    is_first_version: bool = False
    # How many values its parameters have, where that is known.
    size: int = 0
    # How long a forward pass took with what was tried; 0 where that is not known.
    seconds: float = 0
    # Of a port by hand: its target, and what it is made from, where these differ. How both are called: texts of Python
    # with ``model`` and the inputs, by default the model with all of them.
    port: str = ""
    port_args: Sequence[Any] | None = None
    port_kwargs: Mapping[str, Any] | None = None
    called: str = ""
    port_called: str = ""

    def arguments(self, torch: bool = False) -> str:
        """What the model is made from, as text."""
        args, kwargs = self.args, self.kwargs
        if torch and (self.port_args is not None or self.port_kwargs is not None):
            args, kwargs = self.port_args or [], self.port_kwargs or {}
        return ", ".join([*map(repr, args), *(f"{key}={value!r}" for key, value in kwargs.items())])

    def call(self) -> str:
        """The call that makes the model: ``MLP(8, n_out=10)``; with the method that is called then."""
        made = f"{self.target.partition(':')[2]}({self.arguments()})"
        called = f"{made}.{self.method}" if self.method else made
        earlier = [some.partition(": ")[2] for some in self.started]
        earlier += [self.before.removeprefix("@")] if self.before else []
        return f"{called} after {', '.join(earlier)}" if earlier else called

    def text(self, port: str = "") -> str:
        """The snippet that makes the model and calls it; ``port`` is the target of that for PyTorch."""
        called = (port and self.port_called) or self.called
        return str(
            model_text.text(
                port or self.target,
                self.arguments(bool(port)),
                self.method,
                list(self.inputs),
                bool(port),
                called,
                self.before,
                self.started,
            )
        )


def file_of(src: Path, map_file: Path | None) -> Path:
    """Where the tables stand."""
    return map_file or src / "pyproject.toml"


def _settings(src: Path, map_file: Path | None) -> Mapping[str, Any]:
    """What a map has, else ``[tool.chainer2torch.verify]`` of ``src/pyproject.toml``; empty when there is none. Raises
    ModelsError.
    """
    path = file_of(src, map_file)
    if not path.is_file():
        if map_file is not None:
            raise ModelsError(f"{path}: no such file")
        return {}
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ModelsError(f"{path}: not valid TOML: {error}") from None
    table = data if map_file is not None else data.get("tool", {}).get("chainer2torch", {}).get("verify", {})
    where = f"{path}" if map_file is not None else f"{path}: [tool.chainer2torch.verify]"
    if not isinstance(table, dict):
        raise ModelsError(f"{where} must be a table")
    _check_keys(table, _TABLES, where)
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


def read_names(src: Path, map_file: Path | None = None) -> Mapping[str, Any]:
    """The names that a port written by hand uses: ``[tool.chainer2torch.verify.names]``, for all models, and tables in
    it for one: ``[tool.chainer2torch.verify.names."net:MLP"]``. Raises ModelsError.
    """
    table: dict[str, Any] = _settings(src, map_file).get("names", {})
    flat = [*table.items(), *(item for inner in table.values() if isinstance(inner, dict) for item in inner.items())]
    for key, value in flat:
        if not isinstance(value, str) and not (isinstance(value, dict) and ":" in key):
            raise ModelsError(
                f"{file_of(src, map_file)}: names: `{key}` must be a text: "
                'the name of a module or parameter of the port, such as "features.0"'
            )
    return table


def read_classes(src: Path, map_file: Path | None = None) -> Mapping[str, str]:
    """The classes of a port by those of the original (``"net:MLP" = "models.mlp:Net"``). Raises ModelsError."""
    table = _settings(src, map_file).get("classes", {})
    if not isinstance(table, dict) or not all(isinstance(v, str) and v.count(":") == 1 for v in table.values()):
        raise ModelsError(f'{file_of(src, map_file)}: `classes` has lines such as "net:MLP" = "models.mlp:Net"')
    return table


def read_entries(src: Path, map_file: Path | None = None) -> list[ModelEntry]:
    """The models that ``src/pyproject.toml`` or a map names; an empty list when there is none. Raises ModelsError."""
    path = file_of(src, map_file)
    tables = _settings(src, map_file).get("model", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ModelsError(f"{path}: write {_model(map_file)}, in two brackets, once for each model")
    entries = []
    for number, table in enumerate(tables, 1):
        where = f"{path}: model {number} of {_model(map_file)}"
        _check_keys(table, _KEYS, where)
        if not isinstance(table.get("target"), str) or table["target"].count(":") != 1:
            raise ModelsError(f'{where}: `target` is written "module:Class"')
        inputs = table.get("inputs")
        if not isinstance(inputs, (list, dict)) or not inputs:
            raise ModelsError(f'{where}: `inputs` is a list such as ["f32[4,784]"], or a table by parameter')
        named = dict(inputs) if isinstance(inputs, dict) else {f"x{i}": spec for i, spec in enumerate(inputs)}
        for key, kind, meaning in (
            ("args", list, "a list of what the model is made from"),
            ("kwargs", dict, "a table of what the model is made from"),
            ("port_args", list, "a list of what the port's model is made from"),
            ("port_kwargs", dict, "a table of what the port's model is made from"),
            ("call", str, 'a text such as "model.encode(x0)"'),
            ("port", str, 'written "module:Class"'),
            ("port_call", str, 'a text such as "model(x0, x1)"'),
        ):
            if not isinstance(table.get(key, kind()), kind):
                raise ModelsError(f"{where}: `{key}` is {meaning}")
        modes = table.get("modes", ["train", "eval"])
        if not isinstance(modes, list) or not all(mode in ("train", "eval") for mode in modes):
            raise ModelsError(f'{where}: `modes` is a list of "train" and "eval"')
        entries.append(
            ModelEntry(
                table["target"],
                table.get("args", []),
                table.get("kwargs", {}),
                named,
                modes,
                port=table.get("port", ""),
                port_args=table.get("port_args"),
                port_kwargs=table.get("port_kwargs"),
                called=table.get("call", ""),
                port_called=table.get("port_call", ""),
            )
        )
    return entries


def _model(map_file: Path | None) -> str:
    return "[[model]]" if map_file is not None else "[[tool.chainer2torch.verify.model]]"
