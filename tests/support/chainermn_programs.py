"""What a ChainerMN program may do with a communicator: it runs under ChainerMN as it stands, and migrated.

Every function gets a communicator and returns what this rank sees.
"""

import os
import tempfile

import chainer
import chainer.functions as F
import chainer.links as L
import chainermn
import numpy as np
from chainer import training
from chainer.training import extensions


def values(rank, *shape):
    """Numbers that differ between ranks."""
    count = int(np.prod(shape))
    return (np.sin(np.arange(count) * 1.7 + rank * 0.9 + 0.3) * 2).astype(np.float32).reshape(shape)


def linear(n_in, n_out, seed):
    """A layer with the same weights everywhere."""
    layer = L.Linear(n_in, n_out, initialW=0.3 * values(seed, n_out, n_in))
    layer.cleargrads()  # they start as nan
    return layer


def objects(comm):
    last = comm.size - 1
    result = {"ranks": [comm.rank, comm.size, comm.intra_rank, comm.intra_size, comm.inter_rank, comm.inter_size]}
    result["bcast"] = comm.bcast_obj({"a": 1} if comm.rank == 0 else None)
    result["bcast last"] = comm.bcast_obj("text" if comm.rank == last else None, root=last)
    result["gather"] = comm.gather_obj(("item", comm.rank), root=last)
    result["sum"] = comm.allreduce_obj([comm.rank])
    if comm.rank == 0:
        comm.send_obj("tag 5", dest=last, tag=5)
        comm.send_obj("no tag", dest=last)
        comm.send_obj("tag 7", last, 7)
    elif comm.rank == last:
        result["received"] = [comm.recv_obj(0, tag=7), comm.recv_obj(0), comm.recv_obj(source=0)]
    comm.send_obj(comm.rank, (comm.rank + 1) % comm.size)  # all send before anyone receives
    result["ring"] = comm.recv_obj((comm.rank - 1) % comm.size)
    comm.mpi_comm.Barrier()
    result["scattered"] = comm.mpi_comm.scatter(list(range(10, 10 + comm.size)) if comm.rank == 0 else None)
    return result


def arrays(comm):
    result = {}
    last = comm.size - 1
    for dtype in (np.float32, np.float64, np.int32, np.int64):
        x = (values(comm.rank, 2, 3) * 10).astype(dtype)
        name = np.dtype(dtype).name
        result[name + " allreduce"] = comm.allreduce(x)
        result[name + " bcast"] = comm.bcast(x if comm.rank == last else None, last)
        result[name + " gather"] = comm.gather(x[: 1 + comm.rank % 2], last)
        result[name + " allgather"] = comm.allgather(x[:, : 1 + comm.rank % 3])
        result[name + " alltoall"] = comm.alltoall(tuple(x[:1, : (comm.rank + to) % 4] for to in range(comm.size)))
        parts = tuple(x[:, : 1 + to % 3] for to in range(comm.size)) if comm.rank == 0 else None
        result[name + " scatter"] = comm.scatter(parts)
        rows = np.arange(comm.size * 2).reshape(comm.size, 2).astype(dtype) if comm.rank == last else None
        result[name + " scatter rows"] = comm.scatter(rows, last)
        if comm.rank == 0:
            comm.send(x, last, 3)
            comm.send((x, x[0]), last, 4)
        elif comm.rank == last:
            result[name + " recv"] = (comm.recv(0, 3), comm.recv(0, 4))
    return result


def split(comm):
    part = comm.split(comm.rank % 2, -comm.rank)  # the key turns the order round
    result = {"rank": [part.rank, part.size, part.intra_rank, part.inter_size]}
    result["members"] = part.allgather(np.array([comm.rank], dtype=np.int64))
    result["sum"] = part.allreduce(values(comm.rank, 3))
    result["first"] = part.bcast_obj(comm.rank if part.rank == 0 else None)
    alone = part.split(comm.rank, 0)
    result["alone"] = [alone.rank, alone.size]
    result["alltoall"] = part.alltoall(tuple(np.full((1,), 10.0 * comm.rank + i) for i in range(part.size)))
    return result


