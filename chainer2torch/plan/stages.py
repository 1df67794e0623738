"""One part of a project at a time (``migrate --only``): what belongs to which stage, and what stands at the seams.

A stage is *out* when the project names something of Chainer's that belongs to it and it is not chosen: it is still
Chainer's after this run. What is not chosen stays as it is, without a marker, and is listed as kept. Where a chosen
part meets one that is out, an adapter of ``compat/half_way_*.py`` stands between them. The adapters let through what
is on the right side already, so nothing has to be guessed; a later run takes them away.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Inst, Ref, options
from chainer2torch.analysis.libraries import adapted
from chainer2torch.rules.stage_names import STAGES
from chainer2torch.plan.edits import Replace, Site, Wrap
from chainer2torch.rules.signature import BindError

if TYPE_CHECKING:
    from chainer2torch.analysis.flow import Analysis
    from chainer2torch.plan.sites import Plan
    from chainer2torch.rules.table import Row

TRAINING, DATA, MODELS = "training", "data", "models"
CODE = "C2T017"
_MARKER = "# TODO(chainer2torch "
_MARKERS = 20  # the most lines of comments that are looked at above a statement
_TABLES = {
    **dict.fromkeys(
        (
            "optimizer.toml",
            "optimizer_old_names.toml",
            "optimizer_hooks.toml",
            "optimizers.toml",
            "extensions.toml",
            "training.toml",
            "triggers.toml",
            "updaters.toml",
            "snapshot_writers.toml",
            "serializer_protocol.toml",
            "chainermn.toml",
            "chainermn_aliases.toml",
        ),
        TRAINING,
    ),
    **dict.fromkeys(("dataset.toml", "datasets.toml", "iterators.toml"), DATA),
}
# these go with what they get
_EITHER = ("reporter.toml", "serializers.toml")
# names without a rule
_MODULES = (
    ("chainer.training", TRAINING),
    ("chainer.optimizers", TRAINING),
    ("chainer.optimizer", TRAINING),
    ("chainer.serializers", TRAINING),
    ("chainermn", TRAINING),
    ("chainer.datasets", DATA),
    ("chainer.iterators", DATA),
    ("chainer.dataset", DATA),
)
# what makes the arrays that models take: they are of the model's kind and on its device
_CONVERTERS = tuple(
    f"chainer.dataset.{name}"
    for name in ("concat_examples", "to_device", "converter", "Converter", "ConcatWithAsyncTransfer")
)
_FILES = ("load_npz", "save_npz", "load_hdf5", "save_hdf5")
# what has no form for models of the other framework
_WHOLE = frozenset(
    {
        "chainer.training.updaters.ParallelUpdater",
        "chainer.training.updaters.MultiprocessParallelUpdater",
        "chainer.training.extensions.DumpGraph",
        "chainer.training.extensions.dump_graph",
        "chainer.training.extensions.VariableStatisticsPlot",
        "chainer.training.extensions.unchain_variables",
        "chainer.training.extensions.ParameterStatistics",
    }
)
# the arguments of the training that are models
_MODEL_ARGUMENTS = {
    "chainer.GradientMethod.setup": "link",
    "chainer.training.extensions.Evaluator": "target",
    "chainer.training.extensions.snapshot_object": "target",
    "chainer.training.extensions.snapshot": "target",
}
_OF_LINKS = ("Trainer", "StandardUpdater", "Evaluator")
_PLAIN = re.compile(rf"\bcompat\.({'|'.join(_OF_LINKS)})\b")
# an adapter, and the stages between which it stands
_ADAPTERS = {
    "as_torch_model": MODELS,
    **dict.fromkeys(
        ("as_chainer_link", "as_chainer_iterator", "as_chainer_loss", "as_torch_converter", "as_chainer_report"),
        TRAINING,
    ),
}
# a method of the user's that Chainer's training calls, and that has no adapter
_OWN_TRAINING = {"chainer.training.extensions.Evaluator": "evaluate"}
# what stays Chainer's in the training's code and meets tensors there
_MEET_TENSORS = {
    "chainer.training.updaters.StandardUpdater.converter": "compat.as_torch_converter(value)",
    "chainer.report": "compat.as_chainer_report(value)",
}
_ARRAYS = "Chainer hands arrays to it and its model takes tensors by now; migrate the training with the models"
_NO_HALF = "has no form in which the training and the models are of different frameworks; migrate them together"


@dataclasses.dataclass(frozen=True)
class Stages:
    """What this run migrates (``chosen``) and what is Chainer's afterwards (``out``)."""

    chosen: frozenset[str]
    out: frozenset[str]

    @classmethod
    def of(cls, analysis: Analysis, only: Iterable[str]) -> Stages:
        """The stages of a run; ``only`` empty: everything."""
        chosen = frozenset(only) or frozenset(STAGES)
        return cls(chosen, analysis.once(_present) - chosen if len(chosen) < len(STAGES) else frozenset())


