"""The tables against Chainer itself: every public name has a row, and every row has Chainer's signature."""

import ast
import dataclasses
import importlib
import inspect
import math
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import chainer
import numpy
import pytest
import torch

import chainer2torch.compat
from chainer2torch.plan.hard_cases import HARD_CASES
from chainer2torch.rules.table import Row, load_rules
from chainer2torch.rules.signature import Signature
from tests.support.public_names import listed_names, public_names

RULES = load_rules(strict=False)
ROWS = sorted(RULES.rows.values(), key=lambda row: row.name)


def resolve(name: str) -> Any:
    """What a dotted name is in Chainer; None when it is not there."""
    owner, _, last = name.rpartition(".")
    if (
        last == "__call__"
        and inspect.isclass(link := resolve(owner))
        and issubclass(link, chainer.Link)
        and link.__call__ is chainer.Link.__call__
    ):
        name = f"{owner}.forward"  # what Link.__call__ calls
    parts = name.split(".")
    found: Any = importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], 2):
        if inspect.isclass(found):
            found = inspect.getattr_static(found, part, None)
        elif hasattr(found, part):
            found = getattr(found, part)
        else:
            try:
                found = importlib.import_module(".".join(parts[:i]))
            except (ImportError, TypeError):  # TypeError: the caffe modules and today's protobuf
                return None
    return found


def difference(row: Row, found: Any) -> str:
    """How the row's signature differs from that of the real object; empty when it does not.

    Where Chainer takes ``**kwargs`` and looks for names in it, the row may list those names: they must stand in the
    source.
    """
    assert row.signature is not None
    if isinstance(found, (staticmethod, classmethod)):
        found = found.__func__
    try:
        real = list(inspect.signature(found).parameters.values())
    except (TypeError, ValueError) as error:
        return f"no signature: {error}"
    if row.signature.is_method and real and real[0].kind is real[0].POSITIONAL_OR_KEYWORD:
        real[0] = real[0].replace(name="self")
    mine = list(row.signature.parameters)
    for p in real:
        if p.kind is p.VAR_KEYWORD and not any(m.kind == "kwargs" for m in mine):
            source = _source(found)
            unknown = [m.name for m in mine if f"'{m.name}'" not in source]
            return f"not among the keywords that Chainer looks for: {unknown}" if unknown else ""
        if not mine:
            return f"`{p}` is missing"
        m = mine.pop(0)
        if m.name != p.name or m.kind != _KINDS[p.kind]:
            return f"{m.kind} `{m.name}` where Chainer has `{p}`"
        if not _same_default(m.default, p.default):
            return f"the default of `{m.name}` is {m.default}, Chainer's is {p.default!r}"
    return f"Chainer has no {[m.name for m in mine]}" if mine else ""


_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_POSITIONAL: "args",
    inspect.Parameter.VAR_KEYWORD: "kwargs",
}


def _source(found: Any) -> str:
    if inspect.isclass(found):
        return "".join(inspect.getsource(c) for c in found.__mro__ if c.__module__.startswith("chainer"))
    return inspect.getsource(found)


def _same_default(text: str | None, real: Any) -> bool:
    if text is None or real is inspect.Parameter.empty:
        return text is None and real is inspect.Parameter.empty
    names = {"numpy": numpy, "np": numpy, "chainer": chainer, "F": chainer.functions, "math": math, "sys": sys}
    mine = eval(text, names)
    return mine is real or (type(mine) is type(real) and (mine == real or repr(mine) == repr(real)))


