"""What the names in the patterns of a ``match`` statement stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import BOTTOM, UNKNOWN, Class, Const, Dct, Inst, Kind, Lst, Perhaps, Tup, options
from chainer2torch.analysis.lattice import join_all, unsure
from chainer2torch.analysis.module_index import ClassInfo


def captured(interpreter: Interpreter, pattern: ast.pattern, kind: Kind) -> Iterator[tuple[str, Kind]]:
    """The names that a pattern binds where it fits a value of a kind, and what they get."""
    for child in ast.iter_child_nodes(pattern):
        if isinstance(child, ast.expr):
            interpreter.expr(child)
    if isinstance(pattern, ast.MatchAs):
        if pattern.pattern is not None:
            yield from captured(interpreter, pattern.pattern, kind)
        if pattern.name is not None:
            yield pattern.name, _of_class(interpreter, pattern.pattern, kind)
    elif isinstance(pattern, ast.MatchOr):
        for one in pattern.patterns:
            yield from captured(interpreter, one, kind)
    elif isinstance(pattern, ast.MatchSequence):
        for part, inner in zip(pattern.patterns, _in_order(interpreter, pattern.patterns, kind)):
            if not isinstance(part, ast.MatchStar):
                yield from captured(interpreter, part, inner)
            elif part.name is not None:
                yield part.name, inner
    elif isinstance(pattern, ast.MatchMapping):
        for key, part in zip(pattern.keys, pattern.patterns):
            yield from captured(interpreter, part, _under(interpreter, kind, key))
        if pattern.rest is not None:
            tables = [k for k in _known(kind) if isinstance(k, Dct)]
            yield pattern.rest, join_all([_doubtful(kind, Dct(k.element)) for k in tables])
    elif isinstance(pattern, ast.MatchClass):
        made = _of_class(interpreter, pattern, kind)
        for at, part in enumerate(pattern.patterns):
            names = _positional(interpreter, made)
            inner = interpreter.attribute(made, names[at]) if at < len(names) else made if at == 0 else UNKNOWN
            yield from captured(interpreter, part, inner)
        for name, part in zip(pattern.kwd_attrs, pattern.kwd_patterns):
            yield from captured(interpreter, part, interpreter.attribute(made, name))


def _known(kind: Kind) -> tuple[Kind, ...]:
    return options(kind.known if isinstance(kind, Perhaps) else kind)


def _doubtful(whole: Kind, part: Kind) -> Kind:
    """A part of a value: no surer than the value."""
    return unsure(part) if isinstance(whole, Perhaps) else part


def _in_order(interpreter: Interpreter, patterns: list[ast.pattern], kind: Kind) -> list[Kind]:
    """What the patterns of a sequence get, each its own; of a star a list."""
    star = next((at for at, part in enumerate(patterns) if isinstance(part, ast.MatchStar)), None)
    least = len(patterns) - (star is not None)
    found: list[list[Kind]] = [[] for _ in patterns]
    for one in _known(kind):
        if isinstance(one, Tup):
            count = len(one.items)
            if count < least or star is None and count != least:
                continue  # this pattern does not fit it
            behind = count - (len(patterns) - star - 1) if star is not None else count
            row = list(one.items)
            if star is not None:
                between = row[star:behind]
                row[star:behind] = [Lst(join_all(between) if between else BOTTOM)]
        else:
            element = interpreter.iterated(one)
            row = [Lst(element) if at == star else element for at in range(len(patterns))]
        for kinds, item in zip(found, row):
            kinds.append(_doubtful(kind, item))
    return [join_all(kinds) for kinds in found]


def _under(interpreter: Interpreter, kind: Kind, key: ast.expr) -> Kind:
    """What a mapping has under a key of a pattern."""
    index = interpreter.facts.get(key, UNKNOWN)
    tables = [one for one in _known(kind) if isinstance(one, Dct)]
    return join_all([_doubtful(kind, interpreter.item(one, key, index)) for one in tables])


def _of_class(interpreter: Interpreter, pattern: ast.pattern | None, kind: Kind) -> Kind:
    """Of the kinds of a value those that are of the class of a pattern, if there are any: the value itself else."""
    if not isinstance(pattern, ast.MatchClass):
        return kind
    cls = interpreter.facts.get(pattern.cls, UNKNOWN)
    if not isinstance(cls, Class):
        return kind
    mine = [one for one in _known(kind) if isinstance(one, Inst) and cls.info in interpreter.mro(one.cls)]
    return join_all([_doubtful(kind, one) for one in mine]) if mine else Inst(cls.info)


def _positional(interpreter: Interpreter, made: Kind) -> tuple[str, ...]:
    """The names in ``__match_args__``, or the fields of a class whose constructor is written for it."""
    if isinstance(made, Tup):
        return made.names
    if not isinstance(made, Inst) or not isinstance(made.cls, ClassInfo):
        return ()
    said = interpreter.class_attribute(made.cls, "__match_args__", None)
    if isinstance(said, Tup):
        return tuple(str(one.value) for one in said.items if isinstance(one, Const))
    return tuple(s.target.id for s in made.cls.node.body if _is_field(s))  # type: ignore[attr-defined]


def _is_field(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)


__all__ = ["captured"]
