"""What Chainer itself does with the user's objects: the calls that no source line of the project shows.

A Chain's forward gets Variables; an Updater feeds batches of its iterator to the optimizer's target; an extension gets
the trainer; ``get_example`` gives host arrays.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from typing import TYPE_CHECKING

from chainer2torch.analysis.models import data, link_lists
from chainer2torch.analysis.models.array_kinds import entering, on_device
from chainer2torch.analysis.bound import bind_kinds
from chainer2torch.analysis.kinds import (
    BOTTOM,
    NONE,
    UNKNOWN,
    Batch,
    Class,
    Const,
    Func,
    HostArray,
    Inst,
    Kind,
    Lst,
    Method,
    Ref,
    Scalar,
    Tensor,
    Tup,
    Unknown,
    join,
    join_all,
    options,
    parse_spec,
    scalar_type,
)
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo

if TYPE_CHECKING:
    from chainer2torch.analysis.flow import Analysis

_KNOWN_CALLERS = (
    "chainer.links.Classifier",
    "chainer.training.updaters",
    "chainer.training.extensions.Evaluator",
    "chainer.iterators",
    "chainer.datasets.TupleDataset",
    "chainer.training.Trainer",
    "chainer.optimizers",
)
_MORE_THAN_INPUT = frozenset({"chainer.links.Linear", "chainer.links.BatchNormalization"})
_INITIALIZER = re.compile(r"init(ial\w+|_\w+|ializer)|\w+_init")  # arguments of links: a function there fills an array
CLASSIFIER = "chainer.links.Classifier"
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


def parameters(analysis: Analysis, func: FuncInfo) -> dict[str, Kind]:
    """The environment in which a function's body starts."""
    a = func.node.args
    positional = [*a.posonlyargs, *a.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(a.defaults)) + list(a.defaults)
    env: dict[str, Kind] = {}
    for i, (p, default) in enumerate(zip([*positional, *a.kwonlyargs], [*defaults, *a.kw_defaults])):
        env[p.arg] = _parameter(analysis, func, i, p.arg, default)
    if a.vararg:
        env[a.vararg.arg] = Lst(analysis.hint(func, a.vararg.arg) or _variadic(analysis, func))
    if a.kwarg:
        env[a.kwarg.arg] = UNKNOWN
    return env


def _variadic(analysis: Analysis, func: FuncInfo) -> Kind:
    return Tensor() if _is_forward(analysis, func) else UNKNOWN


def _parameter(analysis: Analysis, func: FuncInfo, index: int, name: str, default: ast.expr | None) -> Kind:
    if index == 0 and func.cls is not None and not func.is_static:
        return Class(func.cls) if func.is_classmethod else Inst(func.cls)
    hint = analysis.hint(func, name)
    if hint is not None:
        return hint
    passed = _passed(analysis, func, index)
    if passed is not None:
        return passed
    fed = func.params.get(name)
    seed = Tensor() if _is_forward(analysis, func) and name not in func.listed and default is None else UNKNOWN
    if isinstance(fed, Unknown):
        return seed
    if fed is not None:
        return fed
    return seed if func.seeded else BOTTOM


def _passed(analysis: Analysis, func: FuncInfo, index: int) -> Kind | None:
    if func.cls is None:
        return None
    for (base, method), kinds in _PASSED.items():
        if func.name == method and index in kinds and analysis.derives(func.cls, base):
            return parse_spec("list of device" if _is_of_version_1(analysis, func) else kinds[index])
    return None


def _is_of_version_1(analysis: Analysis, func: FuncInfo) -> bool:
    """Whether a class on a function of Chainer's own has a ``backward`` of the time when those got arrays."""
    a = func.node.args
    return (
        func.cls is not None
        and func.name == "backward"
        and [p.arg for p in (*a.posonlyargs, *a.args)][1:2] == ["inputs"]
        and next((c for c in analysis.mro(func.cls) if isinstance(c, str)), "").startswith("chainer.functions.")
    )


def _is_forward(analysis: Analysis, func: FuncInfo) -> bool:
    return func.cls is not None and func.name in _FORWARD and analysis.derives(func.cls, "chainer.Link")


# -- links ---------------------------------------------------------------------------------------------------------


