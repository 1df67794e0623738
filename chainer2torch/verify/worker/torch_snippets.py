"""Runs migrated snippets (a module text with a function ``run``) under PyTorch, from Chainer's weights."""

import contextlib
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import numpy
import torch
from torch.nn.parameter import is_lazy

from . import batch_order, compat_module, missing, torch_gpu, torch_loaders, wire


def work(job: dict[str, Any], folder: str) -> None:
    """Runs every case of the job; a case that fails is a result like any other."""
    compat_module.install(*job["compat_dirs"])
    # A snippet that still needs Chainer is not migrated, although it would compute the same.
    sys.modules["chainer"] = None  # type: ignore[assignment]
    results = wire.Results(folder)
    with numpy.load(os.path.join(folder, "inputs.npz"), allow_pickle=False) as inputs:
        for case in job["cases"]:
            record, arrays = run_case(case, inputs, job)
            record["id"] = case["id"]
            results.add(record, arrays)
            if record["status"] == "error" and torch_gpu.is_broken(job.get("device", "cpu")):
                results.close()
                sys.exit(wire.BROKEN_DEVICE)
    results.close()


def run_case(case: dict[str, Any], inputs: Any, job: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The record and the arrays of one case."""
    phase = "build"
    try:
        with config(case) as orders:
            case = {**case, "orders": orders}
            namespace = execute(case)
            modules = find_modules(namespace)
            if case.get("compare") == "moments":
                return _sample(case, inputs, job, namespace)
            phase = "weights"
            for name, file in case.get("weights", {}).items():
                if name not in modules:
                    raise LookupError(f"`{name}` is a link in the original and not a module here")
                compat_module.load_npz(os.path.join(job["reference"], file), modules[name])
            for module in modules.values():
                if case["dtype"] == "float64":
                    module.double()
                module.to(job.get("device", "cpu"))
                module.train(case.get("mode", "train") == "train")
            phase = "initial weights"
            initial_values = initial(case, inputs, job)
            phase = "run"
            record, arrays = run(case, inputs, job, namespace)
            arrays.update(initial_values)
            for name in case.get("weights", {}):
                arrays.update(prefixed("pgrad/" + name, compat_module.gradients(modules[name])))
                arrays.update(prefixed("state/" + name, compat_module.chainer_arrays(modules[name])))
            return record, arrays
    except Exception as error:
        return wire.failure(phase, error), {}


@contextlib.contextmanager
def config(case: dict[str, Any]) -> Iterator[batch_order.Orders | None]:
    """Train mode, the dtype of new tensors and the orders of loaders, which the block gets, as the case says."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, case["dtype"]))
    try:
        with contextlib.ExitStack() as stack:
            stack.callback(_settings_again())
            stack.enter_context(compat_module.mode(case.get("mode", "train") == "train"))
            yield stack.enter_context(torch_loaders.in_order(case["seed"])) if case.get("loaders") else None
    finally:
        torch.set_default_dtype(before)


def _settings_again() -> Callable[[], None]:
    """What puts the settings of PyTorch back that an example may change."""
    cudnn = torch.backends.cudnn
    saved = cudnn.benchmark, cudnn.deterministic, cudnn.enabled, torch.are_deterministic_algorithms_enabled()

    def again() -> None:
        cudnn.benchmark, cudnn.deterministic, cudnn.enabled = saved[:3]
        if torch.are_deterministic_algorithms_enabled() != saved[3]:  # setting it imports all of torch._inductor
            torch.use_deterministic_algorithms(saved[3])

    return again


def execute(case: dict[str, Any]) -> dict[str, Any]:
    """The names that the text of the case defines."""
    namespace: dict[str, Any] = missing.importing(lambda: _executed(case))
    return namespace


def _executed(case: dict[str, Any]) -> dict[str, Any]:
    if case.get("orders") is not None:
        case["orders"].restart()
    numpy.random.seed(case.get("seed", 0))
    _seed(case.get("seed", 0))
    namespace: dict[str, Any] = {"__name__": "snippet"}
    exec(_compiled(case["source"]), namespace)
    return namespace


@functools.lru_cache(maxsize=16)  # one text runs in several dtypes and, for initial values, many times
def _compiled(source: str) -> CodeType:
    return compile(source, "<migrated>", "exec")


def _seed(seed: int) -> None:
    """``torch.manual_seed``, which formats a stack for each kind of device that has not been used yet: longer than many
    examples run.
    """
    if torch.cuda.is_available():
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)


def find_modules(namespace: dict[str, Any]) -> dict[str, torch.nn.Module]:
    """The modules among the names of a snippet."""
    return {name: value for name, value in namespace.items() if isinstance(value, torch.nn.Module)}


