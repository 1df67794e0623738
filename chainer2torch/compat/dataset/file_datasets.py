"""Datasets that read examples from a file when they are asked for: pickled examples and lines of text."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Sequence
from typing import IO, Any

from chainer2torch.compat.dataset.datasets import DatasetMixin


class PickleDatasetWriter:
    """Writes examples one after the other to a binary stream. Source: chainer.datasets.PickleDatasetWriter."""

    def __init__(self, writer: IO[bytes], protocol: int = pickle.HIGHEST_PROTOCOL) -> None:
        self._writer = writer
        self._protocol = protocol

    def __enter__(self) -> PickleDatasetWriter:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()

    def write(self, x: Any) -> None:
        """Appends one example."""
        pickle.dump(x, self._writer, protocol=self._protocol)

    def flush(self) -> None:
        """Flushes the stream."""
        if hasattr(self._writer, "flush"):
            self._writer.flush()

    def close(self) -> None:
        """Closes the stream."""
        self._writer.close()


class PickleDataset(DatasetMixin):
    """The examples that :class:`PickleDatasetWriter` wrote. Reading runs pickle: only open files you trust.

    Raises:
        ValueError: the reader is not seekable.
    Source: chainer.datasets.PickleDataset.
    """

    def __init__(self, reader: IO[bytes]) -> None:
        if not reader.seekable():
            raise ValueError("reader must support random access")
        self._reader = reader
        self._lock = threading.RLock()
        self._positions = []
        reader.seek(0)
        while True:
            position = reader.tell()
            try:
                pickle.load(reader)
            except EOFError:
                break
            self._positions.append(position)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.RLock()

    def __enter__(self) -> PickleDataset:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()

    def __len__(self) -> int:
        """Number of examples."""
        return len(self._positions)

    def get_example(self, index: int) -> Any:
        """The ``index``-th example."""
        with self._lock:
            self._reader.seek(self._positions[index])
            return pickle.load(self._reader)

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._reader.close()


def open_pickle_dataset(path: str) -> PickleDataset:
    """Opens a file of pickled examples. Source: chainer.datasets.open_pickle_dataset."""
    return PickleDataset(_ReopenedFile(path))  # type: ignore[arg-type]


def open_pickle_dataset_writer(path: str, protocol: int = pickle.HIGHEST_PROTOCOL) -> PickleDatasetWriter:
    """Creates a file of pickled examples. Source: chainer.datasets.open_pickle_dataset_writer."""
    return PickleDatasetWriter(open(path, "wb"), protocol)


class _ReopenedFile:
    """A binary file that a pickled copy or a forked worker opens anew, so that positions are not shared."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._open()

    def _open(self) -> None:
        self._stream = open(self._path, "rb")
        self._pid = os.getpid()

    def __getstate__(self) -> str:
        return self._path

    def __setstate__(self, path: str) -> None:
        self.__init__(path)  # type: ignore[misc]

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        if self._pid != os.getpid():
            self._open()
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def read(self, size: int = -1) -> bytes:
        return self._stream.read(size)

    def readline(self) -> bytes:
        return self._stream.readline()

    def close(self) -> None:
        self._stream.close()


class TextDataset(DatasetMixin):
    """Lines of one text file, or tuples of the lines of several files.

    Args:
        paths: one path or a list of them.
        encoding, errors, newline: as for ``open``; one value, or one a file.
        filter_func: called with the lines; only those it accepts become examples.
    Raises:
        ValueError: the files have different numbers of lines, or the options another length than the files.
    Source: chainer.datasets.TextDataset.
    """

    def __init__(
        self,
        paths: str | Sequence[str],
        encoding: Any = None,
        errors: Any = None,
        newline: Any = None,
        filter_func: Callable[..., bool] | None = None,
    ) -> None:
        if isinstance(paths, str):
            paths = [paths]
        elif not paths:
            raise ValueError("at least one text file must be specified")
        options = [
            [value] * len(paths) if value is None or isinstance(value, str) else list(value)
            for value in (encoding, errors, newline)
        ]
        if any(len(values) != len(paths) for values in options):
            raise ValueError("length of each option must match with the number of text files to read")
        self._paths = list(paths)
        self._options = options
        self._open()
        self._starts: list[list[int]] = []
        while True:
            starts = [stream.tell() for stream in self._streams]
            lines = [stream.readline() for stream in self._streams]
            if not all(lines):
                if any(lines):
                    raise ValueError("number of lines in files does not match")
                break
            if filter_func is None or filter_func(*lines):
                self._starts.append(starts)

    def _open(self) -> None:
        self._streams = [
            open(path, encoding=encoding, errors=errors, newline=newline)
            for path, encoding, errors, newline in zip(self._paths, *self._options, strict=False)
        ]
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("_streams", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._open()

    def __len__(self) -> int:
        """Number of (accepted) lines."""
        return len(self._starts)

    def close(self) -> None:
        """Closes the files."""
        for stream in self._streams:
            stream.close()

    def get_example(self, idx: int) -> Any:
        """The line, its newline included; a tuple of lines for several files."""
        if not 0 <= idx < len(self._starts):
            raise IndexError("dataset index out of range")
        with self._lock:
            for stream, start in zip(self._streams, self._starts[idx], strict=False):
                stream.seek(start)
            lines = tuple(stream.readline() for stream in self._streams)
        return lines[0] if len(lines) == 1 else lines
