"""A detector: two heads, two losses, boxes

Chainer's pooling covers the edge (`ceil_mode=True`), its Huber loss sums over the second axis, its layers flatten images. Weight decay moves into the optimizer. The
loop over an iterator's epochs becomes two `for` loops. The evaluation is in `eval` mode and under `torch.no_grad()`; what NumPy computes from the boxes stays NumPy.
"""
import argparse

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

SIZE = 16


class Detector(chainer.Chain):

    def __init__(self, n_class):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(3, 8, 3, pad=1)
            self.bn1 = L.BatchNormalization(8)
            self.conv2 = L.Convolution2D(8, 8, 3, stride=2, pad=1)
            self.cls = L.Linear(8 * 4 * 4, n_class)
            self.loc = L.Linear(8 * 4 * 4, 4)

    def extract(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        h = F.max_pooling_2d(F.relu(self.conv2(h)), 2)
        return F.dropout(h, 0.1)

    def forward(self, x):
        h = self.extract(x)
        return self.cls(h), self.loc(h)


def losses(model, images, labels, boxes):
    scores, found = model(images)
    return F.softmax_cross_entropy(scores, labels), F.mean(F.huber_loss(found, boxes, 1.0))


def scene(rng):
    image = rng.normal(0, 0.1, (3, SIZE, SIZE)).astype(np.float32)
    label = rng.randint(2)
    top, left = rng.randint(0, SIZE // 2, 2)
    height, width = rng.randint(3, SIZE // 2, 2)
    image[label, top:top + height, left:left + width] += 1
    box = np.array([top, left, top + height, left + width], np.float32) / SIZE
    return image, np.int32(label), box


def overlap(a, b):
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    inner = np.prod(np.maximum(high - low, 0))
    return float(inner / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - inner + 1e-6))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epoch', type=int, default=2)
    args = parser.parse_args()

    rng = np.random.RandomState(0)
    scenes = [scene(rng) for _ in range(16)]
    model = Detector(2)
    optimizer = chainer.optimizers.MomentumSGD(lr=0.01)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.0005))
    iterator = chainer.iterators.SerialIterator(scenes, 8, shuffle=False)
    while iterator.epoch < args.epoch:
        images, labels, boxes = chainer.dataset.concat_examples(iterator.next())
        loss_cls, loss_loc = losses(model, images, labels, boxes)
        loss = loss_cls + loss_loc
        model.cleargrads()
        loss.backward()
        optimizer.update()

    images, labels, boxes = chainer.dataset.concat_examples(scenes)
    with chainer.using_config('train', False), chainer.no_backprop_mode():
        scores, found = model(images)
    print('accuracy', float(F.accuracy(scores, labels).array))
    print('overlap', np.mean([overlap(a, b) for a, b in zip(found.array, boxes)]))


if __name__ == '__main__':
    main()
