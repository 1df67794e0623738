"""Kinds of expressions."""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING

from chainer2torch.analysis.models import array_operators, array_kinds, data
from chainer2torch.analysis.kinds import (
    BOTTOM,
    UNKNOWN,
    Batch,
    Class,
    Const,
    Dct,
    Folder,
    Func,
    HostArray,
    Inst,
    Kind,
    Lst,
    Method,
    Mod,
    Ref,
    Scalar,
    Tensor,
    Tup,
    Union,
    Unknown,
    element_of,
    join,
    join_all,
    options,
    parse_spec,
    scalar_type,
)
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo

if TYPE_CHECKING:
    from chainer2torch.analysis.flow import Analysis


class Expressions:
    """The part of the analysis that evaluates expressions (mixed into Analysis)."""

    def expr(self: Analysis, node: ast.expr) -> Kind:  # type: ignore[misc]
        """Evaluates an expression and keeps what was found."""
        if node.__class__ is ast.Name:
            kind = self.facts[node] = self.lookup(node.id)
            return kind
        method = self.expression_methods.get(node.__class__)
        kind = self.facts[node] = self._children(node) if method is None else method(node)
        return kind

    def _children(self: Analysis, node: ast.AST) -> Kind:  # type: ignore[misc]
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expr(child)
        return UNKNOWN

    def _expr_Constant(self: Analysis, node: ast.Constant) -> Kind:  # type: ignore[misc]
        known = self.facts.get(node)
        return Const(node.value) if known is None else known

    def _expr_Attribute(self: Analysis, node: ast.Attribute) -> Kind:  # type: ignore[misc]
        return self.attribute(self.expr(node.value), node.attr)

    def _expr_Tuple(self: Analysis, node: ast.Tuple) -> Kind:  # type: ignore[misc]
        items = [self.expr(e) for e in node.elts]
        if any(isinstance(e, ast.Starred) for e in node.elts):
            return Lst(UNKNOWN)
        return Tup(tuple(items))

    def _expr_List(self: Analysis, node: ast.List) -> Kind:  # type: ignore[misc]
        return Lst(join_all([self.expr(e) for e in node.elts]) if node.elts else BOTTOM)

    _expr_Set = _expr_List

    def _expr_Dict(self: Analysis, node: ast.Dict) -> Kind:  # type: ignore[misc]
        items, values = [], []
        for key, value in zip(node.keys, node.values):
            kind = self.expr(value)
            values.append(kind)
            key_kind = self.expr(key) if key is not None else UNKNOWN
            if isinstance(key_kind, Const):
                items.append((key_kind.value, kind))
        return Dct(join_all(values) if node.keys else BOTTOM, tuple(items))

    def _expr_JoinedStr(self: Analysis, node: ast.JoinedStr) -> Kind:  # type: ignore[misc]
        for value in node.values:
            self.expr(value)
        return Scalar("str")

    def _expr_FormattedValue(self: Analysis, node: ast.FormattedValue) -> Kind:  # type: ignore[misc]
        self.expr(node.value)
        if node.format_spec is not None:
            self.expr(node.format_spec)
        return Scalar("str")

    def _expr_UnaryOp(self: Analysis, node: ast.UnaryOp) -> Kind:  # type: ignore[misc]
        kind = self.expr(node.operand)
        if isinstance(node.op, ast.Not):
            return Const(not kind.value) if isinstance(kind, Const) else Scalar("bool")
        if isinstance(node.op, ast.USub) and isinstance(kind, Const) and isinstance(kind.value, (int, float)):
            return Const(-kind.value)
        return kind if isinstance(kind, (Tensor, HostArray, Scalar)) else UNKNOWN

    def _expr_BinOp(self: Analysis, node: ast.BinOp) -> Kind:  # type: ignore[misc]
        return self.binary(node.op, self.expr(node.left), self.expr(node.right))

    def binary(self: Analysis, op: ast.operator, a: Kind, b: Kind) -> Kind:  # type: ignore[misc]
        """The kind of ``a op b``."""
        if a is BOTTOM or b is BOTTOM:
            return BOTTOM
        if isinstance(a, Union) or isinstance(b, Union):
            return join_all([self.binary(op, one, other) for one in options(a) for other in options(b)])
        if isinstance(op, ast.Mod) and scalar_type(a) == "str":
            return Scalar("str")
        if isinstance(a, (Tensor, HostArray)) or isinstance(b, (Tensor, HostArray)):
            return array_operators.arithmetic(op, a, b)
        if isinstance(a, Const) and isinstance(b, Const):
            return _fold(op, a, b)
        if isinstance(a, Lst) and isinstance(op, (ast.Add, ast.Mult)):
            return Lst(join(a.element, b.element)) if isinstance(b, Lst) else a
        if isinstance(b, Lst) and isinstance(op, ast.Mult):
            return b
        if isinstance(a, Inst) and isinstance(op, ast.Add) and self.derives(a.cls, "chainer.Sequential"):
            return Inst("chainer.Sequential")
        if isinstance(a, Tup) and isinstance(b, Tup) and isinstance(op, ast.Add):
            return Tup(a.items + b.items)
        ta, tb = scalar_type(a), scalar_type(b)
        if ta in ("int", "float", "bool") and tb in ("int", "float", "bool"):
            floating = "float" in (ta, tb) or isinstance(op, ast.Div)
            return Scalar("float" if floating else "int")
        return Scalar("str") if ta == tb == "str" else UNKNOWN

    def _expr_BoolOp(self: Analysis, node: ast.BoolOp) -> Kind:  # type: ignore[misc]
        return join_all([self.expr(v) for v in node.values])

    def _expr_Compare(self: Analysis, node: ast.Compare) -> Kind:  # type: ignore[misc]
        kinds = [self.expr(node.left), *(self.expr(c) for c in node.comparators)]
        for kind in kinds:
            if isinstance(kind, (Tensor, HostArray)) and not isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In)):
                other = kinds[1] if kind is kinds[0] else kinds[0]
                result = array_operators.broadcast(kind, other)
                if isinstance(result, Tensor):  # Variables cannot be compared: these are arrays
                    return Tensor(result.rank, "bool", array=True)
                return HostArray(result.rank, "bool") if isinstance(result, HostArray) else UNKNOWN
        return Scalar("bool")

    def _expr_IfExp(self: Analysis, node: ast.IfExp) -> Kind:  # type: ignore[misc]
        self.expr(node.test)
        return join(self.expr(node.body), self.expr(node.orelse))

    def _expr_NamedExpr(self: Analysis, node: ast.NamedExpr) -> Kind:  # type: ignore[misc]
        kind = self.expr(node.value)
        self.assign(node.target, kind)
        return kind

    def _expr_Lambda(self: Analysis, node: ast.Lambda) -> Kind:  # type: ignore[misc]
        return Func(self.define(node, None))

    def _expr_Starred(self: Analysis, node: ast.Starred) -> Kind:  # type: ignore[misc]
        kind = self.expr(node.value)
        return Lst(UNKNOWN) if kind == UNKNOWN else kind  # several values, whatever they are

    def _expr_Await(self: Analysis, node: ast.Await) -> Kind:  # type: ignore[misc]
        self.expr(node.value)
        return UNKNOWN

    def _expr_Yield(self: Analysis, node: ast.Yield) -> Kind:  # type: ignore[misc]
        kind = self.expr(node.value) if node.value is not None else Const(None)
        if self.func is not None:
            self.returned(self.func, Lst(kind))
        return UNKNOWN

    def _expr_YieldFrom(self: Analysis, node: ast.YieldFrom) -> Kind:  # type: ignore[misc]
        kind = self.expr(node.value)
        if self.func is not None:
            self.returned(self.func, Lst(self.iterated(kind)))
        return UNKNOWN

    def _comprehension(self: Analysis, node: ast.AST, *values: ast.expr) -> Kind:  # type: ignore[misc]
        scopes = self.scopes
        self.scopes = ({}, *scopes)
        for generator in node.generators:  # type: ignore[attr-defined]
            self.assign(generator.target, self.iterated(self.expr(generator.iter)))
            for condition in generator.ifs:
                self.expr(condition)
        kinds = [self.expr(v) for v in values]
        self.scopes = scopes
        return kinds[-1]

    def _expr_ListComp(self: Analysis, node: ast.ListComp) -> Kind:  # type: ignore[misc]
        return Lst(self._comprehension(node, node.elt))

    _expr_GeneratorExp = _expr_SetComp = _expr_ListComp

    def _expr_DictComp(self: Analysis, node: ast.DictComp) -> Kind:  # type: ignore[misc]
        return Dct(self._comprehension(node, node.key, node.value))

    def _expr_Slice(self: Analysis, node: ast.Slice) -> Kind:  # type: ignore[misc]
        for part in (node.lower, node.upper, node.step):
            if part is not None:
                self.expr(part)
        return UNKNOWN

    def _expr_Subscript(self: Analysis, node: ast.Subscript) -> Kind:  # type: ignore[misc]
        receiver = self.expr(node.value)
        index = self.expr(node.slice)
        if isinstance(receiver, Union):
            return join_all([self._item(r, node.slice, index) for r in receiver.ordered])
        return self._item(receiver, node.slice, index)

    def _item(self: Analysis, kind: Kind, node: ast.expr, index: Kind) -> Kind:  # type: ignore[misc]
        if kind is BOTTOM:
            return BOTTOM
        if isinstance(kind, (Tensor, HostArray)):
            return array_operators.subscript(kind, node, index)
        if isinstance(kind, Batch):
            return Tensor(array=True)
        example = data.item(self, kind, node, index)
        if example is not None:
            return example
        if isinstance(node, ast.Slice):
            if isinstance(kind, (Tup, Lst)):
                return Lst(element_of(kind))
            return kind if isinstance(kind, Inst) else UNKNOWN
        if isinstance(kind, Tup):
            if (
                isinstance(index, Const)
                and isinstance(index.value, int)
                and -len(kind.items) <= index.value < len(kind.items)
            ):
                return kind.items[index.value]
            return element_of(kind)
        if isinstance(kind, Lst):
            return kind.element
        if isinstance(kind, Dct):
            known: dict[object, Kind] = dict(kind.items)
            if isinstance(index, Const) and index.value in known:
                return known[index.value]
            if isinstance(index, Const) and known:
                return UNKNOWN  # all keys are known but this one: it was put there out of sight
            return UNKNOWN if kind.element is BOTTOM else kind.element  # filled out of sight
        if isinstance(kind, Inst):
            return self.method_result(kind, "__getitem__", [index], node)
        return UNKNOWN

    def iterated(self: Analysis, kind: Kind) -> Kind:  # type: ignore[misc]
        """The kind of the elements when a value is iterated over by ``for``."""
        return join_all(
            [
                data.item(self, k, None) or self.method_result(k, "__iter__", [], None)
                if isinstance(k, Inst)
                else element_of(k)
                for k in options(kind)
            ]
        )

    # -- attributes ------------------------------------------------------------------------------------------------

    def attribute(self: Analysis, kind: Kind, name: str) -> Kind:  # type: ignore[misc]
        """The kind of ``value.name``."""
        if isinstance(kind, Union):
            return join_all([self._attribute(k, name) for k in kind.ordered])
        return self._attribute(kind, name)

    def _attribute(self: Analysis, kind: Kind, name: str) -> Kind:  # type: ignore[misc]
        if kind is BOTTOM:
            return BOTTOM
        if isinstance(kind, Ref):
            if kind.name in array_kinds.CUPY and self.rules.member("xp.Module", name) is not None:
                return self._member(array_kinds.XP, "xp.Module", name)
            return Ref(self.rules.canonical(f"{kind.name}.{name}"))
        if isinstance(kind, (Mod, Folder)):
            return self._module_attribute(kind, name)
        if isinstance(kind, Inst):
            return self._instance_attribute(kind, name)
        if isinstance(kind, Class):
            found = self.class_attribute(kind.info, name, None)
            # the only constructors of links beside the class itself
            return Method(Inst(kind.info), name) if found == UNKNOWN and name == "from_params" else found
        if isinstance(kind, (Tensor, HostArray)):
            return array_kinds.attribute(self.rules, kind, name)
        if isinstance(kind, (Lst, Dct, Tup)) or scalar_type(kind) == "str":
            return Method(kind, name)
        # of what nobody knows, `xp` is that of one of Chainer's objects: see plan/receivers.py
        return array_kinds.XP if name == "xp" and isinstance(kind, Unknown) and _has_chainer(self.module) else UNKNOWN

    def _module_attribute(self: Analysis, kind: Mod | Folder, name: str) -> Kind:  # type: ignore[misc]
        if isinstance(kind, Mod):
            self.ensure_bound(kind.info)
            self.reads(kind.info, name)
            if name in kind.info.env:
                return kind.info.env[name]
        parent = kind.info if isinstance(kind, Mod) else kind.path
        found = self.project.submodule(parent, name)
        if found is not None:
            return self.module_kind(found)
        if isinstance(kind, Mod):
            for star in kind.info.stars:
                dotted = self.rules.canonical(f"{star}.{name}")
                if dotted in self.rules.rows:
                    return Ref(dotted)
        return UNKNOWN

    def _instance_attribute(self: Analysis, kind: Inst, name: str) -> Kind:  # type: ignore[misc]
        if isinstance(kind.cls, ClassInfo):
            return self.class_attribute(kind.cls, name, kind)
        return self._member(kind, kind.cls, name)

    def class_attribute(self: Analysis, cls: ClassInfo, name: str, receiver: Inst | None) -> Kind:  # type: ignore[misc]
        """An attribute or method of a class of the project, searched through its bases."""
        for owner in self.mro(cls):
            if isinstance(owner, str):
                # What a subclass keeps from a Chainer class: found by the tables, or a method of unknown result.
                if receiver is not None and self.rules.member(owner, name) is not None:
                    return self._member(receiver, owner, name)
                continue
            self.reads(owner, name)
            method = owner.methods.get(name)
            if method is not None:
                if method.is_property and receiver is not None:
                    return self.call_function(method, receiver, [], {}, None)
                return Func(method, None if method.is_static else receiver or Class(cls))
            if name in owner.attrs:
                return owner.attrs[name]
        return BOTTOM if self.pending(cls) else UNKNOWN

    def _member(self: Analysis, receiver: Inst, owner: str, name: str) -> Kind:  # type: ignore[misc]
        made = self.objects.get(receiver.site, {})
        if name == "target" and not receiver.site and self.rules.is_subclass(owner, "chainer.Optimizer"):
            self.reads(data.ONLY_OPTIMIZER, name)
            made = self.objects.get(data.ONLY_OPTIMIZER, made)
        if name in made and not isinstance(made[name], Unknown):
            return made[name]
        row = self.rules.member(owner, name)
        if row is None:
            if self.rules.is_subclass(owner, "chainer.Link") and not name.startswith("__"):
                self.reads(receiver.site, name)
                return UNKNOWN  # most likely a child or a value that somebody has put there
            return Method(receiver, name) if receiver.cls == owner else UNKNOWN
        if row.attribute or row.signature is None:
            return array_kinds.member_kind(row.name, receiver) or parse_spec(row.returns)
        return Method(receiver, name)


def _has_chainer(module: ModuleInfo) -> bool:
    return bool(module.stars) or any(
        isinstance(k, Ref) and k.name.split(".")[0] == "chainer" for k in module.env.values()
    )


_FOLDS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _fold(op: ast.operator, a: Const, b: Const) -> Kind:
    numbers = (int, float)
    fold = _FOLDS.get(type(op))
    if fold is not None and isinstance(a.value, numbers) and isinstance(b.value, numbers):
        try:
            return Const(fold(a.value, b.value))
        except (ZeroDivisionError, OverflowError):
            return UNKNOWN
    if isinstance(a.value, str):
        return Scalar("str")
    return UNKNOWN
