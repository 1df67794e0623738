"""The training loop: an Ignite engine with pytorch-pfn-extras' extensions manager, asked for in Chainer's words."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from typing import Any

from ignite.engine import Engine, Events
from pytorch_pfn_extras import reporting, writing
from pytorch_pfn_extras.training import IgniteExtensionsManager
from pytorch_pfn_extras.training import extension as ppe_extension

from chainer2torch.compat.training.extension_base import _ExtensionAdapter, _finalize
from chainer2torch.compat.serializers.state import SerializableState
from chainer2torch.compat.serializers.state_io import StateReader
from chainer2torch.compat.training.triggers import get_trigger


class _GraphReporter(reporting.Reporter):
    """A reporter that can keep the graphs of what is reported, for extensions that look at them."""

    def __init__(self) -> None:
        super().__init__()
        self.keep_graph = False
        self.graphs: dict[str, Any] = {}

    def report(self, values: Any, observer: Any = None) -> None:
        super().report(values, observer)
        if self.keep_graph:
            prefix = "" if observer is None else self._observer_names[id(observer)] + "/"
            self.graphs.update((prefix + key, value) for key, value in values.items())


class _LateWriter(writing.SimpleWriter):
    """Writes into the output directory, which appears when the training starts and not when the trainer is made."""

    def initialize(self, out_dir: str) -> None:
        pass


def add_model_observers(reporter: reporting.Reporter, name: str, model: Any) -> None:
    """Registers a model and its parts by Chainer's names: ``main``, ``main/predictor``, ``main/predictor/l1``..."""
    # a model that stands for something else (a link, while a project is half way) says who reports
    parts = model._observers() if hasattr(model, "_observers") else model.named_modules()
    for path, module in parts:
        reporter.add_observer(name + "/" * bool(path) + path.replace(".", "/"), module)


