"""First values that a call gives its layer (`initialW=HeNormal()`), in the native style.

A row writes them as ``native.initialized(LAYER, weight=initialW, bias=initial_bias)``. Where none is given the layer
stands alone; where a line of its own can set them behind ``with self.init_scope():``, it stands alone, too.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from chainer2torch.analysis.values import dataclass
from chainer2torch.analysis.kinds import NONE, Const, Inst, options
from chainer2torch.analysis.models.array_kinds import dtype_of
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.match import parsed
from chainer2torch.plan.questions.constructors import is_assigned_by_constructor
from chainer2torch.plan.questions.init_scopes import initialized_by_scope
from chainer2torch.plan.questions.nones import may_be_none
from chainer2torch.plan.questions.paths import is_parameter
from chainer2torch.rules.signature import BindError

_INITIALIZER = "chainer.Initializer"
_INITIALIZED = "native.initialized("
OWN = "native.init_weights"
"""How templates call the function of the project's own that fills a layer (own_first_values.py)."""
_SCALED = "native.lecun_normal_"
_LAYERS = re.compile(r"(torch\.nn\.(Lazy)?(Linear|Conv)|native\.(Linear|LazyLinear|linear|conv|conv_transpose)\()")
_BEGINS_ALIKE = re.compile(
    r"(torch\.nn\.(Embedding|BatchNorm.d|LayerNorm|GroupNorm)|native\.(Embedding|\w*BatchNorm))\("
)
_NORMALIZES = re.compile(r"(torch\.nn\.(BatchNorm.d|LayerNorm|GroupNorm)|native\.\w*BatchNorm)\(")
_BEGINNINGS: Mapping[str, tuple[float, str]] = MappingProxyType(
    {"weight": (1, "chainer.initializers.One"), "bias": (0, "chainer.initializers.Zero")}
)
# arguments that say whether a layer has a parameter at all, and what they say where it has none
_LACKING = {"bias": {"nobias": True, "use_beta": False}, "weight": {"use_gamma": False}}
_MAY_BE_LAZY = re.compile(r"(torch\.nn\.Lazy|native\.)")


@dataclass(frozen=True, eq=False)
class FirstValues:
    """The first values of a layer that statements set, by the name of torch's parameter.

    ``given``: expressions of the call; ``computed``: expressions of the row, over parameters of the call.
    ``by_helper``: nobody knows what a value is, or the layer may have no shape yet, or lack what is to be filled.
    """

    given: Mapping[str, ast.expr] = dataclasses.field(default_factory=dict)
    computed: Mapping[str, ast.expr] = dataclasses.field(default_factory=dict)
    by_helper: bool = False

    @property
    def names(self) -> frozenset[str]:
        """The names of torch's parameters."""
        return frozenset((*self.given, *self.computed))


def first_values(
    context: Context, call: ast.Call, template: str, given: Mapping[str, ast.expr]
) -> tuple[str, FirstValues]:
    """The template without values that are not given or that statements set, and those that statements set."""
    if not template.startswith(_INITIALIZED):
        return template, FirstValues()
    tree = parsed(template)
    assert isinstance(tree, ast.Call)
    layer = ast.unparse(tree.args[0])
    stated = {
        str(keyword.arg): given[keyword.value.id]
        for keyword in tree.keywords
        if isinstance(keyword.value, ast.Name) and keyword.value.id in given
    }
    stated = {
        name: value
        for name, value in stated.items()
        if not _gives_none(context, value) and not _lacks(name, given) and not _begins_so(context, layer, name, value)
    }
    computed = {str(keyword.arg): keyword.value for keyword in tree.keywords if not isinstance(keyword.value, ast.Name)}
    if not stated and not computed:
        return layer, FirstValues()
    scope = _scope_of_lines(context, call)
    parts = [*stated.values(), *_operands(computed, given)]
    if (
        scope is None
        or not all(_stays(context, value, scope) for value in parts)
        or any(_may_draw(context, value) for value in stated.values())
    ):
        if any(is_nothing(value) for value in computed.values()):
            return _without(template, tree, stated, computed), FirstValues()
        given_here = [keyword for keyword in tree.keywords if keyword.arg in (*stated, *computed)]
        function = parsed(filler_of(layer))
        if has_weight_and_bias(layer):
            given_here = [ast.keyword(*as_argument(str(keyword.arg), keyword.value)) for keyword in given_here]
        return ast.unparse(ast.Call(function, tree.args, given_here)), FirstValues()
    plain = not _MAY_BE_LAZY.match(layer) and all(_is_plain(context, value) for value in stated.values())
    switches = [given.get(switch) for name in (*stated, *computed) for switch in _LACKING.get(name, ())]
    may_lack_it = not all(isinstance(switch, (ast.Constant, type(None))) for switch in switches)
    return layer, FirstValues(stated, computed, not plain or may_lack_it)


