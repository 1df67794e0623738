"""Runs a migrated training script under PyTorch, unedited, from the weights that the original started with."""

import contextlib
import functools
import gc
import os
import sys
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from . import chainer_patches, torch_weights, lockstep, torch_double, torch_host, torch_loaders, torch_noise

_OF_LIBRARIES = ("torch.", "chainer_compat")


def work(job: dict[str, Any], folder: str) -> None:
    """Runs the script and records what it computes update by update."""
    recorder = lockstep.Recorder(folder, job["iterations"])
    notes: dict[str, Any] = {"loaded": {}, "others": [], "problems": [], "on_gpu": []}
    lockstep.seed_everything(job["seed"])
    torch.manual_seed(job["seed"])
    torch_noise.noise_from(lockstep.Stream(job["seed"] + 2))
    torch_noise.seed_examples(job["seed"])
    if job["loaders"]:
        torch_loaders.loaders_in_order(job["seed"])
    watch = _Watch(job, recorder, notes)
    if job["dtype"] == "float64":
        torch_double.install()
    watch.install()
    torch_weights.install()
    sys.meta_path.insert(0, _ChainerImport())
    host = torch_host.gpu_on_host() if job.get("as_gpu") else contextlib.nullcontext()
    try:
        with host:
            lockstep.run_script(job, recorder, notes, lambda: notes.update(unverified=_still_chainer()))
    finally:
        watch.end()


class _ChainerImport:
    """Lets a script that is migrated in part import Chainer beside a current NumPy; others never see the patches."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Applies the patches when Chainer is about to be imported; the import itself is left to the next finder."""
        if name == "chainer":
            chainer_patches.apply()


def _still_chainer() -> list[str]:
    """What to say when the migrated script imported Chainer: that part was compared with itself."""
    return (
        ["the migrated script still imports Chainer; what it computes with it is not verified"]
        if "chainer" in sys.modules
        else []
    )


