"""Links that code asks what they are or what they hold: class tests, `chain['name']`, attributes by Chainer's names."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Const, Inst, Method, Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import within
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Part
from chainer2torch.plan.edits import ReplaceStatement
from chainer2torch.plan.parts import inner_state, link_items, stacked_walks
from chainer2torch.plan.parts.asked_parameters import asked_name
from chainer2torch.plan.parts.values import held_array
from chainer2torch.plan.questions.own_members import has_own_member
from chainer2torch.plan.questions.own_names import own_name
from chainer2torch.plan.questions.receivers import seen_before
from chainer2torch.plan.questions.rows import row_at
from chainer2torch.plan.questions.sequentials import is_made_here
from chainer2torch.plan.questions.computed_names import asked_by_name
from chainer2torch.plan.questions.asked_names import BY_OTHER_NAMES, OF_LINKS, RENAMED, STATISTICS
from chainer2torch.plan.questions.stacked import may_hold_stacked
from chainer2torch.plan.questions.stored import stored
from chainer2torch.plan.questions.torch_classes import torch_classes, words

# Names of parameters and statistics that only Chainer's links have; and those that other objects have as well, which
# count when an array is taken from them (`x.b.data`).
_DISTINCTIVE = STATISTICS | {"W"}
_OF_PARAMETERS = frozenset({"data", "array", "grad", "cleargrad", "zerograd", "update_rule"})
_ASKING = {
    "builtins.hasattr": "compat.has_link_attribute(obj, name)",
    "builtins.getattr": "compat.link_attribute(obj, name)",
    "builtins.setattr": "compat.set_link_attribute(obj, name, value)",
}
_HOLDERS = frozenset({"chainer.Link", "chainer.Chain", "chainer.ChainList", "chainer.Sequential"})
_OWN_NAMES = frozenset({"weight", "bias", "running_mean", "running_var"})  # torch's, of the same
_LOOKED_UP = frozenset({"has_link_attribute", "link_attribute", "set_link_attribute"})
_WALKS = frozenset({"params", "namedparams", "children", "links", "namedlinks"})
_COPIES = {"copy": 0, "repeat": 1}  # methods that may fill anew, with the place of their argument `mode`
_REFILLED = "the copy gets Chainer's default first values, not those that the constructor of the link gives"
_ONES = "a normalization that lacks its gamma has a buffer of ones here; ask isinstance(layer.weight, nn.Parameter)"
_SET = frozenset({"array", "data", "grad"})
_BY_NAME = "an attribute of a link whose class is not known here: looked up by Chainer's name at run time"


def _walk(context: Context, decisions: Decisions, node: ast.Attribute, *, quiet: bool) -> bool:
    """``model.params()`` where a recurrent layer of torch holds together what Chainer holds apart.

    It is rewritten as ever, and marked, if it is the first of its file; gives whether it was such a walk.
    """
    row = context.rules.rows.get(f"chainer.Link.{node.attr}")
    if row is None or not may_hold_stacked(context, node.value):
        return False
    decisions.refine(node, row, "review", stacked_walks.STACKED, of=row.name, quiet=quiet)
    decided = row_at(context, node)
    return decided is not None and decided.name == row.name


def _copied(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    """``link.copy('init')``: in the output first values are lines of a constructor; a module does not keep them."""
    call, row = context.source.parents.get(node), context.rules.rows.get(f"chainer.Link.{node.attr}")
    if context.choices.style != "native" or row is None or not isinstance(call, ast.Call) or call.func is not node:
        return
    at = _COPIES[node.attr]
    mode = next((k.value for k in call.keywords if k.arg == "mode"), None) or next(iter(call.args[at : at + 1]), None)
    kept = Const("share" if node.attr == "copy" else "init") if mode is None else context.kind(mode)
    gives = any(word.startswith(("initialW", "initial_")) for word in context.analysis.once(words))
    if kept not in (Const("share"), Const("copy")) and gives and not is_made_here(context, call):
        decisions.refine(node, row, "review", _REFILLED, of=row.name)


def _asked_for_gamma(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    """``bn.gamma is None``: a normalization that lacks it has a buffer of ones in its place in the native style."""
    asked = _is_asked_for(context.source.parents.get(node))
    if asked and context.choices.style == "native" and context.analysis.once(_lacking_gamma):
        decisions.refine(node, None, "review", _ONES, "C2T200")


def _lacking_gamma(analysis: Analysis) -> bool:
    """Whether some normalization of the project may have no gamma."""
    return any(
        node.arg == "use_gamma" and not (isinstance(node.value, ast.Constant) and node.value.value is True)
        for module in analysis.project.modules.values()
        if "use_gamma" in module.source.text
        for node in module.source.of(ast.keyword)
    )


def run(context: Context) -> Decisions:
    """What the walk over the file has left of subscripts and attributes of links."""
    decisions = Decisions(context)
    if not context.imports_chainer:  # links of other files, by their base classes
        for attribute in context.source.of(ast.Attribute):
            if attribute.attr in inner_state.PRIVATE or attribute.attr == "__dict__":
                _attribute(context, decisions, attribute)
        return decisions
    stacked_walks.mark(context, decisions)
    marked = False  # one marker a file
    for node in context.source.of(ast.Subscript, ast.Attribute, ast.Call):
        if isinstance(node, ast.Attribute) and node.attr in _WALKS:
            marked = _walk(context, decisions, node, quiet=marked) or marked
        if isinstance(node, ast.Attribute) and node.attr in _COPIES:
            _copied(context, decisions, node)
        if isinstance(node, ast.Subscript):
            link_items.subscript(context, decisions, node)
        elif isinstance(node, ast.Attribute):
            with decisions.provided(free=((Part.SITE, node), (Part.EDIT, node))):
                _attribute(context, decisions, node)
        elif isinstance(node, ast.Call):
            with decisions.provided(free=((Part.EDIT, node),)):
                _asked_by_name(context, decisions, node)
                link_items.item_by_method(context, decisions, node)
        if isinstance(node, ast.Attribute) and node.attr == "gamma":
            _asked_for_gamma(context, decisions, node)
    return decisions


def _is_asked_for(parent: ast.AST | None) -> bool:
    """``... is None``, ``... is not None``."""
    return (
        isinstance(parent, ast.Compare)
        and isinstance(parent.ops[0], (ast.Is, ast.IsNot))
        and isinstance(parent.comparators[0], ast.Constant)
        and parent.comparators[0].value is None
    )


def _is_asked_as_link(node: ast.Attribute, parent: ast.AST | None) -> bool:
    """``gru.W.b``, which an earlier run may have written anew: what has a ``b`` is a link that is called W."""
    if isinstance(parent, ast.Attribute):
        return parent.attr in OF_LINKS or parent.attr in _OWN_NAMES
    return (
        isinstance(parent, ast.Call)
        and parent.args[:1] == [node]
        and isinstance(parent.func, ast.Attribute)
        and parent.func.attr in _LOOKED_UP
    )


def _has_weights(context: Context, node: ast.Attribute) -> bool:
    """Whether the function around ``link.b`` takes ``link.W``, too."""
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    owner = ast.unparse(node.value)
    return function is not None and any(
        n.attr in _DISTINCTIVE and ast.unparse(n.value) == owner for n in within(function).of(ast.Attribute)
    )


def _is_child_by_name(context: Context, node: ast.Attribute) -> bool:
    """``getattr(self, name).gamma`` of a link, also through a variable: most likely one of its children."""
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    given: list[ast.expr] = [node.value]
    if isinstance(node.value, ast.Name) and function is not None:
        assigned = within(function).of(ast.Assign)
        given = [s.value for s in assigned if any(ast.unparse(t) == node.value.id for t in s.targets)]
    owners = [asked_by_name(value) for value in given]
    return any(owner is not None and context.analysis.is_link(context.analysis.kind(owner)) for owner in owners)


def _is_of_layer(context: Context, node: ast.Attribute) -> bool:
    """Whether the code around ``bn.N`` asks the same for what layers alone have: ``bn.avg_mean``, also by its text."""
    around = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef) or context.source.tree
    owner, nodes = ast.unparse(node.value), within(around)
    if any(n.attr in _DISTINCTIVE and ast.unparse(n.value) == owner for n in nodes.of(ast.Attribute)):
        return True
    return any(
        len(call.args) > 1
        and isinstance(call.args[1], ast.Constant)
        and call.args[1].value in _DISTINCTIVE
        and ast.unparse(call.args[0]) == owner
        and context.kind(call.func) in (Ref("builtins.hasattr"), Ref("builtins.getattr"))
        for call in nodes.of(ast.Call)
    )


def _attribute(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    kind = context.analysis.kind(node.value)
    if node.attr in inner_state.PRIVATE or node.attr == "__dict__":
        if not any(
            isinstance(k, Inst) and isinstance(k.cls, ClassInfo) and node.attr in k.cls.attrs for k in options(kind)
        ):
            inner_state.emit(context, decisions, node, kind, node.attr)
        return
    parent, decided = context.source.parents.get(node), seen_before(context, node)
    decided = decided or _is_asked_as_link(node, parent)
    if kind == UNKNOWN or isinstance(kind, Method) and context.analysis.is_link(kind.receiver):
        if not decided and (
            node.attr in _DISTINCTIVE
            or node.attr in OF_LINKS
            and (
                isinstance(parent, ast.Attribute)
                and parent.attr in _OF_PARAMETERS
                or _is_asked_for(parent)
                or _has_weights(context, node)
                or _is_child_by_name(context, node)
            )
            or node.attr == "decay"
            and isinstance(parent, ast.Assign)
            or node.attr in RENAMED
            and isinstance(node.ctx, ast.Load)
            and not context.is_called(node)
            and _is_of_layer(context, node)
        ):
            _by_name(context, decisions, node)  # `bn.decay = 0.5` would be heeded by no layer of torch's
        return
    if node.attr in BY_OTHER_NAMES and all(
        isinstance(k, Inst)
        and isinstance(k.cls, str)
        and context.analysis.is_link(k)
        and context.rules.member(k.cls, node.attr) is None
        for k in options(kind)
    ):
        if not decided:
            _by_name(context, decisions, node)  # some link
        return
    for option in options(kind):
        if isinstance(option, Inst) and _lost(context, option, node):
            row = next(
                context.rules.rows[c]
                for c in context.analysis.mro(option.cls)
                if isinstance(c, str) and c in context.rules.rows
            )
            decisions.mark(
                node,
                None,
                f"{row.name}.{node.attr}",
                "manual",
                f"what {row.name.rpartition('.')[2]} became may have no attribute `{node.attr}`",
                "C2T300",
            )
            return


def _lost(context: Context, kind: Inst, node: ast.Attribute) -> bool:
    """Whether a link that may be one of torch.nn's layers is asked for an attribute that nothing here sets."""
    if not isinstance(node.ctx, ast.Load) or node.attr.startswith("__") or node.attr in _SHARED:
        return False
    classes = context.analysis.mro(kind.cls)
    if any(isinstance(c, ClassInfo) for c in classes):
        return False  # derives from the helper, which has Chainer's attributes
    row = context.rules.rows.get(kind.cls) if isinstance(kind.cls, str) else None
    return (
        row is not None
        and row.name.startswith("chainer.links.")
        and bool(torch_classes(row))
        and context.rules.member(row.name, node.attr) is None
        and not _is_set(context, node.attr)
        and not has_own_member(context.analysis, row.name, node.attr)
        and not _is_new_name(context, row.name, node.attr)
    )


