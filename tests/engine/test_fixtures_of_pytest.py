"""What fixtures of pytest make reaches models as tensors: Chainer takes arrays of NumPy, PyTorch does not."""

import os
import subprocess
import sys

from chainer2torch.engine import Options, migrate_source
from chainer2torch.vendor import compat_file

TESTS = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
import pytest


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.e = L.EmbedID(9, 3)

    def __call__(self, x, adj):
        return F.matmul(adj, self.e(x))


@pytest.fixture
def model():
    return Net()


@pytest.fixture(scope="module")
def data():
    return np.arange(4).astype("i").reshape(2, 2), np.ones((2, 2, 2), "f")


def check(model, *args):
    return model(*args).array.shape


def test_handed_on(model, data):
    assert check(model, data[0], data[1]) == (2, 2, 3)


def test_straight(model, data):
    x, adj = data
    assert model(x, adj).shape == (2, 2, 3)


@pytest.mark.parametrize("data", [3, 4])
def test_that_has_its_own(data):
    assert data in (3, 4)
"""


def test_they_reach_the_model_as_tensors(tmp_path):
    result = migrate_source(TESTS, options=Options(style="native"))
    assert [site for site in result.sites if site.state == "manual"] == []
    (tmp_path / "test_net.py").write_text(result.code, encoding="utf-8")
    (tmp_path / "chainer_compat.py").write_text(compat_file.build(result.helpers, style="native"), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "test_net.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "4 passed" in done.stdout, done.stdout + result.code


def test_a_name_that_is_parametrized_is_no_fixture():
    made = '\n\n@pytest.fixture\ndef row():\n    return np.ones((2, 2), "f")\n\n'
    asked = "def test_row({names}):\n    assert F.relu(row).shape[0] == 2\n"
    code = migrate_source(TESTS + made + asked.format(names="row"), options=Options(style="native")).code
    assert "F.relu(torch.as_tensor(row))" in code
    own = '@pytest.mark.parametrize("row, n", [(chainer.Variable(np.zeros((2, 2), "f")), 1)])\n'
    code = migrate_source(TESTS + made + own + asked.format(names="row, n"), options=Options(style="native")).code
    assert "F.relu(row)" in code
