"""Several GPUs: ChainerMN becomes torch.distributed

Started with `torchrun --nproc_per_node=N train.py` in the place of `mpiexec -n N`. Each process has a share of the data, and the gradients are averaged. [Training in
several processes](distributed.md) says what differs.
"""
import argparse

import chainer
import chainer.functions as F
import chainer.links as L
import chainermn
import numpy as np
from chainer import training
from chainer.training import extensions


class MLP(chainer.Chain):

    def __init__(self, n_units, n_out):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(4, n_units)
            self.l2 = L.Linear(n_units, n_out)

    def forward(self, x):
        return self.l2(F.relu(self.l1(x)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--communicator', default='pure_nccl')
    parser.add_argument('--epoch', type=int, default=2)
    args = parser.parse_args()

    comm = chainermn.create_communicator(args.communicator)
    device = comm.intra_rank
    chainer.cuda.get_device_from_id(device).use()
    model = L.Classifier(MLP(16, 2))
    model.to_gpu()
    optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.Adam(), comm)
    optimizer.setup(model)

    data = None
    if comm.rank == 0:
        x = np.random.RandomState(0).normal(size=(64, 4)).astype(np.float32)
        data = chainer.datasets.TupleDataset(x, (x.sum(axis=1) > 0).astype(np.int32))
    data = chainermn.scatter_dataset(data, comm, shuffle=True)
    iterator = chainer.iterators.SerialIterator(data, 16)
    updater = training.StandardUpdater(iterator, optimizer, device=device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'))
    if comm.rank == 0:
        trainer.extend(extensions.LogReport())
        trainer.extend(extensions.PrintReport(['epoch', 'main/loss', 'main/accuracy']))
    trainer.run()


if __name__ == '__main__':
    main()
