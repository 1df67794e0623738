"""Programs with optimizers in native style, run beside Chainer from the same weights."""

import pytest

from tests.support.native_programs import check, migrated

LOOP = """
def train(model):
    rng = np.random.RandomState(0)
    losses = []
    {make}
    for i in range(12):
        x = chainer.Variable(rng.randn(5, 3).astype('f'))
        t = chainer.Variable(rng.randint(0, 2, 5).astype('i'))
        loss = F.softmax_cross_entropy(model(x), t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        losses.append(float(loss.array))
        {last}
    return losses
"""
SETUP = "\n    optimizer.setup(model)"
MAKES = [
    ("optimizer = optimizers.SGD(lr=0.1)", "torch.optim.SGD(model.parameters(), lr=0.1)"),
    ("optimizer = optimizers.SGD()", "torch.optim.SGD(model.parameters(), lr=0.01)"),
    ("optimizer = optimizers.MomentumSGD(lr=0.1)", "compat.MomentumSGD(model.parameters(), lr=0.1)"),
    ("optimizer = optimizers.MomentumSGD(0.1, 0.5)", "compat.MomentumSGD(model.parameters(), lr=0.1, momentum=0.5)"),
    ("optimizer = optimizers.CorrectedMomentumSGD()", "torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)"),
    ("optimizer = optimizers.NesterovAG(lr=0.1)", "compat.NesterovAG(model.parameters(), lr=0.1)"),
    ("optimizer = optimizers.AdaGrad()", "torch.optim.Adagrad(model.parameters(), lr=0.001, eps=1e-08)"),
    ("optimizer = optimizers.AdaDelta()", "torch.optim.Adadelta(model.parameters(), rho=0.95)"),
    ("optimizer = optimizers.RMSprop(alpha=0.9)", "torch.optim.RMSprop(model.parameters(), alpha=0.9)"),
    ("optimizer = optimizers.RMSpropGraves()", "compat.RMSpropGraves(model.parameters())"),
    ("optimizer = optimizers.SMORMS3(lr=0.1)", "compat.SMORMS3(model.parameters(), lr=0.1)"),
    ("optimizer = optimizers.MSVAG()", "compat.MSVAG(model.parameters())"),
    ("optimizer = optimizers.Adam()", "compat.Adam(model.parameters())"),
    ("optimizer = optimizers.Adam(0.01, beta1=0.5)", "compat.Adam(model.parameters(), lr=0.01, betas=(0.5, 0.999))"),
    ("optimizer = optimizers.Adam(amsgrad=True)", "compat.Adam(model.parameters(), amsgrad=True)"),
    ("optimizer = optimizers.AMSGrad(alpha=0.1)", "compat.Adam(model.parameters(), lr=0.1, amsgrad=True)"),
    (
        "optimizer = optimizers.AdamW(weight_decay_rate=0.01)",
        "compat.AdamW(model.parameters(), weight_decay_rate=0.01)",
    ),
]


@pytest.mark.parametrize(("make", "becomes"), MAKES)
def test_every_class(make: str, becomes: str) -> None:
    # MSVAG divides by an estimate of a variance, which is mostly rounding in float32: float64 in tests/native
    code = check(LOOP.format(make=make + SETUP, last=""), rtol=1e-3 if "MSVAG" in make else 2e-5)
    assert becomes in code and "optimizer.zero_grad()" in code and "optimizer.step()" in code and "setup" not in code


def test_what_says_nothing_in_pytorch_may_stand_in_front_of_setup() -> None:
    make = "optimizer = optimizers.Adam()\n    optimizer.use_cleargrads()\n    net = model\n    optimizer.setup(net)"
    code = check(LOOP.format(make=make, last=""))
    assert "    net = model\n    optimizer = compat.Adam(net.parameters())\n" in code and "use_cleargrads" not in code


HOOKS = [
    ("WeightDecay(0.01)", "weight_decay=0.01)", ""),
    ("GradientClipping(0.1)", "nn.utils.clip_grad_norm_(model.parameters(), 0.1)", ""),
    ("GradientHardClipping(-0.01, 0.02)", "compat.clip_gradient_values(model.parameters(), -0.01, 0.02)", ""),
    ("Lasso(0.01)", "compat.before_step(optimizer, compat.add_lasso, 0.01)", ""),
    ("GradientLARS()", "compat.scale_gradients_by_layer, 0.01, 0.0, 1e-09)", ""),
]


