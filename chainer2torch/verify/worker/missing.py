"""Stand-ins for packages that a project imports and that are not installed, so that models without need of them run.

What is taken from a stand-in raises as soon as it is called, subclassed and made, iterated or asked: nothing that is
computed can have come from one. Imports under ``try`` fail as before. Written for Python 3.6: both workers use it.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import importlib.abc
import importlib.machinery
import os
import re
import sys
import traceback
import types

# bars around what a script goes through: without them it is gone through as it is
_BARS = frozenset({"progressbar", "tqdm"})

# a function that fetches weights
_DOWNLOADS = re.compile(r"\.\w*download\w*$")

# what is compared itself
_NEVER = frozenset({"chainer", "chainermn", "chainerx", "chainer_compat", "numpy", "torch"})


def install(tree, own=None):
    """Lets the imports of a project's modules find stand-ins; see :func:`importing`.

    ``own(top, path)`` is asked for a name of the project's that an import did not find, with the file that imports it:
    whether there is a place to look for it now.
    """
    sys.meta_path.append(_Finder(os.path.abspath(tree), own))


def take(error, path=""):
    """Whether an import that failed in a file can be tried again."""
    return any(finder.take(error, path) for finder in _finders())


def not_run(name, why):
    """Stands for what a statement would have bound that was left out: every use raises."""
    return _NotRun(name, why)


def importing(make):
    """What ``make`` gives, which imports modules of a project: again with a stand-in for each package that it lacks."""
    while True:
        try:
            return make()
        except ImportError as error:
            if not take(error):
                raise


def leave_out(packages):
    """Lets imports of these packages find stand-ins that may be called: a script's pictures, bars and protocols.

    A call does nothing and gives another stand-in; numbers, items, conditions and the like still cannot come from one.
    """
    if packages:
        sys.meta_path.append(_QuietFinder(packages))


def lacked(error, tree):
    """The package for whose lack a file below ``tree`` could not be run; None if it was something else."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    top = error.name.partition(".")[0]
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    asked_by = [name for name in files if "importlib" not in name]
    if top in _NEVER or not asked_by or not asked_by[-1].startswith(tree) or _Finder(tree).is_own(top):
        return None
    return error.name


def names():
    """The packages that have stand-ins, in order."""
    return sorted(name for finder in _finders() for name in finder.names)


def _finders():
    return [finder for finder in sys.meta_path if isinstance(finder, _Finder)]


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a stand-in for every package in ``names``, and for what is below it."""

    def __init__(self, tree, own=None):
        self.tree = tree
        self.own = own
        self.names = set()

    def take(self, error, path=""):
        """Whether an import that failed can be tried again: with a stand-in for what it lacked."""
        name = getattr(error, "name", None) or ""
        top = name.partition(".")[0]
        if not top or top in _NEVER - {"chainer_compat"} or top in sys.builtin_module_names:
            return False
        if self.is_own(top) or top == "chainer_compat":
            return self.own is not None and top not in sys.modules and self.own(top, path)
        part = re.match(r"cannot import name '(\w+)' from '", str(error))
        module = sys.modules.get(name)
        if part and isinstance(module, types.ModuleType):
            full = name + "." + part.group(1)
            setattr(module, part.group(1), _Missing(full))
        elif isinstance(error, ModuleNotFoundError) and module is None:
            full = name
        else:
            return False
        if full in self.names:
            return False
        self.names.add(full)
        return True

    def is_own(self, top):
        """Whether the project has a module of this name: what is wrong then is its path."""
        for _, folders, files in os.walk(self.tree):
            if top in folders or top + ".py" in files:
                return True
            folders[:] = [name for name in folders if not name.startswith(".")]
        return False

    def find_spec(self, fullname, path=None, target=None):
        """A stand-in, for a name that an import lacked before."""
        if any(fullname == name or fullname.startswith(name + ".") for name in self.names):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec):
        """A module whose attributes are stand-ins."""
        return _MissingModule(spec.name)

    def exec_module(self, module):
        """There is nothing to run."""


class _MissingModule(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Missing(self.__name__ + "." + name)


class _Missing(object):
    """Something of a package that is not installed: every use raises, but for taking attributes of it."""

    def __init__(self, name, *_):
        self.__dict__["_name_"] = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Missing(self._name_ + "." + name)

    def __mro_entries__(self, bases):
        """As a base class it makes a class that can be defined, and no object of it."""
        return (type("Missing", (), {"__new__": self._raises}),)

    def _raises(self, *_, **__):
        package = self._name_.partition(".")[0]
        raise ModuleNotFoundError("No module named '{}': {} is needed here".format(package, self._name_), name=package)

    def __call__(self, *_, **__):
        """Nothing is downloaded, on both sides alike; what that would give raises when it is used."""
        return _Missing(self._name_ + "()") if _DOWNLOADS.search(self._name_) else self._raises()

    __iter__ = __len__ = __bool__ = __getitem__ = __setitem__ = __contains__ = __enter__ = _raises
    __setattr__ = __delattr__ = __instancecheck__ = __subclasscheck__ = __eq__ = __ne__ = __lt__ = __gt__ = _raises
    __int__ = __float__ = __index__ = __array__ = __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = _raises
    __rsub__ = __truediv__ = __rtruediv__ = __matmul__ = __rmatmul__ = __neg__ = __pow__ = __str__ = __repr__ = _raises
    __hash__ = object.__hash__


class _QuietFinder(_Finder):
    """Finds stand-ins that may be called."""

    def __init__(self, packages):
        _Finder.__init__(self, "")
        self.names = set(packages)

    def take(self, error, path=""):
        """Nothing more is left out while a script runs."""
        return False

    def create_module(self, spec):
        """A module whose attributes are stand-ins that may be called."""
        return _QuietModule(spec.name)


class _QuietModule(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Quiet(self.__name__ + "." + name)


class _Quiet(_Missing):
    """Something of a package that is left out: what is written to it goes nowhere, and no value comes from it."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Quiet(self._name_ + "." + name)

    def __call__(self, *args, **kwargs):
        # a decorator would take the place of a function that computes
        if len(args) == 1 and not kwargs and isinstance(args[0], (types.FunctionType, type)):
            self._raises()
        made = _Quiet(self._name_ + "()")
        if args and self._name_.partition(".")[0] in _BARS:
            made.__dict__["_inside_"] = args[0]
        return made

    def __iter__(self):
        return iter(self._inside_) if "_inside_" in self.__dict__ else self._raises()

    def __len__(self):
        return len(self._inside_) if "_inside_" in self.__dict__ else self._raises()

    def __setattr__(self, name, value):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False


class NotRun(RuntimeError):
    """Something is needed that a module would have made if it had been run."""


class _NotRun(_Missing):
    """What a statement would have bound that was left out when its module was imported."""

    def __init__(self, name, why, *_):
        self.__dict__["_name_"] = name
        self.__dict__["_why_"] = why

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _NotRun(self._name_ + "." + name, self._why_)

    def _raises(self, *_, **__):
        raise NotRun("{} is needed here, and was not made: {}".format(self._name_, self._why_))

    __call__ = __iter__ = __len__ = __bool__ = __getitem__ = __setitem__ = __contains__ = __enter__ = _raises
    __setattr__ = __delattr__ = __instancecheck__ = __subclasscheck__ = __eq__ = __ne__ = __lt__ = __gt__ = _raises
    __int__ = __float__ = __index__ = __array__ = __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = _raises
    __rsub__ = __truediv__ = __rtruediv__ = __matmul__ = __rmatmul__ = __neg__ = __pow__ = __str__ = __repr__ = _raises
    __hash__ = object.__hash__
