"""Runs the migrated models of a project under PyTorch: what chainer_models does, from the same weights."""
import contextlib
import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy
import torch

from . import compat_module, lockstep, torch_script, torch_snippets, wire


def work(job: dict[str, Any], folder: str) -> None:
    """Runs every model of the job; one that fails is a result like any other."""
    os.chdir(job["tree"])
    sys.path.insert(0, job["tree"])
    # The project's own helpers keep its train mode: they must be there before the mode is set.
    with contextlib.suppress(ImportError):
        importlib.import_module("chainer_compat")
    noise = lockstep.Stream(job["seed"] + 2)
    torch_script.noise_from(noise)
    results = wire.Results(folder)
    with numpy.load(os.path.join(folder, "inputs.npz"), allow_pickle=False) as inputs:
        for case in job["cases"]:
            record, arrays = run_case(case, inputs, job, noise)
            record["id"] = case["id"]
            results.add(record, arrays)
    results.close()


def run_case(case: dict[str, Any], inputs: Any, job: dict[str, Any],
             noise: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The record and the arrays of one model in one dtype and mode."""
    phase = "build"
    try:
        with torch_snippets.config(case):
            namespace = torch_snippets.execute(case)
            model = namespace["model"]
            phase = "weights"
            compat_module.load_npz(os.path.join(job["reference"], case["weights"]["model"]), model)
            if case["dtype"] == "float64":
                model.double()
            model.to(job.get("device", "cpu"))
            model.train(case["mode"] == "train")
            phase = "run"
            lockstep.seed_again(noise, case["seed"])
            with _trace(model, job["tree"]) as calls:
                record, arrays = torch_snippets.run(case, inputs, job, namespace)
            record["calls"] = [call for call, _ in calls]
            for _, outputs in calls:
                arrays.update(outputs)
            arrays.update(torch_snippets.prefixed("pgrad/model", compat_module.gradients(model)))
            arrays.update(torch_snippets.prefixed("state/model", compat_module.chainer_arrays(model)))
            phase = "step"
            arrays.update(_steps(case, inputs, job, namespace, model))
            return record, arrays
    except Exception as error:
        return wire.failure(phase, error), {}


def _steps(case: dict[str, Any], inputs: Any, job: dict[str, Any], namespace: dict[str, Any],
           model: torch.nn.Module) -> dict[str, Any]:
    """Plain gradient descent: the outputs after each step, and the parameters at the end."""
    found: dict[str, Any] = {}
    for step in range(1, case["steps"] + 1):
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter.sub_(parameter.grad, alpha=case["rate"])
        _, arrays = torch_snippets.run(case, inputs, job, namespace)
        found.update({f"step/{step}/{key}": value for key, value in arrays.items() if key.startswith("out")})
    if case["steps"]:
        found.update(torch_snippets.prefixed("step/end/state/model", compat_module.chainer_arrays(model)))
    return found


@contextlib.contextmanager
def _trace(model: torch.nn.Module, tree: str) -> Iterator[list[Any]]:
    """Collects ``(call, arrays)`` of every module below ``model`` in the order in which the calls end."""
    calls: list[Any] = []
    handles = []
    for name, module in model.named_modules():
        def hook(module: torch.nn.Module, args: Any, output: Any, path: str = "/" + name.replace(".", "/")) -> None:
            key = f"call/{len(calls)}"
            arrays = wire.flat_arrays(key, output, torch_snippets.array_of)
            call = {"path": path, "type": type(module).__name__, "key": key, "line": wire.caller(tree)}
            calls.append((call, arrays))
        handles.append(module.register_forward_hook(hook))
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()
