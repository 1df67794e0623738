"""Training programs in styles of the wild: each runs under Chainer and, migrated, under PyTorch; the same comes out.

A program defines ``main(out)``, which trains, writes below ``out`` and returns what it computed, and calls
``begin(model)`` for every new model: both sides give it the same weights there. Compared are the returned values, the
printed text, and every file: logs with their keys in order, arrays of snapshots; of other files the names.
"""

import contextlib
import io
import json
import re
import sys
import warnings
from pathlib import Path

import chainer
import numpy as np
import pytest
import torch

import chainer2torch
from chainer2torch.engine import migrate_source
from chainer2torch.verify.worker import compat_module
from chainer2torch.weights import load_npz
from tests.support.links import npz_of

PROGRAMS = Path(__file__).parent / "wild"
# what may be left for a person
LEFT = {
    "config_keys": {"chainer.using_config"},
    "gan": {"chainer.Variable.unchain_backward"},
    "own_updaters": {"chainer.Variable.unchain_backward"},
    "metrics": {"chainer.Variable.array"},  # of what was reported
    "modes": {"chainer.Variable.requires_grad", "chainer.config.train"},
    "tagger_converter": {"chainer.backends.cuda.cupy"},
    "ptb_style": {"chainer.Variable.unchain_backward"},
    "trainer_extensions": {"chainer.training.extensions.VariableStatisticsPlot"},
    "trainer_everything": {"chainer.training.extensions.VariableStatisticsPlot"},
    "v1_classifier": {"chainer.Link.to_gpu"},
}
RTOL = 2e-4
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf")


@pytest.mark.parametrize("name", sorted(path.stem for path in PROGRAMS.glob("*.py")))
def test_the_same_comes_out(tmp_path, monkeypatch, name):
    text = (PROGRAMS / f"{name}.py").read_text()
    result = migrate_source(text)
    assert result.error is None
    left = {site.symbol for site in result.sites if site.state in ("manual", "review")}
    assert left == LEFT.get(name, set()), result.code
    assert migrate_source(result.code).code == result.code, "a second run changes nothing"
    if "chainer_compat" not in sys.modules:
        compat_module.install(str(Path(chainer2torch.__file__).parent / "compat"))
    monkeypatch.setenv("MPLBACKEND", "agg")
    weights = []
    original = _run(text, tmp_path / "original", weights)
    migrated = _run(result.code, tmp_path / "migrated", iter(weights))
    assert_same(migrated[0], original[0], "result")
    assert_same_text(migrated[1], original[1])
    assert_same_files(tmp_path / "migrated", tmp_path / "original")


def _run(text, out, weights):
    """What ``main`` gives and what it prints."""
    out.mkdir()
    namespace = {"__name__": "program"}
    exec(compile(text, str(out / "program.py"), "exec"), namespace)

    def begin(model):
        if isinstance(model, chainer.Link):
            weights.append(npz_of(model))
        else:
            load_npz(next(weights), model)
        np.random.seed(1)

    namespace["begin"] = begin
    printed = io.StringIO()
    torch.manual_seed(0)
    np.random.seed(0)
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return namespace["main"](str(out)), printed.getvalue()


def _plain(value):
    if isinstance(value, torch.Tensor):
        return value.detach().numpy()
    return value.array if isinstance(value, chainer.Variable) else value


def assert_same(actual, expected, where):
    """Both results are alike: containers by their items, numbers and arrays by their values."""
    actual, expected = _plain(actual), _plain(expected)
    if isinstance(expected, dict):
        assert list(actual) == list(expected), where
        for key in expected:
            assert_same(actual[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected), f"{where}: {actual} {expected}"
        for i, (one, other) in enumerate(zip(actual, expected)):
            assert_same(one, other, f"{where}[{i}]")
    elif isinstance(expected, (str, bool, type(None))):
        assert actual == expected, where
    else:
        assert np.shape(actual) == np.shape(expected), where
        np.testing.assert_allclose(actual, expected, rtol=RTOL, atol=1e-5, err_msg=where)


def assert_same_text(actual, expected):
    """The same lines; numbers may differ in their last digits, and a terminal may be cleared at other moments."""
    actual, expected = actual.replace("\33[J", ""), expected.replace("\33[J", "")
    assert NUMBER.sub("#", actual) == NUMBER.sub("#", expected)
    for one, other in zip(NUMBER.findall(actual), NUMBER.findall(expected)):
        np.testing.assert_allclose(float(one), float(other), rtol=2e-3, atol=1e-4)


def assert_same_files(actual, expected):
    """The same files below both directories."""
    names = sorted(str(path.relative_to(expected)) for path in expected.rglob("*") if path.is_file())
    assert sorted(str(path.relative_to(actual)) for path in actual.rglob("*") if path.is_file()) == names
    for name in names:
        one, other = actual / name, expected / name
        start = other.read_bytes()[:4]
        if start == b"PK\x03\x04":
            with np.load(one, allow_pickle=True) as a, np.load(other, allow_pickle=True) as b:
                assert sorted(a.files) == sorted(b.files), name
                for key in b.files:
                    _assert_same_entry(a[key], b[key], f"{name}: {key}")
        elif start[:1] in b"[{" and start:
            assert_same(_without_time(json.loads(one.read_text())), _without_time(json.loads(other.read_text())), name)
        elif not start.startswith(b"\x89PNG"):
            assert_same_text(one.read_text(), other.read_text())


def _assert_same_entry(actual, expected, where):
    assert actual.dtype == expected.dtype or expected.dtype.kind != "f", (where, actual.dtype, expected.dtype)
    if expected.dtype.kind in "fiub":
        if not where.endswith("elapsed_time"):
            assert_same(actual, expected, where)
    elif expected.dtype.kind in "US" and str(expected)[:1] in ("[", "{"):
        assert_same(_without_time(json.loads(str(actual))), _without_time(json.loads(str(expected))), where)


def _without_time(entries):
    if isinstance(entries, list):
        return [_without_time(entry) for entry in entries]
    if isinstance(entries, dict):
        return {key: None if key == "elapsed_time" else value for key, value in entries.items()}
    return entries
