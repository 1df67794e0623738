"""Classes of a project that are only there to be mixed into links: their methods work with a link."""

from __future__ import annotations

import ast

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import Class, Ref, options
from chainer2torch.analysis.module_index import ClassInfo

_LINK = "chainer.Link"
_PLAIN = frozenset({"abc.ABC", "builtins.object"})
_KINDS_OF_LINK = ("chainer.Chain", "chainer.ChainList", _LINK)


def mixed_into_links(facts: Facts) -> dict[ClassInfo, str]:
    """The class of Chainer's that every object of a class has, for classes without one of their own.

    Such a class derives from nothing else, every class that derives from it ends as a link, and nobody makes objects of
    the class itself.
    """
    classes = list(facts.classes.values())
    links = [cls for cls in classes if facts.derives(cls, _LINK)]
    held = {base for cls in links for base in facts.mro(cls) if isinstance(base, ClassInfo)}
    candidates = [cls for cls in classes if cls in held and cls not in links and _is_plain(cls)]
    made = _called_names(facts) if candidates else frozenset()
    found: dict[ClassInfo, str] = {}
    for cls in candidates:
        users = [user for user in classes if user is not cls and cls in facts.mro(user)]
        if cls.name not in made and all(user in links or user in held for user in users):
            found[cls] = next(
                base for base in _KINDS_OF_LINK if all(facts.derives(user, base) for user in users if user in links)
            )
    return found


def _is_plain(cls: ClassInfo) -> bool:
    return all(
        isinstance(base, Class) or isinstance(base, Ref) and base.name in _PLAIN
        for kind in cls.bases
        for base in options(kind)
    )


def _called_names(facts: Facts) -> frozenset[str]:
    functions = (call.func for module in facts.project.modules.values() for call in module.source.of(ast.Call))
    return frozenset(
        f.id if isinstance(f, ast.Name) else f.attr for f in functions if isinstance(f, (ast.Name, ast.Attribute))
    )
