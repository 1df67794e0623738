"""What a model or a loss function is called with: the parts of a batch, by the names of its own parameters."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import (
    UNKNOWN,
    Batch,
    Const,
    Dct,
    Func,
    HostArray,
    Inst,
    Kind,
    Lst,
    Ref,
    Tensor,
    Tup,
    options,
)
from chainer2torch.analysis.lattice import element_of
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.native.needed_parts import needed_parts
from chainer2torch.plan.questions.called_methods import called_method
from chainer2torch.plan.questions.paths import is_path

_CLASSIFIER = "chainer.links.Classifier"
_DEFAULT = (Ref("chainer.dataset.concat_examples"), Ref("chainer.dataset.convert.concat_examples"))
_INPUT, _LABEL = ("x",), "t"
_DICTIONARIES, _TRANSFORMED = "chainer.datasets.DictDataset", "chainer.datasets.TransformDataset"
_PARTS = ("chainer.datasets.SubDataset", "chainer.datasets.ConcatenatedDataset")


def parts_of(analysis: Analysis, callee: Kind) -> tuple[str, ...] | None:
    """The names of the parts of a batch that ``callee`` takes; None where their number is not known."""
    found = {_parts(analysis, kind) for kind in options(callee)}
    if len({None if names is None else len(names) for names in found}) != 1:
        return None
    return min(found, key=str)


def _parts(analysis: Analysis, kind: Kind) -> tuple[str, ...] | None:
    if isinstance(kind, Func):
        return _parameters(kind.info, kind.receiver is not None and not kind.info.is_static)
    if not isinstance(kind, Inst):
        return None
    if analysis.derives(kind.cls, _CLASSIFIER):
        key = analysis.objects.get(kind.site, {}).get("label_key")
        if key is not None and key != Const(-1):
            return None  # a batch is a dictionary, or its labels are not its last part
        predictor = analysis.objects.get(kind.site, {}).get("predictor") if _plain(kind) else None
        inner = (
            parts_of(analysis, predictor) if predictor is not None and not _is_classifier(analysis, predictor) else None
        )
        names = inner or _INPUT
        return (*names, _LABEL if _LABEL not in names else "label")
    method = called_method(analysis, kind.cls)
    if method is not None:
        return _parameters(method, True)
    return _INPUT if analysis.is_link(kind) else None


def takes_several(analysis: Analysis, callee: Kind) -> bool:
    """Whether ``callee`` needs two parts of a batch or more, even if it may take others: batches are tuples then."""
    return all(_takes_several(analysis, kind) for kind in options(callee))


def _takes_several(analysis: Analysis, kind: Kind) -> bool:
    if isinstance(kind, Func):
        return needed_parts(kind.info, kind.receiver is not None and not kind.info.is_static) > 1
    if not isinstance(kind, Inst):
        return False
    if analysis.derives(kind.cls, _CLASSIFIER):  # its label is one of them
        key = analysis.objects.get(kind.site, {}).get("label_key", Const(-1))
        return _plain(kind) and isinstance(key, Const) and isinstance(key.value, int)
    method = called_method(analysis, kind.cls)
    return method is not None and needed_parts(method, True) > 1


def are_single(analysis: Analysis, iterator: Kind) -> bool:
    """Whether the examples that an iterator reads are arrays: a batch is one, too."""
    made = [analysis.objects.get(site, {}) for k in options(iterator) if isinstance(k, Inst) for site in k.sites]
    examples = [k for known in made for k in _examples(analysis, known.get("dataset", UNKNOWN))]
    return bool(examples) and all(isinstance(k, (Tensor, HostArray)) for k in examples)


def are_dictionaries(analysis: Analysis, iterator: Kind) -> bool | None:
    """Whether the examples that an iterator reads are dictionaries, whose batches go to a model by name.

    Where nobody knows them, the project's own data sets say it, if they agree. None: some are, and others are known to
    be others.
    """
    made = [analysis.objects.get(site, {}) for k in options(iterator) if isinstance(k, Inst) for site in k.sites]
    examples = [k for known in made for k in _examples(analysis, known.get("dataset", UNKNOWN)) if k != UNKNOWN]
    named = {isinstance(k, Dct) for k in examples}
    if not named:
        return analysis.once(_of_own_datasets) == {True}
    return None if len(named) == 2 else any(named)


def _of_own_datasets(analysis: Analysis) -> frozenset[bool]:
    """Whether the examples of the data sets that the project defines are dictionaries: both, where they differ."""
    return frozenset(
        isinstance(kind, Dct)
        for cls in analysis.classes.values()
        if "get_example" in cls.methods
        for kind in options(cls.methods["get_example"].returns or UNKNOWN)
        if kind != UNKNOWN
    )


def _examples(analysis: Analysis, dataset: Kind) -> Iterator[Kind]:
    """What a dataset gives: the elements of a sequence, what a class of the project's or a transformation returns."""
    yield from options(element_of(dataset))
    for inst in options(dataset):
        if isinstance(inst, Inst):
            yield from _of_chainers(analysis, inst)
            for owner in analysis.mro(inst.cls):
                methods = owner.methods if isinstance(owner, ClassInfo) else {}
                for method in ("get_example", "__getitem__"):
                    if method in methods:
                        yield from options(methods[method].returns or UNKNOWN)


