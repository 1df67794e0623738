"""The proof of a row's examples fails when the row is wrong."""

import pytest

from tests.support.row_examples import examples, prove

_RIGHT = {
    "module": "chainer.functions",
    "signature": "(x, axis=1)",
    "torch": "torch.cumsum(x, dim=axis)",
    "cases": [{"when": "is_int(axis) and rank(x) == 2", "torch": "x.cumsum(axis)"}],
    "fallback": "torch.cumsum(x, axis)",
    "value": "lambda x, axis=1: x.cumsum(axis)",
    "example": [{"given": {"x": "f32[2,3]"}, "before": "F.cumsum(x, axis=1)"}],
}


@pytest.mark.parametrize("variant", ["guards", "fallback", "value"])
def test_right_row(variant):
    assert ("cumsum", 0, variant) in list(examples({"cumsum": _RIGHT}))
    prove({"cumsum": _RIGHT}, "cumsum", 0, variant)


@pytest.mark.parametrize(
    "key, value, variant",
    [
        ("cases", [{"when": "is_int(axis)", "torch": "x.cumsum(0)"}], "guards"),
        ("cases", [{"when": "is_int(axis)", "torch": "x.cumsum(axis).detach()"}], "guards"),
        ("cases", [{"when": "rank(x) == 2", "torch": "x.cumsum(axis).double()"}], "guards"),
        ("fallback", "x.detach().cumsum(axis) + x - x.detach()", "fallback"),
        ("fallback", "torch.cumsum(x, 0)", "fallback"),
        ("value", "lambda x, axis=0: x.cumsum(0)", "value"),
        ("signature", "(x)", "guards"),
    ],
)
def test_wrong_row(key, value, variant):
    with pytest.raises((AssertionError, TypeError)):
        prove({"cumsum": {**_RIGHT, key: value}}, "cumsum", 0, variant)


def test_guards_choose_in_order():
    row = {**_RIGHT, "cases": [{"when": "given(axis)", "torch": "x.cumsum(1)"}], "torch": "x.no_such_method()"}
    prove({"cumsum": row}, "cumsum", 0, "guards")
    row["example"] = [{"given": {"x": "f32[2,3]"}, "before": "F.cumsum(x, 1)"}]
    prove({"cumsum": row}, "cumsum", 0, "guards")


def test_error_examples():
    row = {**_RIGHT, "example": [{"given": {"x": "f32[2,3]"}, "before": "F.cumsum(x, 5)", "raises": True}]}
    prove({"cumsum": row}, "cumsum", 0, "guards")
    silent = {**row, "cases": [], "torch": "x"}
    with pytest.raises(AssertionError):
        prove({"cumsum": silent}, "cumsum", 0, "guards")
