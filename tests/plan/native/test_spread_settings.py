"""Optimizers whose settings come in a dictionary, ``Adam(**options)``, run beside Chainer."""

import pytest

from tests.support.native_programs import check

LOOP = """
import json

def train(model, text='{text}'):
    config = json.loads(text)
    optimizer = optimizers.{make}
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.01))
    losses = []
    for i in range(12):
        x = chainer.Variable(np.arange(6, dtype='f').reshape(2, 3) / 6 - i / 8)
        loss = F.mean(model(x) ** 2)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        losses.append(float(loss.array))
    return losses + [float(F.sum(p * p).array) for p in model.params()]
"""
MAKES = [
    ("Adam(**config)", '{"alpha": 0.01, "beta1": 0.5}', "compat.Adam(model.parameters(), **compat.adam_options(**"),
    ("Adam(**config)", "{}", "**compat.adam_options(**config)"),
    ("Adam(0.02, **config)", '{"eps": 0.001, "amsgrad": true}', "**compat.adam_options(alpha=0.02, **config)"),
    ("Adam(*config)", "[0.01, 0, 0.99]", "compat.Adam(model.parameters(), **compat.adam_options(*config)"),
    ("Adam(*config, amsgrad=True)", "[0.01]", "**compat.adam_options(amsgrad=True, *config)"),
    ("SGD(**config)", "{}", "torch.optim.SGD(model.parameters(), **{'lr': 0.01, **config}"),
    ("SGD(**config)", '{"lr": 0.3}', "**{'lr': 0.01, **config}"),
    ("MomentumSGD(lr=0.1, **config)", '{"momentum": 0.5}', "compat.MomentumSGD(model.parameters(), lr=0.1, **config"),
    ("CorrectedMomentumSGD(**config)", '{"momentum": 0.5}', "**{'lr': 0.01, 'momentum': 0.9, **config}"),
    ("RMSprop(alpha=0.9, **config)", '{"lr": 0.1}', "torch.optim.RMSprop(model.parameters(), alpha=0.9, **config"),
    ("AdaDelta(**config)", '{"eps": 0.01}', "torch.optim.Adadelta(model.parameters(), **{'rho': 0.95, **config}"),
    ("AdaGrad(**config)", '{"lr": 0.1}', "Adagrad(model.parameters(), **{'lr': 0.001, 'eps': 1e-08, **config}"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "text", "becomes"), MAKES)
def test_settings_in_a_dictionary(make: str, text: str, becomes: str) -> None:
    code = check(LOOP.format(make=make, text=text), rtol=1e-4)
    assert becomes in code and "Late" not in code and "faithful" not in code


def test_an_optimizer_that_gets_its_model_elsewhere() -> None:
    code = LOOP.replace("optimizers.{make}", "{make}").replace("def train", "{maker}def train")
    maker = "def make(options):\n    return optimizers.Adam(**options)\n\n"
    text = check(code.format(make="make(config)", text='{"alpha": 0.01}', maker=maker), rtol=1e-4)
    assert "functools.partial(compat.Adam, **compat.adam_options(**options))" in text and "Late" not in text


@pytest.mark.parametrize(
    "make", ["AdamW(**config)", "AMSGrad(**config)", "SGD(*config.values())", "Adam(0.1, *config.values())"]
)
def test_what_has_no_such_form_stays(make: str) -> None:
    code = check(LOOP.format(make=make, text="{}"), rtol=1e-4)
    assert "compat.adam_options" not in code
