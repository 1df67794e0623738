"""``xp`` as a device: ``xp = cuda.get_array_module(x)`` becomes ``device = x.device``, or nothing where nobody asks.

What is called on it has rows (rules/native/xp.toml); which array modules may be read so, plan/questions/xp_devices.py.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Class, Func, Inst, Ref, Unknown
from chainer2torch.analysis.models.xp_modules import CUPY, MODULE_OF
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import IntoIf, Remove, Replace, ReplaceStatement
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.questions.xp_devices import device_in, imported, is_device, parameter, variable
from chainer2torch.plan.questions.xp_attributes import by_owner, variables, getters, given_by, places
from chainer2torch.plan.questions.xp_handed import handed
from chainer2torch.plan.questions.xp_origins import HOST, Origin, host_of, origin_of
from chainer2torch.plan.questions.xp_uses import (
    annotates,
    current_device,
    native_case,
    parameter_for,
    row_of,
    set_attribute,
)
from chainer2torch.plan.questions.xp_variables import Variable

_MAY_TAKE = frozenset({Func, Class, Inst, Unknown})  # what may be a function of the project
_INLINE = 2  # so often a short device is written out at its uses instead of a line of its own


def run(context: Context) -> Decisions:
    """Decides on the expressions and the variables that hold array modules."""
    decisions = Decisions(context)
    seen: set[Variable] = set()
    named: dict[ast.AST | None, set[str]] = {}  # the new names of each function
    for node in context.source.of(ast.Name, ast.Attribute, ast.Call, ast.IfExp):
        assert isinstance(node, ast.expr)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found = variable(context, node)
            if found is not None and found not in seen:
                seen.add(found)
                _variable(context, decisions, node, found, named.setdefault(context.scopes.get(node), set()))
        elif isinstance(node, ast.Name) and context.reference(node) not in CUPY:
            continue
        elif isinstance(node, ast.Call) and _is_of_host(context, node):
            _tell(context, decisions, Origin(node, "numpy", None, ((node.func, str(context.reference(node.func))),)))
            decisions.replace(node, "numpy", {})
        elif not isinstance(context.source.parents.get(node), ast.Assign):
            if is_device(context, node) and (origin := device_in(context, node)) is not None:
                decisions.replace(node, _written(context, node, origin), origin.operands(context))
                _tell(context, decisions, origin)
                _on_cupy(context, decisions, node)
    for block in context.source.of(ast.Try):
        if (found := imported(context, block)) is not None:
            _imported(context, decisions, block, found, named.setdefault(context.source.tree, set()))
    _hand_over(context, decisions)
    _attributes(context, decisions)
    _properties(context, decisions)
    return decisions


def _imported(context: Context, decisions: Decisions, block: ast.Try, found: Variable, named: set[str]) -> None:
    """``try: import cupy as xp`` / ``except ImportError: import numpy as xp``: the GPU where there is one."""
    for load in found.loads:
        part = context.source.parents.get(load)
        if isinstance(part, ast.Attribute) and annotates(context, part):
            decisions.replace(part, "torch.Tensor", {})
            decisions.mark(part, row_of(context, part), f"xp.Module.{part.attr}", "exact")
    alone = all(isinstance(s, ast.Import) for s in (*block.body, *block.handlers[0].body))
    if alone and not found.needed and not any(current_device(context, load) for load in found.loads):
        decisions.edit(block, Remove(context.source.start(block)))  # it gives constants alone
        return
    spelled = _free_name(context, found.loads[0], named)
    named.add(spelled)
    decisions.edit(block, IntoIf(context.source.start(block), "torch.cuda.is_available()"))
    for statement, device in zip(found.imports, ("cuda", "cpu")):
        code = f"{spelled} = torch.device('{device}')"
        decisions.edit(statement, ReplaceStatement(context.source.start(statement), code, {}))
    for load in found.loads:
        if not _make_current(context, decisions, load):
            decisions.replace(load, spelled, {})


def _is_of_host(context: Context, call: ast.Call) -> bool:
    """Whether a call gives the array module of arrays that are known to be NumPy's."""
    return context.reference(call.func) in MODULE_OF and context.kind(call) == Ref("numpy")


