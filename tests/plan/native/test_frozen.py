"""Programs that freeze parameters, run beside Chainer: by ``requires_grad``, or by marks where gradients count."""

import pytest

from tests.support.native_programs import check, migrated

LOOP = """
def train(model):
    rng = np.random.RandomState(0)
    losses = []
    optimizer = optimizers.{optimizer}
    {first}
    optimizer.setup(model)
    {then}
    for i in range(60):
        x = chainer.Variable(rng.randn(5, 3).astype('f'))
        t = chainer.Variable(rng.randint(0, 2, 5).astype('i'))
        loss = F.softmax_cross_entropy(model(x), t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        losses.append(float(loss.array))
        if i == 20:
            {later}
    return losses
"""
CLIP = "optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(0.1))"
MAKERS = ["SGD(lr=0.1)", "MomentumSGD(lr=0.1)", "Adam(0.01)"]


def program(optimizer="Adam(0.01)", first="pass", then="pass", later="pass"):
    return LOOP.format(optimizer=optimizer, first=first, then=then, later=later)


@pytest.mark.parametrize("optimizer", MAKERS)
def test_layers_that_are_frozen_for_good(optimizer):
    code = check(program(optimizer, then="model.l1.disable_update()"), rtol=1e-4)
    assert "model.l1.requires_grad_(False)" in code and "Late" not in code and "faithful" not in code


PREPARED = """
def prepared(model):
    optimizer = optimizers.{optimizer}
    optimizer.setup(model)
    return optimizer


def begun(model):
    return prepared(model)

"""
MADE = {
    "before": ("optimizer = begun(model)\n    model.l1.disable_update()", "pass", "requires_grad_(False)"),
    "before, for a while": (
        "optimizer = begun(model)\n    model.l1.disable_update()",
        "model.l1.enable_update()",
        "compat.unfreeze(",
    ),
    "behind": ("model.l1.disable_update()\n    optimizer = begun(model)", "pass", "compat.freeze("),
}


@pytest.mark.parametrize("optimizer", MAKERS)
@pytest.mark.parametrize("when", MADE)
def test_layers_that_are_frozen_where_a_function_sets_up(when, optimizer):
    """What a function calls counts where it is called: behind it they stay frozen, before it they are freed."""
    made, later, form = MADE[when]
    text = program(later=later).replace("optimizer = optimizers.Adam(0.01)\n    pass\n    optimizer.setup(model)", made)
    code = check(PREPARED.format(optimizer=optimizer) + text, rtol=1e-4)
    assert made not in code and form in code and ("Late" in code) == (when == "behind"), code


@pytest.mark.parametrize("optimizer", MAKERS)
def test_layers_that_are_frozen_between_two_steps(optimizer):
    code = check(program(optimizer, later="model.l1.disable_update()"), rtol=1e-4)
    assert "compat.freeze(model.l1.parameters())" in code and "Late" not in code


@pytest.mark.parametrize("optimizer", MAKERS)
def test_single_parameters(optimizer):
    then = "model.l1.b.update_rule.enabled = False"
    later = "losses += [p.update_rule.enabled for p in (model.l1.b, model.l1.W)]"
    code = check(program(optimizer, then=then, later=later), rtol=1e-4)
    assert "model.l1.bias.requires_grad" in code
    assert "Late" not in code and "faithful" not in code


@pytest.mark.parametrize("optimizer", MAKERS)
def test_parameters_that_take_turns(optimizer):
    then = "model.l1.W.update_rule.enabled = False"
    later = "model.l1.W.update_rule.enabled = True; model.l2.W.update_rule.enabled = False"
    code = check(program(optimizer, then=then, later=later), rtol=1e-4)
    assert "compat.unfreeze([model.l1.weight])" in code and "compat.freeze([model.l2.weight])" in code
    assert "Late" not in code and "faithful" not in code


@pytest.mark.parametrize("optimizer", [*MAKERS, "RMSprop()", "AdaGrad(0.1)"])
@pytest.mark.parametrize("frozen", ["model.l1.disable_update()", "model.l1.W.update_rule.enabled = False"])
def test_gradients_of_frozen_parameters_count_in_the_norm(optimizer, frozen):
    later = "losses += [p.update_rule.enabled for p in (model.l1.W, model.l2.W)]"
    code = check(program(optimizer, then=f"{CLIP}\n    {frozen}", later=later), rtol=1e-4)
    assert "compat.freeze(" in code and "requires_grad" not in code and "Late" not in code
    assert "    compat.heed_marks(optimizer)\n" in code
    assert "        nn.utils.clip_grad_norm_(model.parameters(), 0.1)\n        optimizer.step()\n" in code