@pytest.mark.parametrize("maker", ["SGD(lr=0.1)", "MomentumSGD()", "Adam()", "AdaDelta()"])
@pytest.mark.parametrize(("hook", "becomes", "_"), HOOKS)
def test_every_hook(maker: str, hook: str, becomes: str, _: str) -> None:
    make = f"optimizer = optimizers.{maker}{SETUP}\n    optimizer.add_hook(chainer.optimizer_hooks.{hook})"
    assert becomes in check(LOOP.format(make=make, last=""))


ORDERS = [
    ("GradientClipping(0.1)", "WeightDecay(0.1)"),
    ("WeightDecay(0.1)", "GradientClipping(0.1)"),
    ("GradientClipping(0.1)", "Lasso(0.1)", "GradientClipping(0.05)"),
    ("Lasso(0.1)", "WeightDecay(0.1)"),
]


@pytest.mark.parametrize("hooks", ORDERS)
def test_order_of_hooks(hooks: tuple[str, ...]) -> None:
    lines = [f"optimizer.add_hook(chainer.optimizer.{hook}, '{i}')" for i, hook in enumerate(hooks)]
    make = "\n    ".join(["optimizer = optimizers.MomentumSGD(lr=0.1)", "optimizer.setup(model)", *lines])
    check(LOOP.format(make=make, last=""))


VARIANTS = {
    "chained": "optimizer = optimizers.SGD(0.1).setup(model)",
    "assigned": "optimizer = optimizers.SGD(0.1)\n    optimizer = optimizer.setup(model)",
    "old words": "optimizer = optimizers.SGD(0.1)\n    optimizer.setup(model)\n    optimizer.use_cleargrads()",
    "one of two": """adam = model is None
    if adam:
        optimizer = optimizers.Adam(0.1)
    else:
        optimizer = optimizers.AdaDelta()
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer.WeightDecay(0.01))""",
    "an expression": "optimizer = optimizers.SGD() if model is None else optimizers.Adam()\n    optimizer.setup(model)",
    "decay on a condition": """decay = 0.1
    optimizer = optimizers.NesterovAG(0.1)
    optimizer.setup(model)
    if decay:
        optimizer.add_hook(chainer.optimizer.WeightDecay(decay))""",
    "clip on a condition": """clip = 0.1
    optimizer = optimizers.NesterovAG(0.1)
    optimizer.setup(model)
    if clip:
        optimizer.add_hook(chainer.optimizer.GradientClipping(clip))""",
    "another model first": """optimizer = optimizers.SGD(0.1)
    model = model.copy('share')
    optimizer.setup(model)""",
}


@pytest.mark.parametrize("make", VARIANTS.values(), ids=VARIANTS)
def test_ways_to_make_one(make: str) -> None:
    code = check(LOOP.format(make=make, last=""))
    assert "setup(" not in code and "add_hook" not in code


RATES = [
    ("SGD(0.1)", "optimizer.lr *= 0.5"),
    ("Adam(0.1)", "optimizer.alpha = optimizer.alpha * 0.9"),
    ("MomentumSGD(0.1)", "optimizer.lr = 0.1 / (i + 1); losses.append(optimizer.lr)"),
    ("MomentumSGD(0.1)", "optimizer.momentum = 0.5 + i / 100"),
    ("Adam(0.1)", "losses.append(optimizer.beta1)"),
]


@pytest.mark.parametrize(("make", "last"), RATES)
def test_rates(make: str, last: str) -> None:
    code = check(LOOP.format(make=f"optimizer = optimizers.{make}{SETUP}", last=last))
    assert "optimizer.param_groups[0]['" in code


UPDATES = {
    "a function": "optimizer.update(lossfun, x, t)",
    "by keyword": "optimizer.update(lossfun, x, labels=t)",
    "a lambda": "optimizer.update(lambda: lossfun(x, t))",
}


@pytest.mark.parametrize("update", UPDATES.values(), ids=UPDATES)
def test_update_with_a_loss_function(update: str) -> None:
    code = check(f"""
        def train(model):
            rng = np.random.RandomState(0)
            optimizer = optimizers.Adam(alpha=0.1)
            optimizer.setup(model)
            optimizer.add_hook(chainer.optimizer.GradientClipping(0.5))

            def lossfun(x, labels):
                return F.softmax_cross_entropy(model(x), labels)

            for i in range(5):
                x = chainer.Variable(rng.randn(5, 3).astype('f'))
                t = chainer.Variable(rng.randint(0, 2, 5).astype('i'))
                {update}  # one step
            return []
    """)
    assert (
        "loss.backward()\n        nn.utils.clip_grad_norm_(model.parameters(), 0.5)\n        optimizer.step()" in code
    )


