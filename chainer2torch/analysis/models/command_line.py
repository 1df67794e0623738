"""The types of command-line arguments, as ``argparse`` makes them."""

from __future__ import annotations

import ast

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import NONE, UNKNOWN, Inst, Kind, Lst, Ref, Scalar, Tup
from chainer2torch.analysis.lattice import element_of, join

_GIVEN = "given "  # before the name of an option: its kind where it is not left out


def parser_method(interpreter: Interpreter, parser: Inst, name: str, node: ast.AST | None) -> Kind:
    """The types of command-line arguments, from ``add_argument(type=..., default=...)``."""
    if name in ("add_argument_group", "add_mutually_exclusive_group"):
        return parser
    if name in ("parse_args", "parse_known_args"):
        namespace = Inst("argparse.Namespace", parser.site)
        return namespace if name == "parse_args" else Tup((namespace, Lst(Scalar("str"))))
    if name == "add_argument" and isinstance(node, ast.Call):
        keywords = {k.arg: k.value for k in node.keywords if k.arg}
        flags = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        long = next((f for f in flags if f.startswith("--")), flags[0] if flags else "")
        dest = keywords.get("dest")
        key = dest.value if isinstance(dest, ast.Constant) else long.lstrip("-").replace("-", "_")
        made = interpreter.objects.setdefault(parser.site, {})
        # Options that share a destination (`--gpu` and `--device`) may give values of either type.
        made[str(key)] = join(made.get(str(key)), _argument(interpreter, long, keywords))
        one = UNKNOWN if {"action", "nargs"} & keywords.keys() else _one(interpreter, keywords)
        made[_GIVEN + str(key)] = join(made.get(_GIVEN + str(key)), one)
    return UNKNOWN


def given(interpreter: Interpreter, owner: Kind, node: ast.Attribute) -> Kind | None:
    """What ``args.gpu`` is where the source has asked ``if args.gpu is not None:``; None: it has not asked."""
    if not isinstance(owner, Inst) or owner.cls != "argparse.Namespace" or not isinstance(node.value, ast.Name):
        return None
    source, kind = interpreter.module.source, interpreter.objects.get(owner.site, {}).get(_GIVEN + node.attr)
    if node.attr in source.kept:
        return None  # `args.gpu = ...`
    inner: ast.AST = node
    for outer in source.ancestors(node):
        if isinstance(outer, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            return None
        if isinstance(outer, ast.If) and inner in outer.body and _asks(outer.test, node):
            return kind
        inner = outer
    return None


def _asks(test: ast.expr, node: ast.Attribute) -> bool:
    """Whether a condition holds only where an option is not None."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_asks(part, node) for part in test.values)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.IsNot):
        right = test.comparators[0]
        return isinstance(right, ast.Constant) and right.value is None and _asks(test.left, node)
    return isinstance(test, ast.Attribute) and ast.dump(test) == ast.dump(node)


def _argument(interpreter: Interpreter, flag: str, keywords: dict[str, ast.expr]) -> Kind:
    action = keywords.get("action")
    if isinstance(action, ast.Constant):
        return Scalar("bool") if action.value in ("store_true", "store_false") else UNKNOWN
    if "nargs" in keywords and not (isinstance(keywords["nargs"], ast.Constant) and keywords["nargs"].value == "?"):
        return Lst(_several(interpreter, keywords))
    default = interpreter.facts.get(keywords["default"], UNKNOWN) if "default" in keywords else None
    required = isinstance(told := keywords.get("required"), ast.Constant) and told.value is True
    if not required and (default is None and flag.startswith("-") or default == NONE):
        return UNKNOWN  # None when it is left out
    return _one(interpreter, keywords)


def _one(interpreter: Interpreter, keywords: dict[str, ast.expr]) -> Kind:
    """The kind of one value that is given."""
    kind = _converter(interpreter, keywords)
    name = kind.name[9:] if isinstance(kind, Ref) and kind.name.startswith("builtins.") else ""
    return Scalar(name) if name in ("int", "float", "str", "bool") else UNKNOWN


def _several(interpreter: Interpreter, keywords: dict[str, ast.expr]) -> Kind:
    """The kind of one of several values; those of a default are what stands there."""
    kind = _converter(interpreter, keywords)
    name = kind.name[9:] if isinstance(kind, Ref) and kind.name.startswith("builtins.") else ""
    one = Scalar(name) if name in ("int", "float", "str") else UNKNOWN
    default = interpreter.facts.get(keywords["default"], UNKNOWN) if "default" in keywords else NONE
    return one if default in (NONE, Tup(())) else join(one, element_of(default))


def _converter(interpreter: Interpreter, keywords: dict[str, ast.expr]) -> Kind:
    return interpreter.facts.get(keywords["type"], UNKNOWN) if "type" in keywords else Ref("builtins.str")
