"""Methods and attributes: what they are called on decides which rule applies."""

from __future__ import annotations

import ast

from chainer2torch.analysis.lattice import MIXED
from chainer2torch.analysis.kinds import Batch, HostArray, Inst, Kind, Ref, Tensor, Unknown, options
from chainer2torch.analysis.models.xp_modules import CUPY, EITHER, XP
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import ReplaceStatement
from chainer2torch.plan.hard_cases import HARD_CASES
from chainer2torch.plan.match import Question, choose
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.given_gradients import handed_over
from chainer2torch.plan.parts.keeping import later
from chainer2torch.plan.parts.other_members import without_rule
from chainer2torch.plan.parts.values import asks_numbers, held_array, of_unknown
from chainer2torch.plan.parts.array_attributes import attribute_of_array
from chainer2torch.plan.parts.receivers import call_of_several, method_of_several, unknown_receiver
from chainer2torch.plan.parts.types_of_arrays import asserted_class
from chainer2torch.plan.parts import volatile_flags
from chainer2torch.plan.questions.in_place_writes import is_written_in_place
from chainer2torch.plan.questions.copied_links import SHARED, set_beside_copies
from chainer2torch.plan.questions.function_objects import applied
from chainer2torch.plan.questions.overridden_methods import own_row
from chainer2torch.plan.questions.receivers import seen_before
from chainer2torch.plan.questions.rows import PARAMETERS, receiver_kinds, row_of_kind, same_rule
from chainer2torch.plan.questions.walked_parameters import is_walked_parameter
from chainer2torch.plan.questions.xp_devices import is_device
from chainer2torch.plan.questions.xp_origins import may_lack_parameters
from chainer2torch.plan.questions.xp_uses import makes_array
from chainer2torch.rules.signature import Bound
from chainer2torch.rules.table import Row

# parameters of links: a helper finds them under torch's names
_OF_LINKS = frozenset({"W", "b", "gamma", "beta", "avg_mean", "avg_var"})
_HELD_ARRAYS = frozenset({"chainer.Variable.data", "chainer.Variable.array"})
_ARRAY_KINDS = (HostArray, Tensor)
# methods of arrays that tensors have, too, with the words that mean the same (PyTorch takes `axis` for `dim`)
_SAME_WORDS = {
    **dict.fromkeys(("sum", "mean"), ("axis", "keepdims")),
    **dict.fromkeys(("argmax", "argmin", "cumsum", "cumprod", "prod"), ("axis",)),
    **dict.fromkeys(("max", "min", "ravel"), ()),
}
_NO_FLOATS = frozenset({"bool", "uint8", "int8", "int16", "int32", "int64", MIXED})
_BACKWARD = "chainer.Variable.backward"
_AMBIGUOUS = "the receiver may be of more than one kind; left as it is"
_ARRAYS = frozenset({"chainer.Variable.array", "chainer.Variable.data"})


