"""Names of a module that a class needs and that only its script would make: data, options, sizes that follow from data.

A search gives them a value as it does for an argument, and the module gets it on both sides before the model is made.
Among the arguments of an attempt such a name stands with its file: ``n_words@train.py``. Written for Python 3.6.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import ast
import operator
import os
import re
import sys
import traceback

from . import definitions, missing, search_arguments

# of an attempt, and of a class
_MOST = 6
_SIZES = frozenset("len int round max min sum abs".split())
_SIZE = "8"
_DEPTH = 5
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv}
_ARRAY_MODULES = frozenset("np numpy xp cp cupy torch".split())  # which differ between the sides
_OPTIONS = "types.SimpleNamespace()"


def lacking(error, tree):
    """``(key, values)`` for the name that an attempt needs and that nothing has made; None where it is something else.

    ``key`` is the name with its file; values are texts of Python, the likely first.
    """
    place = _not_made(error, tree) or _not_defined(error, tree)
    if place is None or place[1] in _ARRAY_MODULES:
        return None
    path, name, attribute = place
    found = [text for node in definitions.bound_to(path, name) for text in [guess(node, path)] if text]
    if attribute and search_arguments.is_settings(name):
        found = [_OPTIONS]
    elif attribute:  # of data, say: what it would be asked for next nobody knows
        return None
    found += ["True"] if re.search(r"train", name.lower()) else []  # which shows more
    return "{}@{}".format(name, path), list(dict.fromkeys(found + search_arguments.arguments_for(name)))


def _not_made(error, tree):
    """Of ``n_words of train.py:12 is needed here``; another name may stand for the same (``n = n_words``), or for a
    part of it (``n = env.size``).
    """
    full = str(error).partition(" is needed here")[0]
    place = re.match(r"\w+ of (.+?):\d+", full)
    for module in _modules(os.path.join(tree, place.group(1))) if isinstance(error, missing.NotRun) and place else ():
        for name, value in sorted(vars(module).items(), key=lambda pair: (not full.startswith(pair[0] + " "), pair[0])):
            if isinstance(value, missing._NotRun) and value._name_ == full:
                return place.group(1), name, None
    said = re.match(r"(\w+) of (.+?):\d+(\.\w+)? is needed here", str(error))
    return said.group(2, 1, 3) if isinstance(error, missing.NotRun) and said else None


def _not_defined(error, tree):
    """Of a name that a module binds as a script alone, or that a function of it makes global."""
    said = re.match(r"name '(\w+)' is not defined", str(error)) if isinstance(error, NameError) else None
    frames = traceback.extract_tb(error.__traceback__) if said else []
    path = os.path.abspath(frames[-1][0]) if frames else ""
    if not path.startswith(tree):
        return None
    path = path[len(tree) :].replace(os.sep, "/")
    return (path, said.group(1), None) if definitions.bound_to(path, said.group(1)) else None


def _number(node, path, depth):
    """What a calculation gives with a size for each part that is not known; None where it is none."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        for value in definitions.bound_to(path, node.id) if depth < _DEPTH else ():
            number = _number(value, path, depth + 1)
            if number is not None:
                return number
        return int(_SIZE)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        a, b = _number(node.left, path, depth), _number(node.right, path, depth)
        return None if a is None or b is None or not b else _OPERATORS[type(node.op)](a, b)
    if isinstance(node, ast.IfExp):
        asked = definitions.bound_to(path, node.test.id) if isinstance(node.test, ast.Name) else []
        is_set = not asked or getattr(asked[0], "value", True)
        return _number(node.body if is_set else node.orelse, path, depth)
    return int(_SIZE) if isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)) else None


def guess(node, path="", depth=0):
    """A text like an expression's value, with a size for each number that is not known; empty where nothing is."""
    try:
        return repr(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError):
        pass
    if isinstance(node, (ast.List, ast.Tuple)) and node.elts:
        parts = [guess(part, path, depth) or _SIZE for part in node.elts]
        return "[{}]".format(", ".join(parts)) if isinstance(node, ast.List) else "({},)".format(", ".join(parts))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SIZES:
        return _SIZE
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("parse_args", "parse_known_args"):
        return _OPTIONS
    if isinstance(node, (ast.BinOp, ast.IfExp)):
        number = _number(node, path, 0)
        return str(number) if number is not None and number > 0 else ""
    if isinstance(node, ast.Name):
        bound = [value for value in definitions.bound_to(path, node.id) if not isinstance(value, ast.Name)]
        return guess(bound[0], path, depth + 1) if bound and depth < _DEPTH else ""
    is_shape = isinstance(node, ast.Subscript) and getattr(node.value, "attr", "") == "shape"
    return _SIZE if is_shape or isinstance(node, ast.Attribute) and node.attr in ("size", "ndim") else ""


def supply(search, error):
    """Whether a name that an attempt needs has a value from now on, for this attempt and all that follow."""
    found = getattr(error, "lacking", None)
    if not found or found[0] in search.supplied or len(search.supplied) >= _MOST:
        return False
    search.supplied[found[0]] = found[1][0]
    name, _, path = found[0].partition("@")
    for module in _modules(path):
        old = vars(module).get(name, search)
        search.before.append((module, "_given_" + name, search))
        for other in [module] + [m for m in list(sys.modules.values()) if isinstance(old, missing._NotRun)]:
            if vars(other).get(name, search) is old:  # imported as what stands for it
                search.before.append((other, name, old))
    search.hints["values"][found[0]] = found[1][:8]
    return True


def take_back(search):
    """Lets the names of modules be what they were, for other classes."""
    for module, name, value in search.before[::-1]:
        if value is not search:
            setattr(module, name, value)
        elif hasattr(module, name):
            delattr(module, name)


def _modules(path):
    return [
        module
        for module in list(sys.modules.values())
        if os.path.abspath(getattr(module, "__file__", None) or "") == os.path.abspath(path)
    ]


def with_supplied(search, arguments):
    """The arguments of an attempt, with the names that are known to be needed."""
    if all(key in arguments for key in search.supplied):
        return arguments
    arguments = arguments.copy()
    for key, value in search.supplied.items():
        arguments.setdefault(key, value)
    return arguments


def started(arguments):
    """What goes before the model is made, each with its file: ``train.py: n_words = 8``."""
    return [
        "{1}: {0} = {2}".format(*(key.split("@", 1) + [value]))
        for key, value in sorted(arguments.items())
        if "@" in key
    ]
