"""v1.2x ImageNet style: `model.train` as a plain attribute, a test-mode evaluator, random crops in get_example."""
import random

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.training import extensions


def begin(model):
    pass


class Alex(chainer.Chain):

    insize = 6

    def __init__(self):
        super(Alex, self).__init__(
            conv1=L.Convolution2D(3, 4, 3, stride=1),
            bn1=L.BatchNormalization(4),
            fc=L.Linear(16, 3),
        )
        self.train = True
        self.size = 5

    def clear(self):
        self.loss = None
        self.accuracy = None

    def __call__(self, x, t):
        self.clear()
        h = F.max_pooling_2d(F.relu(self.bn1(self.conv1(x))), 3, stride=2)
        if not self.train:
            h = h * 0.5
        h = self.fc(h)
        self.loss = F.softmax_cross_entropy(h, t)
        self.accuracy = F.accuracy(h, t)
        chainer.report({'loss': self.loss, 'accuracy': self.accuracy}, self)
        return self.loss


class PreprocessedDataset(chainer.dataset.DatasetMixin):

    def __init__(self, base, mean, crop_size, rnd=True):
        self.base = base
        self.mean = mean.astype('f')
        self.crop_size = crop_size
        self.random = rnd

    def __len__(self):
        return len(self.base)

    def get_example(self, i):
        crop_size = self.crop_size
        image, label = self.base[i]
        _, h, w = image.shape
        if self.random:
            top = random.randint(0, h - crop_size - 1)
            left = random.randint(0, w - crop_size - 1)
            if random.randint(0, 1):
                image = image[:, :, ::-1]
        else:
            top = (h - crop_size) // 2
            left = (w - crop_size) // 2
        bottom = top + crop_size
        right = left + crop_size
        image = image[:, top:bottom, left:right]
        image -= self.mean[:, top:bottom, left:right]
        image *= (1.0 / 255.0)
        return image, label


class TestModeEvaluator(extensions.Evaluator):

    def evaluate(self):
        model = self.get_target('main')
        model.train = False
        ret = super(TestModeEvaluator, self).evaluate()
        model.train = True
        return ret


def main(out):
    random.seed(4)
    rng = np.random.RandomState(4)
    images = (rng.rand(21, 3, 8, 8) * 255).astype('f')
    labels = rng.randint(0, 3, 21).astype('i')
    mean = images.mean(axis=0)
    pairs = [(images[i].copy(), labels[i]) for i in range(21)]
    model = Alex()
    begin(model)
    train = PreprocessedDataset(pairs[:15], mean, model.insize)
    val = PreprocessedDataset(pairs[15:], mean, model.insize, False)
    train_iter = chainer.iterators.SerialIterator(train, 4)
    val_iter = chainer.iterators.SerialIterator(val, 4, repeat=False, shuffle=False)
    optimizer = chainer.optimizers.MomentumSGD(lr=0.05, momentum=0.9)
    optimizer.setup(model)
    updater = training.StandardUpdater(train_iter, optimizer, device=-1)
    trainer = training.Trainer(updater, (3, 'epoch'), out)
    val_interval = (5 if False else 3), 'iteration'
    log_interval = 2, 'iteration'
    trainer.extend(TestModeEvaluator(val_iter, model, device=-1), trigger=val_interval)
    trainer.extend(extensions.snapshot(), trigger=val_interval)
    trainer.extend(extensions.snapshot_object(model, 'model_iter_{.updater.iteration}'), trigger=val_interval)
    trainer.extend(extensions.LogReport(trigger=log_interval))
    trainer.extend(extensions.PrintReport([
        'epoch', 'iteration', 'main/loss', 'validation/main/loss',
        'main/accuracy', 'validation/main/accuracy',
    ]), trigger=log_interval)
    trainer.run()
    return model.train, model.bn1.avg_var, float(model.loss.data), model.size
