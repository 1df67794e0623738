"""``chainer.mixed16`` is torch.autocast on GPUs: what is switched, and that no cast weight outlives an update."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from chainer2torch.compat.backend import default_dtype as helpers


def test_mixed16_switches_autocast_and_the_block_gives_it_back() -> None:
    assert not torch.is_autocast_enabled("cuda")
    with helpers.using_default_dtype(helpers.mixed16):
        assert torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") is torch.float16
        assert not torch.is_autocast_cache_enabled()
        assert helpers.default_dtype() is helpers.mixed16
        assert helpers.get_dtype() == np.float32 == np.zeros(2, helpers.mixed16).dtype
        assert torch.get_default_dtype() is torch.float32
    assert not torch.is_autocast_enabled("cuda") and torch.is_autocast_cache_enabled()


def test_weights_are_cast_anew_after_an_update(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the CPU in the place of a GPU: each output must be that of the weights as they are, rounded to float16."""
    enable, cast_to = torch.set_autocast_enabled, torch.set_autocast_dtype
    monkeypatch.setattr(torch, "set_autocast_enabled", lambda _, enabled: enable("cpu", enabled))
    monkeypatch.setattr(torch, "set_autocast_dtype", lambda _, dtype: cast_to("cpu", dtype))
    before = torch.get_autocast_dtype("cpu")
    layer = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    x = torch.ones(4, 3)
    try:
        with helpers.using_default_dtype(helpers.mixed16):
            for _ in range(3):
                y = layer(x)
                assert y.dtype is torch.float16
                expected = x.double() @ layer.weight.double().T + layer.bias.double()
                torch.testing.assert_close(y.double(), expected, rtol=5e-3, atol=5e-3)
                optimizer.zero_grad()
                y.float().sum().backward()
                assert layer.weight.grad is not None and layer.weight.grad.dtype is torch.float32
                optimizer.step()
    finally:
        cast_to("cpu", before)