def call_link(
    analysis: Analysis, link: Inst, args: list[Kind], keywords: dict[str, Kind], node: ast.Call | None
) -> Kind:
    """The result of calling a link of Chainer's; notes what reaches it."""
    cls = next((c for c in analysis.mro(link.cls) if isinstance(c, str)), "chainer.Link")
    first = args[0] if args else keywords.get("x", UNKNOWN)
    if link.site:
        # `bn(x, finetune=True)` and `linear(x, n_batch_axes=2)` ask for more than torch's plain layers can do
        plain = cls not in _MORE_THAN_INPUT or len(args) == 1 and not keywords
        seen = _as_input(first) if plain else UNKNOWN
        analysis.layer_inputs[link.site] = join(analysis.layer_inputs.get(link.site), seen)
        if node is not None:
            analysis.layer_calls.setdefault(link.site, set()).add(node)
    made = analysis.objects.get(link.site, {})
    if cls == CLASSIFIER:
        predictor = made.get("predictor")
        if predictor is not None and predictor != UNKNOWN:
            for option in options(predictor):
                analysis.call(option, args[:-1] or [Tensor()], {}, None)
        return Tensor(0, "floating")
    row = analysis.rules.member(cls, "__call__") or analysis.rules.member(cls, "forward")
    if row is not None:
        result = analysis.row_result(row, args, keywords, link)
        # L.Linear(x, n_batch_axes=2) keeps more axes than the rule says
        return Tensor() if "n_batch_axes" in keywords or cls == "chainer.links.Linear" and len(args) > 1 else result
    return Tensor() if analysis.rules.is_subclass(cls, "chainer.Link") or cls == "chainer.Link" else UNKNOWN


def walks_link(analysis: Analysis, call: ast.Call) -> bool:
    """Whether a call on something unknown can only be a link's: ``namedparams()``, or ``params()`` in such a file."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return (
        name in ("namedlinks", "namedparams")
        or name == "params"
        and not call.args
        and not call.keywords
        and any(isinstance(k, Ref) and k.name.startswith("chainer") for k in analysis.module.env.values())
    )


def call_own_function(analysis: Analysis, function: Inst) -> Kind:
    """What a call of an old-style function gives: Variables for the arrays that its ``forward`` returns."""
    if not isinstance(function.cls, ClassInfo) or not analysis.derives(function.cls, "chainer.Function"):
        return UNKNOWN
    for name in ("forward", "forward_cpu", "forward_gpu"):
        found = analysis.class_attribute(function.cls, name, function)
        if isinstance(found, Func):
            analysis.reads(found.info, "return")
            outputs = found.info.returns
            if outputs is None and not analysis.widened(found.info):
                return BOTTOM
            if isinstance(outputs, Tup) and outputs.items:
                variables = tuple(
                    Tensor(k.rank, k.dtype) if isinstance(k, (Tensor, HostArray)) else Tensor() for k in outputs.items
                )
                return variables[0] if len(variables) == 1 else Tup(variables)
            return UNKNOWN
    return UNKNOWN


def _as_input(kind: Kind) -> Kind:
    return kind if isinstance(kind, Tensor) else Tensor() if not isinstance(kind, (Lst,)) else kind


def constructed(analysis: Analysis, cls: str, made: dict[str, Kind]) -> None:
    """An object of Chainer's was made: what it will call is fed."""
    data.connected(analysis, cls, made)
    # a model that goes into these is called in ways that are known: by the updater, the evaluator or its Classifier
    known = cls.startswith(_KNOWN_CALLERS)
    for name, kind in made.items():
        if _INITIALIZER.fullmatch(name) and isinstance(kind, (Func, Inst)):
            analysis.call(kind, [parse_spec("device")], {}, None)
        elif not known:
            analysis.escape(kind)


def fed_functions(analysis: Analysis, callee: Ref, args: list[Kind], keywords: dict[str, Kind]) -> list[Kind | None]:
    """Arguments that are called with what is known: by Chainer, or by a thread that gets its arguments as a tuple."""
    if callee.name in ("threading.Thread", "multiprocessing.Process"):
        given = keywords.get("args", Tup(()))
        if isinstance(given, Tup) and "kwargs" not in keywords:
            for option in options(keywords.get("target", UNKNOWN)):
                if isinstance(option, (Func, Method)):
                    analysis.call(option, list(given.items), {}, None)
            return [keywords.get("target")]
    if not callee.name.startswith("chainer"):
        return []
    row = analysis.rules.rows.get(callee.name)
    bound = bind_kinds(row, args, keywords, None) if row is not None else keywords
    return [
        kind
        for name, kind in bound.items()
        if name == "converter"
        or _INITIALIZER.fullmatch(name)
        or name in ("eval_func", "loss_func")
        and data.calls_with_batches(analysis, callee.name)
    ]


# -- objects of training code --------------------------------------------------------------------------------------


