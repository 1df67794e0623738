"""The parts of a Trainer program: what is trained with what, found by the nodes that make and name it.

Everything has to stand in one function, under names that keep their value until the training runs: the loop that takes
the place of ``trainer.run()`` uses these names.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import NONE, UNKNOWN, Const, Inst, Kind, Tup, options, scalar_type
from chainer2torch.analysis.lattice import join_all
from chainer2torch.analysis.source import nodes_of, within
from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.batches import (
    Conversion,
    are_dictionaries,
    are_single,
    conversion_of,
    parts_of,
    renamed,
    takes_several,
)
from chainer2torch.plan.native.calls import bound_call
from chainer2torch.plan.native.loaders import is_default
from chainer2torch.plan.native.unknown_iterators import may_be_left
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.native.reporting_parts import reports_in_parts
from chainer2torch.plan.native.own_updaters import UPDATER, given_to, model_given, own_class
from chainer2torch.plan.questions.kept_states import keeps_when_called
from chainer2torch.plan.questions.paths import is_path

TRAINER = "chainer.training.Trainer"
EVALUATOR = "chainer.training.extensions.Evaluator"
_LOSS = "loss_func"  # the name of a loss function that has none
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_STEP = """\
OPTIMIZER.zero_grad()
LOSS = CALL
LOSS.backward()
OPTIMIZER.step()
"""


class Unclear(Exception):
    """Why a program keeps Chainer's form."""


@dataclass(frozen=True)
class Device:
    """Where batches go: ``name`` is the variable with a torch.device, "" where they stay on the host.

    ``made`` is what the variable is made of, where the program has no torch.device yet.
    """

    name: str = ""
    made: ast.expr | None = None


@dataclass(frozen=True, eq=False)
class Step:
    """What one iteration is: ``loss`` is called with the parts of a batch; without parts it is an updater."""

    loader: str
    optimizer: str
    model: str
    optimizer_class: str
    loss: str
    parts: tuple[str, ...] = ()
    device: Device = Device()
    conversion: Conversion | None = None  # None: Chainer's own converter
    packed: bool = False  # whether only the run tells how many parts a batch has
    named: bool = False  # whether a batch is a dictionary, whose parts go by name
    several: bool = False  # whether a batch has several parts, whatever their number is
    made_loss: ast.expr | None = None  # what makes the function that has the name `loss` only then
    in_parts: bool = False  # whether parts of the one model report by themselves, under names of their own
    keeps: bool = False  # whether the graph of a step leads to those before, as nothing cuts a state of the model

    @property
    def lines(self) -> str:
        """The lines of one step, as those of a template."""
        if not self.keeps:
            return _STEP
        step = _STEP.replace("backward()", "backward(retain_graph=True)")
        return step.replace("OPTIMIZER.step()", "native.step_keeping_graphs(OPTIMIZER)")


@dataclass(frozen=True, eq=False)
class Program:
    """A Trainer, its updater, and what these train."""

    call: ast.Call
    name: str
    updater: ast.Call
    step: Step
    stop: ast.expr | None
    out: ast.expr | None
    runs: tuple[ast.Expr, ...]  # a Trainer runs once, and these may be branches
    starts_early: bool  # whether an extension is called before the first iteration


def program_of(objects: Objects, call: ast.Call, context: Context, runs: tuple[ast.Expr, ...] | None = None) -> Program:
    """The parts of the program whose Trainer a call makes. Raises Unclear.

    The optimizer becomes native with it, and one model is known. Where it is known how the
    Trainer ``runs``, any optimizer with ``zero_grad`` and ``step`` will do; it is asked for a model without a name.
    """
    whole = runs is None
    bound = bound_call(context, call, TRAINER)
    if bound is None or "extensions" in bound.given:
        raise Unclear("a Trainer whose arguments are not known")
    name = _assigned(context, call)
    scope = function_of(context, call)
    updater = _only(objects, context, bound.given["updater"], "updater")
    made = objects.analysis.makers.get(updater.site)  # two calls of one class have no place of their own
    if made is None or made not in context.source.parents or function_of(context, made) is not scope:
        raise Unclear("the updater is made in another function")
    if context.source.enclosing(call, ast.For, ast.While) is not None:
        raise Unclear("a Trainer that is made in a loop")
    own = own_class(updater) is not None
    if updater.cls != UPDATER and not (own and whole):
        raise Unclear("an updater of another class")
    step = _own_parts(objects, context, made, call) if own else _parts(objects, context, made, call, whole)
    return Program(
        call,
        name,
        made,
        step,
        bound.given.get("stop_trigger"),
        bound.given.get("out"),
        _runs(objects, context, call, scope) if runs is None else runs,
        _starts_early(objects, context, call),
    )