def _stage(row: Row | None, name: str) -> str:
    if name.startswith(_CONVERTERS):
        return MODELS
    if row is not None:
        return _TABLES.get(row.table, MODELS)
    return next((stage for module, stage in _MODULES if name == module or name.startswith(module + ".")), MODELS)


def _present(analysis: Analysis) -> frozenset[str]:
    """The stages of which the project names something."""
    found: set[str] = set()
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.Name, ast.Attribute):
            kind = analysis.kind(node)
            if not isinstance(kind, Ref) or kind.name not in analysis.libraries:
                continue
            row = analysis.rules.rows.get(kind.name)
            inner = isinstance(module.source.parents.get(node), ast.Attribute)
            if not inner if row is None else row.table not in _EITHER:
                found.add(_stage(row, kind.name))
    return frozenset(found)


def models_are_left(plan: Plan) -> bool:
    """Whether the runs before left the models of this file to another one: it names what belongs to them unmarked."""
    for node in plan.source.of(ast.Name, ast.Attribute):
        kind = plan.analysis.kind(node)
        row = plan.rules.rows.get(kind.name) if isinstance(kind, Ref) and kind.name in plan.analysis.libraries else None
        if (
            row is not None
            and row.table not in _EITHER
            and _stage(row, row.name) == MODELS
            and not _through_variable(plan, node)
            and not plan.skipped.node(node)
            and not any(_MARKER in line for line in comments_above(plan, node))
        ):
            return True
    return False


