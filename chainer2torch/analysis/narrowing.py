"""What a condition tells of the names in it: ``isinstance(x, chainer.Variable)``, ``x is None``, ``x.ndim == 4``.

A kind can only become more exact by it: of several kinds those stay that the answer allows, and of a value of which
nothing was known that is known what it was asked for. Where the answer contradicts what is known, nothing is told.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import (
    BOTTOM,
    NONE,
    UNKNOWN,
    Class,
    Const,
    Dct,
    Func,
    HostArray,
    Inst,
    Kind,
    Lst,
    Ref,
    Scalar,
    Tensor,
    Tup,
    options,
    scalar_type,
)
from chainer2torch.analysis.lattice import join_all
from chainer2torch.analysis.models.xp_modules import CUPY

Told = dict[str, Kind]
KindOfName = Callable[[str], Kind | None]
BesideNone = Callable[[str], Kind]
_VARIABLES = frozenset({"chainer.Variable", "chainer.Parameter"})
_ARRAYS = frozenset({"numpy.ndarray"})
_CUPY_ARRAY = Ref("chainer.backends.cuda.ndarray")
_PLAIN = frozenset({"builtins.int", "builtins.float", "builtins.str", "builtins.bool"})
_LINKS = frozenset({"chainer.Link", "chainer.Chain", "chainer.ChainList", "chainer.Sequential"})
_SOME_LINKS = frozenset({"chainer.Link", "chainer.Chain"})
_ITERATORS = frozenset({"chainer.dataset.Iterator"})
_ISINSTANCE = Ref("builtins.isinstance")
_INSIDE = frozenset({"array", "data"})


def always(facts: Facts, test: ast.expr, kind_of: KindOfName) -> bool:
    """Whether ``isinstance(iterator, chainer.dataset.Iterator)`` holds for every object that a name stands for.

    So does ``not isinstance(optimizer, dict)``.
    """
    negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    test = test.operand if isinstance(test, ast.UnaryOp) and negated else test
    if not isinstance(test, ast.Call) or len(test.args) != 2 or facts.facts.get(test.func) != _ISINSTANCE:
        return False
    kind = kind_of(test.args[0].id) if isinstance(test.args[0], ast.Name) else None
    cls = _class(facts, test.args[1])
    found = options(kind) if kind is not None and kind is not BOTTOM else ()
    return bool(found) and all(isinstance(k, Inst) and _is_one(facts, k, cls) is (not negated) for k in found)


def reached(facts: Facts, test: ast.expr, truth: bool, kind: Kind) -> Kind:
    """What a branch of an expression gives; nothing for ``x.array`` in ``None if x is None else x.array`` of a None."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return reached(facts, test.operand, not truth, kind)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Is, ast.IsNot)):
        return kind
    if facts.kind(test.comparators[0]) != NONE or facts.kind(test.left) != NONE:
        return kind
    return kind if isinstance(test.ops[0], ast.Is) is truth else BOTTOM


def told(facts: Facts, test: ast.expr, truth: bool, kind_of: KindOfName, beside_none: BesideNone) -> Told:
    """The kinds of names where ``test`` is true, or where it is false; ``kind_of`` knows those of the scope.

    ``beside_none`` is what a name stands for of which only None is known, where it is not None.
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return told(facts, test.operand, not truth, kind_of, beside_none)
    if isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) is not truth:
            return {}
        found: Told = {}
        for part in test.values:
            found.update(told(facts, part, truth, lambda name: found.get(name) or kind_of(name), beside_none))
        return found
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(facts, test, truth, kind_of, beside_none)
    if isinstance(test, ast.Call) and len(test.args) == 2 and facts.facts.get(test.func) == _ISINSTANCE:
        return _instance(facts, test.args[0], test.args[1], truth, kind_of)
    if isinstance(test, ast.Name) and truth:
        return _not_none(test, kind_of, beside_none)
    return {}


def _not_none(node: ast.expr, kind_of: KindOfName, beside_none: BesideNone) -> Told:
    return _changed(node, kind_of, lambda kind: beside_none(getattr(node, "id", "")) if kind == NONE else kind)


def _changed(node: ast.expr, kind_of: KindOfName, change: Callable[[Kind], Kind]) -> Told:
    old = kind_of(node.id) if isinstance(node, ast.Name) else None
    if old is None or old is BOTTOM or not isinstance(node, ast.Name):
        return {}
    new = change(old)
    return {node.id: new} if new != old else {}


def _compared(facts: Facts, test: ast.Compare, truth: bool, kind_of: KindOfName, beside_none: BesideNone) -> Told:
    op, left, right = test.ops[0], test.left, test.comparators[0]
    if isinstance(op, (ast.Is, ast.IsNot)) and isinstance(right, ast.Constant) and right.value is None:
        if isinstance(op, ast.Is) is truth:
            return _changed(left, kind_of, lambda kind: NONE)
        return _not_none(left, kind_of, beside_none)
    if isinstance(op, (ast.Eq, ast.NotEq)) and isinstance(op, ast.Eq) is truth:
        number = facts.facts.get(right)
        array = ranked(left)
        if array is not None and isinstance(number, Const) and type(number.value) is int:
            return of_rank(array, number.value, kind_of)
    return {}


def ranked(node: ast.expr) -> ast.expr | None:
    """The array whose rank an expression is: ``x.ndim``, ``x.array.ndim``, ``len(x.shape)``."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "len"
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Attribute)
        and node.args[0].attr == "shape"
    ):
        return whole(node.args[0].value)
    return whole(node.value) if isinstance(node, ast.Attribute) and node.attr == "ndim" else None


