"""What runs no module of its own when it is called: names, methods and parameters."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection

from chainer2torch.plan.questions.paths import FUNCTIONS

BUILTINS = frozenset(dir(builtins)) | {  # those of Python 2, too: what `2to3` left is no module
    "basestring",
    "long",
    "raw_input",
    "reduce",
    "unichr",
    "unicode",
    "xrange",
}
# methods of files, containers, numbers and progress bars: nothing of theirs runs a module
OF_HOST_OBJECTS = frozenset(
    {
        "add",
        "add_image",
        "add_scalar",
        "append",
        "astype",
        "clear",
        "close",
        "copy",
        "count",
        "extend",
        "flush",
        "format",
        "get",
        "get_example",
        "index",
        "info",
        "insert",
        "item",
        "items",
        "join",
        "keys",
        "log",
        "next",
        "pop",
        "print",
        "put",
        "read",
        "reset",
        "reshape",
        "save",
        "set_description",
        "sort",
        "split",
        "sum",
        "tolist",
        "transpose",
        "update",
        "values",
        "warning",
        "write",
        "writerow",
    }
)
# methods of environments (gym), where no class of the project has one of that name
OF_ENVIRONMENTS = frozenset({"render", "step"})


def left_out(function: ast.AST, passed: Collection[str], call: ast.Call) -> set[str]:
    """The parameters that have their defaults, which are None, a function or the like, in a call."""
    if not isinstance(function, FUNCTIONS) or any(isinstance(e, ast.Starred) for e in call.args):
        return set()
    args = function.args
    named = [*zip(reversed(args.args), reversed(args.defaults)), *zip(args.kwonlyargs, args.kw_defaults)]
    plain = {a.arg for a, default in named if isinstance(default, ast.Constant)}
    return plain - set(passed) if all(k.arg for k in call.keywords) else set()
