"""Walks over the parts of a link are questions only where a recurrent layer with stacked parameters may be met."""

import pytest

from chainer2torch.engine import migrate_sources

HEAD = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\n\n\n"
MLP = (
    HEAD + "class MLP(chainer.ChainList):\n    def __init__(self):\n        super().__init__()\n"
    "        for _ in range(3):\n            self.add_link({part})\n\n"
    "    def forward(self, x):\n        for link in self.children():\n            x = F.relu(link(x))\n"
    "        return x\n"
)
ENCODER = (
    HEAD + "class Encoder(chainer.Chain):\n    def __init__(self):\n        super().__init__()\n"
    "        with self.init_scope():\n            self.rnn = L.NStepLSTM(1, 3, 4, 0.0)\n"
)


def _asked(files):
    return {path for path, result in migrate_sources(files).items() if "stacked parameters" in result.code}


@pytest.mark.parametrize(
    "part", ["L.Linear(4, 4)", "L.BatchNormalization(4)", "chainer.Sequential(L.Linear(4, 4), F.relu)"]
)
def test_a_class_whose_parts_are_known(part):
    """Beside an NStep layer of the same file, which is none of its parts."""
    text = MLP.format(part=part) + ENCODER.removeprefix(HEAD)
    assert _asked({"nets.py": text}) == set()


def test_a_class_that_makes_one():
    assert _asked({"nets.py": MLP.format(part="L.NStepLSTM(1, 3, 4, 0.0)")}) == {"nets.py"}


def test_a_class_that_holds_one_of_its_own():
    text = ENCODER + MLP.format(part="Encoder()").removeprefix(HEAD)
    assert _asked({"nets.py": text}) == {"nets.py"}


def test_a_class_that_is_given_its_parts():
    text = MLP.format(part="part").replace("__init__(self):\n        super", "__init__(self, part):\n        super")
    assert _asked({"nets.py": text + ENCODER.removeprefix(HEAD)}) == {"nets.py"}


def test_a_class_that_is_given_a_sequence():
    """What is in it, the caller says."""
    text = MLP.format(part="parts").replace("__init__(self):\n        super", "__init__(self, parts):\n        super")
    text += "\n\nnet = MLP(chainer.Sequential(L.NStepLSTM(1, 3, 4, 0.0)))\n"
    assert _asked({"nets.py": text}) == {"nets.py"}


def test_a_subclass_that_adds_one():
    more = "class More(MLP):\n    def __init__(self):\n        super().__init__()\n"
    more += "        self.add_link(L.NStepGRU(1, 3, 4, 0.0))\n"
    assert _asked({"nets.py": MLP.format(part="L.Linear(4, 4)") + more}) == {"nets.py"}


def test_files_that_never_meet():
    """A walk over parts that nobody knows, in a program without such layers."""
    walk = MLP.format(part="part").replace("__init__(self):\n        super", "__init__(self, part):\n        super")
    assert _asked({"a/walk.py": walk, "b/nets.py": ENCODER}) == set()
    assert _asked({"a/walk.py": walk + "import nets\n", "a/nets.py": ENCODER}) == {"a/walk.py"}


def test_parameters_of_layers_that_only_the_run_knows():
    """Replacing the array of ``layer.W`` is decided, and nothing more is said of it."""
    text = (
        HEAD + "def copy(dst, src):\n    dst.conv.W.array = src.conv.W.array\n    dst.bn.beta.data = src.bn.beta.data\n"
    )
    result = migrate_sources({"copy.py": text})["copy.py"]
    assert "TODO" not in result.code and {site.state for site in result.sites} == {"exact"}
