"""ChainerCV's downloads and archives, in Chainer's own cache."""

from __future__ import annotations

import os
import shutil

from chainer2torch.compat.dataset.dataset_cache import cached_download, get_dataset_directory


def download_model(url: str) -> str:
    """Path of a file of weights, downloaded when it is not there yet. Source: chainercv.utils.download_model."""
    path = os.path.join(get_dataset_directory("pfnet/chainercv/models"), os.path.basename(url))
    if not os.path.exists(path):
        os.replace(cached_download(url), path)
    return path


def extractall(file_path: str, destination: str, ext: str) -> None:
    """Unpacks an archive into a folder; ``ext`` says its kind: .zip, .tar, .gz or .tgz.

    Source: chainercv.utils.extractall.
    """
    kinds = {".zip": "zip", ".tar": "tar", ".gz": "gztar", ".tgz": "gztar"}
    if ext in kinds:
        shutil.unpack_archive(file_path, destination, kinds[ext])