def member(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    """Decides on ``receiver.name``."""
    if node.attr == "apply" and (whole := applied(context, node)) is not None:
        call = whole.value
        assert isinstance(call, ast.Call) and isinstance(call.args[0], (ast.Tuple, ast.List))
        operands = {"f": context.operand(node.value), "x": context.operand(call.args[0].elts[0])}
        decisions.replace(whole, "f(x)", operands)
        return
    if node.attr in ("backward", "grad") and handed_over(context, decisions, node):
        return
    kinds = _of_modules(context, node, receiver_kinds(context, node))
    rows = [row_of_kind(context, k, node.attr) for k in kinds]
    found = [r for r in rows if r is not None]
    if not found and Unknown() in kinds and makes_array(context, node):
        # of an array module, whichever it is; of tensors, `ndarray` is a class that takes other arguments
        decisions.replace(node, "self.empty", {"self": context.operand(node.value)})
        decisions.mark(node, None, "xp.Module.ndarray", "exact", "", "C2T320")
        return
    if not found:
        (unknown_receiver if context.with_models else without_rule)(context, decisions, node)
        return
    row = found[0]
    if row.name == _BACKWARD and seen_before(context, node):
        return  # what uses its graph was better known then
    if later(context, decisions, node, row, row.name):
        return
    if isinstance(node.ctx, ast.Del):
        decisions.mark(node, row, row.name, "manual", "deleted here, which has no counterpart")
    elif len(found) < len(rows) or not all(same_rule(r, row) for r in found):
        _of_several_kinds(context, decisions, node, row, kinds, found)
    elif row.function is not None:
        HARD_CASES[row.function](context, decisions, node, row)
    else:
        _of_one_kind(context, decisions, node, row)


def _of_modules(context: Context, node: ast.Attribute, kinds: list[Kind]) -> list[Kind]:
    """NumPy, CuPy (which becomes one), or the array module of a device: what the helper has is called as NumPy's is."""
    if makes_array(context, node):
        kinds = [XP if isinstance(kind, Ref) and kind.name in CUPY else kind for kind in kinds]
    modules: list[Kind] = [kind for kind in kinds if isinstance(kind, Inst) and kind in (XP, EITHER)]
    if not modules:  # of most members
        return kinds
    others = [kind for kind in kinds if kind not in modules]
    known = all(isinstance(kind, Ref) and kind.name in CUPY | {"numpy"} for kind in others)
    return modules if known else kinds


def _of_several_kinds(
    context: Context, decisions: Decisions, node: ast.Attribute, row: Row, kinds: list[Kind], found: list[Row]
) -> None:
    """A receiver of several kinds, for which there are different rules, or none for some of them."""
    if attribute_of_array(context, decisions, node) or _of_some_links(context, decisions, node, kinds):
        return
    same = all(same_rule(r, row) for r in found)
    if same and _same_on_host(kinds, row, node.attr):
        decisions.mark(node, row, row.name, row.state)
    elif same and _is_called_alike(row, kinds, node.attr):
        decisions.mark(node, row, row.name, row.state)
    elif context.choices.style == "native" and _is_asked_alike(context, node, kinds):
        decisions.mark(node, row, row.name, "exact")
    elif context.choices.style == "native" and all(_stays(context, r, node) for r in found):
        decisions.mark(node, row, row.name, "exact" if row.state == "exact" else "review")
    elif (
        method_of_several(context, decisions, node)
        or call_of_several(context, decisions, node, kinds)
        or _at_run_time(context, decisions, node)
    ):
        return
    elif row.cases or row.state == "manual":
        decisions.mark(node, row, row.name, "review", _AMBIGUOUS)


def _of_some_links(context: Context, decisions: Decisions, node: ast.Attribute, kinds: list[Kind]) -> bool:
    """``link.cleargrads()`` of links of which some have a method of their own by this name: asked at run time."""
    row, call = context.rules.rows.get(f"?.{node.attr}"), context.source.parents.get(node)
    if (
        row is None
        or not row.cases
        or row.attribute
        or row.function is not None
        or not (isinstance(call, ast.Call) and call.func is node)
        or not all(isinstance(k, Inst) and context.analysis.is_link(k) for k in kinds)
        or all(row_of_kind(context, k, node.attr) is not None for k in kinds)
    ):
        return False
    emit_call(context, decisions, call, row, node, receiver=node.value)
    return True


def _of_one_kind(context: Context, decisions: Decisions, node: ast.Attribute, row: Row) -> None:
    parent = context.source.parents.get(node)
    if isinstance(node.ctx, ast.Store):
        store(context, decisions, node, row)
    elif row.attribute or row.signature is None:
        _attribute(context, decisions, node, row)
    elif isinstance(parent, ast.Call) and parent.func is node:
        emit_call(context, decisions, parent, own_row(context, node, row), node, receiver=node.value)
    elif row.value is not None:  # a class: `isinstance(x, xp.ndarray)`
        if row.value != f"self.{node.attr}" and not _may_be_numpy(context, row, node):
            value = asserted_class(context, node) or row.value
            decisions.replace(node, value, {"self": context.operand(node.value)})
        decisions.mark(node, row, row.name, row.state, row.note if row.state != "exact" else "")
    elif not row.cases:
        decisions.mark(node, row, row.name, row.state, row.note)
    else:
        decisions.mark(node, row, row.name, "manual", "a method that is passed as a value")


def _may_be_numpy(context: Context, row: Row, node: ast.Attribute) -> bool:
    """Whether a class is one of an array module that may be NumPy's own: its arrays are no tensors."""
    return row.name.startswith("xp.") and any(k != XP for k in options(context.kind(node.value)))


def _attribute(context: Context, decisions: Decisions, node: ast.Attribute, row: Row) -> None:
    if row.cases:
        if row.state == "manual":
            decisions.mark(node, row, row.name, "manual", row.note)
            return
        on_device = row.name.startswith("xp.") and is_device(context, node.value)
        bound = Bound({"self": node.value})
        question = Question(
            row,
            bound,
            context.analysis.kind,
            context.is_instance,
            on_device=on_device,
            may_lack_parameters=lambda: may_lack_parameters(context, node.value),
        )
        template, _ = choose(question)
        if template is None and all(case.native for case in row.cases):
            template = f"self.{node.attr}"  # as it is in the faithful style
        if template is None:
            decisions.mark(node, row, row.name, "manual", f"its rank or type is not known here. {row.note}".strip())
            return
        if row.name in _HELD_ARRAYS and context.choices.style == "native" and asks_numbers(context, node):
            template = "self"
        if row.name in _HELD_ARRAYS and template == "self.detach()" and is_written_in_place(context, node):
            template = "self.data"
        if _is_array_of_version_1(context, node, row):
            template = f"{template}.detach()"
        if template != f"self.{node.attr}":
            decisions.replace(node, template, {"self": context.operand(node.value)})
    known = row.name == "chainer.Variable.requires_grad" and is_walked_parameter(context, node.value)
    decisions.mark(
        node, row, row.name, "exact" if known else row.state, "" if known else row.note if row.state != "exact" else ""
    )


def _is_array_of_version_1(context: Context, node: ast.Attribute, row: Row) -> bool:
    """``layer.W[:] = v`` and ``layer.W.fill(v)``: no Variable takes that, up to version 1.4 parameters were arrays."""
    parent = context.source.parents.get(node)
    filled = isinstance(parent, ast.Attribute) and parent.attr == "fill" and context.is_called(parent)
    written = isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Store)
    return node.attr in PARAMETERS and row.name.startswith("chainer.links.") and (filled or written)


