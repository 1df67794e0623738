"""A communicator of one's own in terms of another one: runs under ChainerMN as it stands, and migrated."""

import chainer
import chainer.functions as F
import chainer.links as L
import chainermn
import numpy as np


class Clipping(chainermn.CommunicatorBase):
    """Clips gradients before they are averaged, and counts the averages."""

    def __init__(self, inner, limit):
        super().__init__()
        self.inner = inner
        self.averages = 0
        with self.config_scope():
            self.limit = limit

    @property
    def rank(self):
        return self.inner.rank

    @property
    def size(self):
        return self.inner.size

    @property
    def intra_rank(self):
        return self.inner.intra_rank

    def split(self, color, key):
        return Clipping(self.inner.split(color, key), self.limit)

    def alltoall(self, xs):
        return self.inner.alltoall(xs)

    def send(self, data, dest, tag):
        self.inner.send(data, dest, tag)

    def recv(self, source, tag):
        return self.inner.recv(source, tag)

    def bcast(self, data, root=0):
        return self.inner.bcast(data, root)

    def gather(self, data, root=0):
        return self.inner.gather(data, root)

    def allgather(self, x):
        return self.inner.allgather(x)

    def allreduce(self, data):
        return self.inner.allreduce(data)

    def scatter(self, xs, root=0):
        return self.inner.scatter(xs, root)

    def send_obj(self, obj, dest, tag=0):
        self.inner.send_obj(obj, dest, tag)

    def recv_obj(self, source, tag=0):
        return self.inner.recv_obj(source, tag=tag)

    def bcast_obj(self, obj, max_buf_len=None, root=0):
        return self.inner.bcast_obj(obj, root=root)

    def gather_obj(self, obj, root=0):
        return self.inner.gather_obj(obj, root)

    def allreduce_obj(self, obj):
        return self.inner.allreduce_obj(obj)

    def bcast_data(self, model):
        self.inner.bcast_data(model)

    def multi_node_mean_grad(self, model, zero_fill=False):
        self.averages += 1
        for param in model.params():
            if param.grad is not None:
                param.grad = param.xp.clip(param.grad, -self.limit, self.limit)
        self.inner.multi_node_mean_grad(model, zero_fill)


class Unfinished(chainermn.CommunicatorBase):
    pass


class Weighted(chainer.Chain):
    def __init__(self, rank):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 2, initialW=0.1 * (rank + 1) * np.arange(6).reshape(2, 3).astype("f"))

    def __call__(self, x):
        return self.l(x)


def own_communicator(comm):
    own = Clipping(comm, 0.05)
    result = {
        "who": [
            own.rank,
            own.size,
            own.intra_rank,
            isinstance(own, chainermn.CommunicatorBase),
            isinstance(comm, chainermn.CommunicatorBase),
        ]
    }
    result["settings"] = [own.get_config("limit"), own.within_config_scope, own.limit]
    own.limit = 0.06  # not a setting any more, but in the scope it is one
    with own.config_scope():
        result["within"] = own.within_config_scope
        own.other = 3
    result["settings after"] = [own.get_config("limit"), own.get_config("other"), own.limit]
    try:
        own.set_config("speed")
    except ValueError as error:
        result["unknown"] = str(error)
    try:
        Unfinished()
    except TypeError:
        result["abstract"] = True
    try:
        result["inter_size"] = own.inter_size
    except NotImplementedError:
        result["no inter_size"] = True

    model = Weighted(comm.rank)
    optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.SGD(0.5), own)
    optimizer.setup(model)
    for i in range(4):
        x = np.sin(np.arange(6).reshape(2, 3) + comm.rank + i).astype("f")
        optimizer.update(lambda v: F.sum(model(v) ** 2), x)
        result["W", i] = model.l.W.array.copy()
    own.broadcast_data(model)
    result["averages"] = own.averages

    share = chainermn.scatter_dataset(list(range(7)) if comm.rank == 0 else None, own)
    result["share"] = list(share)
    result["objects"] = [own.gather_obj(comm.rank), own.allreduce(np.ones(2, "f") + comm.rank)]
    x = chainer.Variable(np.ones(2, "f") * (comm.rank + 1))
    ys = chainermn.functions.allgather(own, x * x)
    F.sum(sum([y * (i + 1) for i, y in enumerate(ys)])).backward()
    result["gathered"] = [[y.array for y in ys], x.grad]
    part = own.split(comm.rank % 2, comm.rank)
    result["part"] = [part.rank, part.size, type(part).__name__]
    return result
