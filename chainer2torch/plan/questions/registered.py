"""The names under which classes of a project register links and parameters."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Class, Func, Inst, Kind, Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.scoped_functions import is_scope

_BY_NAME = frozenset({"add_link", "add_param", "register_persistent", "add_persistent", "setattr", "add_module"})
_BY_KEYWORD = frozenset({"__init__", "Chain", "Link", "FunctionSet"})
_COMPUTED = "*"  # some name that nobody knows
_CONTAINERS = frozenset({"chainer.Link", "chainer.Chain", "chainer.ChainList", "chainer.Sequential"})
_COPIES = frozenset({"list", "sorted", "tuple", "set", "reversed"})
_SET = "FunctionSet"  # of version 1: it takes every link that is assigned for its own


def may_be_registered(context: Context, target: ast.Attribute) -> bool:
    """Whether the class of an object, or one of its family, registers something under the name that is assigned.

    Which names those of Chainer's links register that are no mere containers nobody looks up.
    """
    if is_of_chainers(context, target.value):
        return True
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


def is_of_chainers(context: Context, owner: ast.expr) -> bool:
    """Whether an object is one of Chainer's own layers, or of a class on one, with names of the layer's own."""
    analysis = context.analysis
    return any(
        isinstance(cls, str) and cls not in _CONTAINERS and analysis.derives(cls, "chainer.Link")
        for k in options(context.kind(owner))
        if isinstance(k, Inst)
        for cls in analysis.mro(k.cls)
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


def is_called_like_a_link(
    context: Context, target: ast.Attribute, value: ast.expr, called: dict[ast.ClassDef, frozenset[str]]
) -> bool:
    """A value that nobody knows may be a link, too, when the class, or a base of it, calls it like one."""
    cls = context.enclosing_class(target)
    if cls is None or context.analysis.kind(value) != UNKNOWN or not isinstance(value, ast.Name):
        return False
    own = [c for c in context.analysis.mro(cls) if isinstance(c, ClassInfo)]
    for c in own:
        if c.node not in called:
            called[c.node] = _called_attributes(c.node)
    return any(target.attr in called[c.node] for c in own) and not any(target.attr in c.methods for c in own)


def _called_attributes(node: ast.ClassDef) -> frozenset[str]:
    return frozenset(
        n.func.attr
        for n in nodes_of(node)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and isinstance(n.func.value, ast.Name)
    )


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
    modules = analysis.project.modules.values()
    sets = any(_SET in module.source.text for module in modules)
    built = _run_in_scopes(analysis)
    for module in modules:
        source = module.source
        for node in source.of(ast.With, ast.Call, ast.FunctionDef):
            outer = source.enclosing(node, ast.ClassDef)
            cls = analysis.classes.get(outer) if isinstance(outer, ast.ClassDef) else None
            names: Iterable[str]
            if isinstance(node, ast.Call):
                names = _names_of_call(analysis, source, node, built, sets)
            else:
                scope = node in built if isinstance(node, ast.FunctionDef) else is_scope(node)
                names = _stored(node) if scope else ()
            found.setdefault(cls, set()).update(names)
    return found


def _run_in_scopes(analysis: Analysis) -> frozenset[ast.AST]:
    """The functions of a project that bear the name of one that is called inside of some ``init_scope``, or by these.

    What they assign may be registered.
    """
    sources = [module.source for module in analysis.project.modules.values()]
    waiting = [name for s in sources for block in s.of(ast.With) if is_scope(block) for name in _called(block)]
    functions: dict[str, list[ast.FunctionDef]] = {}
    for source in sources if waiting else ():
        for node in source.of(ast.FunctionDef):
            functions.setdefault(node.name, []).append(node)
    found: set[ast.AST] = set()
    while waiting:
        for function in functions.pop(waiting.pop(), ()):
            found.add(function)
            waiting += _called(function)
    return frozenset(found)


def _called(place: ast.AST) -> list[str]:
    calls = [node.func for node in nodes_of(place) if isinstance(node, ast.Call)]
    return [f.attr if isinstance(f, ast.Attribute) else f.id for f in calls if isinstance(f, (ast.Attribute, ast.Name))]


def _stored(place: ast.With | ast.FunctionDef) -> list[str]:
    inside = [node for statement in place.body for node in nodes_of(statement)]
    return [node.attr for node in inside if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]


def _names_of_call(
    analysis: Analysis, source: Source, call: ast.Call, built: frozenset[ast.AST], sets: bool
) -> Iterator[str]:
    """What a call may register, by its words; ``sets``: whether the project has objects that register by themselves."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name == "setattr" and not sets and not any(is_scope(a) or a in built for a in source.ancestors(call)):
        return  # only inside of an ``init_scope`` does an assignment register anything
    if name in _BY_NAME:
        yield from (a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str))
        if name != "add_link" or len(call.args) == 2:  # those of a ChainList have no names
            said = call.args[1:2] if name == "setattr" else call.args[:1]
            if not _is_name_of_child(source, call):
                yield from (_COMPUTED for a in said if not isinstance(a, ast.Constant))
    if (name in _BY_KEYWORD or name[:1].isupper()) and not _registers_no_words(analysis, call):
        yield from (k.arg for k in call.keywords if k.arg)  # `Net(l=...)`: a class may hand its words on
        yield from (_COMPUTED for k in call.keywords if not k.arg and name in _BY_KEYWORD)