def _parts(objects: Objects, context: Context, made: ast.Call, trainer: ast.Call, whole: bool) -> Step:
    """What one step of Chainer's own updater is."""
    inside = bound_call(context, made, UPDATER)
    if inside is None or inside.given.keys() & {"loss_scale", "auto_new_epoch"} or inside.extra_keywords:
        raise Unclear("an updater whose arguments are not known")
    given, scope = inside.given, function_of(context, trainer)
    if may_be_left(context, given["iterator"]):
        raise Unclear("an iterator that is made here, of a class that is known at run time only")
    conversion = converter_of(context, given.get("converter"), given.get("device"))
    if whole:
        made_by = str(_only(objects, context, given["optimizer"], "optimizer").cls)
        model = _model(objects, context, given["optimizer"], trainer)
    else:
        made_by, model = "", _model_or_target(objects, context, given["optimizer"], trainer)
    function = given.get("loss_func")
    loss = model if function is None or context.kind(function) == NONE else function
    if not whole and loss is function and NONE in options(context.kind(function)):
        raise Unclear("whether there is a loss function is known at run time only")
    called = _kind_of(objects, context, given["optimizer"], loss)
    parts = ("batch",) if conversion is not None else parts_of(context.analysis, called)
    if parts is None and are_single(context.analysis, context.kind(given["iterator"])):
        parts = ("batch",)
    named = are_dictionaries(context.analysis, context.kind(given["iterator"])) if conversion is None else False
    if named is None:
        raise Unclear("only some examples are dictionaries")
    made_loss = isinstance(function, (ast.Call, ast.Lambda)) and loss is function
    if made_loss and (conversion is not None or _LOSS in names_in(context, scope)):
        raise Unclear("the loss function has no name")
    return Step(
        name_of(context, given["iterator"], made, "the iterator"),
        name_of(context, given["optimizer"], made, "the optimizer"),
        name_of(context, model, made, "the model"),
        made_by,
        _LOSS if made_loss else name_of(context, loss, made, "the loss function"),
        renamed(("batch",) if named or not parts else parts, names_in(context, scope)),
        device_of(context, given.get("device"), scope) if conversion is None else Device(),
        conversion,
        parts is None and not named,
        named,
        takes_several(context.analysis, called),
        loss if made_loss else None,
        whole and reports_in_parts(context.analysis, context.kind(model), context.module),
        keeps_when_called(context, called),
    )


def _own_parts(objects: Objects, context: Context, made: ast.Call, trainer: ast.Call) -> Step:
    """What an updater of the program's own steps with."""
    given = given_to(objects, context, made)
    if isinstance(given, str):
        raise Unclear(given)
    if not given.optimizers:
        raise Unclear("which optimizers the updater steps is not seen here")
    if given.display is not None:
        optimizers = name_of(context, given.display, made, "the optimizer")
    else:
        named = {n: name_of(context, o, made, "the optimizer") for n, o in given.optimizers.items()}
        optimizers = _display(named) if given.several else named["main"]
    models = {
        n: name_of(context, _model(objects, context, o, trainer), made, "the model")
        for n, o in given.optimizers.items()
    }
    trained = [_model(objects, context, optimizer, trainer) for optimizer in given.optimizers.values()]
    in_parts = any(reports_in_parts(context.analysis, context.kind(model), context.module) for model in trained)
    if in_parts and given.several:
        raise Unclear("a part of a model reports by itself: its name in the log would be another one")
    inst = _only(objects, context, next(iter(given.optimizers.values())), "optimizer")
    return Step(
        name_of(context, given.iterator, made, "the iterator"),
        optimizers,
        _display(models) if given.several else models["main"],
        "" if given.several else str(inst.cls),
        _assigned(context, made),
        in_parts=in_parts,
    )


