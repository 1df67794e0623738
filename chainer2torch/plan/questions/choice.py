"""Which case of which row a call takes."""

from __future__ import annotations

import ast
import dataclasses
import functools

from chainer2torch.analysis.source import nodes_of
from chainer2torch.analysis.values import dataclass
from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, Kind, Tensor, options
from chainer2torch.analysis.models.xp_modules import EITHER, of_tensors
from chainer2torch.plan.context import Context
from chainer2torch.plan.match import Question, case_for, evaluate, names_of, parsed
from chainer2torch.plan.questions.array_makers import maker
from chainer2torch.plan.questions.asked_gradients import asks_gradient
from chainer2torch.plan.questions.filled_values import stays_filled
from chainer2torch.plan.questions.first_values import FirstValues, first_values, have_own_dtype
from chainer2torch.plan.questions.flatten import flattens
from chainer2torch.plan.questions.free_walks import pairs_freely, walks_freely, walks_in_order
from chainer2torch.plan.questions.graph_use import graph_use
from chainer2torch.plan.questions.kept_on_device import is_brought_back
from chainer2torch.plan.questions.device_specs import moves_by_number
from chainer2torch.plan.questions.meeting_iterators import leaving_out_short_batches
from chainer2torch.plan.questions.open_nones import is_open_none
from chainer2torch.plan.questions.none_attributes import may_hold_none
from chainer2torch.plan.questions.normalized_ranks import rank_beside
from chainer2torch.plan.questions.overridden_methods import own_row
from chainer2torch.plan.questions.plain_arrays import plain_arrays
from chainer2torch.plan.questions.plain_batches import is_plain_batch
from chainer2torch.plan.questions.reading import Reading, read
from chainer2torch.plan.questions.rows import row_at
from chainer2torch.plan.questions.scales import minor_version, scaled_by_version
from chainer2torch.plan.questions.seeds import seeds
from chainer2torch.plan.questions.single_arrays import is_item, is_single
from chainer2torch.plan.questions.read_twice import may_be_read_twice
from chainer2torch.plan.questions.steady_names import is_steady
from chainer2torch.plan.questions.stacked_columns import gives_single_examples
from chainer2torch.plan.questions.summed_losses import is_summed
from chainer2torch.plan.questions.uncalled_layers import is_never_called
from chainer2torch.plan.questions.unrecorded import asks_for_flags, unrecorded
from chainer2torch.plan.questions.plain_rates import rates_are_plain
from chainer2torch.plan.questions.inner_names import names_keyed, names_paired
from chainer2torch.plan.questions.walks import name_in_walk, names_asked, sizes_set
from chainer2torch.plan.questions.xp_devices import is_device
from chainer2torch.plan.questions.xp_uses import kind_on_device, module_in
from chainer2torch.plan.questions.function_lists import gets_rows_in_list
from chainer2torch.plan.questions.linear_rows import gets_rows
from chainer2torch.plan.questions.sequentials import asks_for_more, follows_linear, is_made_here
from chainer2torch.rules.signature import BindError


_MODULE = "compat.array_module"
_SIZES = frozenset({"in_size", "out_size", "in_channels", "out_channels"})


@dataclass(frozen=True, eq=False)
class Choice:
    """The case that a call takes, with what it was asked about; ``template`` None: no case fits."""

    reading: Reading
    question: Question
    template: str | None
    difference: str = ""  # the declared difference that the case makes
    undecided: bool = False  # no case fits because a guard could not be decided
    values: FirstValues = FirstValues()  # the first values of a layer that statements of their own set
    settled: bool = False  # the row has a question about the version, and the version is known

    @property
    def helpers(self) -> frozenset[str]:
        """The helpers that the case names."""
        return helpers_of(self.template) if self.template is not None else frozenset()

    @property
    def is_torch_module(self) -> bool:
        """Whether the case makes one of the classes of torch.nn."""
        template = self.template or ""
        return template.startswith("torch.nn.") and "functional" not in template


def helpers_of(template: str) -> frozenset[str]:
    """The helpers (``compat.name``, ``native.name``) that a template names."""
    return frozenset(
        node.attr
        for node in nodes_of(parsed(template))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in ("compat", "native")
    )


