"""What gets into attributes and names of modules otherwise than by an assignment that names them.

``setattr(self, key, value)``, ``self.__dict__.update(options)``, the constructor that ``@dataclass`` writes, a class
decorator that makes cases of a test: the value that stands in the class is then only one of those that it may have.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from chainer2torch.analysis.announced import attributes_below
from chainer2torch.analysis.interpreter import COMPUTED, Interpreter
from chainer2torch.analysis.kinds import (
    UNKNOWN,
    Class,
    Const,
    Dct,
    Inst,
    Kind,
    Lst,
    Mod,
    Ref,
    Scalar,
    Tup,
    options,
)
from chainer2torch.analysis.lattice import element_of, join_all, says_more
from chainer2torch.analysis.models.computed_children import may_be_named
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo, ModuleInfo

_COPIES = frozenset({"dataclasses.replace", "attr.evolve", "attrs.evolve", "copy.replace"})
_CASES = ("parameterize", "parameterized_class", "inject_backend_tests")
_CALLED = frozenset({"setattr", "__setattr__", "update", "_replace"} | {name.rpartition(".")[2] for name in _COPIES})


def called(
    interpreter: Interpreter, node: ast.Call, callee: Kind, args: list[Kind], keywords: dict[str, Kind], more: bool
) -> None:
    """Notes what a call puts into attributes; ``more``: arguments that are not listed (``**options``)."""
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name not in _CALLED:
        return
    if name == "update":
        for key, kind in {**keywords, **(_items(args[0]) if args else {})}.items():
            interpreter.put_key(key, kind)
    if name == "setattr" and len(args) == 3 and callee == Ref("builtins.setattr"):
        put(interpreter, args[0], node.args[1], args[1], args[2])
    elif name == "__setattr__" and len(args) == 3:  # of `object`; that of `super()` gets what is assigned anyway
        put(interpreter, args[0], node.args[1], args[1], args[2])
    elif isinstance(function, ast.Attribute) and name in ("update", "_replace"):
        owner = _whose(interpreter, function.value) if name == "update" else interpreter.facts.get(function.value)
        given = keywords | _items(args[0]) if args and _items(args[0]) else keywords
        _put_all(interpreter, owner, given, more or bool(args) and not _items(args[0]))
    elif isinstance(callee, Ref) and callee.name in _COPIES and args:
        _put_all(interpreter, args[0], keywords, more)


def put_item(interpreter: Interpreter, target: ast.Subscript, value: Kind) -> None:
    """``vars(self)[key] = value``, ``self.__dict__['x'] = value``, ``globals()[key] = value``."""
    key = interpreter.facts.get(target.slice)
    interpreter.put_key(key.value if isinstance(key, Const) else None, value)
    owner = _whose(interpreter, target.value)
    if owner is not None:
        put(interpreter, owner, target.slice, interpreter.facts.get(target.slice, UNKNOWN), value)


def put(interpreter: Interpreter, owner: Kind, node: ast.expr | None, name: Kind, value: Kind) -> None:
    """Puts a value into an attribute of an object, a class or a module, whose name is a value of the program."""
    names = [k.value if isinstance(k, Const) and isinstance(k.value, str) else None for k in options(name)]
    if None in names:
        if not all(isinstance(k, Inst) and interpreter.is_link(k) for k in options(value)):
            put_anywhere(interpreter, owner, value, node)
        return
    for option in options(owner):
        for one in names:
            store(interpreter, option, str(one), value)


def store(interpreter: Interpreter, owner: Kind, name: str, value: Kind) -> None:
    """Puts a value into an attribute of an object or class of the project, or into a name of one of its modules."""
    if isinstance(owner, Mod):
        interpreter.bind_in(owner.info, name, value)
        return
    cls = owner.info if isinstance(owner, Class) else owner.cls if isinstance(owner, Inst) else None
    if isinstance(cls, ClassInfo) and name not in cls.methods:
        interpreter.set_attribute(cls, name, value)
        for base in interpreter.mro(cls)[1:]:  # what stands in the class is what methods of a base are told of
            if isinstance(base, ClassInfo) and name in base.attrs:
                interpreter.set_attribute(base, name, value)


def put_anywhere(interpreter: Interpreter, owner: Kind, value: Kind, node: ast.expr | None = None) -> None:
    """Puts a value under a name that nobody knows: what is a plain value may be this one then.

    Links, functions, arrays and what is imported are left: a program that puts those under a computed name has no
    others there (``globals().update(args.__dict__)`` puts options of the command line beside ``chainer``).
    """
    for option in options(owner):
        if isinstance(option, Mod):
            env, imported = option.info.env, _imported(option.info)
            plain = [name for name, kind in env.items() if _is_plain(kind) and name not in imported]
            for name in [n for n in plain if may_be_named(interpreter, node, n)]:
                interpreter.bind_in(option.info, name, value)
            continue
        cls = option.info if isinstance(option, Class) else option.cls if isinstance(option, Inst) else None
        for one in interpreter.mro(cls) if isinstance(cls, ClassInfo) else ():
            if isinstance(one, ClassInfo):
                interpreter.reads(one, COMPUTED)
                held = [n for n, kind in one.attrs.items() if n != "xp" and _is_plain(kind)]
                for name in held:
                    if may_be_named(interpreter, node, name):
                        interpreter.set_attribute(one, name, value)


def classes(interpreter: Interpreter, args: list[Kind]) -> Kind:
    """``type(self)``, and ``type('B', (Base,), {'dtype': ...})``, where methods of a base meet what stands there."""
    if len(args) == 1:
        made = [Class(k.cls) for k in options(args[0]) if isinstance(k, Inst) and isinstance(k.cls, ClassInfo)]
        return join_all(list(made)) if len(made) == len(options(args[0])) else UNKNOWN
    bases = args[1] if len(args) == 3 else UNKNOWN
    for base in bases.items if isinstance(bases, Tup) else ():
        _put_all(interpreter, base, _items(args[2]), not _items(args[2]))
    return UNKNOWN


def by_decorators(interpreter: Interpreter, cls: ClassInfo) -> None:
    """What decorators put into the cases that they make of a class: ``@testing.parameterize({'dtype': ...})``."""
    for decorator in cls.node.decorator_list:
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name not in _CASES or not isinstance(decorator, ast.Call):
            continue
        for key, kind in _cases(interpreter, decorator.args):
            if key is None:
                put_anywhere(interpreter, Class(cls), UNKNOWN)
            elif key in cls.attrs:
                interpreter.set_attribute(cls, key, kind)


def _cases(interpreter: Interpreter, nodes: list[ast.expr], product: bool = False) -> Iterator[tuple[str | None, Kind]]:
    """Names and values of the dicts in the arguments of a decorator; None as a name where some are not listed."""
    for node in nodes:
        if isinstance(node, ast.Starred):
            yield from _cases(interpreter, [node.value], product)
        elif isinstance(node, (ast.List, ast.Tuple)):
            yield from _cases(interpreter, node.elts)
        elif isinstance(node, ast.BinOp):
            yield from _cases(interpreter, [node.left, node.right], product)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("product", "product_dict"):
            yield from _cases(interpreter, node.args, True)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values):
                kind = interpreter.facts.get(value, UNKNOWN)
                text = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
                yield text, element_of(kind) if product else kind
        else:
            yield None, UNKNOWN


def _put_all(interpreter: Interpreter, owner: Kind | None, given: dict[str, Kind], more: bool) -> None:
    for option in options(owner) if owner is not None else ():
        for name, kind in given.items():
            store(interpreter, option, name, kind)
        if more:
            put_anywhere(interpreter, option, UNKNOWN)


def _items(kind: Kind) -> dict[str, Kind]:
    """The items of a dictionary whose keys are known."""
    return {str(key): value for key, value in kind.items} if isinstance(kind, Dct) else {}


def _whose(interpreter: Interpreter, node: ast.expr) -> Kind | None:
    """The object, class or module whose dictionary ``self.__dict__``, ``vars(x)`` or ``globals()`` is."""
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        return interpreter.facts.get(node.value)
    if not isinstance(node, ast.Call) or node.keywords or len(node.args) > 1:
        return None
    callee = interpreter.facts.get(node.func)
    if callee == Ref("builtins.vars") and node.args:
        return interpreter.facts.get(node.args[0])
    return Mod(interpreter.module) if callee == Ref("builtins.globals") else None


def under_name(interpreter: Interpreter, node: ast.Subscript, found: Kind) -> Kind:
    """``vars(box)['value']``, ``box.__dict__['value']``: an attribute, read out of its dictionary."""
    name = node.slice.value if isinstance(node.slice, ast.Constant) else None
    owner = _whose(interpreter, node.value) if isinstance(name, str) and found == UNKNOWN else None
    return interpreter.attribute(owner, str(name)) if isinstance(owner, Inst) else found


def _imported(module: ModuleInfo) -> set[str]:
    """The names that the imports of a module bind."""
    return {alias.asname or alias.name.partition(".")[0] for alias in module.source.of(ast.alias)}


def _is_plain(kind: Kind) -> bool:
    """Whether a value is one on which the tool decides by what it is: a number, a text, a dtype, None."""
    if isinstance(kind, (Lst, Tup)):
        return _is_plain(element_of(kind)) if isinstance(kind, Lst) else any(map(_is_plain, kind.items))
    return any(isinstance(k, (Const, Scalar, Ref)) for k in options(kind))


def instead(
    interpreter: Interpreter,
    owner: ClassInfo,
    cls: ClassInfo,
    method: FuncInfo,
    receiver: Inst | None,
    bound: Callable[[FuncInfo, Inst | Class], Kind],
) -> Kind:
    """What ``self.name`` is where a class has a method of that name: also what stands there instead of it.

    That is a function that is assigned to an object, or what a class below has: another property, or a value.
    """
    name = method.name
    found = [bound(method, receiver or Class(cls))]
    if name in owner.attrs:
        found.append(owner.attrs[name])
    if receiver == Inst(cls) and not name.startswith("__"):
        heirs = [one for one in interpreter.heirs(cls) if name in one.attrs or name in one.methods]
        for one in heirs:
            interpreter.reads(one, name)
            if name in one.attrs:
                found.append(one.attrs[name])
            elif method.is_property:
                found.append(bound(one.methods[name], Inst(one)))
    return join_all(found)


def of_heirs(interpreter: Interpreter, cls: ClassInfo, name: str, held: Kind) -> Kind:
    """What ``self.name`` is in a method of a class, with what the classes below it have under that name."""
    if name == "xp":  # the array module of each class is its own: xp_modules.py
        return held
    return join_all([held, *attributes_below(interpreter, cls, name)])


def shared(interpreter: Interpreter, module: ModuleInfo, name: str, held: Kind) -> Kind:
    """A local variable to which a function inside assigns (``nonlocal``): also what it may get there."""
    interpreter.reads(module, f"{_INNER}{name}")
    return join_all([held, module.inner[name]]) if name in module.inner else held


def share(interpreter: Interpreter, module: ModuleInfo, name: str, kind: Kind) -> None:
    """Notes a value that a function gives to a variable of the function around it, or gets for such a variable."""
    new = join_all([module.inner.get(name, kind), kind])
    if says_more(new, module.inner.get(name)):
        module.inner[name] = new
        interpreter.changed(module, f"{_INNER}{name}")


_INNER = "nonlocal "
