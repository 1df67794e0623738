"""Statements: what they bind, how branches join, how targets of assignments are filled."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from chainer2torch.analysis import absent, host_copies, patterns, versions
from chainer2torch.analysis.interpreter import COMPUTED
from chainer2torch.analysis.kinds import (
    BOTTOM,
    NONE,
    UNKNOWN,
    Class,
    Const,
    Dct,
    Func,
    HostArray,
    Inst,
    Kind,
    Lst,
    Mod,
    Perhaps,
    Ref,
    Tensor,
    Tup,
    Union,
    Unknown,
    options,
)
from chainer2torch.analysis.lattice import element_of, join, join_all, says_more, unsure
from chainer2torch.analysis.loops import Loops, joined
from chainer2torch.analysis.models import assigned, data, link_children, methods, possible, sent
from chainer2torch.analysis.models.array_kinds import on_device
from chainer2torch.analysis.models.observations import put_by_block
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.narrowing import always, of_rank, told, whole
from chainer2torch.analysis.sent_backward import has_own_backward, names_sent_backward


class Statements(Loops):
    """The part of the analysis that runs statements ."""

    def block(self, body: list[ast.stmt]) -> bool:
        """Runs statements in order; True when control does not reach the end."""
        for i, statement in enumerate(body):
            if self.statement(statement):
                self._unreachable(body[i + 1 :])
                return True
        return False

    def _unreachable(self, body: list[ast.stmt]) -> None:
        # It never runs, but what it names still has to be told apart from the user's own names.
        env = dict(self.scopes[0])
        before: bool = self.unreachable
        self.unreachable = True
        for statement in body:
            self.statement(statement)
        self.unreachable = before
        self._restore(env)

    def statement(self, node: ast.stmt) -> bool:
        """Runs one statement; True when control does not go on behind it."""
        method = self.statement_methods.get(node.__class__)
        return method is not None and bool(method(node))

    def _stmt_Expr(self, node: ast.Expr) -> None:
        self.expr(node.value)

    def _stmt_Assign(self, node: ast.Assign) -> None:
        kind = self.expr(node.value)
        for target in node.targets:
            if isinstance(kind, Unknown) and _is_same_name(target, node.value):
                continue  # it raises, or says nothing: what the name is on other ways stands
            held = _row(kind, node.value, self.facts) if isinstance(target, (ast.Tuple, ast.List)) else kind
            self.assign(target, Tensor() if isinstance(kind, Unknown) and self._goes_backward(target) else held)
            self._unpacked_shape(target, node.value)

    def _goes_backward(self, target: ast.expr) -> bool:
        """``loss = model(x)`` of a model that nobody knows, and ``loss.backward()``: it is a Variable."""
        if not isinstance(target, ast.Name) or not self.imports_chainer():
            return False
        scope = self.func.node if self.func is not None else self.module.source.tree
        return target.id in self.once_a_file(names_sent_backward, self.module.source).get(scope, ()) and not any(
            self.once_a_file(has_own_backward, module.source) for module in self.project.modules.values()
        )

    def _unpacked_shape(self, target: ast.expr, value: ast.expr) -> None:
        """``n, c, h, w = x.shape``: x has four axes, or this raises."""
        if (
            isinstance(value, ast.Attribute)
            and value.attr == "shape"
            and isinstance(target, (ast.Tuple, ast.List))
            and not any(isinstance(part, ast.Starred) for part in target.elts)
        ):
            self.scopes[0].update(of_rank(whole(value.value), len(target.elts), self.scopes[0].get))

    def _stmt_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.expr(node.annotation)
        if node.value is not None:
            self.assign(node.target, self.expr(node.value))

    def _stmt_AugAssign(self, node: ast.AugAssign) -> None:
        old = self.facts[node] = self.expr(node.target)  # the target itself is known by what it becomes
        value = self.expr(node.value)
        extended = isinstance(node.op, ast.Add) and isinstance(old, Inst) and self.derives(old.cls, "chainer.ChainList")
        if extended and isinstance(old, Inst):
            methods.method(self, old, "__iadd__", [value], node)
        # it stays the same object, as does an array of NumPy, also where it is one for some callers only
        takes_arrays = not extended and all(isinstance(k, Tensor) and k.array for k in options(value))
        ways = [
            k if extended or takes_arrays and isinstance(k, HostArray) else self.binary(node.op, k, value)
            for k in (old.ordered if isinstance(old, Union) else (old,))
        ]
        new = join_all(ways)
        self.assign(node.target, new)
        if isinstance(new, Lst):
            self.grown_in_loop(node.target, new)

    def _stmt_Return(self, node: ast.Return) -> bool:
        kind = self.expr(node.value) if node.value is not None else Const(None)
        if self.func is not None and self.func.is_generator:
            sent.from_generator(self, kind)
        elif self.func is not None:
            self.returned(self.func, kind, node)
        return True

    def _stmt_Raise(self, node: ast.Raise) -> bool:
        for part in (node.exc, node.cause):
            if part is not None:
                self.expr(part)
        sent.raised(self, node.exc)
        return True

    def _stmt_Assert(self, node: ast.Assert) -> None:
        self.expr(node.test)
        if node.msg is not None:
            self.expr(node.msg)
        self.narrow(node.test, True)

    def _stmt_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self.expr(target)

    def _stmt_Global(self, node: ast.Global) -> None:
        self.globals.update(node.names)

    def _stmt_If(self, node: ast.If) -> bool:
        self.expr(node.test)
        truth = absent.truth(node.test, self.kind)
        if truth is None and self.once_a_file(versions.is_read, self.module.source):
            truth = versions.truth(versions.File(self.module.source, self.kind), node.test)
        if truth is not None:  # a test for what PyTorch does not have, or of Chainer's version
            self._unreachable(node.orelse if truth else node.body)
            return self.block(node.body if truth else node.orelse)
        truth = self.once_a_file(host_copies.shapes, self.module.source).get(node)
        if truth is not None:
            start = dict(self.scopes[0])
            self.block(node.body if truth else node.orelse)
            copied = host_copies.copies(node, truth, self.kind)
            if copied and not host_copies.of_variable(node, self.module.source):
                self._unreachable(node.orelse if truth else node.body)
                return False
            self._restore(start)
            if copied:  # Chainer goes on without a GPU only
                self.block(node.orelse if truth else node.body)
                return False
        return self._branches([node.body, node.orelse], node.test)

    def narrow(self, test: ast.expr, truth: bool) -> dict[str, Kind]:
        """Makes the kinds of local names as exact as the answer to a condition allows; gives what they were."""
        new = told(self, test, truth, self.scopes[0].get, self._beside_none)
        old = {name: self.scopes[0][name] for name in new}
        self.scopes[0].update(new)
        return old

    def _beside_none(self, name: str) -> Kind:
        """What a name stands for that is not None, while nothing but None has reached it.

        A local name has no other value, yet: it is not known what the code for another would do. A parameter may get
        one from a caller that nobody sees, a global name from any function.
        """
        if self.func is None or self.func in self.nested:
            return UNKNOWN
        a = self.func.node.args
        is_parameter = name in {p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)}
        return UNKNOWN if is_parameter and self.func.seeded else BOTTOM

    def _branches(self, bodies: list[list[ast.stmt]], test: ast.expr | None = None) -> bool:
        """Runs bodies one of which is taken; the first is that where ``test`` is true, the second where it is false."""
        start = dict(self.scopes[0])
        ends, all_stop = list[dict[str, Kind]](), True
        given: set[str] = set()  # names of which it is only known here that they are not None
        for i, body in enumerate(bodies):
            self._restore(dict(start))
            if test is not None:
                before = self.narrow(test, i == 0)
                given |= {n for n, kind in before.items() if kind == NONE and not body and self.scopes[0][n] == UNKNOWN}
            never = i == 1 and not body and test is not None and always(self, test, start.get)
            stopped = self.block(body)
            if not stopped and not (never and ends):
                ends.append(dict(self.scopes[0]))
            all_stop = all_stop and stopped
        for name in sorted(given):  # `if log_p is None: log_p = F.log(...)`: a caller gives what would be made here
            made = join_all([env[name] for env in ends if env[name] != UNKNOWN])
            if isinstance(made, Tensor):
                ends = [{**env, name: Tensor(array=made.array)} for env in ends]
        self._restore(joined(ends or [start]))
        return all_stop

    def _stmt_With(self, node: ast.With | ast.AsyncWith) -> bool:
        for item in node.items:
            kind = self.expr(item.context_expr)
            if item.optional_vars is not None:
                # BOTTOM: not known yet; a dict: an archive of NumPy's; a list: what a generator makes, once
                entered = self._entered(kind) if isinstance(kind, Inst) else UNKNOWN
                entered = kind.element if isinstance(kind, Lst) else entered
                self.assign(item.optional_vars, kind if kind is BOTTOM or isinstance(kind, Dct) else entered)
        stopped = self.block(node.body)
        put_by_block(self, node)
        return stopped

    def _entered(self, manager: Inst) -> Kind:
        """What ``with manager as name`` binds: the object itself, or what a class of the project gives."""
        method = self.class_attribute(manager.cls, "__enter__", manager) if isinstance(manager.cls, ClassInfo) else None
        return self.call(method, [], {}, None) if isinstance(method, Func) else manager

    _stmt_AsyncWith = _stmt_With

    def _stmt_Try(self, node: ast.Try) -> bool:
        start = dict(self.scopes[0])
        stopped = self.block([*node.body, *node.orelse])
        ends = [] if stopped else [dict(self.scopes[0])]
        if all(isinstance(part, (ast.Import, ast.ImportFrom)) for part in node.body):
            # a library is installed or it is not: where its import fails, an earlier one of the file has failed, too
            start.update(
                (name, kind)
                for name, kind in self.scopes[0].items()
                if isinstance(kind, Ref)
                and kind.name in self.libraries
                and isinstance(before := start.get(name), Ref)
                and before.name.split(".")[0] == kind.name.split(".")[0]
            )
        for handler in node.handlers:
            self._restore(joined([start, dict(self.scopes[0])]))
            classes = self.expr(handler.type) if handler.type is not None else UNKNOWN
            if handler.name:
                self.store(handler.name, sent.caught(self, classes))
            if not self.block(handler.body):
                ends.append(dict(self.scopes[0]))
        self._restore(joined(ends or [start]))
        return self.block(node.finalbody) or not ends

    _stmt_TryStar = _stmt_Try

    def _stmt_Match(self, node: ast.Match) -> bool:
        kind, start, ends = self.expr(node.subject), dict(self.scopes[0]), list[dict[str, Kind]]()
        for case in node.cases:  # what the names of one case are says nothing in another one
            self._restore(dict(start))
            for name, part in patterns.captured(self, case.pattern, kind):
                self.store(name, part)
            if case.guard is not None:
                self.expr(case.guard)
            if not self.block(case.body):
                ends.append(dict(self.scopes[0]))
        self._restore(joined([*ends, start]))
        return False

    # -- targets ---------------------------------------------------------------------------------------------------

    def assign(self, target: ast.expr, kind: Kind) -> None:
        """Binds a target of an assignment."""
        if isinstance(target, ast.Name):
            self.facts[target] = kind
            self.store(target.id, kind)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for item, part in zip(target.elts, self._unpack(kind, target.elts)):
                self.assign(item.value if isinstance(item, ast.Starred) else item, part)
        elif isinstance(target, ast.Attribute):
            receiver = self.expr(target.value)
            self.facts[target] = self.attribute(receiver, target.attr)
            perhaps = options(receiver.known) if isinstance(receiver, Perhaps) else ()
            for option in (*options(receiver), *perhaps):
                if target.attr == "__dict__":
                    assigned.put_anywhere(self, option, UNKNOWN)
                elif isinstance(option, Inst) and isinstance(option.cls, ClassInfo):
                    self.set_attribute(option.cls, target.attr, kind)
                elif isinstance(option, Class):
                    self.set_attribute(option.info, target.attr, kind)
                elif isinstance(option, Mod):
                    self.bind_in(option.info, target.attr, kind)
                elif isinstance(option, Inst) and option.sites and option.cls in link_children.PLAIN_OBJECTS:
                    link_children.hold(self, option, target.attr, kind)
                elif isinstance(option, (Func, Inst, Unknown)):
                    possible.put(self, target.attr, kind)
        elif isinstance(target, ast.Subscript):
            self.expr(target)
            assigned.put_item(self, target, kind)
            self.item_set(target, kind)

    def set_attribute(self, cls: ClassInfo, name: str, kind: Kind) -> None:
        """Joins a value into an attribute of a class of the project; the setter of a property gets it."""
        setter = next((c.setters[name] for c in self.mro(cls) if isinstance(c, ClassInfo) and name in c.setters), None)
        if setter is not None:
            self.call_function(setter, Inst(cls), [kind], {}, None)
            for kept in setter.kept.difference((name,)):  # what is read next is known at once
                self.set_attribute(cls, kept, kind)
            return
        if self.is_buffer(cls, name) or self.rules.style == "native" and self.is_moved(cls, name):
            kind = on_device(kind)
        if isinstance(kind, Ref):  # NumPy and CuPy together are an array module, and that with CuPy is another kind
            if (cls, name, kind) in self.joined:
                return
            self.joined.add((cls, name, kind))
        old = cls.attrs.get(name)
        new = UNKNOWN if self.widened(self.unit) and old is not None else join(old, kind)
        if says_more(new, old):
            cls.attrs[name] = new
            self.changed(cls, name)
            self.changed(data.OF_HEIRS, name)
            self.changed(cls, COMPUTED)

    @staticmethod
    def _unpack(kind: Kind, targets: list[ast.expr]) -> list[Kind]:
        starred = any(isinstance(t, ast.Starred) for t in targets)
        if isinstance(kind, Union) and not starred:  # a tuple of another length would have raised
            fitting = [k for k in kind.ordered if not isinstance(k, Tup) or len(k.items) == len(targets)]
            if fitting and all(isinstance(k, Tup) for k in fitting):
                return [join_all(list(parts)) for parts in zip(*(k.items for k in fitting if isinstance(k, Tup)))]
            kind = join_all(list(fitting)) if fitting else kind
        if isinstance(kind, Tup) and not starred and len(kind.items) == len(targets):
            return list(kind.items)
        if isinstance(kind, Tup) and starred and len(kind.items) >= len(targets) - 1:
            at = next(i for i, t in enumerate(targets) if isinstance(t, ast.Starred))
            behind = len(kind.items) - (len(targets) - at - 1)
            between = kind.items[at:behind]
            return [*kind.items[:at], Lst(join_all(list(between)) if between else BOTTOM), *kind.items[behind:]]
        if isinstance(kind, Perhaps):
            return [unsure(one) for one in Statements._unpack(kind.known, targets)]
        return [Lst(element_of(kind)) if isinstance(t, ast.Starred) else element_of(kind) for t in targets]


def _row(kind: Kind, value: ast.expr, facts: Mapping[ast.AST, Kind]) -> Kind:
    """A list that is written out and taken apart at once: its items one by one (``y, t = [model(x), labels]``)."""
    if not isinstance(value, ast.List) or any(isinstance(element, ast.Starred) for element in value.elts):
        return kind
    return Tup(tuple(facts[element] for element in value.elts))


def _is_same_name(target: ast.expr, value: ast.expr) -> bool:
    """``xp = xp``: of a local name, which has no value yet."""
    return isinstance(target, ast.Name) and isinstance(value, ast.Name) and target.id == value.id
