"""Programs with both libraries: ``torch.from_numpy`` takes no tensor."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.support.native_snippets import migrated, run

PROGRAM = """
import chainer.links as L
import torch


def copied(link):
    return {copied}


def run(xs):
    link = L.Linear(2, 2)
    link.W.data[:] = np.arange(4, dtype='f').reshape(2, 2)
    link.b.data[:] = np.arange(2, dtype='f')
    link.cleargrads()
    y = link(xs[0])
    y.grad = np.ones((1, 2), 'f')
    y.backward()
    return [copied(link).numpy(), torch.from_numpy(link.b.grad).numpy()]
"""


@pytest.mark.parametrize(
    "copied",
    [
        "torch.from_numpy(link.W.data)",
        "torch.from_numpy(link.W.array[:1, 1]).clone()",
        "2 * torch.from_numpy(link.b.data)",
    ],
)
def test_what_a_model_holds(copied: str) -> None:
    theirs, ours, code = run(PROGRAM.format(copied=copied))
    assert "from_numpy" not in code and "torch.as_tensor(link" in code
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_array_equal(one, other)


def test_arrays_of_the_host_stay() -> None:
    result = migrated("import torch\n\ndef load(path):\n    return torch.from_numpy(np.load(path)), F.relu(path)\n")
    assert "torch.from_numpy(np.load(path))" in result.code


def test_memory_is_shared_as_before() -> None:
    _, _, code = run(PROGRAM.format(copied="torch.from_numpy(link.W.data)"))
    assert "torch.as_tensor(link" in code
    held = torch.zeros(2)
    torch.as_tensor(held)[:] = 1
    assert held.tolist() == [1, 1]