def _of_chainers(analysis: Analysis, dataset: Inst) -> Iterator[Kind]:
    """The same of a class of Chainer's: it has dictionaries, or those of another data set, or what a function makes."""
    if analysis.derives(dataset.cls, _DICTIONARIES):
        yield Dct(UNKNOWN)
    for site in dataset.sites:
        made = analysis.objects.get(site, {})
        if dataset.cls in _PARTS:
            yield from _examples(analysis, made.get("dataset", UNKNOWN))
        elif dataset.cls == _TRANSFORMED:
            for function in options(made.get("transform", UNKNOWN)):
                if isinstance(function, Func):
                    yield from options(function.info.returns or UNKNOWN)


def _is_classifier(analysis: Analysis, kind: Kind) -> bool:
    return any(isinstance(k, Inst) and analysis.derives(k.cls, _CLASSIFIER) for k in options(kind))


def _plain(kind: Inst) -> bool:
    return isinstance(kind.cls, str)


def _parameters(function: FuncInfo, bound: bool) -> tuple[str, ...] | None:
    """The positional parameters, if there are no others that a longer batch might reach."""
    a = function.node.args
    if a.vararg or a.kwarg or a.kwonlyargs or a.defaults:
        return None
    return tuple(p.arg for p in [*a.posonlyargs, *a.args][bound:])


def renamed(names: Iterable[str], taken: frozenset[str]) -> tuple[str, ...]:
    """The names of the parts, so that no other name of the function is lost."""
    return tuple(f"{name}_batch" if name in taken else name for name in names)


def call_of(callee: str, names: Iterable[str], device: str) -> str:
    """``model(x, t)``, or ``model(x.to(device), t.to(device))`` where the batch goes to a device."""
    args: list[ast.expr] = [ast.Name(name) for name in names]
    if device:
        args = [ast.Call(ast.Attribute(name, "to"), [ast.Name(device)], []) for name in args]
    return ast.unparse(ast.Call(ast.parse(callee, mode="eval").body, args, []))


@dataclasses.dataclass(frozen=True)
class Conversion:
    """A converter of the program's own: its name, how its result is handed on, and whether that has to be moved."""

    name: str
    device: str
    stars: str | None  # "*", "**", ""; None: known at run time only
    moves: bool  # whether arrays of NumPy may be in it: Chainer's models take them

    def call(self, batch: str) -> str:
        """The template of a model's call with a batch, which is a list of examples."""
        parts = f"CONVERT({batch}, DEVICE)"
        if self.moves:
            parts = f"native.to_device(DEVICE, {parts})"
        return f"native.call_with(CALLEE, {parts})" if self.stars is None else f"CALLEE({self.stars}{parts})"

    def operands(self, callee: str) -> dict[str, Operand]:
        """What the names of the template stand for."""
        return {
            "CALLEE": Operand(code=callee),
            "CONVERT": Operand(code=self.name),
            "DEVICE": Operand(code=self.device),
        }


