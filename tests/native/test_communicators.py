"""Data-parallel training of native output, in jobs of one and three processes, beside the long helpers."""

import os

import numpy as np
import pytest
import torch
from torch import nn

from chainer2torch.compat.distributed import communicators as long_communicators
from chainer2torch.compat.distributed import distributed_data, distributed_links, distributed_optimizers
from chainer2torch.engine import migrate_sources
from chainer2torch.native import communicators, multi_node_layers
from chainer2torch.native.gradients import clip_gradients
from chainer2torch.native.late_hooks import GradientClipping, WeightDecay
from chainer2torch.native.late_optimizers import LateAdam, LateMomentumSGD
from chainer2torch.native.optimizers import Adam, MomentumSGD
from chainer2torch.plan.options import Options
from tests.support.rank_processes import RankError, run_ranks

SIZES = (1, 3)


def both():
    return communicators.create_communicator("naive"), long_communicators.create_communicator("naive")


def told():
    short, long = both()
    names = ("rank", "size", "intra_rank", "intra_size", "inter_rank", "inter_size")
    return [
        [
            *(getattr(comm, name) for name in names),
            comm.bcast_obj({"a": comm.rank}),
            comm.bcast_obj([comm.rank], root=comm.size - 1),
            comm.gather_obj(comm.rank * 2, root=comm.size - 1),
            comm.allgather_obj((comm.rank,)),
            comm.allreduce_obj([comm.rank]),
            comm.mpi_comm.scatter([10 * i for i in range(comm.size)] if comm.rank == 0 else None),
        ]
        for comm in (short, long)
    ]


@pytest.mark.parametrize("size", SIZES)
def test_objects_are_those_of_the_long_communicator(size):
    for rank, (short, long) in enumerate(run_ranks(size, told)):
        assert short == long
        assert short[:2] == [rank, size]


def handed():
    """Rank 0 sends two objects to each of the others."""
    comm = communicators.create_communicator("naive")
    if comm.rank == 0:
        for rank in range(1, comm.size):
            comm.send_obj((1, rank), dest=rank)
            comm.send_obj("b", rank)
        return []
    return [comm.recv_obj(source=0), comm.recv_obj(0)]


def test_objects_from_one_process_to_another():
    assert run_ranks(3, handed) == [[], [(1, 1), "b"], [(1, 2), "b"]]


def net(seed, dtype):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.LazyLinear(2), nn.Linear(2, 2)).to(dtype)
    model.unused = nn.Linear(2, 2).to(dtype)
    return model


def trained(kind, dtype):
    short, long = both()
    models = []
    for make, comm in (
        (communicators.create_multi_node_optimizer, short),
        (distributed_optimizers.create_multi_node_optimizer, long),
    ):
        model = net(10 + comm.rank, dtype)
        optimizer = make({"adam": LateAdam, "momentum": LateMomentumSGD}[kind](0.1), comm)
        optimizer.setup(model)
        optimizer.add_hook(WeightDecay(0.01))
        rng = np.random.RandomState(comm.rank)
        for step in range(6):
            x = torch.tensor(rng.randn(5, 3), dtype=dtype)
            first = comm.rank == 0 and step % 2
            optimizer.update(lambda x, m=model, f=first: (m[1](m[0](x)) if f else m(x)).pow(2).sum(), x)
        optimizer.eps = 0.5
        actual = getattr(optimizer, "actual_optimizer", optimizer)
        assert (optimizer.t, actual.eps) == (5, 0.5)
        models.append([p.detach().numpy() for p in model.parameters()])
    return models


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind, dtype", [("adam", torch.float64), ("momentum", torch.float32)])
def test_training_is_that_of_the_long_helpers(size, kind, dtype):
    """Some gradients are missing in some processes, and one layer gets its shape in the first update."""
    ranks = run_ranks(size, trained, kind, dtype)
    # sums in another order: what is left of values of about 0.3 that cancel out is rounded as they are
    rtol, atol = (1e-5, 1e-7) if dtype == torch.float32 else (1e-12, 1e-16)
    for short, long in ranks:
        for a, b, c in zip(short, long, ranks[0][0]):
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
            np.testing.assert_array_equal(a, c)


def stepped(kind):
    """Optimizers with parameters from the start and a rate that changes, beside Chainer's form and long helpers."""
    short, long = both()
    models = [net(10 + short.rank, torch.float64) for _ in range(2)]
    for model in models:
        torch.manual_seed(short.rank)
        model(torch.zeros(1, 3, dtype=torch.float64))  # the layer without a shape gets its values
    made = {
        "adam": lambda params: Adam(params, lr=0.1, weight_decay=0.01),
        "momentum": lambda params: MomentumSGD(params, lr=0.1, weight_decay=0.01),
    }[kind](models[0].parameters())
    made.register_step_pre_hook(lambda optimizer, *_: clip_gradients(optimizer.param_groups[0]["params"], 0.5))
    optimizer = communicators.create_multi_node_optimizer(made, short)
    assert isinstance(optimizer, torch.optim.Optimizer)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    late = {"adam": LateAdam, "momentum": LateMomentumSGD}[kind](0.1)
    chainers = distributed_optimizers.create_multi_node_optimizer(late, long)
    chainers.setup(models[1])
    chainers.add_hook(GradientClipping(0.5))
    chainers.add_hook(WeightDecay(0.01))
    rng, rate = np.random.RandomState(short.rank), "alpha" if kind == "adam" else "lr"
    for _ in range(6):
        x = torch.tensor(rng.randn(5, 3))
        optimizer.zero_grad()
        models[0](x).pow(2).sum().backward()
        optimizer.step()
        chainers.update(lambda x: models[1](x).pow(2).sum(), x)
        schedule.step()
        setattr(late, rate, getattr(late, rate) * 0.5)
    return [[p.detach().numpy() for p in model.parameters()] for model in models]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["adam", "momentum"])
