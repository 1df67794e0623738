"""A Chainer model that torch trains: what ``chainer2torch migrate --only`` puts between them.

The graph stays on the side of the model. The optimizer on the other side sees parameters that share the memory of the
model's, and whose gradients are the model's gradients. The rooms ``half_way_*`` need Chainer, when their helpers are
called. On a GPU CuPy's arrays and torch's tensors share memory by DLPack, which was not executed.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn as nn
from pytorch_pfn_extras import reporting

from chainer2torch.compat.links.link_slots import Slot
from chainer2torch.compat.variable.modes import is_training
from chainer2torch.compat.half_way.seams import _seam_array, _seam_tensor


def asarray(value: Any) -> Any:
    """Tensors as arrays for Chainer, on the same memory; in tuples, lists and dicts too. Everything else stays.

    Raises RuntimeError for a tensor that requires a gradient: it would be cut off (use ``link_as_module`` there).
    Source: chainer_pytorch_migration.asarray.
    """
    if isinstance(value, torch.Tensor):
        if value.requires_grad:
            raise RuntimeError("this tensor requires a gradient, which an array for Chainer does not hand on")
        return _seam_array(value)
    return _each(asarray, value)


def astensor(value: Any) -> Any:
    """Arrays as tensors, on the same memory; in tuples, lists and dicts too. Everything else stays.

    Arrays that PyTorch cannot hold as they are (strings, negative strides) stay or are copied.
    Source: chainer_pytorch_migration.astensor.
    """
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biufc":
            return value
        return _seam_tensor(value if value.flags.writeable and min(value.strides, default=0) >= 0 else value.copy())
    if type(value).__module__.startswith("cupy"):
        return _seam_tensor(value)
    return _each(astensor, value)


def _each(function: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(function, value))
    if isinstance(value, (tuple, list)):
        return type(value)(map(function, value))
    if isinstance(value, dict):
        return {key: function(item) for key, item in value.items()}
    return value


class _OfLink:
    """What a torch parameter has that stands for a Chainer parameter: its gradient and its update rule are there."""

    link_parameter: Any

    @property
    def update_rule(self) -> Any:
        """The optimizer's rule for it, which the link's methods find, too (``disable_update``)."""
        return self.link_parameter.update_rule

    @update_rule.setter
    def update_rule(self, rule: Any) -> None:
        self.link_parameter.update_rule = rule


class ChainerParameter(_OfLink, nn.Parameter):
    """A Chainer parameter as a torch parameter: the same memory, and ``grad`` is the gradient that Chainer computed.

    The graph is built and traversed in Chainer. Source: chainer_pytorch_migration.ChainerParameter.
    """

    def __new__(cls, link_parameter: Any) -> Any:
        array = link_parameter.array
        if array is None:
            self: Any = _LazyChainerParameter()
        else:
            self = nn.Parameter.__new__(cls, _seam_tensor(array))
            self.linked = array
        self.link_parameter = link_parameter
        return self

    def __init__(self, link_parameter: Any) -> None:
        pass

    linked: Any  # the array whose memory this is

    @property
    def grad(self) -> Any:
        """The gradient, on the memory of Chainer's; None when it was cleared."""
        self._follow()
        grad = self.link_parameter.grad
        return None if grad is None else _seam_tensor(grad)

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is None:
            self.link_parameter.cleargrad()
        else:
            self.link_parameter.grad = _seam_array(value)

    def _follow(self) -> None:
        """Takes the memory of an array that the link has got since (``to_gpu``, ``param.array = ...``)."""
        array = self.link_parameter.array
        if array is not self.linked:
            self.data = _seam_tensor(array)
            self.linked = array


class _LazyChainerParameter(_OfLink, nn.parameter.UninitializedParameter):
    """The torch side of a parameter that has no shape yet; it becomes a :class:`ChainerParameter` when it has one."""

    def begin(self) -> None:
        self.data = _seam_tensor(self.link_parameter.array)
        self.linked = self.link_parameter.array
        self.__class__ = ChainerParameter  # type: ignore[assignment] # as materialize() of torch's own does


def _watched(param: Any, lazy: _LazyChainerParameter) -> None:
    """Lets a Chainer parameter tell its torch side when it gets its shape."""
    import chainer

    class Watched(chainer.Parameter):
        """A parameter without a shape, which an optimizer of torch waits for."""

        def initialize(self, shape: Any) -> None:
            """Gets the shape: from here on it is a plain parameter."""
            self.cleargrad()  # type: ignore[no-untyped-call]  # Chainer has no types
            super().initialize(shape)  # type: ignore[no-untyped-call]
            self.__class__ = chainer.Parameter  # type: ignore[assignment]
            lazy.begin()

    if type(param) is chainer.Parameter:
        param.__class__ = Watched
    elif isinstance(param, chainer.Parameter):
        raise TypeError(f"a {type(param).__name__} has no shape yet: call the link once in Chainer before this")


