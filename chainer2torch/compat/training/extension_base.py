"""Extensions with Chainer's protocol under pytorch-pfn-extras: ``finalize()`` needs no argument, ``serialize``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pytorch_pfn_extras.training import extension as ppe_extension

from chainer2torch.compat.serializers.state import SerializableState


class Extension(ppe_extension.Extension, SerializableState):
    """Base class of extensions; subclasses define ``__call__(trainer)``. Source: chainer.training.Extension.

    Attributes:
        trigger: when it is called; every iteration by default.
        priority: extensions with a higher one are called earlier.
        name: the name it got when the trainer was extended.
    """

    def initialize(self, trainer: Any) -> None:
        """Called before the training loop."""

    def finalize(self, manager: Any = None) -> None:
        """Called after the training loop."""

    def on_error(self, trainer: Any, exc: Exception, tb: Any) -> None:
        """Called when the loop raised, before ``finalize``."""

    def state_dict(self) -> dict[str, Any]:
        """The state as ``{key: array}``."""
        return self._chainer_entries()

    def load_state_dict(self, to_load: Any) -> None:
        """Restores what :meth:`state_dict` gave."""
        self._load_chainer_entries(to_load)


class _ExtensionAdapter(Extension):
    """A function, or an object of a class of its own, as an extension."""

    def __init__(self, target: Any) -> None:
        self.target = target

    def __call__(self, trainer: Any) -> None:
        self.target(trainer)

    def initialize(self, trainer: Any) -> None:
        function = getattr(self.target, "initialize", None)
        if function is not None:
            function(trainer)

    def finalize(self, manager: Any = None) -> None:
        function = getattr(self.target, "finalize", None)
        if function is not None:
            function()

    def on_error(self, trainer: Any, exc: Exception, tb: Any) -> None:
        function = getattr(self.target, "on_error", None)
        if function is not None:
            function(trainer, exc, tb)

    def serialize(self, serializer: Any) -> None:
        if hasattr(self.target, "serialize"):
            self.target.serialize(serializer)


def make_extension(
    trigger: Any = None,
    default_name: str | None = None,
    priority: int | None = None,
    finalizer: Callable[[], None] | None = None,
    initializer: Callable[[Any], None] | None = None,
    on_error: Callable[[Any, Exception, Any], None] | None = None,
) -> Callable[[Any], Any]:
    """Decorator that gives a function the attributes of an extension.

    ``initializer`` gets the trainer, ``finalizer`` nothing, ``on_error`` (trainer, exception, traceback).
    Source: chainer.training.make_extension.
    """

    def decorator(extension: Any) -> Any:
        extension.trigger = Extension.trigger if trigger is None else trigger
        extension.default_name = default_name or extension.__name__
        extension.priority = Extension.priority if priority is None else priority
        extension.finalize = finalizer
        extension.on_error = on_error
        extension.initialize = initializer
        return extension

    return decorator


def _finalize(extension: Any, trainer: Any) -> None:
    """Calls ``finalize`` with the trainer where it takes one: pytorch-pfn-extras' own extensions do."""
    required = [p for p in inspect.signature(extension.finalize).parameters.values() if p.default is p.empty]
    extension.finalize(*[trainer][: len(required)])