# Rows whose signature is not that of the object in Chainer, each with the reason.
OTHER_SIGNATURES = {
    "chainer.FunctionNode.__call__": "called with the inputs; the name of *args is never written",
    "chainer.Variable.__add__": "Chainer's function of several terms is called with two",
    "chainer.Variable.__radd__": "Chainer's function of several terms is called with two",
    "chainer.dataset.concat_examples": "the function below Chainer's decorator",
    "chainer.links.GRU.__call__": "the link before version 3 is called with h and x; it takes *args",
    "chainer.links.MLPConvolution2D": "*args refuses the arguments of version 1",
    **{
        f"chainer.links.{name}.from_params": "called on the class, which is no argument"
        for name in ("Convolution2D", "ConvolutionND", "EmbedID", "Linear")
    },
    "chainer.optimizer_hooks.GradientNoise": "the default is a function, which the helper has, too",
    "chainer.utils.type_check.expect": "the name of *args is never written",
    # calls with what is left out are reported, not migrated
    "chainer.links.BatchRenormalization.__call__": "without finetune",
    "chainer.links.CRF1d.__call__": "without reduce",
    "chainer.links.Parameter.__call__": "without volatile, which version 2 took away",
}
# Names that Chainer 7.8.1 has not, or not under this name.
NOT_IN_CHAINER = {
    "chainer.backends.cuda.Stream.null.synchronize": "CuPy's",
    "chainer.backends.cuda.Stream.null.wait_event": "CuPy's",
    "chainer.backends.cuda.cudnn.getVersion": "CuPy's",
    "chainer.backends.cuda.get_elapsed_time": "CuPy's",
    "chainer.backends.cuda.runtime.deviceSynchronize": "CuPy's",
    "chainer.backends.cuda.runtime.getDevice": "CuPy's",
    "chainer.backends.cuda.runtime.getDeviceCount": "CuPy's",
    "chainer.GradientMethod.accumulate_grads": "of version 1",
    "chainer.GradientMethod.clip_grads": "of version 1",
    "chainer.GradientMethod.weight_decay": "of version 1",
    "chainer.GradientMethod.zero_grads": "of version 1",
    "chainer.Link.gradients": "of version 1",
    "chainer.Link.parameters": "of version 1",
    "chainer.Flag": "a flag of version 1",
    "chainer.functions.MaxPooling2D": "a class up to version 6",
    "chainer.VariableNode": "chainer.variable.VariableNode",
    "chainer.variable_repr": "chainer.variable.variable_repr",
    "chainer.variable_str": "chainer.variable.variable_str",
    "chainer.exporters.caffe.export": "needs an older protobuf",
    "chainer.links.caffe.CaffeFunction": "needs an older protobuf",
    "chainer.links.TreeLSTM.__call__": "a base of two links, named here for both",
    "chainer.testing.attr._dummy_callable": "stands in for marks when pytest is not there",
    "chainer.training.extensions.Evaluator.converter": "an attribute of the object",
    "chainer.training.updaters.StandardUpdater.converter": "an attribute of the object",
    "chainer.training.updaters.Updater": "chainer.training.Updater",
    "chainer.utils.experimental.experimental": "the import of a module that its function hides",
}
# CuPy, which is not there without a GPU
FOREIGN = ("chainer.backends.cuda.cupy.", "chainer.backends.cuda.cupyx.")
SIGNED = [
    row
    for row in ROWS
    if row.signature is not None
    and row.name.split(".")[0] in ("chainer", "chainermn")
    and not row.name.startswith(FOREIGN)
]


def test_the_list_of_names_is_chainers() -> None:
    assert listed_names() == public_names(), "run `python -m tests.support.public_names`"
    assert len(listed_names()) >= 662


@pytest.mark.parametrize("name", listed_names())
def test_every_public_name_has_a_row(name: str) -> None:
    assert RULES.find(name) is not None, f"{name} has no row: each use of it would be reported as unknown"


def test_signatures() -> None:
    wrong = []
    for row in SIGNED:
        found = resolve(row.name)
        if found is not None and row.name not in OTHER_SIGNATURES and (how := difference(row, found)):
            wrong.append(f"{row.table} [{row.name}] {how}")
        # what only version 1 had has tables of its own
        if found is None and row.name not in NOT_IN_CHAINER and not row.table.startswith("eras/"):
            wrong.append(f"{row.table} [{row.name}] Chainer has no such name")
    assert not wrong, "\n".join(wrong)


def test_exceptions_are_needed() -> None:
    rows = {row.name: row for row in SIGNED}
    for name in OTHER_SIGNATURES:
        assert difference(rows[name], resolve(name)), f"{name}: the signature is Chainer's"
    for name in NOT_IN_CHAINER:
        assert resolve(name) is None, f"{name}: Chainer has it"


def test_a_wrong_signature_is_found() -> None:
    row = dataclasses.replace(RULES.rows["chainer.functions.leaky_relu"], signature=Signature.parse("(x, slope=0.1)"))
    assert "default" in difference(row, chainer.functions.leaky_relu)
    for text in ("(x)", "(x, slope=0.2, other=1)", "(x, alpha=0.2)", "(slope=0.2, x=None)", "(x, *, slope=0.2)"):
        assert difference(dataclasses.replace(row, signature=Signature.parse(text)), chainer.functions.leaky_relu)
    normal = dataclasses.replace(row, signature=Signature.parse("(scale=0.05, dtype=None, *, rng=None)"))
    assert not difference(normal, chainer.initializers.Normal)
    normal = dataclasses.replace(row, signature=Signature.parse("(scale=0.05, dtype=None, *, seed=None)"))
    assert difference(normal, chainer.initializers.Normal)


