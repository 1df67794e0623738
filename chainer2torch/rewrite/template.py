"""Templates of rules, parsed once, instantiated with the call's own argument nodes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import libcst as cst

from chainer2torch.plan.edits import Operand, Replace, Span, Wrap
from chainer2torch.rewrite.layout import around, closing_comma, holding_all
from chainer2torch.rewrite.printing import changed, code_of, fields
from chainer2torch.rewrite.torch_names import Names, dotted_name
from chainer2torch.rules.row import TEMPLATE_ROOTS

N = TypeVar("N", bound=cst.CSTNode)
ATOMS = (
    cst.Name,
    cst.Attribute,
    cst.Call,
    cst.Subscript,
    cst.BaseString,
    cst.BaseNumber,
    cst.List,
    cst.Dict,
    cst.Set,
    cst.ListComp,
    cst.DictComp,
    cst.SetComp,
    cst.Ellipsis,
)


class Unplaced(Exception):
    """An operand could not be found in the tree; the edit is not made and its site stays manual."""


@functools.lru_cache(maxsize=4096)
def parse(text: str) -> cst.BaseExpression:
    """The tree of a template or of a piece of literal code."""
    return cst.parse_expression(text.strip())


@functools.lru_cache(maxsize=1024)
def _parse_statements(text: str) -> tuple[cst.BaseStatement, ...]:
    return tuple(
        statement.with_changes(leading_lines=[line.with_changes(indent=False) for line in statement.leading_lines])
        for statement in cst.parse_module(text).body
        if isinstance(statement, (cst.SimpleStatementLine, cst.BaseCompoundStatement))
    )


class Operands:
    """The nodes that the names of one template stand for."""

    def __init__(self, edit_operands: Mapping[str, Operand], find: Callable[[Span], cst.BaseExpression | None]):
        self._operands = edit_operands
        self._find = find

    def __contains__(self, name: str) -> bool:
        return name in self._operands

    def node(self, name: str) -> cst.BaseExpression:
        """The node of a name."""
        return self.of(self._operands[name])

    def of(self, operand: Operand) -> cst.BaseExpression:
        """The node of an operand."""
        if operand.code is not None:
            return parse(operand.code)
        assert operand.span is not None
        found = self._find(operand.span)
        if found is None:
            raise Unplaced(f"no node at {operand.span}")
        return found


class _Instantiate:
    """Fills in a template: LibCST's way of visiting, without its way into whitespace and punctuation."""

    def __init__(self, edit: Replace, operands: Operands, names: Names):
        self.edit, self.operands, self.names = edit, operands, names

    def fill(self, node: Any) -> Any:
        """The node with the operands in it, and with names spelled as in this file."""
        kind: type = node.__class__
        visit = getattr(self, "visit_" + kind.__name__, None)
        changes: dict[str, Any] = {}
        if visit is None or visit(node):
            for name in fields(kind):
                value = getattr(node, name)
                if isinstance(value, (tuple, list)):
                    new: Any = [self.fill(item) for item in value]
                    if any(a is not b for a, b in zip(new, value)):
                        changes[name] = new
                elif isinstance(value, cst.CSTNode):
                    new = self.fill(value)
                    if new is not value:
                        changes[name] = new
        updated = changed(node, changes) if changes else node
        leave = getattr(self, "leave_" + kind.__name__, None)
        return updated if leave is None else leave(node, updated)

    # Attributes and keywords are names too, but not of parameters.
    def visit_Attribute(self, node: cst.Attribute) -> bool:
        dotted = dotted_name(node)
        return not (dotted and dotted.split(".")[0] in TEMPLATE_ROOTS)

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        dotted = dotted_name(original_node)
        if dotted and dotted.split(".")[0] in TEMPLATE_ROOTS:
            return parse(self.names.spell(dotted))
        return _with(updated_node, "value", _placed(original_node.value, updated_node.value))

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        if original_node.value in self.operands:
            return self.operands.node(original_node.value)
        if original_node.value == "TRAINING":
            return training(self.edit.training, self.names)
        if original_node.value in TEMPLATE_ROOTS:
            return parse(self.names.spell(original_node.value))
        return updated_node

    def visit_Call(self, node: cst.Call) -> bool:
        return not _is_macro(node, "CONST") or code_of(node.args[0].value) not in self.edit.constants

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        if _is_macro(original_node, "CONST"):
            text = code_of(original_node.args[0].value)
            constant = self.edit.constants.get(text)
            return parse(constant) if constant is not None else updated_node.args[0].value
        if _is_macro(original_node, "LONG"):
            operand = original_node.args[0].value
            value = updated_node.args[0].value
            if isinstance(operand, cst.Name) and operand.value in self.edit.long:
                return value
            return cst.Call(cst.Attribute(atom(value), cst.Name("long")))
        args = self._arguments(original_node, updated_node)
        return changed(updated_node, {"func": self._callee(original_node, updated_node), "args": args})

    def _callee(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        if isinstance(original.func, cst.Name) and original.func.value not in self.operands:
            spelled = self.names.builtin(original.func.value, self.edit.span)
            if spelled is not None:
                return parse(spelled)
        return _placed(original.func, updated.func)

    def _arguments(self, original: cst.Call, updated: cst.Call) -> list[cst.Arg]:
        args: list[cst.Arg] = []
        for before, after in zip(original.args, updated.args):
            if before.star and isinstance(before.value, cst.Name) and before.value.value not in self.operands:
                args.extend(self._variadic(before))
                continue
            keyword = before.keyword
            if keyword is not None and self._dropped(keyword.value, after.value):
                continue
            args.append(after if after.keyword is keyword else after.with_changes(keyword=keyword))
        return _commas(args)

    def _variadic(self, arg: cst.Arg) -> list[cst.Arg]:
        if arg.star == "*":
            return [cst.Arg(self.operands.of(o)) for o in self.edit.extra]
        return [cst.Arg(self.operands.of(o), keyword=cst.Name(k), equal=_EQUAL) for k, o in self.edit.extra_keywords]

    def _dropped(self, keyword: str, value: cst.BaseExpression) -> bool:
        literal = self.edit.drop.get(keyword)
        return literal is not None and code_of(value) == literal

    def leave_Subscript(self, original_node: cst.Subscript, updated_node: cst.Subscript) -> cst.BaseExpression:
        return _with(updated_node, "value", _placed(original_node.value, updated_node.value))

    def leave_BinaryOperation(
        self, original_node: cst.BinaryOperation, updated_node: cst.BinaryOperation
    ) -> cst.BaseExpression:
        left, right = updated_node.left, updated_node.right
        # the faithful style goes on to have parentheses around each operand that is no atom
        if not (self.names.helpers.native and binds_tighter(left, original_node.operator, right=False)):
            left = _placed(original_node.left, left)
        if not (self.names.helpers.native and binds_tighter(right, original_node.operator, right=True)):
            right = _placed(original_node.right, right)
        return updated_node.with_changes(left=left, right=right)

    def leave_UnaryOperation(
        self, original_node: cst.UnaryOperation, updated_node: cst.UnaryOperation
    ) -> cst.BaseExpression:
        return updated_node.with_changes(expression=_placed(original_node.expression, updated_node.expression))

    def leave_Comparison(self, original_node: cst.Comparison, updated_node: cst.Comparison) -> cst.BaseExpression:
        comparisons = [
            after.with_changes(comparator=_placed(before.comparator, after.comparator))
            for before, after in zip(original_node.comparisons, updated_node.comparisons)
        ]
        return updated_node.with_changes(left=_placed(original_node.left, updated_node.left), comparisons=comparisons)


_COMMA = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
_EQUAL = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))


