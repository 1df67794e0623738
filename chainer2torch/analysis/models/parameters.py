"""With which kinds the body of a function starts: what its calls pass, or what Chainer passes when it calls it.

A Chain's ``forward`` gets Variables, an extension gets the trainer, ``get_example`` gets an index: no line of the
project shows those calls.
"""

from __future__ import annotations


from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kind_specs import parse_spec
from chainer2torch.analysis.kinds import (
    BOTTOM,
    UNKNOWN,
    Class,
    Const,
    HostArray,
    Inst,
    Kind,
    Lst,
    Tensor,
    Tup,
    Unknown,
    options,
)
from chainer2torch.analysis.lattice import element_of, generalized, join_all
from chainer2torch.analysis.models.keyword_parameters import keywords_held
from chainer2torch.analysis.models.used_parameters import only_meets_functions
from chainer2torch.analysis.module_index import FuncInfo


COUNTED = "*"  # stands before the name of ``*args`` for what calls hand over one by one
_FORWARD = frozenset({"forward", "__call__"})


# parameters that Chainer passes to methods of the user's own classes: (Chainer base, method) -> {parameter index: kind}
_PASSED: dict[tuple[str, str], dict[int, str]] = {
    ("chainer.training.Extension", "__call__"): {1: "instance chainer.training.Trainer"},
    ("chainer.training.Extension", "initialize"): {1: "instance chainer.training.Trainer"},
    ("chainer.Link", "serialize"): {1: "instance chainer.Serializer"},
    ("chainer.dataset.DatasetMixin", "get_example"): {1: "int"},
    **{
        ("chainermn.CommunicatorBase", method): {1: "instance chainer.Link"}
        for method in ("bcast_data", "broadcast_data", "multi_node_mean_grad", "allreduce_grad")
    },
    ("chainer.Initializer", "__call__"): {1: "device"},
    ("chainer.UpdateRule", "init_state"): {1: "tensor"},
    ("chainer.UpdateRule", "update_core"): {1: "tensor"},
    ("chainer.UpdateRule", "update_core_cpu"): {1: "tensor"},
    ("chainer.UpdateRule", "update_core_gpu"): {1: "tensor"},
    **{  # version 1: a Variable and its state
        ("chainer.GradientMethod", f"{method}{device}"): {1: "tensor", 2: "dict of perhaps device"}
        for method in ("init_state", "update_one")
        for device in ("", "_cpu", "_gpu")
    },
    ("chainer.Function", "forward"): {1: "list of device"},
    ("chainer.Function", "forward_cpu"): {1: "list of device"},
    ("chainer.Function", "forward_gpu"): {1: "list of device"},
    ("chainer.Function", "backward"): {1: "list of device", 2: "list of device"},
    ("chainer.Function", "backward_cpu"): {1: "list of device", 2: "list of device"},
    ("chainer.Function", "backward_gpu"): {1: "list of device", 2: "list of device"},
    ("chainer.FunctionNode", "forward"): {1: "list of device"},
    ("chainer.FunctionNode", "forward_cpu"): {1: "list of device"},
    ("chainer.FunctionNode", "forward_gpu"): {1: "list of device"},
    ("chainer.FunctionNode", "backward"): {1: "list of int", 2: "list of tensor"},
    ("chainer.LinkHook", "added"): {1: "instance chainer.Link"},
    ("chainer.LinkHook", "deleted"): {1: "instance chainer.Link"},
    ("chainer.FunctionHook", "forward_preprocess"): {1: "instance chainer.FunctionNode", 2: "list of device"},
    ("chainer.FunctionHook", "forward_postprocess"): {1: "instance chainer.FunctionNode", 2: "list of device"},
    ("chainer.FunctionHook", "backward_preprocess"): {
        1: "instance chainer.FunctionNode",
        2: "list of device",
        3: "list of device",
    },
    ("chainer.FunctionHook", "backward_postprocess"): {
        1: "instance chainer.FunctionNode",
        2: "list of device",
        3: "list of device",
    },
}


_BY_METHOD = {
    name: [(base, kinds) for (base, method), kinds in _PASSED.items() if method == name] for _, name in _PASSED
}


