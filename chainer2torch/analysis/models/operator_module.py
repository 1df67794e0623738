"""Python's module ``operator``: functions in the place of signs, and getters of items and attributes."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import UNKNOWN, Const, Inst, Kind, Tup, options
from chainer2torch.analysis.lattice import join_all
from chainer2torch.analysis.models import possible

_MODULE = "operator."
_GETTERS = frozenset({"attrgetter", "itemgetter", "methodcaller"})
_COMPARING = frozenset("lt le eq ne ge gt __lt__ __le__ __eq__ __ne__ __ge__ __gt__".split())
_SIGNS: Mapping[str, type[ast.operator]] = MappingProxyType(
    {
        "add": ast.Add,
        "concat": ast.Add,
        "floordiv": ast.FloorDiv,
        "matmul": ast.MatMult,
        "mod": ast.Mod,
        "mul": ast.Mult,
        "pow": ast.Pow,
        "sub": ast.Sub,
        "truediv": ast.Div,
    }
)


def result(interpreter: Interpreter, name: str, args: Sequence[Kind], node: ast.Call) -> Kind | None:
    """What a function of the module gives; None: it is of another module, or not followed."""
    if not name.startswith(_MODULE) or any(isinstance(a, ast.Starred) for a in node.args):
        return None
    function = name.removeprefix(_MODULE)
    if function in _GETTERS:
        made = Inst(name, interpreter.site(node))
        interpreter.objects.setdefault(made.site, {}).update((str(at), kind) for at, kind in enumerate(args))
        return made
    if len(args) != 2:
        return None
    if function in _COMPARING:
        return join_all([possible.compared(a, b) for a in options(args[0]) for b in options(args[1])])
    if function == "getitem":
        return interpreter.item(args[0], node.args[1], args[1])
    sign = _SIGNS.get(function)
    return interpreter.binary(sign(), *args) if sign is not None else None


def called(interpreter: Interpreter, getter: Inst, args: Sequence[Kind]) -> Kind | None:
    """``itemgetter('k')(table)``: what it takes out of a value; None: the object is none of these."""
    if not isinstance(getter.cls, str) or getter.cls not in {_MODULE + name for name in _GETTERS} or not args:
        return None
    held = interpreter.objects.get(getter.site, {})
    wanted = [held[key] for key in sorted(held, key=int)] if held else []
    if getter.cls.endswith("methodcaller"):
        name = wanted[0].value if wanted and isinstance(wanted[0], Const) else None
        method = interpreter.attribute(args[0], name) if isinstance(name, str) else UNKNOWN
        return interpreter.call(method, wanted[1:], {}, None)
    taken = [_taken(interpreter, getter.cls, args[0], one) for one in wanted]
    return taken[0] if len(taken) == 1 else Tup(tuple(taken)) if taken else UNKNOWN


def _taken(interpreter: Interpreter, cls: str, value: Kind, wanted: Kind) -> Kind:
    if not isinstance(wanted, Const):
        return interpreter.item(value, ast.Constant(None), wanted) if cls.endswith("itemgetter") else UNKNOWN
    if cls.endswith("itemgetter"):
        return interpreter.item(value, ast.Constant(wanted.value), wanted)
    found = value
    for name in str(wanted.value).split("."):
        found = interpreter.attribute(found, name)
    return found


__all__ = ["called", "result"]
