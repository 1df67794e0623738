"""Names of Chainer 1 that Chainer 7 no longer has: ``FunctionSet``, methods of optimizers, paths of modules.

Written for Python 3.6; under a Chainer that has a name nothing happens to it.
Source: function_set.py and optimizer.py of Chainer 1.24.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import sys
import types

import chainer
import chainer.functions
import chainer.links
import numpy

# folders to which modules have moved since, under their own names
_MOVED = ((".connection.", ".rnn."), (".activation.", ".rnn."))
# where the public names of modules that are gone can be had now
_NOW = {"chainer.functions.": chainer.functions, "chainer.links.": chainer.links, "chainer.function_set": chainer}


def install():
    """Gives Chainer the names. Calling it twice is harmless."""
    if not hasattr(chainer, "FunctionSet"):
        chainer.FunctionSet = FunctionSet
        chainer.Link.__setattr__ = _holding_arrays(chainer.Link.__setattr__)
    for method in (zero_grads, compute_grads_norm, clip_grads, weight_decay, accumulate_grads):
        if not hasattr(chainer.GradientMethod, method.__name__):
            setattr(chainer.GradientMethod, method.__name__, method)
    if not any(isinstance(finder, _OldModules) for finder in sys.meta_path):
        sys.meta_path.append(_OldModules())


class FunctionSet(chainer.Chain):
    """A chain that takes its links by keyword or as attributes, at any time."""

    made = False  # whether the program makes some: then parameters are arrays, as up to version 1.4

    def __init__(self, **links):
        FunctionSet.made = True
        super(FunctionSet, self).__init__()
        for name in sorted(links):
            setattr(self, name, links[name])

    def __setattr__(self, name, value):
        if isinstance(value, chainer.Link) and "_children" in self.__dict__:
            if name in self._children:  # it takes the place of another one
                delattr(self, name)
            with self.init_scope():
                super(FunctionSet, self).__setattr__(name, value)
        else:
            super(FunctionSet, self).__setattr__(name, value)

    def collect_parameters(self):
        """What an optimizer is set up with: the set itself."""
        return self

    @property
    def parameters(self):
        """The arrays of the parameters, in the order of their names."""
        return tuple(param.data for _, param in sorted(self.namedparams()))

    @parameters.setter
    def parameters(self, arrays):
        for (_, param), array in zip(sorted(self.namedparams()), arrays):
            param.data = array

    @property
    def gradients(self):
        """The arrays of their gradients, in the same order."""
        return tuple(param.grad for _, param in sorted(self.namedparams()))

    def copy_parameters_from(self, arrays):
        """Copies arrays into the parameters."""
        for own, array in zip(self.parameters, arrays):
            own[...] = array


def _holding_arrays(setattr_):
    """``link.W = array`` in a program with a ``FunctionSet``: the parameter gets these values."""

    def holding(self, name, value):
        if FunctionSet.made and isinstance(value, numpy.ndarray) and name in self.__dict__.get("_params", ()):
            self.__dict__[name].data = value
        else:
            setattr_(self, name, value)

    return holding


def zero_grads(self):
    """Sets the gradients to zero."""
    for param in self.target.params():
        param.zerograd()


def compute_grads_norm(self):
    """The norm of all gradients together."""
    return numpy.sqrt(sum(float((param.grad**2).sum()) for param in self.target.params()))


def clip_grads(self, maxnorm):
    """Scales the gradients so that their norm is at most ``maxnorm``."""
    norm = self.compute_grads_norm()
    if norm > maxnorm:
        for param in self.target.params():
            param.grad *= maxnorm / norm


def weight_decay(self, decay):
    """Adds each parameter, times ``decay``, to its gradient."""
    for param in self.target.params():
        param.grad += decay * param.data


def accumulate_grads(self, grads):
    """Adds arrays to the gradients, in the order of the parameters' names."""
    for (_, param), grad in zip(sorted(self.target.namedparams()), grads):
        param.grad += grad


class _OldModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules that Chainer has moved by the names that are public."""

    def find_spec(self, fullname, path=None, target=None):
        """A module of a name that no other finder knows."""
        if any(fullname.startswith(start) for start in _NOW):
            return importlib.machinery.ModuleSpec(fullname, self)
        return None

    def create_module(self, spec):
        """A module that looks its names up."""
        return _OldModule(spec.name)

    def exec_module(self, module):
        """There is nothing to run."""


class _OldModule(types.ModuleType):
    def __getattr__(self, name):
        if not name.startswith("__"):
            places = [public for start, public in _NOW.items() if self.__name__.startswith(start)]
            for place in places + list(_moved(self.__name__)):
                if hasattr(place, name):
                    return getattr(place, name)
        raise AttributeError("module '{}' has no attribute '{}'".format(self.__name__, name))


def _moved(name):
    """The modules that have taken the place of one, for what was private there."""
    for old, new in _MOVED:
        if old in name:
            with contextlib.suppress(ImportError):
                yield importlib.import_module(name.replace(old, new))
