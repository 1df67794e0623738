"""Runs the examples of function rows in both frameworks without the migrator.

`before` runs twice: with Chainer's functions, and with an `F` whose functions bind the row's signature, choose the case
by evaluating the guards on the real arguments, and evaluate its template. A row has several right ways to be emitted,
and each is run: the chosen case, the `fallback`, and the `value` (called as the function that it stands for).
"""

import ast
import functools
import inspect
import types
from collections import deque

import chainer
import chainer.functions
import numpy as np
import torch

from chainer2torch.compat.variable import modes
from tests.support import differential
from tests.support.row_examples import compat_namespace

_GUARDS = {
    "rank": lambda x: x.dim(),
    "dtype": lambda x: str(x.dtype).split(".")[-1],
    "is_tensor": lambda x: isinstance(x, torch.Tensor),
    "is_array": lambda x: isinstance(x, np.ndarray),
    "is_int": lambda x: isinstance(x, int) and not isinstance(x, bool),
    "is_tuple": lambda x: isinstance(x, tuple),
    "is_stream": lambda x: isinstance(x, (deque, set, type({}.values()))),
    "is_none": lambda x: x is None,
    "is_callable": callable,
    "is_name": lambda x: True,
    "LONG": lambda t: t.long(),
    "CONST": lambda value: value,
}


def variants(rows):
    """(row name, index of the example, way to emit the row) of every example."""
    for name, row in rows.items():
        ways = ["case"] + [way for way in ("fallback", "value") if way in row]
        for index in range(len(row.get("example", ()))):
            for way in ways:
                yield name, index, way


def prove(rows, name, index, way, **options):
    """Compares values and gradients of one example, in its modes (`options` go to differential.check)."""
    example = rows[name]["example"][index]
    grad = example.get("grad", True)
    for train in {"train": (True,), "eval": (False,), "both": (True, False)}[example.get("mode", "train")]:
        with chainer.using_config("train", train), modes.using_train(train):
            sides = _side(example, chainer.functions, grad), _side(example, _torch_functions(rows, name, way), grad)
            inputs = list(example.get("given", {}).values())
            if example.get("raises"):
                differential.check_raises(*sides, inputs)
            else:
                dtypes = [np.dtype(d) for d in example.get("dtypes", ("float32", "float64"))]
                differential.check(
                    *sides,
                    inputs,
                    grad=grad,
                    dtypes=dtypes,
                    rtol=example.get("rtol"),
                    atol=example.get("atol"),
                    **options,
                )


def sample(rows, name, index, way):
    """Returns (Chainer's, torch's) result of an example of a random function."""
    example = rows[name]["example"][index]
    sides = _side(example, chainer.functions, False), _side(example, _torch_functions(rows, name, way), False)
    torch.manual_seed(1)
    np.random.seed(1)
    return differential.run(*sides, list(example["given"].values()))


def outcomes(rows, name, index, way, inputs):
    """Returns what an example gives for other inputs, (Chainer's, torch's): a result, or the error that was raised."""
    example = {**rows[name]["example"][index], "grad": False}
    results = []
    for functions, convert in (
        (chainer.functions, differential.to_chainer),
        (_torch_functions(rows, name, way), differential.to_torch),
    ):
        try:
            results.append(_side(example, functions, False)(*convert(inputs)))
        except Exception as error:  # noqa: BLE001 - every refusal counts
            results.append(error)
    return results


def _side(example, functions, grad):
    *statements, last = ast.parse(example.get("setup", "") + "\n" + example["before"]).body
    program = compile(ast.Module(statements, []), "<setup>", "exec"), compile(ast.Expression(last.value), "<x>", "eval")
    names, arrays = list(example.get("given", {})), example.get("arrays", ())
    root = chainer if functions is chainer.functions else types.SimpleNamespace(utils=_compat())

    def run(*values):
        values = [_detached(v) if n in arrays else v for n, v in zip(names, values, strict=True)]
        scope = {"F": functions, "np": np, "chainer": root, "torch": torch, **dict(zip(names, values, strict=True))}
        exec(program[0], scope)
        result = eval(program[1], scope)
        return result if grad else differential.to_numpy(result)

    return run


def _detached(value):
    if isinstance(value, (list, tuple)):
        return type(value)(_detached(v) for v in value)
    if isinstance(value, chainer.Variable):
        return value.array
    return value.detach() if isinstance(value, torch.Tensor) else value


def _torch_functions(rows, proved, way):
    return types.SimpleNamespace(
        **{name: functools.partial(_call, row, way if name == proved else "case") for name, row in rows.items()}
    )


def _call(row, way, /, *args, **kwargs):
    environment = {"torch": torch, "numpy": np, "compat": _compat(), "TRAINING": modes.is_training(), **_GUARDS}
    if way == "value":
        return eval(row["value"], environment)(*args, **kwargs)
    scope: dict = {}
    exec(f"def bind{row['signature']}: return dict(locals())", scope)
    environment.update(scope["bind"](*args, **kwargs))
    given = inspect.signature(scope["bind"]).bind(*args, **kwargs).arguments
    template = row["fallback"] if way == "fallback" else None
    for case in row.get("cases", ()):
        if template is None and eval(_guard(case["when"]), {**environment, "given": lambda name: name in given}):
            template = case["torch"]
    return eval(template or row.get("torch") or row["fallback"], environment)


_compat = functools.lru_cache(maxsize=None)(compat_namespace)


def _guard(text):
    """The guard with `given(x)` asking for the name `x`, not for its value."""
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "given":
            node.args = [ast.copy_location(ast.Constant(node.args[0].id), node)]
    return compile(tree, "<guard>", "eval")
