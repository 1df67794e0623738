"""What a search tries next follows from what Chainer said of the attempt before."""

import numpy as np
import pytest

from chainer2torch.verify.worker import (
    chainer_search,
    chainer_trials,
    model_text,
    search_areas,
    search_arrays,
    search_values,
)
from chainer2torch.verify.worker.search_values import IMAGE, SENTENCES, VECTOR, WORDS, array


class _InvalidType(Exception):
    def __init__(self, expect, actual):
        super().__init__(expect + actual)
        self.expect, self.actual = expect, actual


def _repaired(inputs, arguments, error):
    return list(search_values.repairs(inputs, arguments, error))


def test_a_number_of_channels_that_does_not_fit():
    found = _repaired({"x": VECTOR}, {"n_in": "5"}, _InvalidType("x.shape[1] == W.shape[1]", "8 != 5"))
    assert ({"x": array("float32", (4, 5))}, {"n_in": "5"}) in found
    assert ({"x": VECTOR}, {"n_in": "8"}) in found


def test_another_rank():
    found = _repaired({"x": VECTOR, "t": WORDS}, {}, _InvalidType("in_types[0].ndim == 4", "2 != 4"))
    assert found[0] == ({"x": IMAGE, "t": WORDS}, {})


def test_another_dtype():
    found = _repaired({"x": VECTOR}, {}, _InvalidType("x.dtype.kind == i", "f != i"))
    assert ({"x": dict(VECTOR, dtype="int32", below=2)}, {}) in found


def test_arrays_that_numpy_cannot_join():
    try:
        np.ones((4, 8)) + np.ones((4, 3))
    except ValueError as error:
        found = _repaired({"x": VECTOR}, {}, error)
    assert ({"x": array("float32", (4, 3))}, {}) in found


def test_whole_shapes_and_axes():
    labels = array("int32", (1,), 2)
    found = _repaired({"x": IMAGE, "t": labels}, {}, _InvalidType("x.shape == t.shape", "(4, 1) != (1,)"))
    assert found[0] == ({"x": IMAGE, "t": array("int32", (4, 1), 2)}, {})
    error = _InvalidType("in_type[0].shape[-1] == 8 or in_type[0].shape[-1] == 1", "in_type[0].shape: (1, 4)")
    assert ({"x": VECTOR, "y": array("float32", (8,))}, {}) in _repaired(
        {"x": VECTOR, "y": array("float32", (4,))}, {}, error
    )


def test_an_index_that_is_too_large():
    error = IndexError("index 29 is out of bounds for axis 1 with size 5")
    assert _repaired({"x": WORDS}, {}, error)[0] == ({"x": dict(WORDS, shape=[4, 30])}, {})


def test_two_numbers_of_an_error_of_the_programs_own():
    error = ValueError("4 tensors were passed, but the module was made to mix 8 tensors")
    assert ({"xs": VECTOR}, {"size": "4"}) in _repaired({"xs": VECTOR}, {"size": "8"}, error)


def test_several_numbers_for_one():
    error = TypeError("'int' object is not iterable")
    arguments = {"n": "3", "sizes": "3", "filters": "8"}
    found = _repaired({}, arguments, error)
    assert found[0] == ({}, {"n": "3", "sizes": "[3, 3]", "filters": "[8, 8]"})
    assert ({}, {"n": "(3, 3)", "sizes": "3", "filters": "8"}) in found


def test_values_to_unpack():
    found = _repaired({"x": VECTOR}, {}, ValueError("not enough values to unpack (expected 4, got 2)"))
    assert found[0] == ({"x": IMAGE}, {})


def test_a_table_where_one_is_asked_for():
    for text in ("'list' object has no attribute 'keys'", "attribute name must be string, not 'int'"):
        found = _repaired({}, {"n": "8", "heads": "[2, 2]"}, AttributeError(text))
        assert ({}, {"n": "8", "heads": "{'a': 2, 'b': 3}"}) in found


def test_options_grow_by_what_they_lack():
    error = AttributeError("'types.SimpleNamespace' object has no attribute 'n_layers'")
    found = _repaired({}, {"args": "types.SimpleNamespace(a=1)"}, error)
    assert ({}, {"args": "types.SimpleNamespace(a=1, n_layers=2)"}) in found
    found = _repaired({}, {"config": "{}"}, KeyError("n_units"))
    assert ({}, {"config": "{'n_units': 8}"}) in found


