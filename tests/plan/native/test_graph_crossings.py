"""Which optimizers step under graphs that go backward later, in loops of one's own and in methods."""

import ast

import pytest

from tests.support.native_programs import check
from tests.support.native_snippets import migrated, run

HEAD = """
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self, n, m):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(n, 5, initialW=chainer.initializers.Constant(0.3))
            self.b = L.Linear(5, m, initialW=chainer.initializers.Constant(-0.2))
    def forward(self, x):
        return self.b(F.tanh(self.a(x)))

def loss_of(y, sign):
    return F.sum(F.softplus(sign * y))

def backward(loss):
    loss.backward()
"""
LOOP = """
def run(_):
    gen, dis = Net(3, 4), Net(4, 1)
    opt_gen = chainer.optimizers.SGD(0.1)
    opt_gen.setup(gen)
    opt_dis = chainer.optimizers.SGD(0.1)
    opt_dis.setup(dis)
    rng = np.random.RandomState(0)
    losses = []
    for i in range(4):
        x = rng.rand(2, 4).astype('f')
        z = rng.rand(2, 3).astype('f')
        y_real = dis(x)
        fake = gen(z)
        y_fake = dis(fake)
{steps}
        losses.append(float(loss_g.array))
    return losses
"""
OLD = """
        loss_d = loss_of(y_real, -1.0) + loss_of(y_fake, 1.0)
        loss_g = loss_of(y_fake, -1.0)
        dis.cleargrads()
        loss_d.backward()
        opt_dis.update()
        gen.cleargrads()
        loss_g.backward()
        opt_gen.update()
"""
FRESH = """
        loss_d = loss_of(y_real, -1.0) + loss_of(y_fake, 1.0)
        dis.cleargrads()
        loss_d.backward()
        opt_dis.update()
        loss_g = loss_of(dis(fake), -1.0)
        gen.cleargrads()
        loss_g.backward()
        opt_gen.update()
"""
ELSEWHERE = OLD.replace("loss_d.backward()", "backward(loss_d)").replace("loss_g.backward()", "backward(loss_g)")


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        (OLD, {"opt_dis"}),
        (FRESH, set()),  # the graph through `gen` is older than the step of `dis`, which does not change `gen`
        (ELSEWHERE, {"opt_dis"}),
    ],
    ids=["old graph", "fresh graph", "backward elsewhere"],
)
def test_the_optimizer_between_a_graph_and_its_backward_keeps_it(steps: str, kept: set[str]) -> None:
    text = HEAD + LOOP.format(steps=steps)
    found = {
        ast.unparse(node.args[0])
        for node in ast.walk(ast.parse(migrated(text).code))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "step_keeping_graphs"
    }
    assert found == kept
    theirs, ours, _ = run(text)
    assert ours == pytest.approx(theirs, rel=1e-5)


def test_a_loop_at_the_top_of_a_file_is_one_of_them() -> None:
    body = LOOP.format(steps=OLD).replace("def run(_):", "if True:").replace("    return losses\n", "")
    theirs, ours, code = run(HEAD + body + "\ndef run(_):\n    return losses\n")
    assert ours == pytest.approx(theirs, rel=1e-5) and "compat.step_keeping_graphs(opt_dis)" in code


CUT = """
        opt_gen.update(loss_of, y_fake, -1.0)
        fake.unchain_backward()
        opt_dis.update(lambda a, b: loss_of(a, 1.0) + loss_of(b, -1.0), y_fake, y_real)
        loss_g = loss_of(y_fake, -1.0)
"""
CUT_ELSEWHERE = """
        opt_gen.update(loss_of, y_fake, -1.0)
        cut(fake)
        loss_g = loss_of(dis(fake), -1.0)
        opt_dis.update(loss_of, dis(fake), 1.0)

def cut(x):
    x.unchain_backward()
"""


@pytest.mark.parametrize("rule", ["SGD(0.1)", "Adam(0.1)"])
@pytest.mark.parametrize("steps", [CUT, CUT_ELSEWHERE], ids=["here", "elsewhere"])
def test_the_loss_that_an_update_gets_ends_at_a_cut(steps: str, rule: str) -> None:
    text = HEAD + LOOP.format(steps=steps).replace("SGD(0.1)", rule)
    if steps is CUT_ELSEWHERE:
        losses = "        losses.append(float(loss_g.array))\n    return losses\n"
        first, behind = text.replace(losses, "").split("\ndef cut(x)")
        text = f"{first}{losses}\ndef cut(x){behind}"
    theirs, ours, code = run(text)
    assert ours == pytest.approx(theirs, rel=1e-5)
    assert ".zero_grad()\n" in code and "compat.backward(" in code and "Late" not in code


UPDATE = """
def update(opt, model, loss):
    model.cleargrads()
    loss.backward()
    opt.update()
"""
HANDED = """
        loss_d = loss_of(y_real, -1.0) + loss_of(y_fake, 1.0)
        update(opt_dis, dis, loss_d)
        loss_g = loss_of({y}, -1.0)
        update(opt_gen, gen, loss_g)
"""


