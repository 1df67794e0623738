"""What older Chainer versions lack and the comparison needs: one place where every link is called, a default dtype, and
the batch order of today's ``SerialIterator``.

Written for Python 3.6 and Chainer 1.24 and newer. Under Chainer 7 only :func:`around_calls` does anything.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import sys
import types

import chainer
import numpy


def subclasses(cls):
    """All classes below ``cls``, the nearest first."""
    for child in cls.__subclasses__():
        yield child
        yield from subclasses(child)


def around_calls(wrap):
    """Replaces how links are called: ``wrap(call)`` gives the new ``__call__(self, *args, **kwargs)``.

    Since Chainer 5 that is a method of ``Link``. Before, each class has its own, and so have the classes of programs
    from then; those defined later count, too. A call of ``super().__call__`` passes through ``wrap`` again. What was
    put around calls before stays inside of it.
    """
    before = vars(chainer.Link).get("__init_subclass__")
    for cls in set(subclasses(chainer.Link)) | {chainer.Link}:
        if "__call__" in vars(cls):
            cls.__call__ = wrap(vars(cls)["__call__"])

    def wrap_new(cls, **kwargs):
        if before is None:
            super(chainer.Link, cls).__init_subclass__(**kwargs)
        else:
            before.__func__(cls, **kwargs)
        if "__call__" in vars(cls):
            cls.__call__ = wrap(vars(cls)["__call__"])

    chainer.Link.__init_subclass__ = classmethod(wrap_new)


def allow_early_scopes():
    """``with self.init_scope(): super().__init__(...)`` is an error since Chainer 5; before, it registered nothing and
    did no harm.
    """
    if hasattr(chainer.Link, "_Link__check_init_done"):
        chainer.Link._Link__check_init_done = lambda link: None


def own_devices():
    """``self.device = ...`` is an attribute of the program's own before Chainer 6, which has one of that name."""
    device = getattr(chainer.Link, "device", None)
    if not isinstance(device, property) or device.fset is not None:
        return

    def get(link):
        is_own = "own device" in vars(link)
        if is_own and not sys._getframe(1).f_globals.get("__name__", "").startswith("chainer"):
            return vars(link)["own device"]
        return device.fget(link)

    def set_(link, value):
        vars(link)["own device"] = value

    chainer.Link.device = property(get, set_, doc=device.__doc__)


def no_downloads():
    """The vision models of Chainer without the weights that they would download: the comparison draws its own."""
    vision = getattr(chainer.links.model, "vision", None)
    for name in ("vgg", "resnet", "googlenet"):
        module = getattr(vision, name, None)
        if hasattr(module, "_retrieve"):
            module._retrieve = lambda *told: told[-1]  # ResNet tells its number of layers, too


def inputs_in_one_variable():
    """``F.concat(hy, axis=1)`` of a Variable means its items along the first axis before Chainer 6."""
    module = getattr(chainer, "function_node", None)
    extract = getattr(module, "_extract_apply_in_data", None)
    if extract is not None:
        module._extract_apply_in_data = lambda inputs: extract(
            tuple(inputs) if isinstance(inputs, chainer.Variable) else inputs
        )


# classes that are a case of a more general one today, with its first argument
_GENERAL = {"MaxPooling2D": ("MaxPoolingND", 2)}


def old_functions():
    """``F.ReLU()(x)``: the classes of functions, which Chainer 1 had among the functions, called as then. So are those
    of a program, which were called until version 2.
    """
    if hasattr(chainer.functions, "ReLU"):
        return

    def called(function, *inputs):
        return _alone(function.apply(inputs))

    chainer.FunctionNode.__call__ = called

    def find(name):
        general, *first = _GENERAL.get(name, (name,))
        if name[:1].isupper():
            for path, module in sys.modules.copy().items():
                cls = vars(module).get(general) if path.startswith("chainer.functions.") else None
                if isinstance(cls, type) and issubclass(cls, chainer.FunctionNode):
                    return _maker(cls, *first)
        raise AttributeError("module 'chainer.functions' has no attribute {!r}".format(name))

    chainer.functions.__getattr__ = find