def shares(comm):
    result = {}
    last = comm.size - 1
    for count in (comm.size, 7, 10, 12):
        data = [(np.float32(i), np.int32(-i)) for i in range(count)]
        mine = data if comm.rank == 0 else None
        result["plain", count] = list(chainermn.scatter_dataset(mine, comm))
        result["unequal", count] = list(chainermn.scatter_dataset(mine, comm, force_equal_length=False))
        result["seeded", count] = list(chainermn.scatter_dataset(mine, comm, shuffle=True, seed=4))
        np.random.seed(6)
        from_last = data if comm.rank == last else None
        result["from last", count] = list(chainermn.scatter_dataset(from_last, comm, root=last, shuffle=True, seed=2))
        result["index", count] = chainermn.scatter_index(count, comm)
        result["unequal index", count] = chainermn.scatter_index(count, comm, root=last, force_equal_length=False)
        result["empty", count] = list(chainermn.datasets.create_empty_dataset(data))
    return result


def point_to_point(comm):
    """A chain of layers over the ranks, twice: forward in the order of the ranks, backward against it."""
    first, second = linear(3, 3, comm.rank), linear(3, 3, 10 + comm.rank)
    delegate = None
    for layer in (first, second):
        if comm.rank == 0 and delegate is None:
            x = chainer.Variable(values(5, 4, 3))
        else:
            x = chainermn.functions.recv(comm, (comm.rank - 1) % comm.size, delegate_variable=delegate)
        y = layer(x)
        if layer is second and comm.rank == comm.size - 1:
            loss = F.sum(y**2)
        else:
            delegate = chainermn.functions.send(y, comm, (comm.rank + 1) % comm.size)
            loss = delegate
    loss.backward()
    result = {"grads": [first.W.grad, first.b.grad, second.W.grad, second.b.grad]}
    if comm.rank == comm.size - 1:
        result["loss"] = loss.array
    return result


def tuples_in_the_graph(comm):
    """Tuples with tags, from the last rank to the first; forced tuples; a connected value that is used twice."""
    last = comm.size - 1
    result = {}
    layer = linear(2, 2, comm.rank)
    if comm.rank == last:
        a, b = layer(values(1, 3, 2)), layer(values(2, 3, 2))
        one = chainermn.functions.send((a, b), comm, 0, tag=2)
        (a,) = chainermn.functions.pseudo_connect(one, a)
        two = chainermn.functions.send(a * 3, comm, 0, tag=1)
        two.backward()
    elif comm.rank == 0:
        pair = chainermn.functions.recv(comm, last, tag=2)
        single = chainermn.functions.recv(comm, last, tag=1, delegate_variable=pair[0], force_tuple=True)
        result["received"] = [len(pair), len(single)]
        loss = F.sum(layer(pair[1]) ** 2) + F.sum(layer(single[0]))
        loss.backward()
        result["loss"] = loss.array
    result["grads"] = [layer.W.grad, layer.b.grad] if comm.rank in (0, last) else []
    return result


def collective_graph(comm):
    result = {}
    last = comm.size - 1
    names = ["allgather", "alltoall", "bcast", "gather", "scatter"]
    layers = [linear(3, 3, i + comm.rank) for i in range(len(names))]
    for name, layer in zip(names, layers):
        x = values(comm.rank, 2, 3)
        weight = values(20 + comm.rank, 2, 3)
        if name == "allgather":
            ys = chainermn.functions.allgather(comm, layer(x))
            loss = sum([F.sum(y * y * weight) * (i + 1) for i, y in enumerate(ys)])
        elif name == "alltoall":
            h = layer(x)
            ys = chainermn.functions.alltoall(comm, [h * (i + 1) for i in range(comm.size)])
            loss = sum([F.sum(y * y * weight) * (i + 1) for i, y in enumerate(ys)])
        elif name == "bcast":
            y = chainermn.functions.bcast(comm, layer(x) if comm.rank == last else None, last)
            loss = F.sum(y * y * weight)
        elif name == "gather":
            ys = chainermn.functions.gather(comm, layer(x), last)
            if comm.rank == last:
                loss = sum([F.sum(y * y) * (i + 1) for i, y in enumerate(ys)])
            else:
                loss = ys
        else:
            hs = [layer(x) * (i + 1) for i in range(comm.size)] if comm.rank == 0 else None
            y = chainermn.functions.scatter(comm, hs)
            loss = F.sum(y * y * weight)
        loss.backward()
        if name != "gather" or comm.rank == last:
            result[name] = loss.array
        if name not in ("bcast", "scatter") or comm.rank == (last if name == "bcast" else 0):
            result[name + " grads"] = [layer.W.grad, layer.b.grad]
    return result


class Part(chainer.Chain):
    def __init__(self, n_in, n_out, seed):
        super().__init__()
        with self.init_scope():
            self.l = linear(n_in, n_out, seed)

    def __call__(self, *xs):
        return F.tanh(self.l(sum(xs)))


