"""A training that is killed while it writes a snapshot leaves the one before whole, and goes on from it."""

import os
import signal

import numpy as np
import pytest

import chainer2torch.compat.training.trainer  # noqa: F401 - what the script is going to import
from tests.support import forked

# Trains with a snapshot after every iteration; is killed in the middle of writing the third.
SCRIPT = """
import io, os, signal, sys
import numpy as np
import torch
from chainer2torch.compat.dataset import datasets, iterators
from chainer2torch.compat.optimizers.optimizers_by_name import OptimizersByName as optimizers
from chainer2torch.compat.serializers import serializers
from chainer2torch.compat.training import snapshot, trainer, updaters

KILL = int(sys.argv[2])
calls = []


def savefun(path, entries):
    calls.append(path)
    stream = io.BytesIO()
    np.savez(stream, **entries)
    whole = stream.getvalue()
    with open(path, "wb") as file:
        file.write(whole[:len(whole) // 2])
        file.flush()
        if len(calls) == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        file.write(whole[len(whole) // 2:])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(3, 1)

    def forward(self, x):
        return (self.l(x) ** 2).mean()


torch.manual_seed(0)
np.random.seed(0)
model = Net()
optimizer = optimizers.Adam()
optimizer.setup(model)
data = np.random.RandomState(0).rand(12, 3).astype("f")
updater = updaters.StandardUpdater(iterators.SerialIterator(data, 4), optimizer, device=-1)
run = trainer.Trainer(updater, (5, "iteration"), out=sys.argv[1])
run.extend(snapshot.snapshot(savefun, "snapshot"), trigger=(1, "iteration"))
if os.path.exists(os.path.join(sys.argv[1], "snapshot")):
    serializers.load_npz(os.path.join(sys.argv[1], "snapshot"), run)
print("from", updater.iteration, flush=True)
run.run()
np.savez(os.path.join(sys.argv[1], "final.npz"), w=model.l.weight.detach().numpy(), b=model.l.bias.detach().numpy())
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="SIGKILL is a signal of POSIX systems")
def test_a_killed_training_goes_on_from_the_last_whole_snapshot(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    done = forked.script(script, undisturbed, 0)
    assert done.returncode == 0, done.stderr
    done = forked.script(script, killed, 3)
    assert done.returncode == -signal.SIGKILL and done.stdout == "from 0\n", done.stderr
    assert len(os.listdir(killed)) == 2, "the half-written file has another name"
    with np.load(killed / "snapshot") as entries:
        assert int(entries["updater/iteration"]) == 2
    done = forked.script(script, killed, 0)
    assert (done.returncode, done.stdout) == (0, "from 2\n"), done.stderr
    with np.load(undisturbed / "final.npz") as expected, np.load(killed / "final.npz") as found:
        assert all(np.array_equal(expected[key], found[key]) for key in ("w", "b"))
