"""Runs a program that prints, on both sides, and compares what it says."""

from __future__ import annotations

import contextlib
import io
import math
import re
import sys
import traceback
import types
import warnings
from typing import Any
from unittest import mock

import numpy as np
import torch

from chainer2torch.compat.serializers.serializers import load_npz
from chainer2torch.engine import Options, migrate_source
from tests.generated import judge
from tests.generated.values import Values
from tests.support import native_programs

_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|nan|inf")
# how containers write NumPy's numbers, and a dtype that stands behind an array: a plain number says as much
_SCALAR = re.compile(r"np\.(?:float|int|bool)\w*\(([^()]*)\)|np\.(True|False)_|\barray\(([^\[\]()]*)\)")
_DTYPE = re.compile(r", dtype=\w+")


def of(seed: int, style: str = "native", library: bool = False) -> tuple[str, str, str]:
    """The verdict on a program, what is to say about it, and both texts."""
    return judged(Values(seed, library).text(), style)


def judged(text: str, style: str = "native") -> tuple[str, str, str]:
    """The same for a text."""
    weights: list[io.BytesIO] = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected = _said(text, "original", lambda model: weights.append(judge._saved(model)))
        except Exception as error:
            return judge.REFUSED, f"{type(error).__name__}: {error}", text
        try:
            result = migrate_source(text, options=Options(style=style))
            helpers = native_programs.helpers(result, style)
        except Exception as error:
            return judge.BROKEN, f"{type(error).__name__}: {error}", text
        both = f"{text}\n# ---- migrated\n{result.code}"
        if result.error is not None:
            return judge.BROKEN, result.error, both
        marked = any(site.state in ("manual", "review") for site in result.sites)
        try:
            with mock.patch.dict(sys.modules, chainer_compat=helpers):
                found = _said(result.code, "migrated", lambda model: load_npz(weights[0], model))
        except Exception as error:
            last = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == "<migrated>"][-1]
            where = result.code.splitlines()[(last.lineno or 1) - 1].strip()
            return judge.LEFT if marked else judge.LOUD, f"{type(error).__name__}: {error} | {where}", both
    if difference := _difference(found, expected):
        return judge.MARKED if marked else judge.DIFFERENT, difference, both
    return judge.SAME, "", both


def _said(text: str, name: str, begin: Any) -> list[str]:
    """What a program prints, a line each."""
    said = io.StringIO()
    program: dict[str, Any] = {"__name__": name, "begin": begin}
    np.random.seed(0)
    # classes of data look their module up
    with mock.patch.dict(sys.modules, {name: types.ModuleType(name)}), contextlib.redirect_stdout(said):
        exec(compile(text, f"<{name}>", "exec"), program)
        if "work" in program:
            _call_library(program, name, begin)
        else:
            program["train"]()
    return said.getvalue().splitlines()


def _call_library(program: dict[str, Any], name: str, begin: Any) -> None:
    """Calls the function of a library as a program would that is written for it: with arrays of its framework."""
    model = program["Net"]()
    begin(model)
    xs, ts = np.random.RandomState(3).rand(4, 3).astype("f"), np.array([0, 2, 1, 2], "i")
    given = (xs, ts) if name == "original" else (torch.from_numpy(xs), torch.from_numpy(ts))
    program["work"](model, *given)


def _difference(found: list[str], expected: list[str]) -> str:
    """The first lines that say something else; empty: none. Where lines end, the last digit of a number decides."""
    if _same("\n".join(found), "\n".join(expected)):
        return ""
    if len(found) != len(expected):
        return f"{len(found)} lines instead of {len(expected)}: {found[:3]} {expected[:3]}"
    for got, want in zip(found, expected, strict=True):
        if not _same(got, want):
            return f"{got!r} instead of {want!r}"
    return ""


def _same(got: str, want: str) -> bool:
    got, want = (_SCALAR.sub(lambda m: m[1] or m[2] or m[3], _DTYPE.sub("", text)) for text in (got, want))
    if re.sub(r"\s+", "", _NUMBER.sub("#", got)) != re.sub(r"\s+", "", _NUMBER.sub("#", want)):
        return False
    pairs = zip(_NUMBER.findall(got), _NUMBER.findall(want), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=1e-3, abs_tol=1e-5) or a == b == "nan" for a, b in pairs)
