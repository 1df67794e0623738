"""``L.Linear(n_in, n)`` whose size is None for some callers: a lazy layer for these, a plain one for the others."""

import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self, n_in=None, n_out=3, scale=1.5):
        super().__init__()
        with self.init_scope():
            {body}

    def forward(self, x):
        return self.layer(x)

def run(xs):
    rows = [np.ones((2, 2, 2), 'f'), np.ones((2, 4), 'f')]
    return [(y.shape, float(y.array.sum())) for n in (None, 4) for y in map(Net(n).forward, rows)]
"""
EITHER = "nn.LazyLinear(n_out) if n_in is None else nn.Linear(n_in, n_out)"
BODIES = {
    "self.layer = L.Linear(n_in, n_out, initialW=0.5, initial_bias=0.25)": EITHER,
    "self.layer = L.Linear(n_in, 3, initialW=0.5)": EITHER.replace("n_out", "3"),
    "self.layers = chainer.ChainList(L.Linear(n_in, n_out, initialW=0.5))\n"
    "            self.layer = self.layers[0]": EITHER,
    "self.layer = L.Linear(n_in, n_out, n_out == 3, initialW=0.5)": "compat.linear(",
    "self.layer = L.Linear(n_in, int(n_out), initialW=0.5)": "compat.linear(",
}


@pytest.mark.parametrize("body", BODIES)
def test_a_size_that_may_be_none(body: str) -> None:
    theirs, ours, code = run(PROGRAM.replace("{body}", body))
    assert [(tuple(shape), total) for shape, total in ours] == [(shape, total) for shape, total in theirs]
    assert BODIES[body] in code and "torch.flatten(" in code, code


def test_one_name_for_both_sizes_is_no_none() -> None:
    code = migrated(PROGRAM.replace("{body}", "self.layer = L.Linear(n_in, n_in)")).code
    assert "self.layer = nn.Linear(n_in, n_in)" in code, code


def test_where_not_all_calls_are_seen_the_layer_flattens_itself() -> None:
    unseen = "\ndef outputs(x):\n    return list(map(Net().layer, [x]))\n"
    code = migrated(PROGRAM.replace("{body}", next(iter(BODIES))) + unseen).code
    assert "compat.linear(n_in, n_out)" in code, code
