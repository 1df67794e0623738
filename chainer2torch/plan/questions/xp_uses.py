"""What is done with an array module, and whether that has a form in torch where it is a ``torch.device``."""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection

from chainer2torch.analysis.kinds import UNKNOWN, Class, Func, Inst, Kind, Ref, Tensor, options
from chainer2torch.analysis.models.xp_modules import CUPY, EITHER, XP
from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.match import Question, evaluate, parsed
from chainer2torch.plan.questions.reading import read
from chainer2torch.plan.questions.rows import row_of_kind
from chainer2torch.plan.questions.xp_attributes import Parameter, given_by, places
from chainer2torch.rules.row import Case
from chainer2torch.rules.signature import BindError, Bound
from chainer2torch.rules.table import Row

CALLED = ("__call__", "forward")
WITH_NUMPY = "native.with_numpy(self)"
_PARTS = ("Module", "Random", "LinearAlgebra")
_NOT_OF_NUMPY = frozenset(
    ("asnumpy", "copyto", "errstate", "fill_diagonal", "get_array_module", "place", "put", "put_along_axis", "putmask")
    + ("scatter_add", "seed", "shuffle")
)


def module_in(node: ast.expr) -> ast.expr:
    """The array module itself in what a function is read from: ``xp`` of ``xp.random``."""
    return node.value if isinstance(node, ast.Attribute) and node.attr in ("random", "linalg") else node


def used(context: Context, node: ast.expr, handed: Collection[Parameter]) -> bool | None:
    """Whether what is done with an array module names its device afterwards; None: it has no form in torch.

    ``handed``: the parameters that are devices in the output.
    """
    parent = context.source.parents.get(node)
    if isinstance(parent, (ast.Call, ast.keyword)):
        return True if parameter_for(context, node) in handed else None
    if isinstance(parent, ast.Assign):
        return True if set_attribute(context, parent, handed) is not None else None
    if isinstance(parent, ast.Return):
        return True if given_by(context, parent) in handed else None
    if isinstance(parent, ast.Compare):
        return True if _asks_for_host(context, parent, node) or asks_for_none(parent) else None
    if not isinstance(parent, ast.Attribute) or not isinstance(parent.ctx, ast.Load):
        return None
    if current_device(context, node) is not None or annotates(context, parent):
        return False
    part = parent
    if part.attr in ("random", "linalg"):
        outer = context.source.parents.get(part)
        if not isinstance(outer, ast.Attribute):
            return None
        part = outer
    row = row_of(context, part)
    if row is not None and (value := _as_value(context, part, row)) is not None:
        return _names_module(value)
    case = native_case(context, part, row) if row is not None else None
    return None if case is None else _names_module(case.torch)


def _names_module(template: str) -> bool:
    return "self" in {n.id for n in nodes_of(parsed(template)) if isinstance(n, ast.Name)}


def _as_value(context: Context, part: ast.Attribute, row: Row) -> str | None:
    """What stands for a class of an array module that is not called: ``isinstance(y.array, xp.ndarray)``."""
    parent = context.source.parents.get(part)
    called = isinstance(parent, ast.Call) and parent.func is part
    is_class = row.signature is not None and row.value not in (None, f"self.{part.attr}")
    return row.value if is_class and not called and context.kind(part.value) == XP else None


def annotates(context: Context, part: ast.Attribute) -> bool:
    """``tokens: xp.ndarray``, also as the function that makes one (``xp.array``): a tensor."""
    outer = context.source.parents.get(part)
    stated = getattr(outer, "annotation", None) or getattr(outer, "returns", None)
    return stated is part and part.attr in ("array", "ndarray")


def set_attribute(context: Context, statement: ast.Assign, handed: Collection[Parameter]) -> ast.Attribute | None:
    """The attribute that a statement gives an array module, if that is a device in the output."""
    target = statement.targets[0]
    if len(statement.targets) != 1 or not isinstance(target, ast.Attribute):
        return None
    owners = context.analysis.once(places).get(target, ())
    return target if owners and all(owner in handed for owner in owners) else None


