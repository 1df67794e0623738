"""Evaluators of the program's own that walk over their iterator themselves: ChainerCV's, and copies of these.

class Evaluator(extensions.Evaluator):
    def __init__(self, iterator, target, label_names=None):
        super().__init__(iterator, target)
        self.label_names = label_names

    def evaluate(self):
        target = self._targets['main']                   target = self._targets['main']
                                                         was_training = target.training
        ...                                              target.eval()
        return observation                               ...
                                                         target.train(was_training)
                                                         return observation

They ask pytorch-pfn-extras' evaluator for what it has under the same names, and for no more, so that is their base.
What that one does not do is the mode, which Chainer's sets around ``evaluate``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import NONE, UNKNOWN, Inst, Kind, Method, Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, ReplaceStatement
from chainer2torch.plan.native import loop_iterators, own_evaluators
from chainer2torch.plan.native.evaluator_reports import reports_for_target, says_names
from chainer2torch.plan.native.loop_edits import settled
from chainer2torch.plan.native.objects import Objects
from chainer2torch.plan.native.reporting_parts import reports_in_parts
from chainer2torch.plan.parts.train_modes import reached_by_eval
from chainer2torch.plan.questions.overridden_methods import is_super

_EVALUATOR = "chainer.training.extensions.Evaluator"
_BASE = "pytorch_pfn_extras.training.extensions.Evaluator"
_SAID = frozenset({"trigger", "default_name", "priority"})
_SAME = _SAID | {"_iterators", "_targets", "get_iterator", "get_target"}  # members of both bases, with one meaning
_THEIRS = frozenset(
    "name eval_hook eval_func _eval_func _progress_bar _metrics add_metric _gather_summaries initialize finalize "
    "on_error state_dict load_state_dict serialize observe_with needs_model_state is_async invoke_before_training "
    "get_all_iterators get_all_targets __call__ __getattr__ __getattribute__ __setattr__ __new__".split()
)
_LEFT_OUT = ("converter", "device")  # what the constructor may be given that nobody reads
_PLACES = ("iterator", "target", *_LEFT_OUT)
_HARMLESS = ("builtins.", "numpy.", "chainer.")  # functions that run no module that they are given
_WAS = "was_training"


@dataclass(frozen=True, eq=False)
class _Loop:
    """Such a class: where it names its target and returns, and how its base is made."""

    target: ast.Assign
    returned: ast.Return
    base_made: ast.Call | None
    iterator: str  # the parameter with the iterator, and that with the target
    model: str
    parameters: tuple[str, ...]
    says_names: bool  # whether all that is observed stands in ``evaluate``: no part of the model has a say


def emit(objects: Objects, context: Context, decisions: Decisions) -> None:
    """The base of such classes of this file, and the mode of the target in ``evaluate``."""
    if not reached_by_eval(context):
        return
    named: set[ClassInfo] | None = None
    for cls in objects.analysis.classes.values():
        if cls.module is not context.module or context.skipped.node(cls.node):
            continue
        loop = _loop_of(objects.analysis, context, cls)
        if loop is None:
            continue
        named = own_evaluators.named_otherwise(objects.analysis) if named is None else named
        if cls not in named and _are_made_of_loaders(objects, cls, loop):
            _write(context, decisions, cls, loop)


def _write(context: Context, decisions: Decisions, cls: ClassInfo, loop: _Loop) -> None:
    base = cls.node.bases[0]
    decisions.replace(base, _BASE, {})
    decisions.use(base)
    decisions.mark(base, context.rules.rows[_EVALUATOR], _EVALUATOR, "exact")
    target = loop.target.targets[0]
    operands = {"target": context.operand(target), "value": context.operand(loop.target.value)}
    lines = f"target = value\n{_WAS} = target.training\ntarget.eval()"
    decisions.edit(loop.target, ReplaceStatement(context.source.start(loop.target), lines, operands))
    assert isinstance(target, ast.Name) and loop.returned.value is not None
    operands = {"target": Operand(code=target.id), "value": context.operand(loop.returned.value)}
    lines = f"target.train({_WAS})\nreturn value"
    decisions.edit(loop.returned, ReplaceStatement(context.source.start(loop.returned), lines, operands))
    call = loop.base_made
    if call is not None and len(call.args) + len(call.keywords) > 2:
        given = _given(call)
        operands = {"FUNC": context.operand(call.func)}
        operands |= {name.upper(): context.operand(given[name]) for name in ("iterator", "target")}
        decisions.replace(call, "FUNC(ITERATOR, TARGET)", operands)
        decisions.remove(*(node for name, node in given.items() if name in _LEFT_OUT))


# -- the class -----------------------------------------------------------------------------------------------------


def _loop_of(analysis: Analysis, context: Context, cls: ClassInfo) -> _Loop | None:
    node = cls.node
    if len(node.bases) != 1 or node.keywords or node.decorator_list or "evaluate" not in cls.methods:
        return None
    if options(analysis.kind(node.bases[0])) != (Ref(_EVALUATOR),) or not all(map(_may_stand, node.body)):
        return None
    if _THEIRS.intersection((*cls.methods, *_stored(cls))) or not _asks_no_more(analysis, cls):
        return None
    found = _body(cls.methods["evaluate"].node)
    made = _base_made(cls)
    says = found is not None and says_names(analysis, cls, found[0])
    if found is None or isinstance(made, str) or not reports_for_target(analysis, cls, found[0]):
        return None
    if made is None:
        return _Loop(*found, None, "iterator", "target", ("iterator", "target"), says)
    init, call = made
    names = [argument.arg for argument in init.args.args[1:]]
    given = _given(call)
    passed = [value.id for value in (given["iterator"], given["target"]) if isinstance(value, ast.Name)]
    if len(passed) < 2 or not set(passed) <= set(names) or _rebinds(init, passed):
        return None
    return _Loop(*found, call, passed[0], passed[1], tuple(names), says)


def _may_stand(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign):
        return all(isinstance(target, ast.Name) and target.id in _SAID for target in statement.targets)
    text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return text or isinstance(statement, ast.FunctionDef) and not statement.decorator_list


def _selves(cls: ClassInfo) -> Iterator[tuple[ast.Name, ast.AST]]:
    """The names of the object in its methods, with what is done with it."""
    parents = cls.module.source.parents
    for method in cls.methods.values():
        arguments = getattr(method.node, "args", None)
        own = arguments.args[0].arg if arguments is not None and arguments.args else ""
        for node in nodes_of(method.node):
            if isinstance(node, ast.Name) and node.id == own:
                yield node, parents[node]


def _stored(cls: ClassInfo) -> set[str]:
    members = (parent for _, parent in _selves(cls) if isinstance(parent, ast.Attribute))
    return {member.attr for member in members if not isinstance(member.ctx, ast.Load)}


def _asks_no_more(analysis: Analysis, cls: ClassInfo) -> bool:
    """Whether an object asks itself for its own members, and for those of either base that are alike."""
    stored = _stored(cls)
    for _, parent in _selves(cls):
        if isinstance(parent, ast.Call) and is_super(parent):
            continue
        if not isinstance(parent, ast.Attribute):
            return False
        if parent.attr in stored and parent.attr not in _SAME:
            if isinstance(parent.ctx, ast.Load) and _may_run(analysis, cls, parent):
                return False
        elif parent.attr not in cls.methods and parent.attr not in _SAME or not isinstance(parent.ctx, ast.Load):
            return False
        elif parent.attr in ("_targets", "_iterators") and not _is_main(cls, parent):
            return False
    return not any(_is_other_super(cls, node) for node in nodes_of(cls.node))


def _is_main(cls: ClassInfo, held: ast.Attribute) -> bool:
    part = cls.module.source.parents[held]
    return isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant) and part.slice.value == "main"


def _is_other_super(cls: ClassInfo, node: ast.AST) -> bool:
    """``super()`` for anything but ``__init__``."""
    if not isinstance(node, ast.Call) or not is_super(node):
        return False
    parent = cls.module.source.parents[node]
    return not isinstance(parent, ast.Attribute) or parent.attr != "__init__"


def _may_run(analysis: Analysis, cls: ClassInfo, member: ast.Attribute) -> bool:
    """Whether a value of the object's own may be a module that runs here, which has a mode as well."""
    kind = analysis.kind(member)
    known = [k for k in options(kind) if k != UNKNOWN]
    if any(analysis.is_link(k) for k in known if not isinstance(k, Method)):
        return True
    if known and UNKNOWN not in options(kind) and any(k != NONE for k in known):
        return False
    parents = cls.module.source.parents
    parent = parents[member]
    call = parents[parent] if isinstance(parent, (ast.Attribute, ast.keyword)) else parent
    if isinstance(parent, ast.Attribute):
        return isinstance(call, ast.Call) and call.func is parent
    if isinstance(call, ast.Call):
        if call.func is member:
            return True
        callee = analysis.kind(call.func)
        plain = isinstance(callee, Ref) and callee.name.startswith(_HARMLESS)
        return not plain and not _has_plain_default(cls, member.attr)
    return isinstance(parent, (ast.Assign, ast.Return, ast.Tuple, ast.List, ast.Dict, ast.Starred))


