"""Methods of the program's own in whose place torch's optimizers do something: cleargrads, params, call_hooks."""

import pytest
from tests.support.native_programs import HEAD, check

from chainer2torch.engine import Options, migrate_source

CLEARING = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(3, 4)
            self.l2 = L.Linear(4, 2)
        self.cleared = 0

    def {method}(self):
        self.cleared += 1
        super().{method}()

    def __call__(self, x):
        return self.l2(F.tanh(self.l1(x)))


"""
STEPS = """
def train(model):
    opt = optimizers.SGD(0.1)
    opt.setup(model)
    losses = []
    for i in range(3):
        x = chainer.Variable(np.arange(12, dtype='f').reshape(4, 3) / 10 + i)
        loss = F.sum(model(x) ** 2)
        {clears}
        loss.backward()
        opt.update()
        losses.append(float(loss.data))
    return losses + [model.cleared]
"""


def states_of(source, head):
    result = migrate_source(head + source, options=Options(style="native"))
    return {site.symbol: site.state for site in result.sites}, result.code


@pytest.mark.parametrize("method", ["cleargrads", "zerograds"])
def test_what_a_model_does_beside_clearing_is_done(method):
    head = HEAD[: HEAD.index("class Net")] + CLEARING.format(method=method)
    code = check(STEPS.format(clears=f"model.{method}()"), head=head)
    assert "opt.zero_grad()" not in code and f"def {method}(self):" in code


def test_that_of_the_optimizers_model_stays_one_call():
    head = HEAD[: HEAD.index("class Net")] + CLEARING.format(method="cleargrads")
    code = check(STEPS.format(clears="opt.target.cleargrads()"), head=head)
    assert "opt.zero_grad()" not in code


def test_without_a_method_of_its_own_the_optimizer_clears():
    code = check(STEPS.format(clears="model.cleargrads()").replace(" + [model.cleared]", ""))
    assert "opt.zero_grad()" in code


LOSS = """
def train(model):
    opt = optimizers.SGD(0.1)
    opt.setup(model)
    x = chainer.Variable(np.arange(12, dtype='f').reshape(4, 3))
    opt.update(lambda: F.sum(model(x)))
"""
UPDATER = """
from chainer import training


def train(model, iterator):
    opt = optimizers.SGD(0.1)
    opt.setup(model)
    updater = training.updaters.StandardUpdater(iterator, opt)
"""


@pytest.mark.parametrize("source", [LOSS, UPDATER])
def test_a_method_that_the_optimizer_would_call_is_in_review(source):
    head = HEAD[: HEAD.index("class Net")] + CLEARING.format(method="cleargrads")
    states, code = states_of(source, head)
    assert states["chainer.Chain.cleargrads"] == "review" and "zero_grad() of the optimizer" in code


def test_without_such_a_call_it_is_not():
    head = HEAD[: HEAD.index("class Net")] + CLEARING.format(method="cleargrads")
    states, _ = states_of(STEPS.format(clears="model.cleargrads()"), head)
    assert states.get("chainer.Chain.cleargrads") != "review"


PARAMS = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(3, 4)
            self.l2 = L.Linear(4, 2)

    def params(self, include_uninit=True):
        yield from self.l2.params(include_uninit)

    def __call__(self, x):
        return self.l2(F.tanh(self.l1(x)))


"""


def test_parameters_that_a_model_chooses_are_in_review():
    """``params`` says what Chainer's optimizer trains; torch's was handed all of them, as if that were exact."""
    head = HEAD[: HEAD.index("class Net")] + PARAMS
    states, code = states_of(LOSS, head)
    assert states["chainer.Chain.params"] == "review" and "Chainer's optimizers train" in code
    assert states_of("", head)[0].get("chainer.Chain.params") != "review"


HOOKS = """
class Rule(chainer.UpdateRule):
    def update_core(self, param):
        param.data -= 0.1 * param.grad


class Own(chainer.GradientMethod):
    def create_update_rule(self):
        return Rule()

    def call_hooks(self, timing='pre'):
        print(timing)
        super().call_hooks(timing)
"""


def test_hooks_that_an_optimizer_calls_itself_are_in_review():
    _, code = states_of(HOOKS, HEAD)
    assert "chainer.GradientMethod.call_hooks: Chainer's class calls this method" in code
