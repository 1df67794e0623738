"""Templates of an array module's functions without the helpers that the values at hand do not need.

``native.as_tensor`` is for numbers and lists, ``native.floating`` for whole numbers, ``native.same_dtype`` for arrays
of several dtypes. Where nothing says that a value is one of these, torch's own call stands. What Python's floats
become is then PyTorch's default dtype, a declared difference; lists of tensors with axes raise.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from chainer2torch.analysis.kinds import Batch, HostArray, Inst, Kind, Lst, Tensor, Tup, Unknown, options, scalar_type
from chainer2torch.analysis.lattice import MIXED, element_of
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.array_guards import WHOLE, is_array, is_stream
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.asked_shapes import has_shape
from chainer2torch.plan.questions.sent_arrays import is_sent_by_choice
from chainer2torch.plan.questions.xp_origins import gives_array, gives_list
from chainer2torch.plan.question import Question, parsed

DEFAULT_DTYPE = "default-dtype"
# these ask for axes, or are for arrays alone: a number would be no argument for them
_TAKING_ARRAYS = re.compile(r"torch\.(?:linalg\.)?(\w+)\(native\.as_tensor\((\w+), self\)")
_OF_ARRAYS_ALONE = frozenset({"argmax", "argmin", "argsort", "sort", "permute", "nonzero", "unique", "cumsum", "flip"})
# what these give is of no dtype of its argument
_ASKING = frozenset({"logical_and", "logical_not", "logical_or", "logical_xor", "isfinite", "isinf", "isnan"})
# these are there for what may have no axes
_OF_NUMBERS = ("torch.atleast_1d(", "torch.atleast_2d(")
_NUMBERS = ("bool", "int", "float")
_MEMBERS = ("array", "data")
_HELPERS = ("native.as_tensor(", "native.floating(", "native.same_dtype(")


def plain_arrays(context: Context, template: str, question: Question) -> tuple[str, str]:
    """A template with torch's own calls where they do, and the declared difference that this makes."""
    if not any(helper in template for helper in _HELPERS) or template.startswith(_OF_NUMBERS):
        return template, ""
    if taken := _TAKING_ARRAYS.match(template):
        name = taken[2]
        axis = {"axis", "axes", "repeats", "shift"} & question.bound.given.keys()
        if (taken[1] in _OF_ARRAYS_ALONE or axis) and _may_be_tensor(context, question, name):
            template = template.replace(f"native.as_tensor({name}, self)", name, 1)
    plain = _Plain(context, question)
    tree = plain.visit(ast.parse(template, mode="eval"))
    return (ast.unparse(tree), plain.difference) if plain.changed else (template, "")


