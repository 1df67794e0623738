"""What the helpers hand to torch for a GPU's sake, as far as the CPU shows it; tests/gpu has the rest."""

import contextlib

import pytest
import torch

from chainer2torch.compat.backend import devices
from chainer2torch.compat.links import n_step_links
from chainer2torch.compat.optimizers import adam
from chainer2torch.native import n_step


@pytest.mark.parametrize("device, waits", [("@numpy", True), ("meta", False)])
def test_only_a_copy_away_from_the_host_need_not_be_waited_for(monkeypatch, device, waits):
    told = []
    monkeypatch.setattr(torch.Tensor, "to", lambda self, *args, non_blocking=False: told.append(non_blocking) or self)
    devices._send(torch.ones(2), torch.device("meta") if device == "meta" else devices.get_device(device))
    assert told == [not waits]


@pytest.mark.parametrize("default", [torch.float32, torch.float64])
def test_the_counter_of_adam_is_float32_whatever_the_default(monkeypatch, default):
    param = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
    optimizer = adam.Adam(params=[param])
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(default)
        assert optimizer._step_tensor(param, 1).dtype == torch.float32
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize("module", [n_step_links, n_step])
def test_cudnn_is_set_aside_only_where_it_has_no_backward_pass(monkeypatch, module):
    """Its other settings would be the defaults inside."""
    told = []

    def flags(**settings):
        told.append(settings)
        return contextlib.nullcontext()

    monkeypatch.setattr(torch.backends.cudnn, "flags", flags)
    layer, xs = module.NStepLSTM(1, 4, 3, 0.0), [torch.ones(2, 4)]
    layer(None, None, xs)
    layer.eval()
    with torch.no_grad():
        layer(None, None, xs)
    assert told == []
    layer(None, None, xs)
    assert told == [{"enabled": False}]