def _attributes(context: Context, decisions: Decisions) -> None:
    """``self.xp = model.xp`` is ``self.device = ...``; what reads the attribute is replaced as any other device."""
    devices = context.analysis.once(handed)
    for owner in context.analysis.once(by_owner) if devices else ():
        for module, node in variables(context.analysis, owner) if owner in devices else ():
            if module is context.module:
                decisions.replace(node, devices[owner], {})
    for statement in context.source.of(ast.Assign) if devices else ():
        assert isinstance(statement, ast.Assign)
        target = set_attribute(context, statement, devices)
        if target is None:
            continue
        name = devices[context.analysis.once(places)[target][0]]
        decisions.replace(target, f"x.{name}", {"x": context.operand(target.value)})
        origin = host_of(context, statement.value)
        if origin is None and not _is_variable(context, statement.value):
            origin = device_in(context, statement.value)
        if origin is not None:
            decisions.replace(statement.value, origin.template, origin.operands(context))
            _tell(context, decisions, origin)


def _is_variable(context: Context, node: ast.expr) -> bool:
    """Whether a name holds what is a device by then; CuPy's own name does not."""
    return isinstance(node, ast.Name) and context.reference(node) not in CUPY and is_device(context, node)


def _properties(context: Context, decisions: Decisions) -> None:
    """A property that gives array modules has the name of a device; ``return numpy`` in it is the device of the host.

    What else it gives is replaced as any other device.
    """
    devices = context.analysis.once(handed)
    for owner, infos in context.analysis.once(getters).items() if devices else ():
        for info in infos:
            if owner in devices and info.module is context.module:
                start = context.source.start(info.node) + len("def ")
                start = context.source.text.index(info.name, start)
                decisions.edit(info.node, Replace((start, start + len(info.name)), devices[owner], {}))
    for statement in context.source.of(ast.Return) if devices else ():
        assert isinstance(statement, ast.Return)
        if statement.value is not None and given_by(context, statement) in devices:
            if (origin := host_of(context, statement.value)) is not None:
                decisions.replace(statement.value, origin.template, {})


def _written(context: Context, node: ast.expr, origin: Origin) -> str:
    """The device where it stands alone: a name is enough for ``torch.zeros(3, device='cuda')``."""
    short = {"torch.device('cuda')": "'cuda'", HOST: "'cpu'"}
    asked = isinstance(context.source.parents.get(node), ast.Attribute)
    return short.get(origin.template, origin.template) if asked else origin.template


def _hand_over(context: Context, decisions: Decisions) -> None:
    """Parameters that are devices now: their names in the functions, and in the calls what is handed to them."""
    parameters = context.analysis.once(handed)
    for function in context.source.of(ast.FunctionDef) if parameters else ():
        assert isinstance(function, ast.FunctionDef)
        info = context.analysis.functions.get(function)
        a = function.args
        positional = [*a.posonlyargs, *a.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(a.defaults)) + list(a.defaults)
        for arg, default in zip([*positional, *a.kwonlyargs], [*defaults, *a.kw_defaults]):
            name = parameters.get((info, arg.arg)) if info is not None else None
            if name is not None:
                _rename(context, decisions, arg, arg.arg, name)
                if default is not None and host_of(context, default) is not None:
                    decisions.replace(default, HOST, {})
    names = {name for _, name in parameters}
    for node in context.source.of(ast.Name) if parameters else ():
        assert isinstance(node, ast.Name)
        name = parameter(context, node) if node.id in names else None
        if name is not None:
            decisions.replace(node, name, {})
    for call in context.source.of(ast.Call) if parameters else ():
        assert isinstance(call, ast.Call)
        if context.kind(call.func).__class__ not in _MAY_TAKE:
            continue
        for argument in (*call.args, *(k.value for k in call.keywords)):
            wanted = parameter_for(context, argument)
            name = parameters.get(wanted) if wanted is not None else None
            if name is None:
                continue
            keyword = context.source.parents.get(argument)
            if isinstance(keyword, ast.keyword) and keyword.arg is not None:
                _rename(context, decisions, keyword, keyword.arg, name)
            origin = host_of(context, argument)
            if origin is None and isinstance(argument, ast.Name) and not is_device(context, argument):
                origin = origin_of(context, argument)
            if origin is not None:
                decisions.replace(argument, origin.template, origin.operands(context))
                _tell(context, decisions, origin)


def _rename(context: Context, decisions: Decisions, node: ast.arg | ast.keyword, old: str, new: str) -> None:
    start = context.source.start(node)
    decisions.edit(node, Replace((start, start + len(old)), new, {}))


def _on_cupy(context: Context, decisions: Decisions, node: ast.expr) -> None:
    """``cuda.cupy.zeros(3)``, ``cuda.cupy.random.seed(0)``: no other pass sees an array module in the name itself."""
    if context.reference(node) is not None:
        part = context.source.parents.get(node)
        if isinstance(part, ast.Attribute) and part.attr in ("random", "linalg"):
            _call_of(context, decisions, node, context.source.parents.get(part))
        else:
            _call_of(context, decisions, node, part)


