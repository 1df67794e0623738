"""Kinds of expressions."""

from __future__ import annotations

import ast

from chainer2torch.analysis import host_copies
from chainer2torch.analysis.announced import attributes_below, property_of_super, those_below
from chainer2torch.analysis.models import array_kinds, array_operators, assigned, command_line, data, host_libraries
from chainer2torch.analysis.models import link_children, named_tuples, own_dictionaries, possible, sent, sequences
from chainer2torch.analysis.folding import added, fold, repeated, row, table
from chainer2torch.analysis.models.class_methods import NAMESPACE, asked_by_name, held_among
from chainer2torch.analysis.models.computed_children import numbered
from chainer2torch.analysis.narrowing import reached
from chainer2torch.analysis.models.demanded_links import is_demanded
from chainer2torch.analysis.models.demands import is_number_without, lacks_member, only_of_variables, options_with
from chainer2torch.analysis.models.iteration import part_of
from chainer2torch.analysis.models.xp_modules import CUPY, XP, member_kind
from chainer2torch.analysis.interpreter import Interpreter
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
    NamedTuple,
    Ref,
    Scalar,
    Tensor,
    Tup,
    Union,
    Unknown,
    options,
    scalar_type,
)
from chainer2torch.analysis.lattice import PLAIN_LINKS, element_of, join, join_all
from chainer2torch.analysis.kind_specs import parse_spec
from chainer2torch.analysis.models.network_dtypes import of_network
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo


