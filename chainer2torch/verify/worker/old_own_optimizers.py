"""Optimizers of a program's own as in Chainer 1: ``update_one_cpu(param, state)`` instead of an ``UpdateRule``.

Written for Python 3.6; under a Chainer that calls these methods nothing happens to it.
Source: optimizer.py of Chainer 1.24.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import chainer

_UPDATES = ("update_one", "update_one_cpu")


def install():
    """Chainer's base calls these methods of a class that has them. Calling it twice is harmless."""
    base = getattr(chainer, "GradientMethod", None)
    if base is None or hasattr(base, "update_one") or not hasattr(base, "create_update_rule"):
        return
    if "__new__" in vars(base):
        return
    base.__new__ = staticmethod(_made)
    base.create_update_rule = _with_old_rule(base.create_update_rule)
    base.setup = _with_first_states(base.setup)


def _is_old(optimizer):
    return any(hasattr(type(optimizer), name) for name in _UPDATES)


def _made(cls, *args, **kwargs):
    optimizer = object.__new__(cls)
    if _is_old(optimizer):  # classes of that time do not call ``__init__``
        chainer.GradientMethod.__init__(optimizer)
    return optimizer


def _with_old_rule(create):
    def create_update_rule(self):
        return _OldRule(self) if _is_old(self) else create(self)

    return create_update_rule


def _with_first_states(setup):
    def with_states(self, link):
        result = setup(self, link)
        for param in link.params() if _is_old(self) else ():
            if param.data is not None:
                param.update_rule._init_states(param)
        return result

    return with_states


class _OldRule(chainer.UpdateRule if hasattr(chainer, "UpdateRule") else object):
    def __init__(self, optimizer):
        super(_OldRule, self).__init__()
        self.optimizer = optimizer

    def init_state(self, param):
        self._call("init_state", param)

    def update_core(self, param):
        self._call("update_one", param)

    def _call(self, name, param):
        for full in (name, name + "_cpu"):
            if hasattr(self.optimizer, full):
                getattr(self.optimizer, full)(param, self.state)
                return
