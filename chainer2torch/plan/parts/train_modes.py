"""Hard cases of modes: ``using_config('train', False)`` becomes the mode of the modules that run inside."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.components import components
from chainer2torch.analysis.kinds import Ref, options, scalar_type
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, Remove, ReplaceStatement, Unwrap
from chainer2torch.plan.match import UNDECIDED, Question, choose, constant
from chainer2torch.plan.native.train_flags import asks_the_thread, train_flags
from chainer2torch.plan.native.unregistered import keeping_unregistered
from chainer2torch.plan.parts import own_config
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.native_devices import alone, has_others
from chainer2torch.plan.questions.config_names import entry_name
from chainer2torch.plan.questions.made_in_modes import may_be_made_in_test_mode
from chainer2torch.plan.questions.plain_modes import begins_in_training, ends_at_its_end
from chainer2torch.plan.questions.modules_around import modules_around
from chainer2torch.plan.questions.modules_inside import ModulesInside
from chainer2torch.plan.questions.threads import runs_in_thread
from chainer2torch.rules.signature import BindError
from chainer2torch.rules.table import Row

# entries of the configuration that are something else in torch, as contexts
_CONTEXTS = {
    "dtype": "compat.using_default_dtype(value)",
    "autotune": "compat.using_attribute(torch.backends.cudnn, 'benchmark', value)",
    "cudnn_deterministic": "compat.using_attribute(torch.backends.cudnn, 'deterministic', value)",
    "use_cudnn": "compat.using_attribute(torch.backends.cudnn, 'enabled', value != 'never')",
}

_WHEN_CALLED = (
    "Chainer's switch is one for all modules: here every module is switched when it is called; "
    "name one where another method of its own asks for the mode"
)

_MADE = (
    "a module is in train mode when it is made; Chainer gives the mode of the block or program that makes it: hand it "
    "to the constructor"
)
_UNNAMED = (
    "a module that may run inside has no name here, and is switched "
    "when it is called; name it where another method of its own asks for the mode"
)
_BY_NAME = (
    "an object is taken for one of the program's own classes by the name of the method that is called: a model of "
    "another library with such a method is not switched"
)
_WAITING = (
    "while this generator waits, Chainer's mode stays as the block says for everything; here only what the block calls "
    "has it. Take the values out of the block, or give the caller the mode that it needs"
)
_IN_THREADS = (
    "Chainer's mode is of each thread; a module has one mode for all threads, so that threads with different modes at "
    "the same time disturb each other. Give each thread a module of its own, or set the mode before the threads begin"
)


def using_config(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``using_config(name, value)``: gradient mode is a context of torch, train mode belongs to modules."""
    call = context.source.parents.get(node)
    if not isinstance(call, ast.Call) or call.func is not node or row.signature is None:
        decisions.mark(node, row, row.name, "manual", "passed as a value")
        return
    try:
        bound = row.signature.bind(call.args, call.keywords)
    except BindError as error:
        decisions.mark(node, row, row.name, "manual", f"the call does not fit Chainer's signature: {error}", "C2T010")
        return
    config = bound.given.get("config")
    if bound.starred or not _is_default(context, config):
        decisions.mark(node, row, row.name, "manual", "another configuration object than chainer.config")
        return
    question = Question(row, bound, context.analysis.kind, context.is_instance)
    name = entry_name(context.analysis, context.source, bound.given.get("name"))
    value = constant("value", question)
    if name == "enable_backprop" and isinstance(value, bool):
        _leave_out(context, decisions, config, row)
        _replace(context, decisions, call, node, row, "torch.enable_grad()" if value else "torch.no_grad()", [])
    elif name == "enable_backprop" and isinstance(context.source.parents.get(call), ast.withitem):
        # torch's context takes effect where it is made, so only where it is entered at once
        _leave_out(context, decisions, config, row)
        given = bound.given["value"]
        is_bool = isinstance(given, ast.UnaryOp) and isinstance(given.op, ast.Not)
        decisions.replace(
            call, f"torch.set_grad_enabled({'value' if is_bool else 'bool(value)'})", {"value": context.operand(given)}
        )
        decisions.use(node)
        decisions.mark(node, row, row.name, "exact")
    elif name == "train":
        _leave_out(context, decisions, config, row)
        if _waits(context, call):
            decisions.mark(node, row, row.name, "review", _WAITING)
        if runs_in_thread(context, call):
            decisions.mark(node, row, row.name, "review", _IN_THREADS)
        inside = ModulesInside(context, context.source.statement(node))
        called = inside.unnamed or inside.computed or not inside.expressions
        _mark_doubts(context, decisions, node, row, inside)
        helper, train = "compat.train_mode" if value else "compat.eval_mode", None
        reached = reached_by_eval(context) and not inside.methods and not inside.doubtful
        asked = not reached and _reached_if_called(context) and not inside.methods and not inside.asked
        if reached and isinstance(value, bool) and (value or not called):
            block = _plain_block(context, call, changes=not value)
            if block is not None and _switch(context, decisions, block, call, [] if value else inside.expressions):
                decisions.use(node)
                decisions.mark(node, row, row.name, "exact")
                return
        if reached and (isinstance(value, bool) or value is UNDECIDED and not inside.asked) and not called:
            mode = value if isinstance(value, bool) else bound.given["value"]
            if _put_back(context, decisions, call, inside.expressions, mode):
                decisions.use(node)
                decisions.mark(node, row, row.name, "exact")
                return
        if reached and value is False and not called:
            helper = "native.evaluating"
        elif reached and not inside.asked or asked or value is UNDECIDED:
            helper = "native.in_mode" if reached and not inside.asked or asked else "compat.using_train"
            train = context.operand(bound.given["value"])
        _replace(context, decisions, call, node, row, helper, inside.expressions, train, called)
    elif choose(question)[0] is not None:
        _leave_out(context, decisions, config, row)
        emit_call(context, decisions, call, row, node)
    elif isinstance(name, str) and own_config.is_own(context, f"chainer.config.{name}"):
        _leave_out(context, decisions, config, row)
        own_config.using(context, decisions, call, node, bound.given)
    elif name in _CONTEXTS:
        _leave_out(context, decisions, config, row)
        decisions.replace(call, _CONTEXTS[name], {"value": context.operand(bound.given["value"])})
        decisions.use(node)
        decisions.mark(node, row, row.name, "exact")
    else:
        decisions.mark(
            node, row, row.name, "manual", "this configuration entry has no counterpart that is sure to be equal"
        )