class FirstRank(chainermn.MultiNodeChainList):
    def __init__(self, comm):
        super().__init__(comm=comm)
        self.add_link(Part(3, 4, 1), rank_in=None, rank_out=[1, 0])
        self.add_link(Part(4, 4, 2), rank_in=[0, 1], rank_out=None)
        self.add_link(Part(3, 2, 3), rank_out=1)


class SecondRank(chainermn.MultiNodeChainList):
    def __init__(self, comm):
        super().__init__(comm)
        self.add_link(Part(4, 4, 4), rank_in=0, rank_out=0)
        self.add_link(Part(2, 1, 5), 0, None)


def chain_list(comm):
    """Two ranks of the model; a third one has nothing to do."""
    result = {}
    if comm.rank == 0:
        model = FirstRank(comm)
        y = model(values(3, 5, 3))
        result["y"] = y.array
        F.sum(y**2).backward()
    elif comm.rank == 1:
        model = SecondRank(comm)
        y = model()
        result["y"] = y.array
        F.sum(y**3).backward()
    if comm.rank < 2:
        result["grads"] = [param.grad for param in model.params()]
        result["keys"] = [path for path, _ in sorted(model.namedparams())]
    return result


def n_step_rnn(comm):
    """An LSTM whose states go from rank to rank."""
    lstm = L.NStepLSTM(1, 2, 3, 0.0, initialW=0.3 + 0.1 * comm.rank, initial_bias=0.2)
    lstm.cleargrads()
    before = comm.rank - 1 if comm.rank > 0 else None
    after = comm.rank + 1 if comm.rank < comm.size - 1 else None
    rnn = chainermn.links.create_multi_node_n_step_rnn(lstm, comm, rank_in=before, rank_out=after)
    hy, cy, ys, delegate = rnn([values(comm.rank, 4, 2), values(comm.rank + 1, 2, 2)])
    loss = F.sum(F.concat(ys, axis=0) ** 2)
    if delegate is not None:
        (loss,) = chainermn.functions.pseudo_connect(delegate, loss)
    loss.backward()
    return {
        "states": [hy.array, cy.array],
        "ys": [y.array for y in ys],
        "delegate": delegate is None,
        "grads": sum([float(np.sum(np.asarray(param.grad) ** 2)) for param in lstm.params()]),
    }


def batch_normalization(comm):
    result = {}
    for name, shape, options in (
        ("plain", (4, 3), {}),
        ("images", (2, 3, 4, 2), {"decay": 0.7, "eps": 1e-3}),
        ("fixed", (5, 3), {"use_gamma": False, "use_beta": False}),
        ("initial", (4, 3), {"initial_gamma": 0.5, "initial_beta": 2.0}),
        ("one", (1, 3), {}),
    ):
        bn = chainermn.links.MultiNodeBatchNormalization(3, comm, **options)
        for i in range(2):
            bn.cleargrads()
            x = chainer.Variable(values(comm.rank + i, *shape))
            y = bn(x)
            F.sum(y * values(30 + comm.rank, *shape)).backward()
            result[name, "y", i] = y.array
            result[name, "gx", i] = x.grad
        if name not in ("fixed",):
            result[name, "grads"] = [bn.gamma.grad, bn.beta.grad]
        result[name, "statistics"] = [bn.avg_mean, bn.avg_var]
        bn(chainer.Variable(values(comm.rank, *shape)), finetune=True)
        bn(chainer.Variable(values(comm.rank + 1, *shape)), finetune=True)
        result[name, "population"] = [bn.avg_mean, bn.avg_var]
        with chainer.using_config("train", False):
            result[name, "test"] = bn(chainer.Variable(values(comm.rank, *shape))).array
    return result


