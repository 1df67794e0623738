"""What the program's own checks ask for is what the search tries next."""

import sys

import numpy as np
import pytest

from chainer2torch.verify.worker import search_conditions
from chainer2torch.verify.worker.search_values import IMAGE, VECTOR, array

CHECKS = """
class Net:
    n_point, kinds = 16, ('a', 'b')

    def points(self, x, split):
        assert x.ndim == 4
        assert x.shape[2] // 2 == split.shape[1], 'no fit'
        bs, ch, n, w = x.shape
        assert w == 1

    def raises(self, x):
        if x.shape[1] != self.n_point:
            raise ValueError('another number of points')
        if not (x.ndim == 2 and len(x) % 3 == 0):
            raise ValueError

    def kind(self, kind):
        assert kind in self.kinds

    def whole(self, x, y):
        assert x.shape == y.shape

    def least(self, x):
        assert x.shape[1] > self.n_point

    def other(self, x):
        assert x.dtype == 'int32'

    def elsewhere(self, x):
        return x.shape[9]
"""


@pytest.fixture
def net(tmp_path):
    path = tmp_path / "checks.py"
    path.write_text(CHECKS)
    namespace = {}
    exec(compile(CHECKS, str(path), "exec"), namespace)
    return namespace["Net"](), str(tmp_path)


def _asked(net, call, **inputs):
    arrays = {name: np.zeros(v["shape"], v["dtype"]) if isinstance(v, dict) else v for name, v in inputs.items()}
    model, tree = net
    try:
        getattr(model, call)(**arrays)
    except Exception:
        return search_conditions.read(sys.exc_info()[1], tree)
    raise AssertionError("it ran")


def _repaired(net, call, arguments=None, **inputs):
    return list(search_conditions.repairs(inputs, arguments or {}, _asked(net, call, **inputs)))


def test_an_axis_that_a_check_names(net):
    split = array("float32", (4, 3, 32, 32))
    first, *_ = _repaired(net, "points", x=IMAGE, split=split)
    assert first == ({"x": IMAGE, "split": dict(split, shape=[4, 16, 32, 32])}, {})


def test_a_number_that_was_computed_before(net):
    split = array("float32", (4, 16, 32, 32))
    found = [inputs["x"]["shape"] for inputs, _ in _repaired(net, "points", x=IMAGE, split=split)]
    assert [4, 3, 32, 1] in found and [4, 3, 1, 32] in found


def test_a_number_of_axes(net):
    (inputs, _), *_ = _repaired(net, "points", x=VECTOR, split=VECTOR)
    assert len(inputs["x"]["shape"]) == 4 and inputs["split"] == VECTOR


def test_a_condition_that_raises(net):
    (inputs, _), *_ = _repaired(net, "raises", x=VECTOR)
    assert inputs["x"]["shape"] == [4, 16]
    found = [inputs["x"]["shape"] for inputs, _ in _repaired(net, "raises", x=array("float32", (1, 16)))]
    assert [1, 18] in found and [4, 8] not in found  # what holds already is not asked for


def test_values_shapes_bounds_and_dtypes(net):
    assert _repaired(net, "kind", {"mode": "'c'"}, kind="c") == [
        ({"kind": "c"}, {"mode": "'a'"}),
        ({"kind": "c"}, {"mode": "'b'"}),
    ]
    (inputs, _), *_ = _repaired(net, "whole", x=VECTOR, y=IMAGE)
    assert inputs["x"]["shape"] == inputs["y"]["shape"]
    assert [4, 17] in [inputs["x"]["shape"] for inputs, _ in _repaired(net, "least", x=VECTOR)]
    assert "int32" in [inputs["x"]["dtype"] for inputs, _ in _repaired(net, "other", x=VECTOR)]


def test_what_is_no_check_asks_for_nothing(net):
    assert _asked(net, "elsewhere", x=VECTOR) == []
    assert search_conditions.read(ValueError(), net[1]) == []
