"""The parameters that are array modules in every visible call, and become devices with all their calls.

``def noise(n, xp): return xp.random.randn(n)`` is ``def noise(n, device)``. A parameter and the variables that are
handed to it need each other: all are taken to be devices first, and those of which that cannot be are taken out.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import NONE, UNKNOWN, Ref, options
from chainer2torch.analysis.models.xp_modules import CUPY, EITHER, XP
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo, ModuleInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.options import Options
from chainer2torch.plan.questions.xp_attributes import Parameter, by_owner, getters, new_name, of_attribute
from chainer2torch.plan.questions.xp_origins import host_of, origin_of
from chainer2torch.plan.questions.xp_uses import CALLED, function_of, object_call, only_model, parameter_for, used
from chainer2torch.plan.questions.xp_variables import is_own, variables_in


def handed(analysis: Analysis) -> Mapping[Parameter, str]:
    """The parameters, each with its new name. Ask it with ``analysis.once``."""
    return _Search(analysis).found()


class _Search:
    """Looks for the parameters; ``devices`` are those that are still taken for devices."""

    def __init__(self, analysis: Analysis):
        self.analysis = analysis
        self.contexts: dict[ModuleInfo, Context] = {}
        self.devices: set[Parameter] = set()
        self.calls: dict[FuncInfo, list[tuple[Context, ast.Call]]] = {}

    def found(self) -> Mapping[Parameter, str]:
        handed = [found for info in self.analysis.functions.values() for found in self._candidates(info)]
        attributes = self.analysis.once(by_owner)
        if not handed and not attributes:
            return {}
        self._look_for_calls({info for info, _ in handed})
        self.devices = {*(found for found in handed if self.calls.get(found[0])), *attributes}
        while True:
            wrong = {found for found in self.devices if not self._holds(found)}
            if not wrong:
                new: dict[Parameter, str] = {found: _new_name(*found) for found in handed if found in self.devices}
                new.update((found, new_name(self.analysis, found)) for found in attributes if found in self.devices)
                return new
            self.devices -= wrong

    def _holds(self, found: Parameter) -> bool:
        owner, name = found
        return self._parameter_holds(owner, name) if isinstance(owner, FuncInfo) else self._attribute_holds(found)

    def _attribute_holds(self, found: Parameter) -> bool:
        """Whether all that is done with an attribute has a form."""
        for module, node in self.analysis.once(by_owner)[found]:
            context = self._context(module)
            parent = context.source.parents.get(node)
            if isinstance(node.ctx, ast.Store):
                if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
                    return False
                if not self._is_device(context, parent.value):
                    return False
            elif not isinstance(node.ctx, ast.Load) or context.kind(node) != XP:
                return False
            elif used(context, node, self.devices) is None and not self._becomes_variable(context, parent):
                return False
        return all(self._gives_device(info) for info in self.analysis.once(getters).get(found, ()))

    def _gives_device(self, info: FuncInfo) -> bool:
        """Whether all that a property gives are devices."""
        context = self._context(info.module)
        values = [node.value for node in nodes_of(info.node) if isinstance(node, ast.Return)]
        return all(value is not None and self._is_device(context, value) for value in values)

    def _becomes_variable(self, context: Context, statement: ast.AST | None) -> bool:
        """``xp = self.xp`` of a variable that is a device."""
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            return False
        name = statement.targets[0]
        scope = context.scopes.get(name)
        if isinstance(scope, ast.Module) and not is_own(context, name.id):
            return False
        if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            return False
        return len(statement.targets) == 1 and name.id in variables_in(context, scope, self.devices)

    def _candidates(self, info: FuncInfo) -> Iterator[tuple[FuncInfo, str]]:
        node = info.node
        if not isinstance(node, ast.FunctionDef) or info.is_changed or info.is_property:
            return
        if node.name.startswith("__") and node.name not in ("__init__", "__call__"):
            return
        if node.name == "__call__" and not (info.cls and self.analysis.derives(info.cls, "chainer.Link")):
            return
        if info.cls is not None and self._is_overridden(info):
            return
        a = node.args
        positional = [*a.posonlyargs, *a.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(a.defaults)) + list(a.defaults)
        for parameter, default in zip([*positional, *a.kwonlyargs], [*defaults, *a.kw_defaults]):
            kind = info.params.get(parameter.arg)
            if kind == XP and parameter.annotation is None and (default is None or self._is_module(default)):
                yield info, parameter.arg

    def _is_module(self, default: ast.expr) -> bool:
        return self.analysis.kind(default) in (Ref("numpy"), NONE)

    def _is_overridden(self, info: FuncInfo) -> bool:
        """Whether a call may run another method of this name."""
        if info.cls is None:
            return False
        others = (*self.analysis.mro(info.cls), *self.analysis.heirs(info.cls))
        return any(isinstance(o, ClassInfo) and o is not info.cls and info.name in o.methods for o in others)

    def _look_for_calls(self, wanted: Collection[FuncInfo]) -> None:
        """Finds the calls of the functions; one that is also used in another way has none that would be enough."""
        names = {info.name for info in wanted if info.cls is not None}
        spoiled: set[FuncInfo] = set()
        unknown: set[str] = set()
        for module in self.analysis.project.modules.values():
            for node in module.source.of(ast.Name, ast.Attribute):
                assert isinstance(node, (ast.Name, ast.Attribute))
                kinds = options(self.analysis.kind(node))
                if isinstance(node, ast.Attribute) and node.attr in names and UNKNOWN in kinds:
                    unknown.add(node.attr)
                parent = module.source.parents.get(node)
                for info in (function_of(self.analysis, kind) for kind in kinds):
                    if info is None or info not in wanted or isinstance(parent, ast.ClassDef) and node in parent.bases:
                        continue
                    if len(kinds) == 1 and isinstance(parent, ast.Call) and parent.func is node:
                        self.calls.setdefault(info, []).append((self._context(module), parent))
                    else:
                        spoiled.add(info)
        self._look_for_objects({info for info in wanted if info.cls is not None and info.name in CALLED}, spoiled)
        for info in wanted:
            if info in spoiled or info.cls is not None and info.name in unknown:
                self.calls.pop(info, None)

    def _look_for_objects(self, wanted: set[FuncInfo], spoiled: set[FuncInfo]) -> None:
        """Finds the calls of links: ``model(n, xp)``. Another object that is handed an array module may be one."""
        for module in self.analysis.project.modules.values() if wanted else ():
            for call in module.source.of(ast.Call):
                assert isinstance(call, ast.Call)
                kinds = options(self.analysis.kind(call.func))
                infos = {object_call(self.analysis, kind) for kind in kinds}
                modules = [a for a in (*call.args, *(k.value for k in call.keywords)) if self._may_be_module(a)]
                if UNKNOWN in kinds and modules:
                    context = self._context(module)
                    if len(kinds) > 1 or any(parameter_for(context, value) is None for value in modules):
                        spoiled.update(wanted)
                    infos = {self.analysis.once(only_model)}
                for info in wanted & infos:
                    if len(kinds) == 1:
                        self.calls.setdefault(info, []).append((self._context(module), call))
                    else:
                        spoiled.add(info)

    def _may_be_module(self, value: ast.expr) -> bool:
        kinds = options(self.analysis.kind(value))
        return any(k in (XP, EITHER) or isinstance(k, Ref) and k.name in CUPY | {"numpy"} for k in kinds)

    def _context(self, module: ModuleInfo) -> Context:
        if module not in self.contexts:
            self.contexts[module] = Context(self.analysis, module, Options(style="native"))
        return self.contexts[module]

    def _parameter_holds(self, info: FuncInfo, name: str) -> bool:
        context = self._context(info.module)
        for node in nodes_of(info.node):
            if isinstance(node, ast.Name) and node.id == name and context.scopes.get(node) is info.node:
                if not isinstance(node.ctx, ast.Load) or context.kind(node) != XP:
                    return False
                if used(context, node, self.devices) is None:
                    return False
        return all(self._is_handed(*call, (info, name)) for call in self.calls[info])

    def _is_handed(self, context: Context, call: ast.Call, wanted: Parameter) -> bool:
        """Whether a call hands a parameter an array module that becomes a device, too."""
        if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
            return False
        for argument in (*call.args, *(k.value for k in call.keywords)):
            if parameter_for(context, argument) == wanted:
                return _is_none(argument) or self._is_device(context, argument)
        return _defaults_to_none(*wanted)

    def _is_device(self, context: Context, argument: ast.expr) -> bool:
        if host_of(context, argument) is not None or of_attribute(context, argument, self.devices) is not None:
            return True
        if not isinstance(argument, ast.Name):
            return origin_of(context, argument) is not None
        scope = context.scopes.get(argument)
        if isinstance(scope, ast.FunctionDef):
            info = self.analysis.functions.get(scope)
            if info is not None and (info, argument.id) in self.devices:
                return True
        elif not isinstance(scope, ast.Module) or not is_own(context, argument.id):
            return origin_of(context, argument) is not None
        return argument.id in variables_in(context, scope, self.devices) or origin_of(context, argument) is not None


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _defaults_to_none(owner: FuncInfo | ClassInfo, name: str) -> bool:
    """Whether a call that leaves a parameter out gives it None, which no device is made of."""
    if not isinstance(owner, FuncInfo):
        return False
    a = owner.node.args
    positional = [*a.posonlyargs, *a.args]
    pairs = [*zip(reversed(positional), reversed(a.defaults)), *zip(a.kwonlyargs, a.kw_defaults)]
    return any(arg.arg == name and _is_none(default) for arg, default in pairs)


def _new_name(info: FuncInfo, name: str) -> str:
    """``device``, unless something in the function is called so."""
    taken = {
        word
        for n in nodes_of(info.node)
        for word in (getattr(n, "id", None), getattr(n, "arg", None))
        if word is not None
    }
    return next(n for n in ("device", f"{name}_device", f"{name}_device_", name) if n == name or n not in taken)
