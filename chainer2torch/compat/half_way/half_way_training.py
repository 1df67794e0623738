"""The training on torch's side while the models are Chainer's links, and iterators on the side that Chainer does not
have: what ``chainer2torch migrate --only`` puts in the place of the plain helpers for as long as it is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainer2torch.compat.dataset.convert import Converter, _call_converter, concat_examples
from chainer2torch.compat.training.evaluator import Evaluator
from chainer2torch.compat.half_way.half_way_links import as_torch_model, asarray, chainer_device, reports_of_links
from chainer2torch.compat.training.trainer import Trainer
from chainer2torch.compat.training.updaters import StandardUpdater


class _ArrayConverter(Converter):
    """A converter of either side that gives arrays, which links take."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, batch: Any, device: Any) -> Any:
        """Converts a list of examples."""
        import chainer

        if isinstance(self.function, chainer.dataset.Converter):
            target = None if device is None else chainer.get_device(chainer_device(device))
            return self.function(batch, target)
        return asarray(_call_converter(self.function, batch, device))


class StandardUpdaterOfLinks(StandardUpdater):
    """:class:`StandardUpdater` for models that are Chainer's links: the batch arrives in arrays."""

    def __init__(
        self, iterator: Any, optimizer: Any, converter: Callable[..., Any] = concat_examples, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(iterator, optimizer, _ArrayConverter(converter), *args, **kwargs)

    def _inputs(self, batch: Any) -> Any:
        return self.converter(batch, self.input_device)


class EvaluatorOfLinks(Evaluator):
    """:class:`Evaluator` for models that are Chainer's links, which may be given as they are."""

    def __init__(
        self, iterator: Any, target: Any, converter: Callable[..., Any] = concat_examples, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(iterator, as_torch_model(target), _ArrayConverter(converter), *args, **kwargs)

    def _inputs(self, batch: Any) -> Any:
        return self.converter(batch, self.device)

    def __call__(self, trainer: Any = None) -> Any:
        """Evaluates in Chainer's test mode, too."""
        import chainer

        with chainer.using_config("train", False), reports_of_links():
            return super().__call__(trainer)

    def evaluate(self) -> Any:
        """The means of what is reported; nothing is kept for gradients."""
        import chainer

        with chainer.no_backprop_mode():
            return super().evaluate()


class TrainerOfLinks(Trainer):
    """:class:`Trainer` for models that are Chainer's links: what they report arrives here."""

    def _iterate(self, engine: Any, batch: Any) -> None:
        with reports_of_links():
            super()._iterate(engine, batch)


def as_chainer_iterator(iterator: Any) -> Any:
    """An iterator as one that Chainer's updaters and evaluators take for one of theirs; one of Chainer's is itself."""
    import chainer

    if isinstance(iterator, chainer.dataset.Iterator):
        return iterator

    class IteratorForChainer(chainer.dataset.Iterator):
        """Hands everything on."""

        def __next__(self) -> Any:
            """The next batch."""
            return next(iterator)

        next = __next__

        def __getattr__(self, name: str) -> Any:
            return getattr(iterator, name)

        def finalize(self) -> None:
            """Ends the iterator."""
            iterator.finalize()

        def serialize(self, serializer: Any) -> None:
            """Stores or restores the position."""
            iterator.serialize(serializer)

    return IteratorForChainer()