def test_films_and_images_of_other_sizes():
    film = array("float32", (4, 3, 16, 32, 32))
    sizes = [inputs["x"]["shape"] for inputs, _ in search_areas.other_sides({"x": film}, {})]
    assert [4, 3, 16, 64, 64] in sizes and [4, 3, 16, 224, 224] in sizes and [4, 3, 64, 64, 64] in sizes
    quicker = _repaired({"x": film}, {}, RuntimeError("it ran for more than 10 seconds"))
    assert quicker[0][0]["x"]["shape"] == [4, 3, 16, 16, 16]


def test_images_whose_maps_differ_by_a_square():
    def sides(side, a, b):
        image = array("float32", (4, 4, side, side))
        return [inputs["x"]["shape"][-1] for inputs, _ in search_areas.by_area({"x": image}, {}, a, b)]

    assert sides(32, 4096, 9216)[0] == 48
    assert sides(32, 512, 512 * 49)[0] == 224
    assert 88 in sides(64, 1024, 3136)  # 64 * 7 * 7 behind strides of 4 and 2 without padding
    # a board of four fields, behind two convolutions with edges
    assert sides(32, 128 * 30 * 30, 128 * 2 * 2)[:2] == [4, 18]
    assert sides(32, 512, 514) == sides(32, 0, 9) == []
    image = array("float32", (4, 4, 32, 32))  # 64 * 2 * 2 of it; 64 * 7 * 10 are wanted
    shapes = [inputs["x"]["shape"] for inputs, _ in search_areas.by_area({"x": image}, {}, 256, 4480)]
    assert [4, 4, 72, 96] in shapes and [4, 4, 96, 72] in shapes


def test_images_without_channels_and_rows_that_are_images():
    rows, grey = array("float32", (4, 5, 8)), array("float32", (4, 64, 64))
    found = _repaired({"x": rows}, {}, AssertionError("Height in the output should be positive."))
    assert ({"x": grey}, {}) in found
    assert search_areas.is_image(grey) and not search_areas.is_image(array("float32", (4, 8, 8)))
    linear = _InvalidType("x.shape[1] == W.shape[1]", "2000 != 1620")
    assert ({"x": array("float32", (4, 60, 60))}, {}) in _repaired({"x": grey}, {}, linear)
    linear = _InvalidType("x.shape[1] == W.shape[1]", "40 != 20")
    assert ({"x": array("float32", (4, 5, 4))}, {}) in _repaired({"x": rows}, {}, linear)
    found = _repaired({"x": IMAGE}, {}, _InvalidType("x.shape[1] == W.shape[1]", "3072 != 64"))
    assert ({"x": array("float32", (4, 64))}, {}) in found and ({"x": array("float32", (4, 8, 8))}, {}) in found
    flat = _repaired({"x": array("float32", (4, 64))}, {}, _InvalidType("in_types[0].ndim == 3", "2 != 3"))
    assert flat[0] == ({"x": array("float32", (4, 8, 8))}, {})
    image = _repaired({"x": array("float32", (4, 1, 9, 7))}, {}, _InvalidType("in_types[0].ndim == 3", "4 != 3"))
    assert image[0] == ({"x": array("float32", (4, 9, 7))}, {})


def test_what_a_model_is_made_from_tells_its_channels_and_sizes():
    rows, wanted = array("float32", (4, 5, 8)), array("float32", (4, 10, 8))
    assert ({"x": wanted}, {"n": "10"}) in _repaired({"x": rows}, {"n": "10"}, ValueError("shape-mismatch for sum"))
    error = ValueError("cannot reshape array of size 400 into shape (8,1,1,20)")
    found = _repaired({"x": WORDS}, {"size": "8", "longest": "1"}, error)
    assert ({"x": WORDS}, {"size": "4", "longest": "1"}) in found
    assert ({"x": WORDS}, {"size": "8", "longest": "5"}) in found


def test_many_channels_are_tried_with_small_maps():
    found = _repaired({"x": IMAGE}, {}, _InvalidType("in_types[0].shape[1] == in_types[1].shape[1]", "3 != 128"))
    assert [inputs["x"]["shape"] for inputs, _ in found[:2]] == [[4, 128, 8, 8], [4, 128, 32, 32]]


def test_no_attempt_takes_all_memory():
    assert search_arrays.is_too_large([array("float32", (4, 1 << 15, 1 << 15))])
    assert not search_arrays.is_too_large([[IMAGE], None, 3, array("float32", (3, 3, 512, 512))])


@pytest.mark.parametrize(
    "name, first",
    [("train", False), ("t", search_values.LABEL), ("xs", SENTENCES), ("batchsize", 4), ("x", IMAGE)],
)
def test_names_of_inputs(name, first):
    assert search_values.inputs_for(name)[0] == first


