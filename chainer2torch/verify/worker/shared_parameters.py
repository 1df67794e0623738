"""A parameter that a model has in several places: the declared difference ``shared-parameters``.

Chainer's optimizers and hooks take it once for each of its places, those of PyTorch take it once. Written for Python
3.6 and Chainer 1 and newer.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import sys


def stepped_once():
    """Shows Chainer's optimizers each parameter once.

    Gives what takes this back, and a list that has the last parameter left out, if there is one.
    """
    import chainer

    left_out = []
    classes = [cls for cls in (chainer.Link, chainer.Chain, chainer.ChainList) if "params" in vars(cls)]
    plain = {cls: vars(cls)["params"] for cls in classes}

    def once(found):
        seen = set()
        for param in found:
            if id(param) in seen:
                left_out[:] = [str(param.name)]
            else:
                seen.add(id(param))
                yield param

    def shown(params):
        def asked(self, *args, **kwargs):
            asker = sys._getframe(1).f_globals.get("__name__", "")
            found = params(self, *args, **kwargs)
            return once(found) if asker.startswith("chainer.optimizer") else found

        return asked

    for cls in classes:
        cls.params = shown(plain[cls])

    def again():
        for cls in classes:
            cls.params = plain[cls]

    return again, left_out
