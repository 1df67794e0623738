"""What parses under both versions of Python and means something else: a person decides, and the line says what."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from chainer2torch.analysis.source import Source
from chainer2torch.python2.certain import certain
from chainer2torch.python2.division import Division
from chainer2torch.python2.texts import encoded, read_as_text
from chainer2torch.python2.names import replaced

DIVISION, OTHER = "C2T018", "C2T019"
# What a marker looks like while the file is migrated: no pass of the planner may take it for one of its own.
MARK = "# TODO(python2 "
_SPECIAL = {
    "__cmp__": "Python 3 does not call it: write __eq__ and __lt__ (functools.total_ordering makes the others)",
    "__getslice__": "Python 3 does not call it: __getitem__ gets a slice",
    "__setslice__": "Python 3 does not call it: __setitem__ gets a slice",
    "__delslice__": "Python 3 does not call it: __delitem__ gets a slice",
    "__coerce__": "Python 3 does not call it",
    "__unicode__": "Python 3 does not call it: call it __str__",
    "__div__": "Python 3 does not call it: call it __truediv__, or __floordiv__ where it counts integers",
    "__rdiv__": "Python 3 does not call it: call it __rtruediv__, or __rfloordiv__ where it counts integers",
    "__idiv__": "Python 3 does not call it: call it __itruediv__, or __ifloordiv__ where it counts integers",
}
_READS = frozenset({"read", "readline", "readlines", "recv"})
_UNKNOWN_TYPES = (
    "it is not known whether both are integers, for which Python 2 gave an integer (7 / 2 was 3); write // if they are"
)
_AS_CALLED = (
    "both are integers as far as this project calls it, for which Python 2 gave an integer; write / if others call it "
    "with floating numbers"
)
_INTEGERS = (
    "Python 2 gave an integer here (7 / 2 was 3), and this file has names that only Python 2 has; write // if so"
)
_TOGETHER = (
    "Python 2 gave an integer here (7 / 2 was 3), and files that only Python 2 runs import this one, or it imports "
    "them; write // if so"
)
_ARRAYS = "an array of integers raises here, for which Python 2 gave whole numbers; write //= if there is one"


@dataclasses.dataclass(frozen=True)
class Question:
    """One place: its node, its code, what it is called, and what to think of; ``quiet``: in the report only."""

    node: ast.AST
    code: str
    symbol: str
    message: str
    quiet: bool = False


def of_divisions(source: Source, meanings: Mapping[Division, str], which: str) -> list[Question]:
    """The divisions of one meaning: the ``unknown`` ones, or those of integers in a file that Python 3 can run: one
    with names of Python 2 (``floor``), or one that runs ``together`` with files of Python 2. The ``loud`` ones are
    those of arrays, of which Python 3 says itself where they hold integers: the report has them.
    """
    message = {"unknown": _UNKNOWN_TYPES, "floor": _INTEGERS, "together": _TOGETHER, "loud": _ARRAYS}[which]
    meaning = "floor" if which == "together" else which
    return [
        Question(one.node, DIVISION, "Python 2: /", message, quiet=which == "loud")
        for one, was in meanings.items()
        if was == meaning
    ]


def of_integers(source: Source, meanings: Mapping[Division, str]) -> list[Question]:
    """The divisions of integers that other callers than those of this project could give other numbers."""
    return [
        Question(one.node, DIVISION, "Python 2: /", _AS_CALLED, quiet=True)
        for one, was in meanings.items()
        if was == "floor" and not all(certain(operand, source) for operand in one.operands)
    ]


def others(source: Source) -> list[Question]:
    """Everything else that a file of Python 2 means otherwise under Python 3, without any error."""
    return [
        Question(node, OTHER, f"Python 2: {name}", message)
        for find in (_rounding, _special_methods, _bytes, _encoded, _seeds, _executed, _leaks)
        for node, name, message in find(source)
    ]


Found = Iterator[tuple[ast.AST, str, str]]


def _rounding(source: Source) -> Found:
    for call in _calls(source, "round"):
        yield (
            call,
            "round",
            "Python 2 rounded halves away from zero and gave a float; Python 3 rounds them to the even neighbour, "
            "and gives an int when it is asked for no digits",
        )


def _special_methods(source: Source) -> Found:
    for method in source.of(ast.FunctionDef):
        if method.name in _SPECIAL and isinstance(source.parents[method], ast.ClassDef):
            yield method, method.name, _SPECIAL[method.name]


def _bytes(source: Source) -> Found:
    for call in _calls(source, "open"):
        if read_as_text(source, call):
            yield call, "open", "gives bytes, which are never equal to a text: open it without b, or decode them"


def _encoded(source: Source) -> Found:
    for call in encoded(source):
        yield call, "encode", "gives bytes, which print as b'...' and are never equal to a text"


def _seeds(source: Source) -> Found:
    for call in source.of(ast.Call):
        if ast.unparse(call.func) == "random.seed":
            yield (
                call,
                "random.seed",
                "for the same seed shuffle, choice, randint and sample of Python 3 give other values",
            )


def _executed(source: Source) -> Found:
    for call in _calls(source, "exec"):
        if len(call.args) == 1 and source.enclosing(call, ast.FunctionDef) is not None:
            yield call, "exec", "cannot change the local names of the function around it any more"


def _leaks(source: Source) -> Found:
    """A list comprehension over a name that the function reads, too: in Python 2 the name was changed by it."""
    for made in source.of(ast.ListComp):
        scope = source.enclosing(made, ast.FunctionDef, ast.Lambda, ast.Module)
        names = {
            name.id
            for generator in made.generators
            for name in ast.walk(generator.target)
            if isinstance(name, ast.Name)
        }
        inside = {id(node) for node in ast.walk(made)}
        last = (made.end_lineno or 0, made.end_col_offset or 0)
        for name in sorted(source.of(ast.Name), key=lambda name: (name.lineno, name.col_offset)):
            if (name.lineno, name.col_offset) < last or name.id not in names or id(name) in inside:
                continue
            if source.enclosing(name, ast.FunctionDef, ast.Lambda, ast.Module) is not scope:
                continue
            if _in_comprehension_of(source, name):
                continue
            names.discard(name.id)  # what comes first decides
            if isinstance(name.ctx, ast.Load):
                yield made, name.id, f"in Python 2 this comprehension changed `{name.id}`, which is read later"


def _in_comprehension_of(source: Source, name: ast.Name) -> bool:
    for around in source.ancestors(name):
        if isinstance(around, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)) and any(
            isinstance(node, ast.Name) and node.id == name.id
            for generator in around.generators
            for node in ast.walk(generator.target)
        ):
            return True
    return False


def _calls(source: Source, name: str) -> list[ast.Call]:
    """The calls of a builtin function that the file does not define itself."""
    if name in source.assigned:
        return []
    return [call for call in source.of(ast.Call) if isinstance(call.func, ast.Name) and call.func.id == name]


def marked(source: Source, questions: Iterable[Question]) -> str:
    """The text with a comment for each question above the first statement that it is about; it says how many follow."""
    asked: dict[tuple[str, str, str], list[ast.stmt]] = {}
    for question in questions:
        if not question.quiet:
            statements = asked.setdefault((question.code, question.symbol, question.message), [])
            statements.append(source.line_statement(question.node))
    together: dict[int, list[str]] = {}
    for (code, symbol, message), statements in asked.items():
        first = min(statements, key=lambda statement: statement.lineno)
        others = len({statement.lineno for statement in statements}) - 1
        line, begin = source.line_at(_above(source, first))
        blank = line[: len(line) - len(line.lstrip(" \t"))]
        newline = "\r\n" if line.endswith("\r\n") else "\n"
        more = f" ({others} more of this file in the report)" if others else ""
        together.setdefault(begin, []).append(f"{blank}{MARK}{code}): {symbol}: {message}{more}{newline}")
    return replaced(source.text, [(begin, begin, "".join(texts)) for begin, texts in together.items()])


def _above(source: Source, statement: ast.stmt) -> int:
    """Where the first line of a statement begins, with its decorators."""
    first = min([statement.lineno, *(node.lineno for node in getattr(statement, "decorator_list", ()))])
    start: int = source.line_starts[first - 1]
    return start
