"""Attributes and methods of the user's links that would hide one of ``torch.nn.Module``'s: they get another name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from chainer2torch.analysis.kinds import UNKNOWN, Class, Const, Inst, Kind, Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Part
from chainer2torch.plan.edits import Rename
from chainer2torch.plan.parts.layer_switches import is_switch
from chainer2torch.plan.questions.module_names import MODULE_NAMES, RENAMED, hidden_names

_OF_LINKS = frozenset({"to_gpu", "to_cpu", "cleargrads", "zerograds", "namedparams", "copyparams"})
_ADDS = frozenset({"add_link", "add_param", "add_persistent", "register_persistent"})
_BY_NAME = frozenset(Ref(f"builtins.{name}") for name in ("getattr", "setattr", "hasattr", "delattr"))


def run(context: Context) -> Decisions:
    """Gives such attributes a trailing underscore, at every place where the receiver is known."""
    decisions = Decisions(context)
    hidden = context.analysis.once(hidden_names)
    for cls in dict.fromkeys(cls for classes in hidden.values() for cls in classes if cls.module is context.module):
        bound = MODULE_NAMES & _bound_in(cls)
        for node in _of_the_body(cls.node.body):
            if isinstance(node, ast.FunctionDef) and node.name in bound:
                decisions.edit(node, Rename(context.source.start(node), f"{node.name}_"))
                _rename_property(context, decisions, node)
            elif isinstance(node, ast.Name) and node.id in bound:
                decisions.replace(node, f"{node.id}_", {})
    for node in context.source.of(ast.Attribute):
        if (
            node.attr in hidden
            or node.attr in MODULE_NAMES
            and (isinstance(node.ctx, ast.Store) or node.attr == "train" and context.era == 1)
        ):
            with decisions.provided(free=((Part.SITE, node),)):
                if is_switch(context, decisions, node):
                    continue
                _rename(context, decisions, node, hidden.get(node.attr, []))
    for call in context.source.of(ast.Call) if hidden else ():
        _rename_child(context, decisions, call, hidden)
        if len(call.args) > 1 and context.kind(call.func) in _BY_NAME:
            asked = next((name for name in _texts(context, call.args[1]) if name in hidden), None)
            if asked is not None:
                _rename_text(context, decisions, call, asked, hidden[asked])
    return decisions


def _of_the_body(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The methods of a class, and the names that its body itself binds and reads (not those inside of functions)."""
    for node in nodes:
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):  # decorators and defaults
            outer = [*getattr(node, "decorator_list", []), *ast.iter_child_nodes(node.args)]
            yield from _of_the_body(n for n in outer if not isinstance(n, ast.arg))
        elif not isinstance(node, ast.ClassDef):
            yield from _of_the_body(ast.iter_child_nodes(node))


