"""Definitions of functions and classes, and the names that they and other statements bind."""

from __future__ import annotations

import ast
import builtins
import cmath
import itertools
import math
import operator
import random

from chainer2torch.analysis.decorators import changes_meaning, decorator_name, gives_back, keeps_meaning, wrapper_of
from chainer2torch.analysis.interpreter import Environment, Interpreter
from chainer2torch.analysis.kinds import BOTTOM, UNKNOWN, Class, Dct, Func, Inst, Kind, Lst, Ref
from chainer2torch.analysis.lattice import join
from chainer2torch.analysis.models import assigned, decorated, field_classes, filled
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.analysis.source import Source, nodes_of

_BUILTINS = frozenset(dir(builtins))
_OF_CUPY = frozenset({"cp", "cupy"})  # names that mean CuPy where nothing else has them
# what star imports of Python's own modules bind
OF_PYTHON = {module.__name__: frozenset(dir(module)) for module in (cmath, itertools, math, operator, random)}


class Definitions(Interpreter):
    """The part of the interpreter that binds and looks up names, and that runs ``def`` and ``class``."""

    # -- names -----------------------------------------------------------------------------------------------------

    def lookup(self, name: str) -> Kind:
        for env in self.scopes:
            if name in env:
                if self.func is None and env is self.scopes[-2] and isinstance(env[name], (Dct, Lst)):
                    self.reads(self.module, name)  # functions may put something in
                    env = self.module.env if name in self.module.grown else env
                elif env is self.module.env:
                    self.reads(self.module, name)
                func = self.func
                around = func is not None and func.made_among and env is func.scopes[0]
                found = self._closed_over(func, env, name) if func is not None and around else env[name]
                if name in self.module.nonlocals and env is not self.module.env and func is not None:
                    return assigned.shared(self, self.module, name, found)
                return found if around or env is self.module.env else filled.held(self, name, found)
        for star in reversed(self.module.stars):  # the last one wins
            dotted = self.rules.canonical(f"{star}.{name}")
            if dotted in self.rules.rows or self.rules.is_namespace(dotted) or name in OF_PYTHON.get(star, ()):
                return Ref(dotted)
        if name in _BUILTINS:
            return Ref(f"builtins.{name}")
        self.reads(self.module, name)
        if name in _OF_CUPY and not self.module.stars and not self._is_bound(name):
            return Ref("chainer.backends.cuda.cupy")  # its import is commented out: there is no GPU where this ran
        return BOTTOM if self.binding else UNKNOWN

    def _is_bound(self, name: str) -> bool:
        """Whether some line of the file binds a name, wherever it stands."""
        bound = {n.id for n in self.module.source.of(ast.Name) if not isinstance(n.ctx, ast.Load)}
        bound |= {(a.asname or a.name).partition(".")[0] for a in self.module.source.of(ast.alias)}
        bound |= {n.name for n in self.module.source.of(ast.FunctionDef, ast.ClassDef)}
        return name in bound | {n.arg for n in self.module.source.of(ast.arg)}

    @staticmethod
    def _closed_over(func: FuncInfo, env: Environment, name: str) -> Kind:
        """A name of the scope around a function: also what it was when the function was made."""
        kind = env[name]
        before = func.made_among.get(name, kind)
        return kind if before == kind else join(before, kind)

    def store(self, name: str, kind: Kind) -> None:
        at_top = self.func is None and len(self.scopes) == 2
        if name not in self.globals:
            self.scopes[0][name] = kind
            if name in self.module.nonlocals and self.func is not None:
                assigned.share(self, self.module, name, kind)
            if at_top and isinstance(kind, Ref) and self.rules.is_namespace(kind.name):
                if name in self.once_a_file(_defined_at_last, self.module.source):
                    return  # functions run later: for them the name is what the file defines
        if (at_top or name in self.globals) and not self.unreachable:
            self.bind_in(self.module, name, kind)

    # -- definitions -----------------------------------------------------------------------------------------------

    def _stmt_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        info = self.define(node, None)
        self.store(node.name, self._decorated(node, Func(info)))

    _stmt_AsyncFunctionDef = _stmt_FunctionDef

    def _decorated(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, made: Kind) -> Kind:
        """What the decorators of a function or class make of it; those that register it are called with it."""
        kinds = [self._visited_now(d) for d in node.decorator_list]
        for kind in kinds:
            decorated.note(self, kind, made)
            if (registering := gives_back(kind)) is not None:
                self._registered(registering, kind.receiver if isinstance(kind, Func) else None, [made], {})
        if all(
            decorator_name(self, d) is not None or keeps_meaning(self, d, kind)
            for d, kind in zip(node.decorator_list, kinds)
        ):
            return made
        if isinstance(made, Func) and self._is_wrapped(made.info, node.decorator_list, kinds):
            return made
        if len(kinds) == 1 and (held := decorated.held(self, kinds[0], made)) is not None:
            return held
        return BOTTOM if BOTTOM in kinds else UNKNOWN  # what makes the decorator has not been visited yet

    def _registered(self, by: FuncInfo, receiver: Kind | None, args: list[Kind], keywords: dict[str, Kind]) -> None:
        """Calls what registers a function or class at once: who asks the registry next must not find it empty."""
        self.call_function(by, receiver, args, keywords, None)
        if by in self.queued:
            self.visit(by)

    def _is_wrapped(self, info: FuncInfo, decorators: list[ast.expr], kinds: list[Kind]) -> bool:
        """Whether decorators put in a function's place what hands on all arguments, and gives something else."""
        others = [
            k for d, k in zip(decorators, kinds) if decorator_name(self, d) is None and not keeps_meaning(self, d, k)
        ]
        wrappers = [wrapper_of(kind) for kind in others]
        if not wrappers or None in wrappers:
            return False
        info.is_changed, info.wrapper = True, wrappers[0]
        return True

    def _visited_now(self, decorator: ast.expr) -> Kind:
        """The kind of a decorator; a function of the project that makes it is visited at once."""
        kind = self.expr(decorator)
        maker = self.facts.get(decorator.func) if isinstance(decorator, ast.Call) else None
        if kind is BOTTOM and isinstance(maker, Func) and maker.info in self.queued:
            self.visit(maker.info)
            kind = self.expr(decorator)
        if isinstance(kind, Inst) and isinstance(kind.cls, ClassInfo) and not self.is_link(kind):
            return self.class_attribute(kind.cls, "__call__", kind)  # an object that is called with the function
        return kind

    def define(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, cls: ClassInfo | None) -> FuncInfo:
        info = self.functions.get(node)
        scopes = self.scopes if cls is None else self.scopes[1:]
        if self.func is None:  # not the names of the module's body in their order: see _visit
            scopes = tuple(scope for scope in scopes if scope is not self.scopes[-2])
        if info is None:
            info = FuncInfo(getattr(node, "name", "<lambda>"), node, self.module, cls, scopes)
            info.is_generator = node in self.module.source.generators
            if not isinstance(node, ast.Lambda):
                names = [d.id if isinstance(d, ast.Name) else getattr(d, "attr", "") for d in node.decorator_list]
                info.is_property = any(name.endswith("property") for name in names)  # cached_property ...
                info.is_static = "staticmethod" in names
                info.is_classmethod = "classmethod" in names or cls is not None and info.name == "__init_subclass__"
            self.functions[node] = info
            self.enqueue(info)
            if self.func is not None:
                self.nested.setdefault(self.func, {})[info] = None
        elif info.scopes is not scopes:
            info.scopes = scopes
        if self.func is not None and cls is None:
            info.made_among = dict(self.scopes[0])
        a = node.args
        for default in [*a.defaults, *filter(None, a.kw_defaults)]:
            self.expr(default)
        for p in [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, [a.vararg, a.kwarg])]:
            if p.annotation is not None:
                self.expr(p.annotation)
        if not isinstance(node, ast.Lambda) and node.returns is not None:
            self.expr(node.returns)
        return info

    def _stmt_ClassDef(self, node: ast.ClassDef) -> None:
        info = self.classes.get(node)
        if info is None:
            info = self.classes[node] = ClassInfo(node.name, node, self.module)
        bases = [self.expr(base) for base in node.bases]
        if bases != info.bases:
            info.bases = bases
            self.forget_hierarchy()
        keywords = {keyword.arg or "": self.expr(keyword.value) for keyword in node.keywords}
        made = field_classes.named_tuple(node, bases)
        self.store(node.name, self._decorated(node, Class(info)) if made is None else made)
        outer = self.scopes
        body_env: dict[str, Kind] = {}
        self.scopes = (body_env, *outer)
        for statement in node.body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                method = self.define(statement, info)
                decorators = [self.expr(decorator) for decorator in statement.decorator_list]
                for kind in decorators:
                    decorated.note(self, kind, Func(method))
                if not self._is_wrapped(method, statement.decorator_list, decorators):
                    method.is_changed, method.wrapper = any(map(changes_meaning, decorators)), None
                if _is_setter(statement, "setter"):
                    info.setters[statement.name] = method
                    method.is_changed = False
                if statement.name not in info.methods or not _is_setter(statement):
                    info.methods[statement.name] = method
                body_env[statement.name] = Func(method)
            else:
                self.statement(statement)
        self.scopes = outer
        for name, kind in body_env.items():
            if name not in info.methods:
                self.set_attribute(info, name, kind)
        if node.decorator_list:
            assigned.by_decorators(self, info)
        bases_of = [owner for owner in self.mro(info)[1:] if isinstance(owner, ClassInfo)]
        heard = next((o.methods["__init_subclass__"] for o in bases_of if "__init_subclass__" in o.methods), None)
        if heard is not None:
            self._registered(heard, Class(info), [], {name: kind for name, kind in keywords.items() if name})


def _is_setter(node: ast.FunctionDef | ast.AsyncFunctionDef, *which: str) -> bool:
    words = which or ("setter", "deleter")
    return any(isinstance(d, ast.Attribute) and d.attr in words for d in node.decorator_list)


def _defined_at_last(source: Source) -> frozenset[str]:
    """The names that a file binds last by a ``def`` or ``class`` of its own: what an import gave them is hidden."""
    last: dict[str, bool] = {}
    for statement in source.tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            last[statement.name] = True
            continue
        for node in nodes_of(statement):
            if isinstance(node, ast.alias):
                last[node.asname or node.name.split(".")[0]] = False
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                last[node.id] = False
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                last[node.name] = False
    return frozenset(name for name, own in last.items() if own)
