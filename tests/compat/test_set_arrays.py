"""A Variable or parameter holds the array that it is given, whatever the dtype."""

import textwrap

import pytest

from tests.generated import judge, printed_judge, values

SET = [
    "model.fc.b.data = np.arange(3.)\nprint(model.fc.b.data.dtype, model.fc.b.data)",
    "for p in model.params():\n    p.array = np.ones(p.shape)\n    print(p.array.dtype, p.array.sum())",
    "layer = L.Scale(W_shape=(3,))\nlayer.W.data = np.arange(3.)\nprint(layer.W.data.dtype)",
    "v = chainer.Variable(xs)\nv.data = np.zeros((2, 2))\nprint(v.data.dtype, v.data)",
]


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize("body", SET)
def test_the_array_is_held(body, style):
    verdict, detail, text = printed_judge.judged(values.HEAD + textwrap.indent(body + "\n", "    "), style)
    assert verdict == judge.SAME, f"{detail}\n{text}"


def test_whole_numbers_in_a_variable_are_marked():
    body = "    v = chainer.Variable(xs)\n    v.array = np.arange(4)\n"
    verdict, _, text = printed_judge.judged(values.HEAD + body, "faithful")
    assert verdict == judge.LEFT and "refuse these whole ones" in text