NAMES = {
    "loss = F.sum(model(x)); log.append(float(loss.array))": "        loss = lossfun(x)\n",
    "loss = F.sum(model(x))\n    log.append(float(loss.array))": "        step_loss = lossfun(x)\n",
    "loss = 3": "        loss = lossfun(x)\n",
}


@pytest.mark.parametrize(("behind", "line"), NAMES.items())
def test_the_name_of_the_loss_is_free(behind: str, line: str) -> None:
    """It may be bound again behind the step; what is read later must not change."""
    program = """
def train(model):
    optimizer = optimizers.Adam(alpha=0.1)
    optimizer.setup(model)
    log = []
    x = chainer.Variable(np.ones((2, 3), 'f'))

    def lossfun(x):
        return F.mean(model(x) ** 2)

    for i in range(3):
        optimizer.update(lossfun, x)
        {behind}
    return log
"""
    if "\n" in behind:  # the last one is read behind the loop
        program = program.replace("    for i", f"    {behind.splitlines()[0]}\n    for i")
        behind = "log.append(float(loss.array))"
    assert line in check(program.replace("{behind}", behind))


MISSING = """
def train(model):
    rng = np.random.RandomState(0)
    optimizer = optimizers.{make}
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer.{hook})
    for i in range(9):
        x = chainer.Variable(rng.randn(5, 3).astype('f'))
        y = model.l1(x) if i % 3 else model(x)
        loss = F.mean(y * y)
        model.cleargrads()
        loss.backward()
        optimizer.update()
    return []
"""


@pytest.mark.parametrize(
    "make", ["SGD(0.1)", "CorrectedMomentumSGD(0.1)", "RMSprop()", "AdaDelta()", "AdaGrad(0.1)", "Adam()"]
)
@pytest.mark.parametrize("hook", ["WeightDecay(0.1)", "GradientClipping(0.3)"])
def test_gradients_that_are_missing(make: str, hook: str) -> None:
    check(MISSING.format(make=make, hook=hook))


def test_in_a_class_and_another_function() -> None:
    code = check("""
        class Agent:
            def __init__(self, model, lr):
                self.model = model
                self.optimizer = optimizers.Adam(alpha=lr)  # no other works
                self.optimizer.setup(self.model)

            def learn(self, x):
                loss = F.mean(self.model(x) ** 2)
                self.optimizer.target.cleargrads()
                loss.backward()
                self.optimizer.update()
                return float(loss.data)


        def train(model):
            agent = Agent(model, 0.1)
            return [agent.learn(chainer.Variable(np.ones((2, 3), 'f'))) for i in range(5)]
    """)
    assert "self.optimizer = compat.Adam(self.model.parameters(), lr=lr)  # no other works" in code
    assert "self.optimizer.zero_grad()" in code


def test_what_is_not_understood_stays_whole() -> None:
    result = migrated("""
        def train(model, hook):
            optimizer = optimizers.Adam()
            optimizer.setup(model)
            optimizer.add_hook(hook)
            optimizer.update(model, 3)
    """)
    assert "optimizer.setup(model)" in result.code and "optimizer.add_hook(hook)" in result.code


@pytest.mark.parametrize("make", ["MomentumSGD(0.1)", "NesterovAG(0.1)", "Adam(0.05)", "SGD(0.1)", "AdamW(0.05)"])
def test_a_decay_before_another_hook_finds_gradients_that_are_missing(make):
    code = check(
        f"""
def train(model):
    optimizer = optimizers.{make}
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.1))
    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(0.05))
    for i in range(12):
        x = chainer.Variable(np.arange(6, dtype='f').reshape(2, 3) / 6 - i)
        y = model(x) if i % 3 == 1 else model.l2(F.tile(x[:, :2], (1, 2)))
        model.cleargrads()
        F.mean(y ** 2).backward()
        optimizer.update()
    return [float(F.sum(p * p).data) for p in model.params()]
""",
        rtol=1e-4,
    )
    assert "decay_weights" in code and "fill_missing" not in code and "Late" not in code