def _inputs(case: dict[str, Any], arrays: Any, device: str) -> tuple[dict[str, Any], dict[str, list[torch.Tensor]]]:
    """The keyword arguments of ``run``, and the tensors among them that take gradients, by argument."""
    plain = set(case.get("arrays", ()))
    tensors: dict[str, list[torch.Tensor]] = {}

    def wrap(name: str, array: Any) -> torch.Tensor:
        def send(host: Any) -> torch.Tensor:
            return torch.from_numpy(host).to(device)

        tensor = wire.strided(array, send) if case.get("strided") else send(array)
        if name in plain or not tensor.is_floating_point():
            return tensor
        tensor.requires_grad_()
        tensors.setdefault(name, []).append(tensor)
        return tensor

    return wire.decode_inputs(case["inputs"], arrays, wrap), tensors


def run(
    case: dict[str, Any], inputs: Any, job: dict[str, Any], namespace: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Calls ``run`` and differentiates what Chainer differentiated: the record, and outputs and gradients."""
    kwargs, tensors = _inputs(case, inputs, job.get("device", "cpu"))
    if "training" in inspect.signature(namespace["run"]).parameters:  # the native style hands the mode to functions
        kwargs.setdefault("training", case.get("mode", "train") == "train")
    result = namespace["run"](**kwargs)
    tree = wire.Tree("out", array_of)
    record: dict[str, Any] = {"status": "ok", "outputs": tree.encode(result), "on_gpu": on_gpu(tree)}
    arrays = dict(tree.arrays)
    roots, weights, constant = [], [], []
    for key in case.get("differentiated", []):
        value = tree.leaves.get(key)
        if not isinstance(value, torch.Tensor) or not value.requires_grad:
            constant.append(key)
            continue
        weight = wire.cotangent(case["id"], key, arrays[key])
        roots.append(value)
        weights.append(torch.from_numpy(weight).to(value.device))
    record["constant"] = constant
    if roots:
        for module in find_modules(namespace).values():
            module.zero_grad()
        for group in tensors.values():
            for tensor in group:
                tensor.grad = None
        torch.autograd.backward(roots, weights)
    for name, group in tensors.items():
        for i, tensor in enumerate(group):
            if tensor.is_floating_point() and tensor.grad is not None:
                arrays[f"grad/{name}/{i}"] = tensor.grad.detach().cpu().to_dense().numpy().copy()
    return record, arrays


def array_of(value: Any) -> numpy.ndarray | None:
    """The ndarray of a tensor or array, None for anything else."""
    if isinstance(value, torch.Tensor):
        # A snippet may resize or overwrite what it returned: the comparison is of the value at this moment.
        return numpy.array(value.detach().cpu().resolve_conj().resolve_neg().numpy())
    if isinstance(value, numpy.ndarray):
        return numpy.array(value)
    return None


def on_gpu(tree: Any) -> list[str]:
    """The paths of the results that lie on a GPU."""
    return sorted(key for key, value in tree.leaves.items() if isinstance(value, torch.Tensor) and value.is_cuda)


def _sample(
    case: dict[str, Any], inputs: Any, job: dict[str, Any], namespace: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Many runs of a random function: the values of each output and gradient in one long row.

    Modules are built anew for each run: their weights may be all that is random.
    """
    samples: dict[str, list[Any]] = {}
    record: dict[str, Any] = {}
    parameters = [p for module in find_modules(namespace).values() for p in module.parameters()]
    weights = sum(p.numel() for p in parameters if not is_lazy(p))
    for runs in range(wire.sample_runs(case["repeat"], weights)):
        if wire.is_enough(runs, samples):
            break
        if weights and runs:
            namespace = execute(dict(case, seed=case["seed"] + runs))
        for module in find_modules(namespace).values():
            module.to(job.get("device", "cpu"))
            module.train(case.get("mode", "train") == "train")
        record, arrays = run(case, inputs, job, namespace)
        for name, array in arrays.items():
            samples.setdefault(name, []).append(wire.of_one_build(array, weights) if weights else array.ravel())
    return record, {name: numpy.concatenate(rows) for name, rows in samples.items()}


def initial(case: dict[str, Any], inputs: Any, job: dict[str, Any]) -> dict[str, Any]:
    """The parameters that several builds start with, lazy ones after a first forward, stacked by name."""
    found: dict[str, list[Any]] = {}
    for build in range(case.get("initial", 0) if case.get("weights") else 0):
        source = dict(case, seed=case["seed"] + build + 1, differentiated=[])
        namespace = execute(source)
        modules = find_modules(namespace)
        for module in modules.values():
            module.train(case.get("mode", "train") == "train")
        if any(
            is_lazy(tensor) or bool(tensor.isnan().any())
            for module in modules.values()
            for tensor in (*module.parameters(), *module.buffers())
        ):
            run(source, inputs, job, namespace)
        for name in case["weights"]:
            for key, value in compat_module.chainer_arrays(modules[name]):
                found.setdefault(f"init/{name}/{key}", []).append(value)
    return {name: numpy.stack(values) for name, values in found.items()}


def prefixed(prefix: str, arrays: compat_module.Pairs) -> compat_module.Pairs:
    """The arrays under ``prefix/``, one by one."""
    for key, value in arrays:
        yield f"{prefix}/{key}", value
