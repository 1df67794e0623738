"""Methods that a class only announces (``raise NotImplementedError``): what they give, the classes below it say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import Kind
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo

if TYPE_CHECKING:
    from chainer2torch.analysis.interpreter import Interpreter


def attributes_below(facts: Interpreter, cls: ClassInfo, name: str) -> list[Kind]:
    """What classes of the project that derive from a class have as an attribute of this name, and not as a method."""
    heirs = [heir for heir in facts.heirs(cls) if name in heir.attrs and name not in heir.methods]
    for heir in heirs:
        facts.reads(heir, name)
    return [heir.attrs[name] for heir in heirs]


def those_below(facts: Facts, cls: ClassInfo, name: str) -> list[tuple[ClassInfo, FuncInfo]]:
    """The methods of this name in classes of the project that derive from a class."""
    return [(heir, heir.methods[name]) for heir in facts.heirs(cls) if name in heir.methods]
