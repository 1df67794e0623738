"""What ``verify rules`` does about declared differences: to the original, for the pairs that make them only."""

import dataclasses

import chainer
import numpy as np
import torch
from chainer.iterators import SerialIterator

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
from chainer2torch.verify.rules.verify_rules import verify_rules
from chainer2torch.verify.script.verify_script import verify_script
from chainer2torch.verify.worker import batch_order, clipped_norms
from tests.support.command_line import run

RULES = load_rules(strict=False, style="native")


def batches(count: int) -> list[list[int]]:
    np.random.seed(0)
    iterator = SerialIterator([1, 2, 3, 4, 5], 2)
    return [iterator.next() for _ in range(count)]


def test_chainers_iterators_are_their_own_again() -> None:
    before = batches(6)
    with batch_order.chainer_loads(0) as orders:
        first = batches(6)
        assert [len(batch) for batch in first] == [2, 2, 1] * 2
        assert batches(6) != first  # the second thing of this length has orders of its own
        orders.restart()
        assert batches(6) == first
    assert batches(6) == before


def test_with_one_order_on_both_sides_an_updater_without_its_loss_is_noticed() -> None:
    row = RULES.rows["chainer.training.updaters.StandardUpdater"]
    wrong = dataclasses.replace(row, cases=tuple(_dropping(case) for case in row.cases))
    assert verify_rules([row.name], rules=RULES, matrix=False).ok
    assert not verify_rules([row.name], rules=RULES.replacing(wrong), matrix=False).ok


def _dropping(case):
    return dataclasses.replace(case, torch=case.torch.replace("loss_func=loss_func, ", ""))


SQUARE = """
import chainer
from chainer.utils import type_check

class Square(chainer.Function):
    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)

    def forward(self, inputs):
        return inputs[0] * inputs[0],

    def backward(self, inputs, gy):
        return 2 * inputs[0] * gy[0],
"""


def test_a_type_check_that_goes_is_a_declared_difference() -> None:
    result = migrate_source(SQUARE, rules=RULES)
    assert "check_type_forward" not in result.code
    (site,) = (site for site in result.sites if site.symbol.endswith("type_check.expect"))
    assert (site.state, site.difference) == ("close", "type-checks")


def test_with_its_checks_off_chainer_gives_what_pytorch_gives() -> None:
    report = verify_rules(["chainer.utils.type_check.expect"], rules=RULES, matrix=False)
    gone = [o for o in report.outcomes if o.pair.unchecked]
    assert gone and all(o.compared for o in gone) and report.ok
    assert chainer.config.type_check


def clipped(threshold: float) -> np.ndarray:
    link = chainer.links.Linear(3, 2, initialW=np.arange(6).reshape(2, 3) * 1e-6, initial_bias=np.zeros(2))
    optimizer = chainer.optimizers.SGD(1.0).setup(link)
    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(threshold))
    link.W.grad, link.b.grad = np.array(link.W.array), np.array(link.b.array)
    optimizer.update()
    return np.array(link.W.grad)


def test_a_norm_is_a_millionth_longer_on_both_sides() -> None:
    before = clipped(1e-6)
    with clipped_norms.as_pytorch():
        found = clipped(1e-6)
    weight = torch.nn.Parameter(torch.zeros(2, 3))
    weight.grad = torch.arange(6.0).reshape(2, 3) * 1e-6
    torch.nn.utils.clip_grad_norm_([weight], 1e-6)
    np.testing.assert_allclose(found, weight.grad.numpy(), rtol=1e-5)
    assert not np.allclose(before, found, rtol=1e-2, atol=0)
    np.testing.assert_array_equal(clipped(1e-6), before)


def test_what_clips_as_pytorch_does_is_close() -> None:
    text = (
        "import chainer\nfrom chainer import optimizers\nimport chainer.links as L\n\ndef train(model, loss):\n"
        "    opt = optimizers.SGD(0.1)\n    opt.setup(model)\n    opt.add_hook(chainer.optimizer.GradientClipping(5))\n"
        "    model.cleargrads()\n    loss(model).backward()\n    opt.update()\n\ntrain(L.Linear(2, 2), None)\n"
    )
    result = migrate_source(text, rules=RULES)
    assert "clip_grad_norm_(model.parameters(), 5)" in result.code
    assert [s.state for s in result.sites if s.difference == "clipped-norms"] == ["close"]


SHARED = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Net(chainer.Chain):
    def __init__(self):
        layer = L.Linear(3, 3)
        super().__init__(one=layer, other=layer)

    def __call__(self, x):
        return self.other(F.tanh(self.one(x)))


model = Net()
optimizer = chainer.optimizers.Adam(0.1)
optimizer.setup(model)
optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(0.01))
for i in range(6):
    loss = F.mean(model(np.ones((2, 3), 'f')) ** 2)
    model.cleargrads()
    loss.backward()
    optimizer.update()
"""


def test_a_script_is_equal_with_its_differences_on_chainers_side(tmp_path) -> None:
    (tmp_path / "original").mkdir()
    (tmp_path / "original" / "net.py").write_text(SHARED)
    assert run("migrate", tmp_path / "original", "-q", "-o", tmp_path / "out").returncode in (0, 1)
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=100)
    assert report.exit_code == 0 and report.iterations == 6, "\n".join(report.lines())
    assert {"shared-parameters", "clipped-norms"} <= set(report.differences)
