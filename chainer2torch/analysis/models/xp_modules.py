"""Array modules: what ``xp = cuda.get_array_module(x)`` is, and what its functions return."""

from __future__ import annotations


from chainer2torch.analysis.kinds import UNKNOWN, Batch, Const, HostArray, Inst, Kind, Lst, Ref, Scalar, Tensor, options
from chainer2torch.analysis.lattice import join_all
from chainer2torch.analysis.models.array_kinds import on_device
from chainer2torch.analysis.models.numpy_functions import REDUCTIONS, numpy_call


XP = Inst("xp.Module")  # an array module on the device side: tensors in, tensors out
EITHER = Inst("xp.Either")  # NumPy or that, decided when the program runs
OF_UNKNOWN: dict[str, Kind] = {
    "xp": XP,  # that of one of Chainer's objects: see plan/receivers.py
    "shape": Lst(UNKNOWN, sized=True),
}
"""Attributes of a value that nobody knows: wherever the shape of a tensor goes, it is written as a tuple."""
_EITHERS_PARTS = {"random": Inst("xp.EitherRandom"), "linalg": Inst("xp.EitherLinearAlgebra")}
CUPY = frozenset({"cupy", "chainer.backends.cuda.cupy"})
MODULE_OF = frozenset({"chainer.backends.cuda.get_array_module", "chainer.backend.get_array_module"})
_MODULE_OF_OBJECT = frozenset({"chainer.Link.xp", "chainer.Variable.xp", "chainer.backend.Device.xp"})


def row_kind(name: str, args: list[Kind], keywords: dict[str, Kind], receiver: Kind | None) -> Kind | None:
    """The results of array modules and of what finds them; None: the row's ``returns`` says it."""
    if name in MODULE_OF:
        return module_of(args)
    if not name.startswith("xp.") or not isinstance(receiver, Inst):
        return None
    if receiver in _EITHERS_PARTS.values() or receiver == EITHER and not of_tensors(args):
        return UNKNOWN
    function = name.split(".", 2)[-1]
    if function == "asnumpy" and args:
        return join_all([HostArray(getattr(k, "rank", None), getattr(k, "dtype", None)) for k in options(args[0])])
    prefix = {"xp.Random": "random.", "xp.LinearAlgebra": "linalg."}.get(str(receiver.cls), "")
    made = on_device(numpy_call(prefix + function, args, keywords))
    if not prefix and function in REDUCTIONS and made == UNKNOWN:
        return Tensor(array=True)  # of whatever it is: what it gives lies on the device
    return UNKNOWN if isinstance(made, Scalar) else made  # a number of NumPy's, an array of its own on a device


def of_tensors(args: list[Kind]) -> bool:
    """Whether a function is given a tensor for sure: its result is one, whichever module is asked for it."""
    return any(all(isinstance(k, Tensor) for k in options(kind)) for kind in args)


def member_kind(name: str, receiver: Kind) -> Kind | None:
    """An attribute that leads to an array module, or a part of one; None: the row's ``returns`` says it."""
    if name in _MODULE_OF_OBJECT:
        return XP
    if name == "xp.Module.testing":  # NumPy's own, which take arrays of the host
        return Ref("numpy.testing")
    return _EITHERS_PARTS.get(name.removeprefix("xp.Module.")) if receiver == EITHER else None


def module_of(args: list[Kind]) -> Kind:
    """The array module of these values: NumPy if all are host arrays, not known if that is not known.

    So it is of a value that some callers give as a tensor and others as an array of the host.
    """
    found = [options(kind) for kind in args]
    if any(all(isinstance(k, (Tensor, Batch)) for k in kinds) for kinds in found):
        return XP
    on_host = all(isinstance(k, (HostArray, Const, Scalar)) for kinds in found for k in kinds)
    return Ref("numpy") if args and on_host else EITHER
