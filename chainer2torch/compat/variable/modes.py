"""Train and test mode: what ``chainer.config.train`` says, for code outside a module and for whole modules."""

import contextlib
import functools
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch


class _Mode(threading.local):
    """The mode of the current thread. As in Chainer each thread has its own, and a new thread starts in train mode."""

    train: bool = True
    follower: Any = None  # what switches every module that the thread calls, after set_train(False)


# one for all copies of these helpers: of a library and of a program that were migrated each by itself, too
_mode: _Mode = vars(torch).setdefault("_faithful_mode_of_chainer", _Mode())


def is_training() -> bool:
    """Returns what ``chainer.config.train`` would say: whether the calling thread is in train mode.

    Code inside a module reads ``self.training``; this is for functions that belong to no module. It is True unless the
    caller is inside :func:`eval_mode` (or ``using_train(False)``).
    """
    return _mode.train


class _Called:
    """Switches every module to the mode of the thread when the thread calls it, until :meth:`end` undoes all that."""

    def __init__(self) -> None:
        self._own_modes: weakref.WeakKeyDictionary[torch.nn.Module, bool] = weakref.WeakKeyDictionary()
        self._thread = threading.get_ident()
        self._handle = torch.nn.modules.module.register_module_forward_pre_hook(self._switch)

    def switch(self, module: torch.nn.Module) -> None:
        """Switches one module, but none of those in it."""
        if module.training != _mode.train:
            self._own_modes.setdefault(module, module.training)
            module.training = _mode.train

    def _switch(self, module: torch.nn.Module, _: Any) -> None:
        if threading.get_ident() == self._thread:
            self.switch(module)

    def end(self) -> None:
        """Every module has its own mode again."""
        self._handle.remove()
        for module, training in self._own_modes.items():
            module.training = training


@contextlib.contextmanager
def using_train(train: bool, *modules: Any, called: bool = False) -> Iterator[None]:
    """Runs a block in train mode (``train`` true) or in test mode; it is ``chainer.using_config('train', train)``.

    Chainer's switch is global, PyTorch's belongs to each module: so the modules to switch are named. At the end every
    submodule returns to the mode that it had before (which may differ from its parent's), also after an exception.

    Args:
        train: The mode of the block.
        modules: The modules that the block calls; what they keep in plain attributes without registering it (a
            teacher, a list of layers) is switched, too. Of any other object, the modules are switched that it keeps in
            its attributes, whose method it is, or that it uses as a function.
        called: Also switches modules without a name here, each when the block calls it (``module(x)``). Of a module
            whose other methods are called, only the layers that these call are switched.
    """
    found = _with_unregistered([module for item in modules for module in _modules_in(item)])
    own_modes = [(part, part.training) for module in found for part in module.modules()]
    flag_before = _mode.train
    others = _Called() if called else None
    try:
        for module in found:
            module.train(bool(train))
        _mode.train = bool(train)
        yield
    finally:
        _mode.train = flag_before
        if others is not None:
            others.end()
        # Set directly: `part.train(...)` would also change the children of `part`. Backwards, so that a module that was
        # named twice ends in its first state.
        for part, training in reversed(own_modes):
            part.training = training


# what every module keeps for itself: its children are in there, and its hooks
_OF_EVERY_MODULE = frozenset(vars(torch.nn.Module()))
# items that hold no module: told by their types, since lists of examples are long
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.ndarray, np.generic, torch.Tensor)


def _with_unregistered(modules: list[torch.nn.Module]) -> list[torch.nn.Module]:
    """``modules``, and those that they or their children keep in attributes without registering them, at any depth."""
    found, seen, waiting = list(modules), set(), list(modules)
    while waiting:
        for part in waiting.pop().modules():
            if part in seen:
                continue
            seen.add(part)
            for name, value in vars(part).items():
                if name not in _OF_EVERY_MODULE and not isinstance(value, _PLAIN):
                    new = [module for module in _modules_in(value) if module not in seen]
                    found += new
                    waiting += new
    return found


def _modules_in(x: Any, inner: bool = True) -> list[torch.nn.Module]:
    """The modules that an object is or holds: in its attributes, in lists and dicts, behind a method or function."""
    if isinstance(x, torch.nn.Module):
        return [x]
    if isinstance(x, functools.partial):
        return [module for item in (x.func, x.args, x.keywords) for module in _modules_in(item, inner)]
    if isinstance(x, (list, tuple)):
        if all(issubclass(kind, _PLAIN) for kind in set(map(type, x))):
            return []
        return [module for item in x for module in _modules_in(item, False)]
    if isinstance(x, dict):
        return _modules_in(list(x.values()), False)
    if not inner:
        return []
    owner = getattr(x, "__self__", None)
    held = [*getattr(x, "__dict__", {}).values(), *_used_by(getattr(x, "__func__", x))]
    return _modules_in(owner) + _modules_in(held) if owner is not None else _modules_in(held)


def _used_by(function: Any) -> list[Any]:
    """What a function takes from the scopes around it, ``lambda x: model(x)``: enclosing functions, its module."""
    code = getattr(function, "__code__", None)
    if code is None:
        return []
    found = [function.__globals__[name] for name in code.co_names if name in function.__globals__]
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # a name that is not bound yet
            found.append(cell.cell_contents)
    return found


@contextlib.contextmanager
def using_attribute(obj: Any, name: str, value: Any) -> Iterator[None]:
    """Runs a block in which ``obj.name`` is ``value``: for the switches that torch keeps as attributes of modules.

    Source: chainer.using_config.
    """
    before = getattr(obj, name)
    setattr(obj, name, value)
    try:
        yield
    finally:
        setattr(obj, name, before)


def set_train(train: bool, *modules: torch.nn.Module) -> None:
    """Switches to train mode or test mode from here on; it is ``chainer.config.train = train``.

    Chainer's switch is one for all modules of a thread. So in test mode every module that the calling thread calls
    (``module(x)``) is switched, also one that is made later; back in train mode all of them have their own modes again.

    Args:
        train: The mode.
        modules: Modules to switch now: those whose other methods ask for the mode, too.
    """
    if _mode.follower is not None:
        _mode.follower.end()
    _mode.train = bool(train)
    _mode.follower = None if train else _Called()
    for module in _with_unregistered(list(modules)):
        for part in module.modules():
            if _mode.follower is not None:
                _mode.follower.switch(part)
            else:
                part.training = True


def call_in_mode(module: torch.nn.Module, train: object, *args: Any, **kwargs: Any) -> Any:
    """``module(*args, **kwargs)`` in train mode (``train`` true) or in test mode, whatever mode the module is in.

    Chainer's version 1 passed the mode to each call: ``bn(x, test=True)`` is ``call_in_mode(bn, False, x)``.
    """
    before = [(part, part.training) for part in module.modules()]
    flag_before = _mode.train
    try:
        module.train(bool(train))
        _mode.train = bool(train)
        return module(*args, **kwargs)
    finally:
        _mode.train = flag_before
        for part, training in before:
            part.training = training


def eval_mode(*modules: Any, called: bool = False) -> contextlib.AbstractContextManager[None]:
    """Runs a block in test mode: ``with eval_mode(model): ...`` is ``with chainer.using_config('train', False): ...``.

    See :func:`using_train`.
    """
    return using_train(False, *modules, called=called)


def train_mode(*modules: Any, called: bool = False) -> contextlib.AbstractContextManager[None]:
    """Runs a block in train mode: ``with train_mode(model): ...`` is ``with chainer.using_config('train', True): ...``.

    See :func:`using_train`.
    """
    return using_train(True, *modules, called=called)
