"""NumPy's ``out``: it is written to, or the call is marked. It is never forgotten."""

from __future__ import annotations

import pytest

from chainer2torch import migrate_source

MODEL = """import chainer


class Net(chainer.Chain):
    def forward(self, x, other=None):
        y = self.xp.zeros((2, 3), dtype="f")
        x.array.{call}
        return y
"""
CALLS = [
    "sum(axis=0, out={out})",
    "mean(0, None, {out})",
    "prod(axis=0, out={out})",
    "max(0, {out})",
    "min(axis=0, out={out})",
    "argmax(axis=0, out={out})",
    "argmin(0, {out})",
    "cumsum(1, out={out})",
    "clip(0, 1, {out})",
    "dot(y, out={out})",
]


@pytest.mark.parametrize("call", CALLS)
def test_results_are_written_to_out(call: str) -> None:
    result = migrate_source(MODEL.format(call=call.format(out="y")))
    assert "y.copy_(" in result.code
    assert "C2T320" not in result.code


@pytest.mark.parametrize("call", CALLS)
def test_what_may_be_none_is_marked(call: str) -> None:
    """``other`` is nobody's: PyTorch gets the call as it stands, and a person the question."""
    result = migrate_source(MODEL.format(call=call.format(out="other")))
    assert "C2T320" in result.code or "other.copy_(" in result.code


def test_no_out_asks_nothing() -> None:
    result = migrate_source(MODEL.format(call="sum(axis=0, out=None)"))
    assert "C2T320" not in result.code and "copy_" not in result.code


def test_a_comparison_that_was_migrated_stays() -> None:
    """A file that is migrated in part: a second run leaves what the first one wrote."""
    text = """import torch

import chainer_compat as compat
import chainer


class Norm(compat.Function):
    def forward(self, inputs):
        x, gamma = inputs[:2]
        if chainer.should_use_cudnn(">=auto"):
            self.eps = 1
        ok = x.ndim == 2
        self.can = ok and x[0].dtype != torch.float16
        return x * gamma + self.tmp.data,
"""
    assert "dtype_of" not in migrate_source(text).code