# Windows of two dimensions by the names that they had before those of any number.
_OF_POOLING = {
    first + axis: (place, several)
    for first, several, axes in (("k", "ksize", "hw"), ("s", "stride", "yx"), ("p", "pad", "hw"))
    for place, axis in enumerate(axes)
}


def _maker(cls, *first):
    def make(*args, **kwargs):
        return _Called(lambda: cls(*first, *args, **kwargs))

    return make


class _Called(object):
    """An object of a class of functions, as Chainer 1 had it: a new one for each call, and it has what the last one
    has (``pool.indexes``), until that is set.
    """

    def __init__(self, make):
        self._make = make
        self._last = make()  # what it does not take is said here

    def __call__(self, *inputs):
        return _alone(self.apply(inputs))

    def __getattr__(self, name):
        last = vars(self)["_last"]
        if name in _OF_POOLING and not hasattr(last, name):
            place, several = _OF_POOLING[name]
            return getattr(last, several)[place]
        return getattr(last, name)

    def apply(self, inputs):
        """The outputs as a tuple."""
        for name in set(vars(self)) - {"_make", "_last"}:
            del vars(self)[name]
        self._last = self._make()
        return self._last.apply(inputs)


def _alone(outputs):
    return outputs[0] if len(outputs) == 1 else outputs


class Defaults(object):
    """The dtype of new parameters and persistent values, for Chainer 3 and 4, which always make float32."""

    def __init__(self):
        self.dtype = numpy.dtype(numpy.float32)
        self.needed = not hasattr(getattr(chainer, "config", None), "dtype")

    def install(self):
        """Patches how parameters get their arrays and how links register what they save."""
        if not self.needed or not hasattr(chainer.Link, "register_persistent"):  # version 1 makes float32 arrays
            return
        from chainer import initializers

        generate = initializers.generate_array
        defaults = self

        def generate_array(*args, **kwargs):
            return defaults.cast(generate(*args, **kwargs))

        initializers.generate_array = generate_array
        register = chainer.Link.register_persistent

        def register_persistent(link, name):
            link.__dict__[name] = defaults.cast(getattr(link, name))
            return register(link, name)

        chainer.Link.register_persistent = register_persistent

    def cast(self, value):
        """``value``; a float32 array of NumPy as one of the default dtype."""
        if isinstance(value, numpy.ndarray) and value.dtype == numpy.float32 and value.dtype != self.dtype:
            return value.astype(self.dtype)
        return value


def saved(link):
    """What is saved of a link, by its path. Version 1 refuses while a parameter has no shape: that one is left out."""
    if not hasattr(link, "_uninitialized_params"):
        serializer = chainer.serializers.DictionarySerializer()
        serializer.save(link)
        return serializer.target
    found = {}
    for path, part in link.namedlinks():
        base = path.strip("/") + "/" if path != "/" else ""
        found.update((base + name, getattr(part, name).data) for name in part._params)
        found.update((base + name, getattr(part, name)) for name in part._persistent)
    return found


def shuffle_as_today():
    """``SerialIterator`` before Chainer 5 shuffles the last epoch's order again; today it draws a new one.

    The migrated program has today's: with the same draws, both sides then see the same batches.
    """
    from chainer.iterators import serial_iterator

    if hasattr(chainer.iterators, "ShuffleOrderSampler"):
        return

    def shuffle(order):
        order[...] = numpy.random.permutation(len(order))

    random = types.ModuleType("numpy.random")
    random.__dict__.update(vars(numpy.random))
    random.shuffle = shuffle
    shim = types.ModuleType("numpy")
    shim.__dict__.update(vars(numpy))
    shim.random = random
    serial_iterator.numpy = shim
