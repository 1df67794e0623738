"""Runs the migrated models of a project under PyTorch: what chainer_models does, from the same weights."""

import ast
import contextlib
import functools
import inspect
import importlib
import os
import textwrap
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import torch

from . import (
    aligned,
    compat_module,
    definitions,
    half_migrated,
    kept_state,
    lockstep,
    missing,
    model_text,
    name_map,
    roots,
    torch_absent,
    torch_cheap,
    torch_double,
    torch_gpu,
    torch_host,
    torch_noise,
    torch_snippets,
    wire,
)


def work(job: dict[str, Any], folder: str) -> None:
    """Runs every model of the job; one that fails is a result like any other."""
    os.chdir(job["tree"])
    folders = roots.Roots(job["tree"])
    half_migrated.patch_chainer_when_imported()
    noise = lockstep.Stream(job["seed"] + 2)
    torch_noise.noise_from(noise)
    results = wire.Results(folder)
    with (
        numpy.load(os.path.join(folder, "inputs.npz"), allow_pickle=False) as inputs,
        torch_host.on_host(job["tree"], job.get("device", "cpu")),
        torch_absent.weights(),
    ):
        for case in job["cases"]:
            folders.enter(case["module"], case["root"], case["file"])
            # The project's own helpers keep its train mode: they must be there before the mode is set.
            for name in _helpers(case["module"]):
                with contextlib.suppress(ImportError):
                    helpers = importlib.import_module(name)
                    _no_downloads(helpers)
                    torch_absent.of_helpers(helpers)
                    _not_volatile(helpers)
            arrays = results.array_file(case["id"])
            record = run_case(case, inputs, job, noise, arrays)
            source = model_text.with_tensors(case["source"])
            if source != case["source"] and "numpy.ndarray" in record.get("message", ""):
                # The program hands the model an array of its device there, which is a tensor now.
                arrays.close()
                arrays = results.array_file(case["id"])
                record = dict(run_case(dict(case, source=source), inputs, job, noise, arrays), with_tensors=True)
            record["id"] = case["id"]
            results.add(record, arrays)
            if record["status"] == "error" and torch_gpu.is_broken(job.get("device", "cpu")):
                results.close()
                sys.exit(wire.BROKEN_DEVICE)
    results.close()


def _helpers(module: str) -> list[str]:
    """Where a module's helpers may be: beside where imports start, or in one of its packages."""
    parts = module.split(".")
    packages = [".".join(parts[:number]) for number in range(1, len(parts))]
    return ["chainer_compat", *(f"{package}.chainer_compat" for package in packages)]


def _promote(model: torch.nn.Module, module: str) -> None:
    """A float32 tensor of the program's that meets float64 is one, as on Chainer's side: PyTorch promotes it where its
    functions take both, but layers do not, and the helpers say that they do not mix dtypes.
    """
    for part in model.modules():
        part.register_forward_pre_hook(lambda module, args: torch_double.double(args, leaves=True))
    for helpers in filter(None, map(sys.modules.get, _helpers(module))):
        for name in ("_check_same", "_check_dtypes"):
            check = getattr(helpers, name, None)
            if check is not None and not hasattr(check, "promotes"):
                setattr(helpers, name, _promoting(check))


def _promoting(check: Callable[..., None]) -> Callable[..., None]:
    def promoting(name: str, *tensors: Any) -> None:
        check(name, *torch_double.double(tensors, leaves=True))

    promoting.promotes = True  # type: ignore[attr-defined]
    return promoting


def _no_downloads(helpers: Any) -> None:
    """The vision models without the weights that Chainer has downloaded: none are there on the other side either."""
    for cls in vars(helpers).values():
        if isinstance(cls, type) and "_load" in vars(cls) and "_extracted" in vars(cls):
            cls._load = _load_named(cls._load)  # type: ignore[attr-defined]
    if hasattr(helpers, "load_vision_weights"):
        helpers.load_vision_weights = _load_named(helpers.load_vision_weights)


def _not_volatile(helpers: Any) -> None:
    """Inputs that version 1 calls volatile have a graph, as they have under the Chainer 7 of the comparison."""
    make = getattr(helpers, "volatile_variable", None)
    if make is None or getattr(make, "has_a_graph", False):
        return

    def with_graph(data: Any, volatile: Any, *args: Any, **kwargs: Any) -> Any:
        return make(data, "off", *args, **kwargs)

    with_graph.has_a_graph = True  # type: ignore[attr-defined]
    helpers.volatile_variable = with_graph


def _load_named(load: Callable[..., None]) -> Callable[..., None]:
    if getattr(load, "is_without_downloads", False):
        return load

    def without(model: Any, pretrained_model: str | None, automatic: str) -> None:
        load(model, None if pretrained_model == "auto" else pretrained_model, automatic)

    without.is_without_downloads = True  # type: ignore[attr-defined]
    return without


