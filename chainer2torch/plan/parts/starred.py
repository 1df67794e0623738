"""Calls with ``*args`` or ``**kwargs``: they become calls of what takes the very same arguments, or nothing."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Ref, Tensor, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.match import parsed
from chainer2torch.plan.parts.names import emit_name
from chainer2torch.plan.parts.super_receivers import instance_behind
from chainer2torch.plan.questions.nones import called
from chainer2torch.plan.questions.reading import Reading, is_idle
from chainer2torch.plan.questions.scales import minor_version, scaled_by_version
from chainer2torch.plan.questions.xp_devices import is_device
from chainer2torch.plan.questions.xp_uses import WITH_NUMPY, is_drawn, module_in, native_case
from chainer2torch.rules.signature import Bound
from chainer2torch.rules.table import Row


_HIDDEN = "C2T010 words of version 1 among those that ** passes"


def emit_starred(
    context: Context, decisions: Decisions, node: ast.Call, row: Row, site: ast.expr, receiver: ast.expr | None
) -> None:
    """Decides a call of which only the callee is known."""
    if receiver is not None:
        if is_drawn(row) and is_device(context, module_in(receiver)):
            operands = {"self": context.operand(module_in(receiver))}
            call = _call(context, node, f"numpy.random.{row.name.rpartition('.')[2]}", operands, [])
            shape = row.name in ("xp.Random.rand", "xp.Random.randn") and not node.keywords  # never a plain number
            template = (
                f"torch.as_tensor({call}, device=self)"
                if shape
                else f"torch.as_tensor(numpy.asarray({call}), device=self)"
            )
            decisions.replace(node, template, operands)
            decisions.mark(site, row, row.name, row.state, row.note)
            return
        callee = _same_arguments(row)
        if callee is None and any(not case.native for case in row.cases):
            decisions.mark(site, row, row.name, "manual", "called with * or **: the arguments are not known here")
            return
        if callee is not None and callee != f"self.{ast.unparse(node.func).rpartition('.')[2]}":
            _replace(context, decisions, node, callee, receiver)
        decisions.mark(site, row, row.name, row.state, row.note)
    elif row.value is None:
        decisions.mark(site, row, row.name, "manual", "called with * or **: the arguments are not known here")
    elif node.keywords and not row.value.startswith(("compat.", "native.")):  # helpers have Chainer's keywords
        callee = _same_arguments(row) or ""
        if callee.startswith(("compat.", "native.")):  # as a value it is torch's own class: `Chain(**links)`
            decisions.replace(node.func, callee, {})
            decisions.use(site)
            decisions.mark(site, row, row.name, row.state, row.note)
            return
        decisions.mark(site, row, row.name, "manual", "called with * or **; keywords have other names in PyTorch")
    elif unknown := _unknown_keyword(context, node, row):
        decisions.mark(site, row, row.name, "manual", unknown, "C2T010")
    elif not _in_todays_words(context, decisions, node, site, row):
        if hidden := _hidden_word(context, node, row):
            message = f"`{hidden}` of version 1 of Chainer may be among the arguments that ** passes; pass it by name"
            decisions.replace(node.func, row.value, {})
            decisions.use(site)
            # whoever makes that dictionary makes it for all such calls
            decisions.mark(site, row, row.name, "review", message, "C2T010", shared=_HIDDEN)
            return
        emit_name(context, decisions, node.func, site, row)


def emit_with_numpy(context: Context, decisions: Decisions, node: ast.Call, row: Row, receiver: ast.expr) -> bool:
    """A function of an array module that torch has no form for: ``native.with_numpy(numpy.f, x, device=d)``."""
    module = module_in(receiver)
    if not row.name.startswith("xp.") or not isinstance(node.func, ast.Attribute) or not is_device(context, module):
        return False
    case = native_case(context, node.func, row)
    if case is None or case.torch != WITH_NUMPY:
        return False
    part = {"xp.Random": "random.", "xp.LinearAlgebra": "linalg."}.get(row.name.rpartition(".")[0], "")
    name = row.name.rpartition(".")[2]
    function = f"numpy.{part}{name}"
    operands = {"self": context.operand(module)}
    if part == "random.":
        call = _call(context, node, function, operands, [], on_host=True)
        one = name == "choice" and len(node.args) < 2 and all(k.arg != "size" for k in node.keywords)
        template = call if one else f"torch.as_tensor(numpy.asarray({call}), device=self)"
        decisions.replace(node, template, operands)
        decisions.mark(node.func, row, row.name, row.state, row.note)
        return True
    call = _call(context, node, "native.with_numpy", operands, [ast.Name(function)])
    decisions.replace(node, f"{call[:-1]}, device=self)", operands)
    decisions.mark(node.func, row, row.name, row.state, row.note)
    return True


def _unknown_keyword(context: Context, node: ast.Call, row: Row) -> str:
    """Why a helper would refuse what stands beside ``**kwargs``, or what these may hold: ``wscale`` of version 1."""
    assert row.signature is not None
    if any(p.kind == "kwargs" for p in row.signature.parameters):
        return ""
    old = context.rules.old.get(row.name)
    words = old.signature.names if old is not None and old.signature is not None else frozenset()
    for keyword in node.keywords:
        if keyword.arg is not None and keyword.arg not in row.signature.names | words:
            return f"the call does not fit Chainer's signature: has no argument `{keyword.arg}`"
    return ""


def _hidden_word(context: Context, node: ast.Call, row: Row) -> str:
    """A parameter that only version 1 had and that a dictionary of the project may hold, beside what is passed."""
    old = context.rules.old.get(row.name)
    if old is None or old.signature is None or row.signature is None or all(k.arg is not None for k in node.keywords):
        return ""
    both = old.signature.names | row.signature.names
    held = frozenset().union(*(words for words in context.analysis.once(_handed_on) if words <= both))
    held |= _own_attributes(context, node)
    return min((held & old.signature.names) - row.signature.names - {k.arg for k in node.keywords}, default="")


def _in_todays_words(context: Context, decisions: Decisions, node: ast.Call, site: ast.expr, row: Row) -> bool:
    """Says what only version 1 knew in the helper's words: ``wscale=w`` is ``initialW=compat.LeCunNormal(scale=w)``.

    The row of that version says what becomes of each parameter. Gives whether there was such a word.
    """
    old = context.rules.old.get(row.name)
    names = row.signature.names if row.signature is not None else frozenset()
    told = {k.arg: k.value for k in node.keywords if k.arg is not None and k.arg not in names}
    if old is None or not told or (callee := row.value) is None:
        return False
    template = parsed(next((case.torch for case in old.cases if case.when is None), callee))
    new: dict[str, ast.expr] = {}
    own = (callee, f"compat.{row.name.rpartition('.')[2]}")  # native.LinearLink takes what compat.Linear does
    if isinstance(template, ast.Call) and ast.unparse(template.func) in own:
        new = {k.arg: k.value for k in template.keywords if k.arg in names}
    operands: dict[str, Operand] = {}
    call = parsed(_call(context, node, callee, operands, []))
    assert isinstance(call, ast.Call)
    unset = {k.arg for k in node.keywords if isinstance(k.value, ast.Constant) and k.value.value is None}
    given = {k.arg: k.value for k in node.keywords if k.arg is not None and k.arg not in unset}
    scaled = scaled_by_version(minor_version(context), Reading(old, Bound(given)))
    kept: list[ast.keyword] = []
    for keyword in call.keywords:
        name = keyword.arg
        if name not in told:
            if name not in unset:
                kept.append(keyword)
            continue
        assert name is not None and isinstance(keyword.value, ast.Name)
        operands[name] = operands.pop(keyword.value.id)
        if name in old.ignores or name in unset or is_idle(row, old, name, told[name]):
            continue
        word = next((k for k, v in new.items() if _names(v) == {name}), None)
        if word is None:
            message = f"called with * or **, and `{name}` of version 1 of Chainer has no counterpart"
            decisions.mark(site, row, row.name, "manual", message, "C2T010")
            return True
        if word not in given:
            kept.append(ast.keyword(word, new[word]))
    text = ast.unparse(ast.Call(call.func, call.args, kept))
    decisions.replace(node, text.replace(scaled.old, scaled.new) if scaled.new else text, operands)
    decisions.use(site)
    state = "exact" if scaled.settled else old.state
    decisions.mark(site, old, row.name, state, old.note if state != "exact" else "")
    return True


def _names(node: ast.expr) -> set[str]:
    """The parameters that an expression of a template names."""
    return {n.id for n in nodes_of(node) if isinstance(n, ast.Name)} - {"compat", "native"}


def _own_attributes(context: Context, node: ast.Call) -> frozenset[str]:
    """What the class around a call sets itself, where its file collects such attributes: ``self.__dict__.items()``."""
    cls = context.source.enclosing(node, ast.ClassDef)
    if cls is None or not any(member.attr == "__dict__" for member in context.source.of(ast.Attribute)):
        return frozenset()
    return frozenset(
        part.attr for part in nodes_of(cls) if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
    )


def _handed_on(analysis: Analysis) -> frozenset[frozenset[str]]:
    """The words that a dictionary of the project may hand on by ``**``: its keys, and keywords for ``**kwargs``."""
    found: set[frozenset[str]] = set()
    for module in analysis.project.modules.values():
        for display in module.source.of(ast.Dict):
            found.add(frozenset(str(k.value) for k in display.keys if isinstance(k, ast.Constant)))
        for item in module.source.of(ast.Subscript):
            if isinstance(item.ctx, ast.Store) and isinstance(item.slice, ast.Constant):
                found.add(frozenset((str(item.slice.value),)))
        for call in module.source.of(ast.Call):
            words = frozenset(k.arg for k in call.keywords if k.arg is not None)
            if words and _takes_any(analysis, call):
                found.add(words)
    return frozenset(found)


def _takes_any(analysis: Analysis, call: ast.Call) -> bool:
    """Whether a call's keywords may come to a dictionary: ``dict(a=1)``, ``options.update(a=1)``, ``**kwargs``."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "update":
        return True
    if analysis.kind(call.func) == Ref("builtins.dict"):
        return True
    return any(info.node.args.kwarg is not None for info in called(analysis, call))


