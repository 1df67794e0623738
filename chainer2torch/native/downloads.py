"""Files that a program downloads once, and where they lie."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from typing import Any

import torch


def get_dataset_directory(dataset_name: str, create_directory: bool = True) -> str:
    """Directory of one data set, made if it is missing. Source: chainer.dataset.get_dataset_directory."""
    root = os.environ.get("CHAINER_DATASET_ROOT", os.path.expanduser("~/.chainer/dataset"))
    path = os.path.join(root, dataset_name)
    if create_directory:
        os.makedirs(path, exist_ok=True)
    return path


def cached_download(url: str) -> str:
    """Path of the cached copy of ``url``, downloaded if it is missing. Source: chainer.dataset.cached_download."""
    path = os.path.join(get_dataset_directory("_dl_cache"), hashlib.md5(url.encode()).hexdigest())
    if not os.path.exists(path):
        torch.hub.download_url_to_file(url, path)
    return path


def cache_or_load_file(path: str, creator: Callable[[str], Any], loader: Callable[[str], Any]) -> Any:
    """``loader(path)`` when the file is there; else ``creator`` writes it and returns the content.

    The file appears under its name only when it is complete. Source: chainer.dataset.cache_or_load_file.
    """
    if os.path.exists(path):
        return loader(path)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path) or ".") as directory:
        temporary = os.path.join(directory, os.path.basename(path))
        content = creator(temporary)
        os.replace(temporary, path)
    return content
