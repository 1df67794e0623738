"""Members that an object finds by ``__getattr__`` are those of a model perhaps: they are changed, and marked."""

import pytest

from chainer2torch.engine import Options, migrate_source

HEAD = """\
import chainer
import chainer.links as L


class Wrapper(object):
    def __init__(self, model):
        self._model = model

    def __getattr__(self, name):
        return getattr(self._model, name)

    def copyparams(self, other):
        return other


class Plain(object):
    def __init__(self, model):
        self._model = model


w = Wrapper(L.Linear(2, 2))
p = Plain(w)
"""


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize(
    ("line", "states"),
    [
        ("w.cleargrads()", ["review"]),
        ("list(w.namedparams())", ["review"]),
        ("w.zerograds()", ["review"]),
        ("w.to_gpu()", ["review"]),
        ("w.copyparams(w)", []),  # its own
        ("p.cleargrads()", []),  # raises in Chainer, too
    ],
)
def test_what_a_wrapper_is_asked_for(line, states, style):
    result = migrate_source(HEAD + line + "\n", options=Options(style=style))
    asked = [s.state for s in result.sites if s.symbol.startswith("?.") and s.line > HEAD.count("\n")]
    assert asked == states, result.code


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_gradients_are_forgotten_through_a_wrapper(style):
    code = migrate_source(HEAD + "w.cleargrads()\n", options=Options(style=style)).code
    assert ("w.zero_grad()" if style == "native" else "compat.cleargrads_of(w)") in code