def test_a_function_that_is_handed_the_optimizer_and_the_loss_keeps_the_graph() -> None:
    theirs, ours, code = run(HEAD + UPDATE + LOOP.format(steps=HANDED.format(y="y_fake")))
    assert "loss.backward(retain_graph=True)" in code and "compat.step_keeping_graphs(opt)" in code
    assert theirs == pytest.approx(ours, rel=1e-5)
    apart = HANDED.format(y="dis(gen(z))")
    code = migrated(HEAD + UPDATE + LOOP.format(steps=apart)).code
    assert "    loss.backward()\n    opt.step()\n" in code.split("def update")[1]


STEPPER = """
class Stepper:
    def __init__(self, **optimizers):
        self.optimizers = optimizers

    def step(self, name, result):
        if isinstance(result, dict):
            loss = result['loss']
        else:
            loss = result
        optimizer = self.optimizers[name]
        optimizer.target.cleargrads()
        loss.backward()
        optimizer.update()

    def all(self, y_real, y_fake):
        loss = loss_of(y_real, -1.0) + loss_of(y_fake, 1.0)
        results = {'dis': {'loss': loss}, 'gen': loss_of(y_fake, -1.0)}
        for name in ('dis', 'gen'):
            self.step(name, results[name])
        return results['gen']
"""


def test_a_method_that_finds_the_optimizer_and_takes_the_loss_out_of_a_result_keeps_the_graph() -> None:
    steps = "        loss_g = Stepper(gen=opt_gen, dis=opt_dis).all(y_real, y_fake)\n"
    theirs, ours, code = run(HEAD + STEPPER + LOOP.format(steps=steps))
    assert "retain_graph=True" in code
    assert theirs == pytest.approx(ours, rel=1e-5)


UPDATER = """
from chainer import training

class Updater(training.StandardUpdater):
    def update_core(self):
        batch = self.converter(self.get_iterator('main').next(), self.device)
        first, last = self.get_optimizer('first').target, self.get_optimizer('last').target
        y = last.l2(F.tanh(first.l1(batch)))
        losses = {'first': F.mean(y ** 2), 'last': {'loss': F.mean((y - 1) ** 2)}}
        for name in ('first', 'last'):
            self.step(name, losses[name])

    def step(self, name, result):
        loss = result['loss'] if isinstance(result, dict) else result
        optimizer = self.get_optimizer(name)
        optimizer.target.cleargrads()
        loss.backward()
        optimizer.update()

def train(net):
    made = {}
    for name, model in (('first', net), ('last', Net())):
        made[name] = optimizers.SGD(0.1)
        made[name].setup(model)
    for p in made['last'].target.params():
        p.array[...] = 0.5
    iterator = iterators.SerialIterator(np.arange(36, dtype='f').reshape(12, 3) / 36, 3)
    training.Trainer(Updater(iterator, made), (2, 'epoch')).run()
    return [p.array.sum() for p in made['last'].target.params()]
"""


def test_an_updater_whose_method_steps_by_name() -> None:
    code = check(UPDATER)
    assert "loss.backward(retain_graph=True)" in code and "compat.step_keeping_graphs(optimizer)" in code


EACH = """
def send(losses):
    for number, loss in enumerate(losses):
        loss.backward()
"""


def test_losses_that_a_function_sends_back_one_by_one_share_their_graph() -> None:
    steps = """
        losses_d = [loss_of(y_real, -1.0), loss_of(y_fake, 1.0), F.sum(y_fake)]
        dis.cleargrads()
        send(losses_d)
        opt_dis.update()
        loss_g = loss_of(dis(gen(z)), -1.0)
        gen.cleargrads()
        loss_g.backward()
        opt_gen.update()
"""
    theirs, ours, code = run(HEAD + EACH + LOOP.format(steps=steps))
    assert "loss.backward(retain_graph=True)" in code and theirs == pytest.approx(ours, rel=1e-5)


def test_a_step_that_computes_its_loss_keeps_nothing() -> None:
    text = """
def step(net, x, opt):
    loss = loss_of(net(x), 1.0)
    net.cleargrads()
    loss.backward()
    opt.update()

def train(nets, make, opt):
    x, net = make(), nets.pop()
    for i in range(3):
        step(net, x, opt)
"""
    code = migrated(HEAD + text).code
    assert "retain_graph" not in code and "step_keeping_graphs" not in code


COMPUTING = """
def update_dis(dis, real, fake):
    loss = loss_of(dis(real), -1.0) + loss_of(dis(fake.array), 1.0)
    dis.cleargrads()
    loss.backward()

def update_gen(dis, fake):
    loss = loss_of(dis(fake), -1.0)
    loss.backward()
    return loss

def update_alone(back, z):
    loss = F.sum(F.absolute(back - z))
    loss.backward()

"""


