"""Files with the same text are files of their own: what stands in one says nothing of the nodes of the other."""

from __future__ import annotations

from chainer2torch.engine import migrate_sources
from chainer2torch.plan.options import Options

_NET = """from .base import Base


class Net(Base):
    def __call__(self, x):
        return self.l(x)
"""
_LINK = """import chainer
import chainer.links as L


class Base(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(2, 3)
"""
_PLAIN = """class Base(object):
    def l(self, x):
        return 2 * x
"""
_RUN = """import chainer.functions as F
import numpy as np

import a.net
import b.net

print(F.sum(a.net.Net()(np.zeros((1, 2), 'f'))), b.net.Net()(2))
"""


def test_equal_files_in_two_packages_become_what_each_means() -> None:
    texts = {f"{place}/{name}": text for place in "ab" for name, text in (("net.py", _NET), ("__init__.py", ""))}
    texts |= {"a/base.py": _LINK, "b/base.py": _PLAIN, "run.py": _RUN}
    done = migrate_sources(texts, options=Options(style="native"))
    assert "def forward(self, x):" in done["a/net.py"].code
    assert done["b/net.py"].code == _NET
