"""Weights of the recurrent functions, which are lists of arrays in a list, become tensors."""

import textwrap

import pytest

from tests.generated import judge, printed_judge, values

LISTS = [
    "ws = [[np.full((2, 2), .1 * i, 'f') for i in range(COUNT)]]\n"
    "bs = [[np.full(2, .1 * i, 'f') for i in range(COUNT)]]",
    "ws, bs = [], []\nfor n in range(1):\n    ws.append([rng.rand(2, 2).astype('f') for i in range(COUNT)])\n"
    "    bs.append([rng.rand(2).astype('f') for i in range(COUNT)])",
    "def make(shape):\n    return [[rng.rand(*shape).astype('f') for i in range(COUNT)] for _ in range(1)]\n"
    "ws, bs = make((2, 2)), make((2,))",
    "ws = [[chainer.Variable(rng.rand(2, 2).astype('f')) for i in range(COUNT)]]\n"
    "bs = [[rng.rand(2).astype('f') for i in range(COUNT)]]",
]
CALLS = [
    (8, "F.n_step_lstm(1, 0.0, h, h, ws, bs, rows)"),
    (6, "F.n_step_gru(1, 0.0, h, ws, bs, rows)"),
    (2, "F.n_step_rnn(1, 0.0, h, ws, bs, rows)"),
]


@pytest.mark.parametrize("lists", LISTS)
@pytest.mark.parametrize("count, call", CALLS)
def test_recurrent_functions_take_them(count, call, lists):
    body = f"h = np.zeros((1, 2, 2), 'f')\nrows = [np.ones((2, 2), 'f')] * 3\n{lists}\nprint({call}[-1][0].array)\n"
    body = body.replace("COUNT", str(count))
    verdict, detail, text = printed_judge.judged(values.HEAD + textwrap.indent(body, "    "))
    assert verdict == judge.SAME, f"{detail}\n{text}"
