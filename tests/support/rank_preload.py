"""Imported once by the server that starts rank processes: what all of them need."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402

torch.set_num_threads(1)

import chainer2torch.compat  # noqa: E402, F401
import chainer2torch.compat.training.trainer  # noqa: E402, F401