class LinkAsTorchModel(nn.Module):
    """A Chainer link for torch's optimizers and for the training: its parameters, under Chainer's names.

    Calling it calls the link, with arrays in place of tensors, and gives what the link gives (a Variable): the graph is
    Chainer's, and so is ``loss.backward()``. ``train()``, ``eval()`` and ``torch.no_grad()`` count in the link. Other
    attributes are those of the link.
    Source: chainer_pytorch_migration.LinkAsTorchModel.
    """

    def __init__(self, link: Any) -> None:
        super().__init__()
        self.__dict__["link"] = link
        known: dict[int, Any] = {}
        for path, param in sorted(link.namedparams()):
            if id(param) not in known:  # a shared parameter is one here, too
                known[id(param)] = ChainerParameter(param)
                if param.array is None:
                    _watched(param, known[id(param)])
                known[id(param)]._chainer_names = {id(link): path.rsplit("/", 1)[-1]}
            self.register_parameter(path.lstrip("/"), known[id(param)])

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.__dict__["link"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "training" or name.startswith("_"):
            super().__setattr__(name, value)
        else:
            setattr(self.link, name, value)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the link."""
        import chainer

        train = self.training and is_training() and chainer.config.train
        backprop = torch.is_grad_enabled() and chainer.config.enable_backprop
        with chainer.using_config("train", train), chainer.using_config("enable_backprop", backprop):
            return self.link(*asarray(args), **asarray(kwargs))

    def to(self, device: Any) -> LinkAsTorchModel:  # type: ignore[override]
        """Moves the link."""
        self.link.to_device(chainer_device(torch.device(device)))
        return self

    def _observers(self) -> Iterator[tuple[str, Any]]:
        """Who reports: the link and its parts, and this."""
        yield "", self
        yield from ((path.lstrip("/"), link) for path, link in self.link.namedlinks())

    def _chainer_slots(self) -> Iterator[Slot]:
        """The arrays of the link under Chainer's keys."""
        recorder = _Recorder()
        self.link.serialize(recorder)
        for key, value in recorder.entries.items():
            param = self._parameters.get(key)
            if param is not None:
                yield _slot_of_parameter(key, param)
            else:
                yield Slot(
                    key,
                    None,
                    None,
                    functools.partial(_persistent, self.link, key),
                    functools.partial(_set_persistent, self.link, key, value),
                )


def chainer_device(device: torch.device) -> str:
    """What Chainer calls a device of torch."""
    return "@numpy" if device.type == "cpu" else f"@cupy:{device.index or 0}"


class _Recorder:
    """A serializer for Chainer that notes keys and values."""

    def __init__(self, entries: dict[str, Any] | None = None, path: str = "") -> None:
        self.entries: dict[str, Any] = {} if entries is None else entries
        self.path = path

    def __getitem__(self, name: str) -> _Recorder:
        return _Recorder(self.entries, self.path + name.strip("/") + "/")

    def __call__(self, key: str, value: Any) -> Any:
        self.entries[self.path + key.lstrip("/")] = value
        return value


def _slot_of_parameter(key: str, param: Any) -> Slot:
    def read() -> Any:
        return None if isinstance(param, _LazyChainerParameter) else param.detach().cpu().numpy()

    def write(array: np.ndarray) -> None:
        if isinstance(param, _LazyChainerParameter):
            param.link_parameter.initialize(array.shape)
        with torch.no_grad():
            param.data.copy_(torch.from_numpy(np.array(array)))

    first = read()
    return Slot(key, None if first is None else first.shape, None if first is None else first.dtype, read, write)


def _persistent(link: Any, key: str) -> Any:
    recorder = _Recorder()
    link.serialize(recorder)
    return np.array(asarray(recorder.entries[key]))


def _set_persistent(link: Any, key: str, value: Any, array: np.ndarray) -> None:
    """Writes a persistent value: into the array, or, for a number, as an attribute of its link."""
    if isinstance(value, np.ndarray):
        np.copyto(value, array)
        return
    *path, name = key.split("/")
    for part in path:
        link = link[int(part)] if part.isdigit() else getattr(link, part)
    setattr(link, name, type(value)(array.item()) if value is not None and array.ndim == 0 else array)


@contextlib.contextmanager
def reports_of_links() -> Iterator[None]:
    """While it runs, what links report (``chainer.report``) goes to the reporter of pytorch-pfn-extras."""
    import chainer

    class Forwarding(chainer.reporter.Reporter):
        """Hands reports on."""

        def report(self, values: Any, observer: Any = None) -> None:
            """Hands on the values, as tensors where they are Variables or arrays."""
            reporting.report(
                {
                    key: astensor(value.array if isinstance(value, chainer.Variable) else value)
                    for key, value in values.items()
                },
                observer,
            )

    with Forwarding():  # type: ignore[no-untyped-call]  # Chainer has no types
        yield


def as_torch_model(model: Any) -> Any:
    """A Chainer link as a :class:`LinkAsTorchModel`, the same one each time.

    A dict of models gives a dict. Anything else is itself: who takes a model says what is wrong with it.
    """
    import chainer

    if isinstance(model, Mapping):
        return {name: as_torch_model(one) for name, one in model.items()}
    if not isinstance(model, chainer.Link):
        return model
    known = model.__dict__.get("_as_torch_model")
    if known is None or known.link is not model:
        known = LinkAsTorchModel(model)
        model.__dict__["_as_torch_model"] = known
    return known
