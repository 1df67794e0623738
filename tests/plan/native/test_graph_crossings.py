"""Which optimizers step under graphs that go backward later, in loops of one's own and in methods."""

import ast

import pytest

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