def conversion_of(context: Context, converter: ast.expr, device: ast.expr | None) -> Conversion | None:
    """How the batches of an updater or evaluator are converted; None: that is not known."""
    if not is_path(converter) or device is not None and not _is_simple(device):
        return None
    kinds = [k for k in options(context.kind(converter)) if k != UNKNOWN and k not in _DEFAULT]
    found = [_called(context.analysis, kind) for kind in kinds]
    known = [function for function in found if function is not None]
    if len(known) < len(found):
        return None
    alone = len(kinds) == len(options(context.kind(converter)))
    stars = {_stars(function) for function in known} | ({None} if not alone else set())
    moves = not alone or any(_holds_arrays(function.returns) for function in known)
    text = "None" if device is None else ast.unparse(device)
    return Conversion(ast.unparse(converter), text, stars.pop() if len(stars) == 1 else None, moves)


def _called(analysis: Analysis, kind: Kind) -> FuncInfo | None:
    """The function of the program's own that a call of a value runs: itself, or ``__call__`` of its class."""
    if isinstance(kind, Func):
        return kind.info
    owners = analysis.mro(kind.cls) if isinstance(kind, Inst) and not analysis.is_link(kind) else []
    own = (
        owner.methods["__call__"] for owner in owners if isinstance(owner, ClassInfo) and "__call__" in owner.methods
    )
    return next(own, None)


def _is_simple(node: ast.expr) -> bool:
    number = node.operand if isinstance(node, ast.UnaryOp) else node
    return is_path(node) or isinstance(number, ast.Constant)


def _stars(converter: FuncInfo) -> str | None:
    """How Chainer hands on what a converter returns: a tuple by position, a dictionary by name.

    The kind of ``tuple(x)`` is that of a list: which of the two it is, the ``return`` has to say.
    """
    kinds = {type(k) for k in options(converter.returns)} if converter.returns is not None else set()
    if kinds == {Lst}:
        written = {_sequence(node) for node in _returned(converter.node)}
        return written.pop() if len(written) == 1 else None
    if kinds == {Tup}:
        return "*"
    if kinds == {Dct}:
        return "**"
    return "" if kinds and kinds <= {Tensor, HostArray} else None


def _sequence(node: ast.expr | None) -> str | None:
    """``""`` for an expression that is a list, ``*`` for one that is a tuple."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return {"list": "", "sorted": "", "tuple": "*"}.get(node.func.id)
    return "" if isinstance(node, (ast.List, ast.ListComp)) else None


def _returned(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.expr | None]:
    if isinstance(function, ast.Lambda):
        return [function.body]
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    todo: list[ast.AST] = list(function.body)
    found: list[ast.expr | None] = []
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Return):
            found.append(node.value)
        elif not isinstance(node, inner):
            todo.extend(ast.iter_child_nodes(node))
    return found


def _holds_arrays(kind: Kind | None) -> bool:
    if isinstance(kind, Tup):
        return any(map(_holds_arrays, kind.items))
    if isinstance(kind, (Lst, Dct)):
        return _holds_arrays(kind.element)
    return not (kind is not None and all(isinstance(k, (Tensor, Batch)) for k in options(kind)))


def target_of(names: tuple[str, ...]) -> str:
    """What a loop over the batches binds: ``x, t``, or one name."""
    return ", ".join(names)


__all__ = [
    "Conversion",
    "are_dictionaries",
    "are_single",
    "call_of",
    "conversion_of",
    "parts_of",
    "renamed",
    "takes_several",
    "target_of",
]
