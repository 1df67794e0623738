"""Modules that ``model.eval()`` does not reach, since no module registers them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import Class, Inst, Kind, options
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.analysis.source import Source, nodes_of, within
from chainer2torch.plan.questions.link_parts import objects_in

_ADDS = frozenset({"add_link", "add_module"})
_COLLECTS = frozenset({"append", "extend", "insert"})
_WITHOUT_MODE = (
    *("Linear", "Bilinear", "Convolution", "Deconvolution", "DilatedConvolution2D", "DepthwiseConvolution2D"),
    *("EmbedID", "Bias", "Scale", "PReLU", "LSTM", "StatelessLSTM", "GRU", "StatefulGRU", "StatelessGRU"),
    *("LayerNormalization", "GroupNormalization", "Parameter", "Maxout", "LocalConvolution2D"),
)


def keeping_unregistered(analysis: Facts) -> frozenset[ModuleInfo]:
    """The files with a link that keeps another one without registering it. Ask it with ``analysis.once``.

    That is a link in a list or dictionary, or one that is assigned outside of ``init_scope``, unless the same link is
    registered, too, or computes the same in both modes.
    """
    return frozenset(
        info.module
        for info in analysis.classes.values()
        if analysis.derives(info, "chainer.Link") and _in_class(analysis, info)
    )


def _in_class(analysis: Facts, info: ClassInfo) -> bool:
    source = info.module.source
    for node in within(info.node).of(ast.Assign):
        if not any(isinstance(t, ast.Attribute) for t in node.targets):
            continue
        links = list(_links_in(analysis, analysis.kind(node.value)))
        if all(is_without_mode(kind) for kind in links):
            continue
        alone = analysis.is_link(analysis.kind(node.value))
        if alone and _in_init_scope(source, node) or _Registered(analysis, info, node).holds(node.value, node.targets):
            continue
        return True
    return False


def _links_in(analysis: Facts, kind: Kind) -> Iterator[Inst]:
    """The links that a value is, or that a container holds."""
    return (one for one in objects_in(kind) if analysis.derives(one.cls, "chainer.Link"))


def is_without_mode(kind: Kind) -> bool:
    """Whether it is a link of Chainer's that computes the same in both modes."""
    return (
        isinstance(kind, Inst)
        and isinstance(kind.cls, str)
        and kind.cls.rpartition(".")[2].rstrip("123ND") in {name.rstrip("123ND") for name in _WITHOUT_MODE}
    )


class _Registered:
    """Whether all links of a value are registered, too, by the method that assigns it."""

    def __init__(self, analysis: Facts, info: ClassInfo, statement: ast.Assign):
        self._analysis = analysis
        self._source = source = info.module.source
        method = source.enclosing(statement, ast.FunctionDef)
        self._nodes = nodes_of(method) if method is not None else []
        self._class = nodes_of(info.node)
        self._added = set(_added(source, self._nodes))
        by_name = set(_added(source, self._nodes, by_name=True)) - self._added
        if by_name and all(map(self._is_named, info.module.source.of(ast.Tuple))):
            self._added |= {name for name in by_name if self._is_written(name, info, method)}

    def _is_named(self, pair: ast.AST) -> bool:
        """Whether the name in a pair of a name and a link does not begin with an underscore."""
        if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2 or isinstance(pair.ctx, ast.Store):
            return True
        if isinstance(self._source.parents.get(pair), ast.Starred):  # `self.add_link(*(name, link))`
            return True
        name, value = pair.elts
        return not list(_links_in(self._analysis, self._analysis.kind(value))) or _begins_without(name)

    def _is_written(self, name: str, info: ClassInfo, method: ast.AST | None) -> bool:
        """Whether all pairs of a list stand in the text of the file: in the method, or where the class is called."""
        if not isinstance(method, ast.FunctionDef):
            return False
        names = [a.arg for a in method.args.args]
        if name not in names:
            return self._is_list_of(name, _is_pair)
        if method.name != "__init__":
            return False
        calls = [
            (module, call)
            for module in self._analysis.project.modules.values()
            for call in module.source.of(ast.Call)
            if isinstance(call, ast.Call) and Class(info) in options(self._analysis.kind(call.func))
        ]
        place = names.index(name) - 1
        given = [
            next(
                (k.value for k in call.keywords if k.arg == name), call.args[place] if len(call.args) > place else None
            )
            for _, call in calls
        ]
        here = all(module is info.module for module, _ in calls)
        return here and all(isinstance(value, ast.List) and all(map(_is_pair, value.elts)) for value in given)

    def holds(self, value: ast.expr, targets: list[ast.expr]) -> bool:
        """Whether it does: each is an attribute of the link, or is added to it by its name or in a loop."""
        filled = [t for t in targets if isinstance(t, ast.Attribute)]
        return self._is_known(value, 4) and all(
            self._is_known(item, 4) for target in filled for item in _collected(self._class, ast.unparse(target))
        )

    def _is_known(self, value: ast.expr, depth: int) -> bool:
        if not depth:
            return False
        if not list(_links_in(self._analysis, self._analysis.kind(value))):
            return True
        if isinstance(value, ast.Attribute):
            return isinstance(value.value, ast.Name) and value.value.id == "self"
        if isinstance(value, ast.Name):
            return value.id in self._added or self._is_list_of_known(value.id, depth)
        items: list[ast.expr | None] = []
        if isinstance(value, (ast.List, ast.Tuple)):
            items = [*value.elts]
        elif isinstance(value, ast.Dict):
            items = [*value.values]
        elif isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in ("OrderedDict", "list"):
            items = [*value.args]
        else:
            return False
        return all(item is None or self._is_known(item, depth - 1) for item in items)

    def _is_list_of_known(self, name: str, depth: int) -> bool:
        return self._is_list_of(name, lambda item: self._is_known(item, depth - 1))

    def _is_list_of(self, name: str, is_good: Callable[[ast.expr], bool]) -> bool:
        """Whether a variable is a list that the method makes, of such items."""
        assigned = [
            n.value
            for n in self._nodes
            if isinstance(n, (ast.Assign, ast.AugAssign))
            and any(
                isinstance(t, ast.Name) and t.id == name for t in getattr(n, "targets", [getattr(n, "target", None)])
            )
        ]
        items = [*assigned, *_collected(self._nodes, name)]
        return (
            bool(assigned)
            and all(isinstance(v, (ast.List, ast.Tuple, ast.Dict)) for v in assigned)
            and all(map(is_good, _spread(items)))
        )


