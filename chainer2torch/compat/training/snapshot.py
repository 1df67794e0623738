"""Snapshots in Chainer's own format and under Chainer's file names, written whole or not at all."""

from __future__ import annotations

import multiprocessing
import os
import queue
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import Any

from chainer2torch.compat.training.extension_base import Extension
from chainer2torch.compat.serializers.serializers import chainer_entries, load_npz, save_npz


def snapshot(
    savefun: Callable[[str, Any], None] | None = None,
    filename: Any = "snapshot_iter_{.updater.iteration}",
    *,
    target: Any = None,
    condition: Callable[[], bool] | None = None,
    writer: Any = None,
    snapshot_on_error: bool = False,
    n_retains: int = -1,
    autoload: bool = False,
    num_retain: int | None = None,
) -> Snapshot:
    """An extension that saves the trainer, by default at the end of every epoch.

    Args:
        savefun: function ``(path, entries)`` that writes ``{key: array}``; by default Chainer's npz format.
        filename: name of the file; a format string of the trainer or a function of it.
        target: what to save instead of the trainer.
        condition: asked before each snapshot.
        writer: one of the writers below; it writes in another thread or process.
        snapshot_on_error: save also when the training raises.
        n_retains: how many files to keep; -1 keeps all. ``num_retain`` is Chainer's older name.
        autoload: load the newest file that matches ``filename`` before the training.
    Raises:
        TypeError: both ``savefun`` and ``writer`` are given.
    Source: chainer.training.extensions.snapshot.
    """
    if savefun is not None and writer is not None:
        raise TypeError("savefun and writer arguments cannot be specified together.")
    return Snapshot(
        target,
        condition,
        writer or SimpleWriter(savefun or save_npz),
        filename,
        snapshot_on_error,
        n_retains if num_retain is None else num_retain,
        autoload,
    )


def snapshot_object(
    target: Any, filename: Any, savefun: Callable[[str, Any], None] | None = None, **kwargs: Any
) -> Snapshot:
    """An extension that saves one object, e.g. a model; see :func:`snapshot`.

    Source: chainer.training.extensions.snapshot_object.
    """
    return snapshot(savefun, filename, target=target, **kwargs)


class Snapshot(Extension):
    """The extension that :func:`snapshot` makes."""

    trigger = (1, "epoch")
    priority = -100
    default_name = "_Snapshot"

    def __init__(
        self,
        target: Any,
        condition: Callable[[], bool] | None,
        writer: Any,
        filename: Any,
        snapshot_on_error: bool,
        n_retains: int,
        autoload: bool,
    ) -> None:
        self._target = target
        self.condition = condition
        self.writer = writer
        self.filename = filename
        self._snapshot_on_error = snapshot_on_error
        self.n_retains = n_retains
        self.autoload = autoload

    def initialize(self, trainer: Any) -> None:
        """Loads the newest snapshot when asked to, and sees to it that old ones go."""
        if self.autoload:
            files = _matching_files(self.filename, trainer.out)
            if files:
                load_npz(os.path.join(trainer.out, files[-1]), trainer if self._target is None else self._target)
        if self.n_retains > 0 and isinstance(self.filename, str) and hasattr(self.writer, "_add_cleanup_hook"):
            out = trainer.out
            self.writer._add_cleanup_hook(lambda: _remove_stale(self.filename, out, self.n_retains))

    def on_error(self, trainer: Any, exc: Exception, tb: Any) -> None:
        """Saves when it should on errors."""
        if self._snapshot_on_error:
            self._save(trainer)

    def __call__(self, trainer: Any) -> None:
        """Saves when the condition holds."""
        if self.condition is None or self.condition():
            self._save(trainer)

    def _save(self, trainer: Any) -> None:
        entries = chainer_entries(trainer if self._target is None else self._target)
        name = self.filename(trainer) if callable(self.filename) else self.filename.format(trainer)
        self.writer(name, trainer.out, entries)

    def finalize(self, manager: Any = None) -> None:
        """Waits for the writer."""
        if hasattr(self.writer, "finalize"):
            self.writer.finalize()


def _matching_files(pattern: str, directory: str) -> list[str]:
    """Files that begin and end as the format string does, the oldest first."""
    start, end = pattern.split("{")[0], pattern.split("}")[-1]
    names = [
        name
        for name in os.listdir(directory)
        if name.startswith(start) and name.endswith(end) and os.path.isfile(os.path.join(directory, name))
    ]
    return sorted(names, key=lambda name: (os.stat(os.path.join(directory, name)).st_mtime, name))


