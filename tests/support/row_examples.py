"""Runs the template of a row without the migrator, over values that its examples do not have.

The examples themselves are run through the migrator, by `tests/verify/test_rules.py`.
"""

import ast
import importlib
import inspect
import pathlib
import pkgutil
import tomllib
import types
from collections import deque
from functools import cache, partial

import chainer
import chainer.functions
import numpy as np
import torch

import chainer2torch.compat
from chainer2torch.compat.variable import modes
from chainer2torch.rules.groups import rows_of_groups
from tests.support import differential

RULES = pathlib.Path(__file__).resolve().parents[2] / "rules"


def load_rows(*names):
    """The rows of rules/<name>.toml as {name: row}; a row's `module` is the file's unless it names its own."""
    rows = {}
    for name in names:
        table = tomllib.loads((RULES / (name + ".toml")).read_text())
        module = table.pop("module")
        groups = list(rows_of_groups(table, []))
        for key, row in (*table.items(), *groups):
            rows[key] = {"module": module, **row}
    return rows


@cache
def compat_namespace():
    """All public names of the rooms of chainer2torch.compat, as the vendored module has them."""

    class Namespace:
        pass

    for info in pkgutil.walk_packages(chainer2torch.compat.__path__, "chainer2torch.compat."):
        try:
            module = importlib.import_module(info.name)
        except ImportError:  # the training rooms import Ignite, which the functions do not need
            continue
        for key, value in vars(module).items():
            if getattr(value, "__module__", None) == module.__name__:
                setattr(Namespace, key, staticmethod(value) if inspect.isfunction(value) else value)
    return Namespace


def call(row, args, kwargs):
    """Calls a row as Chainer's function: binds the signature and evaluates the template that its guards select."""
    scope = {}
    exec(f"def bind{row['signature']}: return dict(locals())", scope)
    environment = _environment(scope["bind"](*args, **kwargs))
    given = set(inspect.signature(scope["bind"]).bind(*args, **kwargs).arguments)
    environment["given"] = lambda name: name in given
    template = row.get("torch", row.get("fallback"))
    for case in row.get("cases", ()):
        if eval(_with_names_for(case["when"]), environment):
            template = case["torch"]
            break
    return eval(template, environment)


def outcomes(rows, name, inputs):
    """Returns what the first example of a row gives for other inputs, (Chainer's, torch's): a result, or the error."""
    example = rows[name]["example"][0]
    functions = types.SimpleNamespace(**{key: partial(_called, row) for key, row in rows.items()})
    results = []
    for names, convert in (
        ({"F": chainer.functions, "chainer": chainer}, differential.to_chainer),
        ({"F": functions, "chainer": types.SimpleNamespace(utils=compat_namespace())}, differential.to_torch),
    ):
        try:
            values = dict(zip(example["given"], convert(inputs), strict=True))
            results.append(differential.to_numpy(_run(example, {**names, **values})))
        except Exception as error:  # noqa: BLE001 - every refusal counts
            results.append(error)
    return results


def _called(row, /, *args, **kwargs):
    return call(row, args, kwargs)


def _run(example, scope):
    *statements, last = ast.parse(example.get("setup", "") + "\n" + example["before"]).body
    scope = {"np": np, "torch": torch, **scope}
    exec(compile(ast.Module(statements, []), "<setup>", "exec"), scope)
    return eval(compile(ast.Expression(last.value), "<before>", "eval"), scope)


def _with_names_for(guard):
    """`given(x)` takes the name, not the value."""
    tree = ast.parse(guard, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "given":
            node.args = [ast.copy_location(ast.Constant(node.args[0].id), node)]
    return compile(tree, "<guard>", "eval")


def _environment(names):
    guards = {
        "rank": lambda x: x.dim(),
        "dtype": lambda x: str(x.dtype).split(".")[-1],
        "is_tensor": lambda x: isinstance(x, torch.Tensor),
        "is_array": lambda x: isinstance(x, np.ndarray),
        "is_int": lambda x: isinstance(x, int) and not isinstance(x, bool),
        "is_tuple": lambda x: isinstance(x, tuple),
        "is_array_at_times": lambda x: isinstance(x, (np.ndarray, torch.Tensor)),
        "is_stream": lambda x: isinstance(x, (deque, set, type({}.values()))),
        "is_none": lambda x: x is None,
        "is_callable": callable,
        "is_name": lambda x: True,
        "graph_shared": lambda: False,
        "graph_cut": lambda: False,
        "TRAINING": modes.is_training(),
        "LONG": lambda t: t.long(),
        "CONST": lambda value: value,
    }
    return {"torch": torch, "numpy": np, "compat": compat_namespace(), **guards, **names}
