"""Functions with CUDA code as text for a GPU and a formula for the CPU: the formula is what is left, for both."""

import sys
import types
from unittest import mock

import numpy as np
import pytest
import torch

from chainer2torch.engine import Options, migrate_source
from chainer2torch.vendor import compat_file

FUNCTION = """
import chainer
import numpy as np
from chainer import cuda


class Square(chainer.Function):

    def forward_cpu(self, inputs):
        x, = inputs
        self.kept = x * 2
        return x * x,

    def forward_gpu(self, inputs):
        x, = inputs
        y = cuda.elementwise('raw T x', 'T y', 'y = x[i] * x[i]', 'square')(x)
        self.kept = x * 2
        return y,

    def backward_cpu(self, inputs, grads):
        return self.kept * grads[0],

    def backward_gpu(self, inputs, grads):
        return self.kept * grads[0],


def run():
    x = chainer.Variable(np.arange(4, dtype='f'))
    y = Square()(x)
    y.grad = np.array([1, 2, 3, 4], dtype='f')
    y.backward()
    return y.data.tolist(), x.grad.tolist()
"""


def _migrated(text):
    return migrate_source(text, options=Options(style="native"))


def _namespaces(result):
    compat = types.ModuleType("chainer_compat")
    exec(compile(compat_file.build(result.helpers, style="native"), "<helpers>", "exec"), compat.__dict__)
    ours: dict = {}
    with mock.patch.dict(sys.modules, chainer_compat=compat):
        exec(compile(result.code, "<migrated>", "exec"), ours)
    return ours


def test_the_formula_for_the_cpu_is_left():
    result = _migrated(FUNCTION)
    assert "_gpu" not in result.code and "TODO" not in result.code and "import chainer\n" not in result.code
    assert "chainer.backends.cuda.elementwise" in [s.symbol for s in result.sites if s.state == "review"]
    theirs: dict = {}
    exec(compile(FUNCTION, "<original>", "exec"), theirs)
    assert _namespaces(result)["run"]() == theirs["run"]() == ([0, 1, 4, 9], [0, 4, 12, 24])


class _OnGpu(torch.Tensor):
    """A tensor that says that it is on a GPU."""

    is_cuda = True  # type: ignore[assignment]


def test_it_is_called_with_tensors_of_a_gpu_too():
    square = _namespaces(_migrated(FUNCTION))["Square"]()
    x = torch.arange(4.0).as_subclass(_OnGpu)
    assert square.forward((x,))[0].tolist() == [0, 1, 4, 9]
    assert square.backward((x,), (torch.ones(4).as_subclass(_OnGpu),))[0].tolist() == [0, 2, 4, 6]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu():
    square = _namespaces(_migrated(FUNCTION))["Square"]()
    x = torch.arange(4.0, device="cuda", requires_grad=True)
    square(x).sum().backward()
    np.testing.assert_array_equal(x.grad.cpu().numpy(), [0, 2, 4, 6])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    def backward_cpu", "    def backward_other"),  # the GPU's step reads what the GPU's step kept
        ("    def forward_cpu", "    def forward_other"),
        ("class Square(chainer.Function)", "class Square(chainer.functions.activation.relu.ReLU)"),
        ("    def forward_cpu", "    @property\n    def forward_cpu".replace("\\\n", "\n")),
        ("def run():", "def run():\n    Square().forward_gpu".replace("\\\n", "\n")),
        ("'raw T x', 'T y', 'y = x[i] * x[i]'", "'T x', 'T y', 'y = x * x'"),  # a formula by itself
    ],
)
def test_any_other_stays(old, new):
    assert FUNCTION.count(old) == 1
    assert "def forward_gpu" in _migrated(FUNCTION.replace(old, new)).code


def test_a_class_that_has_steps_for_a_gpu_alone_asks_for_them():
    text = FUNCTION.replace("'raw T x', 'T y', 'y = x[i] * x[i]'", "'T x', 'T y', 'y = x * x'")
    square = _namespaces(_migrated(text))["Square"]()
    with mock.patch.object(type(square), "forward_gpu", lambda self, inputs: "gpu"):
        assert square.forward((torch.arange(4.0).as_subclass(_OnGpu),)) == "gpu"
    assert square.forward((torch.arange(4.0),))[0].tolist() == [0, 1, 4, 9]
