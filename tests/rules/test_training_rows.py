"""The rows of training code: every public name has one, and their signatures are Chainer's."""

import importlib
import inspect
import pkgutil
import re

import chainer
import chainer.training.extensions
import chainer.training.triggers
import pytest

import chainer2torch.compat
from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules

RULES = load_rules()
MODULES = {
    "chainer.optimizers": chainer.optimizers,
    "chainer.optimizer_hooks": chainer.optimizer_hooks,
    "chainer.datasets": chainer.datasets,
    "chainer.dataset": chainer.dataset,
    "chainer.iterators": chainer.iterators,
    "chainer.training": chainer.training,
    "chainer.training.updaters": chainer.training.updaters,
    "chainer.training.triggers": chainer.training.triggers,
    "chainer.training.extensions": chainer.training.extensions,
    "chainer.backends.cuda": chainer.backends.cuda,
    "chainer.backend": chainer.backend,
}
TABLES = {
    name + ".toml"
    for name in (
        "optimizers",
        "optimizer",
        "optimizer_hooks",
        "datasets",
        "dataset",
        "iterators",
        "training",
        "updaters",
        "triggers",
        "extensions",
        "snapshot_writers",
        "reporter",
        "devices",
        "backend",
        "cuda",
        "config",
    )
}
# what is public by accident: names that the modules import
_OTHERS = re.compile(r"^(_|absolute_import|print_function|division)")


def public(name):
    module = MODULES[name]
    package = name.rsplit(".", 1)[0] if name.count(".") > 1 else name
    for key, value in vars(module).items():
        if (
            not _OTHERS.match(key)
            and not inspect.ismodule(value)
            and callable(value)
            and getattr(value, "__module__", "").startswith((package, name))
        ):
            yield key


NAMES = [(module, key) for module in MODULES for key in public(module)]


# what Chainer's signature does not show: the function behind a converter object; the argument that has a default only
# in the emitted code
_SIGNATURES = {"concat_examples": ["batch", "device", "padding"]}
# What a constructor takes out of its ``**kwargs``, and refuses all else.
_OUT_OF_KWARGS = {"EarlyStoppingTrigger": ["patients"]}


@pytest.mark.parametrize("module, key", NAMES)
def test_every_public_name_has_a_row_with_its_parameters(module, key):
    row = RULES.find(f"{module}.{key}")
    assert row is not None
    if row.signature is None or row.state == "manual" or row.name.startswith("chainer.backend.Device"):
        return
    real = inspect.signature(getattr(MODULES[module], key)).parameters.values()
    theirs = _SIGNATURES.get(key, [p.name for p in real])
    ours = [p.name for p in row.signature.parameters]
    if key in _OUT_OF_KWARGS:
        assert theirs.pop() == "kwargs"
        theirs += _OUT_OF_KWARGS[key]
    assert ours == theirs or key == "Device" or theirs == ["args", "kwargs"]


def test_helpers_of_templates_exist():
    helpers = _helpers()
    for name, row in RULES.rows.items():
        if row.table in TABLES:
            for template in row.templates:
                assert set(re.findall(r"\bcompat\.(\w+)", template)) <= helpers, name


def _helpers():
    found = set()
    for info in pkgutil.walk_packages(chainer2torch.compat.__path__, "chainer2torch.compat."):
        found.update(vars(importlib.import_module(info.name)))
    return found


@pytest.mark.parametrize(
    "text, symbol",
    [
        ("chainer.optimizers.NoSuch(0.1)", "chainer.optimizers.NoSuch"),
        ("chainer.optimizers.__dict__['SGD'](0.1)", "chainer.optimizers.__dict__"),
    ],
)
def test_the_module_of_optimizers_stands_for_no_name_in_it(text, symbol):
    """`chainer.optimizers` as a value has a row; that is no row for names in it which have none."""
    result = migrate_source(f"import chainer\nresult = {text}\n")
    assert text in result.code and [(s.symbol, s.state) for s in result.sites] == [(symbol, "manual")]