def _of_cupy(context: Context, decisions: Decisions, load: ast.Name) -> None:
    """``cp.zeros(3)`` of a variable that is known to be CuPy; its parts are array modules for the other passes, too."""
    part = context.source.parents.get(load)
    if isinstance(part, ast.Attribute) and part.attr not in ("random", "linalg"):
        _call_of(context, decisions, load, part)


def _call_of(context: Context, decisions: Decisions, node: ast.expr, part: ast.AST | None) -> None:
    if not isinstance(part, ast.Attribute) or (row := row_of(context, part)) is None:
        return
    call = context.source.parents.get(part)
    called = isinstance(call, ast.Call) and call.func is part
    if row.signature is None:  # `cp.float32(3)`
        if (case := native_case(context, part, row)) is not None:
            decisions.replace(part, case.torch, {"self": context.operand(node)})
            decisions.mark(part, row, row.name, row.state)
    elif not isinstance(call, ast.Call) or not called:
        return
    elif row.name == "xp.Random.seed" and len(call.args) == 1:
        decisions.replace(call, "torch.cuda.manual_seed(x)", {"x": context.operand(call.args[0])})
        decisions.mark(part, row, row.name, row.state)
    else:
        emit_call(context, decisions, call, row, part, receiver=part.value)


def _variable(context: Context, decisions: Decisions, name: ast.Name, found: Variable, named: set[str]) -> None:
    """All places of a variable; ``named`` are the names that others of its function have got."""
    for _, origin in found.stores:
        _tell(context, decisions, origin)
    loads = [load for load in found.loads if not _make_current(context, decisions, load)]
    for load in loads:
        if isinstance(context.kind(load), Ref):
            _of_cupy(context, decisions, load)
    if len(found.stores) == 1 and _may_go(context, found.stores[0][0]):
        statement, origin = found.stores[0]
        if not found.needed or _stays_true(context, origin) and len(found.needed) <= _INLINE:
            decisions.edit(statement, Remove(context.source.start(statement)))
            decisions.remove(statement.value)
            for load in found.needed:
                decisions.replace(load, _written(context, load, origin), origin.operands(context))
            return
    spelled = _free_name(context, name, named)
    named.add(spelled)
    for statement, origin in found.stores:
        decisions.replace(statement.value, origin.template, origin.operands(context))
        decisions.replace(statement.targets[0], spelled, {})
    for load in loads:
        decisions.replace(load, spelled, {})


def _make_current(context: Context, decisions: Decisions, load: ast.Name) -> bool:
    """``xp.cuda.Device(d).use()``: whether a use of an array module is that, which is written here."""
    found = current_device(context, load)
    if found is None:
        return False
    call, device, template = found
    decisions.replace(call, template, {"x": context.operand(device)})
    decisions.mark(call, context.rules.rows.get("chainer.backends.cuda.Device"), "xp.cuda.Device", "exact")
    return True


def _may_go(context: Context, statement: ast.stmt) -> bool:
    """Whether a statement may go: another one is left where it stands, and it has its lines for itself."""
    parent = context.source.parents.get(statement)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and statement in block:
            start, end = context.source.span(statement)
            text = context.source.text
            line = text[text.rfind("\n", 0, start) + 1 : start] + text[end:].partition("\n")[0]
            return len(block) > 1 and not line.strip()
    return False


def _stays_true(context: Context, origin: Origin) -> bool:
    """Whether the device may be named later just as well: the host, or that of a parameter that stays what it is."""
    node = origin.of
    if origin.template == HOST:
        return True
    if origin.template not in ("x.device", "x[0].device") or not isinstance(node, ast.Name):
        return False
    scope = context.scopes.get(node)
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    parameters = {a.arg for a in nodes_of(scope.args) if isinstance(a, ast.arg)}
    return node.id in parameters and not any(
        isinstance(n, ast.Name) and n.id == node.id and not isinstance(n.ctx, ast.Load) for n in nodes_of(scope)
    )


def _free_name(context: Context, name: ast.Name, named: set[str]) -> str:
    """``device``, unless something here is called so."""
    scope = context.scopes.get(name)
    taken = {
        word
        for n in nodes_of(scope or context.source.tree)
        for word in (getattr(n, "id", None), getattr(n, "arg", None))
    }
    free = (n for n in ("device", f"{name.id}_device", f"{name.id}_device_") if n not in taken | named)
    return next(free, name.id)


def _tell(context: Context, decisions: Decisions, origin: Origin) -> None:
    for node, symbol in origin.told:
        row = context.rules.rows.get(symbol)
        if context.reference(node) is not None:
            decisions.use(node)
        decisions.mark(node, row, symbol, row.state if row is not None else "review")
