"""What depends on whether there is a GPU, and on which, decided on a machine without one: devices are names here."""

import contextlib
import itertools
import types

import numpy as np
import pytest
import torch
import torch.distributed as dist

from chainer2torch.compat.backend import array_module, devices
from chainer2torch.compat.distributed import communicators, process_group
from chainer2torch.compat.functions import normalization, own_functions
from chainer2torch.compat.half_way import half_way_links
from chainer2torch.native import communicators as short_communicators
from chainer2torch.native import devices as short_devices
from chainer2torch.native import own_functions as short_functions

CPU, CURRENT, SECOND = torch.device("cpu"), torch.device("cuda"), torch.device("cuda", 1)


@pytest.fixture(autouse=True)
def told(monkeypatch):
    """The current GPU is number 3; what is made the current one is told."""
    told = []
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    monkeypatch.setattr(torch.cuda, "set_device", told.append)
    return told


@pytest.mark.parametrize("module", [devices, short_devices])
def test_numbers_and_names_of_devices(module, told):
    assert [module.device_number(device) for device in (CPU, CURRENT, SECOND)] == [-1, 3, 1]
    assert [module.device_name(device) for device in (CPU, CURRENT, SECOND)] == ["@numpy", "@cupy:3", "@cupy:1"]
    for device in (CPU, CURRENT, SECOND):
        module.use_device(device)
        using = module.using_device(device)
        assert isinstance(using, contextlib.nullcontext if device is CPU else torch.cuda.device)
    assert told == [SECOND]
    names = {"@numpy": CPU, "@intel64": CPU, "native": CPU, "cpu": CPU, -1: CPU, "-1": CPU, 0: torch.device("cuda", 0)}
    names |= {f"{name}:1": SECOND for name in ("@cupy", "cuda", "gpu")} | {1: SECOND, "1": SECOND, SECOND: SECOND}
    names |= {name: torch.device("cuda", 0) for name in ("@cupy", "cuda", "gpu", "0")}
    assert {name: module.get_device(name) for name in names} == names


def test_kinds_of_devices():
    for device, kind in itertools.product((CPU, CURRENT, SECOND), ("cpu", "cuda")):
        assert devices.is_device(device, kind) is (device.type == kind)
    assert not devices.is_device("cpu", "cpu") and not devices.is_device(types.SimpleNamespace(type="cpu"), "cpu")
    assert [half_way_links.chainer_device(device) for device in (CPU, CURRENT, SECOND)] == [
        "@numpy",
        "@cupy:0",
        "@cupy:1",
    ]


@pytest.mark.parametrize("there", [True, False])
def test_whether_there_is_a_gpu(monkeypatch, there):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    with contextlib.nullcontext() if there else pytest.raises(RuntimeError, match="not correctly set up"):
        devices.check_cuda_available()


def test_array_modules_of_devices():
    ours = {device: array_module.ArrayModule(device) for device in (CPU, CURRENT, SECOND)}
    cupy = types.ModuleType("cupy")
    for one, other in itertools.product(ours, repeat=2):
        assert (ours[one] == ours[other]) is (one.type == other.type)
    assert [ours[device] == np for device in ours] == [True, False, False]
    assert [ours[device] == cupy for device in ours] == [False, True, True]
    assert [array_module.on_cpu(xp) for xp in (np, *ours.values(), cupy, None)] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("gpu", [True, False])
@pytest.mark.parametrize("nccl", [True, False])
@pytest.mark.parametrize("name", ["naive", "pure_nccl", "flat"])
def test_which_communicators_there_are(monkeypatch, name, gpu, nccl):
    started = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr(dist, "is_nccl_available", lambda: nccl)
    monkeypatch.setattr(dist, "is_initialized", lambda: False)
    monkeypatch.setattr(process_group.atexit, "register", lambda function: None)
    monkeypatch.setattr(communicators, "Communicator", lambda *args: args)
    monkeypatch.setattr(dist, "get_world_size", lambda: 1)
    monkeypatch.setattr(dist, "init_process_group", lambda backend, **options: started.append((backend, options)))
    if name != "naive" and not (gpu and nccl):
        with pytest.raises(RuntimeError, match="needs a GPU and NCCL"):
            communicators.create_communicator(name)
        assert not started
        return
    assert communicators.create_communicator(name)[:2] == (name, [0])
    ((backend, options),) = started
    assert backend == ("cpu:gloo,cuda:nccl" if gpu and nccl else "gloo")
    assert (options["rank"], options["world_size"]) == (0, 1)


