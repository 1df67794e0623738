"""What is done with an optimizer that keeps Chainer's form is written as for torch's own; run beside Chainer."""

import pytest

from tests.support.native_programs import check

LOOP = """
def train(model):
    optimizer = optimizers.{make}
    text = repr(optimizer)  # nobody knows what that asks for
    optimizer.setup(model)
    {hooks}
    losses = []
    for i in range(12):
        x = chainer.Variable(np.arange(6, dtype='f').reshape(2, 3) / 6 - i / 8)
        y = model(x) if i % 3 == 1 else model.l2(F.tile(x[:, :2], (1, 2)))
        loss = F.mean(y ** 2)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        if i == 5:
            optimizer.{rate} *= 0.5
        optimizer.update(lambda x: F.mean(model(x) ** 2), x)
        losses.append(float(loss.data))
    return losses + [float(F.sum(p * p).data) for p in model.params()]
"""
H = "optimizer.add_hook(chainer.optimizer_hooks."
HOOKS = {
    "a decay": f"{H}WeightDecay(0.1))",
    "clipping, then a decay": f"_ = {H}GradientClipping(0.05)); {H}WeightDecay(0.1))",
    "a decay, then clipping": f"{H}WeightDecay(0.1))\n    {H}GradientClipping(0.05))",
    "two": f"{H}Lasso(0.01))\n    {H}WeightDecay(0.1))",
}


@pytest.mark.parametrize("hooks", ["a decay", "a decay, then clipping", "two"])
@pytest.mark.parametrize("make", ["SGD(0.1)", "AdaGrad(0.1)", "RMSprop(0.01)", "MomentumSGD(0.1)", "Adam(0.05)"])
def test_hooks_steps_and_rates(make, hooks):
    rate = "alpha" if make.startswith("Adam") else "lr"
    code = check(LOOP.format(make=make, hooks=HOOKS[hooks], rate=rate), rtol=1e-4)
    assert "compat.Late" in code and "optimizer.setup(model)" in code
    assert "optimizer.param_groups[0]['lr'] *= 0.5" in code
    assert ("optimizer.param_groups[0]['weight_decay'] = 0.1" in code) == (hooks != "a decay, then clipping")
    assert "add_hook" not in code and "optimizer.update" not in code and "optimizer.step()" in code


def test_a_hook_that_may_be_forgotten_stays_a_hook():
    """A second ``setup`` takes all hooks away."""
    loop = LOOP.format(make="MomentumSGD(0.1)", hooks=HOOKS["a decay"], rate="lr")
    again = loop.replace(
        "    losses = []\n", "    losses = []\n    for again in range(2):\n        optimizer.setup(model)\n"
    )
    assert "optimizer.add_hook(compat.WeightDecay(0.1))" in check(again, rtol=1e-4)


def test_a_hook_that_is_no_statement_stays_and_so_do_all_others():
    code = check(LOOP.format(make="SGD(0.1)", hooks=HOOKS["clipping, then a decay"], rate="lr"), rtol=1e-4)
    assert "optimizer.add_hook(compat.GradientClipping(0.05))" in code and "compat.WeightDecay(0.1)" in code


def test_a_gradient_that_is_read_behind_a_step_has_the_decay():
    line = "        losses.append(float(loss.data))\n"
    read = "        losses += [float(F.sum(p.grad ** 2).data) for p in model.params()]\n"
    text = LOOP.format(make="SGD(0.1)", hooks=HOOKS["a decay"], rate="lr").replace(line, line + read)
    assert "['weight_decay']" not in check(text, rtol=1e-4)
