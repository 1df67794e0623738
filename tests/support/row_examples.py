"""Proves a row's examples without the migrator: the templates are evaluated as Python over the bound parameters.

`before` runs twice. In Chainer as it stands; in torch with an `F` (and methods of `x`) whose calls bind the row's
signature, evaluate its guards on the real arguments and evaluate the template that they select. Every other template
that is right for these arguments (`fallback`, `value`) is run as well, so that none goes untested.
"""

import ast
import importlib
import inspect
import pathlib
import pkgutil
import tomllib
from collections import deque

import chainer
import chainer.functions
import chainer.links
import numpy as np
import torch

import chainer2torch.compat
from chainer2torch.compat.variable import modes
from chainer2torch.rules.groups import rows_of_groups
from tests.support import differential

RULES = pathlib.Path(__file__).resolve().parents[2] / "rules"
_MODULES = ("F", "L", "np", "chainer", "torch", "compat")


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


def examples(rows):
    """(row name, index, variant) of every example, for parametrize; a variant is a way to choose the template."""
    for name, row in rows.items():
        variants = ["guards"]
        if "cases" in row and "fallback" in row:
            variants.append("fallback")
        if "value" in row and not row.get("attribute") and row["module"] == "chainer.functions":
            variants.append("value")
        for index in range(len(row.get("example", ()))):
            for variant in variants:
                yield name, index, variant


def prove(rows, name, index, variant):
    """Runs one example in both frameworks and compares values and gradients."""
    example = rows[name]["example"][index]
    names = list(example.get("given", {}))
    arrays = example.get("arrays", ())
    before = _body(example)
    chainer_names = {"F": chainer.functions, "L": chainer.links, "np": np, "chainer": chainer}
    torch_names = {
        "F": _Functions(rows, name, variant),
        "np": np,
        "torch": torch,
        "compat": compat_namespace(),
        "_attr": lambda receiver, attr: _attribute(rows, name, variant, receiver, attr),
        "_set": lambda receiver, attr, value: evaluate_set(rows[attr], receiver, value),
    }
    transformed = ast.fix_missing_locations(_MethodCalls(rows).visit(_body(example)))

    grad = example.get("grad", True)

    def chainer_fn(*values):
        result = _run(before, {**chainer_names, **_plain(names, values, arrays)})
        return result if grad else differential.to_numpy(result)

    def torch_fn(*values):
        result = _run(transformed, {**torch_names, **_plain(names, values, arrays)})
        return result if grad else differential.to_numpy(result)

    inputs = list(example.get("given", {}).values())
    for train in {"train": (True,), "eval": (False,), "both": (True, False)}[example.get("mode", "train")]:
        with chainer.using_config("train", train), modes.using_train(train):
            if example.get("raises"):
                differential.check_raises(chainer_fn, torch_fn, inputs)
            else:
                dtypes = [np.dtype(d) for d in example.get("dtypes", ("float32", "float64"))]
                differential.check(
                    chainer_fn,
                    torch_fn,
                    inputs,
                    grad=grad,
                    dtypes=dtypes,
                    rtol=example.get("rtol"),
                    atol=example.get("atol"),
                    check_dtype=example.get("check_dtype", True),
                )


def _body(example):
    return ast.parse(example.get("setup", "") + "\n" + example["before"])


def _run(tree, names):
    *statements, last = tree.body
    names = dict(names)
    exec(compile(ast.Module(list(statements), []), "<example>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<example>", "eval"), names)


def _plain(names, values, arrays):
    values = [_strip(v) if n in arrays else v for n, v in zip(names, values, strict=True)]
    return dict(zip(names, values, strict=True))


def _strip(value):
    if isinstance(value, (list, tuple)):
        return type(value)(_strip(v) for v in value)
    if isinstance(value, chainer.Variable):
        return value.array
    return value.detach() if isinstance(value, torch.Tensor) else value


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


