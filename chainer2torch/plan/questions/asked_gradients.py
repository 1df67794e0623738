"""Whether a program asks for the gradient by a Variable that it makes itself, as for an adversarial example.

All other Variables need no gradient of their own: a plain tensor does. The answer is by names, over all files
that import each other; where it is wrong PyTorch raises, because the tensor has no gradient to give.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.cut_graphs import programs

_OF_GRADIENTS = frozenset(
    {"addgrad", "cleargrad", "grad", "grad_var", "requires_grad", "retain_grad", "unchain", "zerograd"}
)
_HOLDING = (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.IfExp, ast.Dict, ast.Starred)
_TAKING_IN = frozenset({"append", "extend", "insert"})
_OF_TABLES = frozenset({"items", "values"})
_WALKS = frozenset({"enumerate", "list", "reversed", "tuple", "zip"})
_STEPS = (ast.Attribute, ast.Subscript, ast.Starred, ast.Call)


def asks_gradient(context: Context, call: ast.Call) -> bool:
    """Whether the gradient by the Variable that ``call`` makes may be asked for."""
    asked = context.analysis.once(_asked_names)[context.module.path]
    return any(name in asked for name in _names_of(context.source, call))


def is_asked(context: Context, name: str) -> bool:
    """Whether the gradient by a Variable that a name (the last part of one) stands for may be asked for."""
    return name in context.analysis.once(_asked_names)[context.module.path]


def _names_of(source: Source, call: ast.Call) -> Iterator[str]:
    """The names that the value of a call gets: in an assignment, as an argument of a function, in a list."""
    node: ast.AST = call
    parent = source.parents.get(node)
    while isinstance(parent, _HOLDING):
        node, parent = parent, source.parents.get(parent)
    if isinstance(parent, ast.Assign):
        for target in parent.targets:
            for part in nodes_of(target):
                if isinstance(part, (ast.Name, ast.Attribute)):
                    yield _last_name(part)
    elif isinstance(parent, ast.Attribute):  # chainer.Variable(x).grad
        yield from (name for name in (parent.attr,) if name in _OF_GRADIENTS)
    elif isinstance(parent, ast.keyword) and parent.arg:
        yield parent.arg
    elif isinstance(parent, ast.Return):
        function = source.enclosing(parent, ast.FunctionDef)
        yield from [function.name] if isinstance(function, ast.FunctionDef) else []
    elif isinstance(parent, ast.Call) and node in parent.args:  # f(chainer.Variable(x)), xs.append(chainer.Variable(x))
        yield _place(_last_name(parent.func), parent.args.index(node))
        if isinstance(parent.func, ast.Attribute) and parent.func.attr in _TAKING_IN:
            yield _last_name(parent.func.value)


def _asked_names(analysis: Analysis) -> dict[str, frozenset[str]]:
    """For each file the names, or last parts of names, of which a gradient is asked in its program."""
    found: dict[str, frozenset[str]] = {}
    asking = {path: _Asking.of(module) for path, module in analysis.project.modules.items()}
    for files in programs(analysis):
        own = [asking[module.path] for module in files if not _is_test(module)]
        program = _Program.of(own)
        for module in files:
            test = asking[module.path] if _is_test(module) else None
            if test is None:
                asked = program.asked
            elif test.parameters.keys() & program.callees:  # its functions are also those that the program calls
                asked = _Program.of([*own, test]).asked
            else:
                asked = program.asked_with(test)
            found[module.path] = asked - {""}
    return found


def _is_test(module: ModuleInfo) -> bool:
    """Whether a file is a test: what it asks for is the gradient by what it has made itself."""
    return any(part in ("test", "tests") or part.startswith("test_") for part in module.path.split("/"))


@dataclass(frozen=True)
class _Asking:
    """What one file says: the names asked for, the parameters of its functions, where names stand for the same."""

    asked: frozenset[str]
    parameters: dict[str, list[str]]
    rest: dict[str, str]  # of a function: `*values`
    calls: tuple[tuple[str, tuple[frozenset[str], ...]], ...]
    same: tuple[tuple[frozenset[str], frozenset[str]], ...]  # names on the left, which others are given to

    @classmethod
    def of(cls, module: ModuleInfo) -> _Asking:
        """Reads a file."""
        source = module.source
        asked: set[str] = set()
        parameters: dict[str, list[str]] = {}
        rest: dict[str, str] = {}
        for function in source.of(ast.FunctionDef):
            assert isinstance(function, ast.FunctionDef)
            names = [argument.arg for argument in function.args.args]
            parameters[function.name] = names[1:] if names[:1] == ["self"] else names
            if function.args.vararg is not None:
                rest[function.name] = function.args.vararg.arg
        for node in source.of(ast.Attribute):
            if isinstance(node, ast.Attribute) and node.attr in _OF_GRADIENTS and not _is_called_module(node):
                asked.add(_last_name(node.value))
        calls = []
        keeps = False  # gradients of values in the middle, which need a graph, so that what they are made of needs one
        for call in source.of(ast.Call):
            assert isinstance(call, ast.Call)
            callee = _last_name(call.func)
            keeps |= callee == "backward" and _keeps_all(call)
            if callee == "grad" and len(call.args) > 1:  # chainer.grad(outputs, inputs)
                asked |= {_last_name(n) for n in nodes_of(call.args[1]) if isinstance(n, (ast.Name, ast.Attribute))}
            calls.append((callee, tuple(_meant(argument) for argument in call.args)))
        same = (*_renamed(source), *(_computed(source) if keeps else ()))
        return cls(frozenset(asked), parameters, rest, tuple(calls), same)


def _keeps_all(call: ast.Call) -> bool:
    """``y.backward(retain_grad=True)``, or anything else than false."""
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "retain_grad")]
    return any(not (isinstance(value, ast.Constant) and not value.value) for value in given)


def _computed(source: Source) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Names and what they are computed of with operators and functions, which have no parameters that are trained."""
    for node in source.of(ast.Assign, ast.AugAssign):
        assert isinstance(node, (ast.Assign, ast.AugAssign))
        parts = nodes_of(node.value)
        if any(isinstance(part, ast.Call) and not _is_function(part.func) for part in parts):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = frozenset(part.id for part in parts if isinstance(part, ast.Name))
        yield frozenset().union(*(_meant(target) for target in targets)), names


