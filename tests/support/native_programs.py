"""Runs a small training program under Chainer and its native migration under PyTorch, from one set of weights.

A program defines ``Net`` and ``train(model)``, which returns numbers (losses, counters, rates). Both sides get the
same order of examples wherever data is shuffled: that difference is declared (``shuffle-order``).
"""

import contextlib
import io
import itertools
import sys
import textwrap
import types
from unittest import mock

import chainer
import numpy as np
import ignite.engine  # noqa: F401 - once: what a patched sys.modules imports is imported again
import pytorch_pfn_extras  # noqa: F401 - likewise
import torch

from chainer2torch.compat.serializers.serializers import load_npz
from chainer2torch.engine import Options, migrate_source
from chainer2torch.vendor import compat_file, said

HEAD = """\
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import iterators, optimizers, serializers
from chainer.dataset import concat_examples


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(3, 4)
            self.l2 = L.Linear(4, 2)

    def __call__(self, x):
        return self.l2(F.tanh(self.l1(x)))


"""


def migrated(source, head=HEAD, trainer="ppe"):
    """The result of the native migration of a program."""
    result = migrate_source(head + textwrap.dedent(source), options=Options(style="native", trainer=trainer))
    assert result.error is None
    assert [s for s in result.sites if s.state == "manual"] == [], result.code
    return result


def _orders(seed=7):
    """Orders of examples, a new one for each epoch."""
    for epoch in itertools.count():
        yield lambda n, epoch=epoch: np.random.RandomState(seed + epoch).permutation(n)


@contextlib.contextmanager
def one_order():
    """Both sides shuffle alike."""
    ours, theirs = _orders(), _orders()

    def sampled(self):
        return iter(next(ours)(len(self.data_source)).tolist())

    def ordered(self, current_order, current_position):
        return next(theirs)(len(current_order))

    with (
        mock.patch.object(torch.utils.data.RandomSampler, "__iter__", sampled),
        mock.patch.object(chainer.iterators.ShuffleOrderSampler, "__call__", ordered),
    ):
        yield


def helpers(result, style="native"):
    """The module of helpers that the migrated program imports, without the parts whose names it does not say."""
    module = types.ModuleType("chainer_compat")
    text = compat_file.build(result.helpers, style=style, said=said.words(result.code))
    exec(compile(text, "<chainer_compat>", "exec"), module.__dict__)
    return module


def both(source, head=HEAD, trainer="ppe"):
    """The namespaces of the original and of its native migration, and the migrated text."""
    source = head + textwrap.dedent(source)
    result = migrated(source, "", trainer)
    with mock.patch.dict(sys.modules, chainer_compat=helpers(result)):
        theirs, ours = {"__name__": "original"}, {"__name__": "migrated"}
        exec(compile(source, "<original>", "exec"), theirs)
        exec(compile(result.code, "<migrated>", "exec"), ours)
    return theirs, ours, result.code


def check(source, *, head=HEAD, lacks=("import chainer\n",), rtol=2e-5):
    """Trains on both sides and compares what ``train`` returns and all parameters; gives the migrated text."""
    theirs, ours, code = both(source, head)
    for text in lacks:
        assert text not in code, code
    np.random.seed(0)
    file, model, module = io.BytesIO(), theirs["Net"](), ours["Net"]()
    chainer.serializers.save_npz(file, model)
    file.seek(0)
    load_npz(file, module)
    with one_order():
        expected, found = theirs["train"](model), ours["train"](module)
    np.testing.assert_allclose(_numbers(found), _numbers(expected), rtol=rtol, atol=1e-6, err_msg=code)
    fresh, file = ours["Net"](), io.BytesIO()
    chainer.serializers.save_npz(file, model)
    file.seek(0)
    load_npz(file, fresh)
    want, got = fresh.state_dict(), module.state_dict()
    for name in want:
        torch.testing.assert_close(got[name], want[name], rtol=rtol, atol=1e-6, msg=f"{name}\n{code}")
    return code


def _numbers(values):
    """Everything in the lists that a program returns, as one array of floats."""
    if isinstance(values, (list, tuple)):
        return np.concatenate([np.zeros(0), *map(_numbers, values)])
    if isinstance(values, chainer.Variable):
        values = values.array
    if isinstance(values, torch.Tensor):
        values = values.detach().numpy()
    return np.ravel(np.asarray(values, dtype="float64"))
