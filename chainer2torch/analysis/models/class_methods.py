"""Class methods: ``cls`` is each of the classes by which one is called, and ``cls(...)`` makes one of that class.

And what Python itself tells of a class: ``Base.__subclasses__()``.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import UNKNOWN, Class, Inst, Kind, Lst, Scalar, options
from chainer2torch.analysis.lattice import join_all, unsure
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo

NAMESPACE = "argparse.Namespace"


def class_of(func: FuncInfo, receiver: Kind | None) -> Class | None:
    """The class by which a class method is called: ``MLP.load(path)``, ``model.load(path)``."""
    if not func.is_classmethod or receiver is None:
        return None
    if isinstance(receiver, Class):
        return receiver
    return Class(receiver.cls) if isinstance(receiver, Inst) and isinstance(receiver.cls, ClassInfo) else None


def made_by(interpreter: Interpreter, func: FuncInfo, given: Kind, cls: Class) -> Kind:
    """What a class method gives: of the objects of its class and those below it, the ones of the class asked."""
    kinds = options(given)
    of_class = [kind for kind in kinds if _is_of(interpreter, kind, cls.info)]
    if not of_class or func.cls is None:
        return given
    others = [kind for kind in kinds if not _is_of(interpreter, kind, func.cls)]
    return join_all([*of_class, *others])


def _is_of(interpreter: Interpreter, kind: Kind, cls: ClassInfo) -> bool:
    return isinstance(kind, Inst) and isinstance(kind.cls, ClassInfo) and cls in interpreter.mro(kind.cls)


def subclasses(interpreter: Interpreter, node: ast.Call) -> Kind | None:
    """The classes of the project below one, in ``Base.__subclasses__()``; those of any depth, who may ask again."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "__subclasses__" or node.args:
        return None
    asked = options(interpreter.facts.get(node.func.value, UNKNOWN))
    heirs = [Class(heir) for kind in asked if isinstance(kind, Class) for heir in interpreter.heirs(kind.info)]
    return Lst(join_all(heirs)) if heirs else None  # type: ignore[arg-type]


def asked_by_name(interpreter: Interpreter, cls: ClassInfo, name: str, receiver: Inst | None) -> Kind | None:
    """What ``__getattr__`` of the project's gives for an attribute that no class has; nothing of it is sure."""
    owners = [one for one in interpreter.mro(cls) if isinstance(one, ClassInfo)]
    method = next((one.methods["__getattr__"] for one in owners if "__getattr__" in one.methods), None)
    if method is None or receiver is None or name.startswith("__") or method is interpreter.func:
        return None
    return unsure(interpreter.call_function(method, receiver, [Scalar("str")], {}, None))


def held_among(interpreter: Interpreter, receiver: Inst, name: str) -> Kind:
    """An attribute of one of several links of no class of their own: those that have it.

    An option of the command lines of several scripts is known where it is of all of them.
    """
    for site in receiver.among:
        interpreter.reads(site, name)
    held = [interpreter.objects.get(site, {}).get(name) for site in receiver.among]
    if receiver.cls == NAMESPACE and None in held:
        return UNKNOWN
    return join_all([kind for kind in held if kind is not None])


__all__ = ["NAMESPACE", "asked_by_name", "class_of", "held_among", "made_by", "subclasses"]
