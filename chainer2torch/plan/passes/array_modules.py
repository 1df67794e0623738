"""Which array module: ``xp is numpy``, ``cuda.cupy if gpu >= 0 else numpy``, ``try: import cupy as xp``, and names that
no module has."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import NONE, UNKNOWN, Inst, Kind, Ref, options
from chainer2torch.analysis.models.xp_modules import CUPY, EITHER, XP
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import IntoIf, Replace, ReplaceStatement
from chainer2torch.plan.questions.cupy_guards import chosen_module
from chainer2torch.plan.questions.xp_devices import imported, is_device, is_set
from chainer2torch.plan.questions.xp_handed import handed
from chainer2torch.plan.questions.xp_uses import current_device, parameter_for

_PSEUDO = frozenset({"xp.Module", "xp.Either", "xp.Random", "xp.LinearAlgebra"})
_CODE = "C2T320"


def run(context: Context) -> Decisions:
    """Decides what compares and chooses array modules. Runs before the references are visited."""
    decisions = Decisions(context)
    chosen = [found for block in context.source.of(ast.Try) if (found := chosen_module(context, block)) is not None]
    for statement in context.source.of(ast.Import):
        if not any(statement in found[:2] for found in chosen):
            _import_anywhere(context, decisions, statement)
    for call in context.source.of(ast.Call) if context.choices.style == "native" else ():
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            _hand(context, decisions, argument)
    for node in context.source.of(ast.Compare, ast.If, ast.IfExp, ast.Assign, ast.Attribute, ast.Try, ast.BoolOp):
        if isinstance(node, (ast.If, ast.IfExp)):
            _ask(context, decisions, node.test)
        if isinstance(node, ast.Compare):
            _compare(context, decisions, node)
        elif isinstance(node, ast.BoolOp):
            _first_there(context, decisions, node)
        elif isinstance(node, ast.IfExp):
            _choose(context, decisions, node)
        elif isinstance(node, ast.Assign):
            _assign(context, decisions, node)
        elif isinstance(node, ast.Attribute):
            _missing(context, decisions, node)
        elif isinstance(node, ast.Try):
            _import(context, decisions, node)
    return decisions


def _compare(context: Context, decisions: Decisions, node: ast.Compare) -> None:
    """``xp is numpy`` asks whether the data lies on the CPU."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        return
    left, right = node.left, node.comparators[0]
    if _compare_two(context, decisions, node, left, right) or _compare_none(context, decisions, node, left, right):
        return
    for module, name in ((left, right), (right, left)):
        kind, reference = context.analysis.kind(module), context.analysis.kind(name)
        if not _is_module(kind) or not isinstance(reference, Ref) or reference.name not in CUPY | {"numpy"}:
            continue
        positive = isinstance(node.ops[0], (ast.Is, ast.Eq)) is (reference.name == "numpy")
        if is_device(context, module):
            template = "xp.type == 'cpu'" if positive else "xp.type != 'cpu'"
        elif context.choices.style == "native":  # the short array module on the CPU equals NumPy
            template = "xp == numpy" if positive else "xp != numpy"
        else:
            template = "compat.on_cpu(xp)" if positive else "not compat.on_cpu(xp)"
        # a comparison in the place of a comparison needs no parentheses
        parenthesize = context.choices.style != "native" and context.needs_parentheses(node)
        operands = {"xp": context.operand(module)}
        decisions.edit(node, Replace(context.source.span(node), template, operands, parenthesize=parenthesize))
        _consume(context, decisions, name, reference)
        return


def _ask(context: Context, decisions: Decisions, test: ast.expr) -> None:
    """``if cupy:`` behind ``try: import cupy`` / ``except ImportError: cupy = None`` asks whether there is a GPU.

    Chainer's own ``cuda.cupy`` is an object where CuPy is missing, too: the answer is always yes.
    """
    if isinstance(test, ast.BoolOp):
        for part in test.values:
            _ask(context, decisions, part)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        _ask(context, decisions, test.operand)
    elif context.choices.style == "native":
        kind = context.analysis.kind(test)
        modules = [k for k in options(kind) if k != NONE]
        if not modules or not all(isinstance(k, Ref) and k.name in CUPY for k in modules):
            return
        imported = _is_imported(context, test)
        if imported or len(modules) == len(options(kind)):
            decisions.replace(test, "torch.cuda.is_available()" if imported else "True", {})
            assert isinstance(modules[0], Ref)
            _consume(context, decisions, test, modules[0])


def _compare_none(context: Context, decisions: Decisions, node: ast.Compare, left: ast.expr, right: ast.expr) -> bool:
    """``cupy is None`` behind ``except ImportError: cupy = None`` asks the same as ``not cupy``."""
    kind = context.kind(left)
    none = isinstance(right, ast.Constant) and right.value is None
    if not none or not isinstance(kind, Ref) or not _is_imported(context, left) or context.choices.style != "native":
        return False
    there = "" if isinstance(node.ops[0], (ast.IsNot, ast.NotEq)) else "not "
    decisions.replace(node, f"{there}torch.cuda.is_available()", {})
    _consume(context, decisions, left, kind)
    return True