@pytest.mark.parametrize("name", ["naive", "pure_nccl"])
@pytest.mark.parametrize("started", ["alone", "torchrun", "mpirun", "mpirun and torchrun"])
def test_how_a_short_communicator_starts(monkeypatch, name, started):
    told = []
    monkeypatch.setattr(dist, "is_initialized", lambda: False)
    monkeypatch.setattr(dist, "init_process_group", lambda backend, **options: told.append((backend, options)))
    monkeypatch.setattr(short_communicators, "Communicator", lambda: "made")
    for variable in ("RANK", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"):
        monkeypatch.delenv(variable, raising=False)
    if "torchrun" in started:
        monkeypatch.setenv("RANK", "0")
    if "mpirun" in started:
        monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    if started == "mpirun":
        with pytest.raises(RuntimeError, match="start the program with torchrun"):
            short_communicators.create_communicator(name)
        return
    assert short_communicators.create_communicator(name) == "made"
    ((backend, options),) = told
    assert backend == ("gloo" if name == "naive" else "cpu:gloo,cuda:nccl")
    assert bool(options) is (started == "alone") and options.get("world_size", 1) == 1 and not options.get("rank")


@pytest.mark.parametrize("name", ["naive", "pure_nccl"])
@pytest.mark.parametrize("kind", ["numpy", "cpu", "cuda"])
def test_where_a_message_is_received(monkeypatch, name, kind):
    made, empty = [], torch.empty
    monkeypatch.setattr(torch, "empty", lambda *args, device, **options: made.append(device) or empty(*args, **options))
    description = communicators._Description((2, 3), torch.float64, kind)
    received = communicators.Communicator._empty(types.SimpleNamespace(name=name), description)
    assert made == ["cuda" if kind == "cuda" and name == "pure_nccl" else "cpu"]
    assert received.shape == (2, 3) and received.dtype == torch.float64


class OnGpu:
    """What says that it is on a GPU."""

    is_cuda = True


@pytest.mark.parametrize("module", [own_functions, short_functions])
@pytest.mark.parametrize("n_gpu", range(4))
def test_which_backward_and_forward_an_own_function_takes(module, n_gpu):
    class Own(module.Function):
        forward_cpu = backward_cpu = lambda self, *args: "cpu"
        forward_gpu = backward_gpu = lambda self, *args: "gpu"

    host = types.SimpleNamespace(is_cuda=False)
    inputs = [(host, host), (OnGpu(), host), (host, OnGpu()), (host, host)][n_gpu]
    gradients = [(host, None), (None, None), (host, None), (None, OnGpu())][n_gpu]
    assert Own().backward(inputs, gradients) == ("cpu" if n_gpu == 0 else "gpu")
    assert Own().forward(inputs) == ("gpu" if n_gpu in (1, 2) else "cpu")


class GpuTensor(torch.Tensor):
    is_cuda = True


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_windows_of_an_even_number_of_channels_are_shorter_on_a_gpu(n):
    """Chainer's kernel has n channels, its NumPy code n // 2 on each side."""
    x = torch.rand(2, 7, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    squares = x.square()
    for values, below in ((x, n // 2), (x.as_subclass(GpuTensor), n // 2 - (n % 2 == 0))):
        found = normalization.local_response_normalization(values, n, 1.0, 0.5, 0.5).as_subclass(torch.Tensor)
        for channel in range(7):
            window = squares[:, max(0, channel - below) : channel + n // 2 + 1].sum(1)
            torch.testing.assert_close(found[:, channel], x[:, channel] * (1 + 0.5 * window) ** -0.5)


@pytest.mark.parametrize("name", ["naive", "pure_nccl"])
def test_what_gloo_sends_comes_from_the_host(name):
    class OnDevice(torch.Tensor):
        def cpu(self):
            return torch.zeros(3)

    sent = communicators.Communicator._wire(types.SimpleNamespace(name=name), torch.ones(3).as_subclass(OnDevice))
    assert sent.tolist() == ([0, 0, 0] if name == "naive" else [1, 1, 1])