@pytest.mark.parametrize("row", [r for r in ROWS if r.function], ids=lambda row: row.name)
def test_hard_cases_are_there(row: Row) -> None:
    assert row.function in HARD_CASES


def helpers() -> set[str]:
    """Every name that a room of the helpers defines."""
    names = set()
    for room in pathlib.Path(chainer2torch.compat.__path__[0]).rglob("[!_]*.py"):
        for node in ast.parse(room.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names.update(t.id for t in targets if isinstance(t, ast.Name))
    return names


def dotted(text: str, root: str) -> Iterator[list[str]]:
    """The dotted names in a template that begin with ``root``, as lists of their parts."""
    for node in ast.walk(ast.parse(text.strip())):
        parts: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            parts.insert(0, inner.attr)
            inner = inner.value
        if parts and isinstance(inner, ast.Name) and inner.id == root:
            yield parts


def test_helpers_are_there() -> None:
    known = helpers()
    missing = sorted(
        {
            f"{row.name}: compat.{parts[0]}"
            for row in ROWS
            for text in row.templates
            for parts in dotted(text, "compat")
            if parts[0] not in known
        }
    )
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("root", ["torch", "numpy"])
def test_torch_names_are_there(root: str) -> None:
    missing = []
    for row in ROWS:
        for text in row.templates:
            for parts in dotted(text, root):
                found: Any = {"torch": torch, "numpy": numpy}[root]
                for part in parts:
                    if not hasattr(found, part):
                        missing.append(f"{row.name}: {root}.{'.'.join(parts)}")
                        break
                    found = getattr(found, part)
    assert not missing, "\n".join(missing)


def torch_calls() -> Iterator[tuple[Row, ast.Call, Any]]:
    """Calls of torch in the templates of rows that drop keywords, with what is called."""
    for row in ROWS:
        for text in row.templates if row.drop else ():
            for node in ast.walk(ast.parse(text.strip())):
                if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("torch."):
                    yield row, node, eval(ast.unparse(node.func), {"torch": torch})


def _dropped(row: Row, keyword: str, default: Any) -> bool:
    """Whether what is dropped is this default; functions and dtypes, which have other names, are left to examples."""
    try:
        value = ast.literal_eval(row.drop[keyword])
    except ValueError:
        return default is not None
    return bool(value == default) and isinstance(value, bool) == isinstance(default, bool)


def test_dropped_keywords_are_torchs_defaults() -> None:
    checked, wrong = 0, []
    for row, call, function in torch_calls():
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):
            continue
        for keyword in call.keywords:
            if keyword.arg in row.drop and keyword.arg in parameters:
                checked += 1
                if not _dropped(row, keyword.arg, parameters[keyword.arg].default):
                    wrong.append(
                        f"{row.name}: {keyword.arg} is {parameters[keyword.arg].default!r} in torch, "
                        f"{row.drop[keyword.arg]} is dropped"
                    )
    assert checked > 50
    assert not wrong, "\n".join(wrong)


def test_dropped_keywords_are_the_helpers_defaults() -> None:
    """A keyword that is left out of a helper's call must have that default there."""
    rooms = {
        name: room
        for room in pathlib.Path(chainer2torch.compat.__path__[0]).rglob("[!_]*.py")
        for name in _defined(room)
    }
    checked, wrong = 0, []
    for row in ROWS:
        for text in row.templates if row.drop else ():
            for node in ast.walk(ast.parse(text.strip())):
                if not (isinstance(node, ast.Call) and ast.unparse(node.func).startswith("compat.")):
                    continue
                name = ast.unparse(node.func)[7:]
                function = (
                    getattr(
                        importlib.import_module(
                            ".".join(("chainer2torch.compat", rooms[name].parent.name, rooms[name].stem))
                        ),
                        name,
                    )
                    if name in rooms
                    else None
                )
                if function is None:
                    continue
                parameters = inspect.signature(function).parameters
                for keyword in node.keywords:
                    if keyword.arg in row.drop and keyword.arg in parameters:
                        checked += 1
                        if not _dropped(row, keyword.arg, parameters[keyword.arg].default):
                            wrong.append(
                                f"{row.name}: {keyword.arg} is {parameters[keyword.arg].default!r} in the "
                                f"helper, {row.drop[keyword.arg]} is dropped"
                            )
    assert checked > 50
    assert not wrong, "\n".join(wrong)


def _defined(room: pathlib.Path) -> Iterator[str]:
    for node in ast.parse(room.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