def _is_imported(context: Context, node: ast.expr) -> bool:
    """Whether a name is that of ``import cupy``. Chainer's own ``cuda.cupy`` is an object: never None, nor false."""
    names = {a.asname or a.name for i in context.source.of(ast.Import) for a in i.names if a.name == "cupy"}
    return isinstance(node, ast.Name) and node.id in names


def _first_there(context: Context, decisions: Decisions, node: ast.BoolOp) -> None:
    """``xp = cupy or numpy`` behind such a ``try``: tensors on the GPU where there is one."""
    kinds = [context.kind(value) for value in node.values]
    if not isinstance(node.op, ast.Or) or len(kinds) != 2 or context.choices.style != "native":
        return
    first, second = kinds
    imported = isinstance(first, Ref) and _is_imported(context, node.values[0])
    if isinstance(first, Ref) and imported and second == Ref("numpy") and not is_device(context, node):
        decisions.replace(node, "compat.array_module('cuda' if torch.cuda.is_available() else 'cpu')", {})
        _consume(context, decisions, node.values[0], first)


def _compare_two(context: Context, decisions: Decisions, node: ast.Compare, left: ast.expr, right: ast.expr) -> bool:
    """``xp is get_array_module(y)`` asks for one device: the array modules are equal then, and not the same object."""
    if not (_is_module(context.analysis.kind(left)) and _is_module(context.analysis.kind(right))):
        return False
    if isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        template = "xp == other" if isinstance(node.ops[0], ast.Is) else "xp != other"
        operands = {"xp": context.operand(left), "other": context.operand(right)}
        decisions.edit(node, Replace(context.source.span(node), template, operands, parenthesize=False))
    return True


def _choose(context: Context, decisions: Decisions, node: ast.IfExp) -> None:
    """``cuda.cupy if gpu >= 0 else numpy`` is the array module of a device that is chosen."""
    body, orelse = context.analysis.kind(node.body), context.analysis.kind(node.orelse)
    if is_device(context, node):
        return  # another pass has it
    if context.analysis.kind(node) != XP or not (isinstance(body, Ref) and isinstance(orelse, Ref)):
        return
    first, second = ("cuda", "cpu") if body.name in CUPY else ("cpu", "cuda")
    decisions.replace(
        node, f"compat.array_module('{first}' if test else '{second}')", {"test": context.operand(node.test)}
    )
    _consume(context, decisions, node.body, body)
    _consume(context, decisions, node.orelse, orelse)


def _assign(context: Context, decisions: Decisions, node: ast.Assign) -> None:
    """``xp = numpy`` where the same name is also given CuPy: tensors on the CPU, or on the GPU.

    Each assignment decides on itself alone, because a name can be given either module several times.
    """
    kind = context.analysis.kind(node.value)
    if len(node.targets) != 1 or not isinstance(kind, Ref) or kind.name not in CUPY | {"numpy"}:
        return
    on_host = kind.name == "numpy"
    if is_set(context, node) or not any(
        _is_host(context, other) is not on_host for other in _same_target(context, node)
    ):
        return
    if not on_host:
        decisions.replace(node.value, "compat.array_module('cuda')", {})
        _consume(context, decisions, node.value, kind)
    elif _is_host(context, node):
        decisions.replace(node.value, "compat.array_module('cpu')", {})


def _same_target(context: Context, node: ast.Assign) -> list[ast.Assign]:
    """The other assignments of NumPy or CuPy to the target of this one; those that another pass makes devices are not.

    By its text: a target can be an attribute. A name of another scope is another one, and so is one of another class.
    """
    target = ast.unparse(node.targets[0])
    return [
        other
        for other in context.source.of(ast.Assign)
        if other is not node
        and _is_host(context, other) is not None
        and ast.unparse(other.targets[0]) == target
        and _are_one(context, node.targets[0], other.targets[0])
    ]


def _are_one(context: Context, target: ast.expr, other: ast.expr) -> bool:
    """Whether two targets of the same text may be the same variable, or attributes of the same object."""
    if isinstance(target, ast.Name):
        return context.scopes.get(target) is context.scopes.get(other)
    if not isinstance(target, ast.Attribute) or not isinstance(other, ast.Attribute):
        return True
    mine, theirs = _classes(context, target), _classes(context, other)
    if not mine or not theirs or mine & theirs:
        return True
    related = any(a in context.analysis.mro(b) or b in context.analysis.mro(a) for a in mine for b in theirs)
    return related and not _is_read_as_numpy(context, target.attr, mine | theirs)


def _classes(context: Context, target: ast.Attribute) -> set[ClassInfo]:
    kinds = options(context.kind(target.value))
    return {k.cls for k in kinds if isinstance(k, Inst) and isinstance(k.cls, ClassInfo)}