def _with(node: N, field: str, value: cst.CSTNode) -> N:
    return node if getattr(node, field) is value else changed(node, {field: value})


def _is_macro(node: cst.Call, name: str) -> bool:
    return isinstance(node.func, cst.Name) and node.func.value == name


def training(text: str, names: Names) -> cst.BaseExpression:
    """The expression that says whether the code is training: `self.training` or a helper."""
    if text.startswith("compat."):
        head, _, rest = text.partition("(")
        return parse(f"{names.spell(head)}({rest}")
    return parse(text)


def atom(node: cst.BaseExpression) -> cst.BaseExpression:
    """The node in parentheses, unless it binds tightly enough to stand before a dot."""
    if node.lpar or isinstance(node, ATOMS) and not isinstance(node, cst.Integer):
        return node
    if isinstance(node, cst.Integer):
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def _placed(original: cst.BaseExpression, updated: cst.BaseExpression) -> cst.BaseExpression:
    """A part of an operation: in parentheses if it came in the place of a name; the template has its own elsewhere."""
    macro = _is_macro(original, "LONG") or _is_macro(original, "CONST") if isinstance(original, cst.Call) else False
    return atom(updated) if updated is not original and (macro or isinstance(original, cst.Name)) else updated


_SUM = (cst.Add, cst.Subtract)
_PRODUCT = (cst.Multiply, cst.Divide, cst.FloorDivide, cst.Modulo, cst.MatrixMultiply)


def binds_tighter(operand: cst.BaseExpression, operator: cst.BaseBinaryOp, *, right: bool) -> bool:
    """Whether ``a * b`` needs no parentheses beside ``+``; what is on two lines keeps them."""
    if not isinstance(operand, cst.BinaryOperation) or "\n" in code_of(operand):
        return False
    if isinstance(operator, _SUM):
        return isinstance(operand.operator, _PRODUCT if right else (*_SUM, *_PRODUCT))
    return isinstance(operator, _PRODUCT) and not right and isinstance(operand.operator, _PRODUCT)


def _commas(args: list[cst.Arg]) -> list[cst.Arg]:
    """Commas between the arguments, none behind the last; a template may break its line behind one."""
    result = []
    for i, arg in enumerate(args):
        last = i == len(args) - 1
        if len(args) > 1 and isinstance(arg.value, cst.GeneratorExp):  # alone it had the parentheses of its call
            arg = arg.with_changes(value=atom(arg.value))
        comma = cst.MaybeSentinel.DEFAULT if last else arg.comma if _breaks_line(arg.comma) else _COMMA
        result.append(arg if arg.comma is comma else arg.with_changes(comma=comma))
    return result