class _Watch:
    """Hooks and patches: each tells the recorder, and the first forward loads Chainer's initial weights."""

    def __init__(self, job: dict[str, Any], recorder: Any, notes: dict[str, Any]):
        self.job = job
        self.recorder = recorder
        self.notes = notes
        self.optimizers: list[torch.optim.Optimizer] = []
        self.loaded: set[int] = set()
        self.lone: list[torch.optim.Optimizer] = []  # those that Chainer's side has not updated
        self.spare: list[torch.optim.Optimizer] = []  # those beside another one of the same parameters
        self.modules: list[weakref.ref[torch.nn.Module]] = []
        self.loading = False
        self.depth = 0  # how many forwards are running, each in the one before
        self.others = list(job["others"])  # classes of what Chainer called that no optimizer trains
        self.trained: set[type] = set()  # the classes of what an optimizer trains
        self.known: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()  # those that were called, with their parts

    def install(self) -> None:
        """Installs the hooks for modules, optimizers, backward and the reporter."""
        watch = self
        init = torch.optim.Optimizer.__init__

        def recorded_init(self: Any, *args: Any, **kwargs: Any) -> None:
            if self not in watch.optimizers and not _is_early(self):
                watch.optimizers.append(self)
            init(self, *args, **kwargs)
            if self not in watch.optimizers:
                _when_set_up(type(self), watch.set_up)

        torch.optim.Optimizer.__init__ = recorded_init  # type: ignore[method-assign]
        add_group = torch.optim.Optimizer.add_param_group

        def recorded_add_group(self: Any, group: Any) -> None:
            add_group(self, group)
            watch.load_as_made(self)

        torch.optim.Optimizer.add_param_group = recorded_add_group  # type: ignore[assignment]

        module_init = torch.nn.Module.__init__

        def recorded_module_init(self: Any, *args: Any, **kwargs: Any) -> None:
            watch.modules.append(weakref.ref(self))
            module_init(self, *args, **kwargs)

        torch.nn.Module.__init__ = recorded_module_init  # type: ignore[method-assign]
        hooks = torch.nn.modules.module
        hooks.register_module_forward_pre_hook(lambda module, args: watch.load(module))
        hooks.register_module_forward_hook(lambda module, args, given: watch.leave(), always_call=True)
        register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: watch.before(optimizer))
        register_optimizer_step_post_hook(lambda optimizer, args, kwargs: watch.after(optimizer))

        backward = torch.autograd.backward

        def recorded_backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            for tensor in [tensors] if isinstance(tensors, torch.Tensor) else tensors:
                watch.recorder.loss(lockstep.scalar(tensor.detach().cpu().numpy()))
            return backward(tensors, *args, **kwargs)

        torch.autograd.backward = recorded_backward
        try:
            import pytorch_pfn_extras.reporting as reporting
        except ImportError:
            return
        report = reporting.Reporter.report

        def recorded_report(self: Any, values: Any, observer: Any = None) -> None:
            outer, self.observation = self.observation, {}
            try:
                report(self, values, observer)
                for name in sorted(self.observation):
                    value = self.observation[name]
                    if isinstance(value, torch.Tensor):
                        value = value.detach().cpu().numpy()
                    number = lockstep.number(value)
                    if number is not None:
                        watch.recorder.report(name, number)
                outer.update(self.observation)
            finally:
                self.observation = outer

        reporting.Reporter.report = recorded_report  # type: ignore[method-assign]

    def set_up(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer that was made early has its parameters: it counts from here on, as Chainer's do."""
        if optimizer not in self.optimizers:
            self.optimizers.append(optimizer)
        self.load_as_made(optimizer)

    def before(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer is about to step."""
        if optimizer in self.spare:
            self.spare.remove(optimizer)
            self.notes["problems"].append(
                f"{type(optimizer).__name__} steps, beside another optimizer of the same parameters; the original set "
                "up that one alone"
            )
        if optimizer in self.optimizers:
            number = self.optimizers.index(optimizer)
            if optimizer in self.lone:
                self.lone.remove(optimizer)
                self.notes["problems"].append(
                    f"optimizer {number} ({type(optimizer).__name__}) has no counterpart that was set up and updated "
                    "in the original; its weights were not loaded"
                )
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            if number not in self.notes["on_gpu"] and any(p.is_cuda for p in parameters):
                self.notes["on_gpu"].append(number)
            self.recorder.before_update(number)

    def after(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer has stepped."""
        if optimizer in self.optimizers:
            self.recorder.after_update(self.optimizers.index(optimizer))

    def load(self, module: torch.nn.Module) -> None:
        """Before a forward: loads the weights of every optimizer that has parameters and was not loaded yet."""
        self.depth += 1
        if self.loading or len(self.loaded) == len(self.optimizers) and not self.others:
            return
        self.loading = True
        try:
            self._leave_spare()
            if type(module).__name__ in self.others and module not in self.known and not self._is_held(module):
                self._load_other(module, type(module).__name__)
            for number, optimizer in enumerate(self.optimizers):
                if number not in self.loaded and any(group["params"] for group in optimizer.param_groups):
                    self.loaded.add(number)
                    self._load_one(number, optimizer)
            if lockstep.HIDDEN in self.others and self._is_hidden(module):
                self._load_other(module, lockstep.HIDDEN)
        finally:
            self.loading = False

    def leave(self) -> None:
        """A forward has ended."""
        self.depth -= 1

    def _leave_spare(self) -> None:
        """Of a table of optimizers for the same parameters a program takes one, and the original sets up no other."""
        names = [target.get("optimizer") for target in self.job["targets"].values()]
        if self.loaded or len(self.optimizers) <= len(names):
            return
        of_same: dict[frozenset[int], list[torch.optim.Optimizer]] = {}
        for optimizer in self.optimizers:
            held = frozenset(id(p) for group in optimizer.param_groups for p in group["params"])
            of_same.setdefault(held, []).append(optimizer)
        for same in of_same.values():
            if any(type(optimizer).__name__ in names for optimizer in same):
                self.spare.extend(optimizer for optimizer in same if type(optimizer).__name__ not in names)
        self.optimizers = [optimizer for optimizer in self.optimizers if optimizer not in self.spare]

    def _is_held(self, module: torch.nn.Module) -> bool:
        """Whether optimizers have all parameters of a module: it is trained itself, and is no other of its class."""
        held = {id(p) for optimizer in self.optimizers for group in optimizer.param_groups for p in group["params"]}
        own = {id(param) for param in module.parameters()}
        return bool(own) and own <= held

    def _is_hidden(self, module: torch.nn.Module) -> bool:
        """Whether a module that is called is in none that an optimizer trains, and is no copy of one.

        In a script that trains nothing: whether another module calls it that does not hold it.
        """
        if not self.job["targets"]:
            return self.depth > 1 and module not in self.known and next(module.parameters(), None) is not None
        held = {id(p) for optimizer in self.optimizers for group in optimizer.param_groups for p in group["params"]}
        own = [id(param) for param in module.parameters()]
        if not self.trained or not own or module in self.known or not held.isdisjoint(own):
            return False
        if type(module) in self.trained and not type(module).__module__.startswith(_OF_LIBRARIES):
            self.known.update(module.modules())
            return False
        return True

    def load_as_made(self, optimizer: torch.optim.Optimizer) -> None:
        """When parameters are given to an optimizer: those that Chainer's had then, for scripts that look at them.

        What does not fit yet is left for :meth:`load`, which also says so.
        """
        if self.loading or optimizer not in self.optimizers or self.optimizers.index(optimizer) in self.loaded:
            return
        path = os.path.join(self.job["reference"], f"made-{self.optimizers.index(optimizer)}.npz")
        if os.path.exists(path):
            self.loading = True
            try:
                self._fill(optimizer, path, strict=False)
            finally:
                self.loading = False

    def _load_other(self, module: torch.nn.Module, name: str) -> None:
        """The weights of a module that no optimizer trains: the first of this name that is called in either script."""
        from . import compat_module

        number = self.others.index(name)
        self.others[number] = ""
        self.known.update(module.modules())
        path = os.path.join(self.job["reference"], f"other-{number}.npz")
        if not os.path.exists(path):  # its first forward failed, or the run ended in it
            return
        try:
            compat_module.helper("load_npz")(path, module, strict=False)
        except Exception as error:
            kind = type(module).__name__
            self.notes["problems"].append(f"the weights of {kind}, which no optimizer trains, do not fit: {error}")
        else:
            self.notes["others"].append(type(module).__name__)

    def _load_one(self, number: int, optimizer: torch.optim.Optimizer) -> None:
        path = os.path.join(self.job["reference"], f"weights-{number}.npz")
        if not os.path.exists(path):
            self.lone.append(optimizer)  # of which its first step tells
            return
        strict = not self.job["targets"].get(str(number), {}).get("uninitialized")
        module, reasons = self._fill(optimizer, path, strict)
        if module is not None:
            self.notes["loaded"][str(number)] = type(module).__name__
            self.known.update(module.modules())
            self.trained.update(map(type, module.modules()))
            return
        self.notes["problems"].append(
            f"the initial weights of optimizer {number} ({type(optimizer).__name__}) fit no module: "
            + ("; ".join(reasons) or "no module owns exactly its parameters")
        )

    def _fill(
        self, optimizer: torch.optim.Optimizer, path: str, strict: bool
    ) -> tuple[torch.nn.Module | None, list[str]]:
        """Loads weights into the module of an optimizer and its copies; None and the reasons if they fit none."""
        from . import compat_module

        reasons: list[str] = []
        for module in self._candidates(optimizer):
            copies = _copies(module)
            try:
                compat_module.helper("load_npz")(path, module, strict=strict)
            except Exception as error:
                reasons.append(f"{type(module).__name__}: {type(error).__name__}: {error}")
                continue
            for copy in copies:
                copy.load_state_dict(module.state_dict())
            return module, reasons
        return None, reasons

    def _candidates(self, optimizer: torch.optim.Optimizer) -> list[torch.nn.Module]:
        """The modules that own exactly the optimizer's parameters, the outermost first."""
        target = getattr(optimizer, "target", None)
        if isinstance(target, torch.nn.Module):
            return [target]
        wanted = {id(p) for group in optimizer.param_groups for p in group["params"]}
        found, seen = [], set()
        for reference in self.modules:
            module = reference()
            if module is not None and id(module) not in seen and {id(p) for p in module.parameters()} == wanted:
                seen.add(id(module))
                found.append(module)
        return sorted(found, key=lambda module: -len(list(module.modules())))

    def end(self) -> None:
        """Nothing is kept alive after the run."""
        self.modules.clear()


def _is_early(optimizer: Any) -> bool:
    """Whether an optimizer that begins now gets its parameters later, in a ``setup`` that is not running yet."""
    return hasattr(type(optimizer), "setup") and getattr(optimizer, "target", None) is None


def _when_set_up(kind: type, tell: Callable[[torch.optim.Optimizer], None]) -> None:
    """``tell`` hears of each optimizer of a class whose ``setup`` has run."""
    owner = next(cls for cls in kind.__mro__ if "setup" in vars(cls))
    setup = vars(owner)["setup"]
    if hasattr(setup, "heard"):
        return

    @functools.wraps(setup)
    def heard(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = setup(self, *args, **kwargs)
        tell(self)
        return result

    heard.heard = True  # type: ignore[attr-defined]
    owner.setup = heard  # type: ignore[attr-defined]


def _copies(module: torch.nn.Module) -> list[torch.nn.Module]:
    """Modules with the very values of this one: a target network that was copied from it before weights are loaded."""
    values = _values(module)
    if not values:
        return []
    return [
        other
        for other in gc.get_objects()
        if type(other) is type(module) and other is not module and _same(values, _values(other))
    ]


def _values(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The values that a module holds; none while some have no shape yet, which ``state_dict`` may refuse."""
    lazy = any(map(torch.nn.parameter.is_lazy, (*module.parameters(), *module.buffers())))
    return {} if lazy else module.state_dict()


def _same(x: dict[str, torch.Tensor], y: dict[str, torch.Tensor]) -> bool:
    return x.keys() == y.keys() and all(
        isinstance(x[key], torch.Tensor) and x[key].shape == y[key].shape and torch.equal(x[key], y[key]) for key in x
    )
