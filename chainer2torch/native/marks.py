"""Marks at parameters that optimizers heed: frozen ones whose gradients count, and hooks of single ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from chainer2torch.native.optimizers import fill_missing_gradients


def freeze(params: Iterable[Any]) -> None:
    """Keeps the steps of an optimizer from changing these parameters, until it is set up anew.

    Their gradients are computed all the same, and count where the norm of all gradients is clipped. For parameters
    whose gradients nobody needs, ``requires_grad_(False)`` does. Source: chainer.Link.disable_update.
    """
    for param in params:
        param.is_frozen = True


def unfreeze(params: Iterable[Any]) -> None:
    """Lets optimizers change these parameters again. Source: chainer.Link.enable_update."""
    for param in params:
        vars(param).pop("is_frozen", None)


def hook_parameter(param: Any, hook: Callable[..., Any]) -> None:
    """Calls ``hook`` with the optimizer and this parameter before each update, after the hooks for all parameters.

    Until the optimizer is set up anew. Source: chainer.UpdateRule.add_hook.
    """
    if getattr(hook, "timing", "pre") != "pre":
        raise ValueError("a hook of one parameter runs before the update")
    vars(param).setdefault("update_hooks", []).append(hook)


def own_settings(optimizer: torch.optim.Optimizer, param: Any, **settings: float) -> None:
    """Puts a parameter into a group of its own, with other settings. Source: chainer.Parameter.update_rule."""
    for group in optimizer.param_groups:
        if any(other is param for other in group["params"]):
            group["params"] = [other for other in group["params"] if other is not param]
            optimizer.add_param_group({**group, "params": [param], **settings})
            return


def heed_marks(optimizer: torch.optim.Optimizer) -> None:
    """Lets an optimizer heed what ``freeze`` and ``hook_parameter`` say, behind the hooks that it has by then.

    Source: chainer.UpdateRule.
    """
    optimizer.register_step_pre_hook(_call_hooks_of_parameters)  # where: hook_parameter
    optimizer.register_step_pre_hook(_withhold)  # where: freeze
    optimizer.register_step_post_hook(_give_back)  # where: freeze


@torch.no_grad()
def _call_hooks_of_parameters(optimizer: Any, args: Any, kwargs: Any) -> None:
    fill_missing_gradients(optimizer)
    for param in (p for group in optimizer.param_groups for p in group["params"] if p.grad is not None):
        for hook in [] if hasattr(param, "is_frozen") else vars(param).get("update_hooks", []):
            hook(optimizer, param)


def _withhold(optimizer: Any, args: Any, kwargs: Any) -> None:
    frozen = [p for group in optimizer.param_groups for p in group["params"] if hasattr(p, "is_frozen")]
    optimizer.withheld = [(p, p.requires_grad, p.grad) for p in frozen]
    for param in frozen:
        param.requires_grad, param.grad = False, None


def _give_back(optimizer: Any, args: Any, kwargs: Any) -> None:
    for param, learns, grad in optimizer.withheld:
        param.requires_grad, param.grad = learns, grad
