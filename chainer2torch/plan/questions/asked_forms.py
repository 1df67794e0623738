"""What ``isinstance`` asks for in the native style, where objects of a class are not what the class's name becomes."""

from __future__ import annotations

from types import MappingProxyType

from chainer2torch.plan.context import Context
from chainer2torch.plan.project_rules import has_short_iterators
from chainer2torch.plan.questions.asked_classes import is_value
from chainer2torch.plan.questions.sequentials import sequential_classes
from chainer2torch.plan.questions.torch_classes import words

_CLASSIFIER = "chainer.links.Classifier"
_STEPS = ("NStepLSTM", "NStepGRU", "NStepRNNTanh", "NStepRNNReLU")
_FORMS = MappingProxyType(
    {
        "chainer.Sequential": "",
        _CLASSIFIER: "",
        "chainer.dataset.DatasetMixin": "torch.utils.data.Dataset",
        "chainer.dataset.Iterator": "",
        "chainer.training.extensions.PlotReport": "pytorch_pfn_extras.training.extensions.PlotReport",
    }
)
_GIVE_TUPLES = frozenset(f"get_{name}" for name in ("mnist", "fashion_mnist", "kuzushiji_mnist", "cifar10", "cifar100"))
# other classes whose objects are of the class that is asked for, in PyTorch only
_OTHERS = MappingProxyType(
    {
        "chainer.dataset.DatasetMixin": frozenset({"TupleDataset", "DictDataset"}),
        "chainer.iterators.SerialIterator": frozenset({"MultiprocessIterator", "MultithreadIterator"}),
        **{f"chainer.links.{name}": frozenset({name.replace("NStep", "NStepBi")}) for name in _STEPS},
    }
)


def asked_forms(context: Context, name: str) -> list[str]:
    """The classes that stand for one of Chainer's in a question, all of them; [] where its row says it."""
    if context.choices.style != "native" or name not in _FORMS:
        return []
    if name == "chainer.Sequential":
        return list(sequential_classes(context))
    if name == _CLASSIFIER:  # as a base or in a table it is the long helper
        return ["native.Classifier", *(["compat.Classifier"] if is_value(context.analysis, _CLASSIFIER) else [])]
    if name == "chainer.dataset.Iterator":
        short = has_short_iterators(context.analysis, context.module)
        return [] if short else ["native.Iterator", "native.SerialIterator"]
    return [_FORMS[name]]


def counted_too(context: Context, name: str) -> list[str]:
    """Classes that the project names, and whose objects are of that class in PyTorch only."""
    if context.choices.style != "native":
        return []
    named = context.analysis.once(words)
    if not _GIVE_TUPLES.isdisjoint(named):
        named |= {"TupleDataset"}
    return sorted(_OTHERS.get(name, frozenset()) & named)


__all__ = ["asked_forms", "counted_too"]
