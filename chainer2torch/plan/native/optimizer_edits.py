"""Optimizers of Chainer's become optimizers of PyTorch: what is written for each use of one that becomes native."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from chainer2torch.analysis.kinds import Inst
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, Remove, Replace, ReplaceStatement
from chainer2torch.analysis import helpers_of_steps
from chainer2torch.plan.native import heeding, places, optimizer_settings
from chainer2torch.plan.native.calls import handed_on
from chainer2torch.plan.native.class_checks import asked_classes
from chainer2torch.plan.native.concerns import native_objects
from chainer2torch.plan.native.hooks import Way, hooks_of
from chainer2torch.plan.native.late_uses import in_file
from chainer2torch.plan.native.managers import group_of
from chainer2torch.plan.native.named_optimizers import take_table
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.native.opened import steps_only
from chainer2torch.plan.native.optimizer_forms import NAMED
from chainer2torch.plan.native.optimizer_lines import clear_model, fills, is_one_of, loss_lines, written
from chainer2torch.plan.native.optimizer_places import (
    Place,
    Placement,
    families,
    is_assigned,
    is_statement,
    model_of,
    placement,
    sets_up_again,
)
from chainer2torch.plan.native.optimizers import (
    CHANGES,
    CONCERN,
    by_name,
    is_alike,
    loss_given,
    needs_target,
    target_clears,
)
from chainer2torch.plan.questions import graph_crossings
from chainer2torch.plan.questions.bare_links import parameters_of
from chainer2torch.plan.questions.read_gradients import asks_for_missing
from chainer2torch.plan.questions.rows import row_of_kind

_REASON = "an optimizer that becomes one of PyTorch's"
_NO_PARAMETERS = "[{'params': []}]"
_FILL = "native.fill_missing_gradients"
_CROSSED = "native.step_keeping_graphs(self)"
_SUBSTITUTES, _DIFFERENCES = {"zero_grads": "self.zero_grad"}, {"clip_grads": "clipped-norms"}


def run(context: Context) -> Decisions:
    """The decisions for all optimizers of the file that become native."""
    decisions = Decisions(context)
    objects = native_objects(context)
    stepped: set[ast.AST] = set()
    for family in objects.once(_families):
        if not any(objects.is_in(inst, context.module) for inst in family):
            continue
        with decisions.group(_REASON):
            writer = _Writer(context, objects, decisions, family)
            plain = not any(h.way is Way.LINE for h in writer.hooks)
            writer.done |= stepped if plain else set()
            writer.write()
        # of several that meet in a variable one writes the step
        stepped |= {node for node in writer.done if plain and is_alike(context, node)}
    handed = [use for use in objects.unknown_sites() if objects.concern(use.inst) is CONCERN]
    _Writer(context, objects, decisions, ()).write_uses(use for use in handed if not objects.reason_at(use))
    uses, hooks = in_file(objects, context)
    late = _Writer(context, objects, decisions, ())
    late.hooks = list(hooks)
    late.write_uses(uses)
    return decisions


def _families(objects: Objects) -> list[list[Inst]]:
    return families(objects, CONCERN)


class _Writer:
    """Writes the edits of one optimizer in one file."""

    def __init__(self, context: Context, objects: Objects, decisions: Decisions, family: Sequence[Inst]):
        self.context, self.objects, self.decisions, self.family = context, objects, decisions, family
        found = [placement(objects, inst) for inst in family]
        self.placements = [p for p in found if isinstance(p, Placement)]
        uses = {use.node: use for inst in family for use in objects.uses_of(inst)}
        self.uses = list(uses.values())
        self.hooks = hooks_of(objects, self.uses, self.placements)
        self.heeds = any(heeding.heeds(objects, inst) for inst in family)  # marks, behind the last hook
        self.last = heeding.last_hook(context, [u for u in self.uses if u.member == "add_hook"]) if self.heeds else None
        self.done: set[ast.AST] = set()

    def write(self) -> None:
        """All decisions."""
        for inst, made in zip(self.family, self.placements):
            if made.maker in self.context.source.parents:
                self._make(inst, made)
            for setup in made.setups:
                if made.place in (Place.MAKER, Place.LATER, Place.EMPTY) and setup in self.context.source.parents:
                    self._setup(inst, made, setup, self.context.source.statement(setup))
        self.write_uses(self.uses)
        for made in self.placements:
            own = [setup for setup in made.setups if setup in self.context.source.parents]
            for setup in own if len({ast.unparse(model_of(setup)) for setup in own}) == 1 else ():
                clear_model(self.context, self.decisions, self.uses, self.done, setup)

    def write_uses(self, uses: Iterable[Use]) -> None:
        """The uses of optimizers in this file, also of such whose site is not known: what an updater hands out."""
        for use in uses:
            elsewhere = use.context.module is not self.context.module
            if elsewhere or use.parent in self.done or use.member == "serialize":
                continue
            if use.member:
                self.done.add(use.parent)
                self._use(use)
            elif (having := optimizer_settings.asked_setting(self.objects, use)) is not None:
                assert isinstance(use.parent, ast.Call)
                self.done.add(use.parent)
                test = is_one_of(having) if having else "False"
                self.decisions.replace(use.parent, test, {"self": self.context.operand(use.node)})
            elif helper := by_name(use):
                assert isinstance(use.parent, ast.Call)
                self.done.add(use.parent)
                self.decisions.replace(use.parent.func, helper, {})
            elif classes := asked_classes(self.objects, use):
                self.done.add(use.parent)
                for node, name in classes.items():
                    symbol = self.context.reference(node) or ""
                    self.decisions.use(node)
                    self.decisions.mark(node, self.context.rules.rows.get(symbol), symbol, "exact")
                    self.decisions.replace(node, name, {})

    # -- making ----------------------------------------------------------------------------------------------------

    def _make(self, inst: Inst, made: Placement) -> None:
        context, decisions, source = self.context, self.decisions, self.context.source
        row = context.rules.rows[str(inst.cls)]
        assert row.signature is not None
        defaults = row.signature.defaults
        operands = {name: Operand(code=text) for name, text in defaults.items()}
        operands.update({name: context.operand(node) for name, node in made.bound.given.items()})
        name, texts = written(context, made, defaults)
        if isinstance(made.options, ast.Starred):
            texts = [text.replace("**options", "*options") for text in texts]
            operands["options"] = context.operand(made.options.value)
        elif made.options is not None:
            operands["options"] = context.operand(made.options)
        if made.form is NAMED:
            take_table(context, decisions, made.maker, name)
            name, operands["chosen"] = "chosen", context.operand(made.maker.func)
            texts, others = handed_on(context, made.maker.args, made.maker.keywords)
            operands.update(others)
        for hooked in self.hooks:
            if hooked.way is Way.ARGUMENT:
                texts.append("weight_decay=rate")
                operands["rate"] = hooked.operands["rate"]
        unnamed = made.place in (Place.LATER, Place.EMPTY)
        params = _NO_PARAMETERS if unnamed else parameters_of(context, made.model)
        if made.place is Place.LATER:
            template = f"functools.partial({', '.join([name, *texts])})" if texts else name
        else:
            template = f"{name}({', '.join([params, *texts])})"
        if made.form is not NAMED:
            decisions.use(made.maker.func)
            decisions.mark(made.maker.func, row, row.name, row.state)
        if unnamed:
            decisions.edit(made.maker, Replace(source.span(made.maker), template, operands))
            return
        assert made.setup is not None
        once = self._named_once(made.setup)
        if once:
            template = template.replace(params, _NO_PARAMETERS, 1)
        if made.place is Place.MAKER:
            operands["link"] = Operand(code=source.segment(made.model))
            decisions.edit(made.maker, Replace(source.span(made.maker), template, operands))
            return
        first, second = source.statement(made.maker), source.statement(made.setup)
        operands["link"] = context.operand(made.model)
        if made.place is Place.SETUP:
            assert isinstance(first, ast.Assign)
            decisions.edit(first, Remove(source.start(first)))
            template = f"native.set_up({template}, link)" if once else template
            template = "\n".join([f"optimizer = {template}", *self._behind("optimizer", "" if once else "link")])
            operands["optimizer"] = Operand(code=source.segment(first.targets[0]))
            decisions.edit(second, ReplaceStatement(source.start(second), template, operands))
        elif self._behind("optimizer", "link") and not is_assigned(context, made.setup):
            operands["model"] = Operand(code=source.segment(made.model))
            template = template.replace(params, _NO_PARAMETERS, 1)
            decisions.edit(made.setup, Replace(source.span(made.setup), f"native.set_up({template}, model)", operands))
        elif self._behind("optimizer", "link"):
            assert isinstance(second, ast.Assign)
            template = f"native.set_up({template}, link)" if once else template
            template = "\n".join([f"optimizer = {template}", *self._behind("optimizer", "" if once else "link")])
            operands["optimizer"] = Operand(code=source.segment(second.targets[0]))
            decisions.edit(second, ReplaceStatement(source.start(second), template, operands))
        else:
            decisions.edit(made.setup, Replace(source.span(made.setup), template, operands))

    def _setup(self, inst: Inst, made: Placement, setup: ast.Call, statement: ast.stmt) -> None:
        """The statement of ``setup``, whose model the optimizer has got already."""
        receiver, alone = setup.func, is_statement(self.context, setup)
        if (statement if alone else setup) in self.done:
            return
        self.done.add(statement if alone else setup)
        start = self.context.source.start(statement)
        assert isinstance(receiver, ast.Attribute)
        if made.place is Place.EMPTY and not alone:
            its = {"self": self.context.operand(receiver.value), "link": self.context.operand(model_of(setup))}
            self.decisions.edit(setup, Replace(self.context.source.span(setup), "native.set_up(self, link)", its))
            return
        lines = [f"self = self({parameters_of(self.context, model_of(setup))})"] if made.place is Place.LATER else []
        once = self._named_once(setup)
        if once:
            lines = [f"{'self = ' * bool(lines)}native.set_up(self{f'({_NO_PARAMETERS})' * bool(lines)}, link)"]
        elif made.place is Place.EMPTY:
            lines = ["self.param_groups[0]['params'] = list(link.parameters())"]
            lines += ["self.state.clear()"] if sets_up_again(self.objects, inst) else []
        lines += self._behind("self", "" if once else "link")
        if lines:
            operands = {
                "self": Operand(code=self.context.source.segment(receiver.value)),
                "link": self.context.operand(model_of(setup)),
            }
            self.decisions.edit(statement, ReplaceStatement(start, "\n".join(lines), operands))
        else:
            self.decisions.edit(statement, Remove(start))

    def _named_once(self, setup: ast.Call) -> bool:
        """Whether the model may be named once only: ``setup(Net())`` makes one, and the optimizer is asked for it."""
        return self._asks() and any(isinstance(node, (ast.Call, ast.Await)) for node in nodes_of(model_of(setup)))

    def _asks(self) -> bool:
        """Whether the optimizer has to know its model."""
        return needs_target(self.objects, self.family, self._is_lent) or any(h.way is Way.OBJECT for h in self.hooks)

    def _behind(self, optimizer: str, model: str) -> list[str]:
        """What is said behind the statement that makes an optimizer, as lines of a template; no model: it knows it."""
        lines = [f"{optimizer}.target = {model}"] if model and self._asks() else []
        lines += [f"{optimizer}.register_step_pre_hook({_FILL})"] if self._fills() else []
        return [*lines, *([f"{heeding.HEED}({optimizer})"] if self.heeds and not self.hooks else [])]

    def _is_lent(self, inst: Inst) -> bool:
        """Whether an object with Chainer's interface takes an optimizer: a loop in its place names the model."""
        group = group_of(self.context)
        steps = group.opened.values() if group is not None else ()
        lent = self.objects.is_lent(inst) and not steps_only(self.objects, inst, steps)
        return lent or self.objects.is_unseen(inst)

    def _fills(self) -> bool:
        """Whether gradients that the backward pass misses make a difference, to a class of torch.optim or later on."""
        return fills(self.placements, self.hooks) or asks_for_missing(self.context)

    # -- using -----------------------------------------------------------------------------------------------------

    def _use(self, use: Use) -> None:
        context, decisions = self.context, self.decisions
        attribute = use.parent
        assert isinstance(attribute, ast.Attribute)
        row = row_of_kind(context, use.inst, use.member)
        if row is not None:
            decisions.mark(attribute, row, row.name, row.state, difference=_DIFFERENCES.get(use.member, ""))
        setting = optimizer_settings.setting_of(self.objects, use)
        if use.call is not None and use.member != "target":
            self._call(use, use.call, attribute)
        elif (as_whole := optimizer_settings.set_by(self.objects, use)) is not None:
            statement, line = as_whole
            operands = {"self": context.operand(use.node), "value": context.operand(statement.value)}
            decisions.edit(statement, ReplaceStatement(context.source.start(statement), line, operands))
        elif setting is not None:
            whole = optimizer_settings.setting_node(use)
            assert isinstance(whole, ast.Attribute)
            if whole is not attribute and (its := row_of_kind(context, use.inst, whole.attr)) is not None:
                decisions.mark(whole, its, its.name, its.state)
            decisions.replace(whole, setting, {"self": context.operand(use.node)})
        elif classes := optimizer_settings.guarded(self.objects, use):
            self._set_where_it_is(use, classes)
        elif (clears := target_clears(use)) is not None:
            decisions.replace(clears.func, "self.zero_grad", {"self": context.operand(use.node)})
            method = clears.func
            row = context.rules.member("chainer.Link", method.attr) if isinstance(method, ast.Attribute) else None
            if row is not None:
                decisions.mark(method, row, row.name, "exact")

    def _set_where_it_is(self, use: Use, classes: Mapping[str, Sequence[str]]) -> None:
        """``optimizer.alpha = x``, where some of the optimizers have no such setting."""
        context, whole = self.context, optimizer_settings.setting_node(use)
        statement = context.source.parents[whole]
        assert isinstance(statement, ast.Assign)
        lines: list[str] = []
        for setting, torch in classes.items():
            lines.append(f"{'elif' if lines else 'if'} {is_one_of(torch)}:\n    {setting} = value")
        operands = {"self": Operand(code=context.source.segment(use.node)), "value": context.operand(statement.value)}
        operands = (
            operands
            if len(lines) == 1
            else {**operands, "value": Operand(code=context.source.segment(statement.value))}
        )
        decisions, start = self.decisions, context.source.start(statement)
        decisions.edit(statement, ReplaceStatement(start, "\n".join(lines), operands))

    def _call(self, use: Use, call: ast.Call, attribute: ast.Attribute) -> None:
        context, decisions, source = self.context, self.decisions, self.context.source
        statement = source.statement(call)
        if use.member == "update":
            self._step(use, call, attribute, statement)
        elif use.member == "add_hook":
            self._hook(use, call, statement)
        elif use.member in CHANGES:
            operands = {"self": Operand(code=source.segment(use.node))}
            operands |= dict(zip(["value"], map(context.operand, call.args)))
            lines = "\n".join(CHANGES[use.member])
            decisions.edit(statement, ReplaceStatement(source.start(statement), lines, operands))
        elif use.member in _SUBSTITUTES:
            decisions.replace(attribute, _SUBSTITUTES[use.member], {"self": context.operand(use.node)})
        elif use.member == "setup":
            if not any(inst.site for inst in self.objects.of(context.kind(use.node))):
                operands = {"self": context.operand(use.node), "link": context.operand(model_of(call))}
                decisions.replace(call, "native.set_up(self, link)", operands)
        else:  # says nothing in PyTorch
            decisions.edit(statement, Remove(source.start(statement)))

    def _hook(self, use: Use, call: ast.Call, statement: ast.stmt) -> None:
        context, decisions = self.context, self.decisions
        hooked = next(h for h in self.hooks if h.call is call)
        start = context.source.start(statement)
        heed = f"{heeding.HEED}(self)" if call is self.last else ""
        if hooked.way is Way.OBJECT:
            operands = {"self": context.operand(use.node), "hook": context.operand(call.args[0])}
            template = f"{hooked.hook.function}(self, hook)"
            if heed:
                decisions.edit(statement, ReplaceStatement(start, f"{template}\n{heed}", operands))
            else:
                decisions.replace(call, template, operands)
            return
        row = context.rules.rows[hooked.name]
        decisions.use(hooked.made.func)
        decisions.mark(hooked.made.func, row, row.name, row.state, difference=hooked.hook.difference)
        if hooked.way in (Way.ARGUMENT, Way.LINE):
            its = {"self": context.operand(use.node)}
            decisions.edit(statement, ReplaceStatement(start, heed, its) if heed else Remove(start))
            return
        names = hooked.hook.arguments
        operands = {name: hooked.operands[name] for name in names}
        template = f"native.before_step(self, {', '.join((hooked.hook.function, *names))})"
        if hooked.way is Way.GROUP:
            template = "self.param_groups[0]['weight_decay'] = rate"
        if hooked.fills:
            template = f"self.register_step_pre_hook({_FILL})\n{template}"
        operands["self"] = context.operand(use.node)
        template = f"{template}\n{heed}" if heed else template
        decisions.edit(statement, ReplaceStatement(start, template, operands))

    def _step(self, use: Use, call: ast.Call, attribute: ast.Attribute, statement: ast.stmt) -> None:
        """``opt.update()`` and ``opt.update(loss_function, x, t)``, with what hooks do before the step."""
        context, decisions, function = self.context, self.decisions, places.function_of(self.context, call)
        lines = [h for h in self.hooks if h.way is Way.LINE and h.context.module is context.module]
        lines = [h for h in lines if places.function_of(context, h.call) is function]
        crossed, given = self._crossed(use), loss_given(call)
        crosses = ast.unparse(use.node) in crossed
        if not lines and not given:
            whole, step = (call, _CROSSED) if crosses else (attribute, "self.step")
            decisions.replace(whole, step, {"self": context.operand(use.node)})
            return
        operands = {"self": context.operand(use.node)}
        keeps = bool(crossed) and not graph_crossings.is_last(context, function, call)
        template = loss_lines(context, call, operands, keeps) if given else []
        for i, hooked in enumerate(lines):
            names = [f"hook{i}_{name}" for name in hooked.hook.arguments]
            operands.update(zip(names, (hooked.operands[name] for name in hooked.hook.arguments)))
            setups = (s for made in self.placements for s in made.setups if s in context.source.parents)
            setup = next(s for s in setups if places.function_of(context, s) is function)
            operands["model"] = Operand(code=context.source.segment(model_of(setup)))
            template.append(f"{hooked.hook.function}({', '.join(('model.parameters()', *names))})")
        template.append(_CROSSED if crosses else "self.step()")
        start = context.source.start(statement)
        decisions.edit(statement, ReplaceStatement(start, "\n".join(template), operands))

    def _crossed(self, use: Use) -> frozenset[str]:
        """The optimizers whose steps a graph outlives in the code around a use, as that of a generator in a GAN."""
        around = places.function_of(self.context, use.node) or self.context.source.tree
        if not isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            return frozenset()
        found = graph_crossings.crossed(self.context.analysis, around)
        if isinstance(use.node, ast.Name) and not isinstance(around, ast.Module):
            found |= self._crossed_by_callers(around, use.node.id)
        outlived = graph_crossings.is_outlived(self.context, around, use.node)
        return found | {ast.unparse(use.node)} if outlived else found

    def _crossed_by_callers(self, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> frozenset[str]:
        """The same of an optimizer that the code around is handed: ``def update(opt, loss)``."""
        context = self.context
        if name not in helpers_of_steps.asked(function, frozenset({"update"})):
            return frozenset()
        for call in helpers_of_steps.calls_of(context.source, function):
            outer = places.function_of(context, call) or context.source.tree
            value = helpers_of_steps.handed(function, call, name)
            if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)) and value is not None:
                if ast.unparse(value) in graph_crossings.crossed(context.analysis, outer):
                    return frozenset({name})
        return frozenset()


__all__ = ["run"]
