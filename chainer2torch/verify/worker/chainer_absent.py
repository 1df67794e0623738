"""Files of weights that are not there: a comparison draws all weights itself, so a model is made without them.

A constructor that loads what somebody has trained (``load_npz('vgg.npz', self)``) cannot run where that file is not;
nothing that is compared comes from it. Only links are loaded so: what else is not there raises as ever. Written for
Python 3.6.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import os

import chainer


def weights():
    """Loads links from the files that are there alone, and downloads nothing for them."""
    serializers = chainer.serializers
    for name in ("load_npz", "load_hdf5"):
        load = getattr(serializers, name, None)
        if load is None:
            continue
        for module in (serializers, serializers.npz if name == "load_npz" else serializers.hdf5):
            setattr(module, name, _of_what_is_there(load))
    download = chainer.dataset.download
    cached = getattr(download, "cache_or_load_file", None)
    if cached is not None:

        def cache_or_load_file(path, creator, loader):
            return cached(path, creator, loader) if os.path.exists(path) else None

        download.cache_or_load_file = chainer.dataset.cache_or_load_file = cache_or_load_file


def _of_what_is_there(load):
    def loaded(file, obj, *args, **kwargs):
        if isinstance(obj, chainer.Link) and isinstance(file, str) and not os.path.exists(file):
            return None
        return load(file, obj, *args, **kwargs)

    return loaded
