"""Links that code asks what they are or what they hold: class tests, `chain['name']`, attributes by Chainer's names."""

from __future__ import annotations

import ast
import re

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Const, Inst, Kind, Method, Ref, Tensor, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.edits import ReplaceStatement
from chainer2torch.plan.passes.other_members import stored
from chainer2torch.plan.passes.receivers import seen_before
from chainer2torch.plan.sites import Plan
from chainer2torch.plan.passes.variable_tests import harmless, wraps
from chainer2torch.rules.table import Row

# Names of parameters and statistics that only Chainer's links have; and those that other objects have as well, which
# count when an array is taken from them (`x.b.data`).
_STATISTICS = frozenset({"avg_mean", "avg_var"})
_DISTINCTIVE = _STATISTICS | {"W"}
_OF_LINKS = _DISTINCTIVE | {"b", "gamma", "beta"}
_OF_PARAMETERS = frozenset({"data", "array", "grad", "cleargrad", "zerograd", "update_rule"})
_ASKING = {
    "builtins.hasattr": "compat.has_link_attribute(obj, name)",
    "builtins.getattr": "compat.link_attribute(obj, name)",
    "builtins.setattr": "compat.set_link_attribute(obj, name, value)",
}
_OF_BASE = {"__init__": "__init__", "__call__": "forward", "forward": "forward"}
_PRIVATE = frozenset({"_children", "_params", "_persistent"})
_INNER = (
    "a module of torch has its children, parameters and buffers in named_children(), named_parameters() and "
    "named_buffers(), not here"
)
_WALKS = frozenset({"params", "namedparams", "children", "links", "namedlinks"})
_STACKED = "an NStep layer has torch's stacked parameters (`rnn.weight_ih_l0`), not a child link for each layer"
_LISTS = ("chainer.links.MLPConvolution2D", "chainer.links.NStep")
_CUPY = "chainer.backends.cuda.cupy"
_CUPY_ARRAY = "chainer.backends.cuda.ndarray"
_SETTERS = {"array": "set_array", "data": "set_array", "grad": "set_grad"}
_BY_NAME = "an attribute of a link whose class is not known here: looked up by Chainer's name at run time"


def class_tests(plan: Plan) -> None:
    """``isinstance(x, L.Linear)`` asks for every class that such a link may have become."""
    for node in plan.source.of(ast.Call, ast.Attribute, ast.Compare):
        if isinstance(node, ast.Call) and len(node.args) == 2:
            callee = plan.analysis.kind(node.func)
            if isinstance(callee, Ref) and callee.name in ("builtins.isinstance", "builtins.issubclass"):
                tested = node.args[1]
                for cls in tested.elts if isinstance(tested, ast.Tuple) else [tested]:
                    _class_test(plan, cls, node)
        elif isinstance(node, ast.Attribute) and node.attr in _OF_BASE:
            _base_method(plan, node)
        elif isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                for cls in side.elts if isinstance(side, (ast.Tuple, ast.List, ast.Set)) else [side]:
                    _compared(plan, cls)


