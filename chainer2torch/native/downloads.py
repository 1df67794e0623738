"""Files that a program downloads once, and where they lie."""

from __future__ import annotations

import hashlib
import os

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