class Normalized(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = linear(3, 4, 1)
            self.bn = L.BatchNormalization(4, decay=0.8, eps=1e-4)
            self.rest = chainer.Sequential(linear(4, 3, 2), L.BatchNormalization(3))

    def __call__(self, x):
        return self.rest(self.bn(self.l1(x)))


def converted_model(comm):
    model = Normalized()
    model(values(9, 4, 3))  # statistics that the copy must keep
    copied = chainermn.links.create_mnbn_model(model, comm)
    y = copied(values(comm.rank, 4, 3))
    other = model(values(comm.rank, 4, 3))
    chainermn.extensions.AllreducePersistent(model, comm)()
    return {
        "y": y.array,
        "other": other.array,
        "statistics": [copied.bn.avg_mean, copied.bn.avg_var, model.bn.avg_mean, model.bn.avg_var],
    }


class Net(chainer.Chain):
    """``late`` gets its shape at the first call, ``unused`` has no gradient on rank 0 and none at all later."""

    def __init__(self, rank):
        super().__init__()
        self.rank = rank
        self.calls = 0
        with self.init_scope():
            self.l1 = linear(3, 4, rank)  # the ranks differ until the parameters of rank 0 come
            self.late = L.Linear(None, 2, initialW=0.3)
            self.unused = linear(4, 2, 3 + rank)

    def __call__(self, x, t):
        h = F.tanh(self.l1(x))
        y = self.late(h)
        self.calls += 1
        if self.rank > 0 and self.calls < 5:
            y = y + self.unused(h)
        return F.mean_squared_error(y, t)


def train(comm, optimizer, zero_fill=True, hook=False):
    model = Net(comm.rank if zero_fill else 1)
    if not zero_fill:
        model.calls = -100
    optimizer = chainermn.create_multi_node_optimizer(optimizer, comm, zero_fill=zero_fill)
    optimizer.setup(model)
    if hook:
        optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.01))
        optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(0.5))
    losses = []
    for i in range(11):
        x, t = values(comm.rank + i, 6, 3), values(comm.rank + i + 1, 6, 2)
        losses.append(model(x, t).array)
        optimizer.update(model, x, t)
    return {
        "losses": losses,
        "params": [param.array for param in model.params()],
        "t": optimizer.t,
        "made of": [optimizer.actual_optimizer.t, optimizer.communicator.size],
    }


def training_adam(comm):
    return train(comm, chainer.optimizers.Adam(0.05))


def training_momentum(comm):
    return train(comm, chainer.optimizers.MomentumSGD(0.1), hook=True)


def training_without_zero_fill(comm):
    return train(comm, chainer.optimizers.SGD(0.1), zero_fill=False)


def two_optimizers(comm):
    """As in adversarial training: both losses are there before the first optimizer moves or shares its parameters."""
    first, second = linear(3, 4, comm.rank), linear(4, 1, comm.rank + 1)
    optimizers = []
    for layer in (first, second):
        optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.Adam(0.05), comm)
        optimizer.setup(layer)
        optimizers.append(optimizer)
    losses = []
    for i in range(4):
        h = F.tanh(first(values(comm.rank + i, 5, 3)))
        y = second(h)
        loss_of_first, loss_of_second = F.sum(y**2), F.sum(F.softplus(y))
        optimizers[1].update(lambda loss: loss, loss_of_second)
        optimizers[0].update(lambda loss: loss, loss_of_first)
        losses.append([loss_of_first.array, loss_of_second.array])
    return {"losses": losses, "params": [first.W.array, first.b.array, second.W.array, second.b.array]}


def means_of_gradients(comm):
    model = Net(comm.rank)
    loss = model(values(comm.rank, 6, 3), values(comm.rank, 6, 2))
    model.cleargrads()
    loss.backward()
    comm.multi_node_mean_grad(model, zero_fill=True)
    grads = [param.grad for param in model.params()]
    comm.broadcast_data(model)
    comm.bcast_data(model)
    return {"grads": grads, "params": [param.array for param in model.params()]}


class Reporting(chainer.Chain):
    def __init__(self, rank):
        super().__init__()
        with self.init_scope():
            self.net = Net(rank)

    def __call__(self, x, t):
        loss = self.net(x, t)
        chainer.report({"loss": loss.array}, self)
        return loss


def run_trainer(comm, epochs, out, prepare=None):
    data = [(values(i, 3), values(i + 1, 2)) for i in range(12 * comm.size)]
    mine = chainermn.scatter_dataset(data if comm.rank == 0 else None, comm, shuffle=True, seed=1)
    model = Reporting(comm.rank)
    optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.Adam(0.05), comm)
    optimizer.setup(model)
    iterator = chainer.iterators.SerialIterator(mine, 4, shuffle=False)
    updater = training.StandardUpdater(iterator, optimizer)
    trainer = training.Trainer(updater, (epochs, "epoch"), out=out)
    evaluator = extensions.Evaluator(chainer.iterators.SerialIterator(mine, 5, repeat=False, shuffle=False), model)
    trainer.extend(chainermn.create_multi_node_evaluator(evaluator, comm))
    seen = []
    trainer.extend(
        lambda t: seen.append(
            {
                key: float(t.observation[key])
                for key in ("main/loss", "mean", "recent", "validation/main/loss")
                if key in t.observation
            }
        ),
        name="seen",
        trigger=(1, "iteration"),
        priority=-1,
    )
    trainer.extend(chainermn.extensions.ObservationAggregator(comm, "main/loss", "mean"))
    trainer.extend(
        chainermn.extensions.ObservationAggregator(
            comm,
            "main/loss",
            "recent",
            comm_trigger=(2, "iteration"),
            aggregator=lambda lists: max(float(v) for values in lists for v in values),
        ),
        name="recent",
    )
    if prepare is not None:
        prepare(trainer, optimizer)
    trainer.run()
    return {"seen": seen, "params": [param.array for param in model.params()], "iteration": updater.iteration}


