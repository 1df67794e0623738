"""Which modules run inside a block, by names that they have around it: for Chainer's switch of all modules at once.

The block's own calls are looked at, and those of the project's functions that it calls. A module too many does no harm
(Chainer's switch is one for all of them), so a name stands for every module of its class.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable

from chainer2torch.analysis.kinds import UNKNOWN, Class, Func, Inst, Kind, Ref, options
from chainer2torch.analysis.models.xp_modules import EITHER, XP
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.train_flags import asks, module_flag
from chainer2torch.plan.native.unregistered import is_without_mode
from chainer2torch.plan.questions.computed_names import asked_by_name, is_kept_attribute, object_of
from chainer2torch.plan.questions.functions_around import functions_around, paths_read
from chainer2torch.plan.questions.link_parts import are_parts
from chainer2torch.plan.questions.methods_by_name import decorators, methods_of_links, methods_of_objects, runs_none
from chainer2torch.plan.questions.paths import (
    FUNCTIONS,
    aliases_in,
    candidates,
    follow,
    gives_value,
    is_path,
    loops_in,
    parameters_in,
    root_name,
    stored_names,
    taken_from,
    values_in,
)
from chainer2torch.plan.questions.runs_no_module import BUILTINS, left_out
from chainer2torch.plan.questions.sure_names import may_lack_value

_Translate = Callable[[ast.expr], "str | None"]
_COVERED = ""  # what stands for a part of a module that is named already
# methods that give the modules of a container
_CONTENTS = frozenset({"values", "children", "links"})


class ModulesInside:
    """The modules that run inside a ``with`` block: ``expressions``, and whether there are others without a name."""

    def __init__(self, context: Context, statement: ast.stmt):
        self.unnamed = False
        self.computed = False  # whether something that was computed inside is asked: it may be a module
        self.asked = False  # whether one of the expressions may be something else than a module
        self.by_name = False  # whether an object is taken for one of the program's by the name of its method alone
        self.doubtful = False  # whether one has a method that the program does not define: it may be a plain object
        self.methods = False  # whether one is a method of a module
        self._context = context
        self._statement = statement
        self._found: dict[str, None] = {}
        self._holders: list[Kind] = []  # the modules that are named
        self._seen: set[tuple[FuncInfo, tuple[tuple[str, str | None], ...]]] = set()
        self._inside: list[FuncInfo] = []  # the functions that are being looked into
        self._left_out: set[str] = set()  # parameters of the function looked into that are no module in its call
        body = statement.body if isinstance(statement, ast.With) else []
        self._assigned = stored_names(statement) | parameters_in(statement)
        self._around = functions_around(context, statement)
        self._aliases = aliases_in(statement)
        self._values = values_in(statement)
        self._sure = self._passed_over = False
        self._native = context.choices.style == "native"
        self._look(body, self._outside, loops_in(statement))
        for text in [text for text in self._found if self._is_of_heirs(text) or self._may_lack_value(text)]:
            del self._found[text]
            self.unnamed = True
        # a method of an object that nothing is known of may run the only module there is
        self.unnamed = self.unnamed or self._passed_over and not self._sure

    def _is_of_heirs(self, text: str) -> bool:
        """Whether ``self.name`` is what only classes below have: other objects of the class lack it."""
        owner, _, name = text.partition(".")
        cls = self._context.enclosing_class(self._statement)
        if owner != "self" or cls is None or not name.isidentifier():
            return False
        owners = [one for one in self._context.analysis.mro(cls) if one != "builtins.object"]
        return all(isinstance(o, ClassInfo) and name not in o.attrs and name not in o.methods for o in owners)

    def _may_lack_value(self, text: str) -> bool:
        """Whether a name has no value where the block begins: the call inside may stand behind a condition, too."""
        return may_lack_value(self._context, text.partition(".")[0].partition("[")[0], self._statement)

    @property
    def expressions(self) -> list[str]:
        """The modules, without those that another one holds."""
        return [
            text
            for text in self._found
            if not any(text != other and text.startswith(other + ".") for other in self._found)
        ]

    # -- what runs -------------------------------------------------------------------------------------------------

    def _look(self, body: list[ast.stmt] | list[ast.expr], translate: _Translate, loops: dict[str, ast.expr]) -> None:
        for part in body:
            for node in nodes_of(part):
                if isinstance(node, ast.Call):
                    self._call(node, translate, loops)
                elif isinstance(node, (ast.Name, ast.Attribute)):
                    self._asking(node, translate)

    def _asking(self, node: ast.Name | ast.Attribute, translate: _Translate) -> None:
        """A function such as dropout runs in no module of its own: it asks the one whose method calls it."""
        analysis = self._context.analysis
        if not any(isinstance(kind, Ref) and asks(analysis, kind.name) for kind in options(analysis.kind(node))):
            return
        place = module_flag(analysis, self._context.source, node)
        text = translate(ast.Name(place.split(".")[0], ast.Load())) if isinstance(place, str) else None
        if text:
            self._found[text] = None
            self._sure = True

    def _call(self, node: ast.Call, translate: _Translate, loops: dict[str, ast.expr]) -> None:
        for part in (node.func, *node.args, *(k.value for k in node.keywords)):
            links = [e for e in candidates(part) if self._context.analysis.is_link(self._context.analysis.kind(e))]
            if links:
                self._add(links, translate, loops)
        self._unknown(node, translate, loops)
        for kind in options(self._context.analysis.kind(node.func)):
            receiver = node.func
            if isinstance(receiver, ast.Attribute) and isinstance(kind, Func):
                receiver = receiver.value
            if isinstance(kind, Inst) and isinstance(kind.cls, ClassInfo):
                cls, made = kind.cls, kind
                methods = (self._context.analysis.class_attribute(cls, name, made) for name in ("__call__", "forward"))
                kind = next((method for method in methods if isinstance(method, Func)), made)
            self._bodies_of(self._bodies(kind), node, receiver, translate)

    def _bodies_of(self, infos: list[FuncInfo], call: ast.Call, receiver: ast.expr, translate: _Translate) -> None:
        """Looks into functions that a call may run, each once for what its parameters stand for."""
        for info in infos:
            if info not in self._inside:
                self._inside.append(info)
                self._function(info, call, receiver, translate)
                self._inside.pop()

    def _bodies(self, kind: Kind) -> list[FuncInfo]:
        """What a call of a function may run: of a method also what classes below have in its place."""
        if not isinstance(kind, Func):
            return []
        cls = kind.info.cls
        below = [] if cls is None else self._context.analysis.heirs(cls)
        name = "" if isinstance(kind.info.node, ast.Lambda) else kind.info.node.name
        return [kind.info, *(heir.methods[name] for heir in below if name in heir.methods and name != "__init__")]

    def _unknown(self, call: ast.Call, translate: _Translate, loops: dict[str, ast.expr]) -> None:
        """A call of something unknown may run modules: what is called is handed to the helper, which looks into it."""
        kind, callee = self._context.analysis.kind, call.func
        if UNKNOWN not in options(kind(callee)) or root_name(callee) in BUILTINS | self._left_out:
            return
        if not is_path(callee) or not isinstance(callee, (ast.Name, ast.Attribute)):
            self._computed(callee, translate, loops)
            return
        if isinstance(callee, ast.Name) and self._is_decorated(callee):
            self.unnamed = True
            return
        asked: ast.expr = callee
        if isinstance(callee, ast.Attribute) and self._is_library(callee.value):
            return
        if isinstance(callee, ast.Attribute) and kind(callee.value) == UNKNOWN:
            named = follow(callee.value, self._aliases)
            if runs_none(self._context.analysis, callee.attr):
                return
            if self._native and callee.attr in self._context.analysis.once(methods_of_links):
                text = translate(callee.value)
                self._found.update(dict.fromkeys([text] if text else []))
                self._sure = self._sure or bool(text)
                self.unnamed = self.unnamed or text is None
                return
            if root_name(named) not in self._handed_in(callee):
                self._ask_computed(root_name(named) in self._values)
                return
            of_objects = self._context.analysis.once(methods_of_objects).get(callee.attr, []) if self._native else []
            if of_objects:
                self.by_name = True
                self._bodies_of(of_objects, call, callee.value, translate)
                return
            asked = callee.value
        elif isinstance(callee, ast.Attribute) and not self._keeps(callee):
            return
        over = loops.get(asked.id) if isinstance(asked, ast.Name) else None
        text = translate(asked) if over is None else self._container(over, translate)
        if text:
            self._found[text] = None
            self.asked = True
            self.doubtful = self.doubtful or asked is not callee
        elif text is None and asked is callee:
            self.unnamed = True

    def _keeps(self, asked: ast.Attribute) -> bool:
        analysis = self._context.analysis
        return is_kept_attribute(analysis, analysis.kind(asked.value), asked.attr)

    def _is_decorated(self, callee: ast.Name) -> bool:
        """Whether it is the function that a decorator was given, and no module: ``return f(self, *args)``."""
        parents, scope = self._context.source.parents, self._context.scopes.get(callee)
        if callee not in parents or not isinstance(scope, ast.FunctionDef):
            return False
        if callee.id not in {a.arg for a in scope.args.args}:
            return False
        names = self._context.analysis.once(decorators)
        return scope.name in names or f"wraps({callee.id})" in names

    def _is_library(self, holder: ast.expr) -> bool:
        """Whether it is a module of Python, such as NumPy or CuPy: nobody gives a network the name `xp`."""
        kinds = options(self._context.analysis.kind(holder))
        named = follow(holder, self._aliases)
        return any(isinstance(k, Ref) or k in (XP, EITHER) for k in kinds) or ast.unparse(named).split(".")[-1] == "xp"

    def _computed(self, callee: ast.expr, translate: _Translate, loops: dict[str, ast.expr]) -> None:
        """What is called is an item (`nets[i](x)`) or the result of a call (`make()(x)`), or a method of one."""
        holder = asked_by_name(callee)
        if (
            holder is not None
            and is_path(holder)
            and self._context.analysis.is_link(self._context.analysis.kind(holder))
        ):
            self._add([holder], translate, loops)
            return
        if isinstance(callee, ast.Subscript) and is_path(callee.value):
            text = translate(callee.value)
            if text:
                self._found[text] = None
                self.asked = True
            self.unnamed = self.unnamed or text is None
        elif isinstance(callee, ast.Attribute):
            made = callee.value
            while isinstance(made, (ast.Attribute, ast.Subscript)):
                made = made.value
            if not runs_none(self._context.analysis, callee.attr):
                self._ask_computed(gives_value(made))
        else:
            self.unnamed = True

    def _ask_computed(self, value: bool) -> None:
        """A method of what was computed inside: most likely of a ``value``, but `load(path)` makes a module, too."""
        self.computed = self.computed or value
        self._passed_over = self._passed_over or not value

    def _handed_in(self, node: ast.expr) -> set[str]:
        """The parameters of the functions around a node: objects that others made."""
        return (
            {
                a.arg
                for f in self._context.source.ancestors(node)
                if isinstance(f, FUNCTIONS)
                for a in (*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs)
            }
            if node in self._context.source.parents
            else set()
        )

    def _function(self, info: FuncInfo, call: ast.Call, receiver: ast.expr, translate: _Translate) -> None:
        """Looks into a function of the project."""
        a = info.node.args
        names = [p.arg for p in (*a.posonlyargs, *a.args)]
        passed: dict[str, str | None] = {}
        of_class = isinstance(self._context.analysis.kind(receiver), Class) and not info.is_classmethod
        if info.cls is not None and not info.is_static and names and not of_class:  # `Base.run(net, x)` hands it on
            covered = self._context.analysis.is_link(self._context.analysis.kind(receiver))
            text = translate(receiver) if is_path(receiver) else None
            if receiver is call.func and isinstance(self._context.analysis.kind(receiver), Func) and text:
                held, text = text, object_of(text, info)
                if text is None:  # the helper asks the method itself for its object
                    self._found[held] = None
                    self.asked = self.methods = covered = True
            passed[names.pop(0)] = _COVERED if covered else text
        given = [*zip(names, call.args), *((k.arg, k.value) for k in call.keywords if k.arg)]
        passed.update((name, self._handed(value, translate)) for name, value in given)
        known = (info, tuple(passed.items()))
        if known in self._seen:
            return
        self._seen.add(known)
        own = taken_from(info.node, {name for name, text in passed.items() if text == _COVERED})
        local = (stored_names(info.node) | parameters_in(info.node)) - set(passed)
        aliases = aliases_in(info.node)
        around = functions_around(self._context, info.node)
        shares_scope = info.module is self._context.module and (not around or bool(around & self._around))

        def inner(expression: ast.expr) -> str | None:
            expression = follow(expression, aliases)
            root = root_name(expression)
            if root in passed:
                start = passed[root]
                return start + ast.unparse(expression)[len(root) :] if start else start
            if root in own:
                return _COVERED  # `for layer in enumerate(self.layers)`: a part of a module that is named
            visible = root not in local and shares_scope and root not in self._assigned
            return ast.unparse(expression) if visible else None

        body = [info.node.body] if isinstance(info.node, ast.Lambda) else info.node.body
        before = self._aliases, self._left_out
        functions = {name for name, value in given if name and self._is_function(value)}
        self._aliases, self._left_out = aliases, (left_out(info.node, passed, call) | functions) - local
        self._look(body, inner, loops_in(info.node))
        self._aliases, self._left_out = before

    def _is_function(self, value: ast.expr) -> bool:
        """Whether it is a function of Chainer's, which runs no module."""
        kinds = options(self._context.analysis.kind(value))
        return all(isinstance(kind, Ref) and kind.name.startswith("chainer.functions.") for kind in kinds)

    def _handed(self, value: ast.expr, translate: _Translate) -> str | None:
        """What a parameter stands for; a list of parts of a named module and of functions is covered, too."""
        if is_path(value):
            return translate(value)
        if not isinstance(value, (ast.List, ast.Tuple)):
            return None
        kind = self._context.analysis.kind
        covered = (
            is_path(item)
            and translate(item) == _COVERED
            or isinstance(item, ast.Lambda)
            or all(isinstance(k, Ref) for k in options(kind(item)))
            for item in value.elts
        )
        return _COVERED if all(covered) else None

    # -- how it is called around the block ---------------------------------------------------------------------------

    def _outside(self, expression: ast.expr) -> str | None:
        expression = follow(expression, self._aliases)
        return ast.unparse(expression) if root_name(expression) not in self._assigned else None

    def _add(self, links: list[ast.expr], translate: _Translate, loops: dict[str, ast.expr]) -> None:
        """Adds the module that holds the others (`self` before `self.net`) and has a name around the block."""
        texts: list[str] = []
        for expression in links:
            over = loops.get(expression.id) if isinstance(expression, ast.Name) else None
            if isinstance(over, (ast.Tuple, ast.List)):
                items = [translate(item) if is_path(item) else None for item in over.elts]
            else:
                items = [translate(expression) if over is None else self._container(over, translate)]
            texts = [text for text in items if text is not None]
            if len(texts) < len(items):
                texts = self._others(self._context.analysis.kind(expression))
            if texts:
                break
        kinds = [self._context.analysis.kind(expression) for expression in links]
        if not texts and all(self._matters_not(kind) for kind in kinds):
            texts = [_COVERED]  # a method of a module that is named has taken it from there
        elif texts:
            self._holders += kinds
        self._found.update(dict.fromkeys(text for text in texts if text != _COVERED))
        self._sure = self._sure or bool(texts)
        self.unnamed = self.unnamed or not texts

    def _matters_not(self, kind: Kind) -> bool:
        """Whether a module without a name is part of one that has one, or has no mode."""
        links = [one for one in options(kind) if self._context.analysis.is_link(one)]
        without = bool(links) and UNKNOWN not in options(kind) and all(is_without_mode(one) for one in links)
        return without or are_parts(self._context.analysis, kind, self._holders)

    def _container(self, over: ast.expr, translate: _Translate) -> str | None:
        """What a loop runs over: a module that holds the others, or several modules."""
        suffix = ""
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in _CONTENTS:
            suffix = f".{over.func.attr}()"
            over = over.func.value
        text = translate(over) if is_path(over) else None
        if not text or self._context.analysis.is_link(self._context.analysis.kind(over)):
            return text
        return f"*{text}{suffix}"

    def _others(self, kind: Kind) -> list[str]:
        """Names around the block of modules that were made at the same place, or are of the same class."""
        found = []
        links = [one for one in options(kind) if isinstance(one, Inst)]
        for node in self._visible if links else ():
            if any(_alike(a, b) for b in options(self._context.analysis.kind(node)) for a in links):
                found.append(ast.unparse(node))
        cls = self._context.enclosing_class(self._statement)
        if cls is not None:
            found += [
                f"self.{name}"
                for name, value in cls.attrs.items()
                if any(_alike(a, b) for a in links for b in options(value))
            ]
        return found

    @functools.cached_property
    def _visible(self) -> list[ast.Name | ast.Attribute]:
        """The names and attributes in the code before the block, in scopes that the block sees."""
        line, assigned, around = self._statement.lineno, self._assigned, self._around
        return [
            node
            for node, root, functions in self._context.analysis.once_a_file(paths_read, self._context.source)
            if node.lineno < line and root not in assigned and functions <= around
        ]


def _alike(a: Inst, b: Kind) -> bool:
    return (
        isinstance(b, Inst)
        and a.cls == b.cls
        and (a.site == b.site or isinstance(a.cls, ClassInfo) and 0 in (a.site, b.site))
    )