def _same_arguments(row: Row) -> str | None:
    """What a method's rule calls, when it hands on every argument at its place: ``compat.f(self, a, *b, c=c)``.

    Of the cases, which ask for the arguments, that is the one for all others.
    """
    cases = [case for case in row.cases if not case.native] or row.cases
    if len(cases) != 1 or cases[0].when is not None or row.signature is None:
        return None
    tree = parsed(cases[0].torch)
    if not isinstance(tree, ast.Call):
        return None
    own = isinstance(tree.func, ast.Attribute) and ast.unparse(tree.func.value) == "self"
    given = [ast.unparse(a) for a in tree.args]
    given += [k.arg if ast.unparse(k.value) == k.arg else "" for k in tree.keywords if k.arg]
    given += [f"**{ast.unparse(k.value)}" for k in tree.keywords if k.arg is None]
    stars = {"args": "*", "kwargs": "**"}
    taken = [stars.get(p.kind, "") + p.name for p in row.signature.parameters]
    return ast.unparse(tree.func) if taken == ["self"] * own + given else None


def _replace(context: Context, decisions: Decisions, node: ast.Call, callee: str, receiver: ast.expr) -> None:
    """Calls something else with the arguments as they stand; the receiver is the first of them."""
    operands: dict[str, Operand] = {"self": instance_behind(context, receiver, callee) or context.operand(receiver)}
    first = [] if callee.startswith("self.") else [ast.Name("self")]
    decisions.replace(node, _call(context, node, callee, operands, first), operands)


def _call(
    context: Context,
    node: ast.Call,
    callee: str,
    operands: dict[str, Operand],
    first: Sequence[ast.expr],
    on_host: bool = False,
) -> str:
    """The text of a call with the arguments of another one, which become operands: tensors as arrays ``on_host``."""

    def name(value: ast.expr) -> ast.expr:
        label = f"argument_{len(operands)}"
        operands[label] = context.operand(value)
        kinds = options(context.kind(value))
        if on_host and all(isinstance(k, Tensor) for k in kinds):
            whole = all(isinstance(k, Tensor) and k.array for k in kinds)
            return ast.Name(f"{label}{'' if whole else '.detach()'}.cpu().numpy()")
        return ast.Name(label)

    args = [ast.Starred(name(a.value)) if isinstance(a, ast.Starred) else name(a) for a in node.args]
    keywords = [ast.keyword(k.arg, name(k.value)) for k in node.keywords]
    return ast.unparse(ast.Call(ast.Name(callee), [*first, *args], keywords))