def _display(named: dict[str, str]) -> str:
    """A dictionary as code."""
    values = [ast.parse(code, mode="eval").body for code in named.values()]
    return ast.unparse(ast.Dict([ast.Constant(name) for name in named], values))


# -- places --------------------------------------------------------------------------------------------------------


def function_of(context: Context, node: ast.AST) -> ast.AST | None:
    """The function in which a node stands; None: the module."""
    return context.source.enclosing(node, *_FUNCTIONS)


def names_in(context: Context, scope: ast.AST | None) -> frozenset[str]:
    """The names that a function binds; those of a module are read everywhere in it."""
    if scope is None:
        return context.source.assigned | context.imported
    nodes = within(scope).of(ast.Name, ast.arg)
    return frozenset(n.arg if isinstance(n, ast.arg) else n.id for n in nodes if not _reads(n))


def _reads(node: ast.Name | ast.arg) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


def _assigned(context: Context, call: ast.Call) -> str:
    """The variable that a statement of its own gives the value of a call."""
    statement = context.source.parents.get(call)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    raise Unclear("has no statement of its own")


def name_of(context: Context, node: ast.expr, taken: ast.Call, what: str) -> str:
    """A name that holds the value that a call takes until the training runs."""
    if not is_path(node):
        raise Unclear(f"{what} has no name")
    root = next(n for n in nodes_of(node) if isinstance(n, ast.Name))
    scope = function_of(context, taken)
    bound = [n for n in context.source.named.get(root.id, ()) if isinstance(n.ctx, ast.Store)]
    if any(n.lineno > taken.lineno for n in bound if function_of(context, n) is scope):
        raise Unclear(f"`{root.id}` gets another value later")
    return ast.unparse(node)


def _only(objects: Objects, context: Context, node: ast.expr, what: str) -> Inst:
    found = objects.of(context.kind(node))
    if len(found) != 1 or len(options(context.kind(node))) != 1:
        raise Unclear(f"which {what} it is is known at run time only")
    return found[0]


def _model(objects: Objects, context: Context, optimizer: ast.expr, trainer: ast.Call) -> ast.expr:
    """What the optimizer was set up with."""
    found = objects.of(context.kind(optimizer))
    setups = [use.call for inst in found for use in objects.uses_of(inst) if use.member == "setup"]
    calls = {c for c in setups if c is not None}
    if len(calls) != 1:
        raise Unclear("which model is trained is not known")
    (call,) = calls
    given = model_given(objects, context, optimizer, call)
    if given is not None:
        return given
    if call not in context.source.parents or function_of(context, call) is not function_of(context, trainer):
        raise Unclear("the model is set up in another function")
    if len(call.args) != 1 or call.keywords:
        raise Unclear("which model is trained is not known")
    name_of(context, call.args[0], call, "the model")
    return call.args[0]


def _model_or_target(objects: Objects, context: Context, optimizer: ast.expr, trainer: ast.Call) -> ast.expr:
    """What the optimizer was set up with, by its name, else ``optimizer.target``."""
    try:
        model = _model(objects, context, optimizer, trainer)
    except Unclear:
        return ast.Attribute(optimizer, "target", ast.Load())
    return model


def _kind_of(objects: Objects, context: Context, optimizer: ast.expr, loss: ast.expr) -> Kind:
    """What is called with a batch; of ``optimizer.target`` the ``setup`` calls tell, which may be of several models."""
    if context.source.parents.get(loss) is not None:
        return context.kind(loss)
    uses = [use for inst in objects.of(context.kind(optimizer)) for use in objects.uses_of(inst)]
    setups = [use for use in uses if use.member == "setup"]
    models = [use.context.kind(use.call.args[0]) for use in setups if use.call is not None and use.call.args]
    return join_all(models) if models and len(models) == len(setups) else UNKNOWN


