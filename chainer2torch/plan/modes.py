"""Hard cases of modes: ``using_config('train', False)`` becomes the mode of the modules that run inside."""
from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Inst, Ref, options
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.match import UNDECIDED, Question, constant
from chainer2torch.plan.sites import Plan
from chainer2torch.rules import Row
from chainer2torch.signature import BindError


def using_config(plan: Plan, node: ast.AST, row: Row) -> None:
    """``using_config(name, value)``: gradient mode is a context of torch, train mode belongs to modules."""
    call = plan.source.parents.get(node)
    if not isinstance(call, ast.Call) or call.func is not node or row.signature is None:
        plan.mark(node, row, row.name, "manual", "passed as a value")
        return
    try:
        bound = row.signature.bind(call.args, call.keywords)
    except BindError as error:
        plan.mark(node, row, row.name, "manual", f"the call does not fit Chainer's signature: {error}", "C2T010")
        return
    config = bound.given.get("config")
    if bound.starred or not _is_default(plan, config):
        plan.mark(node, row, row.name, "manual", "another configuration object than chainer.config")
        return
    question = Question(row, bound, plan.analysis.kind, plan.is_instance)
    name, value = constant("name", question), constant("value", question)
    if name == "enable_backprop" and isinstance(value, bool):
        _leave_out(plan, config, row)
        _replace(plan, call, node, row, "torch.enable_grad()" if value else "torch.no_grad()", [])
    elif name == "train" and value is not UNDECIDED:
        _leave_out(plan, config, row)
        helper = "compat.train_mode" if value else "compat.eval_mode"
        targets = modules_inside(plan, plan.source.statement(node))
        if targets:
            _replace(plan, call, node, row, helper, targets)
        else:
            plan.mark(node, row, row.name, "review", "no module was found that runs inside; name those that do")
            _replace(plan, call, node, row, helper, [])
    else:
        plan.mark(node, row, row.name, "manual", "this configuration entry has no counterpart that is sure to be equal")


def _is_default(plan: Plan, config: ast.expr | None) -> bool:
    """Whether the configuration object of a call is that of the thread, which Chainer takes when none is given."""
    return config is None or Ref("chainer.config") in options(plan.analysis.kind(config))


def _leave_out(plan: Plan, config: ast.expr | None, row: Row) -> None:
    """The default that a call writes out goes with the call."""
    if config is not None:
        plan.use(config)
        plan.mark(config, row, "chainer.config", "exact")


def _replace(plan: Plan, call: ast.Call, site: ast.AST, row: Row, target: str, modules: list[ast.expr]) -> None:
    template = target if target.endswith(")") else f"{target}({', '.join(f'm{i}' for i in range(len(modules)))})"
    plan.replace(call, template, {f"m{i}": Operand(code=ast.unparse(m)) for i, m in enumerate(modules)})
    plan.use(site)  # type: ignore[arg-type]
    plan.mark(site, row, row.name, "exact")


def modules_inside(plan: Plan, statement: ast.stmt) -> list[ast.expr]:
    """The modules (as expressions that hold outside the block, too) that are called, or passed to calls, inside."""
    if not isinstance(statement, ast.With):
        return []
    assigned = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    found: dict[str, ast.expr] = {}
    for body in statement.body:
        for node in ast.walk(body):
            if not isinstance(node, ast.Call):
                continue
            for candidate in (node.func, *node.args, *(k.value for k in node.keywords)):
                for expression in _candidates(candidate):
                    if plan.analysis.is_link(plan.analysis.kind(expression)) and _root(expression) not in assigned:
                        found.setdefault(ast.unparse(expression), expression)
    # a module that holds another one covers it
    return [e for text, e in found.items() if not any(text != t and text.startswith(t + ".") for t in found)]


def _candidates(node: ast.expr) -> list[ast.expr]:
    """The names and attributes in a callee or argument that may be modules: `self.net` in `self.net.predict`."""
    result: list[ast.expr] = []
    while isinstance(node, ast.Attribute):
        result.append(node)
        node = node.value
    if isinstance(node, ast.Name):
        result.append(node)
    return result


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def train_value(plan: Plan, node: ast.AST, row: Row) -> None:
    """``chainer.config.train`` read: the module's own mode, or the mode of the surrounding context."""
    assert isinstance(node, ast.expr)
    if isinstance(getattr(node, "ctx", None), ast.Store):
        plan.mark(node, row, row.name, "manual", "a global mode is set; call .train() or .eval() on the modules")
        return
    plan.replace(node, "TRAINING", {})
    plan.use(node)
    plan.mark(node, row, row.name, row.state)


__all__ = ["Inst", "options", "train_value", "using_config"]
