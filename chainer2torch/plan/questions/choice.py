"""Which case of which row a call takes."""

from __future__ import annotations

import ast
import dataclasses

from chainer2torch.analysis.kinds import Kind, Tensor
from chainer2torch.plan.context import Context
from chainer2torch.plan.match import Question, choose, names_of, parsed
from chainer2torch.plan.questions.flatten import flattens
from chainer2torch.plan.questions.graph_use import graph_use
from chainer2torch.plan.questions.overridden_methods import own_row
from chainer2torch.plan.questions.reading import Reading, read
from chainer2torch.plan.questions.rows import row_at
from chainer2torch.rules.signature import BindError


@dataclasses.dataclass(frozen=True, eq=False)
class Choice:
    """The case that a call takes, with what it was asked about; ``template`` None: no case fits."""

    reading: Reading
    question: Question
    template: str | None
    undecided: bool = False  # no case fits because a guard could not be decided

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
    """The helpers (``compat.name``) that a template names."""
    return frozenset(
        node.attr
        for node in ast.walk(parsed(template))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "compat"
    )


def choose_case(context: Context, call: ast.Call, reading: Reading) -> Choice:
    """The case of a row that a call takes, its arguments being bound."""
    question = Question(
        reading.row,
        reading.bound,
        context.kind,
        context.is_instance,
        input_kind(context, call),
        lambda: graph_use(context, call),
    )
    return Choice(reading, question, *choose(question))


def input_kind(context: Context, call: ast.Call) -> Kind | None:
    """What reaches the layer that this call makes."""
    number = context.analysis.site(call)
    if flattens(context.analysis, number):
        return Tensor(2)  # its calls flatten
    return context.analysis.layer_inputs.get(number)


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
