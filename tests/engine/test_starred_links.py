"""Links that are called with ``*`` or ``**``: words that only version 1 of Chainer knew are said in today's."""

import sys
import types
from unittest import mock

import chainer
import chainer.links as L
import numpy as np
import pytest
import torch

from chainer2torch import migrate_source
from chainer2torch.engine import Options
from chainer2torch.vendor import compat_file

HEAD = """
import chainer.links as L

def sizes(**others):
    found = {'in_channels': 4, 'out_channels': 400}
    found.update(others)
    return found

"""
STYLES = pytest.mark.parametrize("style", ["native", "faithful"])


def made(lines, style, minor=9):
    """The names that the migrated lines make, the sites of the links, and the text."""
    result = migrate_source(
        HEAD + lines, options=Options(chainer_version=1 if minor else None, chainer_minor=minor, style=style)
    )
    compat, names = types.ModuleType("chainer_compat"), {}
    exec(compile(compat_file.build(result.helpers, style=style), "chainer_compat.py", "exec"), vars(compat))
    with mock.patch.dict(sys.modules, chainer_compat=compat):
        exec(result.code, names)
    return names, [s for s in result.sites if s.symbol.startswith("chainer.links.")], result.code


@STYLES
@pytest.mark.parametrize(
    ("line", "minor", "spread", "state"),
    [  # Chainer 1.8.2: wscale / sqrt(fan); 1.9.1: sqrt(wscale / fan)
        ("l = L.Convolution2D(**sizes(ksize=5), wscale=9)", 8, 0.9, "exact"),
        ("l = L.Convolution2D(**sizes(ksize=5), wscale=9)", 9, 0.3, "exact"),
        ("l = L.Convolution2D(**sizes(ksize=5), wscale=9)", None, 0.9, "review"),
        ("l = L.Convolution2D(**sizes(ksize=5), wscale=9, initialW=None)", 9, 0.3, "exact"),
        ("l = L.Convolution2D(**sizes(ksize=5), wscale=1, initialW=None)", 9, 0.1, "exact"),
        ("l = L.Convolution2D(**sizes(ksize=5), wscale=9, use_cudnn=False)", 9, 0.3, "exact"),
        ("l = L.Deconvolution2D(**{'in_channels': 400, 'out_channels': 4}, ksize=5, wscale=9)", 9, 0.3, "exact"),
        ("l = L.Linear(*[100, 400], wscale=4)", 9, 0.2, "exact"),
        (
            "def f(w):\n    o = {'wscale': w, 'nobias': True}\n    return L.Linear(100, 400, **o)\nl = f(4)",
            9,
            0.2,
            "exact",
        ),
    ],
)
def test_the_scale_of_first_weights(line, minor, spread, state, style):
    names, sites, code = made(line + "\n", style, minor)
    assert [site.state for site in sites] == [state], code
    assert float(names["l"].weight.detach().std()) == pytest.approx(spread, rel=0.03), code


@STYLES
def test_the_layer_is_chainers(style):
    options = {"in_channels": 4, "out_channels": 3, "ksize": 2, "stride": 2}
    names, _, code = made(
        "l = L.Convolution2D(**sizes(out_channels=3, ksize=2, stride=2), wscale=9, bias=0.5)\n", style
    )
    theirs, x = L.Convolution2D(**options, initial_bias=0.5), np.random.RandomState(0).randn(2, 4, 6, 7).astype("f")
    theirs.cleargrads()
    theirs.W.array[...] = names["l"].weight.detach().numpy()
    found, given = torch.tensor(x, requires_grad=True), chainer.Variable(x)
    expected, got = theirs(given), names["l"](found)
    np.testing.assert_allclose(got.detach().numpy(), expected.array, rtol=1e-4, atol=1e-5, err_msg=code)
    expected.grad = np.ones_like(expected.array)
    expected.backward()
    got.sum().backward()
    np.testing.assert_allclose(found.grad.numpy(), given.grad, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(names["l"].weight.grad.numpy(), theirs.W.grad, rtol=1e-4, atol=1e-4)


@STYLES
@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ("o = {'wscale': 4}\nl = L.Linear(100, 400, **o)\n", "review"),
        ("o = {}\no['wscale'] = 4\nl = L.Linear(100, 400, **o)\n", "review"),
        ("o = dict()\no.update(wscale=4)\nl = L.Linear(100, 400, **o)\n", "review"),
        ("def f(**o):\n    return L.Linear(100, 400, **o)\nl = f(wscale=4)\n", "review"),
        (
            "def f(**o):\n    return L.Linear(100, 400, **o)\nl = f(nobias=True)\nweights = {'wscale': 1, 'a': 2}\n",
            "exact",
        ),
        ("l = L.Linear(*[100, 400], wscale=4, colour='red')\n", "manual"),
        ("l = L.Linear(*[100, 400], colour='red')\n", "manual"),
    ],
)
def test_what_the_helper_refuses_is_said(lines, state, style):
    sites = migrate_source(HEAD + lines, options=Options(style=style)).sites
    assert [s.state for s in sites if s.symbol == "chainer.links.Linear"] == [state]


@pytest.mark.parametrize(
    "call", ["chainer.Chain(**links)", "chainer.FunctionSet(**links)", "chainer.Chain(b=L.Linear(2, 1), **links)"]
)
def test_children_that_a_function_is_handed(call):
    """``def make(**links): return FunctionSet(**links)``, as programs of version 1 wrap it."""
    text = f"import chainer\n{HEAD}def make(**links):\n    return {call}\nnet = make(a=L.Linear(3, 2))\n"
    result = migrate_source(text)
    assert "return compat." + call.partition(".")[2].replace("FunctionSet", "Chain").partition("(")[0] in result.code
    assert {site.state for site in result.sites} == {"exact"}
