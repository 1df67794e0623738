"""Hard cases of links: registration, initial values, the constructor of version 1, `__call__`."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Class, Inst, Kind, Lst, Ref, Tup, options, scalar_type
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.analysis.source import nodes_of, within
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Part
from chainer2torch.plan.edits import BaseLast, Operand, RemoveBase, Rename, ReplaceStatement
from chainer2torch.plan.parts.base_constructors import constructor_of_layer
from chainer2torch.plan.questions.module_names import RENAMED, attribute_name
from chainer2torch.plan.questions.called_methods import keeping_call
from chainer2torch.plan.questions.init_scopes import initialized_by_scope
from chainer2torch.plan.questions.constructors import (
    constructor_called,
    constructor_left_out,
    is_given_links,
    takes_no_more,
)
from chainer2torch.plan.questions.held_layers import held_layers
from chainer2torch.plan.questions.layer_values import lines_of_held_layers, lines_of_layers
from chainer2torch.plan.questions.layers import filler, is_made_by_scope, needs_first_values
from chainer2torch.plan.questions.overridden_methods import is_super
from chainer2torch.plan.questions.sequentials import outermost

# what Chain itself defines, or nn.Module in its place; constructors call each other
_OF_CHAIN = frozenset({"__getitem__", "__setattr__", "__delattr__", "__str__", "__repr__", "add_link", "children"}) | {
    "copy", "copyparams", "addgrads", "params", "namedparams", "links", "namedlinks", "serialize", "zerograds",
}  # fmt: skip

_CALLED = frozenset({"__call__", "forward"})


def _initialize_layers(context: Context, decisions: Decisions, initialized: set[ast.AST]) -> None:
    """Layers of torch start from Chainer's initial values: one line a class, or a call around a single layer."""
    for call in context.source.of(ast.Call):
        if call in initialized or not needs_first_values(context, call):
            continue
        with decisions.provided(taken=((Part.SITE, call.func),)):
            if context.choices.init == "torch":
                message = "starts from PyTorch's initial values, not Chainer's (--init torch)"
                decisions.refine(call.func, None, "close", message)
            elif (scope := initialized_by_scope(context, call)) is None:
                if context.choices.style == "native":
                    decisions.wrap(call, f"{filler(context, call)}(value)")
                else:
                    decisions.wrap(outermost(context, call), "compat.initialize(value)")
            elif context.choices.style == "native" and not is_made_by_scope(context, scope, call):
                decisions.wrap(call, f"{filler(context, call)}(value)")


def constructor(context: Context, decisions: Decisions, cls: ClassInfo, initialized: set[ast.AST]) -> None:
    """``super().__init__(l1=L.Linear(...))`` of version 1 becomes assignments, also in a method of another name."""
    if context.analysis.derives(cls, "chainer.Link"):
        for method in cls.methods.values():
            if isinstance(method.node, ast.FunctionDef) and method.node.args.args:
                _constructed_in(context, decisions, cls, method.node, initialized)


