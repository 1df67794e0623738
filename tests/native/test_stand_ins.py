"""Tests put mocks in the place of layers; PyTorch takes nothing but a module under the name of one."""

from chainer2torch.engine import migrate_sources
from tests.support.native_snippets import RULES, migrated, run

PROGRAM = """
import chainer.links as L
from unittest import mock


class Wrapper(chainer.Chain):
    def __init__(self, predictor):
        super().__init__()
        with self.init_scope():
            self.predictor = predictor

    def forward(self, x):
        return self.predictor(x)


def run(xs):
    link = Wrapper(L.Linear(2, 2))
    link.predictor = mock.MagicMock(return_value=3)
    found = [link(xs[0])]
    link.predictor.assert_called_once()
    link.predictor = mock.Mock(side_effect=[4, 5])
    link.seen = mock.Mock(return_value=6)
    return found + [link(1), link(2), link.seen()]
"""


def test_a_mock_in_the_place_of_a_layer():
    theirs, ours, code = run(PROGRAM)
    assert ours == theirs == [3, 4, 5, 6]
    assert "object.__setattr__(link, 'predictor', mock.MagicMock(return_value=3))" in code
    assert "link.seen = mock.Mock" in code


def test_an_array_set_in_a_variable_of_unknown_kind():
    """Also in a file that imports no Chainer: a tensor takes any attribute, and nothing would change."""
    text = "def f(model, *inputs):\n    F.relu(model)\n    inputs[0].array = inputs[1]\n    return model(*inputs)\n"
    result = migrated(text)
    assert "compat.set_array_of(inputs[0], inputs[1])" in result.code and "TODO" not in result.code


def test_members_of_variables_in_files_that_take_only_the_projects_own():
    files = {
        "net.py": "import chainer\n\n\nclass Net(chainer.Chain):\n    pass\n",
        "tools.py": "from net import Net\n\n\ndef f(x, y):\n    x.array = y.array - 1\n    return Net()\n",
        "apart.py": "def f(x, y):\n    x.array = y.array - 1\n",
    }
    codes = {path: result.code for path, result in migrate_sources(files, rules=RULES).items()}
    assert "compat.set_array_of(x, y.detach() - 1)" in codes["tools.py"], codes["tools.py"]
    assert codes["apart.py"] == files["apart.py"]