def _breaks_line(comma: cst.Comma | cst.MaybeSentinel) -> bool:
    return isinstance(comma, cst.Comma) and isinstance(comma.whitespace_after, cst.ParenthesizedWhitespace)


def instantiate(
    edit: Replace,
    original: cst.BaseExpression,
    updated: cst.BaseExpression,
    spans: Mapping[cst.CSTNode, Span],
    find: Callable[[Span], cst.BaseExpression | None],
    names: Names,
) -> cst.BaseExpression:
    """The expression that replaces ``original``; its own argument nodes keep their whitespace and comments."""
    if edit.callee_only:
        return updated.with_changes(func=parse(names.spell(edit.template)))
    result: cst.CSTNode
    if (
        not edit.operands
        and edit.template.replace(".", "").isidentifier()
        and edit.template.split(".")[0] in TEMPLATE_ROOTS
    ):
        result = parse(names.spell(edit.template))  # just a name, nothing to fill in
    else:
        result = _Instantiate(edit, Operands(edit.operands, find), names).fill(parse(edit.template))
    assert isinstance(result, cst.BaseExpression)
    if isinstance(original, cst.Call) and isinstance(updated, cst.Call) and isinstance(result, cst.Call):
        inner = holding_all(original, result)
        if inner is not None:
            result = around(result, _keep_layout(original, updated, inner, find, spans))
        else:
            result = _keep_layout(original, updated, result, find, spans)
    if edit.parenthesize and not isinstance(result, ATOMS) and not result.lpar:
        result = atom(result)
    # parentheses around the original, kept for its comments and line breaks
    if original.lpar and not result.lpar:
        result = result.with_changes(lpar=original.lpar, rpar=original.rpar)
    return result


def wrap(
    edit: Wrap, value: cst.BaseExpression, find: Callable[[Span], cst.BaseExpression | None], names: Names
) -> cst.BaseExpression:
    """The template of a Wrap around ``value``."""
    around = Replace(edit.span, edit.template, {**edit.operands, "value": Operand(edit.span)})
    operands = Operands(around.operands, lambda span: value if span == edit.span else find(span))
    result = _Instantiate(around, operands, names).fill(parse(edit.template))
    assert isinstance(result, cst.BaseExpression)
    return result


def statements(text: str, operands: Operands | None, names: Names, training_text: str = "") -> list[Any]:
    """The statements of a template, with operands filled in and torch names spelled as in this file."""
    edit = Replace((0, 0), "", {}, training=training_text)
    instance = _Instantiate(edit, operands or Operands({}, lambda span: None), names)
    return [instance.fill(statement) for statement in _parse_statements(text)]


def _keep_layout(
    original: cst.Call,
    updated: cst.Call,
    result: cst.Call,
    find: Callable[[Span], cst.BaseExpression | None],
    spans: Mapping[cst.CSTNode, Span],
) -> cst.Call:
    """Gives the arguments of the new call the commas and line breaks that they had in the old one."""
    shells: dict[int, cst.Arg] = {}
    for before, after in zip(original.args, updated.args):
        if before.value in spans:
            shells[id(find(spans[before.value]))] = after
    args = []
    closing = updated.args[-1] if updated.args else None
    moved = any(shells.get(id(arg.value)) is closing is not None for arg in result.args[:-1])
    for i, arg in enumerate(result.args):
        shell = shells.get(id(arg.value))
        last = i == len(result.args) - 1
        if shell is not None and not arg.star:
            comma, behind = shell.comma, shell.whitespace_after_arg
            if not last and shell is closing:  # what stands before the closing parenthesis is the last one's
                comma, behind = arg.comma, arg.whitespace_after_arg
            elif last:
                comma = closing_comma(comma, updated.args[-1].comma)
            elif not isinstance(comma, cst.Comma) or _breaks_line(arg.comma):
                comma = arg.comma
            arg = arg.with_changes(
                comma=comma,
                whitespace_after_arg=behind,
                equal=shell.equal if shell.keyword and arg.keyword else arg.equal,
            )
        elif last and moved and closing is not None:
            comma = closing.comma if isinstance(closing.comma, cst.Comma) else arg.comma
            arg = arg.with_changes(comma=comma, whitespace_after_arg=closing.whitespace_after_arg)
        args.append(arg)
    return result.with_changes(args=args, whitespace_before_args=_before_arguments(updated, args))


def _before_arguments(call: cst.Call, args: list[cst.Arg]) -> cst.BaseParenthesizableWhitespace:
    """What stands behind the opening parenthesis: as it was, but no line break between ``(`` and ``)``."""
    space = call.whitespace_before_args
    if args or isinstance(space, cst.ParenthesizedWhitespace) and _has_comment(space):
        return space
    return cst.SimpleWhitespace("")


def _has_comment(space: cst.ParenthesizedWhitespace) -> bool:
    return space.first_line.comment is not None or any(line.comment is not None for line in space.empty_lines)