def _remove_stale(pattern: str, directory: str, n_retains: int) -> None:
    for name in _matching_files(pattern, directory)[:-n_retains]:
        os.remove(os.path.join(directory, name))


class Writer:
    """Base class of snapshot writers. Source: chainer.training.extensions.snapshot_writers.Writer.

    Args:
        savefun: function ``(path, entries)``.
        kwds: taken and never passed on, as there.
    """

    def __init__(self, savefun: Callable[..., None] = save_npz, **kwds: Any) -> None:
        self._savefun = savefun
        self._post_save_hooks: list[Callable[[], None]] = []

    def __call__(self, filename: str, outdir: str, target: Any) -> None:
        """Writes ``target`` to a file of the directory."""
        raise NotImplementedError

    def save(self, filename: str, outdir: str, target: Any, savefun: Callable[..., None] | None = None) -> None:
        """Writes the file beside its place and moves it there: a file that is there is complete."""
        with tempfile.TemporaryDirectory(prefix="tmp" + os.path.basename(filename), dir=outdir) as directory:
            temporary = os.path.join(directory, os.path.basename(filename))
            (savefun or self._savefun)(temporary, target)
            os.replace(temporary, os.path.join(outdir, filename))
        for hook in self._post_save_hooks:
            hook()

    def _add_cleanup_hook(self, hook: Callable[[], None]) -> None:
        self._post_save_hooks.append(hook)

    def finalize(self) -> None:
        """Waits until everything is written."""


class SimpleWriter(Writer):
    """Writes at once. Source: chainer.training.extensions.snapshot_writers.SimpleWriter."""

    def __call__(self, filename: str, outdir: str, target: Any) -> None:
        """Writes ``target`` to a file of the directory."""
        self.save(filename, outdir, target)


class ThreadWriter(Writer):
    """Writes each snapshot in a thread. Source: chainer.training.extensions.snapshot_writers.ThreadWriter."""

    _worker: Any = None

    def __call__(self, filename: str, outdir: str, target: Any) -> None:
        """Starts to write, after the last one is written."""
        self.finalize()
        self._worker = self._start(target=self.save, args=(filename, outdir, target))
        self._worker.start()

    def _start(self, **options: Any) -> Any:
        return threading.Thread(**options)

    def finalize(self) -> None:
        """Waits until everything is written."""
        if self._worker is not None:
            self._worker.join()
            self._worker = None


class ProcessWriter(ThreadWriter):
    """Writes each snapshot in a process. Source: chainer.training.extensions.snapshot_writers.ProcessWriter."""

    def _start(self, **options: Any) -> Any:
        return multiprocessing.Process(**options)


class ThreadQueueWriter(Writer):
    """Writes snapshots one after the other in one thread.

    Source: chainer.training.extensions.snapshot_writers.ThreadQueueWriter.
    """

    def __init__(self, savefun: Callable[..., None] = save_npz, task: Any = None) -> None:
        super().__init__(savefun)
        self._task = task or self.save
        self._queue: Any = self._make_queue()
        self._consumer = self._start(target=_write_all, args=(self._queue, self._task))
        self._consumer.start()

    def _make_queue(self) -> Any:
        return queue.Queue()

    def _start(self, **options: Any) -> Any:
        return threading.Thread(daemon=True, **options)

    def __call__(self, filename: str, outdir: str, target: Any) -> None:
        """Puts the snapshot in the queue."""
        self._queue.put((filename, outdir, target))

    def finalize(self) -> None:
        """Waits until everything is written."""
        if self._consumer is not None:
            self._queue.put(None)
            self._consumer.join()
            self._consumer = None


class ProcessQueueWriter(ThreadQueueWriter):
    """Writes snapshots one after the other in one process.

    Source: chainer.training.extensions.snapshot_writers.ProcessQueueWriter.
    """

    def _make_queue(self) -> Any:
        return multiprocessing.JoinableQueue()

    def _start(self, **options: Any) -> Any:
        return multiprocessing.Process(daemon=True, **options)


def _write_all(tasks: Any, save: Callable[..., None]) -> None:
    for item in _items(tasks):
        save(*item)


def _items(tasks: Any) -> Iterator[Any]:
    while True:
        item = tasks.get()
        if item is None:
            return
        yield item
