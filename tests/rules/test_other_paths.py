"""Every path by which Chainer's own modules define a public name leads to the rule of that name."""

import importlib
import inspect
import pkgutil
import sys

import pytest

from chainer2torch.rules.table import load_rules


@pytest.mark.filterwarnings("ignore")
def test_a_name_is_found_where_it_is_defined() -> None:
    chainer = importlib.import_module("chainer")
    for found in pkgutil.walk_packages(chainer.__path__, "chainer.", onerror=lambda name: None):
        if "caffe" in found.name or ".testing" in found.name and "pytest" in found.name:
            continue
        try:
            importlib.import_module(found.name)
        except Exception:  # what needs a package that is not there
            continue
    rules = load_rules()
    modules = [m for name, m in sorted(sys.modules.items()) if name.split(".")[0] == "chainer" and m is not None]
    public = {
        id(value): f"{module.__name__}.{name}"
        for module in modules
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value) and f"{module.__name__}.{name}" in rules.rows
    }
    lost = {
        f"{module.__name__}.{name}": public[id(value)]
        for module in modules
        for name, value in vars(module).items()
        if id(value) in public
        and not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
        and rules.canonical(f"{module.__name__}.{name}") not in rules.rows
    }
    assert not lost
    assert rules.canonical("chainer.link_hook.LinkHook") == "chainer.LinkHook"
