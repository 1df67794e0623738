"""Communicators of one's own, and ChainerMN's names under their other paths, against ChainerMN between threads."""

import importlib.util
import sys
import types
import warnings
from pathlib import Path

import pytest
import torch

import chainer2torch
from chainer2torch.compat.distributed import communicators, distributed_extensions
from chainer2torch.compat.distributed.communicator_base import CommunicatorBase
from chainer2torch.engine import migrate_source
from chainer2torch.verify.worker import compat_module
from tests.compat.test_distributed import plain, same
from tests.support import rank_processes, thread_mpi

PROGRAM = Path(__file__).parent.parent / "support" / "own_communicator_program.py"


def run_original(size):
    with thread_mpi.chainermn_over_threads(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec = importlib.util.spec_from_file_location("own_communicator", PROGRAM)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return thread_mpi.run_ranks(size, lambda comm: plain(module.own_communicator(comm)))


def run_migrated(code):
    if "chainer_compat" not in sys.modules:
        compat_module.install(str(Path(chainer2torch.__file__).parent / "compat"))
    import chainer_compat as compat

    module = types.ModuleType("own_communicator")
    exec(compile(code, "<migrated>", "exec"), vars(module))
    return plain(module.own_communicator(compat.create_communicator("naive")))


def test_a_communicator_of_ones_own():
    result = migrate_source(PROGRAM.read_text(encoding="utf-8"))
    assert result.error is None and "chainermn" not in result.code.split('"""', 2)[2]
    assert {site.state for site in result.sites} == {"exact"}
    theirs, ours = run_original(2), rank_processes.run_ranks(2, run_migrated, result.code)
    assert theirs[0]["averages"] == 3 and theirs[0]["abstract"] and theirs[0]["no inter_size"]
    for rank in range(2):
        same(theirs[rank], ours[rank], f"rank {rank}:")


def only_the_interface():
    """What our helpers ask beside ChainerMN's interface follows from it."""
    comm = communicators.create_communicator("naive")

    class Handing(CommunicatorBase):
        rank, size = comm.rank, comm.size

    abstract = Handing.__abstractmethods__
    for name in abstract:
        setattr(Handing, name, staticmethod(getattr(comm, name)))
    Handing.__abstractmethods__ = frozenset()
    own = Handing()
    assert own.allgather_obj(comm.rank) == [0, 1]
    assert own.scatter_obj(["a", "b"] if comm.rank == 0 else None) == "ab"[comm.rank]
    (mean,) = own.start_mean([torch.full((2,), float(comm.rank))])()
    assert mean.tolist() == [0.5, 0.5]
    layer = torch.nn.Linear(1, 1)
    if comm.rank:
        layer.weight.grad = torch.ones(1, 1)
    with pytest.raises(RuntimeError, match="gradients for different parameters"):
        own.gradients(layer)
    assert [grad.item() for grad in own.gradients(layer, zero_fill=True)] == [0, comm.rank]
    norm = torch.nn.BatchNorm1d(1)
    norm.running_mean.fill_(comm.rank)
    distributed_extensions.AllreducePersistent(norm, own)()
    assert norm.running_mean.item() == 0.5
    own.finalize()
    return len(abstract)


def test_what_follows_from_the_interface():
    assert rank_processes.run_ranks(2, only_the_interface) == [16, 16]


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("from chainermn.optimizers import create_multi_node_optimizer as f\nf(o, c)", "create_multi_node_optimizer"),
        ("from chainermn.communicators import create_communicator as f\nf()", "create_communicator"),
        ("import chainermn.communicators.communicator_base as m\nm.CommunicatorBase", "CommunicatorBase"),
        ("from chainermn.datasets.scatter import scatter_dataset as f\nf(d, c)", "scatter_dataset"),
        (
            "from chainermn.datasets.empty_dataset import create_empty_dataset as f\nf(d)",
            "datasets.create_empty_dataset",
        ),
        (
            "from chainermn.extensions.checkpoint import create_multi_node_checkpointer as f\nf('n', c)",
            "create_multi_node_checkpointer",
        ),
        (
            "from chainermn.extensions.allreduce_persistent import AllreducePersistent as f\nf(m, c)",
            "extensions.AllreducePersistent",
        ),
        ("from chainermn.functions.point_to_point_communication import send as f\nf(x, c, 1)", "functions.send"),
        ("from chainermn.links.multi_node_chain_list import MultiNodeChainList as f\nf(c)", "MultiNodeChainList"),
    ],
)
def test_names_under_other_paths(text, symbol):
    result = migrate_source(text + "\n")
    assert [(site.symbol, site.state) for site in result.sites] == [(f"chainermn.{symbol}", "exact")]
    assert "chainermn" not in result.code


def test_communicators_that_are_made_of_mpi4py_are_for_a_person():
    result = migrate_source(
        "from chainermn.communicators.naive_communicator import NaiveCommunicator\n\n\n"
        "class Mine(NaiveCommunicator):\n    pass\n"
    )
    assert [site.state for site in result.sites] == ["manual"]
    assert "derive from `compat.CommunicatorBase`" in result.code
