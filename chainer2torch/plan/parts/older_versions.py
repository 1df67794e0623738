"""Calls in the words of Chainer's version 1: other arguments, or the same places with another meaning.

``L.Convolution2D(3, 64, 3, 1, 1, w)`` passes `wscale` in version 1 and `nobias` since version 2. The old signatures
stand in ``rules/eras``; where a call fits both and they differ, its arguments and its file decide, or nobody does.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Inst, Kind, Tensor, options, scalar_type
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, Replace
from chainer2torch.plan.questions.free_walks import arrays_walked_freely
from chainer2torch.plan.questions.idle_modes import never_drop
from chainer2torch.plan.questions.layer_modes import has_modes_of_its_own
from chainer2torch.plan.questions.named_layers import may_be_a_layer
from chainer2torch.plan.questions.only_values import only_value
from chainer2torch.rules.table import Row

_EVALUATOR = "Evaluator"
_NORMALIZING = ("BatchNormalization", "InceptionBN")
_MODES = {"test": "not value", "train": "value"}
_CODE = "C2T204"
_ARRAYS = {
    "gradients": "[p.grad for p in self.parameters()]",
    "parameters": "[p.detach() for p in self.parameters()]",
}


def number_of_elements(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``len(variable)`` counted the elements in version 1; since version 2 it is the length of the first axis.

    A parameter or attribute that is a Variable here may be given an array elsewhere: that is a question.
    """
    if len(call.args) != 1 or call.keywords:
        return
    argument, function = call.args[0], context.source.enclosing(call, ast.FunctionDef)
    variables = [
        isinstance(k, Tensor) and not k.array and k.rank != 1 for k in options(context.analysis.kind(argument))
    ]
    computed = (
        isinstance(argument, (ast.Call, ast.BinOp))
        or isinstance(argument, ast.Name)
        and not (
            isinstance(function, ast.FunctionDef)
            and argument.id in {a.arg for a in nodes_of(function.args) if isinstance(a, ast.arg)}
        )
    )
    if all(variables) and computed:
        decisions.replace(call, "self.numel()", {"self": context.operand(call.args[0])})
        decisions.mark(call, None, "chainer.Variable.__len__", "exact")
    elif any(variables):
        decisions.mark(
            call,
            None,
            "chainer.Variable.__len__",
            "review",
            "in version 1 of Chainer this is the number of "
            "elements of a Variable, and the length of the first axis of an array; write x.numel() for Variables",
            _CODE,
        )