class Expressions(Interpreter):
    """The part of the analysis that evaluates expressions."""

    def expr(self, node: ast.expr) -> Kind:
        """Evaluates an expression and keeps what was found."""
        if node.__class__ is ast.Name:
            kind = self.lookup(node.id)
            if isinstance(kind, Unknown) and self._is_demanded(node):
                kind = Inst("chainer.Link")
            self.facts[node] = kind
            return kind
        method = self.expression_methods.get(node.__class__)
        kind = self.facts[node] = self._children(node) if method is None else method(node)
        return kind

    def _children(self, node: ast.AST) -> Kind:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expr(child)
        return UNKNOWN

    def _expr_Constant(self, node: ast.Constant) -> Kind:
        return self.facts.get(node) or Const(node.value)

    def _expr_Attribute(self, node: ast.Attribute) -> Kind:
        kind = self.expr(node.value)
        if isinstance(kind, Unknown) and self.imports_chainer() and only_of_variables(self, self.module.source, node):
            kind = self.facts[node.value] = Tensor()
            if isinstance(node.value, ast.Name) and node.value.id in self.scopes[0]:
                self.scopes[0][node.value.id] = kind
        found = command_line.given(self, kind, node) if kind.__class__ is Inst else None
        found = found or property_of_super(self, kind, node) or self.attribute(kind, node.attr)
        return Inst("chainer.Link") if isinstance(found, Unknown) and self._is_demanded(node) else found

    def _is_demanded(self, node: ast.Name | ast.Attribute) -> bool:
        """Whether what nobody knows must be a link, since it is asked for what only links have."""
        return not self.binding and self.imports_chainer() and is_demanded(self, self.module.source, node)

    def _expr_Tuple(self, node: ast.Tuple) -> Kind:
        items = [self.expr(e) for e in node.elts]
        parts: list[Kind] = []
        for element, kind in zip(node.elts, items):
            if not isinstance(element, ast.Starred):
                parts.append(kind)
            elif isinstance(kind, Tup):
                parts += kind.items
            else:
                return Lst(UNKNOWN)
        return row(parts)

    def _expr_List(self, node: ast.List) -> Kind:
        items = [self.iterated(self.expr(e)) if isinstance(e, ast.Starred) else self.expr(e) for e in node.elts]
        return Lst(join_all(items) if items else BOTTOM)

    _expr_Set = _expr_List

    def _expr_Dict(self, node: ast.Dict) -> Kind:
        pairs = [
            (None if key is None else self.expr(key), self.expr(value)) for key, value in zip(node.keys, node.values)
        ]
        return table(pairs)

    def _expr_JoinedStr(self, node: ast.JoinedStr) -> Kind:
        for value in node.values:
            self.expr(value)
        return Scalar("str")

    def _expr_FormattedValue(self, node: ast.FormattedValue) -> Kind:
        self.expr(node.value)
        if node.format_spec is not None:
            self.expr(node.format_spec)
        return Scalar("str")

    def _expr_UnaryOp(self, node: ast.UnaryOp) -> Kind:
        kind = self.expr(node.operand)
        if isinstance(node.op, ast.Not):
            return Const(not kind.value) if isinstance(kind, Const) else Scalar("bool")
        if isinstance(node.op, ast.USub) and isinstance(kind, Const) and isinstance(kind.value, (int, float)):
            return Const(-kind.value)
        return array_operators.signed(kind)

    def _expr_BinOp(self, node: ast.BinOp) -> Kind:
        return self.binary(node.op, self.expr(node.left), self.expr(node.right))

    def binary(self, op: ast.operator, a: Kind, b: Kind) -> Kind:
        """The kind of ``a op b``."""
        if a is BOTTOM or b is BOTTOM:
            return BOTTOM
        if isinstance(a, Union) or isinstance(b, Union):
            return join_all([self.binary(op, one, other) for one in options(a) for other in options(b)])
        if isinstance(op, ast.Mod) and scalar_type(a) == "str":
            return Scalar("str")
        if isinstance(a, (Tensor, HostArray)) or isinstance(b, (Tensor, HostArray)):
            found = possible.beside_array(a, b, lambda x, y: self.binary(op, x, y))
            return array_operators.arithmetic(op, a, b) if found is None else found
        if isinstance(a, Const) and isinstance(b, Const):
            return fold(op, a, b)
        if isinstance(op, ast.FloorDiv) and a == Const(0) and scalar_type(b) == "int":
            return a
        if isinstance(a, Lst) and isinstance(op, (ast.Add, ast.Mult)):
            return Lst(join(a.element, b.element), a.sized or b.sized) if isinstance(b, Lst) else a
        if isinstance(b, Lst) and isinstance(op, ast.Mult):
            return b
        if isinstance(op, ast.Mult) and (isinstance(a, Tup) or isinstance(b, Tup)):
            return repeated(*((a, b) if isinstance(a, Tup) else (b, a)))
        if isinstance(a, Inst) and isinstance(op, (ast.Add, ast.Mult)) and sequences.is_sequential(self, a):
            return sequences.joined(self, a, b)
        if isinstance(op, ast.Add) and isinstance(a, (Tup, Lst)) and isinstance(b, (Tup, Lst)):
            return added(a, b)
        found = array_operators.of_scalars(op, scalar_type(a), scalar_type(b))
        return possible.computed(a, b, lambda x, y: self.binary(op, x, y)) if isinstance(found, Unknown) else found

    def _expr_BoolOp(self, node: ast.BoolOp) -> Kind:
        before: dict[str, Kind] = {}
        kinds = []
        for value in node.values:  # each is reached where those before it were true (of `and`), false (of `or`)
            kinds.append(self.expr(value))
            before = {**self.narrow(value, isinstance(node.op, ast.And)), **before}
        self.scopes[0].update(before)
        return join_all(kinds)

    def _expr_Compare(self, node: ast.Compare) -> Kind:
        kinds = [self.expr(node.left), *(self.expr(c) for c in node.comparators)]
        if len(kinds) > 2 or isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            return Scalar("bool")  # a chain asks each of its parts for one answer
        return join_all([possible.compared(a, b) for a in options(kinds[0]) for b in options(kinds[1])])

    def _expr_IfExp(self, node: ast.IfExp) -> Kind:
        self.expr(node.test)
        truth = self.once_a_file(host_copies.shapes, self.module.source).get(node)
        if truth is not None:
            copied = self.expr(node.body if truth else node.orelse)
            if host_copies.copies(node, truth, self.kind):
                outside, self.unreachable = self.unreachable, True
                self.expr(node.orelse if truth else node.body)
                self.unreachable = outside
                return copied
        kinds = []
        for truth, part in ((True, node.body), (False, node.orelse)):
            known = dict(self.scopes[0])  # what a branch finds out of a value holds there alone
            self.narrow(node.test, truth)
            kinds.append(reached(self, node.test, truth, self.expr(part)))
            self.scopes[0].update(known)
        return join_all(kinds)

    def _expr_NamedExpr(self, node: ast.NamedExpr) -> Kind:
        kind = self.expr(node.value)
        self.assign(node.target, join(self.scopes[0].get(node.target.id), kind))  # behind `and` it may not be reached
        return kind

    def _expr_Lambda(self, node: ast.Lambda) -> Kind:
        return Func(self.define(node, None))

    def _expr_Starred(self, node: ast.Starred) -> Kind:
        kind = self.expr(node.value)
        return Lst(UNKNOWN) if kind == UNKNOWN else kind  # several values, whatever they are

    def _expr_Yield(self, node: ast.Yield | ast.YieldFrom) -> Kind:
        kind = self.expr(node.value) if node.value is not None else Const(None)
        if self.func is not None:
            self.returned(self.func, Lst(self.iterated(kind) if isinstance(node, ast.YieldFrom) else kind))
        return sent.waited_for(self, node)

    _expr_YieldFrom = _expr_Yield

    def _comprehension(self, node: ast.AST, *values: ast.expr) -> Kind:
        scopes = self.scopes
        self.scopes = ({}, *scopes)
        for generator in node.generators:  # type: ignore[attr-defined]
            self.assign(generator.target, self.iterated(self.expr(generator.iter)))
            for condition in generator.ifs:
                self.expr(condition)
                self.narrow(condition, True)
        kinds = [self.expr(v) for v in values]
        self.scopes = scopes
        return kinds[-1]

    def _expr_ListComp(self, node: ast.ListComp) -> Kind:
        return Lst(self._comprehension(node, node.elt))

    _expr_GeneratorExp = _expr_SetComp = _expr_ListComp

    def _expr_DictComp(self, node: ast.DictComp) -> Kind:
        return Dct(self._comprehension(node, node.key, node.value))

    def _expr_Slice(self, node: ast.Slice) -> Kind:
        for part in filter(None, (node.lower, node.upper, node.step)):
            self.expr(part)
        return UNKNOWN

    def _expr_Subscript(self, node: ast.Subscript) -> Kind:
        found = self.item(self.expr(node.value), node.slice, self.expr(node.slice))
        return assigned.under_name(self, node, found)

    def item(self, receiver: Kind, node: ast.expr, index: Kind) -> Kind:
        kinds = receiver.ordered if isinstance(receiver, Union) else (receiver,)
        return join_all([self._item(kind, node, index) for kind in kinds])

    def _item(self, kind: Kind, node: ast.expr, index: Kind) -> Kind:
        if kind is BOTTOM:
            return BOTTOM
        if isinstance(kind, (Tensor, HostArray)):
            return array_operators.subscript(kind, node, index)
        if isinstance(kind, Batch):
            return Tensor(array=True)
        example = data.item(self, kind, node, index)
        if example is None and isinstance(kind, (Inst, Ref)):
            example = host_libraries.item(kind, node, index)
        if example is not None:
            return example
        if isinstance(node, ast.Slice):
            if isinstance(kind, Tup):
                return part_of(self.facts, kind, node)
            if isinstance(kind, Lst):
                return Lst(element_of(kind), kind.sized)
            if isinstance(kind, Inst) and sequences.is_sequential(self, kind):
                sequences.opened(self, kind)
                return Inst(sequences.SEQUENTIAL)
            return kind if isinstance(kind, Inst) else possible.item(self, kind, node, index)
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
                return self.held_under(index.value, known[index.value])
            if isinstance(index, Const) and known:
                return UNKNOWN  # all keys are known but this one: it was put there out of sight
            return self.not_yet() if kind.element is BOTTOM else kind.element
        if isinstance(kind, Inst):
            return own_dictionaries.item(self, kind, self.method_result(kind, "__getitem__", [index], node))
        return possible.item(self, kind, node, index)

    def iterated(self, kind: Kind) -> Kind:
        """The kind of the elements when a value is iterated over by ``for``."""
        given = [
            (k, data.item(self, k, None) or data.walked(self, k) if isinstance(k, Inst) else None)
            for k in options(kind)
        ]
        return join_all([found or element_of(k) for k, found in given])

    def attribute(self, kind: Kind, name: str) -> Kind:
        """The kind of ``value.name``."""
        if isinstance(kind, Union):
            found = [(k, self._attribute(k, name)) for k in options_with(kind, name, self.rules)]
            # `model.leaf(x)` is called on none of the models that have no such method
            having = [given for k, given in found if given != UNKNOWN or not lacks_member(self, k, name)]
            return join_all(having or [given for _, given in found])
        return self._attribute(kind, name)

    def _attribute(self, kind: Kind, name: str) -> Kind:
        if isinstance(kind, Ref):
            if kind.name in CUPY and name == "get_array_module" and self.rules.style == "native":
                return Ref("chainer.backend.get_array_module")  # it is CuPy's own name for the same
            if kind.name in CUPY and self.rules.member("xp.Module", name) is not None:
                return self._member(XP, "xp.Module", name)
            return Ref(self.rules.canonical(f"{kind.name}.{name}"))
        if isinstance(kind, Inst):
            return self._instance_attribute(kind, name)
        if kind is BOTTOM or is_number_without(kind, name):  # `loss = 0; loss += y`: `loss.data` met no number
            return BOTTOM
        if isinstance(kind, (Mod, Folder)):
            return self._module_attribute(kind, name)
        if isinstance(kind, Class):
            found = self.class_attribute(kind.info, name, None)
            # the only constructors of links beside the class itself
            return Method(Inst(kind.info), name) if found == UNKNOWN and name == "from_params" else found
        if isinstance(kind, (Batch, Tensor, HostArray)):
            return array_kinds.attribute(self.rules, kind, name)
        if isinstance(kind, (Lst, Dct, Tup, NamedTuple)) or scalar_type(kind) == "str":
            return array_kinds.columns(kind) if name == "_datasets" else named_tuples.attribute(kind, name)
        return possible.attribute(self, kind, name) if isinstance(kind, (Func, Unknown)) else UNKNOWN

    def _module_attribute(self, kind: Mod | Folder, name: str) -> Kind:
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

    def _instance_attribute(self, kind: Inst, name: str) -> Kind:
        if isinstance(kind.cls, ClassInfo):
            found = Class(kind.cls) if name == "__class__" else self.class_attribute(kind.cls, name, kind)
            return sent.of_object(self, kind, name) if found is UNKNOWN else found
        return self._member(kind, kind.cls, name)

    def class_attribute(self, cls: ClassInfo, name: str, receiver: Inst | None) -> Kind:
        """An attribute or method of a class of the project, searched through its bases."""
        for owner in self.mro(cls):
            if isinstance(owner, str):
                # What a subclass keeps from a Chainer class: found by the tables, or a method of unknown result.
                if receiver is not None and self.rules.member(owner, name) is not None:
                    return self._member(receiver, owner, name)
                if name == "__init__" and receiver == Inst(cls):  # `super()` of a class below: a base that has none
                    return Method(Inst(owner), name)
                continue
            self.reads(owner, name)
            method = owner.methods.get(name)
            if method is not None:
                below = self._below(cls, name) if receiver is not None and method.is_announced else None
                return below or assigned.instead(self, owner, cls, method, receiver, self._bound)
            if name in owner.attrs:
                held = owner.attrs[name]
                return assigned.of_heirs(self, cls, name, held) if receiver == Inst(cls) else held
        if (found := numbered(self, receiver, name)) is None and receiver == Inst(cls) and not name.startswith("__"):
            found = self._below(cls, name)  # `self.forward(x)` in a base of the models, which lacks one
        return found or asked_by_name(self, cls, name, receiver) or (BOTTOM if self.pending(cls) else UNKNOWN)

    def _below(self, cls: ClassInfo, name: str) -> Kind | None:
        """What a method gives that a class announces or lacks, and the classes below it have."""
        found = [self._bound(one, Inst(heir)) for heir, one in those_below(self, cls, name) if not one.is_announced]
        found += attributes_below(self, cls, name)
        return join_all(found) if found else None

    def _bound(self, method: FuncInfo, receiver: Inst | Class) -> Kind:
        """A method of an object or a class; of a property the value."""
        if method.is_property and isinstance(receiver, Inst):
            return self.call_function(method, receiver, [], {}, None)
        return Func(method, None if method.is_static else receiver)

    def _member(self, receiver: Inst, owner: str, name: str) -> Kind:
        made = self.objects.get(receiver.site, {})
        if receiver.among and owner in (*PLAIN_LINKS, NAMESPACE):
            made = {name: held_among(self, receiver, name)}
        if name == "target" and not receiver.site and self.rules.is_subclass(owner, "chainer.Optimizer"):
            self.reads(data.ONLY_OPTIMIZER, name)
            made = self.objects.get(data.ONLY_OPTIMIZER, made)
        if name in made and (not isinstance(made[name], Unknown) or owner == link_children.NAMESPACE):
            return array_kinds.as_kept(made[name], self.rules.member(owner, name))
        row = self.rules.member(owner, name)
        if row is None:
            of_chainer = owner.startswith(("chainer.", "chainermn.")) or self.rules.is_subclass(owner, "chainer.Link")
            self.reads(receiver.site, name)
            if of_chainer and not name.startswith("__"):
                # or else somebody has put it there
                found = possible.put_there(self, data.of_heirs(self, owner, name), name)
                layer = name == "forward" and self.rules.is_subclass(owner, "chainer.Link") and owner not in PLAIN_LINKS
                return Method(receiver, name) if layer and found is UNKNOWN else found  # `super().forward(x)`
            return host_libraries.member(owner, name) or (Method(receiver, name) if receiver.cls == owner else UNKNOWN)
        if row.attribute or row.signature is None:
            found = member_kind(row.name, receiver) or parse_spec(row.returns)
            return of_network(found) if row.name.startswith("chainer.links.") else found
        return Method(receiver, name)
