"""Objects whose ``serialize`` says what is saved of them: a training goes on where it was saved."""

from tests.support.native_programs import check

_UPDATER = """
class Steps(chainer.training.Updater):
    def __init__(self, iterator, optimizer):
        self._iterators = {'main': iterator}
        self._optimizers = {'main': optimizer}
        self.iteration = 0
        self.is_new_epoch = False

    @property
    def epoch(self):
        return self._iterators['main'].epoch

    @property
    def epoch_detail(self):
        return self._iterators['main'].epoch_detail

    def get_optimizer(self, name):
        return self._optimizers[name]

    def get_all_optimizers(self):
        return dict(self._optimizers)

    def update(self):
        x, t = concat_examples(self._iterators['main'].next())
        optimizer = self._optimizers['main']
        loss = F.softmax_cross_entropy(optimizer.target(chainer.Variable(x)), chainer.Variable(t))
        optimizer.target.cleargrads()
        loss.backward()
        optimizer.update()
        self.iteration += 1

    def finalize(self):
        pass

    def serialize(self, serializer):
        for name, iterator in self._iterators.items():
            iterator.serialize(serializer['iterator:' + name])
        for name, optimizer in self._optimizers.items():
            optimizer.serialize(serializer['optimizer:' + name])
            optimizer.target.serialize(serializer['model:' + name])
        self.iteration = serializer('iteration', self.iteration)


def make(model, out, n):
    data = [(np.array([i, 1, 2], 'f') / 10, np.array(i % 2, 'i')) for i in range(6)]
    iterator = iterators.SerialIterator(data, 2, shuffle=False)
    optimizer = optimizers.MomentumSGD(0.1)
    optimizer.setup(model)
    return chainer.training.Trainer(Steps(iterator, optimizer), (n, 'iteration'), out=out)


def train(model):
    import os
    import tempfile

    out = tempfile.mkdtemp()
    trainer = make(model, out, 6)
    trainer.run()
    serializers.save_npz(os.path.join(out, 'trainer'), trainer)
    other = Net()
    again = make(other, out, 12)
    serializers.load_npz(os.path.join(out, 'trainer'), again)
    found = [float(F.sum(p * p).array) for p in (other.l1.W, other.l2.b)] + [again.updater.iteration]
    again.run()
    return found + [float(F.sum(p * p).array) for p in (other.l1.W, other.l2.b)] + [again.updater.iteration]
"""


def test_a_model_and_an_optimizer_that_an_updater_saves_itself_come_back():
    code = check(_UPDATER, rtol=1e-4)
    assert "compat.serialize_part(serializer['optimizer:' + name], optimizer)" in code
    assert "compat.serialize_part(serializer['model:' + name], optimizer.target)" in code


_EXTENSION = """
from chainer import training


class Means(training.Extension):
    def __init__(self, model):
        self.model, self.count, self.summary = model, 0, chainer.DictSummary()

    def __call__(self, trainer):
        self.count += 1
        self.summary.add({'count': self.count})

    def serialize(self, serializer):
        self.model.serialize(serializer['model'])
        self.summary.serialize(serializer['summary'])
        if not isinstance(serializer, chainer.Serializer):
            self.count = int(serializer('count', self.count))
        elif isinstance(serializer, chainer.Serializer) and self.count:
            serializer('count', self.count)


def make(model, out, n):
    data = [(np.array([i, 1, 2], 'f') / 10, np.array(i % 2, 'i')) for i in range(6)]
    optimizer = optimizers.SGD(0.1)
    optimizer.setup(L.Classifier(model))
    updater = training.StandardUpdater(iterators.SerialIterator(data, 2, shuffle=False), optimizer)
    trainer = training.Trainer(updater, (n, 'iteration'), out=out)
    means = Means(Net())
    trainer.extend(means, name='means', trigger=(1, 'iteration'))
    return trainer, means


def train(model):
    import os
    import tempfile

    out = tempfile.mkdtemp()
    trainer, means = make(model, out, 6)
    for param in means.model.params():
        param.array[...] = 0.5
    trainer.run()
    serializers.save_npz(os.path.join(out, 'trainer'), trainer)
    again, other = make(Net(), out, 12)
    serializers.load_npz(os.path.join(out, 'trainer'), again)
    found = [other.count, other.summary.compute_mean()['count'], float(F.sum(other.model.l1.W).array)]
    again.run()
    return found + [other.count, other.summary.compute_mean()['count']]
"""


def test_parts_of_an_extension_come_back_by_what_it_asks_its_serializer():
    code = check(_EXTENSION, rtol=1e-4)
    assert "if serializer.loads:" in code and "not serializer.loads" in code
    assert "class Means(compat.SavedExtension):" in code and "StateWriter" not in code


_OWN = """
from chainer import training

class Own(training.StandardUpdater):
    def __init__(self, *args, **kwargs):
        self.count = 0
        super().__init__(*args, **kwargs)

    def update_core(self):
        super().update_core()
        self.count += 1

    def serialize(self, serializer):
        super().serialize(serializer)
        self.count = serializer('count', self.count)


def make(model, out, n):
    data = [(np.array([i, 1, 2], 'f') / 10, np.array(i % 2, 'i')) for i in range(6)]
    optimizer = optimizers.MomentumSGD(0.1)
    classifier = L.Classifier(model)
    optimizer.setup(classifier)
    updater = Own(iterators.SerialIterator(data, 2, shuffle=False), optimizer)
    return training.Trainer(updater, (n, 'iteration'), out=out)


def train(model):
    import os
    import tempfile

    out = tempfile.mkdtemp()
    trainer = make(model, out, 6)
    trainer.run()
    serializers.save_npz(os.path.join(out, 'trainer'), trainer)
    other = Net()
    again = make(other, out, 12)
    serializers.load_npz(os.path.join(out, 'trainer'), again)
    found = [float(F.sum(p * p).array) for p in (other.l1.W, other.l2.b)] + [again.updater.iteration]
    again.run()
    found += [float(F.sum(p * p).array) for p in (other.l1.W, other.l2.b)]
    return found + [again.updater.iteration, again.updater.count]
"""


def test_what_an_updater_of_ones_own_adds_to_the_state_comes_back():
    code = check(_OWN, rtol=1e-4)
    assert "Own(compat.StandardUpdater)" in code and "compat.MomentumSGD(classifier.parameters(), lr=0.1)" in code
