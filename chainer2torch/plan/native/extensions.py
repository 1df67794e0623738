"""What becomes of each extension that a Trainer gets: pytorch-pfn-extras has most of them under their own names."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from chainer2torch.analysis.kinds import Ref
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, Replace
from chainer2torch.plan.native.calls import bound_call, clear, operands_of
from chainer2torch.rules.signature import Bound

_MODULE = "chainer.training.extensions."
_EXTENSIONS = "pytorch_pfn_extras.training.extensions."


@dataclasses.dataclass(frozen=True)
class Form:
    """One extension. With a ``template`` its arguments change; without one the call keeps them as they are.

    ``refuses`` are parameters for which there is no place, ``extra`` keywords beyond the signature that both have.
    """

    template: str = ""
    refuses: frozenset[str] = frozenset()
    extra: frozenset[str] = frozenset()
    gone: bool = False  # nothing takes its place: the statement goes
    note: str = ""


_SAME = Form()
_RATE = "pytorch_pfn_extras.training.extensions.observe_lr(OPTIMIZER, observation_key=observation_key)"
# Chainer's Adam.lr is the rate with the bias correction of the step
_CORRECTED = (
    "pytorch_pfn_extras.training.extensions.observe_value(\n"
    "    observation_key, lambda trainer: native.corrected_rate(OPTIMIZER))"
)
_CORRECTS = frozenset(f"chainer.optimizers.{name}" for name in ("Adam", "AMSGrad", "AdamW", "AdaBound", "AMSBound"))
FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "LogReport": _SAME,
        "PrintReport": _SAME,
        "PlotReport": Form(extra=frozenset({"file_name"})),
        "ProgressBar": _SAME,
        "MicroAverage": _SAME,
        "FailOnNonNumber": _SAME,
        "observe_value": _SAME,
        "snapshot": Form(refuses=frozenset({"savefun", "writer"})),
        "snapshot_object": Form(refuses=frozenset({"savefun", "writer"})),
        "observe_lr": Form(_RATE, refuses=frozenset({"optimizer_name"})),
        "DumpGraph": Form(gone=True, note="torch has no such file; torch.export or torchviz draw graphs"),
        "dump_graph": Form(gone=True, note="torch has no such file; torch.export or torchviz draw graphs"),
    }
)
_DROP = {"observation_key": "'lr'"}
_SAVE = Ref("chainer.serializers.save_npz")
_SNAPSHOTS = frozenset({"snapshot", "snapshot_object"})


def form_of(context: Context, call: ast.expr) -> tuple[str, Form] | None:
    """The name and form of the extension that a call makes; None: it is none that is known here."""
    symbol = context.reference(call.func) if isinstance(call, ast.Call) else None
    name = (symbol or "").removeprefix(_MODULE)
    return (name, FORMS[name]) if symbol == _MODULE + name and name in FORMS else None


def unclear(context: Context, call: ast.Call, name: str, form: Form) -> str:
    """Why an extension is not understood; "" if it is."""
    bound = bound_call(context, call, _MODULE + name)
    if bound is None or bound.extra_args:
        return f"arguments of {name}"
    known = form.extra | frozenset(context.rules.rows[_MODULE + name].signature.names)  # type: ignore[union-attr]
    others = {keyword for keyword, _ in bound.extra_keywords}
    if name in _SNAPSHOTS:
        known |= {"target", "condition", "snapshot_on_error", "n_retains", "autoload"}
    refused = sorted((form.refuses & (bound.given.keys() | others)) | (others - known))
    if name in _SNAPSHOTS and context.kind(bound.given.get("savefun", call)) == _SAVE:
        refused.remove("savefun")  # Chainer's own default
    return f"`{refused[0]}` of {name}" if refused else ""


def _is_png(bound: Bound) -> bool:
    """Whether pytorch-pfn-extras' PlotReport, which always writes a PNG, does what the name of the file says."""
    names = [bound.given[key] for key in ("filename", "file_name") if key in bound.given]
    names += [value for key, value in bound.extra_keywords if key == "file_name"]
    return all(isinstance(node, ast.Constant) and str(node.value).endswith(".png") for node in names)


def _is_json(bound: Bound) -> bool:
    """Whether pytorch-pfn-extras' LogReport writes Chainer's file as the call stands.

    It knows no `log_name`, and takes the format from the ending of a name; Chainer writes JSON, whatever the name.
    """
    name = bound.given.get("filename")
    literal = isinstance(name, ast.Constant) and not str(name.value).endswith((".jsonl", ".yaml"))
    return "log_name" not in bound.given and not bound.extra_keywords and (name is None or literal)


def _needs_row(name: str, bound: Bound) -> bool:
    """Whether the arguments mean something else to pytorch-pfn-extras: the row has a form for them."""
    if name in _SNAPSHOTS:
        return "trigger" in bound.given or "savefun" in bound.given
    return name == "PlotReport" and not _is_png(bound) or name == "LogReport" and not _is_json(bound)


def emit(context: Context, decisions: Decisions, call: ast.Call, optimizer: str, made_by: str) -> None:
    """The extension in the place of a call that makes it; the optimizer's name and Chainer's name of its class."""
    found = form_of(context, call)
    assert found is not None
    name, form = found
    row = context.rules.rows[_MODULE + name]
    if form.gone:
        statement = context.source.statement(call)
        clear(context, decisions, statement)
        decisions.use(call.func)
        decisions.mark(call.func, row, row.name, "exact")
        return
    bound = bound_call(context, call, _MODULE + name)
    assert bound is not None
    if form.template:
        operands = {"OPTIMIZER": Operand(code=optimizer), **operands_of(context, bound)}
        operands.setdefault("observation_key", Operand(code=_DROP["observation_key"]))
        template = _CORRECTED if form.template is _RATE and made_by in _CORRECTS else form.template
        decisions.edit(call, Replace(context.source.span(call), template, operands, _DROP if template is _RATE else {}))
    elif _needs_row(name, bound):
        return
    else:
        decisions.edit(call, Replace(context.source.span(call), _EXTENSIONS + name, {}, callee_only=True))
    decisions.use(call.func)
    decisions.mark(call.func, row, row.name, "exact", difference="weight-files" if name in _SNAPSHOTS else "")


__all__ = ["FORMS", "Form", "emit", "form_of", "unclear"]
