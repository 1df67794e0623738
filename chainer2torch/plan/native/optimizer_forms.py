"""What becomes of each of Chainer's optimizers and hooks: the table of docs/native-helpers.md as data."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

from chainer2torch.analysis.source import nodes_of
from chainer2torch.analysis.values import dataclass
from chainer2torch.rules.signature import Bound

_Class = TypeVar("_Class")


@dataclass(frozen=True)
class Form:
    """One class of optimizers. ``options``: torch's keyword, the template of its value, what torch has by default.

    A value is written when one of Chainer's parameters in it is given, or when its default is not torch's.
    """

    torch: str
    options: tuple[tuple[str, str, str], ...]
    hyperparameters: Mapping[str, str]  # what an attribute of Chainer's optimizer is in a parameter group
    fills: bool = False  # whether gradients that are missing have to be filled with zeros
    decays: bool = True  # whether there is an argument weight_decay
    spread: str | None = "options"  # a dictionary of Chainer's arguments as one of torch's; None: there is none
    refuses: tuple[tuple[str, str], ...] = ()  # parameters with the literal that alone is understood


_LR = ("lr", "lr", "0.01")
_MOMENTUM = ("momentum", "momentum", "0.9")
_BETAS = ("betas", "(beta1, beta2)", "(0.9, 0.999)")
_EPS = ("eps", "eps", "1e-08")
_ADAM = MappingProxyType({"alpha": "['lr']", "beta1": "['betas'][0]", "beta2": "['betas'][1]", "eps": "['epsilon']"})


def _groups(*names: str) -> Mapping[str, str]:
    return MappingProxyType({name: f"[{name!r}]" for name in names})


BEGINS_EARLY = "torch.optim.Adagrad"  # its sums are there as soon as it is made

FORMS: Mapping[str, Form] = MappingProxyType(
    {
        f"chainer.optimizers.{name}": form
        for name, form in {
            "SGD": Form("torch.optim.SGD", (("lr", "lr", "0.001"),), _groups("lr")),
            "CorrectedMomentumSGD": Form(
                "torch.optim.SGD",
                (("lr", "lr", "0.001"), ("momentum", "momentum", "0")),
                _groups("lr", "momentum"),
                fills=True,
            ),
            "MomentumSGD": Form("native.MomentumSGD", (_LR, _MOMENTUM), _groups("lr", "momentum")),
            "NesterovAG": Form("native.NesterovAG", (_LR, _MOMENTUM), _groups("lr", "momentum")),
            "AdaGrad": Form(BEGINS_EARLY, (_LR, ("eps", "eps", "1e-10")), _groups("lr", "eps")),
            "AdaDelta": Form(
                "torch.optim.Adadelta",
                (("rho", "rho", "0.9"), ("eps", "eps", "1e-06")),
                _groups("rho", "eps"),
                fills=True,
            ),
            "RMSprop": Form(
                "torch.optim.RMSprop",
                (_LR, ("alpha", "alpha", "0.99"), _EPS),
                _groups("lr", "alpha", "eps"),
                fills=True,
                refuses=(("eps_inside_sqrt", "False"),),
            ),
            "RMSpropGraves": Form(
                "native.RMSpropGraves",
                (("lr", "lr", "0.0001"), ("alpha", "alpha", "0.95"), _MOMENTUM, ("eps", "eps", "0.0001")),
                _groups("lr", "alpha", "momentum", "eps"),
            ),
            "SMORMS3": Form("native.SMORMS3", (("lr", "lr", "0.001"), ("eps", "eps", "1e-16")), _groups("lr", "eps")),
            "MSVAG": Form(
                "native.MSVAG",
                (("lr", "lr", "0.1"), ("beta", "beta", "0.9"), ("weight_decay_rate", "weight_decay_rate", "0")),
                _groups("lr", "beta", "weight_decay_rate"),
                refuses=(("eta", "1.0"),),
            ),
            "Adam": Form(
                "native.Adam",
                (("lr", "alpha", "0.001"), _BETAS, _EPS, ("amsgrad", "amsgrad", "False")),
                _ADAM,
                spread="native.adam_options(**options)",
                refuses=(
                    ("eta", "1.0"),
                    ("weight_decay_rate", "0"),
                    ("adabound", "False"),
                ),
            ),
            "AMSGrad": Form(
                "native.Adam",
                (("lr", "alpha", "0.001"), _BETAS, _EPS, ("amsgrad", "True", "")),
                _ADAM,
                spread=None,
                refuses=(("eta", "1.0"),),
            ),
            "AdamW": Form(
                "native.AdamW",
                (("lr", "alpha", "0.001"), _BETAS, _EPS, ("weight_decay_rate", "weight_decay_rate", "0")),
                MappingProxyType({**_ADAM, "weight_decay_rate": "['weight_decay_rate']"}),
                decays=False,
                spread=None,
                refuses=(("eta", "1.0"),),
            ),
        }.items()
    }
)

# ``getattr(chainer.optimizers, name)(*args)``: its class is Chainer's base of all, its arguments keep Chainer's names
CHOSEN = "chainer.GradientMethod"
NAMED = Form("native.TorchOptimizersByName", (), MappingProxyType({}), decays=False, spread=None)
_NAMED = tuple(name for name in FORMS if not name.endswith(".MSVAG"))


def form_of(cls: object) -> Form | None:
    """The form of a class of Chainer's optimizers, or of one that is chosen by its name."""
    return NAMED if cls == CHOSEN else FORMS.get(cls) if isinstance(cls, str) else None


