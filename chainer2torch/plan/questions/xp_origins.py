"""What an expression is the array module of: a tensor, a module, a device, the GPU or the host.

In the native style it becomes that ``torch.device`` where all that is done with it has a form (xp_devices.py).
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import (
    UNKNOWN,
    Batch,
    HostArray,
    Inst,
    Lst,
    Ref,
    Tensor,
    Tup,
    Unknown,
    options,
    scalar_type,
)
from chainer2torch.analysis.lattice import element_of
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.analysis.models.xp_modules import CUPY, EITHER, MODULE_OF, XP
from chainer2torch.analysis.source import nodes_of
from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.questions.asked_shapes import has_shape
from chainer2torch.plan.questions.bare_links import without_parameters
from chainer2torch.plan.questions.called_by_models import called_by_models
from chainer2torch.plan.questions.retained_inputs import gradients_beside

HOST = "torch.device('cpu')"
_RECURRENT = "chainer.links.NStep"
_MOVING = frozenset({"to_gpu", "to_device"})
_ARRAYS = frozenset({"data", "array"})
_HAVING_XP = (
    "chainer.Variable",
    "chainer.Parameter",
    "chainer.backend.Device",
    "chainer.Distribution",
    "numpy.ndarray",
)
_OF_LINKS_ONLY = ("cleargrads", "zerograds", "params", "namedparams", "children", "links", "namedlinks")


@dataclass(frozen=True, eq=False)
class Origin:
    """An expression that gives an array module, as the device that it becomes."""

    node: ast.expr
    template: str  # the device, an expression of `x`
    of: ast.expr | None = None  # what `x` stands for
    told: tuple[tuple[ast.expr, str], ...] = ()  # the references that are answered with it, and their rows

    def operands(self, context: Context) -> dict[str, Operand]:
        """What the names of the template stand for."""
        return {} if self.of is None else {"x": context.operand(self.of)}


def origin_of(context: Context, node: ast.expr) -> Origin | None:
    """What an expression is the array module of; None where it is none, or that is not known."""
    if isinstance(node, ast.Call):
        return _of_call(context, node)
    if isinstance(node, ast.IfExp):
        return _of_choice(context, node)
    reference = context.reference(node)
    if reference in CUPY:
        return Origin(node, "torch.device('cuda')", None, ((node, str(reference)),))
    if isinstance(node, ast.Attribute) and node.attr == "xp" and isinstance(node.ctx, ast.Load):
        return _of_attribute(context, node)
    return None


def _of_call(context: Context, node: ast.Call) -> Origin | None:
    symbol = context.reference(node.func)
    if symbol not in MODULE_OF or context.kind(node) not in (XP, EITHER) or not node.args or node.keywords:
        return None
    first = _alone(node.args[0])
    told: tuple[tuple[ast.expr, str], ...] = ((node.func, symbol),)
    if isinstance(first, ast.Starred) or _is_sequence(context, first):
        of = first.value if isinstance(first, ast.Starred) else first
        if beside := gradients_beside(context, of):
            return Origin(node, f"{beside}[0].device", None, told)
        items = [k for s in options(context.kind(of)) for k in options(element_of(s))]
        return Origin(node, "x[0].device", of, told) if all(isinstance(k, Tensor) for k in items) else None
    if beside := gradients_beside(context, first):
        return Origin(node, f"{beside}[0].device", None, told)
    if context.kind(node) == EITHER:
        return Origin(node, "x.device", first, told) if _are_of_models(context, node.args) else None
    first = next((a for a in node.args if _lies_on_device(context, a)), first)
    if isinstance(first, ast.Attribute) and first.attr in _ARRAYS and _are_tensors(context, first.value):
        return Origin(node, "x.device", first.value, (*told, (first, f"chainer.Variable.{first.attr}")))
    return Origin(node, "x.device", first, told) if _lies_on_device(context, first) else None


def _alone(argument: ast.expr) -> ast.expr:
    """``*(x,)`` is ``x``."""
    inner = argument.value if isinstance(argument, ast.Starred) else None
    one = isinstance(inner, (ast.Tuple, ast.List)) and len(inner.elts) == 1
    return inner.elts[0] if one and not isinstance(inner.elts[0], ast.Starred) else argument  # type: ignore[union-attr]


def _lies_on_device(context: Context, value: ast.expr) -> bool:
    arrays = [k for k in options(context.kind(value)) if scalar_type(k) is None]  # a number has no device
    return bool(arrays) and all(isinstance(k, (Tensor, Batch)) for k in arrays)


def _are_of_models(context: Context, values: list[ast.expr]) -> bool:
    """What ``forward`` of a model, or of a function of one's own, is given, and what they call: tensors.

    Elsewhere it may be an array of the host: what the program makes with it has to be one then, too. Its ``device`` is
    a text for NumPy 2, so nothing would raise.
    """
    kinds = [
        k
        for value in values
        for k in options(context.kind(value))
        if scalar_type(k) is None or not has_shape(context, value, by_then=False)  # 0 where nothing is computed
    ]
    if any(isinstance(value, ast.Starred) for value in values):
        return False
    if not all(isinstance(k, (Unknown, Tensor)) for k in kinds):
        return False
    return context.source.enclosing(values[0], ast.FunctionDef) in context.analysis.once(called_by_models)


def of_any_array(context: Context, node: ast.expr) -> Origin | None:
    """The array module of a value that may be an array of the host, too: enough where it is only asked which it is."""
    symbol = context.reference(node.func) if isinstance(node, ast.Call) else None
    if not isinstance(node, ast.Call) or symbol not in MODULE_OF or len(node.args) != 1 or node.keywords:
        return None
    if context.kind(node) not in (XP, EITHER):
        return None
    first = _alone(node.args[0])
    if isinstance(first, ast.Starred) or _is_sequence(context, first):
        of = first.value if isinstance(first, ast.Starred) else first
        if beside := gradients_beside(context, of):
            return Origin(node, f"{beside}[0].device", None, ((node.func, str(symbol)),))
        return Origin(node, "native.device_of(x[0])", of, ((node.func, str(symbol)),))
    return Origin(node, "native.device_of(x)", first, ((node.func, str(symbol)),))


def _is_sequence(context: Context, node: ast.expr) -> bool:
    """Whether a function is handed all of its inputs at once: Chainer takes that for NumPy's, whatever they are."""
    return all(isinstance(k, (Lst, Tup)) for k in options(context.kind(node)))


