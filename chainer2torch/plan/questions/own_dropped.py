"""Functions that Python has dropped and that a file gets as its own, where a person would write them down again.

    from distutils.util import strtobool    ->    def strtobool(text): ...

They stand in the file itself, under their old name, unless it means something else there, too.
"""

from __future__ import annotations

import ast

from chainer2torch.plan.context import Context

_NAME, _MODULE = "strtobool", "distutils.util"
DOTTED = f"compat.{_NAME}"  # what templates call
_TEXT = '''def strtobool(text):
    """1 for a text that says yes, 0 for one that says no."""
    if text.lower() in ('y', 'yes', 't', 'true', 'on', '1'):
        return 1
    if text.lower() in ('n', 'no', 'f', 'false', 'off', '0'):
        return 0
    raise ValueError('invalid truth value %r' % text.lower())
'''


def definition(context: Context) -> tuple[str, str] | None:
    """The name of the function in this file, and its text; None: the file has another thing of that name."""
    source = context.source
    if context.choices.only or _NAME in source.assigned:
        return None
    imports = [(node, alias) for node in source.of(ast.ImportFrom, ast.Import) for alias in node.names]
    named = [(node, alias) for node, alias in imports if _NAME in (alias.asname, alias.name)]
    ours = all(
        isinstance(node, ast.ImportFrom) and node.module == _MODULE and not node.level and alias.name == _NAME
        for node, alias in named
    )
    return (_NAME, _TEXT) if ours else None


__all__ = ["DOTTED", "definition"]