def _bound_in(cls: ClassInfo) -> set[str]:
    """The names that the body of a class binds."""
    return {
        node.id if isinstance(node, ast.Name) else node.name
        for node in _of_the_body(cls.node.body)
        if isinstance(node, ast.FunctionDef) or isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _rename_property(context: Context, decisions: Decisions, method: ast.FunctionDef) -> None:
    """``@train.setter`` names the property that it belongs to."""
    for decorator in method.decorator_list:
        if (
            isinstance(decorator, ast.Attribute)
            and isinstance(decorator.value, ast.Name)
            and decorator.value.id == method.name
            and decorator.attr in ("getter", "setter", "deleter")
        ):
            decisions.replace(decorator.value, f"{method.name}_", {})


def _rename_text(context: Context, decisions: Decisions, call: ast.Call, name: str, classes: list[ClassInfo]) -> None:
    """``getattr(self, 'train')``: the text names one of the attributes."""
    kind, text = context.kind(call.args[0]), call.args[1]
    owners = _owners(context, kind, classes)
    if owners and isinstance(text, ast.Constant):
        decisions.replace(text, repr(f"{name}_"), {})
    elif owners or kind == UNKNOWN and isinstance(text, ast.Constant):
        decisions.mark(call.func, None, f"?.{name}", "review", _unknown(name, classes), "C2T202")


def _rename_child(context: Context, decisions: Decisions, call: ast.Call, hidden: dict[str, list[ClassInfo]]) -> None:
    """``self.add_link('type', link)``: the text names the attribute."""
    text = call.args[0] if len(call.args) == 2 else None
    if not isinstance(text, ast.Constant) or text.value not in hidden or not isinstance(call.func, ast.Attribute):
        return
    owner = context.kind(call.func.value)
    if call.func.attr in _ADDS and _owners(context, owner, hidden[text.value]):
        decisions.replace(text, repr(f"{text.value}_"), {})
        row = context.rules.rows.get(f"chainer.Chain.{call.func.attr}")
        decisions.refine(call.func, row, "review", RENAMED.format(text.value, f"{text.value}_"))


def _texts(context: Context, name: ast.expr) -> list[str]:
    """The names that an expression may stand for; of a computed one any text of the file."""
    kinds = options(context.kind(name))
    if all(isinstance(k, Const) for k in kinds):
        return [k.value for k in kinds if isinstance(k, Const) and isinstance(k.value, str)]
    if isinstance(name, ast.Name) and (listed := _walked_over(context, name)) is not None:
        return listed
    constants = (
        node
        for node in context.source.of(ast.Constant)
        if isinstance(node, ast.Constant) and not _names_an_entry(context, node)
    )
    return sorted({node.value for node in constants if isinstance(node.value, str)})


def _walked_over(context: Context, name: ast.Name) -> list[str] | None:
    """The texts of ``for name in ['fc6', 'fc7']``, where nothing else gives the name a value."""
    function = context.source.enclosing(name, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    scope = function or context.source.tree
    stores = [
        n for n in nodes_of(scope) if isinstance(n, ast.Name) and n.id == name.id and not isinstance(n.ctx, ast.Load)
    ]
    loop = context.source.parents.get(stores[0]) if len(stores) == 1 else None
    if not isinstance(loop, (ast.For, ast.comprehension)) or not isinstance(loop.iter, (ast.List, ast.Tuple)):
        return None
    if any(isinstance(n, ast.arg) and n.arg == name.id for n in nodes_of(scope)):
        return None
    found = [item.value for item in loop.iter.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    return found if len(found) == len(loop.iter.elts) else None


def _names_an_entry(context: Context, text: ast.Constant) -> bool:
    """``using_config('train', False)``: it names no attribute."""
    call = context.source.parents.get(text)
    return isinstance(call, ast.Call) and context.reference(call.func) == "chainer.using_config"


def _owners(context: Context, kind: Kind, classes: list[ClassInfo]) -> list[ClassInfo]:
    """The classes of a value, or that it is, which have one of the attributes."""
    known = [k.info if isinstance(k, Class) else k.cls for k in options(kind) if isinstance(k, (Inst, Class))]
    own = [cls for cls in known if isinstance(cls, ClassInfo)]
    return [cls for cls in own if any(c in classes for c in context.analysis.mro(cls))]


def _unknown(name: str, classes: list[ClassInfo]) -> str:
    where = ", ".join(sorted(c.name for c in classes))
    return (
        f"`{name}` of {where} is now `{name}_` (torch.nn.Module has a `{name}` of its own); "
        "whether this is one of them is not known"
    )


def _rename(context: Context, decisions: Decisions, node: ast.Attribute, classes: list[ClassInfo]) -> None:
    kind = context.analysis.kind(node.value)
    owners = _owners(context, kind, classes)
    where = ", ".join(sorted(c.name for c in classes))
    some_link = context.analysis.is_link(kind) and any(
        isinstance(k, Inst) and isinstance(k.cls, str) for k in options(kind)
    )
    unknown = kind == UNKNOWN and not classes and isinstance(node.ctx, ast.Store) and context.beside_chainer
    as_link = unknown or kind == UNKNOWN and bool(classes) and not _is_called(context, node)
    as_link = as_link and _is_used_as_link(context, node)  # whichever class it has: no link of Chainer's has the name
    if (
        owners
        or as_link
        or _is_set_on_a_model(context, node, kind, classes)
        or some_link
        and (classes or context.rules.member("chainer.Link", node.attr) is None)
    ):
        decisions.replace(node, f"receiver.{node.attr}_", {"receiver": context.operand(node.value)})
    elif (
        kind == UNKNOWN
        and classes
        and _is_called(context, node)
        and any(node.attr in c.methods for c in classes)
        and context.imports_chainer
        and not context.migrated
    ):
        decisions.replace(node, f"compat.own_name(receiver, '{node.attr}')", {"receiver": context.operand(node.value)})
        decisions.mark(
            node,
            None,
            f"?.{node.attr}",
            "exact",
            f"`{node.attr}` of {where} is now `{node.attr}_`; what it is "
            "called on is not known here: the helper looks at run time",
            "C2T202",
        )
    elif unknown and _is_called_here(context, node) and not context.marked_before(node):
        message = f"this hides the `{node.attr}` of torch.nn.Module, if it is one: call it `{node.attr}_` then"
        decisions.mark(node, None, f"?.{node.attr}", "review", message, "C2T202")
    elif (
        kind == UNKNOWN
        and classes
        and (isinstance(node.ctx, ast.Store) or not _is_called(context, node))
        and not _is_asked_further(context, node, classes)
        and not context.marked_before(node)
    ):
        decisions.mark(
            node,
            None,
            f"?.{node.attr}",
            "review",
            _unknown(node.attr, classes),
            "C2T202",
        )


def _is_set_on_a_model(context: Context, node: ast.Attribute, kind: Kind, classes: list[ClassInfo]) -> bool:
    """Whether an attribute is set on what is called here as a model, and nothing else that may be called has it."""
    if kind != UNKNOWN or not classes or not isinstance(node.ctx, ast.Store) or not _is_called_here(context, node):
        return False
    others = (c for c in context.analysis.classes.values() if not any(b in classes for b in context.analysis.mro(c)))
    return not any(node.attr in c.attrs and "__call__" in c.methods for c in others)


def _is_called_here(context: Context, node: ast.Attribute) -> bool:
    """Whether the function around calls what gets the attribute, as it would a model."""
    name = ast.unparse(node.value)
    scope = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef) or context.source.tree
    return any(isinstance(other, ast.Call) and ast.unparse(other.func) == name for other in nodes_of(scope))


def _is_used_as_link(context: Context, node: ast.Attribute) -> bool:
    """Whether the function around moves, fills or trains what gets the attribute, as only links are."""
    name = ast.unparse(node.value)
    scope = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef) or context.source.tree
    for other in nodes_of(scope):
        if isinstance(other, ast.Attribute) and other.attr in _OF_LINKS and ast.unparse(other.value) == name:
            return True
        if isinstance(other, ast.Call) and any(ast.unparse(argument) == name for argument in other.args):
            setup = isinstance(other.func, ast.Attribute) and other.func.attr == "setup"
            if setup or (context.reference(other.func) or "").startswith("chainer.serializers."):
                return True
    return False


def _is_asked_further(context: Context, node: ast.Attribute, classes: list[ClassInfo]) -> bool:
    """``settings.train.batch_size``: what the classes have under this name are methods, without such attributes."""
    parent = context.source.parents.get(node)
    return (
        isinstance(parent, ast.Attribute)
        and parent.value is node
        and not parent.attr.startswith("__")
        and all(node.attr in c.methods and node.attr not in c.attrs for c in classes)
    )


def _is_called(context: Context, node: ast.expr) -> bool:
    parent = context.source.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node
