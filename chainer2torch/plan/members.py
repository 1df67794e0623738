"""Methods and attributes: what they are called on decides which rule applies."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from chainer2torch.analysis.kinds import Batch, Class, HostArray, Inst, Kind, Tensor, Unknown, options, scalar_type
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.edits import ReplaceStatement
from chainer2torch.plan.match import Question, choose
from chainer2torch.plan.passes.other_members import without_rule
from chainer2torch.plan.passes.overridden_methods import may_be_own
from chainer2torch.plan.passes.receivers import attribute_of_array, unknown_receiver
from chainer2torch.plan.stages import later
from chainer2torch.rules.table import Row
from chainer2torch.rules.signature import Bound

if TYPE_CHECKING:
    from chainer2torch.plan.sites import Plan


# parameters of links: a helper finds them under torch's names
_OF_LINKS = frozenset({"W", "b", "gamma", "beta", "avg_mean", "avg_var"})
_PARAMETERS = frozenset({"W", "b", "beta", "gamma"})
_HELD_ARRAYS = frozenset({"chainer.Variable.data", "chainer.Variable.array"})


class Members:
    """The part of a plan that decides on ``receiver.name`` (mixed into Plan)."""

    def _member(self: Plan, node: ast.Attribute) -> None:  # type: ignore[misc]
        if node in self.sites:
            return
        # `loss = 0` before a loop that adds to it: a number has no backward(), so the receiver is the other kind
        kinds = [k for k in options(self.analysis.kind(node.value)) if not _lacks(k, node.attr)]
        rows = [self._member_row(k, node.attr) for k in kinds]
        found = [r for r in rows if r is not None]
        if not found:
            (unknown_receiver if self.with_models else without_rule)(self, node)
            return
        row = found[0]
        if later(self, node, row, row.name):
            return
        if isinstance(node.ctx, ast.Del):
            self.mark(node, row, row.name, "manual", "deleted here, which has no counterpart")
            return
        if len({r.name for r in rows if r is not None}) > 1 or len(found) < len(rows):
            same = {(r.cases, r.set) for r in found}
            if len(same) > 1 or len(found) < len(rows):
                if attribute_of_array(self, node):
                    pass
                elif len(same) == 1 and _same_on_host(kinds, row, node.attr):
                    self.mark(node, row, row.name, row.state)
                elif _at_run_time(self, node):
                    pass
                elif row.cases or row.state == "manual":
                    self.mark(node, row, row.name, "review", "the receiver may be of more than one kind; left as it is")
                return
        if row.function is not None:
            self.hard_cases[row.function](self, node, row)
            return
        parent = self.source.parents.get(node)
        if isinstance(node.ctx, ast.Store):
            self._store(node, row)
        elif row.attribute or row.signature is None:
            self._attribute(node, row)
        elif isinstance(parent, ast.Call) and parent.func is node:
            if may_be_own(self, node, kinds):
                row = self.rules.rows.get(f"?.{node.attr}", row)
            self.call(parent, row, node, receiver=node.value)
        elif not row.cases:
            self.mark(node, row, row.name, row.state, row.note)
        else:
            self.mark(node, row, row.name, "manual", "a method that is passed as a value")

    def _member_row(self: Plan, kind: Kind, name: str) -> Row | None:  # type: ignore[misc]
        if isinstance(kind, Tensor):
            # what a model is given may be an array, and what only an array has is asked of an array
            row = None if kind.array else self.rules.member("chainer.Variable", name)
            return row or self.rules.member("numpy.ndarray", name)
        if isinstance(kind, Class):
            kind = Inst(kind.info)
        if not isinstance(kind, Inst):
            return None
        for owner in self.analysis.mro(kind.cls):
            if isinstance(owner, str):
                row = self.rules.member(owner, name)
                if row is not None:
                    return row
            elif name in owner.methods:
                return None
            elif name in owner.attrs and not self._is_of_base(kind.cls, name):
                return None
        return None

    def _is_of_base(self: Plan, cls: str | ClassInfo, name: str) -> bool:  # type: ignore[misc]
        """Whether what a class assigns is an attribute of the layer of Chainer's that it derives from.

        Parameters are left out: a class that makes its own computes with them itself.
        """
        base = next((c for c in self.analysis.mro(cls) if isinstance(c, str)), "")
        row = self.rules.member(base, name) if base.startswith("chainer.links.") else None
        return row is not None and row.attribute and name not in _PARAMETERS

    def _attribute(self: Plan, node: ast.Attribute, row: Row) -> None:  # type: ignore[misc]
        if row.cases:
            if row.state == "manual":
                self.mark(node, row, row.name, "manual", row.note)
                return
            question = Question(row, Bound({"self": node.value}), self.analysis.kind, self.is_instance)
            template, _ = choose(question)
            if template is None:
                self.mark(node, row, row.name, "manual", f"its rank or type is not known here. {row.note}".strip())
                return
            if template != f"self.{node.attr}":
                self.replace(node, template, {"self": self.operand(node.value)})
        self.mark(node, row, row.name, row.state, row.note if row.state != "exact" else "")

    def _store(self: Plan, node: ast.Attribute, row: Row) -> None:  # type: ignore[misc]
        kept = all(case.torch == f"self.{node.attr}" for case in row.cases)
        if row.name in _HELD_ARRAYS and isinstance(self.source.parents.get(node), ast.AugAssign):
            # `x.array -= y` changes the array itself, in both
            self.replace(node, "self.data", {"self": self.operand(node.value)})
            self.mark(node, row, row.name, row.state)
            return
        if (
            row.set is None
            and not kept
            and row.name.startswith("chainer.links.")
            and len(row.cases) == 1
            and row.cases[0].torch.startswith("self.")
            and row.cases[0].torch[5:].isidentifier()
        ):
            # `self.l2.W = self.l1.W`: the same attribute under another name
            statement = self.source.parents.get(node)
            if (
                node.attr in _PARAMETERS
                and isinstance(statement, ast.Assign)
                and len(statement.targets) == 1
                and not _is_parameter(self, statement.value)
            ):
                self.edits[statement] = ReplaceStatement(
                    self.source.start(statement),
                    f"compat.set_link_attribute(self, '{node.attr}', value)",
                    {"self": self.operand(node.value), "value": self.operand(statement.value)},
                )
            else:
                self.replace(node, row.cases[0].torch, {"self": self.operand(node.value)})
            self.mark(node, row, row.name, row.state)
            return
        if row.set is None and not kept:
            self.mark(node, row, row.name, "manual", f"assignment to it has no counterpart. {row.note}".strip())
            return
        if row.set is None or kept and isinstance(self.source.parents.get(node), ast.AugAssign):
            # `param.grad *= 0.5` changes the gradient itself, in both
            self.mark(node, row, row.name, row.state, row.note if row.state != "exact" else "")
            return
        statement = self.source.parents.get(node)
        if not (isinstance(statement, ast.Assign) and len(statement.targets) == 1):
            self.mark(node, row, row.name, "manual", "assigned in a way that cannot be rewritten")
            return
        self.edits[statement] = ReplaceStatement(
            self.source.start(statement),
            row.set,
            {"self": self.operand(node.value), "value": self.operand(statement.value)},
        )
        if row.name == self.reference(node):
            self.use(node)
        self.mark(node, row, row.name, row.state, row.note)


def _is_parameter(plan: Plan, value: ast.expr) -> bool:
    """Whether a value is a parameter for sure, or None: torch's layers take no other tensor under its name."""
    if isinstance(value, ast.Attribute):
        return value.attr in _PARAMETERS
    called = plan.reference(value.func) if isinstance(value, ast.Call) else None
    return called in ("chainer.Parameter", "chainer.variable.Parameter") or isinstance(value, ast.Constant)


