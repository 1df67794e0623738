"""How examples flow from data sets through iterators and converters to the model that an updater or evaluator calls."""

from __future__ import annotations

import ast

from chainer2torch.analysis.models.array_kinds import dtype_of, on_device
from chainer2torch.analysis.decorators import passed
from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import (
    BOTTOM,
    NONE,
    UNKNOWN,
    Batch,
    Const,
    Dct,
    Func,
    HostArray,
    Inst,
    Kind,
    Lst,
    Scalar,
    Tensor,
    Tup,
    Union,
    Unknown,
    options,
    scalar_type,
)
from chainer2torch.analysis.libraries import HELPERS
from chainer2torch.analysis.lattice import element_of, join_all
from chainer2torch.analysis.module_index import ClassInfo

# data sets that Chainer provides: rank and dtype of an image, by the name of the function that loads them
_IMAGES = {
    "get_mnist": 1,
    "get_fashion_mnist": 1,
    "get_kuzushiji_mnist": 1,
    "get_cifar10": 3,
    "get_cifar100": 3,
    "get_svhn": 3,
}
_DATASETS = ("chainer.dataset.DatasetMixin", "chainer.datasets.SubDataset", "chainer.datasets.TupleDataset")
TRANSFORMED = "chainer.datasets.TransformDataset"
_SPLITS = frozenset({"split_dataset", "split_dataset_random"})
# data sets of image files, and whether an example has a label, too
_IMAGE_FILES = {
    "chainer.datasets.ImageDataset": False,
    "chainer.datasets.LabeledImageDataset": True,
    "chainer.datasets.ZippedImageDataset": False,
    "chainer.datasets.MultiZippedImageDataset": False,
    "chainer.datasets.LabeledZippedImageDataset": True,
}
# what the helpers in the place of these give, in a text that was migrated before
_MIGRATED = {
    cls.replace("chainer.datasets", HELPERS): Tup((HostArray(3), HostArray(0))) if labelled else HostArray(3)
    for cls, labelled in _IMAGE_FILES.items()
}
_UPDATERS = ("chainer.training.updaters.StandardUpdater", "chainer.training.updaters.ParallelUpdater")


def examples(interpreter: Interpreter, dataset: Kind) -> Kind:
    """The kind of one example of a data set."""
    return join_all([_examples(interpreter, k) for k in options(dataset)])


def _examples(interpreter: Interpreter, dataset: Kind) -> Kind:
    if isinstance(dataset, (Lst, Tup, HostArray)):
        return element_of(dataset)
    if not isinstance(dataset, Inst):
        return UNKNOWN
    made = interpreter.objects.get(dataset.site, {})
    if interpreter.derives(dataset.cls, "chainer.datasets.TupleDataset"):
        columns = made.get("datasets")
        if isinstance(columns, Tup) and columns.items:
            return Tup(tuple(examples(interpreter, c) for c in columns.items))
        return UNKNOWN
    if interpreter.derives(dataset.cls, "chainer.datasets.SubDataset"):
        return examples(interpreter, made.get("dataset", UNKNOWN))
    if interpreter.derives(dataset.cls, "chainer.datasets.DictDataset"):
        columns = made.get("datasets")
        items = columns.items if isinstance(columns, Dct) else ()
        rows = tuple((name, examples(interpreter, column)) for name, column in items)
        return Dct(join_all([kind for _, kind in rows]), rows) if rows else UNKNOWN
    if dataset.cls == TRANSFORMED:
        return transformed(interpreter, made)
    if interpreter.derives(dataset.cls, "chainer.datasets.ConcatenatedDataset"):
        parts = made.get("datasets")
        return join_all([examples(interpreter, p) for p in parts.items]) if isinstance(parts, Tup) else UNKNOWN
    if "get_example" not in _own_methods(interpreter, dataset):
        for cls, labelled in _IMAGE_FILES.items():
            if interpreter.derives(dataset.cls, cls):
                return _image_file(made, labelled)
    if interpreter.derives(dataset.cls, "chainer.dataset.DatasetMixin"):
        return interpreter.method_result(dataset, "get_example", [Scalar("int")], None)
    return UNKNOWN