def _registers_no_words(analysis: Analysis, call: ast.Call) -> bool:
    """Whether no keyword of a call is the name of something that Chainer registers.

    ``Block(ch, activation=F.relu)`` and ``super().__init__(activation=F.relu)`` hand on nothing that ``__init__`` of
    Chainer's would register where the class or its base has parameters of these names; no object but a link registers.
    """
    kinds = options(analysis.kind(call.func))
    words = {k.arg for k in call.keywords}
    return bool(kinds) and all(_takes(analysis, kind, words) for kind in kinds)


def _takes(analysis: Analysis, kind: Kind, words: set[str | None]) -> bool:
    if isinstance(kind, Ref):
        return _is_no_link(analysis, kind)
    if isinstance(kind, Class):
        mro = [cls for cls in analysis.mro(kind.info) if isinstance(cls, ClassInfo)]
        bases = [base for cls in mro for b in cls.bases for base in options(b)]
        if all(isinstance(b, Class) or isinstance(b, Ref) and _is_no_link(analysis, b) for b in bases):
            return True
        maker = next((cls.methods["__init__"] for cls in mro if "__init__" in cls.methods), None)
    else:
        maker = kind.info if isinstance(kind, Func) else None
    if maker is None or isinstance(maker.node, ast.Lambda):
        return False
    return words <= {a.arg for a in (*maker.node.args.args, *maker.node.args.kwonlyargs)}


def _is_no_link(analysis: Analysis, kind: Ref) -> bool:
    """Whether a class outside of the project is known not to be a link: Python's own, or one of Chainer's."""
    if kind.name.split(".", 1)[0] in sys.stdlib_module_names:
        return True
    return analysis.rules.find(kind.name) is not None and not analysis.derives(kind.name, "chainer.Link")


def _is_name_of_child(source: Source, call: ast.Call) -> bool:
    """Whether ``setattr(link, name, ...)`` goes through the names that the link has registered: none is new.

    ``for name in sorted(link._children)`` says so, ``names = link._children.copy()`` before it, and ``child.name`` for
    each of ``link.children()``.
    """
    if len(call.args) != 3:
        return False
    owner, name = call.args[:2]
    attribute = isinstance(name, ast.Attribute) and name.attr == "name"
    variable = name.value if isinstance(name, ast.Attribute) and attribute else name
    function = source.enclosing(call, ast.FunctionDef)
    if not isinstance(variable, ast.Name) or function is None:
        return False
    bound = _bindings(function, variable.id)
    if len(bound) != 1 or not isinstance(bound[0], ast.For) or not isinstance(bound[0].target, ast.Name):
        return False
    values = bound[0].iter
    if isinstance(values, ast.Name):
        assigned = _bindings(function, values.id)
        if len(assigned) != 1 or not isinstance(assigned[0], ast.Assign):
            return False
        values = assigned[0].value
    while isinstance(values, ast.Call):
        called = values.func
        if isinstance(called, ast.Name) and called.id in _COPIES and len(values.args) == 1 and not values.keywords:
            values = values.args[0]
        elif isinstance(called, ast.Attribute) and called.attr in ("copy", "children") and not values.args:
            values = called if called.attr == "children" else called.value
        else:
            return False
    return (
        isinstance(values, ast.Attribute)
        and values.attr in (("children",) if attribute else ("_children", "_params"))
        and ast.dump(values.value) == ast.dump(owner)
        and isinstance(owner, ast.Name)
        and not any(isinstance(b, ast.stmt) for b in _bindings(function, owner.id))
    )


def _bindings(function: ast.AST, name: str) -> list[ast.AST]:
    """The statements of a function that bind a name; what binds it otherwise stands for itself."""
    found: list[ast.AST] = []
    for node in nodes_of(function):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.For, ast.AugAssign, ast.AnnAssign, ast.NamedExpr, ast.comprehension)):
            targets = [node.target]
        elif isinstance(node, ast.With):
            targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
        if any(isinstance(n, ast.Name) and n.id == name for target in targets for n in nodes_of(target)):
            found.append(node)
    return found