def current_device(context: Context, node: ast.AST) -> tuple[ast.Call, ast.expr, str] | None:
    """``xp.cuda.Device(d).use()`` and ``with xp.cuda.Device(d):``: the call, ``d``, and its form in torch.

    Only CuPy has this name, so it is reached with a GPU only.
    """
    parents = context.source.parents
    cuda = parents.get(node)
    name = parents.get(cuda) if isinstance(cuda, ast.Attribute) and cuda.attr == "cuda" else None
    made = parents.get(name) if isinstance(name, ast.Attribute) and name.attr == "Device" else None
    if not isinstance(made, ast.Call) or made.func is not name or len(made.args) != 1 or made.keywords:
        return None
    if isinstance(made.args[0], ast.Starred):
        return None
    outer = parents.get(made)
    if isinstance(outer, ast.withitem) and outer.optional_vars is None:
        return made, made.args[0], "torch.cuda.device(x)"
    call = parents.get(outer) if isinstance(outer, ast.Attribute) and outer.attr == "use" else None
    if isinstance(call, ast.Call) and call.func is outer and isinstance(parents.get(call), ast.Expr):
        return call, made.args[0], "torch.cuda.set_device(x)"
    return None


def parameter_for(context: Context, argument: ast.expr) -> Parameter | None:
    """The parameter of a function of the project that an argument of a call becomes, if it is one for sure."""
    parent = context.source.parents.get(argument)
    keyword = parent if isinstance(parent, ast.keyword) else None
    call = context.source.parents.get(keyword) if keyword is not None else parent
    kinds = options(context.kind(call.func)) if isinstance(call, ast.Call) and call.func is not argument else ()
    info = called(context.analysis, kinds[0]) if len(kinds) == 1 else None
    if kinds == (UNKNOWN,) and context.kind(argument) == XP:  # who else takes one would raise
        info = context.analysis.once(only_model)
    if not isinstance(call, ast.Call) or info is None:
        return None
    if keyword is not None:
        return None if keyword.arg is None else (info, keyword.arg)
    names = [a.arg for a in (*info.node.args.posonlyargs, *info.node.args.args)]
    bound = not isinstance(kinds[0], Func) or info.cls is not None and kinds[0].receiver is not None
    if bound and not info.is_static:
        names = names[1:]
    index = call.args.index(argument)
    if any(isinstance(a, ast.Starred) for a in call.args[:index]) or index >= len(names):
        return None
    return info, names[index]


def called(analysis: Analysis, callee: Kind) -> FuncInfo | None:
    """The function of the project that a call runs: also the ``forward`` of a link that is called."""
    return object_call(analysis, callee) if isinstance(callee, Inst) else function_of(analysis, callee)


def object_call(analysis: Analysis, callee: Kind) -> FuncInfo | None:
    """The ``__call__`` or ``forward`` of a link of the project that runs when it is called."""
    if not isinstance(callee, Inst) or not analysis.derives(callee.cls, "chainer.Link"):
        return None
    own = [base for base in analysis.mro(callee.cls) if isinstance(base, ClassInfo)]
    found = (base.methods[name] for name in CALLED for base in own if name in base.methods)
    return next(found, None)


def only_model(analysis: Analysis) -> FuncInfo | None:
    """The ``forward`` of the only link of the project that is given array modules when it is called."""
    found = [
        info
        for info in analysis.functions.values()
        if info.name in CALLED and info.cls is not None and analysis.derives(info.cls, "chainer.Link")
        if XP in info.params.values()
    ]
    return found[0] if len(found) == 1 else None


def function_of(analysis: Analysis, callee: Kind) -> FuncInfo | None:
    """The function of the project that a call runs: it, or the ``__init__`` of a class."""
    if isinstance(callee, Func):
        return callee.info
    bases = analysis.mro(callee.info) if isinstance(callee, Class) else []
    made = (base.methods["__init__"] for base in bases if isinstance(base, ClassInfo) and "__init__" in base.methods)
    return next(made, None)


def row_of(context: Context, part: ast.Attribute) -> Row | None:
    """The row of a function or constant of an array module: ``xp.zeros``, ``cuda.cupy.random.seed``."""
    kind = context.kind(part.value)
    if isinstance(kind, Ref) and kind.name in CUPY and (part.attr != "ndarray" or makes_array(context, part)):
        kind = XP  # a class asks for CuPy itself: `isinstance(x, cuda.cupy.ndarray)`
    return row_of_kind(context, kind, part.attr) if isinstance(kind, Inst) else None


def makes_array(context: Context, part: ast.Attribute) -> bool:
    """``cupy.ndarray((2, 3))``: called, the class is the function ``empty``, where ``torch.Tensor`` takes values."""
    parent = context.source.parents.get(part)
    return part.attr == "ndarray" and isinstance(parent, ast.Call) and parent.func is part