def _mark_doubts(context: Context, decisions: Decisions, node: ast.AST, row: Row, inside: ModulesInside) -> None:
    """Says what is not sure of the modules that run inside a block."""
    if inside.unnamed or not inside.expressions:
        decisions.mark(node, row, row.name, "review", _UNNAMED, quiet=True)
    elif inside.by_name:
        decisions.mark(node, row, row.name, "review", _BY_NAME, quiet=True)


def _waits(context: Context, call: ast.Call) -> bool:
    """Whether a generator hands a value out of the block, so that its caller goes on in the mode of the block."""
    block = context.source.statement(call)
    function = context.source.enclosing(block, ast.FunctionDef, ast.AsyncFunctionDef)
    if not isinstance(block, ast.With) or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    if any("contextmanager" in ast.unparse(decorator) for decorator in function.decorator_list):
        return False  # that is what it is for
    return any(
        isinstance(n, (ast.Yield, ast.YieldFrom))
        and context.source.enclosing(n, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda) is function
        for statement in block.body
        for n in nodes_of(statement)
    )


def _plain_block(context: Context, call: ast.Call, changes: bool) -> ast.With | None:
    """The block of a call that begins in train mode and, where it changes that, is left at its end."""
    block = context.source.statement(call)
    if not isinstance(block, ast.With) or changes and not ends_at_its_end(block):
        return None
    if not begins_in_training(context, block):
        return None
    alone = [item.optional_vars is None for item in block.items if item.context_expr is call]
    return block if alone == [True] else None


