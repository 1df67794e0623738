"""Hard cases of modes: ``using_config('train', False)`` becomes the mode of the modules that run inside."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Inst, Ref, options
from chainer2torch.plan.edits import Operand, ReplaceStatement
from chainer2torch.plan.match import UNDECIDED, Question, choose, constant
from chainer2torch.plan.passes.modules_inside import ModulesInside, modules_around
from chainer2torch.plan.sites import Plan
from chainer2torch.rules.table import Row
from chainer2torch.rules.signature import BindError


# entries of the configuration that are something else in torch, as contexts
_CONTEXTS = {
    "dtype": "compat.using_default_dtype(value)",
    "autotune": "compat.using_attribute(torch.backends.cudnn, 'benchmark', value)",
    "cudnn_deterministic": "compat.using_attribute(torch.backends.cudnn, 'deterministic', value)",
    "use_cudnn": "compat.using_attribute(torch.backends.cudnn, 'enabled', value != 'never')",
}


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
    elif name == "enable_backprop" and isinstance(plan.source.parents.get(call), ast.withitem):
        # torch's context takes effect where it is made, so only where it is entered at once
        _leave_out(plan, config, row)
        given = bound.given["value"]
        is_bool = isinstance(given, ast.UnaryOp) and isinstance(given.op, ast.Not)
        plan.replace(
            call, f"torch.set_grad_enabled({'value' if is_bool else 'bool(value)'})", {"value": plan.operand(given)}
        )
        plan.use(node)
        plan.mark(node, row, row.name, "exact")
    elif name == "train":
        _leave_out(plan, config, row)
        helper = "compat.train_mode" if value else "compat.eval_mode"
        inside = ModulesInside(plan, plan.source.statement(node))
        called = inside.unnamed or inside.computed or not inside.expressions
        if inside.unnamed or not inside.expressions:
            plan.mark(
                node,
                row,
                row.name,
                "review",
                "a module that may run inside has no name here, and is switched "
                "when it is called; name it where another method of its own asks for the mode",
            )
        train = plan.operand(bound.given["value"]) if value is UNDECIDED else None
        _replace(plan, call, node, row, helper, inside.expressions, train, called)
    elif choose(question)[0] is not None:
        _leave_out(plan, config, row)
        plan.call(call, row, node)
    elif name in _CONTEXTS:
        _leave_out(plan, config, row)
        plan.replace(call, _CONTEXTS[name], {"value": plan.operand(bound.given["value"])})
        plan.use(node)
        plan.mark(node, row, row.name, "exact")
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


def _replace(
    plan: Plan,
    call: ast.Call,
    site: ast.AST,
    row: Row,
    target: str,
    modules: list[str],
    train: Operand | None = None,
    called: bool = False,
) -> None:
    """``train`` is the mode where it is known at run time only; ``called`` says that some modules have no name."""
    names = [("*" if text.startswith("*") else "") + f"m{i}" for i, text in enumerate(modules)]
    operands = {f"m{i}": Operand(code=text.lstrip("*")) for i, text in enumerate(modules)}
    if train is not None:
        target, names, operands = "compat.using_train", ["train", *names], {"train": train, **operands}
    names += ["called=True"] if called else []
    plan.replace(call, target if target.endswith(")") else f"{target}({', '.join(names)})", operands)
    plan.use(site)  # type: ignore[arg-type]
    plan.mark(site, row, row.name, "exact")


def train_value(plan: Plan, node: ast.AST, row: Row) -> None:
    """``chainer.config.train`` read: the module's own mode, or the mode of the surrounding context."""
    assert isinstance(node, ast.expr)
    if isinstance(getattr(node, "ctx", None), ast.Store):
        _set_train(plan, node, row)
        return
    plan.replace(node, "TRAINING", {})
    plan.use(node)
    plan.mark(node, row, row.name, row.state)


def _set_train(plan: Plan, node: ast.expr, row: Row) -> None:
    """``chainer.config.train = value`` switches all modules: those known here at once, the others when called."""
    statement = plan.source.parents.get(node)
    modules = modules_around(plan, statement) if isinstance(statement, ast.Assign) else []
    if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
        plan.mark(node, row, row.name, "manual", "a global mode is set; compat.set_train(mode) sets it")
        return
    names = "".join(f", m{i}" for i in range(len(modules)))
    operands = {f"m{i}": Operand(code=text) for i, text in enumerate(modules)}
    plan.edits[statement] = ReplaceStatement(
        plan.source.start(statement),
        f"compat.set_train(value{names})",
        {"value": plan.operand(statement.value), **operands},
    )
    plan.use(node)
    plan.mark(
        node,
        row,
        row.name,
        "review",
        "Chainer's switch is one for all modules: here every module is switched "
        "when it is called; name one where another method of its own asks for the mode",
    )


__all__ = ["Inst", "options", "train_value", "using_config"]
