"""Names that a program gives its variables are not kept: who reads them is told."""

import pytest

from chainer2torch.engine import Options, migrate_source

HEAD = "import chainer\nimport chainer.links as L\nimport numpy as np\n\n"


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ("p = chainer.Parameter(np.ones(2, 'f'), name='W')\nprint(p.name)", "review"),
        ("v = chainer.Variable(np.ones(2, 'f'), name='x')\nprint(v.name)", "review"),
        ("l = L.Linear(2, 2)\nprint(l.W.name)", "exact"),
        ("v = chainer.Variable(np.ones(2, 'f'), name='x')\nl = L.Linear(2, 2)\nprint(l.W.name)", "exact"),
    ],
)
def test_a_name_that_is_read(lines, state, style):
    result = migrate_source(HEAD + lines + "\n", options=Options(style=style))
    assert [s.state for s in result.sites if s.symbol.endswith(".name")] == [state], result.code
