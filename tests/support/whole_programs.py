"""Runs a whole program under Chainer and its migration, in either style, under PyTorch, and says what differs.

A program defines ``main()``, which gives values of any kind, and may print and write files. Each model that it hands to
``begin`` starts from the same weights on both sides. Compared are values with their dtypes and shapes, text, and the
names of files. Declared differences in how optimizers step are made on Chainer's side, too.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import numbers
import os
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import chainer
import numpy as np
import torch

from chainer2torch.compat.serializers.serializers import load_npz
from chainer2torch.engine import Options, migrate_source
from chainer2torch.vendor import compat_file, said
from chainer2torch.verify.worker import clipped_norms, shared_parameters
from tests.support import native_programs

HEAD = """\
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import iterators, optimizers, reporter, serializers, training
from chainer.training import extensions


"""
_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|nan|inf")


def differences(source: str, style: str, folder: Path) -> list[str]:
    """Where the two sides differ; empty: nowhere. A place for a person counts as a difference."""
    weights: list[io.BytesIO] = []

    def given(model: Any) -> Any:
        _fill(model, len(weights))
        weights.append(io.BytesIO())
        chainer.serializers.save_npz(weights[-1], model)
        return model

    result = migrate_source(source, options=Options(style=style))
    with contextlib.ExitStack() as stack:
        if any(site.difference == "shared-parameters" for site in result.sites):
            stack.callback(shared_parameters.stepped_once()[0])
        if any(site.difference == "clipped-norms" for site in result.sites):
            stack.enter_context(clipped_norms.as_pytorch())
        expected = _run(source, given, folder / "chainer")
    asked = [f"line {s.line}: {s.state} {s.symbol}" for s in result.sites if s.state in ("manual", "review")]
    if result.error is not None or asked:
        return [*asked, *([result.error] if result.error else [])]
    helpers = types.ModuleType("chainer_compat")
    text = compat_file.build(result.helpers, style=style, said=said.words(result.code))
    exec(compile(text, "<chainer_compat>", "exec"), helpers.__dict__)
    begun = iter(weights)

    def loaded(model: Any) -> Any:
        file = next(begun)
        file.seek(0)
        load_npz(file, model)
        return model

    with mock.patch.dict(sys.modules, chainer_compat=helpers):
        found = _run(result.code, loaded, folder / "torch")
    return list(_compare(expected, found, "main"))


def _run(code: str, begin: Callable[[Any], Any], folder: Path) -> tuple[Any, ...]:
    namespace: dict[str, Any] = {"__name__": "program", "begin": begin}
    folder.mkdir()
    text = io.StringIO()
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(text), warnings.catch_warnings(), native_programs.one_order():
            warnings.simplefilter("ignore")
            np.random.seed(0)
            exec(compile(code, "<program>", "exec"), namespace)
            values = _plain(namespace["main"]())
    finally:
        os.chdir(before)
    return values, text.getvalue(), sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def _fill(model: Any, number: int) -> None:
    for name, param in sorted(model.namedparams()):
        if param.array is not None:
            seed = int(hashlib.md5(f"{name}{number}".encode()).hexdigest()[:8], 16)
            param.array[...] = np.random.RandomState(seed).randn(*param.shape) * 0.5


def _plain(value: Any) -> Any:
    if isinstance(value, chainer.Variable):
        value = value.array
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return [[str(key), _plain(item)] for key, item in value.items()]
    return value


def _compare(a: Any, b: Any, path: str) -> Iterator[str]:
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            yield f"{path}: {len(b)} items instead of {len(a)}"
        for i, (one, other) in enumerate(zip(a, b)):
            yield from _compare(one, other, f"{path}.{i}")
    elif isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        # an argmax is int32 in Chainer, int64 in PyTorch
        kinds = [x.dtype.kind if x.dtype.kind in "iu" else x.dtype.str for x in (a, b)]
        if kinds[0] != kinds[1] or a.shape != b.shape:
            yield f"{path}: {b.dtype} {b.shape} instead of {a.dtype} {a.shape}"
        elif not np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True):
            yield f"{path}: {b} instead of {a}"
    elif isinstance(a, str) and isinstance(b, str):
        if not _same_text(a, b):
            yield f"{path}: {b!r} instead of {a!r}"
    elif isinstance(a, numbers.Number) and isinstance(b, numbers.Number) and not isinstance(a, bool):
        if isinstance(a, int) != isinstance(b, int) or not math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-5):
            yield f"{path}: {b!r} instead of {a!r}"
    elif type(a) is not type(b) or a != b:
        yield f"{path}: {b!r} instead of {a!r}"


def _same_text(a: str, b: str) -> bool:
    if _NUMBER.sub("#", a) != _NUMBER.sub("#", b):
        return False
    pairs = zip(_NUMBER.findall(a), _NUMBER.findall(b))
    return all(math.isclose(float(x), float(y), rel_tol=2e-3, abs_tol=1e-4) for x, y in pairs)