def classes_of(cls: _Class) -> tuple[_Class | str, ...]:
    """The classes that an optimizer may have: several, if it is chosen by its name."""
    return _NAMED if cls == CHOSEN else (cls,)


def may_be_empty(form: Form) -> bool:
    """Whether an optimizer may be made before it has parameters: Adagrad begins its sums when it is made."""
    return form.torch != BEGINS_EARLY


def unrefused(form: Form, bound: Bound) -> str:
    """The argument of a call for which the form has no place; "" if there is none."""
    for name, literal in form.refuses:
        node = bound.given.get(name)
        if node is not None and not _is_literal(node, literal):
            return name
    return ""


def arguments(form: Form, bound: Bound, defaults: Mapping[str, str]) -> list[str]:
    """The keyword arguments, as parts of a template whose names are Chainer's parameters."""
    texts = []
    for keyword, value, default in form.options:
        names = [n.id for n in nodes_of(ast.parse(value)) if isinstance(n, ast.Name)]
        if any(n in bound.given for n in names) or _filled(value, defaults) != default:
            texts.append(f"{keyword}={value}")
    return texts


def spread_arguments(form: Form, bound: Bound, defaults: Mapping[str, str]) -> list[str]:
    """The arguments of ``SGD(lr=x, **options)``: torch gets those of Chainer's defaults that are not its own."""
    if form.spread != "options":
        given = [f"{name}={name}" for name in bound.given]
        return [f"**{form.spread}".replace("**options", ", ".join([*given, "**options"]))]
    others = [
        f"{keyword!r}: {value}"
        for keyword, value, default in form.options
        if value not in bound.given and _filled(value, defaults) != default
    ]
    given = [f"{keyword}={value}" for keyword, value, _ in form.options if value in bound.given]
    return [*given, f"**{{{', '.join(others)}, **options}}" if others else "**options"]


def _filled(value: str, defaults: Mapping[str, str]) -> str:
    """The value with Chainer's defaults in it."""
    tree = ast.parse(value, mode="eval")
    for node in nodes_of(tree):
        if isinstance(node, ast.Name):
            node.id = defaults.get(node.id, node.id)
    return ast.unparse(tree)


def _is_literal(node: ast.expr, literal: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == ast.literal_eval(literal)


@dataclass(frozen=True)
class Hook:
    """A hook: the function that does the same to gradients, and its arguments as a template of the hook's own."""

    function: str
    arguments: tuple[str, ...]
    misses: bool = True  # whether it makes a difference to it that gradients are missing
    difference: str = ""  # the declared difference that it makes


HOOKS: Mapping[str, Hook] = MappingProxyType(
    {
        f"chainer.optimizer_hooks.{name}": hook
        for name, hook in {
            "WeightDecay": Hook("native.decay_weights", ("rate",)),
            "Lasso": Hook("native.add_lasso", ("rate",)),
            "GradientClipping": Hook(
                "torch.nn.utils.clip_grad_norm_", ("threshold",), misses=False, difference="clipped-norms"
            ),
            "GradientHardClipping": Hook("native.clip_gradient_values", ("lower_bound", "upper_bound"), misses=False),
            "GradientLARS": Hook("native.scale_gradients_by_layer", ("threshold", "weight_decay", "eps")),
        }.items()
    }
)
OWN_HOOK = Hook("native.add_hook", (), misses=False)  # it fills the gradients that are missing itself
DECAY = "chainer.optimizer_hooks.WeightDecay"
# those whose `lr` is the rate with the correction of the biases
CORRECTS = frozenset(f"chainer.optimizers.{name}" for name in ("Adam", "AMSGrad", "AdamW"))

__all__ = [
    "CHOSEN",
    "CORRECTS",
    "DECAY",
    "FORMS",
    "HOOKS",
    "NAMED",
    "OWN_HOOK",
    "Form",
    "Hook",
    "arguments",
    "classes_of",
    "form_of",
    "may_be_empty",
    "spread_arguments",
    "unrefused",
]