def _through_variable(plan: Plan, node: ast.expr) -> bool:
    """Whether a name of Chainer's is reached through a variable: the marker is where that got its value."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in plan.variables


def comments_above(plan: Plan, node: ast.AST) -> Iterator[str]:
    """The lines of comments above the statement of a node, the last one first."""
    number = plan.source.line_statement(node).lineno - 1
    for line in reversed(plan.source.text[: plan.source.line_starts[number]].splitlines()[-_MARKERS:]):
        if not line.lstrip().startswith("#"):
            return
        yield line


def marked_before(plan: Plan, node: ast.Attribute) -> bool:
    """Whether an earlier run left a marker here because nobody knew what the attribute is asked of."""
    return any(f" ?.{node.attr}:" in line for line in comments_above(plan, node))


def later(plan: Plan, node: ast.AST, row: Row | None, name: str) -> bool:
    """Whether a reference is left for another run; it is then listed as kept (or marked, where it cannot stay)."""
    if not plan.choices.only:
        return False
    stages = plan.stages
    if _whole(row, name) and stages.out & {TRAINING, MODELS} and stages.chosen & {TRAINING, MODELS}:
        plan.mark(node, row, name, "manual", f"{name.rsplit('.', 1)[-1]} {_NO_HALF}", CODE)
        return True
    needs = _needs(plan, node, row, name)
    if needs & stages.chosen and not needs & stages.out:
        return False
    goes_with = " and ".join(stage for stage in STAGES if stage in needs)
    plan.kept[node] = Site.at(node, name, "kept", CODE, f"not in this stage: goes with {goes_with}")
    return True


def _whole(row: Row | None, name: str) -> bool:
    return (
        name.startswith("chainermn")
        or row is not None
        and any(row.name == whole or row.name.startswith(whole + ".") for whole in _WHOLE)
    )


def _needs(plan: Plan, node: ast.AST, row: Row | None, name: str) -> frozenset[str]:
    """The stages that have to be there for a reference to change."""
    table = row.table if row is not None else ""
    if table == "reporter.toml":
        cls = plan.enclosing_class(node)
        inside = cls is not None and plan.analysis.derives(cls, "chainer.Link")
        return frozenset({MODELS} if inside else {TRAINING, MODELS})
    if table == "serializers.toml" and row is not None:
        call = plan.source.parents.get(node)
        stored = _argument(call, row, "obj") if isinstance(call, ast.Call) and call.func is node else None
        if name.endswith(_FILES) and stored is not None:
            kinds = options(plan.analysis.kind(stored))
            return frozenset({MODELS if all(map(plan.analysis.is_link, kinds)) else TRAINING})
        return frozenset({TRAINING, MODELS})
    return frozenset({_stage(row, name)})


def _argument(call: ast.Call, row: Row, name: str) -> ast.expr | None:
    if row.signature is None:
        return None
    receiver = call.func.value if row.signature.is_method and isinstance(call.func, ast.Attribute) else None
    try:
        return row.signature.bind(call.args, call.keywords, receiver).given.get(name)
    except BindError:
        return None


def left(plan: Plan, found: Iterable[tuple[int, str]]) -> int:
    """How many of the references that are left in the output belong to what was to change in this run."""
    names = [plan.rules.canonical(name) for _, name in found]
    if not plan.choices.only:
        return len(names)
    kept = Counter(site.symbol for site in plan.kept.values())
    count = 0
    for name in names:
        if kept[name]:
            kept[name] -= 1
        else:
            row = plan.rules.rows.get(name)
            count += row is not None and row.table in _EITHER or _stage(row, name) in plan.stages.chosen
    return count


def seams(plan: Plan) -> None:
    """Puts adapters where a part that is Chainer's afterwards meets one that is not; takes away those that are idle."""
    stages = plan.stages
    if TRAINING in stages.chosen and MODELS in stages.out:
        for node, edit in plan.edits.items():
            if isinstance(edit, Replace):
                plan.edits[node] = dataclasses.replace(edit, template=_PLAIN.sub(r"compat.\1OfLinks", edit.template))
        _wrap_models(plan, plan.sites, "compat.as_torch_model(value)", ("Evaluator",))
    if MODELS in stages.chosen and TRAINING in stages.out:
        _wrap_models(plan, plan.kept, "compat.as_chainer_link(value)", ())
        _training_with_arrays(plan)
    if DATA in stages.chosen and TRAINING in stages.out:
        for node in plan.sites:
            call = plan.source.parents.get(node)
            if (
                isinstance(call, ast.Call)
                and call.func is node
                and any(
                    isinstance(k, Inst) and plan.analysis.derives(k.cls, "chainer.dataset.Iterator")
                    for k in options(plan.analysis.kind(call))
                )
            ):
                plan.wraps[call] = Wrap(plan.source.span(call), "compat.as_chainer_iterator(value)")
    _take_away(plan)


def _wrap_models(plan: Plan, sites: Iterable[ast.AST], template: str, own: tuple[str, ...]) -> None:
    """Models that are handed to the training; the helpers called ``own`` take either."""
    for node in list(sites):
        call = plan.source.parents.get(node)
        row = _row_of(plan, node)
        if row is None or not isinstance(call, ast.Call) or call.func is not node or row.name.endswith(own or ("-",)):
            continue
        name = _MODEL_ARGUMENTS.get(row.name, "obj" if row.table == "serializers.toml" else "")
        argument = _argument(call, row, name) if name else None
        if argument is None or _is_adapted(plan, argument):
            continue
        if name != "obj" or plan.analysis.kind(argument) == UNKNOWN:
            plan.wraps[argument] = Wrap(plan.source.span(argument), template)


