"""Functions of Python's library that programs of Chainer's time use, and that Python 3.12 has dropped."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType


def strtobool(val: str) -> int:
    """1 for a text that says yes, 0 for one that says no; ValueError for any other.

    Source: distutils.util.strtobool.
    """
    answers = {"y": 1, "yes": 1, "t": 1, "true": 1, "on": 1, "1": 1}
    answers |= {"n": 0, "no": 0, "f": 0, "false": 0, "off": 0, "0": 0}
    if val.lower() not in answers:
        raise ValueError(f"invalid truth value {val.lower()!r}")
    return answers[val.lower()]


def load_source(name: str, pathname: str) -> ModuleType:
    """Runs a file as the module of a name, which it replaces, and gives that. Source: imp.load_source."""
    spec = importlib.util.spec_from_file_location(name, pathname)
    if spec is None or spec.loader is None:
        raise ImportError(f"{pathname} is no file of Python")
    module = sys.modules.get(name) or importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