def _is_read_as_numpy(context: Context, attribute: str, classes: set[ClassInfo]) -> bool:
    """Whether methods of these classes take the attribute for NumPy: they know nothing of heirs that set another."""
    reads = (n for n in context.source.attributes.get(attribute, ()) if isinstance(n.ctx, ast.Load))
    return any(context.kind(n) == Ref("numpy") and _classes(context, n) & classes for n in reads)


def _is_host(context: Context, node: ast.Assign) -> bool | None:
    """Whether a target is given NumPy (True) or CuPy (False); None: neither, or another pass has it."""
    kind = context.analysis.kind(node.value)
    if len(node.targets) != 1 or not isinstance(kind, Ref):
        return None
    if kind.name == "numpy":
        device = isinstance(node.targets[0], ast.Name) and is_device(context, node.targets[0])
        return None if device or is_set(context, node) else True
    return False if kind.name in CUPY else None


def _import(context: Context, decisions: Decisions, node: ast.Try) -> None:
    """``try: import cupy as xp`` / ``except ImportError: import numpy as xp``: a GPU is used where there is one."""
    found = chosen_module(context, node)
    if found is None or context.skipped.node(node) or imported(context, node) is not None:
        return
    cupy, numpy, name = found
    decisions.edit(node, IntoIf(context.source.start(node), "torch.cuda.is_available()"))
    for statement, device in ((cupy, "cuda"), (numpy, "cpu")):
        code = f"{name} = compat.array_module('{device}')"
        decisions.edit(statement, ReplaceStatement(context.source.start(statement), code, {}))


def _import_anywhere(context: Context, decisions: Decisions, node: ast.Import) -> None:
    """``import cupy as xp`` in one place and ``import numpy as xp`` in another: each becomes an array module.

    In a ``try`` the first of them fails where there is no GPU, as it failed where there was no CuPy.
    """
    bound = _module_import(node)
    if bound is None or context.skipped.node(node):
        return
    name, module = bound
    used = [n for n in context.source.named.get(name, ()) if isinstance(n.ctx, ast.Load)]
    both = {other[1] for other in map(_module_import, context.source.of(ast.Import)) if other and other[0] == name}
    kinds = {context.kind(n) for n in used}
    between = {kind for kind in kinds if isinstance(kind, Ref) and kind.name in CUPY}  # behind the first, in its block
    if both != {"cupy", "numpy"} or kinds - between != {XP}:
        return
    block = context.source.parents[node]
    in_try = isinstance(block, ast.Try) and node in block.body
    code = f"{name} = compat.array_module('{'cuda' if module == 'cupy' else 'cpu'}')"
    if module == "cupy" and in_try:
        code = f"if not torch.cuda.is_available():\n    raise ImportError('no GPU')\n{code}"
    decisions.edit(node, ReplaceStatement(context.source.start(node), code, {}))


def _hand(context: Context, decisions: Decisions, argument: ast.expr) -> None:
    """``sample(n, np)`` where other calls hand CuPy on: what the function makes are tensors, on the CPU, too."""
    if context.analysis.kind(argument) != Ref("numpy"):
        return
    found = parameter_for(context, argument)
    if found is None or not isinstance(found[0], FuncInfo):
        return
    kinds = options(found[0].params.get(found[1], UNKNOWN))
    modules = XP in kinds and all(k == XP or isinstance(k, Ref) and k.name in CUPY for k in kinds)
    if modules and found not in context.analysis.once(handed):
        decisions.replace(argument, "compat.array_module('cpu')", {})


def _module_import(node: ast.Import) -> tuple[str, str] | None:
    """The name and the module of an ``import`` of CuPy or NumPy alone."""
    if len(node.names) != 1 or node.names[0].name not in ("cupy", "numpy"):
        return None
    return node.names[0].asname or node.names[0].name, node.names[0].name


def _missing(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    kinds = options(context.analysis.kind(node.value))
    if is_device(context, node.value) and current_device(context, node.value) is not None:
        return  # another pass has it
    if (
        all(isinstance(k, Inst) and k.cls in _PSEUDO for k in kinds)
        and context.rules.member(str(kinds[0].cls), node.attr) is None  # type: ignore[attr-defined]
    ):
        decisions.mark(
            node,
            None,
            f"xp.{node.attr}",
            "manual",
            "the array module for tensors does not have this name; write it with torch",
            _CODE,
            shared=f"{_CODE} xp.{node.attr}",
        )


def _is_module(kind: Kind) -> bool:
    return all(k in (XP, EITHER) for k in options(kind))


def _consume(context: Context, decisions: Decisions, node: ast.expr, reference: Ref) -> None:
    if reference.name != "numpy":
        decisions.mark(node, context.rules.rows.get(reference.name), reference.name, "exact", "", _CODE)
        decisions.use(node)
