"""Links without parameters: there is nothing in them to ask for a device."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Const, Dct, Func, HostArray, Inst, Lst, Ref, Scalar, Tup, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.idle_loops import may_have_no_round

_REGISTERING = frozenset({"init_scope", "add_link", "add_param"})
_OF_LISTS = frozenset({"append", "insert", "extend"})
_CONTAINERS = frozenset({"chainer.Chain", "chainer.ChainList", "chainer.Link", "chainer.Sequential"})
_PLAIN = (Const, Dct, Func, HostArray, Lst, Ref, Scalar, Tup)  # what a Chain registers nothing of
_FILLING = frozenset({"add_link", "add_param", "append", "extend", "init_scope", "insert"})


def without_parameters(analysis: Analysis) -> frozenset[ClassInfo]:
    """The classes of links that register nothing, or may register nothing but links of such classes.

    ``Detector(extractor)`` has no parameters where a stub is handed in that only draws numbers.
    """
    return _classes(analysis, lambda node: False)


def counted(analysis: Analysis) -> frozenset[ClassInfo]:
    """These, and classes that register as many layers as is computed, which may be none: ``range(depth - 1)``."""
    return _classes(analysis, lambda node: may_have_no_round(analysis, node))


def _classes(analysis: Analysis, is_idle: Callable[[ast.AST], bool]) -> frozenset[ClassInfo]:
    links = [
        cls
        for cls in analysis.classes.values()
        if analysis.derives(cls, "chainer.Link")
        and not any(isinstance(base, str) and base.startswith("chainer.links.") for base in analysis.mro(cls))
    ]
    registering = {cls: _registering(analysis, cls) for cls in links}
    found: set[ClassInfo] = set()
    while more := {
        c
        for c in links
        if c not in found and all(is_idle(n) or _registers_nothing(analysis, n, found) for n in registering[c])
    }:
        found |= more
    return frozenset(found - {base for base in found if _is_only_base(analysis, base, links, found)})


def _is_only_base(analysis: Analysis, cls: ClassInfo, links: list[ClassInfo], bare: set[ClassInfo]) -> bool:
    """Whether a program makes no object of a class but heirs that have parameters: of the class alone asking raises."""
    heirs = [other for other in links if other is not cls and cls in analysis.mro(other)]
    made = any(
        isinstance(k, Inst) and k.cls is cls for call in analysis.makers.values() for k in options(analysis.kind(call))
    )
    return bool(heirs) and not made and not any(heir in bare for heir in heirs)


def _registering(analysis: Analysis, cls: ClassInfo) -> list[ast.AST]:
    """What registers something in a class and its bases: whole blocks of ``init_scope``, and calls of other kinds."""
    bases = [base for base in analysis.mro(cls) if isinstance(base, ClassInfo)]
    found: list[ast.AST] = []
    for at, base in enumerate(bases):
        nodes = list(nodes_of(base.node))
        blocks = [n for n in nodes if isinstance(n, ast.With) and len(n.items) == 1 and _is_scope(n.items[0])]
        of_blocks = {id(inner) for block in blocks for inner in nodes_of(block.items[0])}
        found += blocks
        found += [
            n
            for n in nodes
            if id(n) not in of_blocks and (_registers(n) or _hands_links_on(n) and not _is_own(n, bases, at))
        ]
    return found


def _is_own(call: ast.AST, bases: list[ClassInfo], at: int) -> bool:
    """Whether a constructor of the project's is called, which says itself what it registers of what it is handed.

    ``super(Base, self).__init__(l1=...)`` begins behind ``Base``.
    """
    asked = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
    named = asked.args[0] if isinstance(asked, ast.Call) and asked.args else None
    for place, base in enumerate(bases):
        if isinstance(named, ast.Name) and base.name == named.id and place >= at:
            at = place
    return any("__init__" in other.methods for other in bases[at + 1 :])


def _is_scope(item: ast.withitem) -> bool:
    call = item.context_expr
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "init_scope"


def _registers_nothing(analysis: Analysis, node: ast.AST, bare: set[ClassInfo]) -> bool:
    """Whether a block may register nothing but links without parameters: all that it assigns may be one, or stands
    behind a condition (``if use_gamma:``).
    """
    return isinstance(node, ast.With) and _is_bare(analysis, node.body, bare)


def _is_bare(analysis: Analysis, body: Sequence[ast.stmt], bare: set[ClassInfo]) -> bool:
    return all(
        _is_plain(analysis, statement)
        or isinstance(statement, ast.If)
        and _is_bare(analysis, statement.orelse, bare)  # without an ``else`` the condition may be false
        or isinstance(statement, ast.Assign)
        and any(isinstance(k, Inst) and k.cls in bare for k in options(analysis.kind(statement.value)))
        for statement in body
    )


def _is_plain(analysis: Analysis, statement: ast.stmt) -> bool:
    """Whether a statement of a block assigns neither links nor parameters for sure: ``pass``, ``self.size = n``."""
    if isinstance(statement, ast.Assign):
        one = not any(isinstance(target, (ast.List, ast.Tuple)) for target in statement.targets)
        return one and all(isinstance(k, _PLAIN) for k in options(analysis.kind(statement.value)))
    return (
        isinstance(statement, ast.Pass) or isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _registers(node: ast.AST) -> bool:
    """``self.init_scope``, ``self.add_link``; ``self.append`` of a list of links, not ``rows.append``."""
    if not isinstance(node, ast.Attribute):
        return False
    own = isinstance(node.value, ast.Call) or isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr in _REGISTERING or own and node.attr in _OF_LISTS


def _hands_links_on(node: ast.AST) -> bool:
    """``super().__init__(l1=L.Linear(...))``, and ``__init__(*links)`` of a list."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "__init__":
        return False
    return bool(node.args[1:] or node.keywords or [a for a in node.args if not isinstance(a, ast.Name)])


def is_bare(analysis: Analysis, source: Source, link: ast.expr) -> bool:
    """Whether a link may be without any parameter: ``Noise()``, ``chainer.Sequential(F.relu)``."""
    return any(
        isinstance(kind, Inst)
        and (
            kind.cls in analysis.once(counted)
            or kind.cls in _CONTAINERS
            and any(_makes_none(analysis, analysis.makers.get(site)) for site in kind.sites)
            and not _is_filled(source, link)
        )
        for kind in options(analysis.kind(link))
    )


def parameters_of(context: Context, model: ast.expr) -> str:
    """The template for the parameters of ``link``; PyTorch's optimizers take an empty list of them as a group only."""
    bare = is_bare(context.analysis, context.source, model)
    return "[{'params': link.parameters()}]" if bare else "link.parameters()"


def _makes_none(analysis: Analysis, maker: ast.Call | None) -> bool:
    """Whether a call makes a container of functions, or of nothing."""
    if maker is None or maker.keywords or any(isinstance(one, ast.Starred) for one in maker.args):
        return False
    kinds = [kind for one in maker.args for kind in options(analysis.kind(one))]
    return all(isinstance(kind, (Func, Ref)) for kind in kinds)


def _is_filled(source: Source, link: ast.expr) -> bool:
    """Whether a file adds something to a link of this name."""
    if isinstance(link, ast.Call):
        return False
    name = ast.unparse(link)
    return any(n.attr in _FILLING and ast.unparse(n.value) == name for n in source.of(ast.Attribute))