def _class_test(plan: Plan, node: ast.expr, test: ast.Call) -> None:
    name = plan.reference(node)
    row = plan.rules.rows.get(name) if name else None
    if _is_cupy_array(plan, node):
        plan.replace(node, "compat.CudaArray", {})
        plan.use(node)
        if isinstance(node, ast.Attribute) and plan.reference(node.value) == _CUPY:  # said once
            plan.mark(node.value, plan.rules.rows[_CUPY], _CUPY, "exact")
        plan.mark(
            node,
            plan.rules.rows[_CUPY_ARRAY],
            _CUPY_ARRAY,
            "review",
            "a tensor on a GPU is one here, also where it was a Variable. Not executed: this needs a GPU",
        )
        return
    if row is None or name is None or row.value is None or row.state == "manual":
        return
    made = list(_torch_classes(row)) if name.startswith("chainer.links.") else []
    if name == "chainer.ChainList":
        made = ["compat.Sequential"] if _mentioned(plan, "Sequential") else []
        made += [
            str(other.value)
            for other in plan.rules.rows.values()
            if other.name.startswith(_LISTS) and other.value and _mentioned(plan, other.name.rpartition(".")[2])
        ]
    state, note, new = row.state, "", row.value
    if name == "chainer.Chain":
        new = "compat.AnyChain"
        if plan.analysis.once(_bare_links):
            state, note = "review", "a class of yours that derives from chainer.Link counts as a Chain here"
    elif name == "chainer.Variable":
        kinds = options(plan.analysis.kind(test.args[0]))
        if not any(k == UNKNOWN or isinstance(k, Tensor) and k.array for k in kinds) or harmless(plan.source, test):
            return
        if wraps(plan.source, test, lambda made: plan.reference(made) == name):
            plan.replace(test, "compat.is_variable(x)", {"x": plan.operand(test.args[0])})
            plan.use(node)
            plan.mark(node, row, row.name, "exact")
            return
        state, note = "review", "an array on the model's device is a tensor, too: true for it here, not in Chainer"
    elif not made:
        return
    others = [
        plan.rules.rows[other]
        for other in plan.rules.rows
        if other.startswith("chainer.links.") and _mentioned(plan, other.rpartition(".")[2])
    ]
    also = sorted(
        other.name.rpartition(".")[2]
        for other in others
        if other is not row and other.value and _torch_classes(other) & set(made)
    )
    if also:
        state, note = "review", f"{' and '.join(also)} may become the same class"
    plan.replace(node, f"({', '.join([*sorted(made), new])})" if made else new, {})
    plan.use(node)
    plan.mark(node, row, row.name, state, note)


def _is_cupy_array(plan: Plan, node: ast.expr) -> bool:
    """Whether a class is CuPy's array, as Chainer or CuPy itself calls it."""
    if plan.reference(node) in (_CUPY_ARRAY, f"{_CUPY}.ndarray", f"{_CUPY}.core.ndarray", f"{_CUPY}.core.core.ndarray"):
        return True
    return isinstance(node, ast.Attribute) and node.attr == "ndarray" and plan.reference(node.value) == _CUPY


def _walk(plan: Plan, node: ast.Attribute) -> None:
    """``model.params()`` where a recurrent layer of torch holds together what Chainer holds apart."""
    row = plan.rules.rows.get(f"chainer.Link.{node.attr}")
    if (
        row is not None
        and node in plan.sites
        and plan.sites[node].symbol == row.name
        and any(word.startswith("NStep") for word in plan.analysis.once(_words))
    ):
        del plan.sites[node]  # rewritten as ever, and marked
        plan.mark(node, row, row.name, "review", _STACKED)


def _bare_links(analysis: Analysis) -> bool:
    """Whether classes of the project derive from chainer.Link itself: they become modules as Chains do."""
    return any(
        next((c for c in analysis.mro(cls) if isinstance(c, str)), "") == "chainer.Link"
        for cls in analysis.classes.values()
    )


def _base_method(plan: Plan, node: ast.Attribute) -> None:
    """``L.Linear.__call__(self, x)``: a method of the base class, called by its name."""
    name = plan.reference(node)
    row = plan.rules.rows.get(name.rpartition(".")[0]) if name else None
    call = plan.source.parents.get(node)
    if (
        row is None
        or row.value is None
        or row.state == "manual"
        or not isinstance(call, ast.Call)
        or call.func is not node
        or not plan.analysis.derives(row.name, "chainer.Link")
    ):
        return
    bare = row.value == "torch.nn.Module"
    if bare and (node.attr != "__init__" or call.keywords or len(call.args) != 1):
        cls = plan.enclosing_class(node)  # with links or shapes: `constructor` makes the edit
        if (
            cls is not None
            and node.attr == "__init__"
            and len(call.args) == 1
            and row.name in plan.analysis.mro(cls)
            and isinstance(plan.source.parents.get(call), ast.Expr)
        ):
            plan.mark(node, row, f"{row.name}.__init__", row.state)
        return
    plan.replace(node, f"{row.value}.{_OF_BASE[node.attr]}", {})
    plan.use(node)
    plan.mark(node, row, f"{row.name}.{node.attr}", row.state)