def whole(node: ast.expr) -> ast.expr:
    """A Variable whose array an expression is."""
    return node.value if isinstance(node, ast.Attribute) and node.attr in _INSIDE else node


def of_rank(node: ast.expr, rank: int, kind_of: KindOfName) -> Told:
    """What it says of a name that its value has so many axes: only arrays and tensors are looked at."""

    return _changed(node, kind_of, lambda kind: with_rank(kind, rank))


def with_rank(kind: Kind, rank: int) -> Kind:
    """The kind of a value whose arrays and tensors have so many axes."""
    kept = [
        dataclasses.replace(k, rank=rank)
        for k in options(kind)
        if isinstance(k, (Tensor, HostArray)) and k.rank in (None, rank)
    ]
    others = [k for k in options(kind) if not isinstance(k, (Tensor, HostArray))]
    return join_all([*kept, *others]) if kept else kind


def _instance(facts: Facts, node: ast.expr, classes: ast.expr, truth: bool, kind_of: KindOfName) -> Told:
    asked = [_class(facts, c) for c in (classes.elts if isinstance(classes, ast.Tuple) else [classes])]

    def change(kind: Kind) -> Kind:
        kind = _one_of_two(kind, asked, truth)
        answers = [[_is_one(facts, option, cls) for cls in asked] for option in options(kind)]
        if truth:
            kept = [k for k, answer in zip(options(kind), answers) if any(a is not False for a in answer)]
            if kept and kept != [UNKNOWN]:
                return join_all([_more_exact(facts, k, asked) for k in kept])
            if not kept and not all(isinstance(cls, Ref) and cls.name in _VARIABLES for cls in asked):
                return kind
            # nothing is known of it, or no array that is known so far gets here: it is what was asked for
            guesses = [_an_instance(facts, cls) for cls in asked]
            return join_all(guesses) if UNKNOWN not in guesses else kind
        kept = [k for k, answer in zip(options(kind), answers) if True not in answer]
        return join_all(kept) if kept else kind

    return _changed(node, kind_of, change)


def _one_of_two(kind: Kind, asked: list[Kind], truth: bool) -> Kind:
    """Of what is an array on some ways and a Variable on others: the one for which a test has this answer."""
    names = {cls.name if isinstance(cls, Ref) else "" for cls in asked}
    if not names or not (names <= _VARIABLES or names <= _ARRAYS):
        return kind
    array = (names <= _ARRAYS) is truth
    no_variable = not truth and names <= _VARIABLES
    parts = [
        dataclasses.replace(k, array=array, either=False) if isinstance(k, Tensor) and (k.either or no_variable) else k
        for k in options(kind)
    ]
    return join_all(parts)


def _class(facts: Facts, node: ast.expr) -> Kind:
    """A class that is asked for; that of CuPy's arrays has several names."""
    kind = facts.facts.get(node, UNKNOWN)
    if isinstance(node, ast.Attribute) and node.attr == "ndarray":
        owner = facts.facts.get(node.value)
        if isinstance(owner, Ref) and owner.name in CUPY:
            return _CUPY_ARRAY
    return kind