def _is_function(callee: ast.expr) -> bool:
    return isinstance(callee, ast.Attribute) and _last_name(callee.value) in ("F", "functions")


def _renamed(source: Source) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Names and what they are other names of: ``a = x``, ``for v in (x, y)``, and what a function returns."""
    for node in source.of(ast.Assign):
        assert isinstance(node, ast.Assign)
        if isinstance(node.value, (*_STEPS, ast.Name, ast.Tuple, ast.List, ast.IfExp)):
            yield frozenset().union(*(_meant(target) for target in node.targets)), _meant(node.value)
    for loop in source.of(ast.For, ast.comprehension):
        assert isinstance(loop, (ast.For, ast.comprehension))
        given = loop.iter
        if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in _OF_TABLES:
            given = given.func.value
        items = given.args if isinstance(given, ast.Call) and _last_name(given.func) in _WALKS else [given]
        yield _meant(loop.target), frozenset().union(*map(_meant, items))


def _meant(node: ast.AST) -> frozenset[str]:
    """The names of what a value is or holds."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return frozenset().union(*map(_meant, node.elts))
    if isinstance(node, ast.IfExp):
        return _meant(node.body) | _meant(node.orelse)
    return frozenset({_last_name(node)} - {""})


def _place(function: str, number: int) -> str:
    """Stands for an argument that has no name."""
    return f"{function}({number})"


_Given = dict[str, list[frozenset[str]]]


@dataclass(frozen=True)
class _Program:
    """What the files of a program say together."""

    asked: frozenset[str]
    parameters: dict[str, list[str]]
    rest: dict[str, str]
    callees: frozenset[str]
    given_to: _Given

    @classmethod
    def of(cls, files: list[_Asking]) -> _Program:
        """Joins files; of functions of one name the last one counts."""
        parameters: dict[str, list[str]] = {}
        rest: dict[str, str] = {}
        for one in files:
            parameters.update(one.parameters)
            rest.update(one.rest)
        given_to = _given_to(files, parameters, rest)
        asked = _reached(set(_OF_GRADIENTS).union(*(one.asked for one in files)), set(), given_to, {})
        callees = frozenset(callee for one in files for callee, _ in one.calls)
        return cls(asked, parameters, rest, callees, given_to)

    def asked_with(self, more: _Asking) -> frozenset[str]:
        """The names of which a gradient is asked in the program and one more file, whose functions it does not call."""
        parameters, rest = self.parameters | more.parameters, self.rest | more.rest
        return _reached(more.asked, set(self.asked), _given_to([more], parameters, rest), self.given_to)


def _given_to(files: list[_Asking], parameters: dict[str, list[str]], rest: dict[str, str]) -> _Given:
    """By a name what it is another name of, or called with: a function's parameter, and what that is given."""
    found: _Given = {}
    for left, right in (pair for one in files for pair in one.same):
        for name in left:
            found.setdefault(name, []).append(right)
    for callee, given in (call for one in files for call in one.calls):
        if callee in parameters:
            for number, names in enumerate(given):
                own = parameters[callee][number] if number < len(parameters[callee]) else rest.get(callee, "")
                found.setdefault(own, []).append(names | {_place(callee, number)})
    return found


def _reached(start: Iterable[str], known: set[str], given_to: _Given, of_known: _Given) -> frozenset[str]:
    """The names that these stand for, and the ``known`` ones; where ``of_known`` leads from those is known, too."""
    found = known.union(start)
    waiting = [*found]
    while waiting:
        name = waiting.pop()
        rights = [*given_to.get(name, ()), *(of_known.get(name, ()) if name not in known else ())]
        new = {one for right in rights for one in right} - found
        found |= new
        waiting += new
    return frozenset(found)


def _is_called_module(node: ast.Attribute) -> bool:
    """``chainer.grad``: a function, not an attribute of a Variable."""
    return isinstance(node.value, ast.Name) and node.value.id in ("chainer", "torch")


def _last_name(node: ast.AST) -> str:
    """``x`` of ``x``, ``self.x``, ``x[0]`` and ``x()``."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, _STEPS):
        return _last_name(node.func if isinstance(node, ast.Call) else node.value)
    return ""
