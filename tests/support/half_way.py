"""Runs a training script of several folders, one after the other in this process, and writes down what it learned.

usage: half_way.py OUT.json WEIGHTS.npz MODULE:CLASS FOLDER... -- SCRIPT [ARGS...]

Every run starts from the same random seed, and the class from the same weights. The losses are those on which
``backward()`` is called, by whichever framework.
"""

import contextlib
import importlib
import io
import json
import os
import runpy
import sys
import traceback

from chainer2torch.verify.worker import chainer_patches

chainer = chainer_patches.import_chainer() or sys.modules["chainer"]

import numpy as np  # noqa: E402
import torch  # noqa: E402

from chainer2torch.compat.serializers.serializers import load_npz  # noqa: E402


def recorded(losses):
    """Both frameworks' ``backward`` note the value of the loss."""
    for cls in (chainer.Variable, torch.Tensor):

        def backward(self, *args, _plain=cls.backward, **kwargs):
            losses.append(float(self.array) if isinstance(self, chainer.Variable) else self.item())
            return _plain(self, *args, **kwargs)

        cls.backward = backward


def start_with(cls, weights):
    """Lets the objects of a class begin with the weights of a file."""
    plain = cls.__init__

    def __init__(self, *args, **kwargs):
        plain(self, *args, **kwargs)
        if isinstance(self, chainer.Link):
            chainer.serializers.load_npz(weights, self)
        else:
            load_npz(weights, self)
        np.random.seed(11)  # Chainer's initial values come from it, torch's do not

    cls.__init__ = __init__


def run(folder, weights, target, script, args):
    """One run: its losses, what it printed, and the frameworks that its modules use."""
    losses = []
    plain = chainer.Variable.backward, torch.Tensor.backward
    recorded(losses)
    before = set(sys.modules)
    printed, here, argv = io.StringIO(), os.getcwd(), sys.argv
    sys.path.insert(0, folder)
    os.chdir(folder)
    sys.argv = [script, *args]
    try:
        module, name = target.split(":")
        start_with(getattr(importlib.import_module(module), name), weights)
        np.random.seed(7)
        torch.manual_seed(7)
        with contextlib.redirect_stdout(printed):
            runpy.run_path(script, run_name="__main__")
    finally:
        chainer.Variable.backward, torch.Tensor.backward = plain
        os.chdir(here)
        sys.argv = argv
        sys.path.remove(folder)
        for own in set(sys.modules) - before:
            if (getattr(sys.modules[own], "__file__", None) or "").startswith(folder):
                del sys.modules[own]
    return {"losses": losses, "printed": printed.getvalue()}


def main():
    split = sys.argv.index("--")
    out, weights, target, *folders = sys.argv[1:split]
    script, *args = sys.argv[split + 1 :]
    found = {}
    for folder in folders:
        try:
            found[folder] = run(folder, weights, target, script, args)
        except Exception:
            found[folder] = {"losses": [], "printed": "", "error": traceback.format_exc()}
    with open(out, "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
