"""Optimizers that are made where their model is not known: partials that the place of ``setup`` calls."""

import pytest

from tests.support.native_programs import check, migrated

CHOICE = """
def make(name, rate):
    if name == 'sgd':
        return optimizers.SGD(lr=rate)
    if name == 'msgd':
        return optimizers.MomentumSGD(lr=rate, momentum=0.5)
    if name == 'smorms3':
        return optimizers.SMORMS3()
    return optimizers.Adam(alpha=rate)


def rate_of(opt):
    if isinstance(opt, optimizers.MomentumSGD):
        return opt.lr * 2
    if isinstance(opt, (optimizers.SGD, optimizers.SMORMS3)):
        return opt.lr
    if isinstance(opt, optimizers.Adam):
        return opt.alpha
    raise NotImplementedError()
"""
STEPS = """
    for i in range(5):
        x = chainer.Variable(np.arange(6, dtype='f').reshape(2, 3) - i)
        loss = F.mean(model(x) ** 2)
        model.cleargrads()
        loss.backward()
        {step}.update()
        losses.append(float(loss.data))
"""


@pytest.mark.parametrize("name", ["sgd", "msgd", "smorms3", "adam"])
def test_a_function_chooses_the_class(name: str) -> None:
    code = check(f"""{CHOICE}

def train(model):
    losses = []
    optimizer = make({name!r}, 0.1)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.01))
    {STEPS.format(step="optimizer").strip()}
    losses.append(rate_of(optimizer))
    return losses
""")
    assert "return functools.partial(torch.optim.SGD, lr=rate)" in code
    assert "return compat.SMORMS3\n" in code
    assert "optimizer = optimizer(model.parameters())" in code
    assert "isinstance(opt, (torch.optim.SGD, compat.SMORMS3))" in code and "Late" not in code


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_an_attribute_is_set_up_by_another_method(name: str) -> None:
    code = check(f"""{CHOICE}

class Worker:
    def __init__(self, name):
        self.opt = make(name, 0.1)

    def setup(self, model):
        self.opt.setup(model)

    def step(self):
        self.opt.update()


def train(model):
    losses = []
    worker = Worker({name!r})
    worker.setup(model)
    {STEPS.format(step="worker").replace("worker.update", "worker.step").strip()}
    losses.append(rate_of(worker.opt))
    return losses
""")
    assert "self.opt = self.opt(model.parameters())" in code and "Late" not in code


def test_another_function_reads_the_variable_of_the_module() -> None:
    code = check(f"""
optimizer = optimizers.SGD(lr=0.1)


def step():
    optimizer.update()


def update():
    step()


model = Net()
optimizer.setup(model)


def train(other):
    model.copyparams(other)
    losses = []
    {STEPS.format(step="optimizer").replace("optimizer.update", "update").replace("update.update", "update").strip()}
    return losses
""")
    assert "optimizer = optimizer(model.parameters())" in code and "Late" not in code


KEPT = {
    "another name holds it": """
def train(model):
    one = make('sgd', 0.1)
    two = one
    one.setup(model)
    two.update()
""",
    "what gets it sets it up": """
def prepare(optimizer, model):
    optimizer.setup(model)

def train(model):
    one = make('sgd', 0.1)
    prepare(one, model)
    one.update()
""",
    "set up in a loop": """
def train(models):
    one = make('sgd', 0.1)
    for model in models:
        one.setup(model)
        one.update()
""",
    "set up in a method that is called in a loop": """
class Worker:
    def __init__(self):
        self.opt = make('sgd', 0.1)

    def setup(self, model):
        self.opt.setup(model)
        self.opt.update()

def train(models):
    worker = Worker()
    for model in models:
        worker.setup(model)
""",
    "read before": """
def train(model):
    one = make('sgd', 0.1)
    print(one.lr)
    one.setup(model)
    one.update()
""",
    "taken elsewhere, too": """
def other():
    return make('adam', 0.1).alpha

def train(model):
    one = make('sgd', 0.1)
    one.setup(model)
    one.update()
""",
    "a class with the same form is asked for": """
def train(model):
    one = make('sgd', 0.1)
    one.setup(model)
    print(isinstance(one, optimizers.CorrectedMomentumSGD))
""",
}


@pytest.mark.parametrize("program", KEPT.values(), ids=KEPT)
def test_what_is_held_elsewhere_keeps_its_setup(program: str) -> None:
    code = migrated(CHOICE.split("\n\n\n")[0] + program).code
    assert ".setup(model)" in code and "partial" not in code