def _constructed_in(
    context: Context, decisions: Decisions, cls: ClassInfo, method: ast.FunctionDef, initialized: set[ast.AST]
) -> None:
    for node in within(method).of(ast.Call):
        if not (isinstance(node.func, ast.Attribute) and node.func.attr == "__init__"):
            continue
        if (left_out := constructor_left_out(context, cls, node.func)) is not None:
            message = f"it leaves out the constructor of {left_out}, without which that is no module; call it"
            decisions.mark(node, None, f"{left_out}.__init__", "manual", message, "C2T200")
            continue
        base = constructor_called(context, cls, node.func)
        explicit = not is_super(node.func.value)  # `chainer.Chain.__init__(self, l1=...)`
        if base not in ("chainer.Chain", "chainer.Link"):
            if isinstance(base, str):  # the keywords are those of a base class with a constructor of its own
                constructor_of_layer(context, decisions, node, base, explicit=explicit)
            continue
        is_chain = base == "chainer.Chain"
        if not node.keywords:
            continue
        if not explicit and any(k.arg is None for k in node.keywords) and context.analysis.comes_before_others(cls):
            decisions.mark(
                node,
                context.rules.rows.get("chainer.Chain"),
                "chainer.Chain.__init__",
                "review",
                "a class of the project comes next where both are bases: it gets the keywords; assign links to self",
                "C2T201",
            )
            continue
        statement = context.source.parents.get(node)
        if not isinstance(statement, ast.Expr) or not takes_no_more(node, explicit, is_chain):
            decisions.mark(
                node,
                context.rules.rows.get("chainer.Chain"),
                "chainer.Chain.__init__",
                "manual",
                "assign each of the links to self",
                "C2T201",
            )
            continue
        self_name = method.args.args[0].arg
        names = {k.arg: "" if k.arg is None else attribute_name(context, node, k.arg) for k in node.keywords}
        operands = {f"_{i}": Operand(context.source.span(k.value)) for i, k in enumerate(node.keywords)}
        if explicit and isinstance(context.kind(node.func.value), Class):  # a base of the project, which has none
            lines = [f"{context.source.segment(node.func)}({self_name})"]
        elif explicit:
            lines = [f"torch.nn.Module.__init__({self_name})"]
            decisions.use(node.func)
        else:
            lines = [f"{context.source.segment(node.func)}()"]
        if is_chain and context.choices.style == "native":
            lines += _assignments(method, node, self_name, names)
        elif any(k.arg is None for k in node.keywords):
            given = ", ".join(
                [f"_{i}" for i, k in enumerate(node.keywords) if k.arg is None]
                + [f"{names[k.arg]}=_{i}" for i, k in enumerate(node.keywords) if k.arg is not None]
            )
            lines.append(f"compat.{'add_links' if is_chain else 'add_params'}({self_name}, {given})")
        elif is_chain:
            lines += _assignments(method, node, self_name, names)
        elif context.choices.style == "native" and all(_is_shape(context, k.value) for k in node.keywords):
            filled = "torch.nn.Parameter(torch.full({}, torch.nan))"
            lines += [f"{self_name}.{names[k.arg]} = {filled.format(f'_{i}')}" for i, k in enumerate(node.keywords)]
        else:  # a Link takes the shapes of its parameters
            shapes = ", ".join(f"{names[k.arg]}=_{i}" for i, k in enumerate(node.keywords))
            lines.append(f"compat.add_params({self_name}, {shapes})")
        plain = [k.value for k in node.keywords if needs_first_values(context, k.value)]
        parts = [(k.value, f"{self_name}.{names[k.arg]}") for k in node.keywords] if is_chain else []
        made = [(value, target) for value, target in parts if isinstance(value, ast.Call)]
        always = all(k.arg is not None for k in node.keywords)
        lines += lines_of_layers(context, made, self_name, lambda call: always, operands)  # noqa: B023
        held = [(target, held_layers(context, value)) for value, target in parts]
        held = [(target, calls) for target, calls in held if calls]
        if loops := _lines_of_held(context, held):
            lines += loops
            plain += [call for _, calls in held for call in calls]
        if always or context.choices.style != "native":  # what may be there or not is filled where it is made
            initialized.update(plain)
        decisions.edit(statement, ReplaceStatement(context.source.start(statement), "\n".join(lines), operands))
        row, renamed = context.rules.rows.get("chainer.Chain"), [(k, v) for k, v in names.items() if k and k != v]
        note = RENAMED.format(*renamed[0]) if renamed else ""
        decisions.mark(node, row, "chainer.Chain.__init__", "review" if renamed else "exact", note)


def _assignments(method: ast.FunctionDef, call: ast.Call, self_name: str, names: dict[str | None, str]) -> list[str]:
    """The lines that register the links of a constructor, in its order; a loop those of ``**links``."""
    taken = {n.id for n in nodes_of(method) if isinstance(n, ast.Name)} | {
        a.arg for a in nodes_of(method.args) if isinstance(a, ast.arg)
    }
    name, link = ("name", "link") if not taken & {"name", "link"} else ("_name", "_link")
    lines = []
    for i, keyword in enumerate(call.keywords):
        if keyword.arg is not None:
            lines.append(f"{self_name}.{names[keyword.arg]} = _{i}")
        else:
            lines += [f"for {name}, {link} in _{i}.items():", f"    setattr({self_name}, {name}, {link})"]
    return lines


def _is_shape(context: Context, node: ast.expr) -> bool:
    """Whether a value is a shape in plain sight: ``(n, m)`` or a name of that, and not ``((n, m), dtype)``."""
    if isinstance(node, ast.Name):
        kinds = options(context.kind(node))
        lengths = [k for kind in kinds if isinstance(kind, Tup) for item in kind.items for k in options(item)]
        return all(isinstance(k, Tup) for k in kinds) and not any(map(_is_no_length, lengths))
    return isinstance(node, ast.Tuple) and not any(
        isinstance(item, (ast.Tuple, ast.List, ast.Starred))
        or isinstance(item, ast.Constant)
        and not isinstance(item.value, int)
        or any(isinstance(k, (Ref, Tup, Lst)) for k in options(context.kind(item)))
        for item in node.elts
    )


def _is_no_length(kind: Kind) -> bool:
    return isinstance(kind, (Ref, Tup, Lst)) or scalar_type(kind) not in (None, "int")


def _lines_of_held(context: Context, held: list[tuple[str, list[ast.Call]]]) -> list[str]:
    if context.choices.style != "native" or context.choices.init == "torch":
        return []
    return lines_of_held_layers(context, held)


