"""Every key of Chainer's configuration: read, set, set for all threads and for a block, each has a known outcome."""

import contextlib
import sys
from pathlib import Path

import chainer
import pytest
import torch

import chainer2torch
from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
from chainer2torch.verify.worker import compat_module

KEYS = sorted(key for key in vars(chainer.global_config) if not key.startswith("_"))
# what a program may set, where the value has a meaning on the CPU
VALUES = {
    "train": [True, False],
    "enable_backprop": [True, False],
    "debug": [True, False],
    "autotune": [True, False],
    "cudnn_deterministic": [True, False],
    "use_cudnn": ["auto", "never"],
    "dtype": ["float32", "float64"],
}
FORMS = {
    "read": "r = chainer.config.{key}",
    "set": "chainer.config.{key} = {value!r}",
    "set for all": "chainer.global_config.{key} = {value!r}",
    "block": "with chainer.using_config({key!r}, {value!r}):\n    r = 1",
}


def test_every_key_has_both_rows():
    rows = load_rules().rows
    names = [f"chainer.{name}.{key}" for key in KEYS for name in ("config", "global_config")]
    assert [name for name in names if name not in rows] == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", KEYS)
def test_nothing_of_a_key_is_lost(key, form):
    """Chainer's name is gone and the code runs, or the line says what is left to do."""
    value = VALUES.get(key, [getattr(chainer.global_config, key)])[-1]
    result = migrate_source("import chainer\n" + FORMS[form].format(key=key, value=value) + "\n")
    assert result.error is None
    states = {site.state for site in result.sites}
    if states <= {"exact", "close"}:
        assert "chainer." not in result.code, result.code
        if "chainer_compat" not in sys.modules:
            compat_module.install(str(Path(chainer2torch.__file__).parent / "compat"))
        with unchanged_settings():
            exec(compile(result.code, key, "exec"), {})
    elif "TODO(chainer2torch" not in result.code:  # only the report says more: nothing of Chainer's is left
        assert "chainer." not in result.code and any(site.message for site in result.sites), result.code
        compile(result.code, key, "exec")


@contextlib.contextmanager
def unchanged_settings():
    """PyTorch's settings are as before afterwards."""
    backends = torch.backends.cudnn
    before = backends.benchmark, backends.deterministic, backends.enabled
    grad, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
    try:
        yield
    finally:
        backends.benchmark, backends.deterministic, backends.enabled = before
        torch.set_grad_enabled(grad)
        torch.set_default_dtype(dtype)