def _more_exact(facts: Facts, kind: Kind, asked: list[Kind]) -> Kind:
    """Some link that is an instance of a class, of the project or of Chainer's, is one of that class."""
    if not isinstance(kind, Inst) or not isinstance(kind.cls, str):
        return kind
    cls = asked[0] if len(asked) == 1 else UNKNOWN
    if isinstance(cls, Class):
        return Inst(cls.info) if facts.derives(cls.info, kind.cls) else kind
    names = [c.name for c in asked if isinstance(c, Ref)]
    is_layer = all(name.startswith("chainer.links.") and facts.rules.is_subclass(name, kind.cls) for name in names)
    return join_all([Inst(name) for name in names]) if is_layer and len(names) == len(asked) else kind


def _is_one(facts: Facts, kind: Kind, cls: Kind) -> bool | None:
    """Whether a value of a kind is an instance of a class, in the original program; None: it does not show."""
    if isinstance(cls, Class):
        if isinstance(kind, Inst):
            return cls.info in facts.mro(kind.cls) or (None if isinstance(kind.cls, str) else False)
        return False if _is_plain(kind) else None
    name = cls.name if isinstance(cls, Ref) else ""
    if name.startswith("chainer.links.") and isinstance(kind, Inst) and isinstance(kind.cls, str):
        return _is_layer(facts, kind.cls, name)
    if name.startswith("chainer.links.") or name in _LINKS:
        return _is_link(facts, kind, name)
    if name in _VARIABLES:
        # what is taken for a Variable may have been an array where both are tensors
        return None if isinstance(kind, Tensor) else False if _is_plain(kind) else None
    if name in _ARRAYS:
        if isinstance(kind, Tensor):
            return None if kind.array or kind.either else False
        return True if isinstance(kind, HostArray) else False if _is_plain(kind) else None
    if name in _PLAIN:
        found = scalar_type(kind)
        if found is None:
            return False if isinstance(kind, (Tensor, Lst, Tup, Dct)) else None
        return found == name[9:] or (found, name) == ("bool", "builtins.int")
    if name == "builtins.dict":
        of_library = isinstance(kind, Inst) and isinstance(kind.cls, str) and kind.cls.startswith("chainer.")
        return isinstance(kind, Dct) if _is_plain(kind) or isinstance(kind, Tensor) or of_library else None
    if name in ("builtins.list", "builtins.tuple"):  # a Lst stands for both
        if isinstance(kind, Tup):
            return name == "builtins.tuple"
        return None if isinstance(kind, Lst) or kind == UNKNOWN else False if _is_plain(kind) else None
    if isinstance(kind, Inst) and name.startswith("chainer.") and facts.derives(kind.cls, name):
        return True
    return False if name in _ITERATORS and _is_plain(kind) else None


def _is_link(facts: Facts, kind: Kind, asked: str) -> bool | None:
    """Whether a value is a link: functions, numbers, containers and arrays are none."""
    if isinstance(kind, Func) or isinstance(kind, Ref) and kind.name.startswith("chainer.functions."):
        return False
    if isinstance(kind, Inst):
        return True if facts.derives(kind.cls, asked) else None
    return False if _is_plain(kind) or isinstance(kind, Tensor) else None


def _is_layer(facts: Facts, own: str, asked: str) -> bool | None:
    """Whether an instance of one of Chainer's layers is one of another: no class derives from two of them."""
    if facts.rules.is_subclass(own, asked):
        return True
    return False if own.startswith("chainer.links.") and not facts.rules.is_subclass(asked, own) else None


def _is_plain(kind: Kind) -> bool:
    """Whether it is a number, a text, a container or an array of NumPy's: none of Chainer's objects."""
    return isinstance(kind, (Scalar, Const, Lst, Tup, Dct, HostArray))


def _an_instance(facts: Facts, cls: Kind) -> Kind:
    """What is known of a value of which nothing was known but that it is an instance of a class."""
    if isinstance(cls, Class):
        return Inst(cls.info)
    name = cls.name if isinstance(cls, Ref) else ""
    if name in _VARIABLES:
        return Tensor()
    if cls == _CUPY_ARRAY:
        return Tensor(array=True)
    if name in _PLAIN:
        return Scalar(name[9:])
    if name in ("builtins.list", "builtins.tuple"):
        return Lst(UNKNOWN)
    if name == "builtins.dict":
        return Dct(UNKNOWN)
    is_link = name in _SOME_LINKS or name.startswith("chainer.links.") and facts.rules.is_subclass(name, "chainer.Link")
    return Inst(name) if is_link else UNKNOWN