def parameters(interpreter: Interpreter, func: FuncInfo) -> dict[str, Kind]:
    """The environment in which a function's body starts."""
    a = func.node.args
    env = {name: _parameter(interpreter, func, i, name) for i, name in enumerate(func.signature.names)}
    if a.vararg:
        element = interpreter.hint(func, a.vararg.arg) or _variadic(interpreter, func, a.vararg.arg)
        env[a.vararg.arg] = Lst(element) if element != UNKNOWN else _one_by_one(func, a.vararg.arg)
    if a.kwarg:
        env[a.kwarg.arg] = keywords_held(func)
    return env


def _variadic(interpreter: Interpreter, func: FuncInfo, name: str) -> Kind:
    """What ``*args`` holds: what visible calls pass if it is all of one kind of value."""
    fed = func.params.get(name)
    if _is_forward(interpreter, func):
        return Tensor()
    return fed if fed is not None and all(isinstance(k, (HostArray, Tensor)) for k in options(fed)) else UNKNOWN


def _one_by_one(func: FuncInfo, name: str) -> Kind:
    """``*args`` where all calls that are seen hand over as many: ``memory.push(state, action)``."""
    together = func.params.get(COUNTED + name)
    if together is None and name not in func.params and not func.seeded:
        return Lst(BOTTOM)  # no call has been seen so far
    calls = options(together) if together is not None else ()
    if not calls or not all(isinstance(one, (Lst, Tup)) for one in calls):
        return Lst(UNKNOWN)
    items = [item for one in calls for item in (one.items if isinstance(one, Tup) else (element_of(one),))]
    item = join_all(items)
    if join_all([generalized(option) for option in options(func.params.get(name, BOTTOM))]) != item:
        # some have come another way
        return Lst(UNKNOWN)
    return calls[0] if len(calls) == 1 else Lst(item)  # of several lengths


def _parameter(interpreter: Interpreter, func: FuncInfo, index: int, name: str) -> Kind:
    if index == 0 and func.cls is not None and not func.is_static:
        called_by = func.params.get(name) if func.is_classmethod else None
        if called_by is not None and all(isinstance(kind, Class) for kind in options(called_by)):
            return called_by
        return Class(func.cls) if func.is_classmethod else Inst(func.cls)
    hint = interpreter.hint(func, name)
    if hint is not None:
        return hint
    passed = _passed(interpreter, func, index)
    if passed is not None:
        return passed
    fed = func.params.get(name)
    lists = name in func.listed or name in func.list_fed
    is_tensor = _is_forward(interpreter, func) and not lists or _is_used_as_tensor(interpreter, func, name)
    seed = Tensor() if is_tensor and name not in func.signature.with_default else UNKNOWN
    if isinstance(fed, Unknown):
        return fed if seed == UNKNOWN else seed
    if fed == Tensor() and name in func.walked:  # what somebody else's `forward` is taken to get
        return UNKNOWN
    if fed is not None:
        return fed
    return seed if func.seeded else BOTTOM


def _is_used_as_tensor(interpreter: Interpreter, func: FuncInfo, name: str) -> bool:
    return func.seeded and name not in func.host_fed and only_meets_functions(interpreter, func, name)


def _passed(interpreter: Interpreter, func: FuncInfo, index: int) -> Kind | None:
    if func.cls is None:
        return None
    if func.name == "__call__" and func.cls.attrs.get("call_for_each_param") == Const(True):  # a hook of an optimizer
        return (None, Inst("chainer.UpdateRule"), Tensor())[index] if index < 3 else None
    for base, kinds in _BY_METHOD.get(func.name, ()):
        if index in kinds and interpreter.derives(func.cls, base):
            return parse_spec("list of device" if _is_of_version_1(interpreter, func) else kinds[index])
    return None


def _is_of_version_1(interpreter: Interpreter, func: FuncInfo) -> bool:
    """Whether a class on a function of Chainer's own has a ``backward`` of the time when those got arrays."""
    a = func.node.args
    return (
        func.cls is not None
        and func.name == "backward"
        and [p.arg for p in (*a.posonlyargs, *a.args)][1:2] == ["inputs"]
        and next((c for c in interpreter.mro(func.cls) if isinstance(c, str)), "").startswith("chainer.functions.")
    )


def _is_forward(interpreter: Interpreter, func: FuncInfo) -> bool:
    return func.cls is not None and func.name in _FORWARD and interpreter.derives(func.cls, "chainer.Link")
