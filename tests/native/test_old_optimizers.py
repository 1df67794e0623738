"""Optimizers of a program's own that update parameters as in version 1, beside the same formulas under Chainer 7."""

import pytest
from tests.support.model_batch import run

from chainer2torch.engine import Options, migrate_source
from chainer2torch.verify.script.verify_script import verify_script

PROGRAM = """
import math
import numpy
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L
from chainer import cuda, optimizer

{classes}


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(l1=L.Linear(3, 4), l2=L.Linear(4, 2))

    def __call__(self, x):
        return self.l2(F.tanh(self.l1(x)))


model = Net()
model.l1.W.data[...] = np.arange(12).reshape(4, 3) / 20.
model.l2.W.data[...] = np.arange(8).reshape(2, 4) / 10. - 0.4
opt = {made}
opt.setup(model)
{hooks}
for i in range(6):
    x = chainer.Variable(np.random.rand(5, 3).astype('f'))
    {step}
    opt.new_epoch()
print(opt.t, opt.epoch)
"""
STEPS = """model.zerograds()
    loss = F.sum(model(x) ** 2)
    loss.backward()
    opt.update()"""
MOMENTS = """
class Moments(optimizer.GradientMethod):
    def __init__(self, alpha=0.01, beta1=0.9, beta2=0.98, eps=1e-6):
        self.alpha = alpha
        self.beta1 = beta1
        self.beta2 = beta2
        self.eps = eps

    def init_state(self, param, state):
        xp = cuda.get_array_module(param.data)
        with cuda.get_device(param.data):
            state['m'] = xp.zeros_like(param.data)
            state['v'] = xp.zeros_like(param.data)

    def update_one_cpu(self, param, state):
        m, v = state['m'], state['v']
        grad = param.grad
        m += (1 - self.beta1) * (grad - m)
        v += (1 - self.beta2) * (grad * grad - v)
        param.data -= self.lr * m / (numpy.sqrt(v) + self.eps)

    def update_one_gpu(self, param, state):
        cuda.elementwise('T grad, T lr', 'T param', 'param -= lr * grad', 'own')(param.grad, self.lr, param.data)

    @property
    def lr(self):
        return self.alpha * math.sqrt(1. - self.beta2 ** self.t) / (1. - self.beta1 ** self.t)
"""
NOISE = """
class Noise(chainer.optimizer.GradientMethod):
    def __init__(self, eta=0.01):
        self.eta = eta

    @property
    def lr(self):
        return self.eta / np.power(1. + self.t, 0.55)

    def update_one_cpu(self, param, state):
        g = param.grad
        noise = np.outer(np.ones(g.size), np.arange(2) / 10.)[:, 1]
        param.data -= 0.5 * self.lr * (8. * g + 1e-4 * param.data) + 0.01 * noise.reshape(g.shape)
"""
STATES = """
class Base(chainer.Optimizer if False else optimizer.GradientMethod):
    rate = 0.1

    def init_state_cpu(self, param, state):
        state['start'] = np.array(param.data)
        state['host'] = np.random.RandomState(0).rand(param.data.size)
        state['times'] = 0


class States(Base):
    def update_one(self, param, state):
        state['times'] += 1
        r = state['host']
        pull = state['start'] - param.data
        param.data += 0.01 * self.rate * r.reshape(param.data.shape)
        param.data += 0.1 * pull / state['times'] - self.rate * param.grad
""".replace("chainer.Optimizer if False else ", "")
LOSS = """
class Loss(optimizer.GradientMethod):
    def __init__(self, alpha=0.01):
        self.alpha = alpha

    def init_state(self, param, state):
        state['f'] = np.zeros(1, dtype=param.data.dtype)

    def update_one_cpu(self, param, state):
        f = state['f']
        if self.t > 1:
            old = float(cuda.to_cpu(state['f'])[0])
            f[:] = 0.9 * old + 0.1 * self.loss
        else:
            f[:] = self.loss
        param.data -= self.alpha * param.grad / (1. + f)

    def update(self, lossfun=None, *args, **kwds):
        loss_var = lossfun(*args, **kwds)
        self.loss = float(loss_var.data)
        super(Loss, self).update(lossfun=lambda: loss_var)
"""
DECAY = "opt.add_hook(chainer.optimizer.WeightDecay(0.1))"
CASES = {
    "moments": (MOMENTS, "Moments()", "", STEPS),
    "hooks": (MOMENTS, "Moments(alpha=0.02)", DECAY + "\nopt.add_hook(chainer.optimizer.GradientClipping(1.))", STEPS),
    "arrays of the host": (NOISE, "Noise()", "", STEPS),
    "states": (STATES, "States()", DECAY, STEPS),
    "by a loss": (LOSS, "Loss()", "", "opt.update(lambda: F.sum(model(x) ** 2) + 1)"),
    "the base's loss": (MOMENTS, "Moments()", "", "opt.update(lambda v: F.sum(model(v) ** 2), x)"),
}


