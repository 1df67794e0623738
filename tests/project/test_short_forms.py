"""Short helpers of the native style that take the place of long ones, also inside other helpers."""

import ast

import pytest

from chainer2torch.vendor.compat_file import build
from chainer2torch.vendor.short_forms import SHORT_FORMS
from tests.support.native_snippets import migrated


def _defined(text):
    return {node.name for node in ast.parse(text).body if hasattr(node, "name")}


@pytest.mark.parametrize("name", sorted(SHORT_FORMS))
def test_both_forms_exist_and_the_short_one_is_shorter(name):
    native = build([name], style="native", said=[name])
    faithful = build([name], said=[name])
    assert {name} <= _defined(native) & _defined(faithful)
    assert not any(defined.startswith("faithful_") for defined in _defined(native))
    assert len(native.splitlines()) <= len(faithful.splitlines()) + 5


def test_other_helpers_use_the_short_form():
    text = build(["concat_examples", "to_cpu_of"], style="native", said=["concat_examples", "device_names"])
    assert {"get_device", "collate"} <= _defined(text) and "_send" not in _defined(text)
    assert "_send" in _defined(build(["concat_examples"], said=["concat_examples"]))


@pytest.mark.parametrize(
    ("said", "long"), [({"backward"}, False), ({"backward", "unchain_backward"}, True), ({"loss_scale"}, True)]
)
def test_a_cut_graph_or_a_loss_scale_needs_the_long_backward(said, long):
    text = build(["backward"], style="native", said=said)
    assert ("_leaves_before_cuts" in _defined(text)) is long
    assert "backward" in _defined(text) and "faithful_backward" not in text
    every = build(sorted({"backward", *said & {"unchain_backward"}}), style="native")
    assert ("_leaves_before_cuts" in _defined(every)) is ("unchain_backward" in said)


@pytest.mark.parametrize(
    ("names", "said", "long"),
    [
        (["check_backward"], {"check_backward"}, False),
        (["check_backward"], {"check_backward", "detect_nondifferentiable"}, True),
        (["check_backward", "check_double_backward"], {"check_double_backward"}, True),
    ],
)
def test_a_check_that_looks_for_corners_needs_the_long_form(names, said, long):
    text = build(names, style="native", said=said)
    assert ("_check_smooth" in _defined(text)) is long and "faithful_check" not in text
    assert "detect_nondifferentiable" not in text or long


def test_templates_mean_the_short_form():
    source = "import chainer\n\ndef f(x):\n    return g(chainer.backend.get_array_module(x))\n"
    code = migrated(source).code
    assert "compat.array_module(x)" in code and "faithful" not in code
    assert "_Ufunc" not in build(["array_module"], style="native", said=["array_module"])


@pytest.mark.parametrize(("said", "rows"), [(set(), 3), ({"groups"}, 12), ({"dilate", "groups"}, 13)])
def test_a_convolution_has_the_arguments_that_a_project_names(said, rows):
    text = build(["Convolution2D"], style="native", said={"stride", *said})
    header = text[text.index("def __init__", text.index("class Convolution2D")) :].partition("if ksize")[0]
    assert len(header.rstrip().splitlines()) == rows
    assert {name for name in ("dilate", "groups") if name in text} == said
