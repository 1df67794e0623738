"""Random numbers under Chainer, for a run in lockstep: what only Chainer draws comes from private streams.

Written for Python 3.6 and Chainer 1.24 and newer.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import importlib

import chainer
import numpy

from . import chainer_legacy, lockstep

# Modules of Chainer whose functions draw in their forward pass.
_ROOMS = ("noise.dropout", "noise.gaussian", "noise.zoneout", "noise.simplified_dropconnect", "activation.rrelu")
# Modules of version 1 whose links draw their first weights themselves, when they are made.
_DRAWING_LINKS = (
    "loss.hierarchical_softmax",
    "connection.n_step_rnn",
    "connection.n_step_lstm",
    "connection.n_step_gru",
)
# Distributions whose samples are the same function of the same draws in what they become under PyTorch.
# Independent draws nothing itself.
SHARED_SAMPLES = (
    "Normal",
    "LogNormal",
    "MultivariateNormal",
    "Uniform",
    "Exponential",
    "Cauchy",
    "Pareto",
    "Gumbel",
    "Independent",
)


def private_streams(seed, unshared=None, repeated=None):
    """Initial weights and functions' noise no longer advance NumPy's global generator; gives the noise's stream.

    The names of distributions whose samples PyTorch draws in another way are added to the set ``unshared`` when they
    are drawn, those of functions that would have repeated their first draws to the set ``repeated``.
    """
    init = lockstep.Stream(seed + 1)
    noise = lockstep.Stream(seed + 2)
    for cls in chainer_legacy.subclasses(chainer.initializer.Initializer):
        # constants draw nothing, and most parameters that are made have one
        if "__call__" in vars(cls) and cls.__module__ != "chainer.initializers.constant":
            cls.__call__ = init.wrap(vars(cls)["__call__"])
    for room in _DRAWING_LINKS:
        _wrap_methods(_module("chainer.links." + room), init, ("__init__",))
    for room in _ROOMS:
        _wrap_methods(_module("chainer.functions." + room), noise, ("forward", "forward_cpu", "forward_gpu"))
    _nothing_dropped()
    if hasattr(chainer, "static_graph"):
        _dropped_anew(set() if repeated is None else repeated)
    gumbel = _module("chainer.functions.noise.gumbel_softmax")
    if gumbel is not None:
        gumbel.gumbel_softmax = chainer.functions.gumbel_softmax = noise.wrap(gumbel.gumbel_softmax)
    _wrap_samples(noise, set() if unshared is None else unshared)
    _wrap_gradient_noise(noise)
    _stable_order()
    return noise


def last_bits(array, rng):
    """Changes an array in the last bits of its values, up or down."""
    array *= (1 + numpy.finfo(array.dtype).eps * rng.choice([-1, 1], array.shape)).astype(array.dtype)


def nudge_weights(seed):
    """Initial weights change in their last bit, up or down: what follows shows how far rounding alone can lead.

    So do the results of convolutions and matrix products: where two are equal, a maximum takes the first, and
    another library that rounds by position may take the second.
    """
    rng = numpy.random.RandomState(seed + 3)

    def nudge(array):
        last_bits(array, rng)

    def nudged(call):
        def with_another_bit(self, array):
            result = call(self, array)
            if array.dtype.kind == "f":
                nudge(array)
            return result

        return with_another_bit

    def nudged_product(forward):
        def with_another_bit(self, inputs):
            outputs = forward(self, inputs)
            for array in outputs:
                if isinstance(array, numpy.ndarray) and array.dtype.kind == "f" and array.flags.writeable:
                    nudge(array)
            return outputs

        return with_another_bit

    for cls in chainer_legacy.subclasses(chainer.initializer.Initializer):
        if "__call__" in vars(cls):
            cls.__call__ = nudged(vars(cls)["__call__"])
    for cls in chainer_legacy.subclasses(getattr(chainer, "FunctionNode", object)):
        if cls.__module__.startswith("chainer.functions.connection.") and "Grad" not in cls.__name__:
            for name in ("forward", "forward_cpu"):
                if name in vars(cls):
                    setattr(cls, name, nudged_product(vars(cls)[name]))


def _module(name):
    try:
        return importlib.import_module(name)
    except ImportError:  # an older Chainer
        return None


def _wrap_methods(module, stream, names):
    for cls in list(vars(module).values()) if module is not None else ():
        if not isinstance(cls, type) or cls.__module__ != module.__name__:
            continue
        for method in names:
            if method in vars(cls):
                setattr(cls, method, stream.wrap(vars(cls)[method]))


def _nothing_dropped():
    """A dropout ratio of 0 draws nothing: what is emitted for it may have no dropout at all."""
    from chainer.functions.noise import dropout

    cls = dropout.Dropout
    for method in ("forward", "forward_cpu", "forward_gpu"):
        if method in vars(cls):
            setattr(cls, method, _unless_zero(vars(cls)[method]))


def _unless_zero(forward):
    def drawn(self, inputs):
        if self.dropout_ratio == 0 and getattr(self, "mask", None) is None:
            x = inputs[0]
            self.mask = chainer.cuda.get_array_module(x).ones_like(x)
        return forward(self, inputs)

    return drawn


def _dropped_anew(repeated):
    """A static graph runs the function objects of its first call again, whose masks are there already.

    The first time with the masks of the call that recorded them: both belong to one call of the program. PyTorch draws
    a mask in every call, so later the object draws one, too: into the same array, which its gradient reads.
    """
    from chainer.functions.noise import dropout

    forward = dropout.Dropout.forward

    def drawn(self, inputs):
        given = not hasattr(self, "_c2t_runs") and self.mask is not None
        self._c2t_runs = -1 if given else getattr(self, "_c2t_runs", 0)
        self._c2t_runs += self._c2t_runs >= 0
        if self._c2t_runs > 2 and self.mask is not None and self.dropout_ratio > 0:
            repeated.add("dropout")
            again = dropout.Dropout(self.dropout_ratio)
            forward(again, inputs)
            self.mask[...] = again.mask
        return forward(self, inputs)

    dropout.Dropout.forward = drawn


def _wrap_samples(noise, unshared):
    package = _module("chainer.distributions")
    base = getattr(chainer, "Distribution", None)
    if package is None or base is None:
        return
    for cls in set(chainer_legacy.subclasses(base)):
        if "sample_n" in vars(cls) and cls.__module__.startswith("chainer."):
            cls.sample_n = _noted(noise.wrap(vars(cls)["sample_n"]), cls.__name__, unshared)


def _wrap_gradient_noise(noise):
    """The default noise of the optimizer hook; a function of the user's own draws on both sides itself."""
    module = _module("chainer.optimizer_hooks.gradient_noise")
    if module is None:
        return
    cls, default = module.GradientNoise, module.exponential_decay_noise
    init = cls.__init__

    def with_shared_noise(self, *args, **kwargs):
        init(self, *args, **kwargs)
        if self.noise_func is default:
            self.noise_func = noise.wrap(default)

    cls.__init__ = with_shared_noise