def trainers(comm):
    return run_trainer(comm, 4, tempfile.mkdtemp())


def early_stopping(comm):
    def prepare(trainer, optimizer):
        trainer.stop_trigger = chainermn.extensions.MultiNodeEarlyStoppingTrigger(
            comm, check_trigger=(1, "iteration"), monitor="main/loss", patience=2, max_trigger=(20, "iteration")
        )

    return run_trainer(comm, 9, tempfile.mkdtemp(), prepare)


def snapshots(comm):
    out = comm.bcast_obj(tempfile.mkdtemp() if comm.rank == 0 else None)
    result = {}
    for epochs in (2, 3):

        def prepare(trainer, optimizer):
            trainer.extend(
                chainermn.extensions.multi_node_snapshot(
                    comm, extensions.snapshot(filename="s_{.updater.iteration}", autoload=True), [0]
                ),
                trigger=(1, "epoch"),
            )

        result[epochs] = run_trainer(comm, epochs, out, prepare)
        comm.mpi_comm.Barrier()
        result["files", epochs] = sorted(name for name in os.listdir(out) if name.startswith("s_"))
        comm.mpi_comm.Barrier()
    return result


def checkpoints(comm):
    """Stopped after two epochs and resumed; the checkpoints go when the training ends."""
    out = comm.bcast_obj(tempfile.mkdtemp() if comm.rank == 0 else None)
    kept = comm.bcast_obj(tempfile.mkdtemp() if comm.rank == 0 else None)
    result = {}
    for stop in (7, None):
        checkpointer = chainermn.create_multi_node_checkpointer(name="run", comm=comm, cp_interval=2, path=kept)

        def prepare(trainer, optimizer, stop=stop, checkpointer=checkpointer):
            trainer.extend(checkpointer, trigger=(1, "iteration"))
            checkpointer.maybe_load(trainer, optimizer)
            result["start", stop] = trainer.updater.iteration
            if stop:
                checkpointer.finalize = lambda: None  # as if the job had been killed
                trainer.stop_trigger = training.get_trigger((stop, "iteration"))

        result["run", stop] = run_trainer(comm, 4, out, prepare)
        comm.mpi_comm.Barrier()
        result["files", stop] = sorted(os.listdir(kept))
        comm.mpi_comm.Barrier()
    return result


class Counting(chainermn.extensions.GenericMultiNodeEvaluator):
    def calc_local(self, x):
        return float(np.asarray(x).sum())

    def aggregate(self, results):
        return sorted(results)


def generic_evaluator(comm):
    data = np.arange(2 + 3 * comm.rank).astype(np.float32)
    iterator = chainer.iterators.SerialIterator(data, 2, repeat=False, shuffle=False)
    counting = Counting(comm, iterator, None)
    return {"first": counting(None), "again": counting(None)}


def shared_batches(comm):
    result = {}
    data = [(values(i, 2), np.int32(i)) for i in range(5)] if comm.rank == 0 else [()] * 5
    iterator = chainermn.iterators.create_multi_node_iterator(
        chainer.iterators.SerialIterator(data, 2, shuffle=False), comm
    )
    result["pairs"] = [(next(iterator), iterator.epoch, iterator.is_new_epoch, iterator.epoch_detail) for _ in range(6)]
    once = chainermn.iterators.create_multi_node_iterator(
        chainer.iterators.SerialIterator(np.arange(5).astype(np.float32), 2, repeat=False, shuffle=False), comm
    )
    result["once"] = list(once)
    return result


def same_order(comm):
    """Only rank 0 draws from NumPy's generator, which threads would share."""
    iterator = chainer.iterators.SerialIterator(list(range(6)), 4, shuffle=True)
    comm.mpi_comm.Barrier()
    if comm.rank == 0:
        np.random.seed(5)
    iterator = chainermn.iterators.create_synchronized_iterator(iterator, comm)
    return {"batches": [next(iterator) for _ in range(5)]}
