"""The passes in their order, each once, with what it may override and to what it yields."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.analysis.values import dataclass
from chainer2torch.plan import skips
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Item, Part
from chainer2torch.plan.ledger import Ledger, Policy
from chainer2torch.plan.native import (
    array_devices,
    backward_views,
    cpu_formulas,
    converter_devices,
    dataset_classes,
    device_arguments,
    frozen,
    graph_cuts,
    loop_edits,
    modes,
    npz_readers,
    moved_variables,
    optimizer_edits,
    type_checks,
    weight_files,
)
from chainer2torch.plan.options import Options
from chainer2torch.plan.passes import (
    adapters,
    array_crossings,
    array_modules,
    computed_parameters,
    caught_errors,
    class_tests,
    device_texts,
    differentiated,
    element_keys,
    fold,
    first_gradients,
    first_setups,
    function_tests,
    foreign_bases,
    given_to_torch,
    held_gradients,
    kept_gradients,
    link_members,
    asked_members,
    asked_signatures,
    drawn_elsewhere,
    iterable_tests,
    links,
    made_arrays,
    model_copies,
    modernize,
    names_of_links,
    native_reasons,
    native_trainers,
    overridden_members,
    overridden_moves,
    plain_numbers,
    references,
    registration,
    shadowing,
    shared_steps,
    single_device,
    states,
    texts,
    unrecorded_functions,
    unresolved,
    whole_parameters,
    without_graph,
)

Run = Callable[[Context], Iterable[Item]]


@dataclass(frozen=True)
class Pass:
    """One look at a file. ``policy`` says how its decisions stand to those of the passes before it."""

    policy: Policy
    run: Run
    when: Callable[[Context], bool]

    @property
    def name(self) -> str:
        """The name by which policies and errors call the pass: that of its module."""
        return self.policy.name


def _always(_: Context) -> bool:
    return True


def _with_models(context: Context) -> bool:
    return context.with_models


def _native(context: Context) -> bool:
    return context.with_models and context.choices.style == "native"


def _on_one_device(context: Context) -> bool:
    return context.choices.parallel_updater == "single"


def _on_todays_python(context: Context) -> bool:
    return context.choices.modernize and context.with_models


def _pass(
    name: str,
    run: Run,
    *,
    when: Callable[[Context], bool] = _with_models,
    yields_to: Iterable[tuple[Part, str]] = (),
    overrides: Iterable[tuple[Part, str]] = (),
) -> Pass:
    return Pass(Policy(name, frozenset(yields_to), frozenset(overrides)), run, when)


PASSES: tuple[Pass, ...] = (
    _pass("shared_steps", shared_steps.run, when=_native),
    # first: what moves as a whole has its places before the passes that look at one expression after the other
    _pass("native_optimizers", optimizer_edits.run),
    _pass("frozen", frozen.run),
    _pass("native_loops", loop_edits.run),
    _pass("native_dataset_classes", dataset_classes.run),
    _pass("native_weight_files", weight_files.run),
    _pass("npz_readers", npz_readers.run),
    _pass("fold", fold.run),
    # array modules that become devices: the other passes leave those alone
    _pass("array_devices", array_devices.run, when=_native),
    # one function may give its array modules away and another of the file not
    _pass("array_modules", array_modules.run, yields_to=[(Part.EDIT, "array_devices")]),
    _pass("unrecorded_functions", unrecorded_functions.run, when=_native),
    _pass("made_arrays", made_arrays.run, when=_native),
    _pass("class_tests", class_tests.run),
    _pass("iterable_tests", iterable_tests.run),
    _pass("asked_members", asked_members.run),
    _pass("asked_signatures", asked_signatures.run),
    _pass("function_tests", function_tests.run),
    _pass("drawn_elsewhere", drawn_elsewhere.run, when=_native),
    _pass("given_to_torch", given_to_torch.run),
    _pass("type_checks", type_checks.run, when=_native),
    _pass("cpu_formulas", cpu_formulas.run, when=_native),
    _pass("graph_cuts", graph_cuts.run, when=_native),
    _pass("native_trainers", native_trainers.run),
    _pass("device_arguments", device_arguments.run, when=_native),
    _pass("converter_devices", converter_devices.run, when=_native),
    _pass("references", references.run, when=_always),
    _pass("caught_errors", caught_errors.run),
    _pass("native_reasons", native_reasons.run),
    _pass("names_of_links", names_of_links.run),
    _pass("device_texts", device_texts.run),
    _pass("link_members", link_members.run),
    _pass("first_setups", first_setups.run),
    _pass("first_gradients", first_gradients.run),
    _pass("whole_parameters", whole_parameters.run),
    _pass("without_graph", without_graph.run),
    _pass("computed_parameters", computed_parameters.run),
    _pass("model_copies", model_copies.run),
    _pass(
        "array_crossings",
        array_crossings.run,
        # what has been converted for its own sake is not converted again for what it meets
        yields_to=[(Part.WRAP, "references"), (Part.WRAP, "device_texts")],
        # `a // b`: the kinds of both sides are known here; `x.dtype == xp.int32`: one of torch's dtypes
        overrides=[(Part.EDIT, "references"), (Part.EDIT, "array_modules")],
    ),
    _pass(
        "states",
        states.run,
        yields_to=[(Part.WRAP, "references"), (Part.WRAP, "device_texts"), (Part.WRAP, "array_crossings")],
    ),
    _pass("modes", modes.run, when=_native),
    _pass(
        "element_keys",
        element_keys.run,
        # what is a number or a host array already needs no more
        yields_to=[(Part.WRAP, "references"), (Part.WRAP, "device_texts"), (Part.WRAP, "array_crossings")],
    ),
    _pass(
        "plain_numbers",
        plain_numbers.run,
        yields_to=[(Part.WRAP, name) for name in ("references", "device_texts", "array_crossings", "element_keys")],
    ),
    _pass(
        "held_gradients",
        held_gradients.run,
        yields_to=[(Part.WRAP, name) for name in ("references", "device_texts", "array_crossings", "element_keys")],
    ),
    _pass(
        "backward_views",
        backward_views.run,
        when=_with_models,
        yields_to=[(Part.WRAP, name) for name in ("native_dataset_classes", "references", "array_crossings")],
    ),
    _pass("kept_gradients", kept_gradients.run),
    _pass("differentiated", differentiated.run),
    # a base that is given its links; `link.__call__`
    _pass("links", links.run, overrides=[(Part.EDIT, "references"), (Part.EDIT, "asked_signatures")]),
    _pass("moved_variables", moved_variables.run, when=_native, overrides=[(Part.EDIT, "references")]),
    _pass("overridden_moves", overridden_moves.run, overrides=[(Part.EDIT, "references")]),
    _pass("overridden_members", overridden_members.run, when=_always),
    _pass("registration", registration.run),
    _pass("foreign_bases", foreign_bases.run),
    _pass(
        "single_device",
        single_device.run,
        when=_on_one_device,
        overrides=[(Part.WRAP, "references"), (Part.WRAP, "array_crossings")],
    ),
    _pass(
        "adapters",
        adapters.run,
        when=_always,
        # an adapter takes either side's values
        overrides=[(Part.WRAP, "references"), (Part.WRAP, "array_crossings"), (Part.WRAP, "states")],
    ),
    _pass("modernize", modernize.run, when=_on_todays_python),
    _pass("shadowing", shadowing.run, when=_always),
    _pass("unresolved", unresolved.run, when=_always),
    _pass("texts", texts.run, when=_always),
)


def decide(analysis: Analysis, module: ModuleInfo, options: Options) -> Ledger:
    """All decisions for one file."""
    context = Context(analysis, module, options)
    ledger = Ledger(context)
    for step in PASSES:
        if step.when(context):
            ledger.take(step.policy, step.run(context))
    ledger.leave_out(skips.MESSAGE, skips.CODE)
    return ledger
