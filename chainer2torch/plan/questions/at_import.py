"""What is computed while a module is imported: what it needs then must be there."""

from __future__ import annotations

import ast

from chainer2torch.plan.context import Context


def runs_at_import(context: Context, node: ast.AST, imported: bool) -> bool:
    """Whether an expression is computed when the module is imported: no function and no main program is around it.

    A file that nobody imports is a program: what it does at its top is what it is for. Its definitions are not.
    """
    defines = False
    for outer in context.source.ancestors(node):
        if isinstance(outer, ast.Lambda) and node is outer.body:
            return False
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)) and node in outer.body:
            return False
        if isinstance(outer, ast.If) and node in outer.body and "__name__" in ast.dump(outer.test):
            return False
        defines = defines or isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        node = outer
    return imported or defines