@pytest.mark.parametrize("case", CASES)
def test_an_optimizer_of_version_1_updates_as_it_did(tmp_path, case):
    classes, made, hooks, step = CASES[case]
    source = PROGRAM.format(classes=classes, made=made, hooks=hooks, step=step)
    (tmp_path / "original").mkdir()
    (tmp_path / "original" / "net.py").write_text(source)
    done = run("migrate", tmp_path / "original", "-q", "-o", tmp_path / "out")
    assert done.returncode in (0, 1), done.stderr
    code = (tmp_path / "out" / "net.py").read_text()
    assert "C2T500" not in code and "OldGradientMethod" in code, code
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=100)
    assert report.exit_code == 0 and report.iterations == 6, "\n".join(report.lines()) + code


RULES = """
class Rule(optimizer.UpdateRule):
    def update_core(self, param):
        param.data -= 0.1 * param.grad


class Own(optimizer.GradientMethod):
    def create_update_rule(self):
        return Rule()

    def update(self, lossfun=None, *args, **kwds):
        loss = lossfun(*args, **kwds)
        super(Own, self).update(lossfun=lambda: loss)
        assert self.t == i + 1
"""


def test_an_overridden_update_calls_the_hooks_and_counts(tmp_path):
    """``super().step()`` would not: torch calls its hooks around the method of the object's own class."""
    step = "opt.update(lambda: F.sum(model(x) ** 2))"
    source = PROGRAM.format(classes=RULES, made="Own()", hooks=DECAY, step=step)
    (tmp_path / "original").mkdir()
    (tmp_path / "original" / "net.py").write_text(source)
    assert run("migrate", tmp_path / "original", "-q", "-o", tmp_path / "out").returncode == 0
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=100)
    assert report.exit_code == 0 and report.iterations == 6, "\n".join(report.lines())


ARRAYS = """
class Early(optimizer.GradientMethod):
    def init_state(self, param, grad):
        return np.zeros_like(param)

    def update_one_cpu(self, param, grad, state):
        state += grad
        param -= 0.1 * state
"""
OVER_ADAM = """
class Over(chainer.optimizers.Adam):
    def update_one_cpu(self, param, state):
        param.data -= 0.1 * param.grad
"""


@pytest.mark.parametrize("classes", [ARRAYS, OVER_ADAM])
def test_methods_that_nothing_calls_are_marked(classes):
    made = "Early()" if classes is ARRAYS else "Over()"
    source = PROGRAM.format(classes=classes, made=made, hooks="", step=STEPS)
    result = migrate_source(source, options=Options(style="native"))
    assert "OldGradientMethod" not in result.code
    assert any(site.symbol.endswith("update_one_cpu") and site.state == "manual" for site in result.sites)


def test_the_faithful_style_marks_them():
    source = PROGRAM.format(classes=MOMENTS, made="Moments()", hooks="", step=STEPS)
    result = migrate_source(source, options=Options(style="faithful"))
    assert any(site.symbol.endswith("update_one_cpu") and site.state == "manual" for site in result.sites)
