"""Layers whose sizes come from a list that may hold None: they wait for their first input, as in Chainer."""

import numpy as np
import pytest
import torch

from tests.support.native_programs import both

HEAD = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\nimport numpy as np\n\n"
PROGRAM = """
class Block(chainer.Chain):
    def __init__(self, n_in, n_out):
        super().__init__()
        with self.init_scope():
            self.layer = LAYER

    def __call__(self, x):
        return F.relu(self.layer(x))

class Net(chainer.Chain):
    def __init__(self, sizes=(4, 5), n_in=None):
        super().__init__()
        sizes = SIZES
        with self.init_scope():
            self.blocks = chainer.ChainList(BLOCKS)

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x

LINE
"""
LAYERS = [
    ("L.Linear(n_in, n_out)", (2, 3), "nn.LazyLinear(n_out) if n_in is None else nn.Linear(n_in, n_out)"),
    ("L.Convolution2D(n_in, n_out, 1)", (2, 3, 4, 4), "conv(2,"),
    ("L.Convolution1D(n_in, n_out, 2)", (2, 3, 5), "conv(1,"),
    ("L.Deconvolution2D(n_in, n_out, 2)", (2, 3, 4, 4), "conv_transpose(2,"),
]
LISTS = [
    ("[n_in] + list(sizes)", "*[Block(sizes[i], sizes[i + 1]) for i in range(2)]"),
    ("[n_in, *sizes]", "*[Block(a, b) for a, b in zip(sizes, sizes[1:])]"),
    ("[None, 4, 5]", "*[Block(sizes[i], sizes[i + 1]) for i in range(2)]"),
]


def program(layer, sizes, blocks, line="net = Net()"):
    text = PROGRAM.replace("LAYER", layer).replace("SIZES", sizes).replace("BLOCKS", blocks)
    return text.replace("LINE", line)


@pytest.mark.parametrize(("layer", "shape", "written"), LAYERS)
@pytest.mark.parametrize(("sizes", "blocks"), LISTS)
def test_the_first_input_gives_the_size(layer, shape, written, sizes, blocks):
    theirs, ours, code = both(program(layer, sizes, blocks), HEAD)
    assert written in code, code
    x = np.random.RandomState(0).randn(*shape).astype("f")
    model, module = theirs["net"], ours["net"]
    module(torch.as_tensor(x))  # its parameters get their shapes
    expected = model(x)
    names = {"weight": "W", "bias": "b"}
    found = {
        f"/blocks/{path.split('.')[1]}/layer/{names[path.split('.')[-1]]}": p for path, p in module.named_parameters()
    }
    assert found.keys() == dict(model.namedparams()).keys()
    for (path, param), (_, got) in zip(sorted(model.namedparams()), sorted(found.items())):
        assert tuple(got.shape) == param.shape, path
        got.data = torch.as_tensor(param.array.copy())
    got = module(torch.as_tensor(x))
    np.testing.assert_allclose(got.detach().numpy(), expected.array, rtol=1e-4, atol=1e-5, err_msg=code)
    if "Deconvolution" in layer:
        return  # Chainer's own backward of a deconvolution fails here
    model.cleargrads()
    expected.grad = np.ones_like(expected.array)
    expected.backward()
    got.sum().backward()
    for (path, param), (_, own) in zip(sorted(model.namedparams()), sorted(found.items())):
        np.testing.assert_allclose(own.grad.numpy(), param.grad, rtol=1e-4, atol=1e-4, err_msg=path)


def test_a_list_without_none_is_plain():
    sizes, blocks = "[3] + list(sizes)", LISTS[0][1]
    _, _, code = both(program("L.Convolution2D(n_in, n_out, 1)", sizes, blocks), HEAD)
    assert "nn.Conv2d(n_in, n_out, 1)" in code, code
