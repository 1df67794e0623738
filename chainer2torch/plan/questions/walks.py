"""Names in walks over links: ``for child in model.children()``."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Tensor, options
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.plan.questions.free_walks import has_own_ways

_WALKS = frozenset({"params", "namedparams", "children", "links", "namedlinks"})
_ADDS = frozenset({"add_link", "append", "insert", "setattr"})


def simple(node: ast.expr) -> bool:
    """Whether an expression may be written twice."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def walked(source: Source, node: ast.expr) -> str:
    """Which walk over links a name is the loop variable of; 'skipself' where it leaves the first link out."""
    if not isinstance(node, ast.Name):
        return ""
    loop = _loop_of(source, node)
    return _walk_in(loop[1]) if loop is not None else ""


def _loop_of(source: Source, node: ast.Name) -> tuple[ast.expr, ast.expr] | None:
    """The target and the iterable of the loop or comprehension that gives a name its value."""
    for ancestor in source.ancestors(node):
        loops = (
            [(ancestor.target, ancestor.iter)]
            if isinstance(ancestor, (ast.For, ast.AsyncFor))
            else [(g.target, g.iter) for g in ancestor.generators]
            if isinstance(ancestor, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp))
            else []
        )
        for target, walk in loops:
            if any(isinstance(n, ast.Name) and n.id == node.id for n in nodes_of(target)):
                return target, walk
        if isinstance(ancestor, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            break
    return None


def walked_model(source: Source, node: ast.expr) -> ast.expr | None:
    """The model in ``for p in model.params():``, of whose parameters ``p`` is one."""
    if not isinstance(node, ast.Name):
        return None
    target, walk = _loop_of(source, node) or (node, node)
    if not isinstance(target, ast.Name) or not isinstance(walk, ast.Call) or walk.args or walk.keywords:
        return None
    method = walk.func
    if not isinstance(method, ast.Attribute) or method.attr != "params" or not simple(method.value):
        return None
    in_expression = isinstance(source.parents.get(walk), ast.comprehension)  # only a name may be written twice there
    return method.value if isinstance(method.value, ast.Name) or not in_expression else None


def walked_parent(analysis: Analysis, source: Source, node: ast.expr) -> ast.expr | None:
    """The link in ``for child in link.children():``, of whose children each is held nowhere else."""
    if not isinstance(node, ast.Name):
        return None
    target, walk = _loop_of(source, node) or (node, node)
    if not isinstance(target, ast.Name) or not isinstance(walk, ast.Call) or walk.args or walk.keywords:
        return None
    method = walk.func
    if not isinstance(method, ast.Attribute) or method.attr != "children" or not simple(method.value):
        return None
    if not isinstance(method.value, ast.Name) and isinstance(source.parents.get(walk), ast.comprehension):
        return None  # only a name may be written twice there
    known = analysis.is_link(analysis.kind(method.value)) and analysis.is_link(analysis.kind(node))
    alone = known and not analysis.once(has_own_ways) and not _is_added(source, node)
    return method.value if alone else None


def _is_added(source: Source, name: ast.Name) -> bool:
    """Whether a function may put a loop variable into another link, where it gets another name."""
    around = source.enclosing(name, ast.FunctionDef, ast.AsyncFunctionDef) or source.tree
    return any(
        isinstance(n, ast.Assign)
        and isinstance(n.value, ast.Name)
        and n.value.id == name.id
        and any(isinstance(t, (ast.Attribute, ast.Subscript)) for t in n.targets)
        or isinstance(n, ast.Call)
        and (n.func.attr if isinstance(n.func, ast.Attribute) else getattr(n.func, "id", "")) in _ADDS
        and any(isinstance(a, ast.Name) and a.id == name.id for a in n.args)
        for n in nodes_of(around)
    )


def names_asked(analysis: Analysis) -> bool:
    """Whether the project asks links or parameters for their names, other than in a walk over a model in sight.

    The faithful walks tell the names to what they give; the short ones do not.
    """
    return any(
        node.attr == "name"
        and isinstance(node.ctx, ast.Load)
        and walked_model(module.source, node.value) is None
        and walked_parent(analysis, module.source, node.value) is None
        and any(
            isinstance(k, Tensor) or analysis.is_link(k) or k == UNKNOWN and bool(walked(module.source, node.value))
            for k in options(analysis.kind(node.value))
        )
        for module in analysis.project.modules.values()
        for node in module.source.of(ast.Attribute)
    )


def sizes_set(analysis: Analysis) -> bool:
    """Whether the project gives a layer another ``outsize`` after it was made (``self.deconv.outsize = (h, w)``)."""
    return any(
        node.attr == "outsize"
        and isinstance(node.ctx, ast.Store)
        and not (isinstance(node.value, ast.Name) and node.value.id == "self")
        for module in analysis.project.modules.values()
        for node in module.source.of(ast.Attribute)
    )


def _walk_in(node: ast.expr) -> str:
    """``model.children()``, also in ``enumerate(...)``, ``sorted(...)``, ``zip(...)``."""
    for call in nodes_of(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _WALKS:
            given = [*call.args, *(k.value for k in call.keywords)]
            skips = len(given) == 1 and isinstance(given[0], ast.Constant) and given[0].value is True
            return "skipself" if skips and call.func.attr in ("links", "namedlinks") else call.func.attr
    return ""