def test_inputs_begin_with_what_the_layers_take():
    assert next(search_values.sorts(["x", "t"], "vectors")) == [VECTOR, search_values.LABEL]
    assert next(search_values.sorts(["x"], "words")) == [WORDS]
    assert next(search_values.sorts(["x"], "films")) == [search_values.CUBE]


@pytest.mark.parametrize(
    "path, target, place",
    [
        ("a/b.py", "a.b:N", ("", "a.b", "")),
        ("a/__init__.py", "a:N", ("", "a", "")),
        ("v-1/lib/net.py", "v-1/lib.net:N", ("v-1", "lib.net", "")),
        ("a/my-net.py", "a/my-net:N", ("a", "my_net", "a/my-net.py")),
        ("chainermn/dcgan/net.py", "chainermn/dcgan.net:N", ("chainermn", "dcgan.net", "")),
        ("my-net.py", "./my-net:N", ("", "my_net", "my-net.py")),
    ],
)
def test_targets(path, target, place):
    assert model_text.target_of(path, "N") == target and model_text.place(target) == place


def test_functions_under_pytorch():
    """What a model is made from means the same on both sides."""
    import torch

    text = model_text.text("json:dumps", "F.leaky_relu", "", ["x"], torch=True)
    assert "chainer" not in text
    namespace = {}
    exec(text.split("\n\nmodel =")[0], namespace)
    assert float(namespace["F"].leaky_relu(torch.tensor(-1.0))) == pytest.approx(-0.2)


def test_sequences_of_which_nothing_is_left():
    for error in (ValueError("Output sizes should be positive."), AssertionError("at least k, but 2 are given")):
        lengths = [inputs["x"]["shape"][-1] for inputs, _ in _repaired({"x": WORDS}, {}, error)]
        assert {16, 64, 256, 1024} <= set(lengths)
    found = _repaired({"x": VECTOR}, {}, AssertionError("no"))
    assert all(inputs["x"]["shape"][-1] not in (256, 1024) for inputs, _ in found)


class _Fake(chainer_search.Search):
    """A search over attempts that fail alike, unless a change has mended them."""

    def __init__(self, is_good):
        hints = {"first": "words", "values": {}, "inputs": {}, "methods": [], "recipes": [], "by_keyword": []}
        super().__init__({"target": "net:Net", "hints": hints}, ".", {}, 60)
        self.is_good = is_good

    def _attempt(self, attempt):
        good = self.is_good(attempt)
        return "first forward", None if good else IndexError("index 9 is out of bounds for axis 1 with size 5"), (1, 0)


def _start(number, spec):
    return chainer_search.Attempt({"n": str(number)}, "", {"x": spec})


def test_what_is_made_from_another_comes_after_it():
    def case(name, **recipe):
        return {"target": f"net:{name}", "hints": {"recipes": [recipe] if recipe else []}}, None

    model = case("BertModel", config="importlib.import_module('net').Config(8)")
    classifier = case("Classifier", body="importlib.import_module('net').BertModel(8)")
    found = chainer_trials.after_others([classifier, case("Head", bert="8"), model])
    assert [other["target"] for other, _ in found] == ["net:BertModel", "net:Classifier", "net:Head"]


@pytest.fixture
def no_garbage(monkeypatch):
    """What fakes leave is nothing: looking for it after each attempt takes long in a large process."""
    monkeypatch.setattr(chainer_search.search_room, "collect", lambda: None)


def test_many_beginnings_leave_patience_for_changes(no_garbage):
    search = _Fake(lambda attempt: attempt.inputs["x"]["shape"] == [4, 10])
    starts = [_start(number, WORDS) for number in range(130)]
    assert search._climb(starts, float("inf")).inputs == {"x": dict(WORDS, shape=[4, 10])}
    assert search.tried <= chainer_search._STARTS + 1


def test_what_the_layers_take_is_changed_first(no_garbage):
    search = _Fake(lambda attempt: attempt.inputs["x"]["shape"][1] == 10)
    image = array("float32", (4, 5, 32, 32))
    assert search._climb([_start(1, image), _start(1, WORDS)], float("inf")).inputs["x"]["dtype"] == "int32"
    search = _Fake(lambda attempt: attempt.inputs["x"]["shape"][1] == 10)
    search.hints["first"] = "images"
    assert search._climb([_start(1, WORDS), _start(1, image)], float("inf")).inputs["x"]["dtype"] == "float32"
