"""Methods of Chainer's objects whose effect or result a rule's row cannot state, as a table by method name.

Each entry is a small function that models one thing. It looks at the class of the receiver itself, because the same
name means different things: ``update`` of an optimizer, ``__getitem__`` of a ChainList.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from chainer2torch.analysis.values import dataclass
from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import (
    UNKNOWN,
    Const,
    Func,
    HostArray,
    Inst,
    Kind,
    Lst,
    Ref,
    Tensor,
    Tup,
    Unknown,
    options,
)
from chainer2torch.analysis.lattice import join
from chainer2torch.analysis.models import command_line, computed_children, data, link_lists, pools, sent, sequences
from chainer2torch.analysis.models.array_kinds import entering
from chainer2torch.analysis.models.link_children import register, register_persistent
from chainer2torch.analysis.module_index import ClassInfo

_TRAINER = "chainer.training.Trainer"


@dataclass(frozen=True)
class MethodCall:
    """A call ``receiver.name(*args)`` of an object outside the project. ``node`` is missing for implied calls."""

    receiver: Inst
    name: str
    args: list[Kind]
    node: ast.AST | None


def method(interpreter: Interpreter, receiver: Inst, name: str, args: list[Kind], node: ast.AST | None) -> Kind | None:
    """The result of a method, after its effects on what is known; None: the rule's row states the result."""
    if receiver.cls == "argparse.ArgumentParser":
        return command_line.parser_method(interpreter, receiver, name, node)
    if receiver.cls == pools.FUTURE or receiver.cls in pools.POOLS:
        return pools.method(interpreter, receiver, name, args, node)
    if sequences.is_sequential(interpreter, receiver):
        sequences.method_called(interpreter, receiver, name, args, node)
    models = _MODELS.get(name)
    if models is not None:
        call = MethodCall(receiver, name, args, node)
        for model in models:
            result = model(interpreter, call)
            if result is not None:
                return result
    return None


def knows_callbacks(interpreter: Interpreter, receiver: Inst, name: str, node: ast.AST | None) -> bool:
    """Whether the table below models how a method calls its arguments, so that they do not escape."""
    if name == "update":
        plain = (
            isinstance(node, ast.Call) and not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args)
        )
        return plain and interpreter.derives(receiver.cls, "chainer.Optimizer")
    if name == "extend" and interpreter.derives(receiver.cls, _TRAINER):
        return True
    return (
        name in ("setup", "add_hook") or pools.is_pool(receiver, name) or sequences.is_sequential(interpreter, receiver)
    )


# -- data sets and devices -----------------------------------------------------------------------------------------


def _next_batch(interpreter: Interpreter, call: MethodCall) -> Kind | None:
    """``iterator.next()`` gives a list of examples."""
    if interpreter.derives(call.receiver.cls, "chainer.dataset.Iterator"):
        return data.iterated(interpreter, call.receiver)
    return None


def _send(interpreter: Interpreter, call: MethodCall) -> Kind | None:
    """``chainer.get_device('@numpy').send(x)`` gives an array on the host."""
    if call.args and isinstance(call.node, ast.Call) and sends_to_numpy(interpreter, call.node):
        return _on_host(call.args[0])
    return None


def sends_to_numpy(interpreter: Interpreter, call: ast.Call) -> bool:
    """``chainer.get_device('@numpy').send(x)``: written so, it is the way to an array of NumPy."""
    device = call.func.value if isinstance(call.func, ast.Attribute) else None
    return (
        isinstance(device, ast.Call)
        and len(device.args) == len(call.args) == 1
        and isinstance(device.args[0], ast.Constant)
        and device.args[0].value == "@numpy"
        and interpreter.facts.get(device.func) == Ref("chainer.get_device")
    )


def _on_host(kind: Kind) -> Kind:
    """The kind of an array, or of a list or tuple of them, after it was sent to NumPy's device."""
    if isinstance(kind, Tensor):
        return HostArray(kind.rank, kind.dtype)
    if isinstance(kind, Lst):
        return Lst(_on_host(kind.element))
    if isinstance(kind, Tup):
        return Tup(tuple(_on_host(item) for item in kind.items))
    return kind if isinstance(kind, HostArray) else UNKNOWN