class _Plain(ast.NodeTransformer):
    """Replaces helpers in a template; ``difference`` is said when one of the replacements makes it."""

    def __init__(self, context: Context, question: Question):
        self.context, self.question = context, question
        self.changed, self.difference = False, ""

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802 - the name that ast calls
        before = self.difference
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if name.removeprefix("torch.") in _ASKING:
            self.difference = before
        if isinstance(node.func, ast.Attribute) and node.func.attr == "clone" and self.changed:
            return self._copied(node, node.func.value)
        replaced: ast.AST | None = None
        if name == "native.as_tensor":
            replaced = self._as_tensor(node)
        elif name == "native.floating":
            replaced = self._floating(node.args[0])
        elif name == "native.same_dtype":
            replaced = self._same_dtype(node.args[0])
        self.changed = self.changed or replaced is not None
        return replaced or node

    def visit_Starred(self, node: ast.Starred) -> ast.AST | list[ast.expr]:  # noqa: N802 - the name that ast calls
        self.generic_visit(node)
        return node.value.elts if isinstance(node.value, ast.Tuple) else node

    def _as_tensor(self, call: ast.Call) -> ast.expr | None:
        value = call.args[0]
        given = self.question.bound.given.get(value.id) if isinstance(value, ast.Name) else None
        if given is None or len(call.args) > 2 and not self._is_member_dtype(call.args[2]):
            return None
        kinds = options(self.question.kind(given))
        if any(isinstance(k, (Inst, Lst, Tup)) for k in kinds):
            if not all(_is_sequence(k) and not _holds_tensors(k) for k in kinds):
                return None
            return _as_tensor(parsed(f"numpy.asarray({ast.unparse(value)})"), call)
        if not self._is_array(given) and not self._may_be_plain(given, kinds):
            return None
        if len(call.args) == 2 and all(scalar_type(k) == "float" for k in kinds):
            return _as_tensor(value, ast.Call(call.func, [*call.args, parsed("torch.float64")], []))
        differs = any(isinstance(k, Unknown) or scalar_type(k) == "float" for k in kinds)
        self._differ(differs and len(call.args) == 2 and not self._is_array(given))
        return _as_tensor(value, call)

    def _may_be_plain(self, given: ast.expr, kinds: tuple[Kind, ...]) -> bool:
        """Whether a value is an array or a number, as far as it is known, and nothing uses it as a list."""
        if not all(isinstance(k, (HostArray, Tensor, Unknown)) or scalar_type(k) in _NUMBERS for k in kinds):
            return False
        unknown = any(isinstance(k, Unknown) for k in kinds)
        return not unknown or self.question.is_single(given) and not gives_list(self.context, given)

    def _is_array(self, node: ast.expr) -> bool:
        return is_array(node, self.question.kind) or has_shape(self.context, node) or gives_array(self.context, node)

    def _copied(self, call: ast.Call, made: ast.expr) -> ast.Call:
        """A copy: of what ``torch.as_tensor`` may share; the array of a list shares nothing."""
        if not isinstance(made, ast.Call) or ast.unparse(made.func) != "torch.as_tensor":
            return call
        value = made.args[0]
        if isinstance(value, ast.Call):  # an object may show an array of its own
            given = self.question.bound.given[ast.unparse(value.args[0])]
            return made if all(isinstance(k, (Lst, Tup)) for k in options(self.question.kind(given))) else call
        shown = self.question.bound.given.get(value.id) if isinstance(value, ast.Name) else None
        if isinstance(shown, ast.Attribute) and shown.attr in _MEMBERS:
            return call  # a tensor, of which torch.tensor warns
        return ast.Call(parsed("torch.tensor"), made.args, made.keywords)

    def _is_member_dtype(self, dtype: ast.expr) -> bool:
        """Whether a dtype is that of another value: torch refuses one of NumPy's."""
        given = self.question.bound.given.get(dtype.id) if isinstance(dtype, ast.Name) else None
        return isinstance(given, ast.Attribute) and given.attr == "dtype"

    def _floating(self, value: ast.expr) -> ast.expr | None:
        name = value
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "torch.as_tensor":
            name = value.args[0]
        given = self.question.bound.given.get(name.id) if isinstance(name, ast.Name) else None
        if given is None or isinstance(value, ast.Call) and name is value:
            return None
        kinds = options(self.question.kind(given))
        dtypes = {getattr(k, "dtype", None) for k in kinds}
        if dtypes <= WHOLE:
            return ast.Call(ast.Attribute(value, "double", ast.Load()), [], [])
        if dtypes & {*WHOLE, MIXED} or not all(isinstance(k, (HostArray, Tensor, Unknown)) for k in kinds):
            return None
        self._differ(None in dtypes)
        return value

    def _same_dtype(self, value: ast.expr) -> ast.expr | None:
        shown = value.elts if isinstance(value, ast.Tuple) else [value]
        nodes = [self.question.bound.given.get(item.id) for item in shown if isinstance(item, ast.Name)]
        if None in nodes or len(nodes) < len(shown):
            return None
        one = (
            all(isinstance(k, Tensor) for k in options(self.question.kind(nodes[0]))) if nodes[0] is not None else False
        )
        if len(nodes) == 1 and (self._is_unknown_list(nodes[0]) or one and self._is_handed(nodes[0])):
            self._differ(True)
            return parsed(f"[torch.as_tensor(array) for array in {ast.unparse(value)}]")
        if isinstance(value, ast.Name) and one:
            return parsed(f"tuple({ast.unparse(value)})")  # the rows of one array
        items: list[Kind] = []
        for node in nodes:
            assert node is not None
            kinds = options(self.question.kind(node))
            items += kinds if isinstance(value, ast.Tuple) else _items(node, kinds, self.question.kind)
        dtypes = {k.dtype if isinstance(k, Tensor) else "" for k in items}
        if not items or dtypes & {"", MIXED} or dtypes & WHOLE and not dtypes <= WHOLE:
            return None
        self._differ(None in dtypes)
        if isinstance(value, ast.Name) and is_stream(value.id, self.question) is True:
            return parsed(f"tuple({value.id})")  # torch takes lists and tuples
        return value

    def _is_handed(self, node: ast.expr | None) -> bool:
        """Whether a tensor is a parameter: what callers that nobody sees give may as well be a list of arrays."""
        function = self.context.source.enclosing(node, ast.FunctionDef) if isinstance(node, ast.Name) else None
        return isinstance(function, ast.FunctionDef) and any(
            isinstance(a, ast.arg) and isinstance(node, ast.Name) and a.arg == node.id for a in nodes_of(function.args)
        )

    def _is_unknown_list(self, node: ast.expr | None) -> bool:
        """Whether a list that is not shown here holds arrays of which nothing is known, or of both sides."""
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            return False
        lists = options(self.question.kind(node))
        kinds = [item for k in lists for item in (options(k.element) if type(k) is Lst else (k,))]
        if all(isinstance(k, Unknown) for k in kinds):
            return True
        dtypes = {k.dtype for k in kinds if isinstance(k, (HostArray, Tensor))}
        return (
            any(type(k) is Lst for k in lists)
            and any(isinstance(k, (HostArray, Unknown)) for k in kinds)
            and all(isinstance(k, (HostArray, Tensor, Unknown)) for k in kinds)
            and (dtypes <= WHOLE or not dtypes & {*WHOLE, MIXED})
        )

    def _differ(self, differs: bool) -> None:
        self.difference = DEFAULT_DTYPE if differs else self.difference