def run_case(case: dict[str, Any], inputs: Any, job: dict[str, Any], noise: Any, arrays: Any) -> dict[str, Any]:
    """The record of one model in one dtype and mode; its arrays are written to ``arrays`` as they come."""
    phase = "build"
    try:
        if case["dtype"] == "float64":
            _initializers_take_any_dtype()
        with torch_snippets.config(case):
            with torch_cheap.cheap_first_values():
                namespace = torch_snippets.execute(case)
                model = namespace["model"]
                if case.get("late"):  # Chainer's weights are of layers, too, that the first forward pass makes
                    _run_once(case, inputs, job, namespace)
                phase = "weights"
                saved = case["weights"].get("model")  # none of a model without parameters
                path = os.path.join(job["reference"], saved) if saved else ""
                named, own = _load(path, model, case, inputs, job) if saved else (None, "")
            arrays_of = named.arrays if named else functools.partial(compat_module.chainer_arrays, most=case["most"])
            if case["dtype"] == "float64":
                model.double()
            model.to(job.get("device", "cpu"))
            held = [
                _load_held(os.path.join(job["reference"], file), model, steps, case["dtype"])
                for file, steps in case.get("held", {}).items()
            ]
            if case.get("promoted"):
                _promote(model, case["module"])
            model.train(case["mode"] == "train")
            phase = "run"
            lockstep.seed_again(noise, case["seed"])
            if "aligned" in case:
                reference = wire.Arrays(os.path.join(job["reference"], case["id"] + ".npz"))
                paths = named.paths if named else {}
                with aligned.aligned(model, case["aligned"], reference, paths) as found, contextlib.suppress(Exception):
                    torch_snippets.run(case, inputs, job, namespace)
                    arrays.update(
                        torch_snippets.prefixed("sync/pgrad/model", compat_module.gradients(model, arrays_of))
                    )
                arrays.update(found)
                return {"status": "ok"}
            with _trace(model, job["tree"], named.paths if named else {}) as calls:
                try:
                    record, outputs = torch_snippets.run(case, inputs, job, namespace)
                    arrays.update(outputs)
                except Exception as error:
                    # What was computed until then tells where the difference begins.
                    record = wire.failure(phase, error)
            record["missing"] = missing.names()
            record["left_out"] = definitions.left_out()
            record["waiting"] = [] if named else [f"state/model/{key}" for key in compat_module.waiting(model)]
            record["own_serialize"] = own
            record["not_held"] = [place for place in held if place]
            record["names"] = named.how if named else []
            record["without"] = named.without if named else []
            record["imports_chainer"] = half_migrated.imports_chainer(model)
            record["calls"] = [call for call, _ in calls]
            record["returns"] = _returns(model, job["tree"])
            for _, outputs in calls:
                arrays.update(outputs)
            calls.clear()
            if record["status"] == "error":
                return record
            arrays.update(torch_snippets.prefixed("pgrad/model", compat_module.gradients(model, arrays_of)))
            arrays.update(torch_snippets.prefixed("state/model", arrays_of(model)))
            phase = "step"
            arrays.update(_steps(case, inputs, job, namespace, model, arrays_of))
            if not named:
                try:
                    arrays.update(torch_snippets.initial(case, inputs, job))
                except Exception as error:
                    record["no_first_values"] = f"{type(error).__name__}: {error}"
            return record
    except Exception as error:
        failed: dict[str, Any] = wire.failure(phase, error)
        return failed


def _initializers_take_any_dtype() -> None:
    """One that the program makes for float32 refuses the float64 of this pass, which is the comparison's own."""
    for name, module in sys.modules.copy().items():
        base = getattr(module, "Initializer", None) if name.rpartition(".")[2] == "chainer_compat" else None
        if isinstance(base, type) and not isinstance(vars(base).get("dtype"), property):
            base.dtype = property(lambda self: None, lambda self, dtype: None)  # type: ignore[attr-defined]


def _returns(model: torch.nn.Module, tree: str) -> str:
    """Where the model's own method ends: ``net.py:12``; empty where that is not in the tree or not one place."""
    try:
        lines, first = inspect.getsourcelines(type(model).forward)
        path = inspect.getsourcefile(type(model)) or ""
        body = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return ""
    found = [node.lineno for node in ast.walk(body) if isinstance(node, ast.Return)]
    inside = os.path.abspath(path).startswith(os.path.abspath(tree) + os.sep)
    return f"{os.path.basename(path)}:{first + found[0] - 1}" if len(found) == 1 and inside else ""