# -- optimizers and evaluators -------------------------------------------------------------------------------------


def _setup(interpreter: Interpreter, call: MethodCall) -> Kind | None:
    """``optimizer.setup(model)`` makes the model the optimizer's target, and gives the optimizer."""
    if not call.args or not interpreter.derives(call.receiver.cls, "chainer.Optimizer"):
        return None
    made = interpreter.objects.setdefault(call.receiver.site, {})
    made["target"] = join(made.get("target"), call.args[0])
    if not isinstance(call.args[0], Unknown) and interpreter.once(data.has_one_target):
        interpreter.objects[data.ONLY_OPTIMIZER] = made
        interpreter.changed(data.ONLY_OPTIMIZER, "target")
    return call.receiver


def _update(interpreter: Interpreter, call: MethodCall) -> None:
    """``optimizer.update(loss_function, x, t)`` calls the function with the other arguments."""
    if call.args and knows_callbacks(interpreter, call.receiver, call.name, call.node):
        for option in options(call.args[0]):
            interpreter.call(option, [entering(a) for a in call.args[1:]], {}, None)


def _add_hook(interpreter: Interpreter, call: MethodCall) -> None:
    """``optimizer.add_hook(f)``: ``f`` gets the optimizer, or a rule and a parameter if it is for single parameters."""
    if not call.args or isinstance(call.args[0], Unknown):
        return
    for option in options(call.args[0]):
        each = isinstance(option, Inst) and interpreter.attribute(option, "call_for_each_param") == Const(True)
        if interpreter.derives(call.receiver.cls, "chainer.UpdateRule") or each:
            interpreter.call(option, [Inst("chainer.UpdateRule"), Tensor()], {}, None)
        elif interpreter.derives(call.receiver.cls, "chainer.Optimizer"):
            interpreter.call(option, [call.receiver], {}, None)


def _extend(interpreter: Interpreter, call: MethodCall) -> None:
    """``trainer.extend(f)``: ``f`` gets the trainer."""
    if call.args and interpreter.derives(call.receiver.cls, _TRAINER):
        for option in options(call.args[0]):
            if isinstance(option, Func) or isinstance(option, Inst) and isinstance(option.cls, ClassInfo):
                interpreter.call(option, [call.receiver], {}, None)


def _hold_targets(interpreter: Interpreter, call: MethodCall) -> None:
    """``super().__init__(iterator, model)`` in a class on Chainer's Evaluator."""
    within = getattr(interpreter.unit, "cls", None)
    if isinstance(within, ClassInfo) and isinstance(call.node, ast.Call):
        keywords = {k.arg: interpreter.facts.get(k.value, UNKNOWN) for k in call.node.keywords if k.arg is not None}
        data.hold_targets(interpreter, within, call.args, keywords)


def _hold_arguments(interpreter: Interpreter, call: MethodCall) -> None:
    """``super().__init__(message, value)`` in a class of errors."""
    cls = getattr(interpreter.unit, "cls", None)
    if isinstance(cls, ClassInfo):
        sent.constructed(interpreter, cls, call.args)


def _get_target(interpreter: Interpreter, call: MethodCall) -> Kind | None:
    """``evaluator.get_target('main')`` gives a model that the evaluator was made with."""
    return data.held_target(interpreter, call.receiver, call.args)


def _scope(interpreter: Interpreter, call: MethodCall) -> None:
    """``with reporter.scope(observation):`` the dictionary gets what is reported inside."""
    if call.args and interpreter.derives(call.receiver.cls, "chainer.Reporter") and isinstance(call.node, ast.Call):
        interpreter.observed(call.node)


# -- links ---------------------------------------------------------------------------------------------------------


def _register(interpreter: Interpreter, call: MethodCall) -> None:
    """``link.add_link(name, child)`` and others make an attribute."""
    if interpreter.is_link(call.receiver):
        register(interpreter, _object(interpreter, call), call.name, call.args, call.node)


