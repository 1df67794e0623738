"""Which methods of a model are tried, and which parameters have to be given.

Written for Python 3.6.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import inspect
import re

# A first parameter of this name is given, whatever its default is: 64 images take long.
_BATCHES = re.compile(r"(n_?)?batch(_?size)?$|bs$")
# Given, too, as no weights: where they would be downloaded, or converted by another library.
_PRETRAINED = re.compile(r"pre_?train|^weights?(_?(file|path))?$|^init_?model$|^(model|weights?)_?(path|file)$")
_NO_MODEL = frozenset(
    "to_cpu to_gpu to_intel64 to_chx from_chx to_device copy copyparams addgrads serialize init_scope add_param "
    "add_link add_persistent register_persistent children links params namedparams namedlinks cleargrads zerograds "
    "reset_state reset load save set_state get_state enable_update disable_update initialize count_params repeat "
    "append to_chx from_chx delete_hook add_hook device_resident_accept visit_device_residents clear".split()
)
_NO_METHOD = ("_", "save", "load", "set_", "write", "print", "plot", "show", "reset", "init", "add_", "update", "to_")


def is_none(name):
    """Whether a method of this name is none to compare a model by."""
    return name.startswith(_NO_METHOD) or name in _NO_MODEL


def parameters(function):
    """The parameters that have to be given, in order, ``*`` for any number; and which of them may be left out."""
    try:
        found = list(inspect.signature(function).parameters.values())[1:]
    except (TypeError, ValueError):
        return [], set()
    needed, optional = [], set()
    for parameter in found:
        if parameter.kind == parameter.VAR_POSITIONAL:
            needed.append("*")
        elif parameter.kind == parameter.VAR_KEYWORD:
            continue
        elif parameter.default is parameter.empty or (not needed and _BATCHES.match(parameter.name)):
            needed.append(parameter.name)
        elif parameter.default is not None and _PRETRAINED.search(parameter.name):
            needed.append(parameter.name)
            optional.add(parameter.name)
    return needed, optional


def takes_any(function):
    """Whether a constructor takes parts of any name."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(parameter.kind == parameter.VAR_KEYWORD for parameter in found)


def is_chainers(function):
    """Whether a constructor is that of Chainer's own class."""
    return getattr(function, "__module__", "").partition(".")[0] == "chainer"


def without(function):
    """The parameters that are None by default, and those that are something else."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [], []
    some = [
        parameter.name
        for parameter in found
        if parameter.default is not None and parameter.default is not parameter.empty
    ]
    return [parameter.name for parameter in found if parameter.default is None], some


def names(parameters):
    """The names of the inputs, with several where a method takes any number."""
    if "*" not in parameters:
        return [parameters]
    before = [name for name in parameters if name != "*"]
    return [before + rest for rest in (["x"], ["x", "z"], ["x", "t"], ["x", "y", "t"], ["xs"], ["x", "h"])]


def spare(cls, name):
    """The parameters of a method that are None by default, in order, as long as those before them can be given."""
    method = getattr(cls, name, None) if name else _call(cls)
    try:
        found = list(inspect.signature(method).parameters.values())[1:]
    except (TypeError, ValueError):
        return []
    some = []
    for parameter in found:
        if parameter.kind != parameter.POSITIONAL_OR_KEYWORD:
            break
        if parameter.default is None:
            some.append(parameter.name)
        elif parameter.default is not parameter.empty:
            break
    return some


def _call(cls):
    call = inspect.getattr_static(cls, "__call__", None)
    if call is None or getattr(call, "__module__", "") == "chainer.link":
        call = getattr(cls, "forward", None)
    return call


def methods(cls, names, parameters_of):
    """The methods to try, each with the names of its inputs: a call of the model, else what takes arrays."""
    call = _call(cls)
    if call is not None:
        yield "", parameters_of(call)
    for name in names:
        method = getattr(cls, name, None)
        if is_none(name) or not inspect.isfunction(method):
            continue
        needed = parameters_of(method)
        if method is not call and needed or name.startswith(("sample", "generate", "make", "get")):
            yield name, needed
