"""Iterators become DataLoaders, and the loops over them ``for`` loops."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable

from chainer2torch.analysis.kinds import NONE, Const, Dct, Func, Inst, Ref, options
from chainer2torch.analysis.source import nodes_of, within
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import IntoFor, Operand, Remove, Replace, ReplaceStatement
from chainer2torch.plan.native import opened, places
from chainer2torch.plan.native.concerns import is_native, native_objects
from chainer2torch.plan.native.light_loaders import light_form
from chainer2torch.plan.native.loop_iterators import (
    CONCERN,
    WORKERS,
    Form,
    Iterator,
    form_of,
    is_copied,
    needs_collation,
)
from chainer2torch.plan.native.loop_shapes import Batch, Loop
from chainer2torch.plan.native.filled_updaters import is_drawn_inside, is_filled_in
from chainer2torch.plan.native.managers import group_of, hand_over
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.project_rules import has_short_iterators
from chainer2torch.plan.questions.device_specs import device_of_number
from chainer2torch.plan.questions.meeting_iterators import meets_another
from chainer2torch.plan.questions.nones import may_be_none
from chainer2torch.plan.questions.rows import row_of_kind

_REASON = "an iterator that becomes a DataLoader"
_BASE = "chainer.dataset.Iterator"
_LOADER = "torch.utils.data.DataLoader"
_COUNTERS = ("epoch", "epoch_number", "epoch_index")
_NUMBERS = ("i", "batch_number", "batch_index")


def run(context: Context) -> Decisions:
    """The decisions for all iterators of the file that become native, and the loops over them."""
    decisions = Decisions(context)
    objects = native_objects(context)
    done: set[ast.AST] = set()
    with decisions.group(_REASON):
        for uses in objects.uses.values():
            inst = uses[0].inst
            if objects.concern(inst) is CONCERN and inst.site and objects.is_in(inst, context.module):
                iterator = settled(objects, inst)
                if isinstance(iterator, Iterator) and iterator.form is not Form.GIVEN:
                    _Writer(context, objects, decisions, inst, iterator, done).write()
        if is_native(context) and has_short_iterators(context.analysis, context.module):
            _class_tests(objects, context, decisions)
    return decisions


def settled(objects: Objects, inst: Inst) -> Iterator | str | None:
    """What an iterator becomes; a loader has no ``next()`` for updaters that draw of what they have filled in."""
    found = _light(objects, inst) if objects.reason(inst) else form_of(objects, inst)
    if not isinstance(found, Iterator) or found.form is not Form.LOADER or found.collates or found.loops:
        return found
    filled = any(is_filled_in(use) or is_drawn_inside(use) for use in objects.uses_of(inst))
    handed = not filled or hand_over(objects.context_of(objects.analysis.makers[inst.site]))
    return found if handed else dataclasses.replace(found, form=Form.BATCHES)


def _light(objects: Objects, inst: Inst) -> Iterator | None:
    """The loader of an iterator whose takers stay objects; where a loop takes their place it gives batches."""
    iterator = light_form(objects, inst)
    group = group_of(objects.context_of(objects.analysis.makers[inst.site])) if iterator is not None else None
    if iterator is None or group is None or not opened.collates(objects, inst, group.opened.values()):
        return iterator
    return dataclasses.replace(iterator, collates=True)


def _class_tests(objects: Objects, context: Context, decisions: Decisions) -> None:
    """``isinstance(it, Iterator)``, for all that iterators become; the program's own have a base of their own."""
    for node in context.source.of(ast.Call):
        if len(node.args) != 2 or node.keywords or context.kind(node.func) != Ref("builtins.isinstance"):
            continue
        name = context.reference(node.args[1])
        if name is not None and context.rules.canonical(name) == _BASE:
            analysis, row = context.analysis, context.rules.rows[_BASE]
            own = any(analysis.derives(cls, _BASE) for cls in analysis.classes.values())
            classes = [_LOADER, *["native.Batches"] * (not _are_loaders(objects, context, node.args[0]))]
            classes += ["native.Iterator"] * own
            decisions.replace(node.args[1], f"({', '.join(classes)})" if len(classes) > 1 else _LOADER, {})
            decisions.use(node.args[1])
            decisions.mark(node.args[1], row, row.name, row.state)