def method(analysis: Analysis, receiver: Inst, name: str, args: list[Kind], node: ast.AST | None) -> Kind | None:
    """The result of a method that a rule's ``returns`` cannot say; None: ask the rule."""
    cls = receiver.cls
    if cls == "argparse.ArgumentParser":
        return _argparse(analysis, receiver, name, node)
    if analysis.derives(cls, "chainer.dataset.Iterator"):
        if name in ("next", "__next__", "__iter__"):
            return data.iterated(analysis, receiver)
    if name == "send" and args and isinstance(node, ast.Call) and sends_to_numpy(analysis, node):
        return _on_host(args[0])
    if name == "setup" and args and analysis.derives(cls, "chainer.Optimizer"):
        made = analysis.objects.setdefault(receiver.site, {})
        made["target"] = join(made.get("target"), args[0])
        if not isinstance(args[0], Unknown) and analysis.once(data.has_one_target):
            analysis.objects[data.ONLY_OPTIMIZER] = made
            analysis.changed(data.ONLY_OPTIMIZER, "target")
        return receiver
    within = getattr(analysis.unit, "cls", None)
    if name == "__init__" and isinstance(within, ClassInfo) and isinstance(node, ast.Call):
        data.hold_targets(
            analysis,
            within,
            args,
            {k.arg: analysis.facts.get(k.value, UNKNOWN) for k in node.keywords if k.arg is not None},
        )
    if name == "get_target" and (target := data.held_target(analysis, receiver, args)) is not None:
        return target
    if name == "update" and args and hands_on(analysis, receiver, name, node):
        for option in options(args[0]):
            analysis.call(option, [entering(a) for a in args[1:]], {}, None)
    if name == "add_hook" and args and not isinstance(args[0], Unknown):
        _add_hook(analysis, receiver, args[0])
    if analysis.is_link(receiver) and name in ("add_link", "add_param", "add_persistent", "__init__"):
        _register(analysis, receiver, name, args, node)
    if name == "register_persistent" and args and analysis.is_link(receiver):
        _register_persistent(analysis, receiver, args[0])
    if analysis.derives(cls, "chainer.ChainList"):
        if name in ("__getitem__", "__iter__"):
            return link_lists.item(analysis, receiver)
        link_lists.put(analysis, receiver, name, args, node)
    if analysis.is_link(receiver) and name == "__getitem__":
        if args and isinstance(args[0], Const) and isinstance(args[0].value, str):
            return analysis.attribute(receiver, args[0].value)
        return join_all([Inst("chainer.Link")])
    return None


def hands_on(analysis: Analysis, receiver: Inst, name: str, node: ast.AST | None) -> bool:
    """Whether it is known, for a method of Chainer's, what its arguments are called with: see :func:`method`."""
    if name == "update":
        plain = (
            isinstance(node, ast.Call) and not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args)
        )
        return plain and analysis.derives(receiver.cls, "chainer.Optimizer")
    return name in ("setup", "add_hook")


def _add_hook(analysis: Analysis, receiver: Inst, hook: Kind) -> None:
    """A hook gets the optimizer; one for single parameters, or of an update rule, gets a rule and a parameter."""
    for option in options(hook):
        each = isinstance(option, Inst) and analysis.attribute(option, "call_for_each_param") == Const(True)
        if analysis.derives(receiver.cls, "chainer.UpdateRule") or each:
            analysis.call(option, [Inst("chainer.UpdateRule"), Tensor()], {}, None)
        elif analysis.derives(receiver.cls, "chainer.Optimizer"):
            analysis.call(option, [receiver], {}, None)


