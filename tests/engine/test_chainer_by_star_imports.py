"""A file that has Chainer's names by `from common import *` alone is migrated as one that imports Chainer itself."""

import pytest

from chainer2torch.engine import Options, migrate_sources

_COMMON = "import numpy as np\nimport chainer\nimport chainer.functions as F\nimport chainer.links as L\n"
_NET = """
class Net(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        for i in range(n):
            self.add_link('fc%d' % i, L.Linear(2, 2))

    def __call__(self, x):
        return F.tanh(self['fc%d' % (len(x) % 2)](x))


def summed(losses):
    total, history = 0, []
    for loss in losses:
        total += F.sum(loss).data
        history.append(total)
    return history
"""


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_chainer_comes_by_a_star_import(style: str) -> None:
    alone = migrate_sources({"net.py": _COMMON + _NET}, options=Options(style=style))["net.py"].code
    starred = migrate_sources(
        {"common.py": _COMMON, "net.py": "from common import *\n" + _NET}, options=Options(style=style)
    )
    code = starred["net.py"].code
    assert "self['fc%d'" not in code and "total = total + " in code, code
    ends = [text[text.index("class Net") :] for text in (alone, code)]
    assert ends[0] == ends[1]
