"""Batches of which the model or the data says how many parts they have, run beside Chainer."""

import ast
import textwrap
from types import SimpleNamespace

import pytest

from chainer2torch.plan.native.needed_parts import needed_parts
from tests.support.native_programs import check

PROGRAM = """
class Own(chainer.Chain):
    def __init__(self, predictor):
        super(Own, self).__init__(predictor=predictor)

    def __call__(self, {parameters}):
        {body}


def train(net):
    model = Own(net)
    optimizer = {optimizer}
    optimizer.setup(model)
    x = np.linspace(-1, 1, 24).astype('f').reshape(8, 3)
    train_iter = chainer.iterators.SerialIterator({data}, 2, shuffle=False)
    updater = chainer.training.StandardUpdater(train_iter, optimizer, device=-1)
    trainer = chainer.training.Trainer(updater, (2, 'epoch'))
    trainer.run()
    return [p.array for p in net.params()]
"""
SQUARES = "return F.mean_squared_error(self.predictor(x), t)"
TUPLES, ARRAYS = "chainer.datasets.TupleDataset(x, x[:, :2])", "x"


@pytest.mark.parametrize(
    ("parameters", "body", "data", "said"),
    [
        (
            "*args",
            f"assert len(args) >= 2\n        x, t = args[:-1][0], args[-1]\n        {SQUARES}",
            TUPLES,
            "model(*batch)",
        ),
        ("*args", f"x, t = args\n        {SQUARES}", TUPLES, "model(*batch)"),
        ("*args", f"x = args[0]\n        t = args[1]\n        {SQUARES}", TUPLES, "model(*batch)"),
        ("x, *args", f"t = args[0]\n        {SQUARES}", TUPLES, "model(*batch)"),
        ("x, t, scale=1.0", SQUARES, TUPLES, "model(*batch)"),
        ("x, scale=1.0", "return F.sum(self.predictor(x) ** 2) * scale", ARRAYS, "model(batch)"),
        ("*args", "return F.sum(self.predictor(args[0]) ** 2)", ARRAYS, "model(batch)"),
    ],
)
def test_a_loop_says_the_call(parameters, body, data, said):
    code = check(PROGRAM.format(parameters=parameters, body=body, data=data, optimizer="optimizers.SGD(0.1)"))
    assert said in code and "call_with" not in code and "Updater(" not in code


def test_a_model_without_a_name_is_known_by_its_setup():
    """The loop asks the optimizer for it."""
    text = PROGRAM.format(parameters="x, t", body=SQUARES, data=TUPLES, optimizer="optimizers.SGD(0.1)")
    text = text.replace("    model = Own(net)\n", "").replace("setup(model)", "setup(Own(net))")
    code = check(text)
    assert "optimizer.target(x_batch, t)" in code and "call_with" not in code


@pytest.mark.parametrize(
    ("function", "needs"),
    [
        ("def f(self, x, t): pass", 2),
        ("def f(self, x, t=1): pass", 1),
        ("def f(self, *args): pass", 0),
        ("def f(self, *args):\n assert len(args) > 1", 2),
        ("def f(self, *args):\n assert len(args) <= 3", 0),
        ("def f(self, *args):\n assert len(args) == 3", 3),
        ("def f(self, *args):\n *x, t = args", 1),
        ("def f(self, *args):\n (a, b), t = args", 2),
        ("def f(self, x, *args):\n return x + args[1]", 3),
        ("def f(self, *args):\n return args[-2]", 2),
        ("def f(self, *args):\n return args[1] if args else 0", 0),
        ("def f(self, *args):\n if args:\n  return 0\n return args[1]", 0),
        ("def f(self, *args):\n if args:\n  return args[1]", 0),
        ("def f(self, *args):\n g = lambda: args[1]", 0),
        ("def f(self, *args):\n g = len(args) and args[1]", 0),
        ("def f(self, *args):\n args = args + (1,)\n return args[1]", 0),
        ("def f(self, *args):\n for a in args: pass\n return args[3]", 0),
    ],
)
def test_what_a_call_needs(function, needs):
    (node,) = ast.parse(textwrap.dedent(function)).body
    assert needed_parts(SimpleNamespace(node=node), bound=True) == needs
