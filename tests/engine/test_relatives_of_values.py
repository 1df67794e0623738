"""Other ways to values: lists that are repeated, copies by pickle, members by computed names, caught errors."""

import numpy as np
import pytest

from chainer2torch.engine import migrate_source
from tests.support import native_programs
from tests.support.both_sides import HEAD, both

REPEATED = {
    "a list": "[0] * p[0], p[1] * [1, 2]",
    "a text": "'ab' * p[1], p.max() * '-', '%s' % ('x' * p[1])",
    "a tuple": "(0, 1) * p.max() + (2,)",
    "nothing known": "[None] * p[1]",
    "an array beside": "(np.array([1, 2, 3, 4], 'f') * y).sum()",
}


@pytest.mark.parametrize("name", REPEATED)
def test_lists_and_texts_are_repeated_by_elements_of_arrays(name: str) -> None:
    original, migrated = both(
        f"def f(x):\n    p = F.argmax(x, axis=1).array\n    y = F.relu(x).array[0]\n    return {REPEATED[name]}\n\n\n"
        "def main(x):\n    return f(chainer.Variable(x))\n"
    )
    x = np.array([[0, 2, 1, 0], [3, 1, 0, 5]], np.float32)
    assert repr(migrated["main"](x)) == repr(original["main"](x)) or migrated["main"](x) == original["main"](x)


def test_a_pickled_copy_is_a_model_too() -> None:
    original, migrated = both(
        "import pickle\n\nmodel = L.Linear(3, 2)\nmodel.W.array[...] = 1\ncopied = pickle.loads(pickle.dumps(model))\n"
        "y = copied(np.ones((2, 3), 'f')).array\nsame = copied.W.array is model.W.array\n"
    )
    np.testing.assert_array_equal(np.asarray(migrated["y"]), original["y"])
    assert migrated["same"] is original["same"] is False


@pytest.mark.parametrize(
    "asked",
    [
        "[float(getattr(bn, k).sum()) for k in ('avg_mean', 'avg_var')]",
        "[getattr(bn, k).array.size for k in ['gamma', 'beta']]",
        "[hasattr(bn, k) for k in ('gamma', 'avg_var', 'nothing')]",
        "total",
    ],
)
def test_members_of_layers_are_found_by_computed_names(asked: str) -> None:
    original, migrated = both(
        "bn = L.BatchNormalization(3)\nbn(np.arange(6, dtype='f').reshape(2, 3))\ntotal = 0\n"
        f"for name in 'gamma', 'beta':\n    total += float(getattr(bn, name).array.sum())\nfound = {asked}\n"
    )
    assert migrated["found"] == pytest.approx(original["found"]) or migrated["found"] == original["found"]


@pytest.mark.parametrize(
    ("use", "state"),
    [
        ("try:\n    y = F.relu(x)\nexcept type_check.InvalidType:\n    y = None\n", "review"),
        ("try:\n    y = F.relu(x)\nexcept (ValueError, type_check.InvalidType) as e:\n    y = None\n", "review"),
        ("with pytest.raises(type_check.InvalidType):\n    F.relu(x)\n", "review"),
        ("kind = type_check.InvalidType\n", "exact"),
    ],
)
def test_the_error_of_type_checks_that_is_caught_is_asked_for(use: str, state: str) -> None:
    head = HEAD + "import pytest\nfrom chainer.utils import type_check\n\nx = chainer.Variable(np.ones(3, 'f'))\n"
    result = migrate_source(head + use)
    assert [s.state for s in result.sites if s.symbol.endswith("InvalidType")] == [state], result.code
    assert migrate_source(result.code).code == result.code


@pytest.mark.parametrize(
    "written",
    [
        "round(a, 3), round(a * 7)",
        "[round(v, 2) for v in kept['a']]",
        "json.dumps(kept), json.dumps({'a': a}), json.dumps([a, 1, None], indent=1)",
        "json.dumps({'a': float(a)}), json.dumps('a'), json.dumps({'n': 3}, default=str)",
        "round(float(a), 1), round(2.345, 1)",
    ],
)
def test_numbers_of_arrays_are_rounded_and_written_as_json(written: str) -> None:
    original, migrated = both(
        "import json\n\n\ndef f(x):\n    a = (F.relu(x).array > 1).mean()\n    kept = {'a': []}\n"
        f"    kept['a'].append(a)\n    return {written}\n\n\ndef main(x):\n    return f(chainer.Variable(x))\n"
    )
    x = np.array([[0, 2, 1], [3, 1, 4]], np.float32)
    assert migrated["main"](x) == original["main"](x)


def test_statistics_and_gradients_of_unknown_layers_are_printed_as_arrays() -> None:
    code = migrate_source(
        HEAD
        + "\n\ndef show(model):\n    print(model.bn.avg_mean[:2], model[0].W.grad, model.fc.b.grad[0], model.grad)\n"
    ).code
    assert code.count("to_host(") == 4, code  # also of a value that may be a Variable


def test_what_a_dictionary_lacks_is_asked_of_the_other() -> None:
    original, migrated = both(
        "def f(x, one):\n    y = F.relu(x)\n    return y if one else {'y': y}\n\n\ndef main(x):\n"
        "    x = chainer.Variable(x)\n    return '%s %s' % (f(x, True).array[0], f(x, True).shape)\n"
    )
    x = np.ones((2, 3), np.float32)
    assert migrated["main"](x) == original["main"](x)


def test_batches_of_dictionaries_with_arrays_and_numbers_are_tensors() -> None:
    original, migrated = both(
        "from chainer.dataset import concat_examples\n\nb = concat_examples([{'a': np.zeros(2, 'f'), 'b': 1}] * 2)\n"
        "text = ['%s %s %s' % (k, v.dtype.name, v.shape) for k, v in sorted(b.items())]\n"
    )
    assert migrated["text"] == original["text"]


@pytest.mark.parametrize("run", [both, native_programs.both], ids=["faithful", "native"])
def test_a_link_is_asked_by_name_with_a_default(run) -> None:
    """``getattr(link, 'b', None)`` was silently the default."""
    original, migrated, *_ = run(
        """
        def f(l):
            known = getattr(l, 'b', None) is None, getattr(l, 'avg_var', None) is None, getattr(l, 'b', 3) is None
            return known, getattr(l, 'N', 7), [k for k in ('W', 'b', 'gamma') if getattr(l, k, None) is not None]


        def main():
            return [f(l) for l in (L.Linear(3, 2, nobias=True), L.Linear(3, 2), L.BatchNormalization(2))]
        """
    )
    assert migrated["main"]() == original["main"]()