def _compared(plan: Plan, node: ast.expr) -> None:
    """``type(x) is L.Linear``: one class in Chainer, several here."""
    name = plan.reference(node)
    row = plan.rules.rows.get(name) if name else None
    if row is not None and name == "chainer.Chain":  # one of no class of its own
        plan.replace(node, "compat.Chain", {})
        plan.use(node)
        plan.mark(node, row, row.name, row.state)
        return
    if row is not None and row.value is not None and row.name.startswith("chainer.links.") and _torch_classes(row):
        plan.replace(node, row.value, {})
        plan.use(node)
        plan.mark(
            node,
            row,
            row.name,
            "review",
            "such a link may also have become "
            + " or ".join(c.replace("torch.nn", "nn") for c in sorted(_torch_classes(row)))
            + ": ask with isinstance for all of them",
        )


def _torch_classes(row: Row) -> frozenset[str]:
    """The layers of torch.nn among the templates of a link (lazy ones derive from the others)."""
    return frozenset(
        f"torch.nn.{name}" for case in row.cases for name in re.findall(r"\btorch\.nn\.(?:Lazy)?([A-Z]\w*)", case.torch)
    )


def _mentioned(plan: Plan, name: str) -> bool:
    return name in plan.analysis.once(_words)


def _words(analysis: Analysis) -> frozenset[str]:
    """Every word of the project's files."""
    return frozenset(
        word for module in analysis.project.modules.values() for word in re.findall(r"\w+", module.source.text)
    )


def members(plan: Plan) -> None:
    """What the walk over the file has left of subscripts and attributes of links."""
    if not plan.imports_chainer:  # links of other files, by their base classes
        for attribute in plan.source.of(ast.Attribute):
            if attribute.attr in _PRIVATE or attribute.attr == "__dict__":
                _attribute(plan, attribute)
        return
    for node in plan.source.of(ast.Subscript, ast.Attribute, ast.Call):
        if isinstance(node, ast.Attribute) and node.attr in _WALKS:
            _walk(plan, node)
        if isinstance(node, ast.Subscript):
            _subscript(plan, node)
        elif isinstance(node, ast.Attribute) and node not in plan.sites and node not in plan.edits:
            _attribute(plan, node)
        elif isinstance(node, ast.Call) and node not in plan.edits:
            _asked_by_name(plan, node)


def _subscript(plan: Plan, node: ast.Subscript) -> None:
    """``chain['l1']``: what a Chain became has no subscripts."""
    kinds = options(plan.analysis.kind(node.value))
    if any(isinstance(k, Inst) and isinstance(k.cls, str) and k.cls.startswith("chainer.links.NStep") for k in kinds):
        plan.mark(node, None, "chainer.links.NStep.__getitem__", "manual", _STACKED, "C2T200")
        return
    if (
        node in plan.edits
        or not isinstance(node.ctx, ast.Load)
        or not all(
            isinstance(k, Inst)
            and k.cls != "chainer.Chain"
            and plan.analysis.derives(k.cls, "chainer.Chain")
            and not any(isinstance(c, ClassInfo) and "__getitem__" in c.methods for c in plan.analysis.mro(k.cls))
            for k in kinds
        )
    ):
        return
    plan.replace(node, "getattr(chain, name)", {"chain": plan.operand(node.value), "name": plan.operand(node.slice)})


