"""Hooks of the program's own on optimizers of torch.optim, run beside Chainer."""

import pytest

from tests.support.native_programs import check, migrated

LOOP = """
def train(model):
    optimizer = optimizers.{maker}
    optimizer.setup(model)
    {hooks}
    losses = []
    for i in range(6):
        x = chainer.Variable(np.arange(6, dtype='f').reshape(2, 3) - i)
        loss = F.mean(model.l1(x) ** 2)  # l2 has no gradients
        model.cleargrads()
        loss.backward()
        optimizer.update()
        losses.append(float(loss.data))
    return losses + [float(abs(p.data).sum()) for p in model.params()]
"""
CLASSES = """
class NonbiasWeightDecay:
    name = 'NonbiasWeightDecay'
    call_for_each_param = True

    def __init__(self, rate):
        self.rate = rate

    def __call__(self, rule, param):
        if param.ndim > 1:
            param.grad += self.rate * param.data


class Scaling(object):
    name = 'Scaling'

    def __call__(self, opt):
        for param in opt.target.params():
            param.grad *= 0.5


def negate(opt):
    for param in opt.target.params():
        param.grad[...] = -param.grad
"""
HOOKS = {
    "for each parameter": "optimizer.add_hook(NonbiasWeightDecay(0.1))",
    "for the model": "optimizer.add_hook(Scaling())",
    "a function": "optimizer.add_hook(negate)",
    "in their order": """optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(0.5))
    optimizer.add_hook(NonbiasWeightDecay(0.1))
    optimizer.add_hook(chainer.optimizer_hooks.GradientHardClipping(-0.1, 0.2))
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.1))""",
    "an object of Chainer's": """hook = chainer.optimizer_hooks.WeightDecay(0.1)
    optimizer.add_hook(hook)""",
}


@pytest.mark.parametrize("maker", ["SGD(lr=0.1)", "MomentumSGD(lr=0.1)", "Adam()"])
@pytest.mark.parametrize("hooks", HOOKS.values(), ids=HOOKS)
def test_own_hooks(maker: str, hooks: str) -> None:
    code = check(CLASSES + LOOP.format(maker=maker, hooks=hooks))
    assert "compat.add_hook(optimizer, " in code and "Late" not in code


KEPT = {
    "it asks for the rate": """
class Hook:
    def __call__(self, opt):
        for param in opt.target.params():
            param.grad *= opt.lr
""",
    "it runs behind the step": """
class Hook:
    timing = 'post'

    def __call__(self, opt):
        for param in opt.target.params():
            param.data *= 0.5
""",
    "it hands the optimizer on": """
def scale(opt):
    print(opt.t)

class Hook:
    def __call__(self, opt):
        scale(opt)
""",
}


@pytest.mark.parametrize("cls", KEPT.values(), ids=KEPT)
def test_hooks_that_ask_for_more(cls: str) -> None:
    code = migrated(cls + LOOP.format(maker="SGD()", hooks="optimizer.add_hook(Hook())")).code
    assert "optimizer.add_hook(Hook())" in code and "compat.LateSGD" in code


READ = """
def norm(model):
    return float(sum(abs(p.grad).sum() for p in model.l1.params()))

def train(model):
    optimizer = optimizers.{maker}
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.1))
    seen = []
    for i in range(4):
        x = chainer.Variable(np.arange(6, dtype='f').reshape(2, 3) - i)
        loss = F.mean(model.l1(x) ** 2)
        model.cleargrads()
        loss.backward()
        {front}
        optimizer.update()
        {behind}
    return seen + [float(abs(p.data).sum()) for p in model.params()]
"""
SEEN = "seen.append(float(abs(model.l1.W.grad).sum()))"


@pytest.mark.parametrize("maker", ["SGD(lr=0.1)", "Adam()"])
@pytest.mark.parametrize(
    ("front", "behind", "is_argument"),
    [(SEEN, "pass", True), ("pass", SEEN, False), ("pass", "seen.append(norm(model))", False)],
    ids=["in front", "behind", "in a function"],
)
def test_a_decay_shows_in_the_gradients_that_are_read_behind_the_step(
    maker: str, front: str, behind: str, is_argument: bool
) -> None:
    text = READ.format(maker=maker, front=front, behind=behind)
    if "norm(" not in behind:
        text = text[text.index("def train") :]
    assert ("weight_decay=" in check(text)) is is_argument
