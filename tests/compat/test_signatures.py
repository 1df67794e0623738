"""Defaults of helpers are those of what they stand for, as their docstrings name it: read from both signatures."""

import ast
import contextlib
import functools
import importlib
import inspect
import re
import textwrap
from pathlib import Path

import chainer
import numpy as np
import pytest

from chainer2torch.compat.backend import dispatch
from chainer2torch.compat.backend.array_module import ArrayModule
from chainer2torch.compat.distributed import except_hook
from chainer2torch.native import arrays as native_arrays
from tests.support import thread_mpi

TOOL = Path(except_hook.__file__).parents[2]
SOURCE = re.compile(r"Source:\s+((?:chainer|chainermn)\.[\w.]*\w)")
# where the default means the same, or has none: (helper, parameter)
OTHERS = {
    ("MultiprocessIterator", "dataset_timeout"): "a stalled data set is a warning there and an error here",
    ("scatter_dataset", "max_buf_len"): "it has no effect",
    ("Communicator", "max_buf_len"): "it has no effect",
    ("BatchNorm", "eps"): "torch's own, as a Chainer program that leaves it out gets 2e-5 written out",
    ("FinetunedBatchNorm", "eps"): "as BatchNorm",
    ("Embedding", "ignore_label"): "the class stands only for links that have one",
    ("MultiprocessParallelUpdater", "devices"): "none is an empty tuple",
    ("Trainer", "extensions"): "none is an empty tuple",
    ("StatefulGRU", "bias_init"): "None leaves the zeros that the layer begins with",
    ("GRU", "bias_init"): "as StatefulGRU",
}
MORE_EXACTLY = {"Communicator": "chainermn.communicators.mpi_communicator_base.MpiCommunicatorBase"}
LITERALS = (bool, int, float, str, tuple, type(None))


def rooms():
    for package in ("compat", "native"):
        for path in sorted((TOOL / package).rglob("*.py")):
            yield package, path.relative_to(TOOL).with_suffix("").as_posix().replace("/", ".")


@functools.cache
def helpers(package, root):
    """The helpers with what they stand for below a root: (module, name, source)."""
    found = []
    for each, room in rooms():
        if each != package:
            continue
        tree = ast.parse((TOOL / (room.replace(".", "/") + ".py")).read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                source = SOURCE.search(ast.get_docstring(node) or "")
                stands_for = MORE_EXACTLY.get(node.name, source[1] if source else "")
                if stands_for.partition(".")[0] == root:
                    found.append((room, node.name, stands_for))
    return found


def resolved(dotted):
    """What a dotted name stands for, or None."""
    first, *rest = dotted.split(".")
    value = importlib.import_module(first)
    for number, part in enumerate(rest):
        if not hasattr(value, part):
            try:
                value = importlib.import_module(".".join([first, *rest[: number + 1]]))
            except ImportError:
                return None
        else:
            value = getattr(value, part)
    return value


def signature_text(function):
    try:
        return str(inspect.signature(function))
    except (TypeError, ValueError):
        return ""


def defaults(function):
    """The literal defaults of a function or of the constructor of a class."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    found = {p.name: p.default for p in parameters if p.default is not p.empty and isinstance(p.default, LITERALS)}
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        found = {**keyword_defaults(function.__init__ if inspect.isclass(function) else function), **found}
    return found


def keyword_defaults(function):
    """What Chainer's functions take out of their ``**kwargs``, by ``argument.parse_kwargs``."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return {}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and "parse_kwargs" in ast.unparse(node.func)]
    pairs = [pair for call in calls for pair in call.args[1:] if isinstance(pair, ast.Tuple) and len(pair.elts) == 2]
    found = {}
    for name, value in (pair.elts for pair in pairs):
        with contextlib.suppress(ValueError):
            found[ast.literal_eval(name)] = ast.literal_eval(value)
    return found


def compared(ours, theirs):
    """(name of a function, of a parameter, our default, their default) for what both have."""
    pairs = [("", ours, theirs)]
    if inspect.isclass(ours) and inspect.isclass(theirs):
        own = (n for n, v in vars(ours).items() if inspect.isfunction(inspect.unwrap(getattr(v, "__func__", v))))
        pairs += [(n, getattr(ours, n), getattr(theirs, n)) for n in own if n != "__init__" and hasattr(theirs, n)]
    for name, one, other in pairs:
        expected = defaults(other)
        for key, value in defaults(one).items():
            if key in expected:
                yield name, key, value, expected[key]


def check(package, root):
    wrong, seen = [], 0
    for room, name, source in helpers(package, root):
        theirs = resolved(source)
        if theirs is None:
            continue
        ours = getattr(importlib.import_module(f"chainer2torch.{room}"), name)
        for method, key, value, expected in compared(ours, theirs):
            if (name, key) in OTHERS:
                continue
            seen += 1
            if value != expected or isinstance(value, bool) is not isinstance(expected, bool):
                wrong.append((f"{name}.{method}".rstrip("."), key, value, expected))
    assert not wrong, "\n".join(map(str, wrong))
    return seen


@pytest.mark.parametrize("package", ["compat", "native"])
def test_defaults_are_chainers(package):
    assert chainer.__version__ and check(package, "chainer") > 100


@pytest.mark.parametrize(
    "methods", [ArrayModule, dispatch._NumpyMethods, native_arrays._ArrayMethods], ids=lambda methods: methods.__name__
)
def test_defaults_are_numpys(methods):
    """Of functions of array modules, and of methods of arrays, which are called alike."""
    count = 0
    for name in dir(methods):
        own, theirs = inspect.getattr_static(methods, name), getattr(np, name, None)
        if inspect.isfunction(own) and callable(theirs):
            expected = {**defaults(theirs), **({"keepdims": False} if "keepdims" in signature_text(theirs) else {})}
            for key, value in defaults(own).items():
                if key in expected:
                    assert value == expected[key], (name, key)
                    count += 1
    assert count >= 5


def test_defaults_are_those_of_chainermn():
    with thread_mpi.chainermn_over_threads():
        assert check("compat", "chainermn") > 10
        check("native", "chainermn")
