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


def test_what_pooling_has_of_its_last_call_is_asked_and_set(old):
    pool = F.MaxPooling2D(2, 2)
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    assert pool(x).array.tolist() == [[[[5, 7], [13, 15]]]]
    assert pool.indexes.tolist() == [[[[3, 3], [3, 3]]]] and (pool.kh, pool.kw, pool.sy, pool.ph) == (2, 2, 2, 0)
    pool.indexes = pool.indexes[:, :, :1, :1]
    assert pool.indexes.shape == (1, 1, 1, 1)
    pool(x)
    assert pool.indexes.shape == (1, 1, 2, 2)
    with pytest.raises(AttributeError):
        pool.no_such_name  # noqa: B018


def test_a_deconvolution_of_data_has_a_backward_pass_where_chainer_raises(tmp_path):
    """Of data that need no gradient Chainer 7 hands on arrays where its own code wants their shapes."""
    from chainer2torch.verify.script.verify_script import verify_script
    from tests.support import model_batch

    model_batch.migrated(
        tmp_path,
        """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

net = L.Deconvolution2D(2, 3, 4, stride=2, pad=1)
optimizer = chainer.optimizers.SGD(0.1).setup(net)
for i in range(3):
    optimizer.update(lambda x: F.mean(net(x) ** 2), np.random.rand(2, 2, 5, 5).astype('f'))
""",
    )
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=300)
    assert report.ok and report.iterations == 3, "\n".join(report.lines())


def test_an_array_is_a_batch_as_it_was_before_chainer_7(tmp_path):
    from chainer2torch.verify.script.verify_script import verify_script
    from tests.support import model_batch

    model_batch.migrated(
        tmp_path,
        """
import chainer
import numpy as np

x = chainer.dataset.concat_examples(np.arange(6, dtype='f').reshape(3, 2), -1)
print(x * 2)
""",
    )
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=300)
    assert report.ok, "\n".join(report.lines())
