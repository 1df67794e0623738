"""What the program's own checks ask of an input: ``assert x.shape[2] == self.n_points``, ``if x.ndim != 4: raise``.

Where an attempt fails at such a check, both sides of the comparison are computed where it failed, and the search gets
the numbers that should be equal. Written for Python 3.6.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import ast
import collections
import tokenize

from . import search_arrays, search_values

_MOST = 6
# Numbers that a condition is tried with, and how many of those with which it holds are.
_HIGHEST, _FITTING = 257, 3
_CHANNELS, _COUNTS = (16, 32, 64), 17
_LARGEST = 1 << 13
_OPPOSITE = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_trees = {}

# ``kind``: "number", "rank", "dtype", "array", "value"; ``has`` is what is there, ``wanted`` what should be. Of
# "shape", "axis" and "axes", ``has`` names the variable that is asked (and its axis); of "argument" it is one of the
# constructor, perhaps; "more" is what is left.
Wanted = collections.namedtuple("Wanted", "kind has wanted")


def read(error, tree):
    """What the check of the project asks for at which an attempt failed, likely changes first; often nothing."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None or not place.tb_frame.f_code.co_filename.startswith(tree):
        return []
    test = _test(place.tb_frame.f_code.co_filename, place.tb_lineno)
    if test is None:
        return []
    node, truth = test
    found = list(_asked(node, truth, place.tb_frame))[:_MOST]
    return found + list(_fitting(node, truth, place.tb_frame)) + [Wanted("more", None, None)]


def _fitting(node, truth, frame):
    """Numbers with which a condition holds, for each variable in it: ``(depth - 4) % 6 == 0``."""
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    for name in sorted(name for name in names if type(frame.f_locals.get(name)) is int):
        found = []
        for number in range(1, _HIGHEST):
            try:
                holds = eval(_code(node), frame.f_globals, dict(frame.f_locals, **{name: number}))
            except Exception:
                break
            if bool(holds) is truth and number != frame.f_locals[name]:
                found.append(number)
        for number in found[:_FITTING]:
            yield Wanted("argument", name, number)


def _more(inputs, arguments):
    """More of everything, one by one: channels, then the numbers that a model is made from, each up to a limit."""
    for name, spec in inputs.items():
        if isinstance(spec, dict) and spec["dtype"][0] == "f" and len(spec["shape"]) > 2:
            for channels in _CHANNELS:
                if channels > spec["shape"][1]:
                    shape = spec["shape"][:1] + [channels] + [min(n, 16) for n in spec["shape"][2:]]
                    yield dict(inputs, **{name: dict(spec, shape=shape)}), arguments
    for name, value in arguments.items():
        if value.isdigit():
            for number in dict.fromkeys([2 * int(value), 4 * int(value)] + list(range(1, _COUNTS))):
                if number != int(value) and number < _LARGEST:
                    yield inputs, dict(arguments, **{name: str(number)})


def repairs(inputs, arguments, asked):
    """Other inputs and arguments, as a check of the program asks; pairs of dicts by name."""
    for kind, has, wanted in asked:
        if kind == "more":
            yield from _more(inputs, arguments)
        if kind == "argument" and arguments.get(has, "").isdigit():
            yield inputs, dict(arguments, **{has: str(wanted)})
        if kind in ("shape", "axis", "axes"):
            yield from _of_one(inputs, arguments, kind, has, wanted)
        elif kind == "number":
            yield from search_values.numbers(inputs, arguments, has, wanted)
            yield from search_values.numbers(inputs, arguments, wanted, has)
        elif kind == "rank":
            yield from search_values.ranks(inputs, arguments, has, wanted)
        elif kind == "dtype":
            yield from search_values.dtypes(inputs, arguments)
        elif kind == "array" and any(map(search_arrays.has_floats, inputs.values())):
            yield search_arrays.all_plain(inputs), arguments
        elif kind == "value":
            for name, value in arguments.items():
                if value == repr(has):
                    yield inputs, dict(arguments, **{name: repr(wanted)})


def _of_one(inputs, arguments, kind, has, wanted):
    """The input that a check names, as the check wants it."""
    name, axis = has if kind == "axis" else (has, 0)
    spec = inputs.get(name)
    if not isinstance(spec, dict):
        return
    if kind == "axes":
        yield from search_values.ranked(inputs, arguments, name, wanted)
        return
    shape = list(wanted) if kind == "shape" else list(spec["shape"])
    if kind == "axis" and -len(shape) <= axis < len(shape):
        shape[axis] = wanted
    if shape != spec["shape"] and all(isinstance(n, int) and 0 < n <= _LARGEST for n in shape):
        yield dict(inputs, **{name: dict(spec, shape=shape)}), arguments


