"""Chainer's data set cache: where its files lie and how a missing one is fetched.

Layout, as Chainer has it: ``$CHAINER_DATASET_ROOT`` (default ``~/.chainer/dataset``), one directory a data set, and
``_dl_cache/<md5 of the url>`` for downloads.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any


def get_dataset_root() -> str:
    """Root directory of all data sets. Source: chainer.dataset.get_dataset_root."""
    return os.environ.get("CHAINER_DATASET_ROOT", os.path.join(os.path.expanduser("~"), ".chainer", "dataset"))


def set_dataset_root(path: str) -> None:
    """Sets the root directory, for this process and those it starts. Source: chainer.dataset.set_dataset_root."""
    os.environ["CHAINER_DATASET_ROOT"] = path


def get_dataset_directory(dataset_name: str, create_directory: bool = True) -> str:
    """Directory of one data set, made if it is missing. Source: chainer.dataset.get_dataset_directory."""
    path = os.path.join(get_dataset_root(), dataset_name)
    if create_directory:
        os.makedirs(path, exist_ok=True)
    return path


def cached_download(url: str) -> str:
    """Path of the cached copy of ``url``, downloaded when it is not there yet.

    Raises:
        RuntimeError: the download failed; the message names the file that would stand in for it.
    Source: chainer.dataset.cached_download.
    """
    cache = get_dataset_directory("_dl_cache")
    path = os.path.join(cache, hashlib.md5(url.encode("utf-8")).hexdigest())
    if not os.path.exists(path):
        _download([url], path)
    return path


def cache_or_load_file(path: str, creator: Callable[[str], Any], loader: Callable[[str], Any]) -> Any:
    """``loader(path)`` when the file is there; else ``creator`` writes it and returns the content.

    The file appears under its name only when it is complete. Source: chainer.dataset.cache_or_load_file.
    """
    if os.path.exists(path):
        return loader(path)
    os.makedirs(get_dataset_root(), exist_ok=True)
    # in a directory of its own, because numpy.savez appends an ending to other names
    with tempfile.TemporaryDirectory(dir=get_dataset_root()) as directory:
        temporary = os.path.join(directory, os.path.basename(path))
        content = creator(temporary)
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            shutil.move(temporary, path)
    return content


def _download_any(original: str, mirrors: list[str]) -> str:
    """Path of a cached copy of ``original`` (the address Chainer knew), fetched from the first mirror that answers."""
    cache = get_dataset_directory("_dl_cache")
    path = os.path.join(cache, hashlib.md5(original.encode("utf-8")).hexdigest())
    if not os.path.exists(path):
        _download([*mirrors, original], path)
    return path


def _download(urls: list[str], path: str) -> None:
    errors = []
    for url in urls:
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
        try:
            sys.stderr.write(f"Downloading from {url}...\n")
            with os.fdopen(handle, "wb") as out, urllib.request.urlopen(url, timeout=60) as response:
                shutil.copyfileobj(response, out)
            os.replace(temporary, path)
            return
        except (urllib.error.URLError, OSError, ValueError) as error:
            os.unlink(temporary)
            errors.append(f"{url}: {error}")
    raise RuntimeError(
        "could not download a data set file. Put a copy at\n  " + path + "\nTried:\n  " + "\n  ".join(errors)
    )
