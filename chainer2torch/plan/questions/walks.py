"""Names in walks over links: ``for child in model.children()``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Inst, Ref, Tensor, options
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


def name_in_walk(analysis: Analysis, source: Source, walk: ast.AST | None) -> str:
    """What a child's name is called in ``for name, child in link.named_children():``; "" where no loop needs it.

    ``walk`` is ``link.children()``, of a Chain, over which a statement walks that asks its variable for the name.
    """
    loop = source.parents.get(walk) if isinstance(walk, ast.Call) else None
    if not isinstance(loop, ast.For) or loop.orelse or loop.iter is not walk or not isinstance(loop.target, ast.Name):
        return ""
    if analysis.once(sets_names):
        return ""
    child = loop.target.id
    uses, inside = names_asked_in(loop), [n for statement in loop.body for n in nodes_of(statement)]
    stores = any(_is_named(n, child) and not isinstance(n.ctx, ast.Load) for n in inside)  # type: ignore[attr-defined]
    if not uses or stores or not all(isinstance(use.ctx, ast.Load) for use in uses):
        return ""
    if not all((_loop_of(source, use.value) or ("", ""))[1] is walk for use in uses if isinstance(use.value, ast.Name)):
        return ""
    if not all(walked_parent(analysis, source, use.value) is not None for use in uses):
        return ""
    around = source.enclosing(loop, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda) or source.tree
    parent = walk.func.value  # type: ignore[attr-defined]
    if not (_are_chains(analysis, parent) or _is_asserted(analysis, around, loop, parent)):
        return ""
    taken = {text for n in nodes_of(around) for text in _names(n)}
    return next((name for name in ("name", f"{child}_name", "child_name") if name not in taken), "")


def _are_chains(analysis: Analysis, parent: ast.expr) -> bool:
    kinds = options(analysis.kind(parent))
    return all(isinstance(k, Inst) and analysis.derives(k.cls, "chainer.Chain") for k in kinds)


def _is_asserted(analysis: Analysis, function: ast.AST, loop: ast.For, parent: ast.expr) -> bool:
    """Whether ``assert isinstance(link, chainer.Chain)`` stands before a loop over the children of a parameter."""
    body = function.body if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) else []
    before = body[: body.index(loop)] if loop in body else []
    if not isinstance(parent, ast.Name) or any(
        _is_named(n, parent.id) and not isinstance(n.ctx, ast.Load)  # type: ignore[attr-defined]
        for n in nodes_of(function)
    ):
        return False
    return any(
        isinstance(statement, ast.Assert)
        and isinstance(test := statement.test, ast.Call)
        and isinstance(test.func, ast.Name)
        and test.func.id == "isinstance"
        and len(test.args) == 2
        and _is_named(test.args[0], parent.id)
        and analysis.kind(test.args[1]) == Ref("chainer.Chain")
        for statement in before
    )


def names_asked_in(loop: ast.For) -> list[ast.Attribute]:
    """The places in a loop that ask its variable for its name."""
    child = ast.unparse(loop.target)
    inside = (n for statement in loop.body for n in nodes_of(statement))
    return [n for n in inside if isinstance(n, ast.Attribute) and n.attr == "name" and _is_named(n.value, child)]


def loop_around(source: Source, node: ast.expr) -> ast.For | None:
    """The statement that walks, whose variable a name is."""
    target, _ = (isinstance(node, ast.Name) and _loop_of(source, node)) or (None, None)
    loop = source.parents.get(target) if target is not None else None
    return loop if isinstance(loop, ast.For) else None


def _names(node: ast.AST) -> Iterator[str]:
    """The names that a node has to do with."""
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        yield from node.names
    for field in ("id", "arg", "name", "asname"):
        text = getattr(node, field, None)
        if isinstance(text, str):
            yield text.partition(".")[0]


def _is_named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


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


def sets_names(analysis: Analysis) -> bool:
    """Whether the program gives a link a name: ``model.name = 'generator'``."""
    return any(
        node.attr == "name" and isinstance(node.ctx, ast.Store) and analysis.is_link(analysis.kind(node.value))
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