def test_functions_that_compute_losses_of_one_graph_and_send_them_back() -> None:
    """The later one passes what the one before has passed; a function that takes the numbers alone passes nothing."""
    steps = """
        back = gen(F.concat([y_fake, y_fake, F.sum(fake, axis=1, keepdims=True)], axis=1))
        update_dis(dis, x, fake)
        opt_dis.update()
        gen.cleargrads()
        loss_g = update_gen(dis, fake)
        opt_gen.update()
        gen.cleargrads()
        update_alone(back, x)
        opt_gen.update()
"""
    theirs, ours, code = run(HEAD + COMPUTING + LOOP.format(steps=steps))
    assert theirs == pytest.approx(ours, rel=1e-5)
    parts = code.split("def update_")
    assert "retain_graph" in parts[2] and "retain_graph" not in parts[1] + parts[3]


_STEPS = """
KEPT = [None]

class Updater(training.StandardUpdater):
    def loss(self, y, sign):
        return F.mean(F.softplus(sign * y))

    def update_core(self):
        batch = self.converter(self.get_iterator('main').next(), self.device)
        first, last = self.get_optimizer('first'), self.get_optimizer('last')
        y = last.target.l2(F.tanh(first.target.l1(batch)))
        last.update(self.loss, y, 1.0)
        first.update(self.loss, y, -1.0){more}
"""


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ("", 1),
        ("\n        first.update(self.loss, y, 0.5)", 2),
        ("\n        self.y = y", 2),
        ("\n        KEPT.append(y)", 2),
        ("\n        KEPT[0] = y", 2),
    ],
)
def test_the_last_backward_of_a_function_keeps_no_graph(more: str, kept: int) -> None:
    start, end = UPDATER.index("\nclass Updater"), UPDATER.index("\ndef train")
    code = check(UPDATER[:start] + _STEPS.format(more=more) + UPDATER[end:])
    assert code.count("loss.backward(retain_graph=True)") == kept and code.count("loss.backward(") >= 2, code


TARGETS = """
class Stepper:
    def __init__(self, **optimizers):
        self.optimizers = optimizers

    def all(self, opt_one, opt_two, opt_gen, x, z):
        one, two, gen = {models}
        fake = gen(z)
        first = loss_of(one(x), 1.0)
        one.cleargrads()
        first.backward()
        opt_one.update()
        second = loss_of(two(x), -1.0)
        two.cleargrads()
        second.backward()
        opt_two.update()
        loss = F.sum(fake ** 2)
        gen.cleargrads()
        loss.backward()
        opt_gen.update()
        return loss

def run(_):
    nets = [Net(4, 1), Net(4, 1), Net(3, 4)]
    opts = [chainer.optimizers.SGD(0.1), chainer.optimizers.SGD(0.1), chainer.optimizers.SGD(0.1)]
    opt_one, opt_two, opt_gen = opts
    opt_one.setup(nets[0])
    opt_two.setup(nets[1])
    opt_gen.setup(nets[2])
    rng = np.random.RandomState(0)
    x, z = rng.rand(2, 4).astype('f'), rng.rand(2, 3).astype('f')
    return [float(Stepper().all(opt_one, opt_two, opt_gen, x, z).array) for i in range(3)]
"""
PLACE = "        one, two, gen = {models}\n"
ONE_BY_ONE = "        one = opt_one.target\n        two = opt_two.target\n        gen = opt_gen.target\n"


def test_models_that_optimizers_are_asked_for_are_apart() -> None:
    text = HEAD + TARGETS.replace(PLACE, ONE_BY_ONE)
    theirs, ours, code = run(text)
    assert ours == pytest.approx(theirs, rel=1e-5) and "step_keeping_graphs" not in code, code
    again = ONE_BY_ONE + "        one = gen\n"  # the name is bound twice: which model it is, nobody knows
    assert "step_keeping_graphs" in migrated(HEAD + TARGETS.replace(PLACE, again)).code


CLEARED = """
class Update(object):
    def __init__(self, gen, dis):
        self.gen, self.dis = gen, dis
        self.opts = {{'gen': chainer.optimizers.SGD(0.1), 'dis': chainer.optimizers.SGD(0.1)}}
        self.opts['gen'].setup(gen)
        self.opts['dis'].setup(dis)

    def __call__(self, x, z):
        opt_gen, opt_dis = self.opts['gen'], self.opts['dis']
        fake = self.gen(z)
        y_fake = self.dis(fake)
        loss_d = loss_of(self.dis(x), -1.0) + loss_of(y_fake, 1.0)
        loss_g = loss_of(y_fake, -1.0)
        self.gen.cleargrads()
        loss_g.backward()
        opt_gen.update()
{cut}
        self.dis.cleargrads()
        loss_d.backward()
        opt_dis.update()
        return loss_d.array, loss_g.array

def run(_):
    step, rng = Update(Net(3, 4), Net(4, 1)), np.random.RandomState(0)
    return [[float(v) for v in step(rng.rand(2, 4).astype('f'), rng.rand(2, 3).astype('f'))] for _ in range(4)]
"""


@pytest.mark.parametrize(("cut", "kept"), [("        fake.unchain_backward()", False), ("", True)])
def test_what_is_cleared_tells_whose_optimizer_steps(cut, kept):
    source = HEAD + CLEARED.format(cut=cut)
    theirs, ours, code = run(source)
    assert ours == [pytest.approx(losses, rel=1e-5) for losses in theirs]
    assert ("step_keeping_graphs(opt_gen)" in code) is kept
