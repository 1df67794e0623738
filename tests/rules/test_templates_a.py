"""The rows of activation, loss, math, evaluation and noise: signatures, and whole numbers as inputs."""

import inspect

import chainer.functions
import numpy as np
import pytest

from tests.support import row_examples

FILES = [
    "functions/" + f
    for f in ("activation", "evaluation", "loss", "math", "noise", "util")
    if (row_examples.RULES / "functions" / (f + ".toml")).exists()
]
ROWS = row_examples.load_rows(*FILES)


@pytest.mark.parametrize("name", ROWS)
def test_signature_is_chainers(name):
    real = inspect.signature(getattr(chainer.functions, name))
    assert ROWS[name]["signature"] == str(real)


def test_every_public_name_of_the_five_packages_has_a_row():
    packages = tuple(f"chainer.functions.{p}." for p in ("activation", "evaluation", "loss", "math", "noise", "util"))
    public = {
        n
        for n in dir(chainer.functions)
        if not n.startswith("_")
        and not inspect.ismodule(getattr(chainer.functions, n))
        and getattr(chainer.functions, n).__module__.startswith(packages)
    }
    assert public == set(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_has_a_proof_and_a_value(name):
    row = ROWS[name]
    assert row["state"] == "exact" and row["example"] and row["value"] and row["returns"]


def _takes_one_tensor(name):
    given = ROWS[name]["example"][0].get("given", {})
    # Chainer makes float64 noise of the integers that gumbel_softmax gets: nobody means that.
    return len(given) == 1 and str(*given.values()).startswith("f32[") and name != "gumbel_softmax"


@pytest.mark.parametrize("name", [n for n in ROWS if _takes_one_tensor(n)])
def test_integers_are_refused_or_the_note_says_so(name):
    """Most of Chainer's functions take floats only; where torch would take integers in silence the row must say so."""
    chainers, ours = row_examples.outcomes(ROWS, name, [np.array([[1, 2], [3, 5]], "i")])
    if isinstance(chainers, Exception):
        assert isinstance(ours, Exception) or "float" in ROWS[name]["note"]
    elif not isinstance(ours, Exception):
        np.testing.assert_array_equal(ours, chainers)
        assert ours.dtype == chainers.dtype


@pytest.mark.parametrize("name", [n for n in ROWS if ROWS[n]["value"].startswith("compat.")])
def test_a_helper_takes_chainers_arguments_by_their_names(name):
    """Then a call needs no more than another name, and the helper can stand for the function wherever it is passed."""
    helper = getattr(row_examples.compat_namespace(), ROWS[name]["value"].removeprefix("compat."))
    theirs, ours = (
        [
            (p.name, p.kind, p.default)
            for p in inspect.signature(f).parameters.values()
            if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)
        ]
        for f in (getattr(chainer.functions, name), helper)
    )
    assert ours == theirs
