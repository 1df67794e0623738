"""The names under which classes of a project register links and parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Class, Inst, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.scoped_functions import is_scope

_BY_NAME = frozenset({"add_link", "add_param", "register_persistent", "add_persistent", "setattr", "add_module"})
_BY_KEYWORD = frozenset({"__init__", "Chain", "Link", "FunctionSet"})
_COMPUTED = "*"  # some name that nobody knows
_SET = "FunctionSet"  # of version 1: it takes every link that is assigned for its own


def may_be_registered(context: Context, target: ast.Attribute) -> bool:
    """Whether the class of an object, or one of its family, registers something under the name that is assigned."""
    names = {cls: target.attr in found or _COMPUTED in found for cls, found in _by_class(context).items()}
    owners = [k.cls for k in options(context.kind(target.value)) if isinstance(k, Inst)]
    if not owners or not all(isinstance(cls, ClassInfo) for cls in owners):
        return any(names.values())
    return names.get(None, False) or any(
        found and _are_family(context.analysis, cls, other)
        for cls in owners
        for other, found in names.items()
        if other is not None and isinstance(cls, ClassInfo)
    )


def registered_before(context: Context, target: ast.Attribute, value: ast.expr) -> bool:
    """Whether a child takes the place of one of the same name: ``block.conv = copied(layer, block.conv)``.

    In Chainer, too, it is a child then, as the names are what is registered. That asks for a name that classes of
    the project register and that nothing assigns otherwise.
    """
    name, text = target.attr, ast.unparse(target)
    if not context.analysis.is_link(context.kind(value)):
        return False
    if not any(isinstance(n, ast.Attribute) and n.attr == name and ast.unparse(n) == text for n in nodes_of(value)):
        return False
    registered = any(name in found for found in _by_class(context).values())
    return registered and name not in context.analysis.once(_assigned_outside)


def _assigned_outside(analysis: Analysis) -> frozenset[str]:
    """The attributes that some statement assigns outside of ``init_scope`` without reading what was there."""
    found: set[str] = set()
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.Attribute):
            if not isinstance(node.ctx, ast.Store):
                continue
            statement = module.source.statement(node)
            value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
            text = ast.unparse(node)
            reads = value is not None and any(
                isinstance(n, ast.Attribute) and ast.unparse(n) == text for n in nodes_of(value)
            )
            if not reads and not any(is_scope(ancestor) for ancestor in module.source.ancestors(node)):
                found.add(node.attr)
    return frozenset(found)


def registers_when_assigned(context: Context, owner: ast.expr) -> bool:
    """Whether an object is a ``FunctionSet``: a link that is assigned to it is one of its own, as a module's is."""
    kinds = options(context.kind(owner))
    return all(isinstance(k, Inst) and _is_set(context.analysis, k) for k in kinds)


def _is_set(analysis: Analysis, kind: Inst) -> bool:
    classes = [cls for cls in analysis.mro(kind.cls) if isinstance(cls, ClassInfo)]
    if any(_says_set(base) for cls in classes for base in cls.node.bases):
        return True
    return bool(kind.sites) and all(_says_set(analysis.makers[site].func) for site in kind.sites)


def _says_set(node: ast.expr) -> bool:
    return getattr(node, "attr", getattr(node, "id", "")) == _SET


def _by_class(context: Context) -> dict[ClassInfo | None, set[str]]:
    return context.analysis.once(_registered)


def _are_family(analysis: Analysis, one: ClassInfo, other: ClassInfo) -> bool:
    return one in analysis.mro(other) or other in analysis.mro(one)


def _registered(analysis: Analysis) -> dict[ClassInfo | None, set[str]]:
    """The names by class; None: outside of classes."""
    found: dict[ClassInfo | None, set[str]] = {}
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.With, ast.Call):
            outer = module.source.enclosing(node, ast.ClassDef)
            cls = analysis.classes.get(outer) if isinstance(outer, ast.ClassDef) else None
            own = isinstance(node, ast.Call) and _is_own_parameters(analysis, node)
            found.setdefault(cls, set()).update(() if own else _names(node))
    return found


def _is_own_parameters(analysis: Analysis, call: ast.Call) -> bool:
    """Whether a call makes an object of the project's classes which have parameters of all its keywords' names.

    ``Block(ch, activation=F.relu)`` hands on nothing that ``super().__init__`` of Chainer's would register.
    """
    classes = [k.info for k in options(analysis.kind(call.func)) if isinstance(k, Class)]
    if not classes or len(classes) != len(options(analysis.kind(call.func))):
        return False
    makers = [cls.methods.get("__init__") for cls in classes]
    return all(
        maker is not None
        and {k.arg for k in call.keywords} <= {a.arg for a in (*maker.node.args.args, *maker.node.args.kwonlyargs)}
        for maker in makers
    )


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.With):
        if any(isinstance(n, ast.Attribute) and n.attr == "init_scope" for i in node.items for n in nodes_of(i)):
            inside = [n for statement in node.body for n in nodes_of(statement)]
            yield from (n.attr for n in inside if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    elif isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in _BY_NAME:
            yield from (a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str))
            if name != "add_link" or len(node.args) == 2:  # those of a ChainList have no names
                said = node.args[1:2] if name == "setattr" else node.args[:1]
                yield from (_COMPUTED for a in said if not isinstance(a, ast.Constant))
        if name in _BY_KEYWORD or name[:1].isupper():  # `Net(l=...)`: a class may hand its words on
            yield from (k.arg for k in node.keywords if k.arg)
            yield from (_COMPUTED for k in node.keywords if not k.arg and name in _BY_KEYWORD)