def _image_file(made: dict[str, Kind], labelled: bool) -> Kind:
    """The image that is read from a file, channels first, and its label, an array without axes."""
    as_usual = made.get("dtype", NONE) == NONE
    image = HostArray(3, "float32" if as_usual else dtype_of(made["dtype"]))
    return Tup((image, HostArray(0, dtype_of(made.get("label_dtype"))))) if labelled else image


def transformed(interpreter: Interpreter, made: dict[str, Kind]) -> Kind:
    """What a TransformDataset makes of the examples of another data set, one by one."""
    example = examples(interpreter, made.get("dataset", UNKNOWN))
    return join_all([interpreter.call(k, [example], {}, None) for k in options(made.get("transform", UNKNOWN))])


def item(interpreter: Interpreter, kind: Kind, node: ast.expr | None, index: Kind = UNKNOWN) -> Kind | None:
    """What a subscript of a data set gives, or without ``node`` an iteration over it; None for anything else."""
    if isinstance(kind, Inst) and (helper := _MIGRATED.get(str(kind.cls))) is not None:
        return Lst(helper) if isinstance(node, ast.Slice) else helper
    if not isinstance(kind, Inst) or not any(interpreter.derives(kind.cls, dataset) for dataset in _DATASETS):
        return None
    own = "__iter__" if node is None else "__getitem__"
    if any(isinstance(c, ClassInfo) and {own, "__getitem__"} & c.methods.keys() for c in interpreter.mro(kind.cls)):
        return None
    if isinstance(node, ast.Slice):
        return Lst(examples(interpreter, kind))
    return examples(interpreter, kind) if node is None or scalar_type(index) == "int" else None


def walked(interpreter: Interpreter, walker: Inst) -> Kind:
    """What an iteration over an object gives, one by one: its class says how, or it is an iterator of Chainer's."""
    if "__iter__" in _own_methods(interpreter, walker):
        given = options(interpreter.method_result(walker, "__iter__", [], None))
        return join_all([following(interpreter, one) if isinstance(one, Inst) else element_of(one) for one in given])
    return following(interpreter, walker)


def following(interpreter: Interpreter, iterator: Inst) -> Kind:
    """What an iterator gives next: as its class says, or a batch of one of Chainer's."""
    own = _own_methods(interpreter, iterator)
    name = next((name for name in ("__next__", "next") if name in own), "__iter__")
    return interpreter.method_result(iterator, name, [], None)


def _own_methods(interpreter: Interpreter, owner: Inst) -> set[str]:
    """The methods that classes of the project give an object."""
    return {name for c in interpreter.mro(owner.cls) if isinstance(c, ClassInfo) for name in c.methods}


def zipped(interpreter: Interpreter, args: list[Kind], node: ast.Call) -> Kind:
    """What ``zip`` gives: rows of columns, or for ``zip(*rows)`` the columns."""
    if len(args) == 1 and isinstance(node.args[0], ast.Starred):
        row = interpreter.iterated(args[0])
        return Tup(tuple(map(Lst, row.items))) if isinstance(row, Tup) else Lst(Lst(interpreter.iterated(row)))
    return Lst(Tup(tuple(interpreter.iterated(a) for a in args)))


def batched(example: Kind) -> Kind:
    """What ``concat_examples`` makes of a list of such examples."""
    if isinstance(example, Union):
        return join_all([batched(option) for option in example.ordered])
    if isinstance(example, Tup):
        return Tup(tuple(map(_column, example.items)))
    if isinstance(example, (HostArray, Tensor)):
        return Tensor(None if example.rank is None else example.rank + 1, example.dtype, array=True)
    if scalar_type(example) == "int":
        return Tensor(1, "int64" if isinstance(example, (Const, Scalar)) else None, array=True)
    if scalar_type(example) == "float":  # Python's own are float64, NumPy's may be float32
        return Tensor(1, "floating", array=True)
    if isinstance(example, Dct):
        return Dct(_column(example.element), tuple((name, _column(kind)) for name, kind in example.items))
    return Batch()


def _column(part: Kind) -> Kind:
    """What becomes of one part of all examples: one array, whatever it was."""
    made = part if part is BOTTOM else batched(part)
    return made if isinstance(made, Tensor) or made is BOTTOM else Tensor(array=True)


