"""Attributes that torch.nn.Module needs for itself: of what is a link by its use, and names that are looked up."""

import pytest

from chainer2torch.engine import migrate_sources

NET = """
import chainer


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        self.train = True

    def __call__(self, x):
        return x if self.train else 2 * x
"""


def _migrated(lines, made="importlib.import_module(name).Model()"):
    head = (
        "import importlib\nimport chainer\nimport chainer.links as L\nimport net\nfrom chainer import serializers\n\n\n"
    )
    text = head + f"def run(name, args):\n    model = {made}\n{lines}"
    return migrate_sources({"net.py": NET, "run.py": text})["run.py"].code


@pytest.mark.parametrize(
    "lines",
    [
        "    model.to_gpu()\n    model.train = False\n    return model\n",
        "    model.train = False\n    serializers.load_npz('a.npz', model)\n    return model\n",
        "    serializers.load_npz('a.npz', model)\n    return model if model.train else None\n",
    ],
)
def test_what_is_used_as_a_link_is_one(lines):
    code = _migrated(lines)
    assert "model.train_" in code and "C2T202" not in code


@pytest.mark.parametrize(
    "lines",
    [
        "    model.train = False\n    return model\n",  # it may be a data set
        "    serializers.load_npz('a.npz', model)\n    args.train = False\n    return model\n",
    ],
)
def test_what_nobody_knows_is_asked(lines):
    code = _migrated(lines)
    assert ".train_ =" not in code and "C2T202" in code


@pytest.mark.parametrize(
    ("lines", "asked"),
    [
        ("    for part in ['fc6', 'fc7']:\n        print(getattr(model, part))\n    return 'train'\n", False),
        ("    for part in ['fc6', 'train']:\n        print(getattr(model, part))\n", True),
        ("    for part in ['fc6', name]:\n        print(getattr(model, part))\n    return 'train'\n", True),
        ("    with chainer.using_config('train', False):\n        return getattr(model, name + '6')\n", False),
        ("    with chainer.using_config('train', False):\n        return getattr(model, name + '6'), 'train'\n", True),
    ],
)
def test_names_that_are_looked_up(lines, asked):
    assert ("C2T202" in _migrated(lines, "net.Net()")) is asked
