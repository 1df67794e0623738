"""Links and parameters that are assigned outside of ``init_scope``: neither trained nor saved in Chainer, so here."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Inst, Ref, Tensor, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Part
from chainer2torch.plan.edits import ReplaceStatement
from chainer2torch.plan.parts.assigned_values import reaching
from chainer2torch.plan.parts.unknown_owners import is_unknown_owner, unknown_owner
from chainer2torch.plan.questions.methods_by_name import names_of_links
from chainer2torch.plan.questions.init_scopes import keeps_no_links
from chainer2torch.plan.questions.registered import (
    is_called_like_a_link,
    is_of_chainers,
    may_be_registered,
    registered_before,
    registers_when_assigned,
)
from chainer2torch.plan.questions.scoped_functions import is_scope, run_inside

_NOT_TRAINED = "assigned outside init_scope: neither trained nor saved, as in Chainer"
_STANDS_IN = "stands in for a layer in a test: PyTorch takes nothing but a module under the name of one"
_NO_CHAIN = "a Link that is no Chain registers no links: neither trained nor saved, as in Chainer"
_NO_LINK = (
    "puts a parameter into a list of links, where Chainer trains nothing of it: torch.nn.ModuleList takes modules "
    "alone; make it a torch.nn.ParameterList, and go through it by `for`"
)
_CODE = "C2T203"
_ADDS = ("append", "add_link")
_PARAMETER = (Ref("chainer.Parameter"), Ref("chainer.variable.Parameter"))
_OF_CHAINER = frozenset({"W", "b", "beta", "gamma"})  # parameters of Chainer's links
_AROUND = (
    "goes around the registration: in Chainer the value takes the place of a parameter of that name, a module "
    "goes on using its own; torch.func.functional_call runs a module with other parameters"
)
_OWN_ACCESS = {
    "__setattr__": (
        "review",
        "assignments to its links pass through this method: PyTorch registers every module that "
        "reaches nn.Module's __setattr__, Chainer only those inside init_scope",
    ),
    "__getattr__": (
        "manual",
        "PyTorch finds parameters and modules through nn.Module's own __getattr__, which this "
        "one hides; begin it with `try: return super().__getattr__(name)`, `except AttributeError: pass`",
    ),
    "__getattribute__": (
        "manual",
        "nn.Module keeps its parameters in tables that it looks up through this method, before they are there, too; "
        "ask `self.__dict__` and `self._parameters` in it, and no attribute of the object",
    ),
}


def run(context: Context) -> Decisions:
    """Keeps modules from registering what Chainer would not."""
    decisions = Decisions(context)
    builders = _builders(context)
    called: dict[ast.ClassDef, frozenset[str]] = {}  # the attributes that a class calls
    for node in context.source.of(ast.Assign, ast.AnnAssign, ast.Call):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets: Sequence[ast.expr] = node.targets if isinstance(node, ast.Assign) else [node.target]
            if len(targets) == 1 and isinstance(targets[0], ast.Attribute):
                with decisions.provided(free=((Part.EDIT, node),)):
                    _attribute(context, decisions, node, targets[0], *builders, called)
            else:
                for target, value in _pairs(targets, node.value):
                    if (
                        (_is_ours(context, target) or is_unknown_owner(context, target.value))
                        and (_registers(context, value) or _is_parameter(context, value))
                        and (not _in_init_scope(context, node) or keeps_no_links(context, target.value))
                    ):
                        with decisions.provided(free=((Part.EDIT, node), (Part.EDIT, target))):
                            decisions.mark(
                                target,
                                context.rules.rows.get("chainer.Chain"),
                                ast.unparse(target),
                                "review",
                                "assigned outside init_scope: Chainer neither trains nor saves it, PyTorch registers "
                                "it; give it a statement of its own",
                                _CODE,
                            )
        elif isinstance(node, ast.Call):
            _into_list(context, decisions, node)
            with decisions.provided(free=((Part.EDIT, node),)):
                _by_name(context, decisions, node)
                _around(context, decisions, node)
    for method in context.source.of(ast.FunctionDef):
        if (
            method.name in _OWN_ACCESS
            and (cls := context.enclosing_class(method)) is not None
            and context.source.parents.get(method) is cls.node
            and context.analysis.derives(cls, "chainer.Link")
        ):
            state, message = _OWN_ACCESS[method.name]
            decisions.mark(
                method, context.rules.rows.get("chainer.Link"), f"chainer.Link.{method.name}", state, message, _CODE
            )
    return decisions


def _attribute(
    context: Context,
    decisions: Decisions,
    node: ast.Assign | ast.AnnAssign,
    target: ast.Attribute,
    built: frozenset[str],
    mixed: frozenset[str],
    called: dict[ast.ClassDef, frozenset[str]],
) -> None:
    assert node.value is not None
    if context.analysis.kind(target.value) == UNKNOWN:
        unknown_owner(context, decisions, node, target)
        return
    if not _is_ours(context, target) or _has_own_setattr(context, target.value):
        return
    if registers_when_assigned(context, target.value) or registered_before(context, target, node.value):
        return
    if keeps_no_links(context, target.value) and context.analysis.is_link(context.analysis.kind(node.value)):
        _leave_out(context, decisions, node, target, _NO_CHAIN)
        return
    if _in_init_scope(context, node):
        return
    if _is_mock(context, node.value):
        if may_be_registered(context, target):
            _leave_out(context, decisions, node, target, _STANDS_IN, "object.__setattr__")
        return
    row, symbol = context.rules.rows.get("chainer.Chain"), ast.unparse(target)
    method = context.source.enclosing(node, ast.FunctionDef)
    name = getattr(method, "name", "")
    renamed = name == "__init__" and _may_be_parameter(context, node.value) or _is_parameter(context, node.value)
    registers = _registers(context, node.value) or is_called_like_a_link(context, target, node.value, called)
    if not renamed and not registers:
        return
    if name in built and name not in mixed:
        return
    # `self.l2.W = self.l1.W` ties, and has been decided: not here
    free = () if registers else ((Part.EDIT, target), (Part.SITE, target))
    inside, outside = run_inside(context.analysis, context.source, target.value)
    if inside and not outside and name not in mixed:
        return
    if name in mixed or inside:
        with decisions.provided(free=free):
            decisions.mark(
                target,
                row,
                symbol,
                "review",
                "registered if this method is called inside init_scope, as it is in "
                "one place and is not in another; PyTorch registers it always",
                _CODE,
            )
            return
    around = target.attr in _OF_CHAINER and is_of_chainers(context, target.value)
    with decisions.provided(free=free):
        _leave_out(context, decisions, node, target, _AROUND if around else _NOT_TRAINED)


def _is_mock(context: Context, value: ast.expr) -> bool:
    """Whether a value is made by Python's unittest.mock, or by the package that it came from."""
    callee = context.analysis.kind(value.func) if isinstance(value, ast.Call) else None
    return isinstance(callee, Ref) and callee.name.startswith(("mock.", "unittest.mock."))


