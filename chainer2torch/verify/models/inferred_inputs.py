"""What a Chain takes, read from its code: sizes for its constructor, and an array for each input of its ``forward``.

Nothing is imported or run. Whatever the code leaves open raises :class:`Unclear` with the reason.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Class, Const, Func, Inst, Kind, Ref
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.rules.signature import Bound
from chainer2torch.verify.models.layer_inputs import KEEP_SHAPE, LAYERS, SIZE_PARAMETERS, TAKE_LABELS, Layer
from chainer2torch.verify.models.own_parameters import bind, bound, defaults, parameter_at, parameters

_SIZE, _CLASSES, _CHANNELS = 8, 10, 3
_MAX_DEPTH = 6
_BATCH = "4"
_SAY_NOTHING = frozenset({"shape", "ndim", "dtype", "size"})


class Unclear(Exception):
    """The code does not say what a parameter takes; the message says why."""


@dataclasses.dataclass(frozen=True)
class _Scope:
    """A link that is made with known arguments (``env``, the integers among them by parameter)."""

    cls: ClassInfo
    env: Mapping[str, int | None]


class Reader:
    """Answers for the classes of one analysed project."""

    def __init__(self, analysis: Analysis):
        self._analysis = analysis

    def arguments(self, cls: ClassInfo) -> dict[str, int]:
        """A number for each constructor argument that has no default. Raises Unclear."""
        init = self._method(cls, "__init__")
        if init is None:
            base = next((c for c in self._analysis.mro(cls) if isinstance(c, str)), "")
            if base in ("chainer.Chain", "chainer.ChainList", "chainer.Link"):
                return {}
            raise Unclear(f"its constructor is that of {base or 'a class that is not known'}")
        found = {}
        for name, default in parameters(init):
            if default is None:
                self._must_be_size(init, name)
                found[name] = _size_of(name)
        return found

    def constructor(self, cls: ClassInfo) -> Sequence[tuple[str, ast.expr | None]]:
        """The parameters of the constructor with their defaults."""
        init = self._method(cls, "__init__")
        return [(n, d) for n, d in parameters(init, every=True) if n != "*_rest"] if init is not None else []

    def size(self, cls: ClassInfo, name: str) -> int | None:
        """A number for one constructor argument, None where it is more than the size of a layer."""
        init = self._method(cls, "__init__")
        try:
            if init is not None:
                self._must_be_size(init, name)
                return _size_of(name)
        except Unclear:
            pass
        return None

    def by_keyword(self, cls: ClassInfo) -> frozenset[str]:
        """The constructor arguments that can only be given by their names."""
        init = self._method(cls, "__init__")
        return frozenset(p.arg for p in init.node.args.kwonlyargs) if init is not None else frozenset()

    def inputs(self, cls: ClassInfo, arguments: Mapping[str, int]) -> dict[str, str]:
        """An array (``f32[4,8]``) for each parameter of ``forward``; those behind a default that tells nothing are
        left to it. Raises Unclear.
        """
        init = self._method(cls, "__init__")
        scope = _Scope(cls, {**defaults(init), **arguments})
        forward = self._forward(cls)
        if forward.node.args.vararg is not None:
            raise Unclear("its forward takes any number of inputs")
        arrays = {}
        for name, default in parameters(forward):
            try:
                arrays[name] = self._array(scope, forward, name)
            except Unclear as why:
                if default is not None:
                    break
                raise Unclear(f"input {name}: {why}") from None
        if not arrays:
            raise Unclear("its forward takes no input that the code tells of")
        return {name: array.replace("{batch}", _BATCH) for name, array in arrays.items()}

    def open_inputs(self, cls: ClassInfo, arguments: Mapping[str, Any]) -> dict[str, str | None]:
        """As :meth:`inputs`, with None for what the code does not tell. Raises Unclear without a ``forward``."""
        init = self._method(cls, "__init__")
        scope = _Scope(cls, {**defaults(init), **{n: v for n, v in arguments.items() if type(v) is int}})
        forward = self._forward(cls)
        if forward.node.args.vararg is not None:
            raise Unclear("its forward takes any number of inputs")
        arrays: dict[str, str | None] = {}
        for name, default in parameters(forward):
            try:
                arrays[name] = self._array(scope, forward, name).replace("{batch}", _BATCH)
            except Unclear:
                if default is not None:
                    break
                arrays[name] = None
        return arrays

    # -- constructors ----------------------------------------------------------------------------------------------

    def _must_be_size(self, init: FuncInfo, name: str, depth: int = 0) -> None:
        """Raises Unclear unless a parameter of a constructor is the size of some layer and nothing else."""
        sized = False
        for node in _names(init.node, {name}):
            if isinstance(node.ctx, ast.Store):
                raise Unclear(f"constructor argument {name} is bound anew in line {node.lineno}")
            sized |= self._is_size(init, node, name, depth)
        if not sized:
            raise Unclear(f"constructor argument {name} is not the size of a layer")

    def _is_size(self, init: FuncInfo, node: ast.expr, name: str, depth: int) -> bool:
        """Whether this use says that it is a size; False for one that says nothing (``self.n = n``)."""
        parents = init.module.source.parents
        outer = parents[node]
        while isinstance(outer, ast.BinOp) and isinstance(outer.op, (ast.Mult, ast.Add, ast.FloorDiv)):
            node, outer = outer, parents[outer]
        if isinstance(outer, ast.Assign) and outer.value is node and isinstance(outer.targets[0], ast.Attribute):
            return False
        outer = parents[outer] if isinstance(outer, ast.keyword) else outer
        if isinstance(outer, ast.Call) and depth < _MAX_DEPTH:
            callee = self._analysis.kind(outer.func)
            if isinstance(callee, Ref):
                if parameter_at(self._bound(callee.name, outer), node) in SIZE_PARAMETERS:
                    return True
            target = (
                self._method(callee.info, "__init__")
                if isinstance(callee, Class)
                else (callee.info if isinstance(callee, Func) and callee.info.name == "__init__" else None)
            )
            if target is not None:
                inner = parameter_at(bind(target, outer), node)
                if inner is not None:
                    self._must_be_size(target, inner, depth + 1)
                    return True
        raise Unclear(f"constructor argument {name} is more than the size of a layer in line {node.lineno}")

    # -- inputs ----------------------------------------------------------------------------------------------------

    def _array(self, scope: _Scope, func: FuncInfo, name: str, depth: int = 0) -> str:
        """The array that the first layer takes which a parameter reaches."""
        if depth > _MAX_DEPTH:
            raise Unclear("methods call each other in a circle")
        names = {name}
        # In the order in which they run: a statement reads before it binds.
        uses = list(_names(func.node, None))
        statement = func.module.source.statement
        uses.sort(
            key=lambda n: (
                (n.lineno, n.col_offset, 0)
                if isinstance(n.ctx, ast.Load)
                else (statement(n).end_lineno or 0, statement(n).end_col_offset or 0, 1)
            )
        )
        for node in uses:
            if node.id not in names:
                continue
            if not isinstance(node.ctx, ast.Load):
                if not self._same(func, node, names):
                    raise Unclear(f"{node.id} is bound anew in line {node.lineno}")
                continue
            found = self._use(scope, func, node, names, depth)
            if found is not None:
                return found
        raise Unclear("it reaches no layer")

    def _same(self, func: FuncInfo, node: ast.Name, names: set[str]) -> bool:
        """Whether what a name is bound to comes from itself, as in ``x = F.relu(x)``."""
        outer = func.module.source.statement(node)
        return isinstance(outer, ast.Assign) and any(n.id in names for n in _names(outer.value, None))

    def _use(self, scope: _Scope, func: FuncInfo, start: ast.Name, names: set[str], depth: int) -> str | None:
        """The array that one use of a parameter asks for; None where it says nothing."""
        parents = func.module.source.parents
        node: ast.AST = start
        while True:
            inner, node = node, parents[node]
            if isinstance(node, ast.keyword):
                continue
            if isinstance(node, ast.Attribute) and node.attr in _SAY_NOTHING:
                return None
            if isinstance(node, ast.Compare) and all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
                return None
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                names.add(node.targets[0].id)
                return None
            if isinstance(node, ast.BinOp) and isinstance(
                node.right if node.left is inner else node.left, ast.Constant
            ):
                continue
            if not isinstance(node, ast.Call) or inner is node.func:
                raise Unclear(f"what line {start.lineno} does with it comes before any layer")
            argument = inner.value if isinstance(inner, ast.keyword) else inner
            callee = self._analysis.kind(node.func)
            if isinstance(node.func, ast.Name) and node.func.id in ("len", "print"):
                return None
            if isinstance(callee, Ref) and callee.name in KEEP_SHAPE and node.args[:1] == [argument]:
                continue
            return self._call(scope, func, node, argument, callee, depth)

    def _call(self, scope: _Scope, func: FuncInfo, call: ast.Call, argument: ast.AST, callee: Kind, depth: int) -> str:
        if isinstance(callee, Ref):
            given = self._bound(callee.name, call)
            if callee.name in TAKE_LABELS and parameter_at(given, argument) == "t":
                return f"i32[{{batch}}]<{self._classes(scope, func, next(iter(given.given.values())), depth)}"
            raise Unclear(f"it goes to {callee.name} in line {call.lineno} before any layer")
        inner = self._target(scope, func, call, callee)
        if inner is not None:
            inner_scope, method = inner
            name = parameter_at(bind(method, call), argument)
            if name is not None:
                return self._array(inner_scope, method, name, depth + 1)
        layer = self._layer(callee)
        if layer is None or call.args[:1] != [argument]:
            raise Unclear(f"the array that line {call.lineno} takes is not known")
        size = self._layer_size(scope, callee, layer, output=False)
        if size is None:
            size = _CHANNELS if layer.takes == "in_channels" else _SIZE
        return layer.array.replace("{size}", str(size))

    def _classes(self, scope: _Scope, func: FuncInfo, node: ast.expr, depth: int) -> int:
        """The size of the second axis of what a model gives."""
        if depth > _MAX_DEPTH:
            raise Unclear("the number of classes is not known")
        if isinstance(node, (ast.Name, ast.Attribute)):
            before = [
                n
                for n in ast.walk(func.node)
                if isinstance(n, ast.Assign)
                and n.lineno < node.lineno
                and len(n.targets) == 1
                and ast.unparse(n.targets[0]) == ast.unparse(node)
            ]
            if before:
                return self._classes(scope, func, max(before, key=lambda n: n.lineno).value, depth + 1)
        if isinstance(node, ast.Call):
            callee = self._analysis.kind(node.func)
            if isinstance(callee, Ref) and callee.name in KEEP_SHAPE and node.args:
                return self._classes(scope, func, node.args[0], depth + 1)
            inner = self._target(scope, func, node, callee)
            returned = [n.value for n in ast.walk(inner[1].node) if isinstance(n, ast.Return)] if inner else []
            if inner is not None and len(returned) == 1 and returned[0] is not None:
                return self._classes(*inner, returned[0], depth + 1)
            layer = self._layer(callee)
            size = self._layer_size(scope, callee, layer, output=True) if layer is not None else None
            if size is not None:
                return size
        raise Unclear("the number of classes is not known")

    # -- links -----------------------------------------------------------------------------------------------------

    def _target(self, scope: _Scope, func: FuncInfo, call: ast.Call, callee: Kind) -> tuple[_Scope, FuncInfo] | None:
        """The project's own method that a call runs: one of this link, or the ``forward`` of a link that it holds."""
        if isinstance(call.func, ast.Name) and call.func.id == "self":
            return scope, self._forward(scope.cls)
        if isinstance(call.func, ast.Attribute) and isinstance(callee, Func):
            if isinstance(call.func.value, ast.Name) and call.func.value.id == "self":
                return scope, self._method(scope.cls, call.func.attr) or callee.info
            return (scope, callee.info) if ast.unparse(call.func.value).startswith("super(") else None
        if not isinstance(callee, Inst) or not isinstance(callee.cls, ClassInfo) or not callee.site:
            return None
        made = self._analysis.makers[callee.site]
        init = self._method(callee.cls, "__init__")
        env = dict(defaults(init))
        if init is not None:
            env.update(
                {
                    name: self._number(scope, made, node)
                    for name, node in bind(init, made).given.items()
                    if self._is_number(scope, made, node)
                }
            )
        return _Scope(callee.cls, env), self._forward(callee.cls)

    def _layer(self, callee: Kind) -> Layer | None:
        return LAYERS.get(callee.cls) if isinstance(callee, Inst) and isinstance(callee.cls, str) else None

    def _layer_size(self, scope: _Scope, callee: Kind, layer: Layer, *, output: bool) -> int | None:
        """The size of a layer's input (None: it takes any) or output. Raises Unclear."""
        if not isinstance(callee, Inst) or not isinstance(callee.cls, str) or not callee.site:
            raise Unclear("where its first layer is made is not known")
        made = self._analysis.makers[callee.site]
        given = self._bound(callee.cls, made).given
        wanted = given.get(layer.gives if output else layer.takes)
        if layer.needs and layer.needs not in given:
            wanted = given.get(layer.takes) if output else None
        return None if wanted is None else self._number(scope, made, wanted)

    def _is_number(self, scope: _Scope, made: ast.Call, node: ast.expr) -> bool:
        try:
            self._number(scope, made, node)
        except Unclear:
            return False
        return True

    def _number(self, scope: _Scope, made: ast.Call, node: ast.expr) -> int | None:
        """An argument of the call that makes a layer, an integer or None. Raises Unclear."""
        init = self._method(scope.cls, "__init__")
        if (
            isinstance(node, ast.Name)
            and init is not None
            and node.id in scope.env
            and any(n is made for n in ast.walk(init.node))
        ):
            return scope.env[node.id]
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Add, ast.FloorDiv)):
            left, right = self._number(scope, made, node.left), self._number(scope, made, node.right)
            if left is not None and right:
                if isinstance(node.op, ast.Mult):
                    return left * right
                return left + right if isinstance(node.op, ast.Add) else left // right
        kind = self._analysis.kind(node)
        value = node.value if isinstance(node, ast.Constant) else kind.value if isinstance(kind, Const) else ...
        if value is None or type(value) is int:
            return value
        raise Unclear(f"the size `{ast.unparse(node)}` in line {node.lineno} is not known")

    def _forward(self, cls: ClassInfo) -> FuncInfo:
        found = self._method(cls, "__call__") or self._method(cls, "forward")
        if found is not None:
            return found
        raise Unclear("it has no forward of its own")

    def _method(self, cls: ClassInfo, name: str) -> FuncInfo | None:
        owners = (owner for owner in self._analysis.mro(cls) if isinstance(owner, ClassInfo))
        return next((owner.methods[name] for owner in owners if name in owner.methods), None)

    def _bound(self, name: str, call: ast.Call) -> Bound:
        row = self._analysis.rules.find(name)
        if row is None or row.signature is None:
            return Bound({})
        return bound(row.signature, call)


def _size_of(name: str) -> int:
    return _CLASSES if re.search("class|label", name) else _SIZE


def _names(tree: ast.AST, names: set[str] | None) -> Iterator[ast.Name]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Name) and (names is None or node.id in names))