def _inner_state(plan: Plan, node: ast.expr, kind: Kind, name: str) -> None:
    """``link.__dict__``, ``vars(link)``, ``link._children``: where Chainer keeps what a module keeps elsewhere."""
    if name in _PRIVATE and plan.analysis.is_link(kind) or name == "__dict__" and plan.analysis.is_link(kind):
        plan.mark(node, None, f"chainer.Link.{name}", "manual", _INNER, "C2T200")
    elif kind == UNKNOWN and _among_links(plan, node):
        plan.mark(node, None, f"?.{name}", "review", f"if this is a link of Chainer's: {_INNER}", "C2T390")


def _is_asked_for(parent: ast.AST | None) -> bool:
    """``... is None``, ``... is not None``."""
    return (
        isinstance(parent, ast.Compare)
        and isinstance(parent.ops[0], (ast.Is, ast.IsNot))
        and isinstance(parent.comparators[0], ast.Constant)
        and parent.comparators[0].value is None
    )


def _has_weights(plan: Plan, node: ast.Attribute) -> bool:
    """Whether the function around ``link.b`` takes ``link.W``, too."""
    function = plan.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    owner = ast.unparse(node.value)
    return function is not None and any(
        isinstance(n, ast.Attribute) and n.attr in _DISTINCTIVE and ast.unparse(n.value) == owner
        for n in nodes_of(function)
    )


def _among_links(plan: Plan, node: ast.AST) -> bool:
    """Whether the function around a node deals with links."""
    function = plan.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    return function is not None and any(
        n in plan.sites and plan.sites[n].symbol.startswith(("chainer.Link", "chainer.Chain", "chainer.links", "?."))
        for n in ast.walk(function)
    )


def _attribute(plan: Plan, node: ast.Attribute) -> None:
    kind = plan.analysis.kind(node.value)
    if node.attr in _PRIVATE or node.attr == "__dict__":
        if not any(
            isinstance(k, Inst) and isinstance(k.cls, ClassInfo) and node.attr in k.cls.attrs for k in options(kind)
        ):
            _inner_state(plan, node, kind, node.attr)
        return
    parent, decided = plan.source.parents.get(node), seen_before(plan, node)
    if kind == UNKNOWN or isinstance(kind, Method) and plan.analysis.is_link(kind.receiver):
        if not decided and (
            node.attr in _DISTINCTIVE
            or node.attr in _OF_LINKS
            and (
                isinstance(parent, ast.Attribute)
                and parent.attr in _OF_PARAMETERS
                or _is_asked_for(parent)
                or _has_weights(plan, node)
            )
            or node.attr == "decay"
            and isinstance(parent, ast.Assign)
        ):
            _by_name(plan, node)  # `bn.decay = 0.5` would be heeded by no layer of torch's
        return
    if node.attr in _OF_LINKS and all(
        isinstance(k, Inst)
        and isinstance(k.cls, str)
        and plan.analysis.is_link(k)
        and plan.rules.member(k.cls, node.attr) is None
        for k in options(kind)
    ):
        if not decided:
            _by_name(plan, node)  # some link
        return
    for option in options(kind):
        if isinstance(option, Inst) and _lost(plan, option, node):
            row = next(
                plan.rules.rows[c] for c in plan.analysis.mro(option.cls) if isinstance(c, str) and c in plan.rules.rows
            )
            plan.mark(
                node,
                None,
                f"{row.name}.{node.attr}",
                "manual",
                f"what {row.name.rpartition('.')[2]} became may have no attribute `{node.attr}`",
                "C2T300",
            )
            return


def _lost(plan: Plan, kind: Inst, node: ast.Attribute) -> bool:
    """Whether a link that may be one of torch.nn's layers is asked for an attribute that nothing here sets."""
    if not isinstance(node.ctx, ast.Load) or node.attr.startswith("__") or node.attr in _SHARED:
        return False
    classes = plan.analysis.mro(kind.cls)
    if any(isinstance(c, ClassInfo) for c in classes):
        return False  # derives from the helper, which has Chainer's attributes
    row = plan.rules.rows.get(kind.cls) if isinstance(kind.cls, str) else None
    return (
        row is not None
        and row.name.startswith("chainer.links.")
        and bool(_torch_classes(row))
        and plan.rules.member(row.name, node.attr) is None
        and not _is_set(plan, node.attr)
        and not _is_new_name(plan, row.name, node.attr)
    )


