"""What programs print, beside what their migrations print, in one process and without files."""

import contextlib
import io
import sys
import types
from unittest import mock

import ignite.engine  # noqa: F401  both stay imported: a library of PyTorch's is registered once in a process
import pytorch_pfn_extras  # noqa: F401

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
from chainer2torch.vendor import compat_file


def printed(code, style=None, helpers=(), names=None, said=None):
    """What a program prints, its dtypes by their names alone; ``names`` gets what it defines.

    ``said``: the words of the program, for helpers that are cut to what it uses.
    """
    compat = types.ModuleType("chainer_compat")
    if style is not None:
        exec(compile(compat_file.build(helpers, style=style, said=said), "<helpers>", "exec"), compat.__dict__)
    written = io.StringIO()
    module = types.ModuleType("the_program")
    held = {"chainer_compat": compat, "the_program": module}
    with mock.patch.dict(sys.modules, held), contextlib.redirect_stdout(written):
        exec(compile(code, "<program>", "exec"), vars(module))
        if names is not None:
            names.update(vars(module))
    return (
        written.getvalue()
        .replace("torch.", "")
        .replace("dtype('float64')", "float64")
        .replace("dtype('float32')", "float32")
    )


def printed_by_both(program, style):
    """What a program prints, after its migration was seen to print the same."""
    result = migrate_source(program, rules=load_rules(style=style, lazy=True))
    assert result.error is None
    expected = printed(program)
    assert printed(result.code, style, result.helpers) == expected
    return expected