def _load(
    path: str, model: torch.nn.Module, case: dict[str, Any], inputs: Any, job: dict[str, Any]
) -> tuple[name_map.Names | None, str]:
    """Loads Chainer's weights: by their names, else (for a port written by hand) by a mapping, which is returned; and
    what a program's own ``serialize`` raises, without which they were loaded.
    """
    if not case["names"]:
        try:
            compat_module.load_npz(path, model)
            return None, ""
        except Exception as error:
            if said := _without_own(path, model, error):
                return None, said
            if not isinstance(error, (KeyError, ValueError, TypeError)):
                raise
    entries = compat_module.read_npz(path)
    named = name_map.match(entries, case["called"], model, _order_of_use(case, inputs, job), case["names"])
    named.load(entries)
    return named, ""


def _load_held(path: str, model: torch.nn.Module, steps: list[list[Any]], dtype: str) -> str:
    """Loads the weights of a module that the model holds without registering it; where it is held, if it is not found
    there or takes others.
    """
    held: Any = model
    try:
        for kind, step in steps:
            if kind == "link":
                held = held.get_submodule(step.strip("/").replace("/", "."))
            else:
                held = getattr(held, step) if kind == "attr" else held[step]
        compat_module.load_npz(path, held)
        held.to(next(model.parameters(), torch.empty(0)).device, getattr(torch, dtype))
    except (AttributeError, LookupError, TypeError, ValueError):
        return "/".join(str(step).strip("/") for _, step in steps).strip("/")
    return ""


def _without_own(path: str, model: torch.nn.Module, error: Exception) -> str:
    """Loads weights without a program's own ``serialize``, and says what that raises; empty where there is none, or
    something else is wrong. How a model is saved is not what is compared.
    """
    own = {cls for part in model.modules() for cls in type(part).__mro__ if "serialize" in vars(cls)}
    own = {cls for cls in own if cls.__module__.partition(".")[0] not in ("torch", "chainer_compat")}
    held = {cls: vars(cls)["serialize"] for cls in own}
    for cls in held:
        delattr(cls, "serialize")
    try:
        if held:
            compat_module.load_npz(path, model)
            return f"{', '.join(sorted(cls.__name__ for cls in own))}: {type(error).__name__}: {error}"
    except Exception:
        for cls, function in held.items():
            cls.serialize = function  # type: ignore[attr-defined]
    return ""


def _order_of_use(case: dict[str, Any], inputs: Any, job: dict[str, Any]) -> list[str]:
    """The modules of another model of the same kind, in the order in which a forward pass calls them."""
    namespace = torch_snippets.execute(case)
    with _trace(namespace["model"], job["tree"], {}) as calls:
        _run_once(case, inputs, job, namespace)
    return [call["path"].strip("/").replace("/", ".") for call, _ in calls]


def _run_once(case: dict[str, Any], inputs: Any, job: dict[str, Any], namespace: dict[str, Any]) -> None:
    """A first forward pass, of which nothing is kept but what it makes: one that raises is told by the next one."""
    if case["dtype"] == "float64":
        namespace["model"].double()
    namespace["model"].to(job.get("device", "cpu"))
    with contextlib.suppress(Exception):
        torch_snippets.run(dict(case, differentiated=[]), inputs, job, namespace)


def _has_graph(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.grad_fn is not None


def _steps(
    case: dict[str, Any],
    inputs: Any,
    job: dict[str, Any],
    namespace: dict[str, Any],
    model: torch.nn.Module,
    arrays_of: Callable[[torch.nn.Module], compat_module.Pairs],
) -> compat_module.Pairs:
    """Plain gradient descent, no value moving by more than the rate: the outputs after each step, and the parameters at
    the end.
    """
    for step in range(1, case["steps"] + 1):
        with torch.no_grad():
            moved = [(p, p.grad) for p in model.parameters() if p.grad is not None]
            sizes = [max(float(grad.max()), -float(grad.min())) for _, grad in moved if grad.numel()]
            largest = max([1.0, *(size for size in sizes if size == size)])
            for parameter, grad in moved:
                parameter.sub_(grad, alpha=case["rate"] / largest)
        kept_state.cut(model.modules(), _has_graph, torch.Tensor.detach, ["_buffers"])
        model.zero_grad()  # a parameter that this call does not reach has no gradient, as under Chainer
        _, arrays = torch_snippets.run(case, inputs, job, namespace)
        yield from ((f"step/{step}/{key}", value) for key, value in arrays.items() if key.startswith("out"))
    if case["steps"]:
        yield from torch_snippets.prefixed("step/end/state/model", arrays_of(model))


@contextlib.contextmanager
def _trace(model: torch.nn.Module, tree: str, paths: dict[str, str]) -> Iterator[list[Any]]:
    """Collects ``(call, arrays)`` of every module below ``model`` in the order in which the calls end.

    ``paths`` has Chainer's path of a module where it is not the module's own name.
    """
    calls: list[Any] = []
    handles = []
    for name, module in model.named_modules():

        def hook(
            module: torch.nn.Module, args: Any, output: Any, path: str = paths.get(name, "/" + name.replace(".", "/"))
        ) -> None:
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
