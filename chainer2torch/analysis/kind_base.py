"""The common base class of all kinds."""

from __future__ import annotations


from chainer2torch.analysis.values import dataclass


@dataclass(frozen=True)
class Kind:
    """What is known about a value. The subclasses are in ``kinds.py``.

    The base has a module of its own because kinds refer to the classes and functions of the project
    (``module_index.py``), and those hold the kinds of their attributes and parameters.
    """
