"""Helpers that are extensions end under Chainer's trainer, and under the manager of ppe, which hands itself over."""

import importlib
import inspect
import pkgutil

import pytest
from pytorch_pfn_extras.training.extension import Extension

import chainer2torch.compat
import chainer2torch.native


def _extensions():
    for package in (chainer2torch.compat, chainer2torch.native):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            for cls in vars(module).values():
                if inspect.isclass(cls) and issubclass(cls, Extension) and cls.__module__ == module.__name__:
                    yield cls


@pytest.mark.parametrize("cls", _extensions(), ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_finalize_takes_the_manager(cls):
    inspect.signature(cls.finalize).bind(None, "manager")
