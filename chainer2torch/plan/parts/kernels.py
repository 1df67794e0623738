"""``cuda.elementwise`` and CuPy's ``ElementwiseKernel``: kernels that are a formula are written as one."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Tensor, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, ReplaceStatement
from chainer2torch.plan.parts.names import emit_value
from chainer2torch.plan.questions.kernel_texts import Kernel, functions_of, put_in, read_kernel
from chainer2torch.rules.table import Row

_DONE = "The formula of the kernel, in torch; a program of Chainer runs it on a GPU alone."
_METHODS = {"": "copy_", "+": "add_", "-": "sub_", "*": "mul_", "/": "div_"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def kernel(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """A kernel that is made, and called where it is made, or handed on."""
    made = context.source.parents.get(node)
    assert isinstance(node, (ast.Name, ast.Attribute))
    found = _kernel(made) if isinstance(made, ast.Call) and made.func is node else None
    if found is not None and isinstance(made, ast.Call):
        outer = context.source.parents.get(made)
        called = isinstance(outer, ast.Call) and outer.func is made
        if _called(context, decisions, outer, found) if called else _handed_on(decisions, made, found):  # type: ignore[arg-type]
            decisions.use(node)
            decisions.mark(node, row, row.name, "review", _DONE, quiet=True)
            return
    emit_value(context, decisions, node, row)


def _kernel(call: ast.Call) -> Kernel | None:
    texts = [a.value for a in call.args[:3] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    if len(call.args) not in (3, 4) or len(texts) != 3 or call.keywords:
        return None
    return read_kernel((texts[0], texts[1], texts[2]))


def _handed_on(decisions: Decisions, made: ast.Call, found: Kernel) -> bool:
    """The kernel as a function; one that changes what it is given gets that behind its inputs."""
    results = found.results()
    if not found.changes and results is not None:
        texts = [ast.unparse(result) for result in results]
        body, given = texts[0] if len(texts) == 1 else f"({', '.join(texts)})", found.inputs
    elif len(found.lines) == len(found.outputs) == 1:
        line = found.lines[0]
        body, given = f"{line.name}.{_METHODS[line.op]}({ast.unparse(line.value)})", (*found.inputs, *found.outputs)
    else:
        return False
    decisions.replace(made, f"lambda {', '.join(given)}: {body}", {})
    return True


def _called(context: Context, decisions: Decisions, call: ast.Call, found: Kernel) -> bool:
    count = len(call.args)
    if call.keywords or any(isinstance(argument, ast.Starred) for argument in call.args):
        return False
    statement = context.source.parents.get(call)
    inputs = dict(zip(found.inputs, call.args))
    if not all(_is_simple(value) or _uses(found, name) <= 1 for name, value in inputs.items()):
        return False
    numbers = {name for name, value in inputs.items() if _may_be_number(context, value)}
    if any(names <= numbers for line in found.lines for names in functions_of(line.value)):
        return False  # torch.log takes no number
    operands = {f"given_{name}": context.operand(value) for name, value in inputs.items()}
    names: dict[str, ast.expr] = {name: ast.Name(f"given_{name}", ast.Load()) for name in inputs}
    if count == len(found.inputs) and not found.changes:
        results = found.results()
        if results is not None and len(results) == 1:
            text = ast.unparse(put_in(results[0], names))
            alone = isinstance(statement, (ast.Assign, ast.Return))
            decisions.replace(call, text if alone else f"({text})", operands)
            return True
        targets = _targets(statement)
        if len(targets) == len(found.outputs):
            return _as_lines(context, decisions, statement, found, dict(zip(found.outputs, targets)), names, operands)
    elif count == len(found.inputs) + len(found.outputs) and isinstance(statement, ast.Expr):
        outputs = dict(zip(found.outputs, call.args[len(found.inputs) :]))
        return _as_lines(context, decisions, statement, found, outputs, names, operands)
    return False


def _as_lines(
    context: Context,
    decisions: Decisions,
    statement: ast.AST | None,
    found: Kernel,
    outputs: dict[str, ast.expr],
    names: dict[str, ast.expr],
    operands: dict[str, Operand],
) -> bool:
    """The lines of a kernel as statements, its outputs under the names that the program has for them."""
    assert isinstance(statement, (ast.Assign, ast.Expr))
    scope = context.source.enclosing(statement, *_FUNCTIONS) or context.source.tree
    texts = {name: ast.unparse(target) for name, target in outputs.items()}
    own = {n.id for n in nodes_of(scope) if isinstance(n, ast.Name)} | {
        n.arg for n in nodes_of(scope) if isinstance(n, ast.arg)
    }
    in_place = isinstance(statement, ast.Expr)
    read = [ast.unparse(argument) for argument in statement.value.args[: len(found.inputs)]]  # type: ignore[attr-defined]
    if any(line.local and line.name in own for line in found.lines) or not all(map(_is_simple, outputs.values())):
        return False
    if len(set(texts.values())) < len(texts) or any(text in read for text in texts.values()):
        return False  # what it reads would have changed by then
    for name, target in outputs.items():
        held = in_place and isinstance(target, ast.Attribute) and target.attr in ("array", "data")
        inner = target.value if held and isinstance(target, ast.Attribute) else target
        if in_place:
            operands[f"kept_{name}"] = context.operand(inner)
            text = f"kept_{name}.data" if held else f"kept_{name}"
            names[name] = ast.parse(text, mode="eval").body
        else:
            names[name] = target
    lines = []
    for line in found.lines:
        value = ast.unparse(put_in(line.value, names))
        changed = line.name if line.local else ast.unparse(names[line.name])
        if in_place and not line.local and not line.op:
            lines.append(f"{changed}[...] = {value}")
        elif in_place and not line.local:
            lines.append(f"{changed}.{_METHODS[line.op]}({value})")
        else:
            lines.append(f"{changed} {line.op}= {value}")
    decisions.edit(statement, ReplaceStatement(context.source.start(statement), "\n".join(lines), operands))
    return True


def _targets(statement: ast.AST | None) -> list[ast.expr]:
    """What the results of a call are assigned to, one by one."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return []
    target = statement.targets[0]
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return parts if all(isinstance(part, (ast.Name, ast.Attribute)) for part in parts) else []


def _is_simple(node: ast.expr) -> bool:
    """Whether an expression may be written several times."""
    if isinstance(node, ast.Subscript):
        return _is_simple(node.value) and isinstance(node.slice, (ast.Constant, ast.Name))
    return isinstance(node, (ast.Name, ast.Constant)) or isinstance(node, ast.Attribute) and _is_simple(node.value)


def _may_be_number(context: Context, value: ast.expr) -> bool:
    """Whether an argument may be a number: a setting of an object, or what is computed of such."""
    if all(isinstance(k, Tensor) for k in options(context.kind(value))):
        return False
    return not isinstance(value, (ast.Name, ast.Subscript)) or context.kind(value) != UNKNOWN


def _uses(found: Kernel, name: str) -> int:
    return sum(isinstance(n, ast.Name) and n.id == name for line in found.lines for n in nodes_of(line.value))