def _training_with_arrays(plan: Plan) -> None:
    """Adapters in code that Chainer's training calls and that meets models which take tensors; marks what has none."""
    for cls in plan.source.of(ast.ClassDef):
        info = plan.analysis.classes.get(cls)
        for base, method in _OWN_TRAINING.items() if info is not None else ():
            own = info.methods.get(method) if info is not None else None
            if own is not None and info is not None and plan.analysis.derives(info, base):
                plan.mark(own.node, plan.rules.rows.get(base), f"{base}.{method}", "manual", _ARRAYS, CODE)
    for node, site in list(plan.kept.items()):
        call, row = plan.source.parents.get(node), plan.rules.rows.get(site.symbol)
        if row is None or isinstance(call, ast.Call) and node in call.args and _is_adapted(plan, call):
            continue
        if (
            row.name in _MEET_TENSORS
            and isinstance(node, ast.expr)
            and isinstance(getattr(node, "ctx", None), ast.Load)
        ):
            plan.wraps[node] = Wrap(plan.source.span(node), _MEET_TENSORS[row.name])
        for name in ("loss_func", "eval_func", "lossfun"):
            given = _argument(call, row, name) if isinstance(call, ast.Call) and call.func is node else None
            if given is None or isinstance(given, ast.Constant) and given.value is None or _is_adapted(plan, given):
                continue
            if name == "loss_func":
                plan.wraps[given] = Wrap(plan.source.span(given), "compat.as_chainer_loss(value, arrays=True)")
            elif name == "lossfun" and not (isinstance(call, ast.Call) and _hands_arrays(plan, call, given)):
                plan.wraps[given] = Wrap(plan.source.span(given), "compat.as_chainer_loss(value)")
            else:
                del plan.kept[node]
                plan.mark(node, row, site.symbol, "manual", _ARRAYS, CODE)


def _hands_arrays(plan: Plan, call: ast.Call, lossfun: ast.expr) -> bool:
    """Whether a loss function gets arrays of the host as arguments."""
    return any(
        isinstance(kind, HostArray)
        for given in (*call.args, *(keyword.value for keyword in call.keywords))
        if given is not lossfun
        for kind in options(plan.analysis.kind(given))
    )


def _is_adapted(plan: Plan, value: ast.expr) -> bool:
    """Whether an earlier run has put an adapter here."""
    kind = plan.analysis.kind(value.func) if isinstance(value, ast.Call) else None
    return isinstance(kind, Ref) and adapted(kind.name)


def _row_of(plan: Plan, node: ast.AST) -> Row | None:
    site = plan.sites.get(node) or plan.kept.get(node)
    return None if site is None else plan.rules.rows.get(site.symbol)


def _take_away(plan: Plan) -> None:
    """Adapters of an earlier run between parts that are both on torch's side by now."""
    for node, name in _helpers(plan):
        call = plan.source.parents.get(node)
        if (
            name in _ADAPTERS
            and isinstance(call, ast.Call)
            and call.func is node
            and len(call.args) == 1
            and _ADAPTERS[name] not in plan.stages.out
        ):
            plan.replace(call, "value", {"value": plan.operand(call.args[0])})
        elif name.endswith("OfLinks") and MODELS not in plan.stages.out:
            plan.replace(node, f"compat.{name.removesuffix('OfLinks')}", {})


def _helpers(plan: Plan) -> Iterator[tuple[ast.expr, str]]:
    """The references of a file to adapters, by their names."""
    if "chainer_compat" not in plan.source.text:
        return
    for node in plan.source.of(ast.Name, ast.Attribute):
        kind = plan.analysis.kind(node)
        if isinstance(kind, Ref) and "chainer_compat" in kind.name.split(".")[:-1] and isinstance(node.ctx, ast.Load):
            yield node, kind.name.rsplit(".", 1)[-1]


__all__ = ["CODE", "STAGES", "Stages", "later", "left", "marked_before", "seams"]