def _object(interpreter: Interpreter, call: MethodCall) -> Inst:
    """The link whose method runs: of ``super().add_link(...)`` that of the class around it."""
    cls = getattr(interpreter.unit, "cls", None)
    function = call.node.func if isinstance(call.node, ast.Call) else None
    owner = function.value if isinstance(function, ast.Attribute) else None
    of_super = isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super"
    if call.name == "__init__" or not of_super or not isinstance(cls, ClassInfo) or call.receiver.site:
        return call.receiver
    return Inst(cls)


def _register_persistent(interpreter: Interpreter, call: MethodCall) -> None:
    """``link.register_persistent(name)`` makes a buffer of an attribute."""
    if call.args and interpreter.is_link(call.receiver):
        register_persistent(interpreter, _object(interpreter, call), call.args[0], call.node)


def _put_into_list(interpreter: Interpreter, call: MethodCall) -> None:
    """``chain_list.append(link)`` and others add to what a ChainList holds."""
    if interpreter.derives(call.receiver.cls, "chainer.ChainList"):
        link_lists.put(interpreter, call.receiver, call.name, call.args, call.node)


def _item_of_list(interpreter: Interpreter, call: MethodCall) -> Kind | None:
    """``chain_list[0]`` and ``for link in chain_list`` give a link."""
    if interpreter.derives(call.receiver.cls, "chainer.ChainList"):
        return link_lists.item(interpreter, call.receiver, call.name == "__iter__")
    return None


def _children_of_list(interpreter: Interpreter, call: MethodCall) -> Kind | None:
    """``chain_list.children()`` gives the links that it holds."""
    if interpreter.derives(call.receiver.cls, "chainer.ChainList") and not call.args:
        return Lst(link_lists.children(interpreter, call.receiver))
    return None


def _repeat(interpreter: Interpreter, call: MethodCall) -> Kind | None:
    """``link.repeat(3)`` makes a Sequential of copies of the link."""
    if not interpreter.is_link(call.receiver) or not isinstance(call.node, ast.Call):
        return None
    made = Inst(sequences.SEQUENTIAL, interpreter.site(call.node))
    sequences.repeated(interpreter, made.site, call.receiver)
    link_lists.made(interpreter, made.site, [call.receiver], None, False)
    return made


def _child_by_name(interpreter: Interpreter, call: MethodCall) -> Kind | None:
    """``chain['fc']`` is ``chain.fc``; any other name gives some link."""
    if not interpreter.is_link(call.receiver):
        return None
    if call.args and isinstance(call.args[0], Const) and isinstance(call.args[0].value, str):
        return interpreter.attribute(call.receiver, call.args[0].value)
    name = call.node.args[0] if isinstance(call.node, ast.Call) and call.node.args else call.node
    if not isinstance(name, ast.expr):
        return Inst("chainer.Link")
    taken = computed_children.taken(interpreter, call.receiver, name)
    return taken or computed_children.in_turn(interpreter, call.receiver, name) or Inst("chainer.Link")


_Model = Callable[[Interpreter, MethodCall], Kind | None]
# in this order, up to the first that gives a result
_MODELS: dict[str, tuple[_Model, ...]] = {
    "next": (_next_batch,),
    "__next__": (_next_batch,),
    "__iter__": (_next_batch, _item_of_list),
    "__getitem__": (_item_of_list, _child_by_name),
    "send": (_send,),
    "setup": (_setup,),
    "update": (_update,),
    "add_hook": (_add_hook,),
    "get_target": (_get_target,),
    "scope": (_scope,),
    "__init__": (_hold_arguments, _hold_targets, _register, _put_into_list),
    "add_link": (_register, _put_into_list),
    "add_param": (_register,),
    "add_persistent": (_register,),
    "register_persistent": (_register_persistent,),
    "append": (_put_into_list,),
    "children": (_children_of_list,),
    "insert": (_put_into_list,),
    "repeat": (_repeat,),
    "extend": (_put_into_list, _extend),
    "__iadd__": (_put_into_list,),
}