def loaded(name: str, bound: dict[str, Kind]) -> Kind | None:
    """The result of a function of chainer.datasets; None: the rule's ``returns`` says it."""
    if name in _IMAGES:
        rank: int | None = _IMAGES[name]
        ndim = bound.get("ndim")
        if isinstance(ndim, Const) and isinstance(ndim.value, int):
            rank = ndim.value
        elif ndim is not None and not isinstance(ndim, Const):
            rank = None
        rgb = bound.get("rgb_format")
        if rgb is not None and rgb != Const(False):
            rank = None
        image = HostArray(rank, "float32" if "dtype" not in bound or bound["dtype"] == Const(None) else None)
        withlabel = bound.get("withlabel", Const(True))
        dataset: Kind
        if withlabel == Const(True):
            dataset = Lst(Tup((image, HostArray(0, None))))
        else:
            images = HostArray(None if rank is None else rank + 1, image.dtype)
            dataset = images if withlabel == Const(False) else Lst(UNKNOWN)
        return Tup((dataset, dataset))
    if name in _SPLITS:
        base = bound.get("dataset", UNKNOWN)
        return Tup((base, base))
    return None


def share(bound: dict[str, Kind]) -> Kind | None:
    """What ``chainermn.scatter_dataset`` gives: examples of the data set; other processes than the first hand None."""
    given = join_all([k for k in options(bound.get("dataset", UNKNOWN)) if k != NONE])
    return given if isinstance(given, (Lst, Inst)) else None


def iterated(interpreter: Interpreter, iterator: Inst) -> Kind:
    """What ``iterator.next()`` gives: a list of examples, or what a class of the project says."""
    if "__next__" in _own_methods(interpreter, iterator):
        return following(interpreter, iterator)
    dataset = interpreter.objects.get(iterator.site, {}).get("dataset", UNKNOWN)
    return Lst(examples(interpreter, dataset))


def calls_with_batches(interpreter: Interpreter, cls: str) -> bool:
    """Whether a class of Chainer's is an updater or evaluator that :func:`connected` knows."""
    return cls in _UPDATERS or any(interpreter.rules.is_subclass(cls, base) for base in (_UPDATERS[0], _EVALUATOR))


def connected(interpreter: Interpreter, cls: str, made: dict[str, Kind]) -> None:
    """An updater or evaluator was made: its model will be called with the batches of its iterator."""
    if interpreter.rules.is_subclass(cls, _UPDATERS[0]) or cls in _UPDATERS:
        loss = made.get("loss_func", UNKNOWN)
        target = loss if loss not in (UNKNOWN, Const(None)) else _target(interpreter, made.get("optimizer", UNKNOWN))
    elif interpreter.rules.is_subclass(cls, _EVALUATOR):
        target = made.get("target", UNKNOWN)
        if made.get("eval_func", Const(None)) != Const(None):
            target = made["eval_func"]
    else:
        return
    converter = made.get("converter", UNKNOWN)
    known = (
        "converter" not in made
        or getattr(converter, "name", "chainer.dataset.concat_examples").endswith("concat_examples")
        or converter == UNKNOWN
    )
    for iterator in options(made.get("iterator", UNKNOWN)):
        if isinstance(converter, Func):
            batch = iterated(interpreter, iterator) if isinstance(iterator, Inst) else Lst(UNKNOWN)
            _through_converter(interpreter, converter, batch, target)
            continue
        if isinstance(iterator, Inst) and known:
            example = element_of(iterated(interpreter, iterator))
            batch = batched(example)
            one: Kind = batch if isinstance(batch, Tensor) else UNKNOWN
            args: list[Kind] = list(batch.items) if isinstance(batch, Tup) else [one]
            if UNKNOWN not in args:
                for model in options(target):
                    interpreter.call(model, args, {}, None)
                continue
            if example is BOTTOM:
                continue  # not known yet
        _call_with_anything(interpreter, target)


def _call_with_anything(interpreter: Interpreter, target: Kind) -> None:
    """A function is called with what nobody knows; a model with tensors, as any other."""
    for option in options(target):
        if isinstance(option, Func):
            interpreter.escape(option)