def _are_loaders(objects: Objects, context: Context, node: ast.expr) -> bool:
    """Whether every iterator that a function is handed becomes a loader; what an updater keeps may be none."""
    scope = places.function_of(context, node)
    arguments = [a.arg for a in nodes_of(getattr(scope, "args", ast.Pass())) if isinstance(a, ast.arg)]
    if not isinstance(node, ast.Name) or node.id not in arguments:
        return False
    kinds, found = options(context.kind(node)), objects.of(context.kind(node))
    forms = [settled(objects, inst) for inst in found if inst.site]
    known = bool(forms) and len(forms) == len(found) and all(isinstance(kind, (Inst, Dct, Const)) for kind in kinds)
    return known and all(isinstance(form, Iterator) and form.form is Form.LOADER for form in forms)


class _Writer:
    """Writes the edits of one iterator in one file; ``done`` are the places that another one has written."""

    def __init__(
        self,
        context: Context,
        objects: Objects,
        decisions: Decisions,
        inst: Inst,
        iterator: Iterator,
        done: set[ast.AST],
    ):
        self.context, self.objects, self.decisions = context, objects, decisions
        self.inst, self.iterator, self.done = inst, iterator, done

    def write(self) -> None:
        """All decisions."""
        maker = self.objects.analysis.makers[self.inst.site]
        if maker in self.context.source.parents:
            self._make(maker)
        for loop in self.iterator.loops:
            if loop.uses[0].context.module is self.context.module and self._first(loop.statement):
                self._loop(loop)
        for use in self.objects.uses_of(self.inst):
            if use.context.module is self.context.module and self._first(use.parent):
                self._use(use)

    def _first(self, place: ast.AST) -> bool:
        if place in self.done:
            return False
        self.done.add(place)
        return True

    # -- making ----------------------------------------------------------------------------------------------------

    def _number_of(self, workers: str) -> str:
        """How many workers read: without a number, as many as there are threads."""
        node = self.iterator.bound.given.get(workers)
        if node is None or self.context.kind(node) == NONE:
            return "torch.get_num_threads()"
        return f"{workers} or torch.get_num_threads()" if may_be_none(self.context, node) else workers

    def _make(self, call: ast.Call) -> None:
        given, name = self.iterator.bound.given, str(self.inst.cls).rpartition(".")[2]
        operands = {key: self.context.operand(node) for key, node in given.items()}
        parts = ["dataset", "batch_size"]
        shuffles = "shuffle" not in given or self.context.kind(given["shuffle"]) != Const(False)
        if shuffles:
            parts.append("shuffle=True")
        workers = WORKERS[name]
        if workers:
            parts.append(f"num_workers={self._number_of(workers)}")
        if self.iterator.repeats and meets_another(self.objects.analysis, self.inst.site):
            parts.append("drop_last=True")
        if not self.iterator.collates:
            parts.append("collate_fn=list")
        elif needs_collation(self.objects, self.inst):
            parts.append("collate_fn=native.collate")
        template = f"{_LOADER}({', '.join(parts)})"
        if self.iterator.form is Form.BATCHES:
            template = f"native.Batches({template})"
        elif self.iterator.form is Form.ENDLESS:
            template = f"native.endless({template})"
        elif self.iterator.form is Form.ONCE:
            template = f"iter({template})"
        self.decisions.replace(call, template, operands)
        self.decisions.use(call.func)
        row = self.context.rules.rows[str(self.inst.cls)]
        difference = "shuffle-order" if shuffles else "batch-geometry" if self.iterator.repeats else ""
        self.decisions.mark(call.func, row, row.name, row.state, difference=difference)

    # -- loops -----------------------------------------------------------------------------------------------------

    def _loop(self, loop: Loop) -> None:
        context, decisions, batch = self.context, self.decisions, loop.batch
        self._mark(loop.uses)
        statement = loop.statement
        if self.iterator.collates and isinstance(batch.target, ast.Name):
            self._tests_of_kind(statement, batch.target.id)
        if not isinstance(statement, ast.While):
            if self.iterator.collates and batch.statements and loop.bound is not None:
                parts = context.source.segment(batch.target)
                decisions.replace(loop.bound, parts if loop.bound is statement.target else f"({parts})", {})
                self._converted(batch)
            for use in loop.uses:
                if use.parent is not statement:
                    self._use(use)
            return
        target, drawn = batch.target, batch.statements[0]
        if self.iterator.collates:
            self._converted(batch)
        else:
            assert isinstance(drawn, ast.Assign)
            target = drawn.targets[0]
        self._remove([drawn] if not self.iterator.collates or len(batch.statements) > 1 else ())
        self._remove(loop.dropped)
        operands = {"loader": Operand(code=context.source.segment(loop.uses[0].node))}
        inner = f"for {self._bound(loop, target, operands)} in {'enumerate(loader)' if loop.flags else 'loader'}"
        outer = self._epochs(loop, operands) if loop.stop is not None else ""
        start = context.source.start(statement)
        behind = loop.last is not None or loop.skip is not None
        decisions.edit(statement, IntoFor(start, inner, outer, behind, operands))

    def _tests_of_kind(self, code: ast.AST, batch: str) -> None:
        """``isinstance(batch, tuple)``, also in functions of the file: a loader makes lists of a batch."""
        for call in within(code).of(ast.Call):
            given = [at for at, argument in enumerate(call.args) if getattr(argument, "id", "") == batch]
            if not given:
                continue
            callee = self.context.kind(call.func)
            if callee == Ref("builtins.isinstance") and given == [0] and len(call.args) == 2:
                if self.context.kind(call.args[1]) == Ref("builtins.tuple") and self._first(call.args[1]):
                    self.decisions.replace(call.args[1], "(tuple, list)", {})
            elif isinstance(callee, Func) and callee.info.module is self.context.module and self._first(call):
                names = callee.info.signature.positional[callee.receiver is not None :]
                for at in given:
                    if at < len(names):
                        self._tests_of_kind(callee.info.node, names[at])

    def _bound(self, loop: Loop, target: ast.expr, operands: dict[str, Operand]) -> str:
        """What the inner loop binds: also the number of a batch, where the program asks whether it is the last one."""
        text = self.context.source.segment(target)
        if not loop.flags:
            return text
        assert isinstance(loop.statement, ast.While)
        name = _free(self.context, loop.statement, _NUMBERS)
        for flag in loop.flags:
            parent = self.context.source.parents[flag]
            negated = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
            template = f"{name} + 1 {'<' if negated else '=='} len(loader)"
            place = parent if negated and isinstance(parent, ast.expr) else flag
            bare = isinstance(self.context.source.parents[place], ast.BoolOp)  # a comparison binds closer
            apart = self.context.needs_parentheses(place) and not bare
            span = self.context.source.span(place)
            self.decisions.edit(place, Replace(span, template, operands, parenthesize=apart))
        return f"{name}, ({text.strip('()')})" if isinstance(target, ast.Tuple) else f"{name}, {text}"

    def _epochs(self, loop: Loop, operands: dict[str, Operand]) -> str:
        """The head of the loop over epochs, which counts as Chainer does where the program asks."""
        assert loop.stop is not None
        operands["stop"] = Operand(code=self.context.source.segment(loop.stop))
        assert isinstance(loop.statement, ast.While)
        name = _free(self.context, loop.statement)
        for count in loop.counts:
            self.decisions.replace(count, name, {})
        if not loop.counts:
            return f"for {name} in range(stop)"
        if isinstance(loop.stop, ast.Constant) and isinstance(loop.stop.value, int):
            return f"for {name} in range(1, {loop.stop.value + 1})"
        return f"for {name} in range(1, stop + 1)"

    def _converted(self, batch: Batch) -> None:
        """The statement that converted a batch: it moves the batch to its device, or has nothing to do."""
        assert batch.converter is not None
        row = self.context.rules.rows["chainer.dataset.concat_examples"]
        self.decisions.use(batch.converter.func)
        self.decisions.mark(batch.converter.func, row, row.name, row.state)
        statement = batch.statements[-1]
        if batch.device is None:
            self._remove([statement])
            return
        names = [e.id for e in _names(batch.target)]
        operands = {"device": self.context.operand(batch.device)}
        target = ", ".join(names)
        kind = self.context.kind(batch.device)
        if isinstance(kind, Inst) and self.context.analysis.derives(kind.cls, "chainer.backend.Device"):
            value = ", ".join(f"{name}.to(device)" for name in names)
        elif len(names) > 1 and (made := self._device(batch.device)):
            value = ", ".join(f"{name}.to({made})" for name in names)
        else:
            value = f"native.to_device(device, {target if len(names) == 1 else f'({target})'})"
        start = self.context.source.start(statement)
        self.decisions.edit(statement, ReplaceStatement(start, f"{target} = {value}", operands))

    def _device(self, number: ast.expr) -> str:
        """The torch.device of a number, as a template; "" where it may be something else."""
        made = device_of_number(self.context, number, "device")
        open_none = may_be_none(self.context, number) and "is not None" not in made
        return made if made.startswith("torch.device(") and not open_none else ""

    def _remove(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            if self._first(statement):
                self.decisions.edit(statement, Remove(self.context.source.start(statement)))

    # -- other uses ------------------------------------------------------------------------------------------------

    def _mark(self, uses: Iterable[Use]) -> None:
        for use in uses:
            row = row_of_kind(self.context, use.inst, use.member) if use.member else None
            if row is not None and isinstance(use.parent, ast.Attribute) and self._first(use.parent):
                difference = "batch-geometry" if use.member == "next" and self.iterator.repeats else ""
                self.decisions.mark(use.parent, row, row.name, row.state, difference=difference)

    def _use(self, use: Use) -> None:
        context, decisions = self.context, self.decisions
        parent = use.parent
        if isinstance(parent, ast.Call):  # copy.copy(iterator): a DataLoader may be read by several loops
            if is_copied(use) and self.iterator.form is not Form.BATCHES:
                decisions.replace(parent, "value", {"value": context.operand(use.node)})
            return
        if not isinstance(parent, ast.Attribute):
            return
        self.done.discard(parent)
        self._mark([use])
        batches = self.iterator.form is Form.BATCHES
        python = self.iterator.form in (Form.ENDLESS, Form.ONCE)
        if python and use.call is not None and use.member in ("next", "__next__"):
            decisions.replace(use.call, "next(self)", {"self": context.operand(use.node)})
            return
        if use.call is not None and (use.member == "finalize" or use.member == "reset" and not batches):
            self._remove([context.source.statement(use.call)])
        elif batches and use.member in ("dataset", "batch_size"):
            decisions.replace(parent, f"self.loader.{use.member}", {"self": context.operand(use.node)})
        elif batches and use.member == "__next__":
            decisions.replace(parent, "self.next", {"self": context.operand(use.node)})


def _names(target: ast.expr) -> list[ast.Name]:
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return [part for part in parts if isinstance(part, ast.Name)]


def _free(context: Context, loop: ast.stmt, names: tuple[str, ...] = _COUNTERS) -> str:
    """``epoch``, or another name that the function does not bind."""
    function = places.function_of(context, loop) or context.source.tree
    taken = {n.id for n in nodes_of(function) if isinstance(n, ast.Name)}
    taken |= {a.arg for a in nodes_of(function) if isinstance(a, ast.arg)}
    return next((name for name in names if name not in taken), f"_{names[0]}")


__all__ = ["run", "settled"]