def _switch(context: Context, decisions: Decisions, block: ast.With, call: ast.Call, modules: list[str]) -> bool:
    """``model.eval()`` above a block that begins in train mode, and ``model.train()`` behind it; None: it stays so."""
    if not all(_is_name(text) for text in modules):
        return False
    operands = {f"m{i}": Operand(code=text) for i, text in enumerate(modules)}
    before, behind = ("\n".join(f"{name}.{mode}()" for name in operands) for mode in ("eval", "train"))
    index = next(i for i, item in enumerate(block.items) if item.context_expr is call)
    branch = "item" if len(block.items) > 1 else "body"
    last = block.body[-1]
    if isinstance(last, ast.Return) and modules:
        name = _free_name(context, last)
        if last.value is None or name is None:
            return False
        value = {"value": context.operand(last.value)}
        decisions.edit(last, ReplaceStatement(context.source.start(last), f"{name} = value", value))
        behind += f"\nreturn {name}"
    decisions.edit(block, Unwrap(context.source.start(block), branch, behind, operands, before, index))
    return True


def _put_back(
    context: Context, decisions: Decisions, call: ast.Call, modules: list[str], given: ast.expr | bool
) -> bool:
    """``model.eval()`` above a block, and behind it the mode that the model had before, whatever ends the block.

    ``given`` is the mode of the block, an expression where only the run tells it.
    """
    block = context.source.statement(call)
    name = _free_name(context, block, ("was_training", "training_before"))
    if not isinstance(block, ast.With) or name is None or len(modules) != 1 or not _is_name(modules[0]):
        return False
    if any(_may_put_back(context, item.context_expr) for around in _around(context, block) for item in around.items):
        return False  # that block needs the name
    if [item.optional_vars for item in block.items if item.context_expr is call] != [None]:
        return False
    index = next(i for i, item in enumerate(block.items) if item.context_expr is call)
    branch = "item" if len(block.items) > 1 else "body"
    switch = "model.train()" if given is True else "model.eval()"
    before, behind = f"{name} = model.training\n{switch}", f"model.train({name})"
    operands = {"model": Operand(code=modules[0])}
    if not isinstance(given, bool):  # PyTorch takes nothing but True and False
        negated = isinstance(given, ast.UnaryOp) and isinstance(given.op, ast.Not)
        is_bool = negated or scalar_type(context.kind(given)) == "bool"
        before = f"{name} = model.training\nmodel.train({'mode' if is_bool else 'bool(mode)'})"
        operands["mode"] = context.operand(given)
    start = context.source.start(block)
    decisions.edit(block, Unwrap(start, branch, behind, operands, before, index, at_last=True))
    return True


def _may_put_back(context: Context, entered: ast.expr) -> bool:
    """Whether what a block is entered with may set the mode."""
    if not isinstance(entered, ast.Call) or "using_config" not in ast.unparse(entered.func):
        return False
    name = next(iter(entered.args), None)
    return entry_name(context.analysis, context.source, name) in (None, "train")


