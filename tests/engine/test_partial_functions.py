"""``functools.partial(F.average_pooling_2d, ksize=3)``: PyTorch's own function with its own keywords."""

import pytest

from tests.support.native_snippets import run

HEAD = "import functools\nfrom functools import partial\nimport chainer.links as L\n"
USE = """
x = chainer.Variable(np.random.RandomState(0).randn(2, 3, 8, 8).astype('f'))
f = {made}
def run(_):
    return [float(F.sum(f(x) ** 2).array), *f(x).shape]
"""


@pytest.mark.parametrize(
    ("made", "after"),
    [
        (
            "partial(F.average_pooling_2d, ksize=3, stride=1, pad=1)",
            "partial(F.avg_pool2d, kernel_size=3, stride=1, padding=1)",
        ),
        (
            "functools.partial(F.average_pooling_2d, ksize=(2, 4))",
            "functools.partial(F.avg_pool2d, kernel_size=(2, 4))",
        ),
        (
            "partial(F.max_pooling_2d, ksize=3, stride=2)",
            "partial(F.max_pool2d, kernel_size=3, stride=2, ceil_mode=True)",
        ),
        ("partial(F.max_pooling_2d, ksize=2, cover_all=False)", "partial(F.max_pool2d, kernel_size=2)"),
        ("partial(F.leaky_relu, slope=0.1)", "partial(F.leaky_relu, negative_slope=0.1)"),
        ("partial(F.softmax, axis=2)", "partial(F.softmax, dim=2)"),
    ],
)
def test_the_plain_function(made, after):
    text = HEAD + USE.format(made=made)
    theirs, ours, code = run(text)
    assert after in code and ours == pytest.approx(theirs, rel=1e-5), code


@pytest.mark.parametrize(
    "made",
    [
        "partial(F.max_pooling_2d, ksize=2, stride=3)",  # more than one call of PyTorch's
        "partial(F.average_pooling_2d, ksize=2, pad=2)",
        "partial(F.dropout, ratio=0.0)",  # which asks for the mode
        "partial(F.average_pooling_2d, **{'ksize': 2})",
    ],
)
def test_what_has_no_plain_form_keeps_the_helper(made):
    text = HEAD + USE.format(made=made)
    theirs, ours, code = run(text)
    assert "compat." in code and ours == pytest.approx(theirs, rel=1e-5), code


def test_a_setting_that_comes_later_has_chainers_name():
    text = HEAD + USE.format(made="partial(F.average_pooling_2d, ksize=2)").replace("f(x)", "f(x, stride=3)")
    theirs, ours, code = run(text)
    assert "compat.average_pooling_2d" in code and ours == pytest.approx(theirs, rel=1e-5)


def test_constructors_and_functions_have_their_own_settings():
    classes = "class Conv(L.Convolution2D):\n    def __init__(self, n, ksize, stride=1):\n"
    classes += "        super().__init__(n, n, ksize=ksize, stride=stride)\n"
    classes += "def pooled(x, pad=0):\n    return x\n"
    use = (
        USE.format(made="partial(F.average_pooling_2d, ksize=2)") + "    Conv(3, ksize=3, stride=2), pooled(x, pad=1)\n"
    )
    theirs, ours, code = run(HEAD + classes + use)
    assert "partial(F.avg_pool2d, kernel_size=2)" in code and ours == pytest.approx(theirs, rel=1e-5), code
