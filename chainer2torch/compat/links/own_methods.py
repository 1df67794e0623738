"""Methods of Chainer's links that a class of the project has written itself: they are asked before the helpers."""

from collections.abc import Callable
from typing import Any

import torch.nn as nn


def own_method(module: Any, name: str) -> Callable[..., Any] | None:
    """The module's own method of this name, None if its class has none; of ``super()`` that of the classes above.

    Attributes of the instance do not count: a child may have any name.
    """
    owner = module if isinstance(module, super) else type(module)
    return getattr(module, name) if callable(getattr(owner, name, None)) else None


def instance_of(module: Any) -> Any:
    """The module itself, also when ``super()`` of it is given."""
    return module.__self__ if isinstance(module, super) else module  # type: ignore[attr-defined]


def clear_gradients(module: nn.Module) -> None:
    """Forgets the gradients of a module, with its own ``cleargrads`` if it has one.

    Source: chainer.Link.cleargrads.
    """
    own = own_method(module, "cleargrads")
    if own is not None:
        own()
    else:
        module.zero_grad()


def own_name(x: Any, name: str) -> Any:
    """The method of a module that would hide one of ``nn.Module`` and is called ``train_`` therefore, if it has one.

    Of any other module and object the method ``name`` itself. Source: attributes of Chainer's links.
    """
    return getattr(x, f"{name}_" if isinstance(x, nn.Module) and hasattr(x, f"{name}_") else name)