def _test(path, line):
    """The condition that failed in a line, and what it should have been; None where there is none."""
    if path not in _trees:
        try:
            with tokenize.open(path) as stream:
                _trees[path] = ast.parse(stream.read())
        except (OSError, SyntaxError, ValueError):
            _trees[path] = None
    found = None
    for node in ast.walk(_trees[path]) if _trees[path] is not None else ():
        if isinstance(node, ast.Assert) and node.lineno <= line <= _end(node):
            return node.test, True
        # the innermost ``if`` comes last: those outside of it are walked before
        if isinstance(node, ast.If) and any(
            isinstance(s, ast.Raise) and s.lineno <= line <= _end(s) for s in node.body
        ):
            found = node.test, False
        elif isinstance(node, ast.If) and any(
            isinstance(s, ast.Raise) and s.lineno <= line <= _end(s) for s in node.orelse
        ):
            found = node.test, True
    return found


def _end(node):
    return max(getattr(part, "lineno", 0) for part in ast.walk(node))


def _asked(node, truth, frame):
    """What would make a condition true, or false."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from _asked(node.operand, not truth, frame)
    elif isinstance(node, ast.BoolOp):
        for part in node.values:
            yield from _asked(part, truth, frame)
    elif isinstance(node, ast.Compare):
        left = node.left
        for op, right in zip(node.ops, node.comparators):
            kind = type(op) if truth else _OPPOSITE[type(op)]
            yield from _compared(kind, left, right, frame)
            left = right
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and truth:
        if node.func.id == "isinstance" and "ndarray" in ast.dump(node):
            yield Wanted("array", None, None)


def _compared(op, left, right, frame):
    try:
        has, wanted = _value(left, frame), _value(right, frame)
    except Exception:  # it needs what is not there any more
        return
    if op is ast.Eq and type(has) is type(wanted) and isinstance(has, (int, tuple, str)) and has == wanted:
        return
    text = ast.dump(left) + ast.dump(right)
    for node, value in ((right, has), (left, wanted)) if op is ast.Eq else ():
        yield from _named(node, value)
    if op is ast.In and isinstance(wanted, (tuple, list, set, dict)):
        yield from (Wanted("value", has, other) for other in wanted if isinstance(other, (str, int, float)))
    elif op is ast.Is or op is ast.IsNot:
        return
    elif "dtype" in text:
        yield Wanted("dtype", None, None)
    elif isinstance(has, tuple) and isinstance(wanted, tuple):
        if len(has) != len(wanted):
            yield Wanted("rank", len(has), len(wanted))
        pairs = [pair for pair in zip(has, wanted) if pair[0] != pair[1]]
        yield from (Wanted("number", a, b) for a, b in pairs if _is_number(a) and _is_number(b))
    elif _is_number(has) and _is_number(wanted):
        if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):  # the next multiple
            number, divisor = int(_value(left.left, frame)), int(_value(left.right, frame))
            yield Wanted("number", number, divisor * (number // divisor + 1))
            yield Wanted("number", divisor, number)
            return
        yield from _numbers(op, int(has), int(wanted), "'ndim'" in text)
    elif isinstance(has, str) and isinstance(wanted, str) and op is ast.Eq:
        yield Wanted("value", has, wanted)


def _named(node, value):
    """What is wanted of a variable itself: ``x.shape[1]``, ``x.shape``, ``x.ndim``."""
    if isinstance(node, ast.Subscript) and _is_of(node.value, "shape") and _is_number(value):
        try:
            yield Wanted("axis", (node.value.value.id, int(ast.literal_eval(_place(node)))), int(value))
        except (ValueError, TypeError):
            pass
    elif _is_of(node, "shape") and isinstance(value, tuple) and all(map(_is_number, value)):
        yield Wanted("shape", node.value.id, tuple(int(n) for n in value))
    elif _is_of(node, "ndim") and _is_number(value):
        yield Wanted("axes", node.value.id, int(value))


def _place(node):
    """The place of a subscript, which Python 3.8 and older write as a node of their own."""
    return getattr(node.slice, "value", node.slice) if type(node.slice).__name__ == "Index" else node.slice


def _is_of(node, attribute):
    return isinstance(node, ast.Attribute) and node.attr == attribute and isinstance(node.value, ast.Name)


def _numbers(op, has, wanted, is_rank):
    if op is ast.Eq or is_rank:
        if has != wanted:
            yield Wanted("rank" if is_rank else "number", has, wanted)
    elif op in (ast.Lt, ast.LtE) and has >= wanted:
        yield Wanted("number", has, wanted - (op is ast.Lt))
        yield Wanted("number", wanted, has + (op is ast.Lt))
    elif op in (ast.Gt, ast.GtE) and has <= wanted:
        yield Wanted("number", has, wanted + (op is ast.Gt))
        yield Wanted("number", wanted, has - (op is ast.Gt))


def _is_number(value):
    return isinstance(value, int) or type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0


def _value(node, frame):
    return eval(_code(node), frame.f_globals, frame.f_locals)


def _code(node):
    return compile(ast.Expression(node), "<check>", "eval")