def test_optimizers_of_torch_step_together(size, kind):
    ranks = run_ranks(size, stepped, kind)
    for short, long in ranks:
        for a, b, c in zip(short, long, ranks[0][0]):
            np.testing.assert_allclose(a, b, rtol=1e-10)
            np.testing.assert_array_equal(a, c)


def shares():
    short, long = both()
    data = list(range(10)) if short.rank == 0 else None
    found = []
    for shuffle, seed in ((False, None), (True, 3)):
        a = communicators.scatter_dataset(data, short, shuffle=shuffle, seed=seed)
        b = distributed_data.scatter_dataset(data, long, shuffle=shuffle, seed=seed)
        found.append(([a[i] for i in range(len(a))], [b[i] for i in range(len(b))]))
    return found


@pytest.mark.parametrize("size", SIZES)
def test_shares_are_those_of_the_long_helper(size):
    for rank in run_ranks(size, shares):
        for a, b in rank:
            assert a == b


def too_few():
    comm = communicators.create_communicator("naive")
    communicators.scatter_dataset([1, 2], comm)


def test_fewer_examples_than_processes():
    with pytest.raises(RankError, match="2 examples cannot be shared by 3 processes"):
        run_ranks(3, too_few)


class Evaluator:
    def evaluate(self):
        rank = int(os.environ["RANK"])
        return {"loss": torch.tensor(float(rank)), "accuracy": rank + 0.5}


def evaluated():
    comm = communicators.create_communicator("naive")
    results = communicators.create_multi_node_evaluator(Evaluator(), comm).evaluate()
    return {name: float(value) for name, value in results.items()}


def test_results_of_evaluators_are_averaged():
    assert run_ranks(3, evaluated) == [{"loss": 1.0, "accuracy": 1.5}] * 3


def test_mpirun_is_refused(monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    with pytest.raises(RuntimeError, match="torchrun"):
        communicators.create_communicator("naive")


NORMALIZED = [
    ((4, 3), {}),
    ((5, 3, 2), {"decay": 0.7, "eps": 1e-3}),
    ((2, 3, 4, 2), {"use_gamma": False}),
    ((3, 3), {"use_beta": False, "dtype": np.float64}),
]


def normalized(dtype):
    """Values, gradients and running statistics of three batches, whose sizes differ between the processes."""
    short, long = both()
    found = []
    for shape, options in NORMALIZED:
        layers = [
            multi_node_layers.MultiNodeBatchNormalization(3, short, **options),
            distributed_links.MultiNodeBatchNormalization(3, long, **options),
        ]
        told = []
        for layer in (one.to(dtype) for one in layers):
            torch.manual_seed(short.rank)
            for param in layer.parameters():
                nn.init.constant_(param, 0.7)
            for _ in range(3):
                x = (torch.randn(shape[0] + short.rank, *shape[1:], dtype=dtype) * 2 + 1).requires_grad_()
                layer.zero_grad()
                y = layer(x)
                (y.sin() * torch.arange(y.numel()).view_as(y)).sum().backward()
            grads = [param.grad for param in layer.parameters()]
            kept = [layer.running_mean.view(-1), layer.running_var.view(-1), layer.eval()(x)]
            told.append([t.detach().numpy() for t in (y, x.grad, *grads, *kept)])
        found.append(told)
    return found


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_normalization_over_processes_is_that_of_the_long_link(size, dtype):
    for rank in run_ranks(size, normalized, dtype):
        for short, long in rank:
            assert len(short) == len(long)
            for a, b in zip(short, long):
                tolerance = 2e-3 if dtype == torch.float32 else 1e-9
                np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def sized():
    comm = communicators.create_communicator("naive")
    layer = multi_node_layers.MultiNodeBatchNormalization(torch.Size([3]), comm, dtype=np.float64)
    assert (layer.running_mean.shape, layer.weight.dtype) == ((3,), torch.float64)
    multi_node_layers.MultiNodeBatchNormalization((2, 3), comm)


def test_normalization_over_several_axes_raises():
    with pytest.raises(RankError, match="too many values"):
        run_ranks(1, sized)


def barrier():
    comm = communicators.create_communicator("naive")
    comm.mpi_comm.Barrier()
    return [comm.mpi_comm.rank, comm.mpi_comm.size]


def test_what_mpi4py_has():
    assert run_ranks(3, barrier) == [[0, 3], [1, 3], [2, 3]]


PROGRAM = """
import functools
import chainer
import chainermn
import numpy as np
from chainermn.links import MultiNodeBatchNormalization


class Net(chainer.Chain):
    def __init__(self, comm):
        super().__init__()
        bn = functools.partial(MultiNodeBatchNormalization, comm=comm)
        with self.init_scope():
            self.bn = bn(3)
            self.other = MultiNodeBatchNormalization(4, comm, 0.8{option})

    def forward(self, x):
        return self.bn(x)


comm = chainermn.create_communicator('naive')
if comm.mpi_comm.{asked} == 0:
    print(Net(comm))
"""


@pytest.mark.parametrize(
    "option, asked, short",
    [
        ("", "rank", True),
        (", 1e-3, np.float32", "size", True),
        (", **dict(use_beta=False)", "scatter", True),
        (", initial_gamma=2", "rank", False),
        ("", "name", False),
    ],
)
def test_a_program_with_normalization_is_data_parallel_training(option, asked, short):
    sources = {"a.py": PROGRAM.format(option=option, asked=asked)}
    result = migrate_sources(sources, options=Options(style="native"))["a.py"]
    assert ("compat.faithful_" not in result.code) is short
    assert {"create_communicator", "MultiNodeBatchNormalization"} <= set(result.helpers) or not short