def _is_new_name(context: Context, link: str, attribute: str) -> bool:
    """Whether a member of a link becomes this attribute: an earlier run has written it."""
    members = [name for name in context.rules.rows if name.startswith(f"{link}.")]
    return any(case.torch == f"self.{attribute}" for name in members for case in context.rules.rows[name].cases)


# of nn.Module, and of torch's layers under Chainer's names
_SHARED = frozenset({"training", "forward", "stride", "groups", "in_channels", "out_channels", "eps"})


def _is_set(context: Context, attribute: str) -> bool:
    return attribute in context.analysis.once(stored)


def _by_name(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    if node.attr == "ksize":  # one number, where torch has one for each axis
        _may_be_link(context, decisions, node)
        return
    receiver = context.operand(node.value)
    statement = context.source.parents.get(node)
    name = f"'{node.attr}'"
    plain = own_name(context, node) if context.choices.style == "native" else None
    looked_up = f"obj.{plain}" if plain else f"compat.link_attribute(obj, {name})"
    outer = context.source.parents.get(statement) if statement is not None else None
    if (
        isinstance(statement, ast.Attribute)
        and isinstance(statement.ctx, ast.Store)
        and statement.attr in _SET
        and isinstance(outer, ast.Assign)
        and len(outer.targets) == 1
    ):
        decisions.edit(
            outer,
            ReplaceStatement(
                context.source.start(outer),
                f"compat.set_grad({looked_up}, value)"
                if statement.attr == "grad"
                else held_array(context, node, outer.value, f"compat.set_array({looked_up}, value)", looked_up),
                {"obj": receiver, "value": context.operand(outer.value)},
            ),
        )
        row = context.rules.rows[f"chainer.Variable.{statement.attr}"]  # a link's `W` is a parameter
        decisions.mark(statement, row, row.name, row.state, replaces=((Part.SITE, statement),))
    elif isinstance(node.ctx, ast.Load) or plain and node.attr in STATISTICS:
        decisions.replace(node, looked_up, {"obj": receiver})
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        with decisions.provided(taken=((Part.EDIT, statement),)):
            _may_be_link(context, decisions, node)
        with decisions.provided(free=((Part.EDIT, statement),)):
            decisions.edit(
                statement,
                ReplaceStatement(
                    context.source.start(statement),
                    f"compat.set_link_attribute(obj, {name}, value)",
                    {"obj": receiver, "value": context.operand(statement.value)},
                ),
            )
    else:
        _may_be_link(context, decisions, node)
        return
    decisions.mark(node, None, f"?.{node.attr}", "exact", _BY_NAME, "C2T390")


def _may_be_link(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    decisions.mark(
        node,
        None,
        f"?.{node.attr}",
        "review",
        "if this is a link of Chainer's, the attribute has another name now",
        "C2T390",
    )


def _asked_by_name(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``hasattr(link, 'W')``: silently false for a layer of PyTorch."""
    callee = context.analysis.kind(call.func)
    if (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "__getattribute__"
        and context.analysis.is_link(context.analysis.kind(call.func.value))
        and len(call.args) == 1
    ):  # a module of torch has its children where this does not look
        operands = {"obj": context.operand(call.func.value), "name": context.operand(call.args[0])}
        decisions.replace(call, "getattr(obj, name)", operands)
    if isinstance(callee, Ref) and callee.name == "builtins.vars" and len(call.args) == 1:
        inner_state.emit(context, decisions, call, context.analysis.kind(call.args[0]), "__dict__")
    template = _ASKING.get(callee.name) if isinstance(callee, Ref) else None
    if template is None or call.keywords:
        return
    inner_state.asked_by_name(context, decisions, call)
    defaulted = template == _ASKING["builtins.getattr"] and len(call.args) == 3
    if defaulted:  # silently the default
        template = template.replace("name)", "name, value)")
    if len(call.args) != (3 if "value" in template else 2):
        return
    name = asked_name(context, call)
    if name is None:
        return
    operands = dict(zip(("obj", "name", "value"), map(context.operand, call.args)))
    decisions.replace(call, template, operands)
    decisions.mark(call, None, f"?.{name if name in OF_LINKS else 'W'}", "exact", _BY_NAME, "C2T390")
