"""Imported once by the server that starts rank processes: what they need, and the modules of tests that they run."""

import contextlib
import importlib
import os
import pkgutil

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402

torch.set_num_threads(1)

import pytest  # noqa: E402, F401

import chainer2torch.compat  # noqa: E402
import chainer2torch.engine  # noqa: E402, F401
import chainer2torch.native  # noqa: E402

for room in (chainer2torch.compat, chainer2torch.native):
    for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
        with contextlib.suppress(ImportError):  # of a package that is not here
            importlib.import_module(module.name)