def store(context: Context, decisions: Decisions, node: ast.Attribute, row: Row) -> None:
    kept = all(case.torch == f"self.{node.attr}" for case in row.cases)
    if row.name in _HELD_ARRAYS and isinstance(context.source.parents.get(node), ast.AugAssign):
        # `x.array -= y` changes the array itself, in both
        decisions.replace(node, "self.data", {"self": context.operand(node.value)})
        decisions.mark(node, row, row.name, row.state)
        return
    if (
        row.set is None
        and not kept
        and row.name.startswith("chainer.links.")
        and len(row.cases) == 1
        and row.cases[0].torch.startswith("self.")
        and row.cases[0].torch[5:].isidentifier()
    ):
        # `self.l2.W = self.l1.W`: the same attribute under another name
        statement = context.source.parents.get(node)
        if (
            node.attr in PARAMETERS
            and isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and not _is_parameter(context, statement.value)
        ):
            decisions.edit(
                statement,
                ReplaceStatement(
                    context.source.start(statement),
                    f"compat.set_link_attribute(self, '{node.attr}', value)",
                    {"self": context.operand(node.value), "value": context.operand(statement.value)},
                ),
            )
        else:
            decisions.replace(node, row.cases[0].torch, {"self": context.operand(node.value)})
        decisions.mark(node, row, row.name, row.state)
        return
    if row.set is not None and row.set.startswith("self.") and row.set[5:].isidentifier():  # another attribute is set
        decisions.replace(node, row.set, {"self": context.operand(node.value)})
        decisions.mark(node, row, row.name, row.state)
        return
    if row.set is None and not kept:
        if row.name == "chainer.Variable.volatile" and volatile_flags.assigned(context, decisions, node, row):
            return
        decisions.mark(node, row, row.name, "manual", f"assignment to it has no counterpart. {row.note}".strip())
        return
    if row.set is None or kept and isinstance(context.source.parents.get(node), ast.AugAssign):
        # `param.grad *= 0.5` changes the gradient itself, in both
        decisions.mark(node, row, row.name, row.state, row.note if row.state != "exact" else "")
        return
    statement = context.source.parents.get(node)
    if not (isinstance(statement, ast.Assign) and len(statement.targets) == 1):
        if context.choices.style == "native" and row.name in _ARRAYS and isinstance(statement, ast.Tuple):
            # `p.array, old = old, p.array`
            decisions.replace(node, "self.data", {"self": context.operand(node.value)})
            decisions.mark(node, row, row.name, row.state)
            return
        decisions.mark(node, row, row.name, "manual", "assigned in a way that cannot be rewritten")
        return
    decisions.edit(
        statement,
        ReplaceStatement(
            context.source.start(statement),
            held_array(context, node.value, statement.value, row.set)
            if row.name in _ARRAYS
            else _decided(row.set, statement.value),
            {"self": context.operand(node.value), "value": context.operand(statement.value)},
        ),
    )
    if row.name == context.reference(node):
        decisions.use(node)
    if row.name in _ARRAYS and set_beside_copies(context, node):
        decisions.mark(node, row, row.name, "review", SHARED)
        return
    decisions.mark(node, row, row.name, row.state, row.note)


def _decided(template: str, value: ast.expr) -> str:
    """``x.enabled = value != 'never'`` of a value that is written down: ``x.enabled = True``."""
    target, _, test = template.partition(" = ")
    asked = ast.parse(test, mode="eval").body if "!=" in test and isinstance(value, ast.Constant) else None
    if not isinstance(asked, ast.Compare) or ast.unparse(asked.left) != "value" or len(asked.ops) > 1:
        return template
    other = asked.comparators[0]
    known = isinstance(asked.ops[0], ast.NotEq) and isinstance(other, ast.Constant) and isinstance(value, ast.Constant)
    return f"{target} = {value.value != other.value}" if known else template  # type: ignore[attr-defined]