def _has_plain_default(cls: ClassInfo, name: str) -> bool:
    """``def __init__(self, iterator, target, iou_thresh=0.5)``: what the parameter is by default is no module."""
    init = cls.methods["__init__"].node if "__init__" in cls.methods else None
    if not isinstance(init, ast.FunctionDef) or not init.args.defaults:
        return False
    behind = init.args.args[-len(init.args.defaults) :]
    plain = {
        argument.arg
        for argument, default in zip(behind, init.args.defaults)
        if isinstance(default, ast.Constant) and default.value is not None
    }
    stores = [
        statement.value
        for statement in nodes_of(cls.node)
        if isinstance(statement, ast.Assign)
        and any(isinstance(target, ast.Attribute) and target.attr == name for target in statement.targets)
    ]
    return bool(stores) and all(isinstance(value, ast.Name) and value.id in plain for value in stores)


def _body(function: ast.AST) -> tuple[ast.Assign, ast.Return] | None:
    """The statement that names the target, and the ``return`` at the end, which is the only one."""
    if not isinstance(function, ast.FunctionDef) or len(function.args.args) != 1:
        return None
    last = function.body[-1]
    while isinstance(last, ast.With):
        last = last.body[-1]
    leaving = [n for n in nodes_of(function) if isinstance(n, (ast.Return, ast.Yield, ast.YieldFrom))]
    named = [s for s in function.body if isinstance(s, ast.Assign) and _is_target(s.value)]
    if not isinstance(last, ast.Return) or leaving != [last] or len(named) != 1 or not _is_plain(last.value):
        return None
    names = {n.id for n in nodes_of(function) if isinstance(n, ast.Name)}
    target = named[0].targets[0]
    if (
        len(named[0].targets) > 1
        or not isinstance(target, ast.Name)
        or _WAS in names
        or _rebinds(function, [target.id])
    ):
        return None
    asked = [n for n in nodes_of(function) if isinstance(n, ast.expr) and _is_target(n)]
    before = function.body[: function.body.index(named[0])]
    quiet = all(isinstance(s, ast.Assign) and not _calls(s) or _is_text(s) for s in before)
    return (named[0], last) if len(asked) == 1 and quiet else None


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _calls(statement: ast.stmt) -> bool:
    """Whether a statement calls more than ``self.get_iterator('main')``."""
    calls = [n for n in nodes_of(statement) if isinstance(n, ast.Call)]
    return not all(isinstance(c.func, ast.Attribute) and c.func.attr == "get_iterator" for c in calls)


