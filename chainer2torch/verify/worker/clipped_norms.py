"""Gradients that are clipped as ``torch.nn.utils.clip_grad_norm_`` does it: the declared difference ``clipped-norms``.

PyTorch divides by the norm plus a millionth. Written for Python 3.6 and Chainer 1 and newer.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import contextlib
import importlib

_PLACES = (
    ("chainer.optimizer_hooks.gradient_clipping", "_sum_sqnorm_grads"),
    ("chainer.optimizer_hooks.gradient_clipping", "_sum_sqnorm"),
    ("chainer.optimizer", "_sum_sqnorm"),
)
_MORE = 1e-6


@contextlib.contextmanager
def as_pytorch():
    """Lets Chainer's hook clip so in a block."""
    before = []
    for name, function in _PLACES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if hasattr(module, function):
            before.append((module, function, getattr(module, function)))
            setattr(module, function, _longer(getattr(module, function)))
    try:
        yield
    finally:
        for module, function, plain in before:
            setattr(module, function, plain)


def _longer(squares):
    """A function that gives the square of a norm, of one that is longer; newer versions give a device with it."""

    def given(*args):
        found = squares(*args)
        if isinstance(found, tuple):
            return ((found[0] ** 0.5 + _MORE) ** 2,) + found[1:]
        return (found**0.5 + _MORE) ** 2

    return given