def _begins_so(context: Context, layer: str, name: str, value: ast.expr) -> bool:
    """Whether a normalization begins with a value anyway: its weight with ones, its bias with zeros."""
    if not _NORMALIZES.match(layer) or name not in _BEGINNINGS or isinstance(value, ast.Attribute):
        return False  # what an attribute has, a caller may change that nobody sees
    number, initializer = _BEGINNINGS[name]
    kinds = options(context.kind(value))
    return all(
        isinstance(k, Const) and k.value == number or isinstance(k, Inst) and k.cls == initializer for k in kinds
    )


def _lacks(name: str, given: Mapping[str, ast.expr]) -> bool:
    """Whether the call itself says that the layer has no such parameter: Chainer does not look at its value then."""
    said = {s: value for s in _LACKING.get(name, ()) if isinstance(value := given.get(s), ast.Constant)}
    return any(bool(value.value) is _LACKING[name][switch] for switch, value in said.items())


def have_own_dtype(context: Context, template: str, given: Mapping[str, ast.expr]) -> bool:
    """Whether an initializer of a layer says a dtype, which the layer takes in Chainer: PyTorch's is float32."""
    if not template.startswith(_INITIALIZED):
        return False
    tree = parsed(template)
    assert isinstance(tree, ast.Call)
    values = [given[k.value.id] for k in tree.keywords if isinstance(k.value, ast.Name) and k.value.id in given]
    return any(_says_dtype(context, value) for value in values)


def _says_dtype(context: Context, value: ast.expr) -> bool:
    for kind in options(context.kind(value)):
        maker = context.analysis.makers.get(kind.site) if isinstance(kind, Inst) else None
        row = context.rules.rows.get(kind.cls) if isinstance(kind, Inst) and isinstance(kind.cls, str) else None
        if maker is None or row is None or row.signature is None or not context.is_instance(kind, _INITIALIZER):
            continue
        try:
            dtype = row.signature.bind(maker.args, maker.keywords).given.get("dtype")
        except BindError:
            continue
        if dtype is not None and not _is_none(dtype) and dtype_of(context.kind(dtype)) != "float32":
            return True
    return False


def has_weight_and_bias(template: str) -> bool:
    """Whether a template makes a linear layer or a convolution, which the function of the project's own can fill."""
    return _LAYERS.match(template) is not None


def filler_of(template: str) -> str:
    """The function that gives the layer of a template first values: one that begins as in Chainer needs no others."""
    if has_weight_and_bias(template):
        return OWN
    return "native.filled" if _BEGINS_ALIKE.match(template) else "native.initialized"


def scale_of(value: ast.expr) -> ast.expr | None:
    """What a row multiplies Chainer's first weights with: the ``s`` of ``partial(native.lecun_normal_, scale=s)``."""
    if isinstance(value, ast.Call) and value.args and ast.unparse(value.args[0]) == _SCALED:
        return value.keywords[0].value
    return None


def as_argument(name: str, value: ast.expr) -> tuple[str, ast.expr]:
    """How a first value is handed to the project's own function: a scale of the weights has a name of its own."""
    scale = scale_of(value)
    return (name, value) if scale is None else ("scale", scale)


def is_nothing(value: ast.expr) -> bool:
    """Whether a row says of a parameter that the layer has none: ``weight=None``."""
    return isinstance(value, ast.Constant) and value.value is None