def choose_case(context: Context, call: ast.Call, reading: Reading) -> Choice:
    """The case of a row that a call takes, its arguments being bound."""
    on_device = _on_device(context, reading)
    question = Question(
        reading.row,
        reading.bound,
        functools.partial(kind_on_device, context) if on_device else context.kind,
        context.is_instance,
        input_kind(context, call),
        graph=lambda: graph_use(context, call),
        unrecorded=lambda: unrecorded(context, call) is not None,
        flags_asked=lambda: context.analysis.once(asks_for_flags),
        seeded=lambda: bool(seeds(context, call)),
        asked=lambda: asks_gradient(context, call),
        on_device=on_device,
        may_be_none=lambda node: may_hold_none(context, node) and not _is_size_twice(reading, node),
        is_open_none=lambda node: is_open_none(context, node),
        is_single=lambda node: is_single(context, call, node),
        is_gpu_number=lambda node: moves_by_number(context, node),
        is_item=lambda node: is_item(context, node),
        is_steady=lambda node: is_steady(context, node),
        is_path=lambda node: may_be_read_twice(context, node),
        is_made=lambda node: maker(context, node) is not None,
        is_filled=lambda node: stays_filled(context, node),
        brought_back=lambda: is_brought_back(context, call),
        walks_freely=lambda: walks_freely(context, call),
        pairs_freely=lambda: pairs_freely(context, call),
        walks_in_order=lambda: walks_in_order(context, call),
        walks_named=lambda: bool(name_in_walk(context.analysis, context.source, call)),
        names_paired=lambda: names_paired(context, call),
        names_keyed=lambda: names_keyed(context, call),
        names_asked=lambda: context.analysis.once(names_asked),
        plain_rates=lambda: context.analysis.once(rates_are_plain),
        resized=lambda: context.analysis.once(sizes_set),
        is_statement=lambda: isinstance(context.source.parents.get(call), ast.Expr),
        summed=lambda: is_summed(context, call),
        plain_batch=lambda: is_plain_batch(context, call, reading.bound.given.get("batch")),
        single_examples=lambda: gives_single_examples(context, call),
        fits=lambda template: not have_own_dtype(context, template, reading.bound.given),
        made_here=lambda: is_made_here(context, call),
        plain_sequences=lambda: not context.analysis.once(asks_for_more),
        defined=lambda: reading.row.name.rpartition(".")[2] in context.analysis.once(_methods),
    )
    if (found := _of_tensors(context, question)) is not None:
        return Choice(reading, question, found)
    case, undecided = case_for(question)
    if case is None:
        return Choice(reading, question, None, undecided=undecided)
    scaled = scaled_by_version(minor_version(context), reading)
    text = case.torch.replace(scaled.old, scaled.new) if scaled.new else case.torch
    text = _on_numpy(text) if context.choices.style == "native" else text
    text = leaving_out_short_batches(context.analysis, context.analysis.site(call), text)
    plain, difference = plain_arrays(context, text, question) if on_device else (text, "")
    template, values = first_values(context, call, plain, reading.bound.given)
    return Choice(reading, question, template, case.difference or difference, undecided, values, scaled.settled)


@functools.cache
def _on_numpy(template: str) -> str:
    """``compat.array_module(x).sum(x, axis)`` as ``native.with_numpy(numpy.sum, x, axis, device=x.device)``."""
    return ast.unparse(_OnNumpy().visit(ast.parse(template, mode="eval"))) if _MODULE in template else template