def _is_new_name(plan: Plan, link: str, attribute: str) -> bool:
    """Whether a member of a link becomes this attribute: an earlier run has written it."""
    members = [name for name in plan.rules.rows if name.startswith(f"{link}.")]
    return any(case.torch == f"self.{attribute}" for name in members for case in plan.rules.rows[name].cases)


# of nn.Module, and of torch's layers under Chainer's names
_SHARED = frozenset({"training", "forward", "stride", "groups", "in_channels", "out_channels", "eps"})


def _is_set(plan: Plan, attribute: str) -> bool:
    return attribute in plan.analysis.once(stored)


def _by_name(plan: Plan, node: ast.Attribute) -> None:
    receiver = plan.operand(node.value)
    statement = plan.source.parents.get(node)
    name = f"'{node.attr}'"
    outer = plan.source.parents.get(statement) if statement is not None else None
    if (
        isinstance(statement, ast.Attribute)
        and isinstance(statement.ctx, ast.Store)
        and statement.attr in _SETTERS
        and isinstance(outer, ast.Assign)
        and len(outer.targets) == 1
        and outer not in plan.edits
    ):
        plan.edits[outer] = ReplaceStatement(
            plan.source.start(outer),
            f"compat.{_SETTERS[statement.attr]}(compat.link_attribute(obj, {name}), value)",
            {"obj": receiver, "value": plan.operand(outer.value)},
        )
    elif isinstance(node.ctx, ast.Load):
        plan.replace(node, f"compat.link_attribute(obj, {name})", {"obj": receiver})
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1 and statement not in plan.edits:
        plan.edits[statement] = ReplaceStatement(
            plan.source.start(statement),
            f"compat.set_link_attribute(obj, {name}, value)",
            {"obj": receiver, "value": plan.operand(statement.value)},
        )
    else:
        plan.mark(
            node,
            None,
            f"?.{node.attr}",
            "review",
            "if this is a link of Chainer's, the attribute has another name now",
            "C2T390",
        )
        return
    plan.mark(node, None, f"?.{node.attr}", "exact", _BY_NAME, "C2T390")


def _asked_by_name(plan: Plan, call: ast.Call) -> None:
    """``hasattr(link, 'W')``: silently false for a layer of PyTorch."""
    callee = plan.analysis.kind(call.func)
    if isinstance(callee, Ref) and callee.name == "builtins.vars" and len(call.args) == 1:
        _inner_state(plan, call, plan.analysis.kind(call.args[0]), "__dict__")
    template = _ASKING.get(callee.name) if isinstance(callee, Ref) else None
    if template is None or call.keywords or len(call.args) != (3 if "value" in template else 2):
        return
    name = plan.analysis.kind(call.args[1])
    owner = plan.analysis.kind(call.args[0])
    if (
        not isinstance(name, Const)
        or name.value not in _OF_LINKS
        or not (owner == UNKNOWN or any(isinstance(k, Inst) and _is_layer(plan, k, name.value) for k in options(owner)))
    ):
        return
    operands = dict(zip(("obj", "name", "value"), map(plan.operand, call.args)))
    plan.replace(call, template, operands)
    plan.mark(call, None, f"?.{name.value}", "exact", _BY_NAME, "C2T390")


def _is_layer(plan: Plan, kind: Inst, name: str) -> bool:
    """Whether a link may have a parameter of Chainer's of that name: none of its own classes makes one."""
    return plan.analysis.derives(kind.cls, "chainer.Link") and not any(
        isinstance(c, ClassInfo) and name in c.attrs.keys() - _STATISTICS for c in plan.analysis.mro(kind.cls)
    )
