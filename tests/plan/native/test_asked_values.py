"""Whether a parameter has values yet, asked of PyTorch itself where its name says that it is no bias."""

import pytest

from tests.support.native_snippets import migrated, run

HEAD = "import chainer.links as L\n"
PROGRAM = (
    HEAD
    + """
class Own(chainer.Chain):
    def __init__(self):
        super(Own, self).__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, 2, initialW=0.5, nobias=True)
            self.scale = chainer.Parameter(1.5)

    def __call__(self, x):
        if {asked}:
            self.scale.initialize((x.shape[1],))
        return self.l1(x * self.scale)


def run(xs):
    net, x = Own(), np.arange(6, dtype='f').reshape(2, 3)
    seen = [{first}, {kept}]
    y = net(net(x)[:, :1] + x)
    return [np.array(v) for v in (*seen, {first}, {kept})] + [np.array(y.array)]
"""
)


@pytest.mark.parametrize("asked", ["self.scale.data is None", "not self.scale.is_initialized"])
@pytest.mark.parametrize("first", ["net.l1.W.array is not None", "net.l1.W.is_initialized"])
def test_it_is_asked_of_torch(asked, first):
    theirs, ours, code = run(PROGRAM.format(asked=asked, first=first, kept="net.scale.is_initialized"))
    for expected, found in zip(theirs, ours, strict=True):
        assert (expected == found).all()
    assert "if nn.parameter.is_lazy(self.scale):" in code and "parameter_is_initialized" not in code


def test_the_bias_of_a_lazy_layer_has_values_in_chainer():
    asked = "return net.b.array is None, not net.b.is_initialized, net.W.array is None"
    code = migrated(f"{HEAD}\n\ndef f(c):\n    net = L.Linear(None, 3)\n    {asked}\n").code
    assert code.count("parameter_is_initialized(net.bias)") == 2 and "nn.parameter.is_lazy(net.weight)" in code