def _asks_for_host(context: Context, compare: ast.Compare, node: ast.expr) -> bool:
    """``xp is numpy``, ``xp != cuda.cupy``."""
    if len(compare.ops) != 1 or not isinstance(compare.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        return False
    other = compare.comparators[0] if compare.left is node else compare.left
    kind = context.kind(other)
    return isinstance(kind, Ref) and kind.name in CUPY | {"numpy"}


def asks_for_none(compare: ast.Compare) -> bool:
    """``xp is None``, ``xp is not None``: whether one was given."""
    other = compare.comparators[0]
    is_none = isinstance(other, ast.Constant) and other.value is None
    return is_none and len(compare.ops) == 1 and isinstance(compare.ops[0], (ast.Is, ast.IsNot))


def only_asked(context: Context, node: ast.expr) -> bool:
    """Whether an array module is compared with NumPy or asked for a constant: nothing is computed with it.

    Neither is where it makes a GPU the current one.
    """
    parent = context.source.parents.get(node)
    if current_device(context, node) is not None:
        return True
    if isinstance(parent, ast.Compare):
        return _asks_for_host(context, parent, node)
    row = row_of(context, parent) if isinstance(parent, ast.Attribute) else None
    return row is not None and row.signature is None and row.name.startswith("xp.Module.")


def kind_on_device(context: Context, node: ast.AST) -> Kind:
    """The kind of an argument; what a function of an array module that is a device now gives is a tensor."""
    kind = context.kind(node)
    if kind != UNKNOWN or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return kind
    return Tensor(None, None, array=True) if context.kind(node.func.value) == EITHER else kind


def is_drawn(row: Row) -> bool:
    """Whether a row is of a function that draws random numbers, whatever its arguments are."""
    return row.name.startswith("xp.Random.") and row.name not in ("xp.Random.seed", "xp.Random.shuffle")


def by_numpy(call: ast.Call, row: Row) -> bool:
    """Whether a function of an array module for which torch has no form here may be NumPy's on the host.

    Not one that writes into an argument, or that NumPy does not have so.
    """
    part, _, name = row.name.removeprefix("xp.").partition(".")
    if row.signature is None or part not in _PARTS or name in _NOT_OF_NUMPY:
        return False
    words = {keyword.arg for keyword in call.keywords}
    starred = None in words or any(isinstance(a, ast.Starred) for a in call.args)
    if part == "Random":  # CuPy's generators take a dtype, NumPy's do not
        return not starred and (name == "randint" or "dtype" not in words)
    operands = len([p for p in row.signature.parameters if p.name.startswith("x")])  # what follows them is `out`
    takes_out = any(p.name == "out" for p in row.signature.parameters)
    return "out" not in words and not (takes_out and (starred or len(call.args) > operands))


def native_case(context: Context, part: ast.Attribute, row: Row) -> Case | None:
    """The case of the native style that a function or constant of the module takes."""
    call = context.source.parents.get(part)
    case = _case(context, part, row, call)
    called = isinstance(call, ast.Call) and call.func is part and by_numpy(call, row)
    return Case(None, WITH_NUMPY) if case is None and called else case


def _are_tensors_among(context: Context, call: ast.Call) -> bool:
    """Whether a call is handed a tensor."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(isinstance(kind, Tensor) for argument in given for kind in options(context.kind(argument)))


def _case(context: Context, part: ast.Attribute, row: Row, call: ast.AST | None) -> Case | None:
    bound, is_handed_tensors = Bound({"self": part.value}), False
    if row.signature is not None:
        if not isinstance(call, ast.Call) or call.func is not part:
            return None
        try:
            reading = read(context, call, row, part.value)
        except BindError:
            return None
        if reading.bound.starred and is_drawn(row):
            return Case(None, "self")
        if reading.doubt or reading.bound.starred:
            return None
        # NumPy is handed arrays: it asks them for their dtype (`choice(n, p=p)`).
        is_handed_tensors = is_drawn(row) and by_numpy(call, row) and _are_tensors_among(context, call)
        bound = reading.bound
    kind = functools.partial(kind_on_device, context)
    question = Question(row, bound, kind, context.is_instance, on_device=True)
    for case in row.cases:
        if is_handed_tensors and "is_tensor" not in (case.when or ""):
            continue
        if case.native and case.when is not None and evaluate(parsed(case.when), question) is True:
            return case
    return None