class _OnNumpy(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802 - the name that ast calls
        self.generic_visit(node)
        module = node.func.value if isinstance(node.func, ast.Attribute) else None
        if not isinstance(module, ast.Call) or ast.unparse(module.func) != _MODULE or len(module.args) != 1:
            return node
        name, of = ast.unparse(node.func), module.args[0]
        device = of if isinstance(of, ast.Constant) else ast.Attribute(of, "device")
        function = ast.parse(f"numpy.{name.rpartition('.')[2]}", mode="eval").body
        keywords = [*node.keywords, ast.keyword("device", device)]
        return ast.Call(ast.parse("native.with_numpy", mode="eval").body, [function, *node.args], keywords)


def _on_device(context: Context, reading: Reading) -> bool:
    """Whether a function of an array module is asked of what is a device in the output."""
    receiver = reading.bound.given.get("self") if reading.row.name.startswith("xp.") else None
    return receiver is not None and is_device(context, module_in(receiver))


def _of_tensors(context: Context, question: Question) -> str | None:
    """The form in torch of a function of an array module that is known at run time only, and is given a tensor."""
    receiver = question.bound.given.get("self") if question.row.name.startswith("xp.") else None
    if receiver is None or context.choices.style != "native" or context.kind(receiver) != EITHER:
        return None
    if not of_tensors([context.kind(node) for name, node in question.bound.given.items() if name != "self"]):
        return None
    asked = dataclasses.replace(question, on_device=True)
    for case in question.row.cases:
        if case.native and case.when is not None and evaluate(parsed(case.when), asked) is True:
            return None if {"self", "native", "numpy"} & names_of(case.torch) else case.torch
    return None


def _is_size_twice(reading: Reading, node: ast.expr) -> bool:
    """Whether one name is both sizes of a layer: ``L.Linear(n, n)``, which Chainer refuses for None."""
    sizes = [ast.unparse(value) for name, value in reading.bound.given.items() if name in _SIZES]
    return isinstance(node, (ast.Name, ast.Attribute)) and sizes.count(ast.unparse(node)) > 1


def _methods(analysis: Analysis) -> frozenset[str]:
    """The names of all functions of the program."""
    modules = analysis.project.modules.values()
    return frozenset(node.name for module in modules for node in module.source.of(ast.FunctionDef))


def input_kind(context: Context, call: ast.Call) -> Kind | None:
    """What reaches the layer that this call makes."""
    number = context.analysis.site(call)
    if flattens(context, number) or follows_linear(context, call):
        return Tensor(2)  # its calls flatten
    kind = context.analysis.reaching(number)
    known = isinstance(kind, Tensor) and kind.rank is not None
    if _is_linear(context, call) and (not known and _gets_rows(context, call) or is_never_called(context, call)):
        return Tensor(2)
    if kind is None or isinstance(kind, Tensor) and kind.rank is None:
        beside = rank_beside(context, call)
        return kind if beside is None else Tensor(beside)
    return kind


def _gets_rows(context: Context, call: ast.Call) -> bool:
    """Whether a layer stands in a list behind what gives rows."""
    return gets_rows(context, call) or gets_rows_in_list(context, call)


def _is_linear(context: Context, call: ast.Call) -> bool:
    return any(isinstance(k, Inst) and k.cls == "chainer.links.Linear" for k in options(context.kind(call)))


def lost_arguments(choice: Choice) -> list[str]:
    """The `*args` and `**kwargs` of a call for which its case has no place."""
    signature, template = choice.reading.row.signature, choice.template
    if signature is None or template is None:
        return []
    return [name for name in choice.reading.bound.variadic(signature) if name not in names_of(template)]


def keeps_spelling(call: ast.Call, template: str, receiver: ast.expr | None) -> bool:
    """Whether the template is the very call of the source: same method, same arguments under the same names."""
    if (
        receiver is None
        or not isinstance(call.func, ast.Attribute)
        or not template.startswith(f"self.{call.func.attr}(")
    ):
        return False
    tree = parsed(template)
    if not isinstance(tree, ast.Call) or ast.unparse(tree.func) != f"self.{call.func.attr}":
        return False
    plain = all(isinstance(a.value if isinstance(a, ast.Starred) else a, ast.Name) for a in tree.args)
    same = {k.arg for k in tree.keywords if isinstance(k.value, ast.Name) and k.value.id == k.arg}
    return (
        plain
        and len(same) == len(tree.keywords)
        and all(k.arg in same for k in call.keywords)
        and (len(call.args) <= len(tree.args) or any(isinstance(a, ast.Starred) for a in tree.args))
    )


def chosen(context: Context, call: ast.Call) -> Choice | None:
    """The case that a call takes; None where no rule changes it: no row, no case that fits, arguments not known."""
    row = row_at(context, call.func)
    receiver = None
    if row is not None and context.reference(call.func) is None and isinstance(call.func, ast.Attribute):
        receiver, row = call.func.value, own_row(context, call.func, row)
    if row is None or row.signature is None or row.state == "manual":
        return None
    try:
        reading = read(context, call, row, receiver)
    except BindError:
        return None
    if reading.doubt or reading.bound.starred:
        return None
    choice = choose_case(context, call, reading)
    if choice.template is None or lost_arguments(choice) and not keeps_spelling(call, choice.template, receiver):
        return None
    return choice