def call_method(context: Context, decisions: Decisions, cls: ClassInfo) -> None:
    """``__call__`` of a Chain becomes ``forward``, so that module hooks run.

    Not where something else has that name: a method, or ``self.forward = []``, which would hide it, also in an heir.
    """
    method = cls.methods.get("__call__")
    if method is None or not context.analysis.derives(cls, "chainer.Link"):
        return
    if cls in context.analysis.once(keeping_call):
        return
    decisions.edit(method.node, Rename(context.source.start(method.node), "forward"))
    for node in nodes_of(cls.node):
        if (
            isinstance(node, ast.Attribute)
            and node.attr == "__call__"
            and isinstance(node.ctx, ast.Load)
            and (is_super(node.value) or _names_link(context, cls, node.value))
        ):
            decisions.replace(node, "receiver.forward", {"receiver": context.operand(node.value)})


def bases(context: Context, decisions: Decisions, cls: ClassInfo) -> None:
    """``class A(chainer.Chain, B)`` where B is a link, too: both become nn.Module, which cannot stand before B.

    B brings nn.Module along. What Chain itself defines came before B's; where B defines it as well, nobody knows.
    """
    for i, (node, kind) in enumerate(zip(cls.node.bases, cls.bases)):
        row = context.rules.rows.get(kind.name) if isinstance(kind, Ref) else None
        if row is None or row.value != "torch.nn.Module":
            if isinstance(kind, Ref) and context.analysis.is_link(Inst(kind.name)):
                _behind_mixins(context, decisions, cls, i)
            continue
        if row.name == "chainer.Chain" and is_given_links(context, cls):
            decisions.replace(node, "compat.Chain", {})
            continue
        others = [k.info for k in cls.bases[i + 1 :] if isinstance(k, Class)]
        mixed = context.analysis.mixed  # these only work with a link
        links = [k for k in others if context.analysis.derives(k, "chainer.Link") and k not in mixed]
        if not links:
            _behind_mixins(context, decisions, cls, i)
            continue
        decisions.edit(cls.node, RemoveBase(context.source.start(cls.node), i))
        decisions.remove(node)
        defined = {
            name
            for other in links
            for base in context.analysis.mro(other)
            if isinstance(base, ClassInfo)
            for name in base.methods
        }
        if clash := sorted(defined & _OF_CHAIN):
            message = f"`{clash[0]}` of Chain came before that of the other base, and does no longer"
            decisions.refine(node, None, "review", message, "C2T200")


def _behind_mixins(context: Context, decisions: Decisions, cls: ClassInfo, index: int) -> None:
    """``class A(chainer.Chain, B)`` where the class B, which is no link, says what a call computes.

    Chainer looks for the ``__call__`` of such a class before its own, also where A has a ``forward``; what
    nn.Module has would hide that of B.
    """
    mixins = [k.info for k in cls.bases[index + 1 :] if isinstance(k, Class) and k.info in context.analysis.mixed]
    made = {name for k in mixins for name in _methods(context, k)}
    own = _methods(context, cls, until="chainer.Chain")
    hides = "__call__" in made  # Chainer calls that of the other base all the same; it keeps its name
    if not made & _CALLED or "__call__" in own or "forward" in own and not hides:
        return
    if clash := sorted(made & (_OF_CHAIN | {"__init__"})):
        message = (
            f"Chainer takes `{clash[0]}` of another base than PyTorch does; name the one that is meant in the class"
        )
        decisions.refine(cls.node.bases[index], None, "review", message, "C2T200")
        return
    if any(keyword.arg is None for keyword in cls.node.keywords) or any(
        isinstance(b, ast.Starred) for b in cls.node.bases
    ):
        return
    decisions.edit(cls.node, BaseLast(context.source.start(cls.node), index))


def _methods(context: Context, cls: ClassInfo, until: str = "") -> set[str]:
    """The methods of a class and its bases of the project, up to a base of Chainer's."""
    found: set[str] = set()
    for base in context.analysis.mro(cls):
        if isinstance(base, ClassInfo):
            found |= base.methods.keys()
        elif until:
            break
    return found


def _names_link(context: Context, cls: ClassInfo, node: ast.expr) -> bool:
    """Whether a name stands for a link (self), or for a class of links: one of the project's, or a base of this one."""
    if not isinstance(node, ast.Name):
        return False
    kind = context.analysis.kind(node)
    bases = {base.id for base in cls.node.bases if isinstance(base, ast.Name)}
    return (
        node.id in bases
        or context.analysis.is_link(kind)
        or any(isinstance(k, Class) and context.analysis.derives(k.info, "chainer.Link") for k in options(kind))
    )


def run(context: Context) -> Decisions:
    """Everything that is decided class by class, and the initial values of layers."""
    decisions = Decisions(context)
    initialized: set[ast.AST] = set()  # layers whose values a line of a constructor sets
    for cls in context.analysis.once(_by_module).get(context.module, ()):
        constructor(context, decisions, cls, initialized)
        call_method(context, decisions, cls)
        bases(context, decisions, cls)
    _initialize_layers(context, decisions, initialized)
    return decisions


def _by_module(analysis: Analysis) -> dict[ModuleInfo, list[ClassInfo]]:
    found: dict[ModuleInfo, list[ClassInfo]] = {}
    for cls in analysis.classes.values():
        found.setdefault(cls.module, []).append(cls)
    return found
