"""Links that may be made in test mode: `chainer.config.train` in a constructor is then False.

A module of PyTorch is in train mode when it is made, whatever is around.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import Class, Func, Ref, options
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.train_flags import train_flags
from chainer2torch.plan.questions.config_names import entry_name


def may_be_made_in_test_mode(context: Context, node: ast.AST) -> bool:
    """Whether a node stands in the constructor of a link that some block in test mode makes, itself or by functions."""
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    cls = context.enclosing_class(node)
    if not isinstance(function, ast.FunctionDef) or function.name != "__init__" or cls is None:
        return False
    if not context.analysis.derives(cls, "chainer.Link"):
        return False
    flags = context.analysis.once(train_flags)
    if context.module in flags.switched | flags.settled:
        return True
    made = context.analysis.once(_made_in_blocks)
    return any(cls in context.analysis.mro(other) for other in made)


def _made_in_blocks(analysis: Facts) -> frozenset[ClassInfo]:
    """The classes of the project that are made inside of `with using_config('train', ...)`."""
    found: set[ClassInfo] = set()
    seen: set[FuncInfo] = set()
    bodies: list[ast.AST] = [
        block
        for module in analysis.project.modules.values()
        if "using_config" in module.source.text
        for block in module.source.of(ast.With)
        if isinstance(block, ast.With)
        and any(_switches(analysis, module.source, item.context_expr) for item in block.items)
    ]
    while bodies:
        for node in nodes_of(bodies.pop()):
            if not isinstance(node, ast.Call):
                continue
            for kind in options(analysis.kind(node.func)):
                if isinstance(kind, Class):
                    found.add(kind.info)
                elif isinstance(kind, Func) and kind.info not in seen:
                    seen.add(kind.info)
                    bodies.append(kind.info.node)
    return frozenset(found)


def _switches(analysis: Facts, source: Source, node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and Ref("chainer.using_config") in options(analysis.kind(node.func))
        and ("train" in ast.unparse(node) or "train" in (entry_name(analysis, source, a) for a in node.args[:1]))
    )