def collect_parameters(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``optimizer.setup(model.collect_parameters())`` takes the model itself; a pair of lists is made nowhere."""
    call = context.source.parents.get(node)
    setup = context.source.parents.get(call) if isinstance(call, ast.Call) and call.func is node else None
    if (
        isinstance(node, ast.Attribute)
        and isinstance(call, ast.Call)
        and isinstance(setup, ast.Call)
        and isinstance(setup.func, ast.Attribute)
        and setup.func.attr == "setup"
        and call in setup.args
    ):
        decisions.replace(call, "self", {"self": context.operand(node.value)})
        decisions.mark(node, row, row.name, "exact")
    else:
        decisions.mark(
            node,
            row,
            row.name,
            "manual",
            "version 1's pair of lists, of parameters and of gradients, is not "
            "made; read the parameters by name from named_parameters(), and their .grad",
        )


def copy_parameters_from(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``target.copy_parameters_from(model.parameters)``: whatever their order is, it is the same in both."""
    call = context.source.parents.get(node)
    if isinstance(node, ast.Attribute) and isinstance(call, ast.Call) and (source := _all_parameters(context, call)):
        decisions.replace(
            call,
            "compat.copyparams(target, source, copy_persistent=False)",
            {"target": context.operand(node.value), "source": context.operand(source)},
        )
        decisions.mark(node, row, row.name, "exact")
    else:
        decisions.mark(node, row, row.name, "manual", row.note)


def parameters(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``model.parameters`` and ``model.gradients`` of a FunctionSet: tuples, whose order a loop may not ask for."""
    call = context.source.parents.get(node)
    if isinstance(node, ast.Attribute) and isinstance(call, ast.For) and call.iter is node and _only_fills(call):
        _fill(context, decisions, node)
        decisions.mark(node, row, row.name, "exact")
        return
    if isinstance(call, ast.Call) and call.func is node:
        return  # PyTorch's method: what is a tuple in version 1 is not called
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and arrays_walked_freely(context, node):
        decisions.replace(node, _ARRAYS[node.attr], {"self": context.operand(node.value)})
        decisions.mark(node, row, row.name, "exact")
        return
    copied = isinstance(call, ast.Call) and _all_parameters(context, call) is not None
    decisions.mark(node, row, row.name, "exact" if copied else "manual", "" if copied else row.note)


def _only_fills(loop: ast.For) -> bool:
    """Whether a loop over arrays does nothing but fill each: ``param[:] = numpy.random.uniform(-1, 1, param.shape)``;
    of the array it asks its shape alone.
    """
    if not isinstance(loop.target, ast.Name) or loop.orelse:
        return False
    for statement in loop.body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        if not isinstance(statement, ast.Assign) or not isinstance(target, ast.Subscript):
            return False
        if ast.unparse(target) not in (f"{loop.target.id}[:]", f"{loop.target.id}[...]"):
            return False
        own = [n for n in nodes_of(statement.value) if isinstance(n, ast.Name) and n.id == loop.target.id]
        shapes = [n.value for n in nodes_of(statement.value) if isinstance(n, ast.Attribute) and n.attr == "shape"]
        if not all(any(name is shape for shape in shapes) for name in own):
            return False
    return True


def _fill(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    """Version 1's order is that of the layers' names; what is drawn for each comes in that order."""
    arrays = "(array.detach() for _, layer in sorted(model.named_children()) for array in layer.parameters())"
    decisions.replace(node, arrays, {"model": context.operand(node.value)})


def _all_parameters(context: Context, call: ast.Call) -> ast.expr | None:
    """The model of ``copy_parameters_from(model.parameters)``."""
    if (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "copy_parameters_from"
        and len(call.args) == 1
        and not call.keywords
        and isinstance(call.args[0], ast.Attribute)
        and call.args[0].attr == "parameters"
        and all(context.analysis.is_link(context.analysis.kind(held)) for held in (call.func.value, call.args[0].value))
    ):
        return call.args[0].value
    return None


def call_of_link(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``self.bn(x, test=test)``: version 1 passed the mode to the call, torch's layers keep it."""
    kinds = options(context.analysis.kind(call.func))
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return
    held = _held(context, call)
    looked_up = _is_looked_up(held) or _is_registered_unseen(context, held)
    looked_up = looked_up or context.era in (1, None) and may_be_a_layer(context, held)
    if any(_is_some_link(k) for k in kinds) or kinds == (UNKNOWN,) and looked_up:
        _call_of_some_link(context, decisions, call)
        return
    tells_nothing = len(call.args) == 1 and not call.keywords
    several = any(_normalizes(context, k) for k in kinds) and not all(_normalizes(context, k) for k in kinds)
    if tells_nothing and several and _keeps_training(context):
        _ask_for_mode(decisions, call)
        return
    if not all(isinstance(k, Inst) and isinstance(k.cls, str) and context.analysis.is_link(k) for k in kinds):
        return
    own = {
        name
        for k in kinds
        if isinstance(k, Inst) and isinstance(k.cls, str)  # L.SimplifiedDropconnect's train=
        for row in [context.rules.member(k.cls, "__call__")]
        if row is not None and row.signature is not None
        for name in row.signature.names
    }
    modes = _MODES.keys() - own
    mode = next(((_MODES[k.arg], k.value) for k in call.keywords if k.arg in modes), None)
    args, keywords = call.args, [k for k in call.keywords if k.arg not in modes]
    if mode is None and not call.keywords and args and len(args) == _arguments_of_stack(kinds) + 1:
        mode, args = (_MODES["train"], args[-1]), args[:-1]  # no later version takes so many
    silent = mode is None and len(args) == 1
    if mode is None:
        normalizes = all(_normalizes(context, k) for k in kinds)
        if not normalizes or len(args) != 2 and not (silent and _keeps_training(context)):
            return
        if context.era is None:
            decisions.mark(
                call,
                None,
                "chainer.links.BatchNormalization.__call__",
                "review",
                "the second argument is "
                "`finetune` since version 2 and was `test` in version 1 of Chainer; pass it by name",
                _CODE,
            )
        if context.era != 1:
            return
        mode, args = (_MODES["test"], args[-1]), args[:1]
    training, value = ("True", call.func) if silent else _training(context, *mode)
    operands = {"layer": context.operand(call.func), "value": context.operand(value)}
    plain = context.choices.style == "native" and (silent or has_modes_of_its_own(context, call.func))
    if plain and training == "value" and not _is_bool(context, value):
        training = "bool(value)"
    template = f"layer.train({'' if silent else training})(*args, **kwargs)"
    if context.choices.style == "native" and never_drop(context, kinds):
        template, plain = "layer(*args, **kwargs)", True
    decisions.edit(
        call,
        Replace(
            context.source.span(call),
            template if plain else f"compat.call_in_mode(layer, {training}, *args, **kwargs)",
            operands,
            extra=tuple(Operand(context.source.span(a)) for a in args),
            extra_keywords=tuple((str(k.arg), Operand(context.source.span(k.value))) for k in keywords),
        ),
    )
    decisions.mark(call, None, "chainer.Link.__call__", "exact", "", _CODE)


def _arguments_of_stack(kinds: Sequence[Kind]) -> int:
    """How many arguments a call of these stacks of recurrent layers has, without version 1's `train`; else -1."""
    names = {k.cls for k in kinds if isinstance(k, Inst) and isinstance(k.cls, str)}
    if not all(name.startswith("chainer.links.NStep") for name in names):
        return -1
    numbers = {3 if name.endswith("LSTM") else 2 for name in names}
    return numbers.pop() if len(numbers) == 1 else -1


def _normalizes(context: Context, kind: Kind) -> bool:
    """Whether a value is a batch normalization of Chainer's, or a block with some, which version 1 told ``test``."""
    return (
        isinstance(kind, Inst)
        and isinstance(kind.cls, str)
        and any(context.rules.is_subclass(kind.cls, f"chainer.links.{name}") for name in _NORMALIZING)
    )


def _keeps_training(context: Context) -> bool:
    """Whether a batch normalization that is told nothing trains where the model is evaluated: in version 1.

    There each call said its mode. Something of the project has to switch a model to its evaluation now.
    """
    return context.era == 1 and context.analysis.once(_has_evaluator)


def _ask_for_mode(decisions: Decisions, call: ast.Call) -> None:
    decisions.mark(
        call,
        None,
        "chainer.links.BatchNormalization.__call__",
        "review",
        "in version 1 of Chainer a batch normalization that is not told `test` uses the statistics of the batch in an "
        "Evaluator, too; here it follows the mode of the model. Call train() of those that are meant to go on so",
        _CODE,
    )


def _has_untold_normalization(context: Context) -> bool:
    """Whether the file makes a batch normalization and tells none of its links a mode, so that any may be it."""
    told = any(k.arg == "test" for k in context.source.of(ast.keyword))
    return not told and any(
        isinstance(kind := context.kind(call), Inst) and _normalizes(context, kind)
        for call in context.source.of(ast.Call)
        if isinstance(call.func, (ast.Attribute, ast.Name)) and ast.unparse(call.func).endswith(_NORMALIZING)
    )


def _has_evaluator(analysis: Analysis) -> bool:
    return any(
        isinstance(node, ast.alias)
        and node.name == _EVALUATOR
        or isinstance(node, ast.Attribute)
        and node.attr == _EVALUATOR
        for module in analysis.project.modules.values()
        for node in module.source.of(ast.Attribute, ast.alias)
    )


def _training(context: Context, template: str, value: ast.expr) -> tuple[str, ast.expr]:
    """Whether a call trains, as an expression of ``value``, and what that stands for: its truth is what counts."""
    if isinstance(value, ast.Constant):
        return str(bool(value.value) is (template == "value")), value
    if template == "not value" and isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        return "value", value.operand
    return template, value


def _is_bool(context: Context, value: ast.expr) -> bool:
    return all(scalar_type(k) == "bool" for k in options(context.kind(value))) or isinstance(
        value, (ast.Compare, ast.UnaryOp)
    )


def _is_some_link(kind: Kind) -> bool:
    """Whether nothing but that it is a link is known of it: ``self[name]``, ``for link in self.children():``."""
    return isinstance(kind, Inst) and kind.cls in ("chainer.Link", "chainer.Chain") and not kind.site


def _held(context: Context, call: ast.Call) -> ast.expr:
    """What is called with ``test=``, also by a name that is given a value once: ``bn = getattr(self, 'bn%d' % i)``."""
    named = isinstance(call.func, ast.Name) and any(k.arg in _MODES for k in call.keywords)
    value = only_value(context, call.func) if isinstance(call.func, ast.Name) and named else None
    return call.func if value is None else value


def _is_looked_up(node: ast.expr) -> bool:
    """``getattr(self, name)`` and ``links[name]``: most likely a link."""
    return (
        isinstance(node, ast.Subscript)
        or isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "getattr"
    )


def _is_registered_unseen(context: Context, node: ast.expr) -> bool:
    """``self.n`` in a class of links whose name no line of the file gives it: ``super().__init__(**layers)``."""
    if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"):
        return False
    cls = context.enclosing_class(node)
    if cls is None or not context.analysis.derives(cls, "chainer.Link"):
        return False
    own = context.analysis.mro(cls)
    return not (
        any(isinstance(k, ClassInfo) and (node.attr in k.methods or node.attr in k.attrs) for k in own)
        or node.attr in context.source.kept
        or node.attr in context.source.keywords
    )


def _call_of_some_link(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``self[name](x, test=test)``: a link of the project takes the mode as it did, a layer is put into it."""
    named = any(k.arg in _MODES for k in call.keywords)
    # of a batch normalization the second argument is `test`
    second = (
        context.era == 1
        and len(call.args) == 2
        and not call.keywords
        and (context.analysis.kind(call.func) != UNKNOWN or any(name in ast.unparse(call.args[1]) for name in _MODES))
    )
    own = context.choices.style == "native" and named and _takes_mode(context, call)
    own = own and not may_be_a_layer(context, _held(context, call))
    if context.migrated or not context.imports_chainer or own or not (named or second):
        silent = len(call.args) == 1 and not call.keywords and context.analysis.kind(call.func) != UNKNOWN
        if silent and not context.migrated and _keeps_training(context) and _has_untold_normalization(context):
            _ask_for_mode(decisions, call)
        return
    decisions.edit(
        call,
        Replace(
            context.source.span(call),
            "compat.call_as_version_1(layer, *args, **kwargs)",
            {"layer": context.operand(call.func)},
            extra=tuple(Operand(context.source.span(a)) for a in call.args),
            extra_keywords=tuple((str(k.arg), Operand(context.source.span(k.value))) for k in call.keywords),
        ),
    )
    decisions.mark(call, None, "chainer.Link.__call__", "exact", "", _CODE)


def _takes_mode(context: Context, call: ast.Call) -> bool:
    """Whether a model of the project takes the mode under the name that a call gives it, and so many arguments.

    A layer of torch would raise.
    """
    modes = {k.arg for k in call.keywords} & _MODES.keys()
    return any(
        info.name in ("__call__", "forward")
        and info.cls is not None
        and context.analysis.derives(info.cls, "chainer.Link")
        and modes <= {a.arg for a in (*info.node.args.args, *info.node.args.kwonlyargs)}
        and (info.node.args.vararg is not None or len(info.node.args.args) > len(call.args))
        for info in context.analysis.functions.values()
    )
