"""The settings of a project by their names: what a search tries for an option that a model asks for."""

from chainer2torch.verify.models import inferred
from chainer2torch.verify.models.inferred_arguments import Calls
from chainer2torch.verify.models.options import options, read_settings

NET = """
import argparse

import chainer

ACTIVATIONS = {'relu': max, 'gelu': min}
DEFAULTS = {'pooling': 'avg', 'units': 2048, 'heads': 2}
parser = argparse.ArgumentParser()
parser.add_argument('--optimizer', default='adam')
parser.add_argument('--units', default=512)


class Config:
    kernel = 5

    def __init__(self, vocabulary, act='tanh', hidden=768, bias=True):
        self.act = act


def make(cfg):
    return ACTIVATIONS[cfg.activation]
"""


def test_where_settings_have_values(tmp_path):
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "conf.yaml").write_text("depth: 7\n")
    analysis = inferred._analysis(tmp_path, tmp_path / "out")
    found = options(analysis, Calls(analysis), read_settings(tmp_path))
    assert found["optimizer"] == ["'adam'"] and found["depth"] == ["7"]
    # a size of the program's own makes a large model: the option of a script is one, a table's is not tried
    assert found["units"] == ["512"] and "hidden" not in found
    assert found["pooling"] == ["'avg'"] and found["heads"] == ["2"] and found["kernel"] == ["5"]
    assert found["act"] == ["'tanh'"] and found["bias"] == ["True"]
    assert found["activation"] == ["'relu'", "'gelu'"]
