"""Evaluation as a block, and Chainer's switch, which is one for all modules of a thread."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
import torch.nn as nn


@contextlib.contextmanager
def evaluating(*models: nn.Module) -> Iterator[None]:
    """``with evaluating(model):`` is ``model.eval()``, and afterwards every module has the mode that it had before.

    Gradients go on: that is torch.no_grad(). Source: chainer.using_config("train", False).
    """
    before = [(module, module.training) for model in models for module in model.modules()]
    flag = _mode.train  # where: helper.is_training
    _mode.train = False  # where: helper.is_training
    for model in models:
        model.eval()
    try:
        yield
    finally:
        _mode.train = flag  # where: helper.is_training
        for module, training in before:
            module.training = training


class _Mode(threading.local):
    train: bool = True
    block: Any = None  # what set_train(False) has begun


# one for all copies of these helpers: of a library and of a program that were migrated each by itself, too
_mode: _Mode = vars(torch).setdefault("_mode_of_chainer", _Mode())


def is_training() -> bool:
    """What ``chainer.config.train`` says, for code that belongs to no module."""
    return _mode.train


@contextlib.contextmanager
def in_mode(train: Any, *models: nn.Module) -> Iterator[None]:
    """A block in train or test mode for these models and for each module that the thread calls in it.

    Afterwards every module is in the mode that it had before. Source: chainer.using_config("train", ...).
    """
    before = {module: module.training for model in models for module in model.modules()}
    thread = threading.get_ident()
    flag = _mode.train  # where: helper.is_training

    def switch(module: nn.Module, args: Any = None) -> None:
        if threading.get_ident() == thread:
            before.setdefault(module, module.training)
            module.training = bool(train)

    hook = torch.nn.modules.module.register_module_forward_pre_hook(switch)
    _mode.train = bool(train)  # where: helper.is_training
    try:
        for module in list(before):
            switch(module)
        yield
    finally:
        hook.remove()
        _mode.train = flag  # where: helper.is_training
        for module, training in before.items():
            module.training = training


def in_mode_of(module: nn.Module, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function(*args, training=module.training)``, for where a function is kept or passed on.

    It asks the module whenever it is called, and goes along when the module is copied or pickled.
    Source: chainer.functions.dropout, which asks chainer.config.train.
    """
    asking = functools.partial(_in_mode_of, module, function)
    functools.update_wrapper(asking, function)  # where: .__name__
    return asking


def _in_mode_of(module: nn.Module, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, training=module.training, **kwargs)


def evaluate_from_here(*models: nn.Module) -> None:
    """Test mode for these models, and from here on for each module when it is called.

    Source: chainer.config.train = False.
    """

    def switch(module: nn.Module, args: Any) -> None:
        if module.training:
            module.eval()

    for model in models:
        model.eval()
    nn.modules.module.register_module_forward_pre_hook(switch)


def _modules_in(x: Any, found: dict[nn.Module, bool], inner: bool = True) -> None:
    """Adds the modules that an object is, holds (registered or not) or calls, each with the mode that it has."""
    held: Iterable[Any] = ()
    if isinstance(x, nn.Module):
        if x not in found:
            found[x], held, inner = x.training, vars(x).values(), True
    elif isinstance(x, (list, tuple, dict)):
        held = x.values() if isinstance(x, dict) else x
    elif inner and isinstance(x, functools.partial):
        held = (x.func, x.args, x.keywords)
    elif inner and inspect.ismethod(x):
        held = (x.__self__,)
    elif inner and inspect.isfunction(x):
        used = inspect.getclosurevars(x)
        held, inner = (used.nonlocals, used.globals), False
    elif inner and not inspect.isclass(x) and not inspect.ismodule(x):
        held, inner = getattr(x, "__dict__", {}).values(), False
    for item in held:
        _modules_in(item, found, inner)


@contextlib.contextmanager
def using_train(train: Any, *models: Any) -> Iterator[None]:
    """A block in train mode or in test mode; afterwards every module is in the mode that it had before.

    Switched are the models, what they keep in attributes, and each module that the thread calls in the block.
    Source: chainer.using_config("train", ...).
    """
    before: dict[nn.Module, bool] = {}
    for x in models:
        _modules_in(x, before)
    thread, flag = threading.get_ident(), _mode.train

    def switch(module: nn.Module, args: Any = None) -> None:
        if threading.get_ident() == thread and module.training != _mode.train:
            before.setdefault(module, module.training)
            module.training = _mode.train

    hook = torch.nn.modules.module.register_module_forward_pre_hook(switch)
    _mode.train = bool(train)
    try:
        for module in list(before):
            switch(module)
        yield
    finally:
        hook.remove()
        _mode.train = flag
        for module, training in before.items():
            module.training = training


def eval_mode(*models: Any) -> contextlib.AbstractContextManager[None]:
    """A block in test mode. Source: chainer.using_config("train", False)."""
    return using_train(False, *models)


def train_mode(*models: Any) -> contextlib.AbstractContextManager[None]:
    """A block in train mode. Source: chainer.using_config("train", True)."""
    return using_train(True, *models)


def set_train(train: Any, *models: Any) -> None:
    """Test mode from here on, until train mode is set again. Source: ``chainer.config.train = train``."""
    if _mode.block is not None:
        _mode.block.__exit__(None, None, None)
    _mode.block = None if train else using_train(False, *models)
    if _mode.block is not None:
        _mode.block.__enter__()


def call_in_mode(module: nn.Module, train: Any, *args: Any, **kwargs: Any) -> Any:
    """``module(*args, **kwargs)`` in train or test mode. Source: ``bn(x, test=True)`` of Chainer's version 1."""
    before, flag = [(part, part.training) for part in module.modules()], _mode.train
    _mode.train = bool(train)
    try:
        return module.train(_mode.train)(*args, **kwargs)
    finally:
        _mode.train = flag
        for part, training in before:
            part.training = training