def _lacks(kind: Kind, attribute: str) -> bool:
    """Whether a plain value has no such attribute."""
    name = scalar_type(kind)
    owner = type(None) if name == "NoneType" else getattr(builtins, name or "object", object)
    return name is not None and not hasattr(owner, attribute)


def _same_on_host(kinds: list[Kind], row: Row, name: str) -> bool:
    """Whether an array on the host and a tensor are asked the same way: `x.shape`, `x.reshape(-1)`.

    An attribute that tensors have under its own name is the same of values that nobody knows, and of batches: `x.ndim`.
    """
    others = (Batch, HostArray, Tensor, Unknown) if row.attribute else (Tensor, HostArray)
    return (
        all(isinstance(k, others) for k in kinds)
        and row.function is None
        and [(c.when, c.torch.split("(")[0]) for c in row.cases] == [(None, f"self.{name}")]
    )


def _at_run_time(plan: Plan, node: ast.Attribute) -> bool:
    """Where the receiver is one of several kinds: a helper that looks at what it is, if there is one."""
    row = plan.rules.rows.get(f"?.{node.attr}")
    parent = plan.source.parents.get(node)
    if (
        not isinstance(node.ctx, ast.Load)
        or node.attr == "array"
        and isinstance(parent, ast.Call)
        and parent.func is node
    ):  # `xp.array(...)`
        return False
    if row is not None and row.attribute:
        plan.replace(node, row.cases[0].torch, {"self": plan.operand(node.value)})
        plan.mark(node, row, row.name, row.state, row.note)
        return True
    if node.attr in _OF_LINKS:
        plan.replace(node, f"compat.link_attribute(obj, '{node.attr}')", {"obj": plan.operand(node.value)})
        plan.mark(node, None, f"?.{node.attr}", "exact", "looked up by Chainer's name at run time", "C2T390")
        return True
    return False
