"""Functions and models that Chainer (or a thread) calls later, with arguments that are known from what it is given."""

from __future__ import annotations

import functools
import re

from chainer2torch.analysis.bound import bind_kinds
from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kind_specs import parse_spec
from chainer2torch.analysis.kinds import UNKNOWN, Dct, Func, HostArray, Inst, Kind, Method, Ref, Tensor, Tup, options
from chainer2torch.analysis.models import data
from chainer2torch.analysis.models.sequences import SEQUENTIAL
from chainer2torch.rules.signature import Signature


STATISTICS = "chainer.training.extensions.ParameterStatistics"
_KNOWN_CALLERS = (
    "chainer.links.Classifier",
    "chainer.training.updaters",
    "chainer.training.extensions.Evaluator",
    "chainer.iterators",
    "chainer.datasets.TupleDataset",
    "chainer.datasets.TransformDataset",
    "chainer.training.Trainer",
    "chainer.optimizers",
    SEQUENTIAL,
    STATISTICS,
)
_NAMED_LINKS = ("chainer.Chain", "chainer.FunctionSet")  # what they are made of is called by its name: `model.fc(x)`
_LIST = "chainer.ChainList"  # what it holds is called where the program walks over it, or takes an item
_OBSERVE, _TRAINER = "chainer.training.extensions.observe_value", "chainer.training.Trainer"
_CHECKS = frozenset({"chainer.gradient_check.check_backward", "chainer.gradient_check.check_double_backward"})
_FLAT = Tensor(rank=1, dtype="float32", array=True)  # what a statistic is made of: the values of a parameter
_INITIALIZER = re.compile(r"init(ial\w+|_\w+|ializer)|\w+_init")  # arguments of links: a function there fills an array


def constructed(interpreter: Interpreter, cls: str, made: dict[str, Kind]) -> None:
    """An object of Chainer's was made: what it will call is fed."""
    data.connected(interpreter, cls, made)
    if cls == data.TRANSFORMED:
        data.transformed(interpreter, made)
    # a model that goes into these is called in ways that are known: by the updater, the evaluator or its Classifier
    known = cls.startswith(_KNOWN_CALLERS) or cls in _NAMED_LINKS or interpreter.rules.is_subclass(cls, _LIST)
    for name, kind in made.items():
        if _INITIALIZER.fullmatch(name) and isinstance(kind, (Func, Inst)):
            interpreter.call(kind, [parse_spec("device")], {}, None)
        elif not known and not name.startswith("*"):  # those are what a list of links holds
            interpreter.escape(kind)


def fed_functions(
    interpreter: Interpreter, callee: Ref, args: list[Kind], keywords: dict[str, Kind]
) -> list[Kind | None]:
    """Arguments that are called with what is known: by Chainer, or by a thread that gets its arguments as a tuple."""
    if callee.name in ("threading.Thread", "multiprocessing.Process"):
        given = keywords.get("args", Tup(()))
        if isinstance(given, Tup) and "kwargs" not in keywords:
            for option in options(keywords.get("target", UNKNOWN)):
                if isinstance(option, (Func, Method)):
                    interpreter.call(option, list(given.items), {}, None)
            return [keywords.get("target")]
    if not callee.name.startswith("chainer"):
        return []
    if callee.name == _OBSERVE:  # the function gets the trainer that the extension is given to
        function = keywords.get("target_func", args[1] if len(args) > 1 else UNKNOWN)
        for option in options(function):
            if isinstance(option, (Func, Method)):
                interpreter.call(option, [Inst(_TRAINER)], {}, None)
        return [function]
    if callee.name == STATISTICS:
        statistics = keywords.get("statistics", args[1] if len(args) > 1 else UNKNOWN)
        for option in options(statistics.element) if isinstance(statistics, Dct) else ():
            if isinstance(option, (Func, Method)):
                interpreter.call(option, [_FLAT], {}, None)
        return [statistics]
    if callee.name in _CHECKS and len(args) > 1:
        return _checked(interpreter, args[0], args[1])
    if interpreter.rules.is_subclass(callee.name, _LIST):
        return [*args]
    if callee.name == data.TRANSFORMED:
        return [keywords.get("transform", args[1] if len(args) > 1 else UNKNOWN)]
    row = interpreter.rules.rows.get(callee.name)
    if row is not None and row.signature is not None and not _takes_callbacks(row.signature.text):
        return []
    bound = bind_kinds(row, args, keywords, None) if row is not None else keywords
    return [
        kind
        for name, kind in bound.items()
        if _is_callback(name)
        and (name not in ("eval_func", "loss_func") or data.calls_with_batches(interpreter, callee.name))
    ]


def _checked(interpreter: Interpreter, function: Kind, data_: Kind) -> list[Kind | None]:
    """``check_backward(function, x_data, ...)`` calls the function with a Variable for each array."""
    arrays = data_.items if isinstance(data_, Tup) else (data_,)
    if not all(isinstance(array, HostArray) for array in arrays):
        return []
    variables: list[Kind] = [Tensor(array.rank) for array in arrays if isinstance(array, HostArray)]
    for option in options(function):
        if isinstance(option, (Func, Method, Inst)):
            interpreter.call(option, variables, {}, None)
    return [function]


@functools.lru_cache(maxsize=4096)
def _takes_callbacks(signature: str) -> bool:
    """Whether a function of Chainer's with this signature calls one of its arguments."""
    return any(_is_callback(parameter.name) for parameter in Signature.parse(signature).parameters)


@functools.lru_cache(maxsize=4096)
def _is_callback(name: str) -> bool:
    """Whether an argument of this name may be a function that Chainer calls."""
    return name in ("converter", "eval_func", "loss_func") or _INITIALIZER.fullmatch(name) is not None
