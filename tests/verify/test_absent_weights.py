"""Constructors that load files of weights which are not there: the comparison draws all weights itself."""

import pytest

from chainer2torch.verify.models.verify_models import verify_models
from tests.support import model_batch
from tests.support.command_line import run

PROJECT = """
import os

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import serializers
from chainer.dataset import download
from chainer.serializers import npz


class Loads(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(8, 4))
        serializers.load_npz('trained.npz', self)

    def __call__(self, x):
        return F.relu(self.fc(x))


def fetch(url, path, model):
    download.cached_download(url)
    npz.load_npz(path, model)
    return model


class Fetches(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(8, 4))
        path = os.path.join(download.get_dataset_directory('models/of/mine', create_directory=False), 'w.npz')
        download.cache_or_load_file(
            path, lambda p: fetch('http://localhost:9/w', p, self), lambda p: npz.load_npz(p, self))

    def __call__(self, x):
        return F.tanh(self.fc(x))
"""


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_a_model_is_made_without_them(tmp_path, style):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "net.py").write_text(PROJECT)
    if style == "faithful":
        model_batch.migrated_tree(tmp_path / "src", tmp_path / "out")
    else:
        assert run("migrate", tmp_path / "src", "-q", "-o", tmp_path / "out").returncode in (0, 1)
    report = verify_models(tmp_path / "src", tmp_path / "out", steps=1, timeout=300)
    assert set(report.classes().values()) == {"proved"} and len(report.classes()) == 2, report.lines(verbose=True)
    (tmp_path / "out" / "net.py").write_text((tmp_path / "out" / "net.py").read_text().replace("tanh", "sigmoid"))
    report = verify_models(tmp_path / "src", tmp_path / "out", steps=1, timeout=300)
    assert report.classes()["net:Fetches"] == "differs"
