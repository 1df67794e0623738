"""Lists that are written out and taken apart at once: each name has its own kind, and the list stays a list."""

import ast

import pytest

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kind_specs import describe
from chainer2torch.analysis.module_index import Project
from chainer2torch.analysis.source import Source
from chainer2torch.rules.table import load_rules

_HEAD = "import numpy as np\nimport chainer\nv = chainer.Variable(np.ones((2, 3), 'f'))\n"


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("y, n = [v.array, 1]", {"y": "array rank 2 dtype float32", "n": "1"}),
        ("y, *rest = [v.array, 1, 2]", {"y": "array rank 2 dtype float32"}),
        ("(y, n) = both = [v.array, 1]", {"y": "array rank 2 dtype float32", "both": "list of"}),
    ],
)
def test_names_of_a_list(line, kinds):
    text = _HEAD + line + "\n"
    source = Source(text, ast.parse(text))
    analysis = Analysis(Project({"main.py": source}), load_rules()).run()
    found = {n.id: describe(analysis.kind(n)) for n in ast.walk(source.tree) if isinstance(n, ast.Name)}
    for name, kind in kinds.items():
        assert found[name].startswith(kind), (name, found[name])
