"""An own evaluator that asks for its `eval_func` gets what was given, not the method of that name that it inherits."""

import pytest

from tests.support.native_snippets import run

PROGRAM = """
import chainer.links as L
from chainer import reporter, training
from chainer.training import extensions


class Asked(object):
    def __init__(self, net):
        self.net = net
        self.scale = 3

    def __call__(self, x):
        reporter.report({'sum': float(F.sum(self.net(x)).array) * self.scale})


class Own(extensions.Evaluator):
    def evaluate(self):
        summary = reporter.DictSummary()
        eval_func = self.eval_func or self._targets['main']
        observation = {}
        with reporter.report_scope(observation):
            eval_func(np.ones((2, eval_func.net.l.W.shape[1]), 'f'))
        summary.add(observation)
        return summary.compute_mean()


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 1, initialW=0.5)

    def __call__(self, x):
        return self.l(x)

"""
BY_KEYWORD = """
def run(xs):
    net = Net()
    return dict(Own({}, net, eval_func=Asked(net))())
"""
BY_POSITION = """
def run(xs):
    net = Net()
    return dict(Own({}, net, chainer.dataset.concat_examples, None, None, Asked(net))())
"""


@pytest.mark.parametrize("program", (BY_KEYWORD, BY_POSITION), ids=("keyword", "position"))
def test_the_function_that_was_given(program):
    theirs, ours, code = run(PROGRAM + program)
    assert {k: float(v) for k, v in ours.items()} == {k: float(v) for k, v in theirs.items()} and theirs, code


SET_LATER = """
class Reporting(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(2, 1, initialW=0.5)

    def __call__(self, x):
        reporter.report({'loss': F.sum(self.l(x))}, self)

    def other(self, x):
        reporter.report({'loss': F.sum(self.l(x)) * 100}, self)


class Other(extensions.Evaluator):
    def __init__(self, it, net):
        super().__init__(it, net)
        self.eval_func = net.other


def run(xs):
    net = Reporting()
    data = [np.ones(2, 'f')] * 4
    results = []
    for make in (extensions.Evaluator, Other):
        it = chainer.iterators.SerialIterator(data, 2, repeat=False, shuffle=False)
        evaluator = make(it, net)
        results.append(evaluator())
    it = chainer.iterators.SerialIterator(data, 2, repeat=False, shuffle=False)
    evaluator = extensions.Evaluator(it, net)
    evaluator.eval_func = net.other
    results.append(evaluator())
    return [{k: float(v) for k, v in result.items()} for result in results]
"""


def test_one_that_is_set_later_is_what_evaluates():
    """It was passed by, silently: the model itself was called."""
    theirs, ours, code = run(PROGRAM + SET_LATER)
    assert ours == theirs == [{"main/loss": 2.0}, {"main/loss": 200.0}, {"main/loss": 200.0}], code