def _items(node: ast.expr, kinds: tuple[Kind, ...], kind: Callable[[ast.AST], Kind]) -> list[Kind]:
    """What a list holds, item by item where it is shown: a list's kind has what its items have in common."""
    if not all(type(k) in (Lst, Tup) for k in kinds):
        return []
    if isinstance(node, (ast.List, ast.Tuple)):
        shown = [element_of(kind(item.value)) if isinstance(item, ast.Starred) else kind(item) for item in node.elts]
        return [k for one in shown for k in options(one)]
    parts = [part for k in kinds for part in ((k.element,) if isinstance(k, Lst) else getattr(k, "items", ()))]
    return [k for part in parts for k in options(part)]


def _is_sequence(kind: Kind) -> bool:
    """A list or tuple, or an object of the program's own, such as a dataset."""
    return isinstance(kind, (Lst, Tup)) or isinstance(kind, Inst) and isinstance(kind.cls, ClassInfo)


def _holds_tensors(kind: Kind) -> bool:
    if isinstance(kind, (Lst, Tup)):
        items = (kind.element,) if isinstance(kind, Lst) else kind.items
        return any(_holds_tensors(one) for item in items for one in options(item))
    return isinstance(kind, Tensor)


def _as_tensor(value: ast.expr, call: ast.Call) -> ast.Call:
    dtype = [ast.keyword("dtype", call.args[2])] if len(call.args) > 2 else []
    return ast.Call(parsed("torch.as_tensor"), [value], [*dtype, ast.keyword("device", call.args[1])])


def _may_be_tensor(context: Context, question: Question, name: str) -> bool:
    """Whether nothing is known of an argument but that it may be a tensor: CuPy takes no list and no array of NumPy's.

    Neither does torch, which raises.
    """
    kinds, given = question.kinds(name), question.bound.given.get(name)
    on_host = given is not None and is_sent_by_choice(context, given)  # an array of NumPy where nothing sends it
    return bool(kinds) and not on_host and all(isinstance(kind, (Batch, Unknown, Tensor)) for kind in kinds)


__all__ = ["DEFAULT_DTYPE", "plain_arrays"]
