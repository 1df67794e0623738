"""Who asks for the mode and is called later, or by somebody who hands on none: lambdas, plain objects, data sets."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
import chainer.links as L

def scaled(x):
    return x * 10 if chainer.config.train else x

def deeper(x):
    return scaled(x) + 0

def kept():
    return lambda x: x * 10 if chainer.config.train else x

class Plain(object):
    def __call__(self, x):
        return deeper(x)

late = lambda x: scaled(x)

class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.l = L.Linear(2, 2)
        self.act = ACT

    def forward(self, x):
        return F.sum(self.act(x)) + 0 * F.sum(self.l(x))

def run(xs):
    net = Net()
    with chainer.using_config('train', False):
        quiet = net(xs[0]).array
    return quiet, net(xs[0]).array
"""


@pytest.mark.parametrize("act", ["scaled", "kept()", "Plain()", "late", "lambda x: deeper(x)"])
def test_the_mode_is_that_of_the_call(act):
    theirs, ours, _ = run(PROGRAM.replace("ACT", act))
    np.testing.assert_allclose([float(v) for v in ours], [float(v) for v in theirs], rtol=1e-5)


def test_what_nobody_hands_on_is_asked_of_the_thread_and_marked():
    result = migrated(PROGRAM.replace("ACT", "Plain()"))
    assert "return deeper(x, training=compat.is_training())" in result.code, result.code
    marked = [site for site in result.sites if site.symbol == "chainer.config.train" and site.state == "review"]
    assert any("calls it" in site.message for site in marked), [site.message for site in marked]


AT_ONCE = """
def apply(f, x):
    return f(x)

def noisy(x):
    f = lambda y: F.dropout(y, 0.9)
    g = apply(lambda y: F.dropout(y, 0.9), x)
    return f(x) + g + sum(map(lambda y: F.dropout(y, 0.9), [x]))

class Net(chainer.Chain):
    def forward(self, x):
        return noisy(x)

def run(xs):
    with chainer.using_config('train', False):
        return Net()(xs[0]).array
"""


def test_a_lambda_that_runs_where_it_stands_has_the_mode_of_its_function():
    theirs, ours, code = run(AT_ONCE)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert code.count("training=training)") == 3 and "is_training" not in code, code


DATA = """
from chainer import training
from chainer.training import extensions
import chainer.links as L

def moved(x):
    return x + 10 if chainer.config.train else x

class Data(chainer.dataset.DatasetMixin):
    def __len__(self):
        return 4

    def get_example(self, i):
        return BODY

class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.l = L.Linear(2, 2)

    def forward(self, x):
        chainer.report({'mean': F.mean(x).array}, self)
        return F.sum(self.l(x))

def run(xs):
    model = Net()
    optimizer = chainer.optimizers.SGD(0.0)
    optimizer.setup(model)
    train = chainer.iterators.SerialIterator(Data(), 2, shuffle=False)
    test = chainer.iterators.SerialIterator(Data(), 2, repeat=False, shuffle=False)
    trainer = training.Trainer(training.StandardUpdater(train, optimizer), (1, 'epoch'), out=OUT)
    seen = []
    trainer.extend(extensions.Evaluator(test, model))

    @training.make_extension(trigger=(1, 'epoch'), priority=-100)
    def look(trainer):
        seen.append(float(trainer.observation['validation/main/mean']))

    trainer.extend(look)
    trainer.run()
    return seen
"""


@pytest.mark.parametrize(
    "body",
    [
        "moved(np.full((2,), i, dtype=np.float32))",
        "np.full((2,), i + (10 if chainer.config.train else 0), dtype=np.float32)",
    ],
)
def test_an_evaluator_reads_its_data_in_test_mode(body, tmp_path):
    theirs, ours, code = run(DATA.replace("BODY", body).replace("OUT", repr(str(tmp_path))))
    assert ours == theirs == [1.5], code


def test_where_only_modules_ask_the_evaluator_is_that_of_pytorch_pfn_extras():
    body = "np.full((2,), i, dtype=np.float32)"
    code = migrated(
        DATA.replace("BODY", body).replace("OUT", "'r'").replace("if chainer.config.train", "if x is 1")
    ).code
    assert "extensions.Evaluator(test, model)" in code and "ModeEvaluator" not in code, code
