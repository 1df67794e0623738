"""Classes of iterators that functions are given: what these make is an iterator as Chainer has them."""

from tests.support.native_programs import check

PROGRAM = """
from chainer import training
from chainer.training import extensions


def fit(model, data, iterator_class=iterators.SerialIterator, out='{out}'):
    it = iterator_class(data, 4, shuffle=False)
    optimizer = optimizers.SGD(0.1)
    optimizer.setup(model)
    def loss(x, t):
        return F.softmax_cross_entropy(model(x), t)

    updater = training.updaters.StandardUpdater(it, optimizer, loss_func=loss)
    trainer = training.Trainer(updater, (2, 'epoch'), out=out)
    trainer.extend(extensions.LogReport())
    trainer.run()
    return updater


def train(model):
    rng = np.random.RandomState(0)
    data = chainer.datasets.TupleDataset(rng.randn(12, 3).astype('f'), rng.randint(0, 2, 12).astype('i'))
    updater = fit(model, data)
    return [updater.iteration, updater.epoch, float(abs(model.l1.W.array).sum())]
"""


def test_a_training_whose_iterator_is_of_a_given_class(tmp_path) -> None:
    code = check(PROGRAM.replace("{out}", str(tmp_path)))
    assert "iterator_class(data, 4" in code and "len(updater.get_iterator" not in code, code


GIVEN_OR_MADE = """
from chainer import training
from chainer.training import extensions


def fit(model, data, valid=None, out='{out}'):
    it = iterators.SerialIterator(data, 4, shuffle=False)
    optimizer = optimizers.SGD(0.1)
    optimizer.setup(model)
    updater = training.updaters.StandardUpdater(it, optimizer)
    trainer = training.Trainer(updater, (2, 'epoch'), out=out)
    if isinstance(valid, chainer.dataset.Iterator):
        valid_iter = valid
    else:
        valid_iter = iterators.SerialIterator(valid, 4, repeat=False, shuffle=False)
    trainer.extend(extensions.Evaluator(valid_iter, model))
    trainer.extend(extensions.LogReport())
    trainer.run()
    return trainer


def train(model):
    rng = np.random.RandomState(0)
    data = chainer.datasets.TupleDataset(rng.randn(8, 3).astype('f'), rng.randint(0, 2, 8).astype('i'))
    net = L.Classifier(model)
    globals()['fit'](net, data, data)
    with open('{out}/log') as log:
        lines = eval(log.read().replace('null', 'None'))
    return [line['validation/main/loss'] for line in lines] + [line['main/accuracy'] for line in lines]
"""


def test_an_evaluator_over_an_iterator_that_is_made_or_else_given(tmp_path) -> None:
    """Nobody knows its kind: it was handed to pytorch-pfn-extras with its counters, which raised."""
    check(GIVEN_OR_MADE.replace("{out}", str(tmp_path)))