def _of_attribute(context: Context, node: ast.Attribute) -> Origin | None:
    if context.kind(node) != XP:
        return None
    owner = node.value
    if isinstance(owner, ast.Call):
        return None
    kinds = options(context.kind(owner))
    if _are_tensors(context, owner):
        return Origin(node, "x.device", owner, ((node, "chainer.Variable.xp"),))
    if all(isinstance(k, Inst) and context.analysis.derives(k.cls, "chainer.backend.Device") for k in kinds):
        return Origin(node, "x", owner, ((node, "chainer.backend.Device.xp"),))
    if kinds == (UNKNOWN,) and not context.analysis.once(_own_xp):
        template = "next(x.parameters()).device" if _is_called(context, owner) else "native.device_of(x)"
        return Origin(node, template, owner, ((node, "?.xp"),))
    if all(isinstance(k, Inst) and context.analysis.derives(k.cls, "chainer.Link") for k in kinds):
        method = context.source.enclosing(node, ast.FunctionDef)
        if isinstance(method, ast.FunctionDef) and method.name == "__init__" and is_own(method, owner):
            # there may be no parameters yet, and a link begins on the host
            return None if _moves(method) else Origin(node, HOST, None, ((node, "chainer.Link.xp"),))
        if not may_lack_parameters(context, owner):
            return Origin(node, "next(x.parameters()).device", owner, ((node, "chainer.Link.xp"),))
        input_ = _tensor_given(context, method) if isinstance(method, ast.FunctionDef) and is_own(method, owner) else ""
        if input_:  # a module without parameters is nowhere; its inputs are where the program works
            return Origin(node, f"{input_}.device", None, ((node, "chainer.Link.xp"),))
        return Origin(node, "native.device_of(x)", owner, ((node, "chainer.Link.xp"),))
    return None


def _tensor_given(context: Context, method: ast.FunctionDef) -> str:
    """The first parameter of a method that is a tensor wherever the method names it, and never None."""
    names = [node for node in nodes_of(method) if isinstance(node, ast.Name)]
    states = {ast.unparse(state) for node in nodes_of(method) for state in _states(context, node)}
    for parameter in method.args.args[1:]:
        kinds = [k for n in names if n.id == parameter.arg for k in options(context.kind(n))]
        if parameter.arg not in states and kinds and all(isinstance(k, Tensor) for k in kinds):
            return parameter.arg
    return ""


def _states(context: Context, node: ast.AST) -> list[ast.expr]:
    """What a recurrent layer is called with as its states: None stands for zeros there."""
    if not isinstance(node, ast.Call):
        return []
    kinds = options(context.kind(node.func))
    if not all(isinstance(k, Inst) and isinstance(k.cls, str) and k.cls.startswith(_RECURRENT) for k in kinds):
        return []
    return [*node.args[:-1], *(k.value for k in node.keywords if k.arg in ("hx", "cx"))]