class _MethodCalls(ast.NodeTransformer):
    """`x.attr` becomes `_attr(x, 'attr')` for the attributes that have a row; modules are left alone."""

    def __init__(self, rows):
        self._rows = rows

    def visit_Attribute(self, node):
        self.generic_visit(node)
        is_module = isinstance(node.value, ast.Name) and node.value.id in _MODULES
        if is_module or node.attr not in self._rows or not isinstance(node.ctx, ast.Load):
            return node
        return ast.Call(ast.Name("_attr", ast.Load()), [node.value, ast.Constant(node.attr)], [])

    def visit_Assign(self, node):
        self.generic_visit(node)
        target = node.targets[0]
        if not isinstance(target, ast.Attribute) or target.attr not in self._rows:
            return node
        arguments = [target.value, ast.Constant(target.attr), node.value]
        return ast.Expr(ast.Call(ast.Name("_set", ast.Load()), arguments, []))

    def visit_Subscript(self, node):
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or "__getitem__" not in self._rows:
            return node
        return ast.Call(
            ast.Call(ast.Name("_attr", ast.Load()), [node.value, ast.Constant("__getitem__")], []),
            [_index(node.slice)],
            [],
        )

    def visit_BinOp(self, node):
        self.generic_visit(node)
        row = self._rows.get(_OPERATORS.get(type(node.op)))
        if row is None:
            return node
        # As in Python, a number on the left leaves the operation to its right operand.
        reverse = isinstance(node.left, ast.Constant)
        operator = _OPERATORS[type(node.op)].replace("__", "__r", 1) if reverse else _OPERATORS[type(node.op)]
        receiver, other = (node.right, node.left) if reverse else (node.left, node.right)
        return ast.Call(ast.Call(ast.Name("_attr", ast.Load()), [receiver, ast.Constant(operator)], []), [other], [])


_OPERATORS = {
    ast.Add: "__add__",
    ast.Sub: "__sub__",
    ast.Mult: "__mul__",
    ast.Div: "__truediv__",
    ast.FloorDiv: "__floordiv__",
    ast.Pow: "__pow__",
    ast.MatMult: "__matmul__",
}


def _index(node):
    """The expression whose value is what Python passes to __getitem__."""
    if isinstance(node, ast.Slice):
        parts = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
        return ast.Call(ast.Name("slice", ast.Load()), parts, [])
    return ast.Tuple([_index(item) for item in node.elts], ast.Load()) if isinstance(node, ast.Tuple) else node


def evaluate_set(row, receiver, value):
    eval(row["set"], _environment({"self": receiver, "value": value}))


def _attribute(rows, proved, variant, receiver, attr):
    row = rows[attr]
    if not isinstance(receiver, torch.Tensor):  # a list or tuple in an example
        return getattr(receiver, attr)
    chosen = variant if attr == proved else "guards"
    if row.get("attribute"):
        return evaluate(row, {"self": receiver}, chosen)
    return lambda *args, **kwargs: call(row, (receiver, *args), kwargs, chosen)


class _Functions:
    def __init__(self, rows, proved, variant):
        self._rows, self._proved, self._variant = rows, proved, variant

    def __getattr__(self, name):
        row = self._rows[name]
        variant = self._variant if name == self._proved else "guards"
        return lambda *args, **kwargs: call(row, args, kwargs, variant)


def call(row, args, kwargs, variant="guards"):
    """Calls a row as Chainer's function: binds the signature and evaluates the template that its guards select."""
    if variant == "value":
        return eval(row["value"], _environment({}))(*args, **kwargs)
    scope = {}
    exec(f"def bind{row['signature']}: return dict(locals())", scope)
    names = scope["bind"](*args, **kwargs)
    given = set(inspect.signature(scope["bind"]).bind(*args, **kwargs).arguments)
    return evaluate(row, names, variant, given)


def evaluate(row, names, variant, given=()):
    environment = _environment(names, given)
    template = row.get("torch", row.get("fallback"))
    if variant == "fallback":
        template = row["fallback"]
    else:
        for case in row.get("cases", ()):
            if eval(_with_names_for(case["when"]), environment):
                template = case["torch"]
                break
    return eval(template, environment)


def _with_names_for(guard):
    """`given(x)` takes the name, not the value."""
    tree = ast.parse(guard, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "given":
            node.args = [ast.copy_location(ast.Constant(node.args[0].id), node)]
    return compile(tree, "<guard>", "eval")


def _environment(names, given=()):
    guards = {
        "given": lambda name: name in given,
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
        "graph_shared": lambda: False,
        "graph_cut": lambda: False,
        "TRAINING": modes.is_training(),
        "LONG": lambda t: t.long(),
        "CONST": lambda value: value,
    }
    return {"torch": torch, "numpy": np, "compat": compat_namespace(), **guards, **names}