DECAY = "optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.1))"


@pytest.mark.parametrize(
    ("then", "line"),
    [
        (f"model.l1.disable_update()\n    {CLIP}\n    {DECAY}", "compat.heed_marks(optimizer)\n    for i"),
        (f"{DECAY}\n    model.l1.disable_update()\n    {CLIP}", "compat.heed_marks(optimizer)\n    for i"),
        (f"optimizer.add_hook(Halve())\n    {CLIP}; model.l1.disable_update()", "0.1); compat.heed_marks(optimizer)"),
        (f"{CLIP}\n    optimizer.add_hook(Halve())\n    model.l1.disable_update()", "Halve())\n    compat.heed_marks("),
        (f"if losses == []:\n        {CLIP}\n    model.l1.disable_update()", "Late"),
    ],
)
def test_marks_are_heeded_behind_the_last_hook(then, line):
    halve = "class Halve:\n    name = 'Halve'\n    call_for_each_param = True\n\n    def __call__(self, rule, param):\n"
    code = check(f"{halve}        param.grad[...] *= 0.5\n\n" + program("SGD(lr=0.1)", then=then), rtol=1e-4)
    assert line in code and "compat.freeze(model.l1.parameters())" in code


def test_hooks_of_one_that_keeps_its_form_see_the_gradients_of_frozen_parameters():
    first = "text = repr(optimizer)"  # nobody knows what that asks for
    code = check(program(first=first, then=f"{CLIP}\n    model.l1.disable_update()"), rtol=1e-4)
    assert "Late" in code and "optimizer.add_hook(compat.GradientClipping(0.1))" in code


def test_setup_frees_what_was_frozen_before():
    code = check(program(first="model.l1.disable_update()", then="model.l2.disable_update()"), rtol=1e-4)
    assert "compat.freeze(model.l1.parameters())" in code and "Late" in code


def test_what_is_enabled_again():
    code = check(program(then="model.l1.disable_update()", later="model.l1.enable_update()"), rtol=1e-4)
    assert "compat.freeze(model.l1.parameters())" in code and "compat.unfreeze(model.l1.parameters())" in code
    assert "faithful" not in code and "requires_grad" not in code


def test_what_is_enabled_by_a_condition_needs_the_long_ones():
    then = "model.l1.W.update_rule.enabled = bool(losses)"
    code = migrated(program(then="model.l1.disable_update()", later=then)).code
    assert "faithful_Adam" in code and "requires_grad" not in code


def test_a_setting_read_through_hyperparam():
    later = "optimizer.hyperparam.alpha *= 0.5; losses.append(optimizer.hyperparam.alpha)"
    code = check(program(first="made = [optimizer]", later=later), rtol=1e-4)
    assert "faithful" not in code


HELPERS = """
def fix(model):
    def still(link):
        link.disable_update()
    still(model.l1)

"""


@pytest.mark.parametrize(
    ("then", "later", "more", "plain"),
    [
        ("fix(model)", "pass", "", True),
        ("[f(model) for f in (fix,)]", "pass", "", False),  # handed on
        ("pass", "fix(model)", "", False),  # in a loop that trains
        ("fix(model); optimizer.setup(model)", "pass", "", False),  # enabled again
        ("fix(model); losses.append(float(abs(model.l1.W.array).sum()))", "losses.append(model.l1.W.grad.sum())", "",
         False),
        ("fix(model)", "pass", "def other(model):\n    fix(model)\n", False),  # nobody knows what was set up
    ],
)  # fmt: skip
def test_layers_that_a_function_freezes_behind_setup(then, later, more, plain):
    code = check(HELPERS + more + program("MomentumSGD(lr=0.1)", then=then, later=later), rtol=1e-4)
    assert ("link.requires_grad_(False)" in code and "Late" not in code) is plain
    assert ("compat.freeze(link.parameters())" in code) is not plain
    assert ("Late" in code) is not (plain or "grad" in later)