def _around(context: Context, node: ast.AST) -> Iterator[ast.With]:
    """The blocks around a node in the same function."""
    for ancestor in context.source.ancestors(node):
        if isinstance(ancestor, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            return
        if isinstance(ancestor, ast.With):
            yield ancestor


def _is_name(text: str) -> bool:
    return text.replace(".", "").isidentifier()


def _free_name(
    context: Context, node: ast.AST, names: tuple[str, ...] = ("result", "output", "returned")
) -> str | None:
    """A name for a value, which the function around a node does not use."""
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    used = {n.id for n in nodes_of(context.source.tree) if isinstance(n, ast.Name)}
    used |= {n.arg for n in nodes_of(function or context.source.tree) if isinstance(n, ast.arg)}
    return next((name for name in names if name not in used), None)


def reached_by_eval(context: Context) -> bool:
    """Whether ``model.eval()`` reaches all that runs inside of a model: the native style has no other switch."""
    return _reached_if_called(context) and not asks_the_thread(context.analysis, context.module)


def _reached_if_called(context: Context) -> bool:
    """Whether modules that are named, and those that are called, are all that have a mode, in the native style.

    Functions that ask the thread have that of a block, too.
    """
    together = context.analysis.once(components)[context.module]
    switched = context.analysis.once(train_flags).switched
    unregistered = context.analysis.once(keeping_unregistered)
    return context.choices.style == "native" and not together & (switched | unregistered)


def _is_default(context: Context, config: ast.expr | None) -> bool:
    """Whether the configuration object of a call is that of the thread, which Chainer takes when none is given."""
    return config is None or Ref("chainer.config") in options(context.analysis.kind(config))


def _leave_out(context: Context, decisions: Decisions, config: ast.expr | None, row: Row) -> None:
    """The default that a call writes out goes with the call."""
    if config is not None:
        decisions.use(config)
        decisions.mark(config, row, "chainer.config", "exact")


def _replace(
    context: Context,
    decisions: Decisions,
    call: ast.Call,
    site: ast.AST,
    row: Row,
    target: str,
    modules: list[str],
    train: Operand | None = None,
    called: bool = False,
) -> None:
    """``train`` is the mode where the helper is handed it; ``called`` says that some modules have no name."""
    names = [("*" if text.startswith("*") else "") + f"m{i}" for i, text in enumerate(modules)]
    operands = {f"m{i}": Operand(code=text.lstrip("*")) for i, text in enumerate(modules)}
    if train is not None:
        names, operands = ["train", *names], {"train": train, **operands}
    names += ["called=True"] if called and context.choices.style != "native" else []
    decisions.replace(call, target if target.endswith(")") else f"{target}({', '.join(names)})", operands)
    decisions.use(site)
    decisions.mark(site, row, row.name, "exact")


def train_value(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``chainer.config.train`` read: the module's own mode, or the mode of the surrounding context."""
    assert isinstance(node, ast.expr)
    if isinstance(getattr(node, "ctx", None), ast.Store):
        _set_train(context, decisions, node, row)
        return
    decisions.replace(node, "TRAINING", {})
    decisions.use(node)
    if may_be_made_in_test_mode(context, node):
        decisions.mark(node, row, row.name, "review", _MADE)
    else:
        decisions.mark(node, row, row.name, row.state)


def _set_train(context: Context, decisions: Decisions, node: ast.expr, row: Row) -> None:
    """``chainer.config.train = value`` switches all modules: those known here at once, the others when called."""
    statement = context.source.parents.get(node)
    modules = modules_around(context, statement) if isinstance(statement, ast.Assign) else []
    if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
        decisions.mark(node, row, row.name, "manual", "a global mode is set; compat.set_train(mode) sets it")
        return
    operands = {f"m{i}": Operand(code=text) for i, text in enumerate(modules)}
    settled = reached_by_eval(context) and context.module in context.analysis.once(train_flags).settled
    if (
        settled
        and isinstance(statement.value, ast.Constant)
        and (not statement.value.value or alone(context, statement))
    ):
        start = context.source.start(statement)
        gone = Remove(start) if has_others(context, statement) else ReplaceStatement(start, "pass\n", {})
        off = ReplaceStatement(start, f"native.evaluate_from_here({', '.join(operands)})", operands)
        decisions.edit(statement, gone if statement.value.value else off)
        decisions.use(node)
        if statement.value.value:
            decisions.mark(node, row, row.name, "exact")
        else:
            decisions.mark(node, row, row.name, "review", _WHEN_CALLED, quiet=True)
        return
    names = "".join(f", m{i}" for i in range(len(modules)))
    decisions.edit(
        statement,
        ReplaceStatement(
            context.source.start(statement),
            f"compat.set_train(value{names})",
            {"value": context.operand(statement.value), **operands},
        ),
    )
    decisions.use(node)
    decisions.mark(
        node,
        row,
        row.name,
        "review",
        _WHEN_CALLED,
        quiet=True,
    )