def _noted(sample_n, name, unshared):
    def drawn(self, n):
        if name not in SHARED_SAMPLES:
            unshared.add(name)
        return sample_n(self, n)

    return drawn


def _stable_order():
    """Sequences of one length keep their order, as in PyTorch: masks inside a stack follow the sorted batch."""

    def argsort_list_descent(lst):
        return numpy.argsort([-len(x) for x in lst], kind="mergesort").astype(numpy.int32)

    for name in ("n_step_rnn", "n_step_lstm", "n_step_gru"):
        module = _module("chainer.links.rnn." + name) or _module("chainer.links.connection." + name)
        if hasattr(module, "argsort_list_descent"):
            module.argsort_list_descent = argsort_list_descent


def seed_examples(seed):
    """What reading an example draws in a process or thread of an iterator depends on the seed and the example only."""
    _seed_threads(seed)
    module = _module("chainer.iterators.multiprocess_iterator")
    cls = getattr(module, "_PrefetchLoop", None)
    if cls is None:
        return
    init = cls.__init__

    def seeded_init(self, dataset, *args, **kwargs):
        init(self, lockstep.SeededExamples(dataset, seed), *args, **kwargs)

    cls.__init__ = seeded_init
    sampler = getattr(chainer.iterators, "ShuffleOrderSampler", None)
    if sampler is not None:
        sampler.__call__ = lockstep.holding_generator(sampler.__call__)


def _seed_threads(seed):
    """MultithreadIterator: a DataLoader reads in processes instead. The threads are done before the program goes on."""
    cls = getattr(chainer.iterators, "MultithreadIterator", None)
    if cls is None:
        return
    invoke = cls._invoke_prefetch

    def read(args):
        dataset, index = args
        return lockstep.SeededExamples(dataset, seed)[index]

    def invoked(self):
        invoke(self)
        if self._next is not None:
            self._next.wait()

    cls._read = staticmethod(read)
    cls._invoke_prefetch = invoked