def _is_called(context: Context, owner: ast.expr) -> bool:
    """Whether what has an ``xp`` is used as only a link is, in its function or class; anything else would raise.

    It is called, or asked for what neither variables nor devices have.
    """
    scope: ast.AST | None = context.scopes.get(owner) if isinstance(owner, ast.Name) else None
    if isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name) and owner.value.id == "self":
        scope = context.source.enclosing(owner, ast.ClassDef)
    method = context.source.enclosing(owner, ast.FunctionDef)
    if scope is None or getattr(method, "name", "") == "__init__":
        return False
    text = ast.unparse(owner)
    return any(
        isinstance(n, ast.Call)
        and ast.unparse(n.func) == text
        or isinstance(n, ast.Attribute)
        and _is_of_links(context, n.attr)
        and ast.unparse(n.value) == text
        for n in nodes_of(scope)
    )


def _is_of_links(context: Context, name: str) -> bool:
    """Whether nothing else of Chainer's that has an ``xp`` has a member."""
    return name in _OF_LINKS_ONLY or not any(context.rules.member(cls, name) for cls in _HAVING_XP)


def gives_array(context: Context, node: ast.AST) -> bool:
    """Whether a method of what is used as a link gives an array: every link of the program with this method does."""
    named = _methods_of_unknown(context, node)
    return (
        bool(named)
        and all(info.cls is not None and context.analysis.derives(info.cls, "chainer.Link") for info in named)
        and all(isinstance(k, (HostArray, Tensor)) for info in named for k in options(info.returns or UNKNOWN))
        and _is_called(context, node.func.value)  # type: ignore[attr-defined]
    )


def gives_list(context: Context, node: ast.AST) -> bool:
    """Whether some method of the program that a call may run gives a list or a number, or a parameter is given one."""
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    info = context.analysis.functions.get(function) if function is not None else None
    if isinstance(node, ast.Name) and info is not None and node.id in info.list_fed:
        return True
    kinds = [k for info in _methods_of_unknown(context, node) for k in options(info.returns or UNKNOWN)]
    return any(isinstance(k, (Lst, Tup)) or scalar_type(k) is not None for k in kinds)


def _methods_of_unknown(context: Context, node: ast.AST) -> list[FuncInfo]:
    """The functions of the program that a method call of an unknown object may run, if nothing more is known of it."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return []
    if context.kind(node) != UNKNOWN or context.kind(node.func.value) != UNKNOWN:
        return []
    return [info for info in context.analysis.functions.values() if info.name == node.func.attr]


def is_own(method: ast.FunctionDef, owner: ast.expr) -> bool:
    """Whether an expression is the object itself in one of its methods."""
    first = next(iter(method.args.args), None)
    return isinstance(owner, ast.Name) and first is not None and first.arg == owner.id


def _moves(method: ast.FunctionDef) -> bool:
    """Whether a method calls others that move a link, or calls a method of its own class that may do that."""
    return any(isinstance(node, ast.Attribute) and node.attr in _MOVING for node in nodes_of(method))


def may_lack_parameters(context: Context, link: ast.expr) -> bool:
    """Whether a link may have no parameter to ask for its device: its class registers nothing but arrays and links that
    have none, as far as it and its bases show, or it is being made.
    """
    method = context.source.enclosing(link, ast.FunctionDef)
    if isinstance(method, ast.FunctionDef) and method.name == "__init__" and is_own(method, link):
        return True
    infos = [k.cls for k in options(context.kind(link)) if isinstance(k, Inst) and isinstance(k.cls, ClassInfo)]
    return any(info in context.analysis.once(without_parameters) for info in infos)


def _own_xp(analysis: Analysis) -> bool:
    """Whether some class of the project has an `xp` of its own."""
    return any(
        node.attr == "xp" and isinstance(node.ctx, ast.Store)
        for module in analysis.project.modules.values()
        for node in module.source.of(ast.Attribute)
    )


def _of_choice(context: Context, node: ast.IfExp) -> Origin | None:
    """``cuda.cupy if gpu >= 0 else numpy``."""
    body, orelse = context.kind(node.body), context.kind(node.orelse)
    if context.kind(node) != XP or not (isinstance(body, Ref) and isinstance(orelse, Ref)):
        return None
    first, second = ("cuda", "cpu") if body.name in CUPY else ("cpu", "cuda")
    told = tuple((n, k.name) for n, k in ((node.body, body), (node.orelse, orelse)) if k.name in CUPY)
    return Origin(node, f"torch.device('{first}' if x else '{second}')", node.test, told)


def host_of(context: Context, node: ast.expr) -> Origin | None:
    """``xp = numpy`` of a variable that holds CuPy elsewhere."""
    return Origin(node, HOST) if context.kind(node) == Ref("numpy") else None


def _are_tensors(context: Context, node: ast.expr) -> bool:
    return all(isinstance(k, Tensor) for k in options(context.kind(node)))