_EVALUATOR = "chainer.training.extensions.Evaluator"


def hold_targets(interpreter: Interpreter, cls: ClassInfo, args: list[Kind], keywords: dict[str, Kind]) -> None:
    """A class on Chainer's Evaluator holds the models that its base is made with: ``self.get_target('main')``."""
    target = args[1] if len(args) > 1 else keywords.get("target", UNKNOWN)
    targets = target if isinstance(target, Dct) else Dct(target, (("main", target),))
    if not isinstance(targets.element, Unknown) and interpreter.derives(cls, _EVALUATOR):
        interpreter.set_attribute(cls, "_targets", targets)


def held_target(interpreter: Interpreter, evaluator: Inst, args: list[Kind]) -> Kind | None:
    """What ``get_target(name)`` of an evaluator gives, if that is known."""
    if not isinstance(evaluator.cls, ClassInfo) or not interpreter.derives(evaluator.cls, _EVALUATOR):
        return None
    kinds = options(interpreter.attribute(evaluator, "_targets"))
    name = args[0].value if args and isinstance(args[0], Const) else None
    found = [dict(k.items).get(name, k.element) for k in kinds if isinstance(k, Dct)]
    return join_all(found) if len(found) == len(kinds) else None


def _through_converter(interpreter: Interpreter, converter: Func, batch: Kind, target: Kind) -> None:
    """The model gets what the user's converter returns, on the device: a tuple by position, a dict by name."""
    given = passed(interpreter, converter.info)
    device: Kind = Inst("chainer.backend.Device") if given else Scalar("int")
    result = on_device(interpreter.call(converter, [batch, device], {}, None))
    if isinstance(result, Unknown):
        _call_with_anything(interpreter, target)
        return
    for model in options(target):
        if isinstance(result, Dct):
            interpreter.call(model, [], {str(name): kind for name, kind in result.items}, None)
        else:
            interpreter.call(model, list(result.items) if isinstance(result, Tup) else [result], {}, None)


ONLY_OPTIMIZER = -1  # where the analysis keeps what is known of it
OF_HEIRS = -2  # what attributes of any class of the project are read as, if nobody knows of which
_WITH_HEIRS = "chainer.training.Updater"
_STATISTICS = ("avg_mean", "avg_var")
_ANY_LINK = frozenset({"chainer.Link", "chainer.Chain", "chainer.ChainList"})


def of_heirs(interpreter: Interpreter, owner: str, name: str) -> Kind:
    """What Chainer's updater does not have, those of the project do: ``trainer.updater.gen`` in an extension.

    So it is with a method of a link of which no more is known: ``for block in self.children(): block.reset()``.
    """
    if owner in _ANY_LINK:
        if name in _STATISTICS:
            return Tensor(array=True)
        links = [c for c in list(interpreter.classes.values()) if name in c.methods and interpreter.derives(c, owner)]
        return join_all([interpreter.class_attribute(c, name, Inst(c)) for c in links])
    if not interpreter.rules.is_subclass(owner, _WITH_HEIRS):
        return UNKNOWN
    interpreter.reads(OF_HEIRS, name)
    heirs = [c for c in list(interpreter.classes.values()) if interpreter.derives(c, owner)]
    having = [c for c in heirs if name in c.attrs or name in c.methods]
    if not having:
        return BOTTOM if any(interpreter.pending(c) for c in heirs) else UNKNOWN
    return join_all([interpreter.class_attribute(c, name, Inst(c)) for c in having])


def has_one_target(interpreter: Interpreter) -> bool:
    """Whether one optimizer only is set up in the project: its target is that of every optimizer that is asked for.

    ``trainer.updater.get_optimizer('main').target``
    """
    return sum(module.source.text.count(".setup(") for module in interpreter.project.modules.values()) == 1


def _target(interpreter: Interpreter, optimizer: Kind) -> Kind:
    return join_all(
        [
            interpreter.objects.get(k.site, {}).get("target", UNKNOWN) if isinstance(k, Inst) else UNKNOWN
            for k in options(optimizer)
        ]
    )
