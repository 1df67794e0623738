"""Classes of functions as Chainer had them up to version 2: made, called, and asked for by their old names."""

import chainer
import chainer.functions as F
import numpy as np
import pytest

from chainer2torch.verify.worker import chainer_legacy, first_names


@pytest.fixture
def old(monkeypatch):
    monkeypatch.setattr(chainer.FunctionNode, "__call__", chainer.FunctionNode.__call__)
    monkeypatch.setattr(F, "__getattr__", None, raising=False)
    monkeypatch.delattr(F, "__getattr__")
    first_names.install()
    chainer_legacy.old_functions()
    yield
    del F.__getattr__


class Double(chainer.FunctionNode):
    def forward(self, inputs):
        return (inputs[0] * 2,)


def test_a_function_of_the_program_is_called(old):
    assert Double()(np.ones(2, np.float32)).array.tolist() == [2, 2]


def test_a_class_that_is_gone_is_imported_by_its_path(old):
    from chainer.functions.pooling.max_pooling_2d import MaxPooling2D

    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    expected = F.max_pooling_2d(x, 3, stride=1).array.tolist()
    assert MaxPooling2D(3, stride=1)(x).array.tolist() == expected
    assert MaxPooling2D(3, 1).apply((x,))[0].array.tolist() == expected
    with pytest.raises(ImportError):
        from chainer.functions.pooling.max_pooling_2d import NoPooling  # noqa: F401
