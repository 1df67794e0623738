"""Checkpoints of jobs of one and three processes: which files there are, and from where a training goes on."""

import os
import tempfile

import numpy as np
import pytest
import pytorch_pfn_extras.training as ppe_training
import torch

from chainer2torch.engine import migrate_source
from chainer2torch.native import checkpoints, communicators
from chainer2torch.plan.options import Options
from tests.support.rank_processes import run_ranks

SIZES = (1, 3)


def trained(name="run"):
    """Two trainings, the first of which is killed: where each starts, its losses and the files behind it."""
    comm = communicators.create_communicator("naive")
    folder = comm.bcast_obj(tempfile.mkdtemp() if comm.rank == 0 else None)
    found = {}
    for stop in (9, 12):
        torch.manual_seed(comm.rank)
        model = torch.nn.Linear(3, 2)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        manager = ppe_training.ExtensionsManager(
            model, optimizer, 0, iters_per_epoch=4, out_dir=folder, stop_trigger=(stop, "iteration")
        )
        checkpointer = checkpoints.MultiNodeCheckpointer(name, comm, cp_interval=2)
        manager.extend(checkpointer, trigger=(1, "iteration"))
        checkpointer.maybe_load(manager, optimizer)
        found["start", stop], losses = manager.iteration, []
        if stop == 9:
            checkpointer.finalize = lambda manager=None: None  # as if the job had been killed
        while not manager.stop_trigger:
            with manager.run_iteration():
                x = torch.tensor(np.random.RandomState(manager.iteration).randn(5, 3).astype("f"))
                loss = (model(x) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(float(loss.detach()))
        comm.mpi_comm.Barrier()
        found["losses", stop], found["files", stop] = losses, sorted(os.listdir(folder))
        comm.mpi_comm.Barrier()
    return found


@pytest.mark.parametrize("size", SIZES)
def test_a_training_goes_on_from_the_last_checkpoint_of_all(size):
    for found in run_ranks(size, trained):
        assert (found["start", 9], found["start", 12]) == (0, 9)
        kept = [int(name.split(".")[2]) for name in found["files", 9] if name.startswith("run.0.")]
        assert kept[-1] == 9 and len(kept) < 9  # old ones went in between
        assert len(found["files", 9]) == size * len(kept)
        left = {name.split(".")[2] for name in found["files", 12] if name.startswith("run.")}
        assert left == {str(number) for number in kept[:-2]}  # as in Chainer, which forgets them when it resumes
        assert len(found["losses", 12]) == 3 and found["losses", 12][0] < found["losses", 9][0]


def test_the_files_are_those_that_chainermn_keeps():
    """The same numbers of iterations stay behind the same calls of ``save``."""
    import chainermn

    def kept(make, target):
        folder = tempfile.mkdtemp()
        checkpointer = make(folder)
        for iteration in range(1, 15):
            checkpointer.save(target, iteration)
        return sorted(os.listdir(folder))

    import chainer.links as L

    theirs = kept(
        lambda folder: chainermn.create_multi_node_checkpointer("run", Alone(), cp_interval=3, path=folder),
        L.Linear(2, 3),
    )
    ours = kept(
        lambda folder: checkpoints.MultiNodeCheckpointer("run", Alone(), cp_interval=3, path=folder),
        torch.nn.Linear(2, 3),
    )
    assert ours == theirs and 3 <= len(ours) < 14


class Alone:
    """A job of one process."""

    rank, size = 0, 1

    def allgather_obj(self, obj):
        return [obj]

    def gather_obj(self, obj):
        return [obj]

    def bcast_obj(self, obj):
        return obj


def test_a_checkpoint_that_one_process_lacks_is_not_taken():
    assert run_ranks(3, uneven) == [2, 2, 2]


def uneven():
    comm = communicators.create_communicator("naive")
    folder = comm.bcast_obj(tempfile.mkdtemp() if comm.rank == 0 else None)
    model = torch.nn.Linear(2, 3)
    checkpointer = checkpoints.MultiNodeCheckpointer("run", comm, path=folder)
    for iteration in (1, 2, 3):
        torch.nn.init.constant_(model.weight, iteration)
        if iteration < 3 or comm.rank:
            checkpointer.save(model, iteration)
    comm.mpi_comm.Barrier()
    checkpoints.MultiNodeCheckpointer("run", comm, path=folder).maybe_load(model)
    return int(model.weight[0, 0].detach())


def test_programs_that_keep_checkpoints_have_short_communicators():
    text = (
        "import chainermn\n"
        "from chainermn.functions.batch_normalization import MultiNodeBatchNormalizationFunction\n\n\n"
        "def f(trainer, opt):\n    comm = chainermn.create_communicator('naive')\n"
        "    kept = chainermn.create_multi_node_checkpointer(name='run', comm=comm, path='x')\n"
        "    kept.maybe_load(trainer, opt)\n    return MultiNodeBatchNormalizationFunction\n"
    )
    code = migrate_source(text, options=Options(style="native")).code
    assert "kept = compat.MultiNodeCheckpointer('run', comm, path='x')" in code
    assert "comm = compat.create_communicator('naive')" in code and "faithful_" not in code
