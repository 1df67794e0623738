"""Whole numbers beside floating ones: NumPy computes in float64 whatever the floating size, PyTorch in float32."""

import textwrap

import pytest

from tests.generated import judge, printed_judge, values

WHOLE = ["np.arange(1, 4)", "np.array([1, 2, 3], 'i')", "model(xs).array.argmax(axis=0)", "ts[:3]"]
FLOATING = [
    "model(xs).array[0]",
    "model.fc.W.array[0]",
    "F.softmax(model(xs)).data.mean(axis=0)",
    "F.concat([model(xs), model(xs)], axis=0).array[0].copy()",
    "xs[0]",
]


def verdict(body):
    return printed_judge.judged(values.HEAD + textwrap.indent(body, "    "))


@pytest.mark.parametrize("whole", WHOLE)
@pytest.mark.parametrize("floating", FLOATING)
def test_operators_give_float64(floating, whole):
    lines = [f"a, b = {floating}, {whole}", "print((a * b).dtype, (b - a).dtype, (a @ b).dtype, (b @ a).dtype)"]
    lines += [f"print(({floating} {sign} {whole}).dtype)" for sign in ("+", "-", "*", "/", "%")]
    lines += [f"print(({whole} {sign} {floating}).dtype)" for sign in ("+", "@", "/")]
    found, detail, text = verdict("\n".join(lines) + "\n")
    assert found == judge.SAME, f"{detail}\n{text}"


def test_what_keeps_its_dtype_is_left_alone():
    body = """\
w = model(xs).array
w /= np.arange(1, 4)
print(w.dtype, ((model(xs).array > 0).astype(np.int8) * model(xs).array).dtype)
print((model(xs).array * 2).dtype, (model(xs).array > np.arange(3)).dtype)
"""
    found, detail, text = verdict(body)
    assert found == judge.SAME, f"{detail}\n{text}"
    assert "double" not in text