def sends_to_numpy(analysis: Analysis, call: ast.Call) -> bool:
    """``chainer.get_device('@numpy').send(x)``: written so, it is the way to an array of NumPy."""
    device = call.func.value if isinstance(call.func, ast.Attribute) else None
    return (
        isinstance(device, ast.Call)
        and len(device.args) == len(call.args) == 1
        and isinstance(device.args[0], ast.Constant)
        and device.args[0].value == "@numpy"
        and analysis.facts.get(device.func) == Ref("chainer.get_device")
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


def awaited(analysis: Analysis, callee: Kind, args: list[Kind], node: ast.Call) -> None:
    """A call whose arguments are not known yet: what it calls is called, the children that it makes are to come."""
    for option in options(callee):
        if isinstance(option, Func):
            option.info.called = True
        elif (
            isinstance(option, Method)
            and isinstance(option.receiver, Inst)
            and option.name in ("__init__", "add_link", "add_param")
            and analysis.is_link(option.receiver)
        ):
            _register(analysis, option.receiver, option.name, args, node)


def _register(analysis: Analysis, receiver: Inst, name: str, args: list[Kind], node: ast.AST | None) -> None:
    """``self.add_link('l1', L.Linear(...))`` and ``super().__init__(l1=L.Linear(...))`` set attributes."""
    if name == "__init__":
        cls = getattr(analysis.unit, "cls", None)
        if isinstance(node, ast.Call) and isinstance(cls, ClassInfo) and receiver.cls == CLASSIFIER:
            hold_predictor(
                analysis,
                cls,
                args,
                {k.arg: analysis.facts.get(k.value, UNKNOWN) for k in node.keywords if k.arg is not None},
            )
        if (
            isinstance(node, ast.Call)
            and isinstance(cls, ClassInfo)
            and receiver.cls in ("chainer.Chain", "chainer.Link")
        ):
            for keyword in node.keywords:
                if keyword.arg is not None:
                    kind = analysis.facts.get(keyword.value, UNKNOWN)
                    analysis.set_attribute(
                        cls, keyword.arg, kind if receiver.cls == "chainer.Chain" else parameter_of(kind)
                    )
    elif len(args) > 1 and isinstance(args[0], Const):
        if name == "add_persistent":
            if not all(isinstance(k, (HostArray, Tensor)) for k in options(args[1])):
                return
            kind = on_device(args[1])  # a buffer
        else:
            kind = args[1] if name == "add_link" else parameter_of(args[1])
        if isinstance(receiver.cls, ClassInfo):
            analysis.set_attribute(receiver.cls, str(args[0].value), kind)
        elif receiver.site:  # a Chain of no class of its own
            made, child = analysis.objects.setdefault(receiver.site, {}), str(args[0].value)
            new = join(made.get(child), kind)
            if new != made.get(child):
                made[child] = new
                analysis.changed(receiver.site, child)


def _register_persistent(analysis: Analysis, receiver: Inst, name: Kind) -> None:
    """An array that ``self.register_persistent('mean')`` names becomes a buffer: a tensor."""
    if isinstance(receiver.cls, ClassInfo) and isinstance(name, Const):
        for kind in options(analysis.attribute(receiver, str(name.value))):
            if isinstance(kind, HostArray):
                analysis.set_attribute(receiver.cls, str(name.value), Tensor(kind.rank, kind.dtype, array=True))


def hold_predictor(analysis: Analysis, cls: ClassInfo, args: list[Kind], keywords: dict[str, Kind]) -> None:
    """A class on L.Classifier holds the model that its base is made with as ``self.predictor``."""
    predictor = args[0] if args else keywords.get("predictor", UNKNOWN)
    if not isinstance(predictor, Unknown):
        analysis.set_attribute(cls, "predictor", predictor)


def parameter_of(shape: Kind) -> Kind:
    """The parameter that is made from a shape."""
    if shape is BOTTOM:
        return BOTTOM
    if isinstance(shape, Tup) and not any(isinstance(n, (Tup, Ref)) for n in shape.items):
        return Tensor(len(shape.items))
    return Tensor(1) if scalar_type(shape) == "int" else Tensor()


def _argparse(analysis: Analysis, parser: Inst, name: str, node: ast.AST | None) -> Kind:
    """The types of command-line arguments, from ``add_argument(type=..., default=...)``."""
    if name in ("add_argument_group", "add_mutually_exclusive_group"):
        return parser
    if name in ("parse_args", "parse_known_args"):
        namespace = Inst("argparse.Namespace", parser.site)
        return namespace if name == "parse_args" else Tup((namespace, Lst(Scalar("str"))))
    if name == "add_argument" and isinstance(node, ast.Call):
        keywords = {k.arg: k.value for k in node.keywords if k.arg}
        flags = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        long = next((f for f in flags if f.startswith("--")), flags[0] if flags else "")
        dest = keywords.get("dest")
        key = dest.value if isinstance(dest, ast.Constant) else long.lstrip("-").replace("-", "_")
        made = analysis.objects.setdefault(parser.site, {})
        # Options that share a destination (`--gpu` and `--device`) may give values of either type.
        made[str(key)] = join(made.get(str(key)), _argument(analysis, long, keywords))
    return UNKNOWN


def _argument(analysis: Analysis, flag: str, keywords: dict[str, ast.expr]) -> Kind:
    action = keywords.get("action")
    if isinstance(action, ast.Constant):
        return Scalar("bool") if action.value in ("store_true", "store_false") else UNKNOWN
    if "nargs" in keywords and not (isinstance(keywords["nargs"], ast.Constant) and keywords["nargs"].value == "?"):
        return Lst(UNKNOWN)
    default = analysis.facts.get(keywords["default"], UNKNOWN) if "default" in keywords else None
    kind = analysis.facts.get(keywords["type"], UNKNOWN) if "type" in keywords else Ref("builtins.str")
    if default is None and flag.startswith("-") or default == NONE:
        return UNKNOWN  # None when it is left out
    name = kind.name[9:] if isinstance(kind, Ref) and kind.name.startswith("builtins.") else ""
    return Scalar(name) if name in ("int", "float", "str", "bool") else UNKNOWN


def without_array(kind: Kind) -> Kind:
    """The Variable that wraps an array."""
    return dataclasses.replace(kind, array=False) if isinstance(kind, Tensor) else kind


__all__ = ["Batch", "ClassInfo", "Func", "call_link", "constructed", "method", "parameters", "without_array"]