def _spread(items: list[ast.expr]) -> Iterator[ast.expr]:
    for item in items:
        yield from item.elts if isinstance(item, (ast.List, ast.Tuple)) and not _is_pair(item) else [item]


def _is_pair(item: ast.expr) -> bool:
    return isinstance(item, ast.Tuple) and len(item.elts) == 2 and not any(isinstance(e, ast.Tuple) for e in item.elts)


def _begins_without(name: ast.expr) -> bool:
    """Whether a text does not begin with an underscore: ``'conv'``, ``'res{}'.format(i)``, ``'res%d' % i``."""
    if isinstance(name, ast.Call) and isinstance(name.func, ast.Attribute) and name.func.attr == "format":
        name = name.func.value
    while isinstance(name, ast.BinOp) and isinstance(name.op, (ast.Add, ast.Mod)):
        name = name.left
    if isinstance(name, ast.JoinedStr) and name.values:
        name = name.values[0]
    return isinstance(name, ast.Constant) and isinstance(name.value, str) and name.value[:1] not in ("", "_", "{", "%")


def _collected(nodes: list[ast.AST], owner: str) -> Iterator[ast.expr]:
    """What ``owner.append(...)`` puts into a list."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _COLLECTS:
            if ast.unparse(node.func.value) == owner:
                yield from node.args[-1:]


def _added(source: Source, nodes: list[ast.AST], by_name: bool = False) -> Iterator[str]:
    """Names of what ``self.add_link(name, link)`` or ``setattr(self, name, link)`` registers, and of lists of it.

    ``by_name``: the lists of which a loop leaves out what has a name that begins with an underscore.
    """
    whole: set[str] = set()
    parts: set[str] = set()  # of pairs of a name and a link
    for node in nodes:
        if not isinstance(node, ast.Call) or not node.args:
            continue
        function = node.func
        if isinstance(function, ast.Attribute):
            own = function.attr in _ADDS and ast.unparse(function.value) == "self"
        else:
            named = isinstance(function, ast.Name) and function.id == "setattr" and _in_init_scope(source, node)
            own = named and ast.unparse(node.args[0]) == "self"
        last = node.args[-1]
        if own and isinstance(last, ast.Name):
            whole.add(last.id)
        elif own and isinstance(last, (ast.Starred, ast.Subscript)):
            pair = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
            parts.update(item.id for item in pair if isinstance(item, ast.Name))
    yield from whole
    for node in nodes:
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Name):
            if not (_leaves_out_marked(node) if by_name else not _is_conditional(node)):
                continue
            if (whole | parts) & {n.id for n in nodes_of(node.target) if isinstance(n, ast.Name)}:
                yield node.iter.id


def _is_conditional(loop: ast.For) -> bool:
    """Whether a loop leaves some of its items out."""
    return any(isinstance(n, (ast.If, ast.Break, ast.Continue, ast.Try)) for n in nodes_of(loop))


def _leaves_out_marked(loop: ast.For) -> bool:
    """``if not name.startswith('_'):`` around all that a loop does."""
    (test, *inside) = (loop.body[0].test, *loop.body[0].body) if isinstance(loop.body[0], ast.If) else (None,)
    if len(loop.body) > 1 or not isinstance(test, ast.UnaryOp) or not isinstance(test.op, ast.Not) or len(inside) > 1:
        return False
    target = loop.target
    name = ast.unparse(target.elts[0] if isinstance(target, ast.Tuple) else target)
    names = {f"{name}.startswith('_')"} if isinstance(target, ast.Tuple) else {f"{name}[0].startswith('_')"}
    assert isinstance(loop.body[0], ast.If)
    return ast.unparse(test.operand) in names and not loop.body[0].orelse and isinstance(inside[0], ast.Expr)


def _in_init_scope(source: Source, node: ast.AST) -> bool:
    """Whether a statement stands in ``with self.init_scope():``."""
    for ancestor in source.ancestors(node):
        if isinstance(ancestor, (ast.With, ast.AsyncWith)) and any(
            isinstance(item.context_expr, ast.Call)
            and isinstance(item.context_expr.func, ast.Attribute)
            and item.context_expr.func.attr == "init_scope"
            for item in ancestor.items
        ):
            return True
    return False


__all__ = ["is_without_mode", "keeping_unregistered"]
