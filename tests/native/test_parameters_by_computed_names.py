"""`getattr(getattr(model, link), name)` with computed names: layers of torch call their parameters otherwise."""

import numpy as np
import pytest

from chainer2torch.engine import migrate_source
from tests.support.native_snippets import run

PROGRAM = """
import chainer.links as L
class Own(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(2, 3, initialW=0.5)
            self.b = L.Convolution2D(1, 2, 2, initialW=0.25)

def filled(model, table):
    for key in sorted(table):
        link, name = key.split('_')
        {line}
    return [p.array for _, p in sorted(model.namedparams())]

def run(xs):
    table = dict(a_W=np.ones((3, 2), 'f'), b_b=np.arange(2).astype('f'))
    return filled(Own(), table)
"""
LINES = [
    "getattr(getattr(model, link), name).data[...] = table[key]",
    "getattr(model[link], name).array[:] = table[key]",
    "child = getattr(model, link); getattr(child, name).data[...] = table[key]",
]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("style", ["native", "faithful"])
def test_they_are_found(line, style):
    text = PROGRAM.format(line=line)
    if style == "faithful":
        code = migrate_source("import chainer\nimport numpy as np\n" + text).code
        assert code.count("compat.link_attribute(") == 1, code
        return
    theirs, ours, code = run(text)
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(np.asarray(one), other.detach().numpy(), err_msg=code)


def test_an_object_of_any_kind_keeps_its_names():
    code = PROGRAM.format(line="getattr(getattr(table, link), name)[:] = getattr(key, name)")
    assert "link_attribute" not in migrate_source("import chainer\nimport numpy as np\n" + code).code
