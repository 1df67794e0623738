"""Sends in the background, so that a process need not wait until the receiver asks for the message."""

from __future__ import annotations

import atexit
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from chainer2torch.compat.distributed.process_group import ends_with_an_exception


class BackgroundSender:
    """Runs tasks one after the other in a thread.

    A program that ends waits for them; one that ends with an exception does not, because the receiver may never ask.
    """

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._last: Future[None] | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        atexit.register(self._finish_at_exit)

    def submit(self, function: Callable[..., None], *args: Any) -> Future[None]:
        """Hands over a task; the future tells when it is done, or what it raised."""
        self._last = Future()
        self._tasks.put((self._last, function, args))
        return self._last

    def finish(self) -> None:
        """Waits until all tasks are done, and ends the thread; raises what the last task raised."""
        self._tasks.put(None)
        self._thread.join()
        if self._last is not None:
            self._last.result()

    def _finish_at_exit(self) -> None:
        if self._thread.is_alive() and not ends_with_an_exception():
            self.finish()

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, function, args = task
            try:
                function(*args)
            except Exception as error:  # the caller of `result` gets it
                future.set_exception(error)
            else:
                future.set_result(None)
