"""What a job does when something is wrong, how ranks are found, and the parts that ChainerMN only has on GPUs."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import chainer2torch
from chainer2torch.compat.distributed import communicators, distributed_data, distributed_links, except_hook
from chainer2torch.compat.optimizers import optimizers
from chainer2torch.compat.distributed import distributed_optimizers as multi_node
from chainer2torch.compat.distributed.distributed_functions import distributed_recv, distributed_send
from chainer2torch.compat.distributed.distributed_snapshots import _replica_sets
from chainer2torch.compat.distributed.process_group import launched_rank, rendezvous_address
from chainer2torch.engine import migrate_source
from tests.support.rank_processes import RankError, free_port, run_ranks, start_ranks, torchrun_environment

WITHOUT_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="says what happens on a machine without a GPU")


# -- who am I? ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "variables, expected",
    [
        ({}, (0, 1)),
        ({"RANK": "2", "WORLD_SIZE": "4"}, (2, 4)),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "3"}, (1, 3)),
        ({"MV2_COMM_WORLD_RANK": "1", "MV2_COMM_WORLD_SIZE": "3"}, (1, 3)),
        ({"PMI_RANK": "0", "PMI_SIZE": "2"}, (0, 2)),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "3", "WORLD_SIZE": "3"}, (1, 3)),
        ({"RANK": "5", "WORLD_SIZE": "8", "PMI_RANK": "1", "PMI_SIZE": "2"}, (5, 8)),  # torchrun on each node of srun
    ],
)
def test_the_launcher_says_who_this_is(variables, expected):
    assert launched_rank(variables) == expected


@pytest.mark.parametrize(
    "variables, message",
    [
        ({"RANK": "4", "WORLD_SIZE": "4"}, "RANK=4 does not fit a world of 4"),
        ({"RANK": "first", "WORLD_SIZE": "4"}, "RANK=first is not a whole number"),
        ({"WORLD_SIZE": "4"}, "RANK and WORLD_SIZE must be set together"),
        ({"OMPI_COMM_WORLD_RANK": "0"}, "must be set together"),
        (
            {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "3", "WORLD_SIZE": "4"},
            "the world size does not match",
        ),
    ],
)
def test_contradictions_are_told(variables, message):
    with pytest.raises(ValueError, match=message):
        launched_rank(variables)


def test_where_the_processes_meet():
    assert rendezvous_address(2, {"MASTER_ADDR": "node7", "MASTER_PORT": "1234"}) == "tcp://node7:1234"
    assert rendezvous_address(2, {"OMPI_COMM_WORLD_LOCAL_SIZE": "2"}) == "tcp://127.0.0.1:29500"
    assert rendezvous_address(1, {}).startswith("tcp://127.0.0.1")
    for variables in ({}, {"OMPI_COMM_WORLD_LOCAL_SIZE": "1"}):  # the others are elsewhere, or may be
        with pytest.raises(ValueError, match="MASTER_ADDR is not set"):
            rendezvous_address(2, variables)


def two_nodes(rank, size, port):
    variables = torchrun_environment(rank, size, port)
    return {**variables, "GROUP_RANK": str(int(rank > 1)), "LOCAL_RANK": str(max(0, rank - 1))}


def places():
    comm = communicators.create_communicator("naive")
    return comm.rank, comm.size, comm.intra_rank, comm.intra_size, comm.inter_rank, comm.inter_size


def test_ranks_within_nodes():
    assert run_ranks(3, places, environment=two_nodes) == [(0, 3, 0, 2, 0, 2), (1, 3, 1, 2, 0, 2), (2, 3, 0, 1, 1, 2)]


@pytest.mark.parametrize(
    "variables",
    [
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
        ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"),
    ],
)
def test_ranks_of_mpirun(variables):
    def environment(rank, size, port):
        return {**dict(zip(variables, (str(rank), str(size), str(size)))), "MASTER_PORT": str(port)}

    assert [place[:2] for place in run_ranks(2, places, environment=environment)] == [(0, 2), (1, 2)]


def alone():
    comm = communicators.create_communicator("naive")
    x = torch.ones(2)
    assert torch.equal(comm.allreduce(x), x) and comm.allgather_obj(3) == [3]
    comm.send_obj("to myself", 0)
    with pytest.raises(ValueError, match="deadlock"):
        distributed_send(x, comm, 0)
    with pytest.raises(ValueError, match="deadlock"):
        distributed_recv(comm, 0)
    comm.finalize()
    before = sys.excepthook
    os.environ["CHAINERMN_FORCE_ABORT_ON_EXCEPTION"] = ""
    except_hook.add_hook_if_enabled()
    assert sys.excepthook is before
    os.environ["CHAINERMN_FORCE_ABORT_ON_EXCEPTION"] = "1"
    except_hook.add_hook_if_enabled()
    assert sys.excepthook is not before
    with pytest.warns(UserWarning, match="multiple times"):
        except_hook.add_global_except_hook()
    return comm.size


def no_launcher(rank, size, port):
    return {}


# -- wrong arguments ---------------------------------------------------------------------------------------------------


def test_names_of_communicators():
    with pytest.raises(ValueError, match="'nccl2'.*naive, flat, hierarchical, two_dimensional, single_node"):
        communicators.create_communicator("nccl2")
    with pytest.raises(ValueError, match="allreduce_grad_dtype"):
        communicators.create_communicator("naive", allreduce_grad_dtype=np.float16)


@WITHOUT_GPU
@pytest.mark.parametrize(
    "name", ["flat", "hierarchical", "two_dimensional", "single_node", "non_cuda_aware", "pure_nccl", "dummy"]
)
def test_names_that_need_a_gpu(name):
    with pytest.raises(RuntimeError, match=f"'{name}' needs a GPU and NCCL.*'naive' works on the CPU"):
        communicators.create_communicator(name)


def wrong_arguments():
    comm = communicators.create_communicator("naive")
    scatter, index = distributed_data.scatter_dataset, distributed_data.scatter_index
    message = "1 examples cannot be shared by 2 processes"
    for force in (True, False):
        with pytest.raises(distributed_data.DataSizeError, match=message):
            scatter([0] if comm.rank == 0 else None, comm, force_equal_length=force)
        with pytest.raises(distributed_data.DataSizeError, match=message):
            index(1, comm, force_equal_length=force)
    with pytest.raises(ValueError, match="root must be a rank from 0 to 1, not 2"):
        scatter([0, 1, 2], comm, root=2)
    with pytest.raises(ValueError, match="same as communicator size"):
        comm.alltoall([np.zeros(1)])
    with pytest.raises(TypeError, match="dtype bool is not supported"):
        comm.allreduce(np.zeros(2, bool))
    with pytest.raises(TypeError, match="must be a tensor or NumPy array"):
        comm.allreduce([1.0])
    with pytest.raises(TypeError, match="must be the same dtype"):
        comm.send((np.zeros(1, "f"), np.zeros(1, "d")), 1 - comm.rank, 0)
    with pytest.raises(TypeError, match="all dtypes must be the same"):
        comm.allgather(np.zeros(2, "f" if comm.rank else "d"))
    with pytest.raises(ValueError, match="Unknown config"):
        comm.set_config("speed")
    with pytest.raises(ValueError, match="double buffering"):
        multi_node.create_multi_node_optimizer(optimizers.SGD(), comm, double_buffering=True)
    with pytest.raises(ValueError, match="order_sampler"):
        distributed_data.create_synchronized_iterator(iter([]), comm)
    with pytest.raises(ValueError, match="link must be NStepRNN"):
        distributed_links.create_multi_node_n_step_rnn(torch.nn.LSTM(1, 1), comm)
    with pytest.raises(ValueError, match="does not support carrier pigeon"):
        distributed_links.MultiNodeBatchNormalization(3, comm, communication_backend="carrier pigeon")
    chain = distributed_links.MultiNodeChainList(comm)
    chain.add_link(torch.nn.Identity())
    with pytest.raises(ValueError, match="rank_out is None"):
        chain.add_link(torch.nn.Identity())
    lost = distributed_links.MultiNodeChainList(comm)
    lost.add_link(torch.nn.Identity(), rank_out=comm.rank)
    with pytest.raises(ValueError, match="queue is not empty"):
        lost(torch.ones(1, requires_grad=True))
    layer = torch.nn.Linear(1, 1)
    if comm.rank == 0:
        layer.weight.grad = torch.ones(1, 1)
    with pytest.raises(RuntimeError, match="gradients for different parameters"):
        comm.multi_node_mean_grad(layer)
    with pytest.warns(DeprecationWarning, match="allreduce_grad"):
        comm.allreduce_grad(layer, zero_fill=True)
    assert layer.weight.grad.item() == 0.5
    return True


def test_wrong_arguments_are_told_in_every_process():
    assert run_ranks(2, wrong_arguments) == [True, True]
    assert run_ranks(1, alone, environment=no_launcher) == [1]


def test_replica_sets():
    assert _replica_sets([0], 4) == [{0}, {1, 2, 3}]
    assert _replica_sets([[0, 1], range(2, 4)], 4) == [{0, 1}, {2, 3}]
    assert _replica_sets([], 2) == [{0, 1}]
    for wrong in ([2], [0, [0, 1]], [-1]):
        with pytest.raises(ValueError, match="replica_sets must name each rank from 0 to 1 once"):
            _replica_sets(wrong, 2)


# -- a rank that dies --------------------------------------------------------------------------------------------------


def dies_in_the_third_iteration(how):
    comm = communicators.create_communicator("naive")
    layer = torch.nn.Linear(2, 2)
    optimizer = multi_node.create_multi_node_optimizer(optimizers.SGD(), comm).setup(layer)
    for i in range(10**9):
        if i == 3 and comm.rank == 1:
            if how == "exit":
                os._exit(3)
            raise KeyError("the data are gone")
        optimizer.update(lambda: layer(torch.ones(1, 2)).sum())


@pytest.mark.parametrize("how", ["exit", "raise"])
def test_a_rank_that_dies_ends_the_others(how):
    started = start_ranks(3, dies_in_the_third_iteration, how)
    try:
        for rank, (process, _) in enumerate(started):
            process.join(60)
            assert process.exitcode == (3 if how == "exit" and rank == 1 else 1)
        for rank in (0, 2):
            good, text = started[rank][1].recv()
            assert not good and "onnection" in text
    finally:
        for process, _ in started:
            process.kill()


SCRIPT = """
import sys
sys.path.insert(0, {root!r})
import torch
from chainer2torch.compat.distributed.communicators import create_communicator
{before}
comm = create_communicator("naive")
comm.send_obj("nobody asks for this", (comm.rank + 1) % 2)
if comm.rank == 1:
    raise KeyError("the data are gone")