def _runs(objects: Objects, context: Context, trainer: ast.Call, scope: ast.AST | None) -> tuple[ast.Expr, ...]:
    """The statements ``trainer.run()``."""
    uses = {use.node: use for inst in objects.of(context.kind(trainer)) for use in objects.uses_of(inst)}
    runs = [use for use in uses.values() if use.member == "run"]
    if not runs:
        raise Unclear("does not run")
    return tuple(_run(context, use, scope) for use in runs)


def _run(context: Context, use: Use, scope: ast.AST | None) -> ast.Expr:
    call = use.call
    statement = use.context.source.parents.get(call) if call is not None else None
    if call is None or not isinstance(statement, ast.Expr) or call not in context.source.parents:
        raise Unclear("runs in a way that is not understood")
    if call.args or any(k.arg != "show_loop_exception_msg" for k in call.keywords):  # pytorch-pfn-extras shows none
        raise Unclear("runs in a way that is not understood")
    if function_of(context, call) is not scope or context.source.line_statement(statement) is not statement:
        raise Unclear("runs in another function")
    return statement


def _starts_early(objects: Objects, context: Context, trainer: ast.Call) -> bool:
    uses = [use for inst in objects.of(context.kind(trainer)) for use in objects.uses_of(inst)]
    keywords = [k for use in uses if use.member == "extend" and use.call is not None for k in use.call.keywords]
    return any(
        k.arg == "call_before_training" and not (isinstance(k.value, ast.Constant) and not k.value.value)
        for k in keywords
    )


# -- arguments -----------------------------------------------------------------------------------------------------


def converter_of(context: Context, node: ast.expr | None, device: ast.expr | None) -> Conversion | None:
    """A converter of the program's own; None: Chainer's. Raises Unclear."""
    if node is None or is_default(context, node):
        return None
    found = conversion_of(context, node, device)
    if found is None:
        raise Unclear("what the converter returns is not known")
    return found


def device_of(context: Context, node: ast.expr | None, scope: ast.AST | None) -> Device:
    """The device of an updater or evaluator. Raises Unclear."""
    if node is None or stays_on_host(context, node):
        return Device()
    if not is_path(node) and not (isinstance(node, ast.Constant) and type(node.value) is int):
        raise Unclear("the device has no name")
    kinds = options(context.kind(node))
    if all(isinstance(k, Inst) and context.analysis.derives(k.cls, "chainer.backend.Device") for k in kinds):
        return Device(ast.unparse(node))
    return Device("torch_device" if "device" in names_in(context, scope) else "device", node)


def stays_on_host(context: Context, device: ast.expr) -> bool:
    """Whether what an updater or evaluator is told about a device is that there is none."""
    minus_one = isinstance(device, ast.UnaryOp) and ast.unparse(device) == "-1"
    return minus_one or context.kind(device) in (NONE, Const(-1))


def stops_by_iteration(context: Context, stop: ast.expr | None) -> bool:
    """Whether a stop trigger may fire in the middle of an epoch."""
    if not isinstance(stop, ast.Tuple) or len(stop.elts) != 2:
        return True
    unit, length = stop.elts[1], context.kind(stop.elts[0])
    return not (isinstance(unit, ast.Constant) and unit.value == "epoch") or scalar_type(length) == "float"


def is_interval(context: Context, stop: ast.expr | None) -> bool:
    """Whether a stop trigger is a length and a unit: it may be asked twice."""
    return stop is not None and all(isinstance(k, Tup) for k in options(context.kind(stop)))


__all__ = [
    "EVALUATOR",
    "TRAINER",
    "UPDATER",
    "Device",
    "Program",
    "Step",
    "Unclear",
    "converter_of",
    "device_of",
    "function_of",
    "is_interval",
    "name_of",
    "names_in",
    "program_of",
    "stays_on_host",
    "stops_by_iteration",
]