def _without(template: str, tree: ast.Call, stated: Mapping[str, ast.expr], computed: Mapping[str, ast.expr]) -> str:
    """A normalization that lacks a parameter, where no statement can take it away: the helper can be told so."""
    layer = tree.args[0]
    assert isinstance(layer, ast.Call)
    lacking = [ast.keyword(name, ast.Constant(False)) for name, value in computed.items() if is_nothing(value)]
    made = ast.Call(ast.Name("native.BatchNorm"), layer.args, [*layer.keywords, *lacking])
    names = (*stated, *(name for name, value in computed.items() if not is_nothing(value)))
    values = [keyword for keyword in tree.keywords if keyword.arg in names]
    return ast.unparse(ast.Call(parsed(filler_of("native.BatchNorm(")), [made], values) if values else made)


def _operands(computed: Mapping[str, ast.expr], given: Mapping[str, ast.expr]) -> Iterator[ast.expr]:
    """The arguments of the call that expressions of its row name."""
    for value in computed.values():
        yield from (given[n.id] for n in nodes_of(value) if isinstance(n, ast.Name) and n.id in given)


def is_number(node: ast.expr) -> bool:
    """Whether an expression is a number, a negative one included."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _scope_of_lines(context: Context, call: ast.Call) -> Sequence[ast.stmt] | None:
    """The statements behind which lines of their own can set the values of a layer; None: there are no such lines."""
    if is_assigned_by_constructor(context, call):
        return ()
    scope, statement = initialized_by_scope(context, call), context.source.statement(call)
    if scope is None or context.source.parents.get(statement) is not scope:
        return None
    if not isinstance(statement, ast.Assign) or statement.value is not call:  # in an nn.Sequential
        return None
    return scope.body


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _gives_none(context: Context, node: ast.expr) -> bool:
    """Whether a call says None: written there, or as a name of the file that has no other value."""
    local = isinstance(node, ast.Name) and not is_parameter(context, node)
    return _is_none(node) or local and context.kind(node) == NONE


def _is_plain(context: Context, value: ast.expr) -> bool:
    """Whether a value is a number or one of Chainer's initializers, and never None."""
    return (
        is_number(value)
        or not may_be_none(context, value)
        and all(
            isinstance(k, Inst) and isinstance(k.cls, str) and context.analysis.derives(k.cls, _INITIALIZER)
            for k in options(context.kind(value))
        )
    )


def _may_draw(context: Context, value: ast.expr) -> bool:
    """Whether a value may be drawn from a generator, whose order of draws stays. An initializer draws when it fills."""
    fills = all(
        isinstance(k, Inst) and context.analysis.derives(k.cls, _INITIALIZER) for k in options(context.kind(value))
    )
    return not fills and any(isinstance(n, ast.Call) for n in nodes_of(value))


def _stays(context: Context, value: ast.expr, body: Sequence[ast.stmt]) -> bool:
    """Whether an expression means the same behind some statements."""
    if any(isinstance(n, (ast.NamedExpr, ast.Lambda)) for n in nodes_of(value)):
        return False
    read = {n.id for n in nodes_of(value) if isinstance(n, ast.Name)}
    attributes = {n.attr for n in nodes_of(value) if isinstance(n, ast.Attribute)}
    inside = [n for statement in body for n in nodes_of(statement)]
    stored = [n for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id in read]
    if any(isinstance(n, (ast.Subscript, ast.Attribute)) and _is_changed(n, read, attributes) for n in inside):
        return False
    first = context.source.start(value)
    once = len({n.id for n in stored}) == len(stored)  # it still has the value that the layer got
    return once and all(context.source.statement(n) in body and context.source.start(n) < first for n in stored)


def _is_changed(node: ast.Subscript | ast.Attribute, names: set[str], attributes: set[str]) -> bool:
    """Whether an attribute that is read, or what some names hold, gets another value: an array's numbers count."""
    root: ast.expr = node
    while isinstance(root, (ast.Subscript, ast.Attribute)):
        root = root.value
    if not isinstance(node.ctx, ast.Store) or not isinstance(root, ast.Name) or root.id not in names:
        return False
    return not (isinstance(node, ast.Attribute) and node.value is root) or node.attr in attributes


__all__ = [
    "OWN",
    "FirstValues",
    "as_argument",
    "filler_of",
    "first_values",
    "have_own_dtype",
    "has_weight_and_bias",
    "is_nothing",
    "is_number",
    "scale_of",
]