comm.allreduce(torch.ones(1))
"""


@pytest.mark.parametrize("hook", [False, True])
def test_a_script_that_raises_ends(tmp_path, hook):
    """Also with a message on the way that nobody will take."""
    root = str(Path(chainer2torch.__file__).parent.parent)
    before = ""
    if hook:
        code = migrate_source("from chainermn import global_except_hook\nglobal_except_hook.add_hook()\n").code
        before = code.replace("import chainer_compat", "from chainer2torch.compat.distributed import except_hook")
        assert "compat.add_global_except_hook()" in before
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT).format(root=root, before=before))
    port = free_port()
    start = time.monotonic()
    ranks = [
        subprocess.Popen(
            [sys.executable, str(tmp_path / "script.py")],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **torchrun_environment(rank, 2, port)},
        )
        for rank in (0, 1)
    ]
    errors = [rank.communicate(timeout=90)[1] for rank in ranks]
    # a thread that is inside gloo when the interpreter ends makes C++ abort, after everything of Python's has run
    failed = [1, 1] if hook else [1 if "terminate called" not in error else -signal.SIGABRT for error in errors]
    assert [rank.returncode for rank in ranks] == failed
    assert "the data are gone" in errors[1]
    assert ("Uncaught exception on rank 1: ending the process" in errors[1]) == hook
    assert time.monotonic() - start < 90


# -- what needs NCCL in ChainerMN: the same rule over gloo -------------------------------------------------------------


def late_updates():
    """Double buffering by its definition: the update of iteration t uses the mean gradients of iteration t - 1."""
    comm = communicators.create_communicator("naive")
    plain, late = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
    with torch.no_grad():
        for layer in (plain, late):
            layer.weight.copy_(torch.arange(3.0))
            layer.bias.zero_()
    optimizer = multi_node.DoubleBufferingOptimizer(optimizers.MomentumSGD(0.1), comm, True).setup(late)
    expected = optimizers.MomentumSGD(0.1).setup(plain)
    previous = None
    for i in range(6):
        x = torch.full((2, 3), 0.1 * (i + comm.rank))
        optimizer.update(lambda x=x: (late(x) ** 2).sum())
        grads = []
        for rank in range(comm.size):
            plain.zero_grad()
            (plain(torch.full((2, 3), 0.1 * (i + rank))) ** 2).sum().backward()
            grads.append([param.grad for param in plain.parameters()])
        mean = [torch.stack(each).mean(0) for each in zip(*grads)]
        if i > 0:  # the first iteration only shares the parameters
            if previous is not None:
                for param, grad in zip(plain.parameters(), previous):
                    param.grad = grad
                expected.update()
            previous = mean
        for param, other in zip(late.parameters(), plain.parameters()):
            torch.testing.assert_close(param, other)
    return optimizer.t


def test_double_buffering_updates_one_iteration_late():
    assert run_ranks(2, late_updates) == [4, 4]


def gradients_in_float16():
    comm = communicators.create_communicator("naive")
    layer = torch.nn.Linear(2, 1, bias=False)
    layer.weight.grad = torch.full((1, 2), 1 / 3 + comm.rank)
    comm.set_config("allreduce_grad_dtype", np.float16)
    comm.multi_node_mean_grad(layer)
    half = torch.full((1, 2), 1 / 3).half() + torch.full((1, 2), 1 / 3 + 1).half()
    torch.testing.assert_close(layer.weight.grad, (half * 0.5).float())
    assert comm.get_config("allreduce_grad_dtype") == torch.float16 and set(comm.get_config()) == {
        "batched_copy",
        "allreduce_grad_dtype",
    }
    comm.set_config("allreduce_grad_dtype", None)
    half = layer.half()
    half.weight.grad = torch.full((1, 2), 60000.0 * comm.rank).half()  # their sum would overflow
    comm.multi_node_mean_grad(half)
    assert half.weight.grad[0, 0] == 30000
    comm.name = "dummy"
    half.weight.grad.fill_(comm.rank)
    comm.multi_node_mean_grad(half)
    assert half.weight.grad[0, 0] == comm.rank
    return True


def test_dtypes_of_gradients_and_the_dummy():
    assert run_ranks(2, gradients_in_float16) == [True, True]


def test_a_failure_of_a_rank_is_reported():
    with pytest.raises(RankError, match="division by zero"):
        run_ranks(1, divide)


def divide():
    return 1 / 0
