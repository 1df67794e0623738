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