def _leave_out(
    context: Context,
    decisions: Decisions,
    node: ast.Assign | ast.AnnAssign,
    target: ast.Attribute,
    message: str,
    setter: str = "",
) -> None:
    assert node.value is not None
    plain = context.choices.style == "native" and not may_be_registered(context, target)
    setter = setter or ("object.__setattr__" if plain else "compat.set_unregistered")
    decisions.edit(
        node,
        ReplaceStatement(
            context.source.start(node),
            f"{setter}(owner, '{target.attr}', value)",
            {"owner": context.operand(target.value), "value": context.operand(node.value)},
        ),
    )
    row = context.rules.python["chainer.Link.__setattr__"]
    around = message == _AROUND
    decisions.mark(target, row, ast.unparse(target), "review" if around else "exact", message, _CODE)
    if around:  # the rule of the attribute has spoken of its name
        decisions.refine(target, row, "review", message, _CODE)


def _by_name(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``setattr(self, name, L.Linear(3, 4))``."""
    callee = context.analysis.kind(call.func)
    if (
        not (
            isinstance(callee, Ref)
            and callee.name == "builtins.setattr"
            and len(call.args) == 3
            and not call.keywords
            and (_is_link(context, call.args[0]) or is_unknown_owner(context, call.args[0]))
            and (_registers(context, call.args[2]) or _may_register(context, call, call.args[2]))
        )
        or _in_init_scope(context, call)
        or _has_own_setattr(context, call.args[0])
        or registers_when_assigned(context, call.args[0])
    ):
        return
    decisions.replace(
        call,
        "compat.set_unregistered(owner, name, value)",
        dict(zip(("owner", "name", "value"), map(context.operand, call.args))),
    )
    row, symbol = context.rules.python["chainer.Link.__setattr__"], ast.unparse(call.args[0])
    decisions.mark(call, row, symbol, "exact", _NOT_TRAINED, _CODE)


def _around(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``super(chainer.Link, link).__setattr__(name, value)``, ``object.__setattr__(link, name, value)``."""
    function = call.func
    if (
        not isinstance(function, ast.Attribute)
        or function.attr != "__setattr__"
        or not context.imports_chainer
        or getattr(context.source.enclosing(call, ast.FunctionDef), "name", "") == "__setattr__"
    ):
        return
    base, given = function.value, list(call.args)
    if (
        isinstance(base, ast.Call)
        and len(base.args) == 2
        and context.analysis.kind(base.func) == Ref("builtins.super")
        and context.analysis.derives((context.reference(base.args[0]) or ""), "chainer.Link")
    ):
        given.insert(0, base.args[1])
    elif context.analysis.kind(base) != Ref("builtins.object"):
        return
    if (
        len(given) == 3
        and (context.analysis.kind(given[0]) == UNKNOWN or _is_link(context, given[0]))
        and (not isinstance(given[1], ast.Constant) or given[1].value in _OF_CHAINER)
    ):
        row = context.rules.rows.get("chainer.Link")
        decisions.mark(call, row, "chainer.Link.__setattr__", "review", _AROUND, _CODE)


def _into_list(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``links.append(chainer.Parameter(...))``: a ChainList takes whatever it is given, nn.ModuleList modules alone."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr not in _ADDS or len(call.args) != 1:
        return
    kinds, owners = options(context.kind(call.args[0])), options(context.kind(function.value))
    made = _registers(context, call.args[0]) and not any(map(context.analysis.is_link, kinds))
    if (made or all(isinstance(kind, Tensor) for kind in kinds)) and all(
        isinstance(k, Inst) and context.analysis.derives(k.cls, "chainer.ChainList") for k in owners
    ):
        name = f"chainer.ChainList.{function.attr}"
        decisions.mark(call, context.rules.rows.get("chainer.ChainList"), name, "manual", _NO_LINK, _CODE)


def _pairs(targets: Sequence[ast.expr], value: ast.expr) -> list[tuple[ast.Attribute, ast.expr]]:
    """The attributes that a statement assigns, each with what it gets."""
    found = []
    for target in targets:
        if isinstance(target, ast.Attribute):
            found.append((target, value))
        elif (
            isinstance(target, (ast.Tuple, ast.List))
            and isinstance(value, (ast.Tuple, ast.List))
            and len(target.elts) == len(value.elts)
        ):
            found += [pair for t, v in zip(target.elts, value.elts) for pair in _pairs([t], v)]
    return found


def _is_ours(context: Context, target: ast.Attribute) -> bool:
    return _is_link(context, target.value)


def _is_link(context: Context, node: ast.expr) -> bool:
    return all(
        isinstance(k, Inst) and context.analysis.derives(k.cls, "chainer.Link")
        for k in options(context.analysis.kind(node))
    )


def _has_own_setattr(context: Context, node: ast.expr) -> bool:
    """Whether a class of the project decides itself what an assignment to its links does."""
    return any(
        isinstance(cls, ClassInfo) and "__setattr__" in cls.methods
        for k in options(context.analysis.kind(node))
        if isinstance(k, Inst)
        for cls in context.analysis.mro(k.cls)
    )


def _registers(context: Context, value: ast.expr) -> bool:
    """Whether a module would register the value: a link, or a new parameter."""
    if context.analysis.is_link(context.analysis.kind(value)):
        return True
    values = reaching(context, value) if isinstance(value, ast.Name) else [value]
    return any(isinstance(one, ast.Call) and context.analysis.kind(one.func) in _PARAMETER for one in values)


def _may_register(context: Context, call: ast.Call, value: ast.expr) -> bool:
    """Whether a value that gets a computed name may be a parameter: one of a list, or one of another link."""
    begins = getattr(context.source.enclosing(call, ast.FunctionDef), "name", "") == "__init__"
    return begins and _may_be_parameter(context, value) or _is_parameter(context, value)


def _is_parameter(context: Context, value: ast.expr) -> bool:
    """``self.embed.W``: a parameter of a link that gets a second name, which Chainer does not count.

    So may a name be that stands for one in the same function.
    """
    if isinstance(value, ast.Name):
        function = context.source.enclosing(value, ast.FunctionDef)
        return (
            isinstance(function, ast.FunctionDef)
            and _may_be_parameter(context, value)
            and any(
                _is_parameter(context, n.value)
                for n in nodes_of(function)
                if isinstance(n, ast.Assign)
                and not isinstance(n.value, ast.Name)
                and any(isinstance(t, ast.Name) and t.id == value.id for t in n.targets)
            )
        )
    return (
        isinstance(value, ast.Attribute)
        and _is_link(context, value.value)
        and _may_be_parameter(context, value)
        and value.attr in context.analysis.once(_parameters)
    )


def _parameters(analysis: Analysis) -> frozenset[str]:
    """The attributes to which the project's files assign new parameters, or parameters that have another name."""
    found = set(_OF_CHAINER)
    renamed: list[tuple[str, set[str]]] = []
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.Assign):
            targets = {t.attr for t in node.targets if isinstance(t, ast.Attribute)}
            if isinstance(node.value, ast.Call) and analysis.kind(node.value.func) in _PARAMETER:
                found |= targets
            elif isinstance(node.value, ast.Attribute) and targets:
                renamed.append((node.value.attr, targets))
        for call in module.source.of(ast.Call):
            if (
                isinstance(call.func, ast.Attribute)
                and call.func.attr == "add_param"
                and call.args
                and isinstance(call.args[0], ast.Constant)
            ):
                found.add(str(call.args[0].value))
    for name, targets in renamed:  # in the order of the source, in which one name follows from another
        if name in found:
            found |= targets
    return frozenset(found)


def _may_be_parameter(context: Context, value: ast.expr) -> bool:
    """A Variable that a constructor is given or takes from another link: most likely that link's parameter."""
    return isinstance(value, (ast.Name, ast.Attribute)) and all(
        isinstance(k, Tensor) and not k.array for k in options(context.analysis.kind(value))
    )


def _in_init_scope(context: Context, node: ast.AST) -> bool:
    return any(is_scope(ancestor) for ancestor in context.source.ancestors(node))


def _builders(context: Context) -> tuple[frozenset[str], frozenset[str]]:
    """The methods of links that this file calls inside some ``init_scope``, and those among them called outside, too.

    What they assign is registered. (A second call may come from anywhere: what is registered stays so.)
    """
    methods = context.analysis.once(names_of_links)
    calls: dict[bool, set[str]] = {True: set(), False: set()}
    for node in context.source.of(ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in methods and isinstance(node.func.value, ast.Name):
            calls[_in_init_scope(context, node)].add(node.func.attr)
    return frozenset(calls[True]), frozenset(calls[True] & calls[False])


def _methods_of_links(analysis: Analysis) -> frozenset[str]:
    return frozenset(
        name for cls in analysis.classes.values() if analysis.derives(cls, "chainer.Link") for name in cls.methods
    )
