"""What the search tries where a call needs a state that another method makes."""

from collections import OrderedDict

import numpy as np

from chainer2torch.verify.worker import model_text, search_arrays, search_methods, search_parts
from chainer2torch.verify.worker.chainer_search import Attempt
from chainer2torch.verify.worker.search_state import calls_before
from chainer2torch.verify.worker.search_values import SENTENCES, VECTOR, WORDS

SETTERS = {"r": {"reset_state": ["batch_size"]}, "keys": {"read": ["keys", "n_steps"]}}


def _calls(inputs, text, **changes):
    attempt = Attempt(OrderedDict(), "", OrderedDict(inputs))._replace(**changes)
    return list(calls_before(attempt, AttributeError(text), SETTERS))


def test_the_method_that_sets_what_is_lacking_goes_before_with_the_number_of_examples():
    assert _calls({"x": VECTOR}, "'Net' object has no attribute 'r'") == ["reset_state(4)"]
    assert _calls({"xs": SENTENCES}, "'Net' object has no attribute 'r'") == ["reset_state(3)"]
    assert _calls({"x": VECTOR}, "'Net' object has no attribute 'r'", before="reset_state(4)") == []
    assert _calls({"x": VECTOR}, "'Net' object has no attribute 'other'") == []


def test_other_parameters_are_the_inputs_of_their_name_then_any():
    calls = _calls({"x": VECTOR, "keys": VECTOR}, "'Net' object has no attribute 'keys'")
    assert calls[0] == "read(x1, 4)" and "read(x0, 4)" in calls


def test_a_method_that_makes_links_is_given_what_a_constructor_is():
    attempt = Attempt(OrderedDict(), "", OrderedDict({"x": VECTOR}))
    error = AttributeError("'Net' object has no attribute 'fc'")
    calls = list(calls_before(attempt, error, {"fc": {"@create": ["n_units", "gpu"]}}))
    assert calls[0] == "@create(8, -1)"
    text = model_text.text("net:Net", "", "", ["x0"], before=calls[0])
    assert ".Net()\nmodel.create(8, -1)\n" in text and text.endswith("def run(x0):\n    return model(x0)\n")


def test_what_is_none_is_reset():
    assert _calls({"x": VECTOR}, "unsupported operand type(s) for +: 'NoneType' and 'int'") == ["reset_state(4)"]


def test_parameters_of_a_constructor():
    def init(self, n_in, hidden=None, n_out=10, pretrained="auto", **parts):
        raise NotImplementedError

    assert search_methods.parameters(init) == (["n_in", "pretrained"], {"pretrained"})
    assert search_methods.without(init) == (["hidden"], ["n_out", "pretrained"])
    assert search_methods.takes_any(init) and not search_methods.takes_any(search_methods.is_none)
    assert search_methods.is_none("reset_state") and not search_methods.is_none("encode")
    assert search_parts.parts_for("bn1", ["A()"])[0] == "L.BatchNormalization(8)"
    assert search_parts.parts_for("layer_0", ["A()"]) == ["A()", "L.Linear(8, 8)"]


def test_arrays_in_the_place_of_variables():
    inputs = {"x": VECTOR, "xs": SENTENCES}
    arrays = search_arrays.all_plain(inputs)
    assert search_arrays.is_plain(arrays["x"]) and search_arrays.only_arrays(arrays, inputs)
    assert not search_arrays.only_arrays(inputs, inputs)
    assert not search_arrays.only_arrays({"x": dict(VECTOR, shape=[4, 9])}, {"x": VECTOR})


def test_integers_that_make_float64_are_no_inputs():
    wide = [np.zeros((4, 5))]
    assert search_arrays.are_wider(wide, {"x": WORDS, "c": WORDS})
    assert not search_arrays.are_wider(wide, {"x": WORDS, "c": VECTOR})
    assert not search_arrays.are_wider(wide, {"x": WORDS}) and not search_arrays.are_wider(
        [np.zeros((4, 5), np.float32), np.zeros(())], {"x": WORDS, "c": WORDS}
    )
