"""A training function that gets the class of its iterators, and a converter: the usual way of wrappers."""

import pytest
from tests.support.model_batch import run

from chainer2torch.verify.script.verify_script import verify_script

SOURCE = """
import numpy as np
import chainer
import chainer.links as L
from chainer import training
from chainer.dataset import concat_examples
from chainer.datasets import TupleDataset
from chainer.training import extensions


def fit(model, train, test=None, iterator_class=chainer.iterators.SerialIterator, {more}):
    train_iter = iterator_class(train, 4)
    test_iter = None
    if test is not None:
        test_iter = iterator_class(test, 4, repeat=False, shuffle=False)
    opt = chainer.optimizers.SGD(0.1)
    opt.setup(model)
    updater = training.StandardUpdater(train_iter, opt, {options})
    trainer = training.Trainer(updater, (2, 'epoch'), out='result')
    if test_iter is not None:
        trainer.extend(extensions.Evaluator(test_iter, model, {options}))
    trainer.extend(extensions.LogReport())
    trainer.run()


{call}


r = np.random.RandomState(0)
train = TupleDataset(r.rand(12, 3).astype('f'), r.randint(0, 2, 12).astype('i'))
test = TupleDataset(r.rand(8, 3).astype('f'), r.randint(0, 2, 8).astype('i'))
run(L.Classifier(L.Linear(3, 2)), train, test=test)
"""
SEEN = "def run(model, train, test):\n    fit(model, train, test)"
BY_KEYWORDS = "def run(model, train, **kwargs):\n    fit(model, train, **kwargs)"


@pytest.mark.parametrize("call", [SEEN, BY_KEYWORDS])
@pytest.mark.parametrize("converter", [False, True])
def test_an_iterator_of_a_class_that_is_handed_over(tmp_path, call, converter):
    """Such an iterator was taken for a loader, which has a length; the converter got the number of no device."""
    more = "converter=concat_examples, device=-1" if converter else "device=-1"
    options = "converter=converter, device=device" if converter else "device=device"
    (tmp_path / "original").mkdir()
    (tmp_path / "original" / "net.py").write_text(SOURCE.format(more=more, options=options, call=call))
    done = run("migrate", tmp_path / "original", "-q", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=100)
    code = (tmp_path / "out" / "net.py").read_text()
    assert report.exit_code == 0 and report.iterations == 6, "\n".join(report.lines()) + code