class Trainer(IgniteExtensionsManager, SerializableState):
    """Calls ``updater.update()`` and the extensions until the stop trigger fires.

    It is the extensions manager of an Ignite engine (``trainer.engine``), which the extensions get as their argument.

    Args:
        updater: the updater.
        stop_trigger: when to stop, e.g. ``(20, 'epoch')``; None never stops.
        out: directory of the results.
        extensions: extensions to begin with.
    Source: chainer.training.Trainer.
    """

    def __init__(
        self, updater: Any, stop_trigger: Any = None, out: str = "result", extensions: Iterable[Any] | None = None
    ) -> None:
        self._updater = updater
        optimizers = updater.get_all_optimizers()
        models = {name: optimizer.target for name, optimizer in optimizers.items()}
        super().__init__(Engine(self._iterate), models, optimizers, 1, out_dir=out, writer=_LateWriter(out_dir=out))
        self.stop_trigger = stop_trigger
        self.reporter = _GraphReporter()
        for name, model in models.items():
            add_model_observers(self.reporter, name, model)
        self._snapshot_elapsed_time = 0.0
        self._final_elapsed_time: float | None = None
        updater.connect_trainer(self)
        for extension in extensions or ():
            self.extend(extension)

    # -- what extensions read ------------------------------------------------------------------------------------

    @property
    def updater(self) -> Any:
        """The updater."""
        return self._updater

    @property
    def stop_trigger(self) -> Any:
        """The trigger that ends the training."""
        return self._stop_trigger

    @stop_trigger.setter
    def stop_trigger(self, trigger: Any) -> None:
        self._stop_trigger = get_trigger(trigger)

    @property  # type: ignore[misc]
    def iteration(self) -> int:
        """Iterations done."""
        iteration: int = self.updater.iteration
        return iteration

    @property
    def epoch(self) -> int:
        """Epochs done."""
        epoch: int = self.updater.epoch
        return epoch

    @property
    def epoch_detail(self) -> float:
        """Epochs done, with the fraction of the current one."""
        epoch_detail: float = self.updater.epoch_detail
        return epoch_detail

    @property
    def is_before_training(self) -> bool:
        """Whether no iteration was done yet."""
        return bool(self.updater.iteration == 0)

    @property
    def elapsed_time(self) -> float:
        """Seconds of training, those before a resume included.

        Raises:
            RuntimeError: the training has not been started.
        """
        if self._final_elapsed_time is not None:
            return self._final_elapsed_time
        if self._start_time is None:
            raise RuntimeError("training has not been started yet")
        return time.perf_counter() - self._start_time + self._snapshot_elapsed_time

    @property
    def out(self) -> str:
        """Directory of the results."""
        return self.writer.out_dir

    @out.setter
    def out(self, path: str) -> None:
        self.writer.out_dir = path

    def needs_model_state(self, iteration: int | None = None) -> bool:
        """Models can be looked at after every iteration."""
        return True

    # -- extensions ----------------------------------------------------------------------------------------------

    def extend(  # type: ignore[override]
        self,
        extension: Any,
        name: str | None = None,
        trigger: Any = None,
        priority: int | None = None,
        *,
        call_before_training: bool = False,
    ) -> None:
        """Adds an extension: an object of an Extension class, or any function of the trainer.

        Args:
            name, trigger, priority: instead of the extension's own. A name that is taken gets ``_1``, ``_2``...
            call_before_training: call it once before the first iteration, too.
        Raises:
            TypeError: the extension has no name. ValueError: the name is ``'training'``.
        """
        for attribute in ("name", "default_name", "__name__"):
            if name is None:
                name = getattr(extension, attribute, None)
        if name is None:
            raise TypeError("name is not given for the extension")
        if trigger is None:
            trigger = getattr(extension, "trigger", (1, "iteration"))
        if priority is None:
            priority = getattr(extension, "priority", ppe_extension.PRIORITY_READER)
        adapted = extension if isinstance(extension, ppe_extension.Extension) else _ExtensionAdapter(extension)
        super().extend(adapted, name, get_trigger(trigger), priority, call_before_training=call_before_training)
        final_name = next(reversed(self._extensions))
        self._extensions[final_name].priority = priority
        if adapted is not extension and hasattr(extension, "__dict__"):
            extension.name = final_name

    def get_extension(self, name: str) -> Any:
        """The extension of a name. Raises ValueError when there is none."""
        extension = super().get_extension(name)
        return extension.target if isinstance(extension, _ExtensionAdapter) else extension

    def start_extensions(self) -> None:
        """Initializes the extensions in the order of their priorities, and calls those that want it before training."""
        if self._start_extensions_called:
            return
        self._start_extensions_called = True
        entries = sorted(self._extensions.items(), key=lambda item: item[1].priority, reverse=True)
        self.extensions = entries
        for _, entry in entries:
            if not getattr(entry.trigger, "finished", False):
                entry.extension.initialize(self)
        if self.is_before_training:
            self.observation = {}
            with self.reporter.scope(self.observation):
                for _, entry in entries:
                    if entry.call_before_training:
                        entry.extension(self)

    # -- the loop ------------------------------------------------------------------------------------------------

    def set_ignite_handlers(self) -> None:
        """Connects the engine: extensions start with it (their calls are part of an iteration)."""
        self.engine.add_event_handler(Events.STARTED, lambda engine: self.start_extensions())

    def run_extensions(self) -> None:
        """Asks each trigger and calls its extension, one after the other: an extension may change what later ones see.

        pytorch-pfn-extras asks all triggers before it takes snapshots; Chainer does not, which shows in its files.
        """
        for _, entry in self.extensions:
            if entry.trigger(self):
                entry.extension(self)

    def _iterate(self, engine: Engine, batch: Any) -> None:
        self.observation = {}
        with self.reporter.scope(self.observation):
            self.updater.update()
            self.run_extensions()

    def _until_stopped(self) -> Iterator[None]:
        while not self._stop_trigger(self):
            yield None

    def run(self, show_loop_exception_msg: bool = True) -> None:
        """Trains until the stop trigger fires.

        Args:
            show_loop_exception_msg: print an exception before extensions and updater are finalized.
        Raises:
            RuntimeError: the trainer has run before.
        """
        if self._finalized:
            raise RuntimeError("cannot run training loop multiple times")
        os.makedirs(self.out, exist_ok=True)
        self._start_time = time.perf_counter()
        try:
            self.engine.run(self._until_stopped(), max_epochs=1)
        except Exception as error:
            if show_loop_exception_msg:
                sys.stderr.write(f"Exception in main training loop: {error}\n")
                traceback.print_tb(error.__traceback__)
                sys.stderr.write("Will finalize trainer extensions and updater before reraising the exception.\n")
            self._report_error(error)
            raise
        finally:
            for _, entry in getattr(self, "extensions", ()):
                _finalize(entry.extension, self)
            self.updater.finalize()
        self._final_elapsed_time = self.elapsed_time
        self._finalized = True

    def _report_error(self, error: Exception) -> None:
        for _, entry in getattr(self, "extensions", ()):
            try:
                entry.extension.on_error(self, error, error.__traceback__)
            except Exception as other:  # noqa: B902 - a handler that fails must not hide the first error
                sys.stderr.write(f"Exception in error handler: {other}\n")
                traceback.print_tb(other.__traceback__)

    # -- state ---------------------------------------------------------------------------------------------------

    def serialize(self, serializer: Any) -> None:
        """Stores or restores the whole training in the layout of Chainer's snapshots."""
        self.updater.serialize(serializer["updater"])
        if hasattr(self._stop_trigger, "serialize"):
            self._stop_trigger.serialize(serializer["stop_trigger"])
        for name, entry in self._extensions.items():
            if hasattr(entry.extension, "serialize"):
                entry.extension.serialize(serializer["extensions"][name])
            if hasattr(entry.trigger, "serialize"):
                entry.trigger.serialize(serializer["extension_triggers"][name])
        if isinstance(serializer, StateReader):
            self._snapshot_elapsed_time = float(serializer("_snapshot_elapsed_time", 0.0))
        else:
            serializer("_snapshot_elapsed_time", self.elapsed_time)

    def state_dict(self) -> dict[str, Any]:
        """The whole training as ``{key: array}`` in Chainer's layout."""
        return self._chainer_entries()

    def load_state_dict(self, to_load: Any) -> None:
        """Restores what :meth:`state_dict` gave."""
        self._load_chainer_entries(to_load)