def _is_plain(value: ast.expr | None) -> bool:
    """``observation``, ``summary.compute_mean()``: what runs no module."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Attribute) and value.func.attr == "compute_mean" and not value.args
    return isinstance(value, ast.Name)


def _is_target(value: ast.expr) -> bool:
    """``self._targets['main']``, ``self.get_target('main')``"""
    if isinstance(value, ast.Subscript):
        held, name = value.value, value.slice
    elif isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
        held, name = value.func, value.args[0]
    else:
        return False
    member = held.attr if isinstance(held, ast.Attribute) else ""
    return member in ("_targets", "get_target") and isinstance(name, ast.Constant) and name.value == "main"


def _rebinds(function: ast.FunctionDef, names: list[str]) -> bool:
    """Whether a function binds a name again: more than once for what it assigns, at all for a parameter."""
    own = {argument.arg for argument in function.args.args}
    for name in names:
        stores = [
            n for n in nodes_of(function) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
        ]
        if len(stores) > (name not in own):
            return True
    return False


# -- its objects ---------------------------------------------------------------------------------------------------


def _base_made(cls: ClassInfo) -> tuple[ast.FunctionDef, ast.Call] | str | None:
    """The constructor and the call in it that makes the base; None: there is no constructor; a text: something else."""
    if "__init__" not in cls.methods:
        return None
    init = cls.methods["__init__"].node
    if not isinstance(init, ast.FunctionDef) or init.args.vararg or init.args.kwarg or init.args.kwonlyargs:
        return "another signature"
    calls = [n.value for n in init.body if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call)]
    made = [c for c in calls if isinstance(c.func, ast.Attribute) and is_super(c.func.value)]
    if len(made) != 1 or not {"iterator", "target"} <= _given(made[0]).keys() <= {"iterator", "target", *_LEFT_OUT}:
        return "its base is made otherwise"
    supers = [n for n in nodes_of(init) if is_super(n)]
    return (init, made[0]) if len(supers) == 1 else "its base is made twice"


def _given(call: ast.Call) -> dict[str, ast.expr]:
    """The arguments of the base by name; those that are not known by names of no parameter."""
    given: dict[str, ast.expr] = {}
    for place, value in enumerate(call.args):
        known = place < len(_PLACES) and not isinstance(value, ast.Starred)
        given[_PLACES[place] if known else "*"] = value
    return given | {keyword.arg or "**": keyword.value for keyword in call.keywords}


def _are_made_of_loaders(objects: Objects, cls: ClassInfo, loop: _Loop) -> bool:
    """Whether each object of a class is made with a loader of lists of examples and a model that reports for itself.

    Of a class that nobody names here, as in a library, what is observed has to stand in ``evaluate``.
    """
    calls = {
        objects.analysis.makers[uses[0].inst.site]
        for key, uses in objects.uses.items()
        if isinstance(key, int) and uses[0].inst.cls is cls and uses[0].inst.site
    }
    unmade = not calls and loop.says_names and not _is_said(objects.analysis, cls)
    return unmade or bool(calls) and all(_is_made_of_a_loader(objects, call, loop) for call in calls)


def _is_said(analysis: Analysis, cls: ClassInfo) -> bool:
    """Whether the program names a class, but where it is defined, imported or listed in ``__all__``."""
    name, own = cls.node.name, set(nodes_of(cls.node))
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.Name, ast.Attribute, ast.Constant):
            if node in own:
                continue
            if isinstance(node, ast.Constant):
                parent = module.source.parents[node]
                listed = isinstance(parent, (ast.List, ast.Tuple)) and _is_all(module.source.parents[parent])
                if node.value == name and not listed:
                    return True
            elif name == (node.id if isinstance(node, ast.Name) else node.attr):
                return True
    return False


def _is_all(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]


def _is_made_of_a_loader(objects: Objects, call: ast.Call, loop: _Loop) -> bool:
    context = objects.context_of(call)
    if any(isinstance(value, ast.Starred) for value in call.args) or any(k.arg is None for k in call.keywords):
        return False
    given = dict(zip(loop.parameters, call.args)) | {k.arg: k.value for k in call.keywords if k.arg is not None}
    iterator, model = given.get(loop.iterator), given.get(loop.model)
    if iterator is None or model is None:
        return False
    kind = context.kind(model)
    if not all(map(objects.analysis.is_link, options(kind))):
        return False
    if not loop.says_names and reports_in_parts(objects.analysis, kind, context.module):
        return False
    return all(_is_loader(objects, k) for k in options(context.kind(iterator)))


def _is_loader(objects: Objects, kind: Kind) -> bool:
    if not isinstance(kind, Inst) or not kind.site or objects.concern(kind) is not loop_iterators.CONCERN:
        return False
    found = settled(objects, kind)
    if not isinstance(found, loop_iterators.Iterator):
        return False
    return found.form is loop_iterators.Form.LOADER and not found.collates


__all__ = ["emit"]