def _is_parameter(context: Context, value: ast.expr) -> bool:
    """Whether a value is a parameter for sure, or None: torch's layers take no other tensor under its name."""
    if isinstance(value, ast.Attribute):
        return value.attr in PARAMETERS
    called = context.reference(value.func) if isinstance(value, ast.Call) else None
    return called in ("chainer.Parameter", "chainer.variable.Parameter") or isinstance(value, ast.Constant)


def _stays(context: Context, row: Row, node: ast.Attribute) -> bool:
    """Whether an attribute that is read stays as it is, whatever it is read of: `x.shape`, and `x.data` of a tensor."""
    texts = {case.torch for case in row.cases}
    same = texts == {f"self.{node.attr}"} or row.name == "chainer.Variable.data"
    # a dtype is not the same: that of a tensor equals none of NumPy's; a layer's setting may be set as well
    kept = isinstance(node.ctx, ast.Load) or row.name.startswith("chainer.links.") and row.set is None
    return row.attribute and same and node.attr != "dtype" and kept and not context.is_called(node)


def _is_called_alike(row: Row, kinds: list[Kind], name: str) -> bool:
    """Whether a method without arguments stays as it is, of layers and of own objects: `reset_state()`."""
    return {case.torch for case in row.cases} == {f"self.{name}()"} and all(isinstance(k, Inst) for k in kinds)


def _same_on_host(kinds: list[Kind], row: Row, name: str) -> bool:
    """Whether an array on the host and a tensor are asked the same way: `x.shape`, `x.reshape(-1)`.

    An attribute that tensors have under its own name is the same of values that nobody knows, and of batches: `x.ndim`.
    """
    others = (Batch, HostArray, Tensor, Unknown) if row.attribute else (Tensor, HostArray)
    return (
        all(isinstance(k, others) for k in kinds)
        and row.function is None
        and [c.when for c in row.cases] == [None]
        and _says_the_same(row, row.cases[0].torch, name)
    )


def _says_the_same(row: Row, template: str, name: str) -> bool:
    """Whether a template is the member itself, or its call with the arguments as they come, and no other ones."""
    found = ast.parse(template, mode="eval").body
    if not isinstance(found, ast.Call):
        return row.attribute and template == f"self.{name}"
    given = [a.value if isinstance(a, ast.Starred) else a for a in (*found.args, *(k.value for k in found.keywords))]
    return ast.unparse(found.func) == f"self.{name}" and all(isinstance(value, ast.Name) for value in given)


def _is_asked_alike(context: Context, node: ast.Attribute, kinds: list[Kind]) -> bool:
    """Whether an array of the host and a tensor have a method with NumPy's words: ``x.sum(axis=2)``, ``x.max()``."""
    call = context.source.parents.get(node)
    if not isinstance(call, ast.Call) or call.func is not node or not all(isinstance(k, _ARRAY_KINDS) for k in kinds):
        return False
    words = _SAME_WORDS.get(node.attr)
    if node.attr == "mean" and any(isinstance(k, Tensor) and k.dtype in _NO_FLOATS for k in kinds):
        return False  # PyTorch has no mean of whole numbers
    if node.attr in ("cumsum", "cumprod") and not (call.args or call.keywords):
        return False  # PyTorch wants an axis
    return words is not None and len(call.args) <= len(words[:1]) and all(k.arg in words for k in call.keywords)


def _at_run_time(context: Context, decisions: Decisions, node: ast.Attribute) -> bool:
    """Where the receiver is one of several kinds: a helper that looks at what it is, if there is one."""
    row = context.rules.rows.get(f"?.{node.attr}")
    parent = context.source.parents.get(node)
    if (
        not isinstance(node.ctx, ast.Load)
        or node.attr == "array"
        and isinstance(parent, ast.Call)
        and parent.func is node
    ):  # `xp.array(...)`
        return False
    if row is not None and row.attribute:
        template = of_unknown(context, node, row.cases[0].torch)
        decisions.replace(node, template, {"self": context.operand(node.value)})
        decisions.mark(node, row, row.name, row.state, row.note)
        return True
    if node.attr in _OF_LINKS:
        decisions.replace(node, f"compat.link_attribute(obj, '{node.attr}')", {"obj": context.operand(node.value)})
        decisions.mark(node, None, f"?.{node.attr}", "exact", "looked up by Chainer's name at run time", "C2T390")
        return True
    return False
