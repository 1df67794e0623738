"""Nodes by type, and where names live, against walks over everything."""

from __future__ import annotations

import ast

import pytest

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import Project
from chainer2torch.analysis.scopes import bindings
from chainer2torch.analysis.source import Source, nodes_of, within
from chainer2torch.engine import migrate_sources
from chainer2torch.plan.context import Context
from chainer2torch.plan.options import Options
from chainer2torch.rules.table import Rules

TEXT = """
import numpy as np, os.path
import chainer.functions as F
from chainer import links as L, cuda
try:
    import cupy
except ImportError as error:
    cupy = None

class Net:
    import chainer
    def f(self, F, *rest, **options):
        global cuda
        cuda = [L for L in rest]
        return lambda x: np.sum(F.relu(x)) + os.path.sep + L
    def g(self):
        import chainer.functions as G
        return F.relu(G.tanh(np.zeros(3))), self.chainer
"""


def test_nodes_by_type_are_those_of_a_walk_in_its_order() -> None:
    source = Source(TEXT, ast.parse(TEXT))
    for types in (
        (ast.Name,),
        (ast.Attribute, ast.Name),
        (ast.alias, ast.Call, ast.Import, ast.FunctionDef),
        (ast.Yield,),
    ):
        assert list(source.of(*types)) == [node for node in source.nodes if isinstance(node, types)]
    assert source.of(ast.Name) and not source.of(ast.Yield)


def test_assigned_are_names_that_no_import_binds() -> None:
    source = Source(TEXT, ast.parse(TEXT))
    assert source.assigned == {"error", "cupy", "Net", "f", "self", "F", "rest", "options", "cuda", "L", "x", "g"}


def test_scopes_of_names_are_those_of_a_look_at_all_scopes(rules: Rules) -> None:
    source = Source(TEXT, ast.parse(TEXT))
    analysis = Analysis(Project({"net.py": source}), rules).run()
    context = Context(analysis, analysis.project.modules["net.py"], Options())
    scopes = bindings(source.tree)
    names = [(node, node.id) for node in source.of(ast.Name)]
    names += [(node, node.asname or node.name.split(".")[0]) for node in source.of(ast.alias)]
    assert [context.scope(node, name) for node, name in names] == [scopes.get(node) for node, _ in names]


@pytest.mark.parametrize("use, kept", [("F.relu(x)", False), ("unknown(F.no_such)", True)])
def test_an_import_stays_while_another_file_passes_it_on(rules: Rules, use: str, kept: bool) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/base.py": "import chainer.functions as F\n",
        "pkg/middle.py": "from pkg.base import F\n",
        "pkg/top.py": f"from pkg.middle import F\nfrom elsewhere import unknown\n\ndef f(x):\n    return {use}\n",
    }
    results = migrate_sources(files, rules=rules)
    assert ("import chainer.functions as F" in results["pkg/base.py"].code) is kept
    assert ("from pkg.base import F" in results["pkg/middle.py"].code) is kept


def test_what_is_kept_with_a_scope_is_what_a_walk_finds() -> None:
    source = Source(TEXT, ast.parse(TEXT))
    scopes = [source.tree, *source.of(ast.FunctionDef, ast.ClassDef)]
    assert len(scopes) == 4
    for scope in scopes:
        walked = [n for n in ast.walk(scope) if not isinstance(n, (ast.expr_context, ast.operator, ast.Load))]
        for _ in range(2):  # looked for, and kept
            assert nodes_of(scope) == walked
            assert within(scope).nodes == walked[1:]
            assert list(within(scope).of(ast.Name)) == [n for n in walked if isinstance(n, ast.Name)]
        nodes_of(scope).clear()  # a list of one's own
        assert nodes_of(scope) == walked


def test_a_tree_that_may_change_keeps_nothing() -> None:
    function = ast.parse("def f():\n    return x").body[0]
    assert isinstance(function, ast.FunctionDef)
    before = len(nodes_of(function))
    function.body.insert(0, ast.Pass())
    assert len(nodes_of(function)) == len(within(function).nodes) == before + 1
