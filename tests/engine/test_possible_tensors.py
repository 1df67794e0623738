"""Values of which nothing is sure but that a tensor, or a shape, may come: they equal an unknown kind, and keep it."""

import ast

import pytest

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Lst, Perhaps, Scalar, Tensor, Tup, options
from chainer2torch.analysis.lattice import join, says_more, unsure
from chainer2torch.analysis.module_index import Project
from chainer2torch.analysis.source import Source
from chainer2torch.rules.table import load_rules
from tests.generated import judge, printed_judge, values

_ARRAY = Tensor(2, "float32", array=True)


def test_it_is_an_unknown_kind():
    kind = join(UNKNOWN, _ARRAY)
    assert isinstance(kind, Perhaps) and kind == UNKNOWN and UNKNOWN == kind and hash(kind) == hash(UNKNOWN)
    assert kind != _ARRAY and kind in (UNKNOWN,)
    assert join(kind, UNKNOWN).known == join(UNKNOWN, kind).known == _ARRAY


@pytest.mark.parametrize("kind", [Scalar("int"), Lst(Scalar("int")), Tup((Scalar("str"),))])
def test_what_stays_as_it_is_is_not_kept(kind):
    assert not isinstance(join(UNKNOWN, kind), Perhaps)


@pytest.mark.parametrize(
    "kind", [HostArray(1), Lst(Scalar("int"), sized=True), Lst(_ARRAY), Tup((Scalar("str"), _ARRAY))]
)
def test_containers_and_shapes_are_kept(kind):
    assert isinstance(unsure(kind), Perhaps)


def test_a_summary_changes_when_more_may_come():
    assert says_more(unsure(_ARRAY), UNKNOWN) and not says_more(UNKNOWN, unsure(_ARRAY))
    assert not says_more(unsure(_ARRAY), unsure(_ARRAY))


def _kind(body):
    text = "import numpy as np\nimport chainer\nimport chainer.functions as F\n" + body
    source = Source(text, ast.parse(text))
    analysis = Analysis(Project({"main.py": source}), load_rules()).run()
    last = [n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == "found"][-1]
    return analysis.kind(last)


@pytest.mark.parametrize(
    "body",
    [
        "def f(unknown, x):\n    y = F.relu(x).array\n    unknown.kept = y\n    found = unknown.kept\n",
        "def g(v):\n    found = v\ndef f(unknown, x):\n    g(unknown)\n    g(F.relu(x).array)\n",
        "def g(v):\n    found = v[0] * 2\ndef f(unknown, x):\n    g(unknown)\n    g(F.relu(x).array)\n",
        "def g(v):\n    found = v.mean(axis=0)\ndef f(unknown, x):\n    g(unknown)\n    g(F.relu(x).array)\n",
        "def g(v):\n    found = v > 0\ndef f(unknown, x):\n    g(unknown)\n    g(F.relu(x).array)\n",
        "def g(v):\n    for found in v:\n        pass\ndef f(unknown, x):\n    g(unknown)\n    g(F.relu(x).array)\n",
        "def f(unknown, x):\n    unknown.rows.append(F.relu(x).array)\n    found = unknown.rows[0]\n",
        "KEPT = []\ndef put(v):\n    KEPT.append(v)\n"
        "def f(x):\n    KEPT.append(F.relu(x).array)\n    found = KEPT[-1]\n",
        "KEPT = {}\ndef put(v):\n    KEPT['a'] = v\ndef f(x, k):\n    KEPT[k] = F.relu(x).array\n    found = KEPT[k]\n",
        "def f(x, v):\n    kept = [v]\n    def put(y):\n"
        "        kept.append(F.relu(y).array)\n    put(x)\n    found = kept[0]\n",
        "def f(table, x):\n    table['y'] = F.relu(x).array\n    found = table['y']\n",
        "class Box:\n    def set(self, v):\n        self.v = v\n"
        "    def put(self, x):\n        self.v = F.relu(x).array\n    def get(self):\n        found = self.v\n",
    ],
)
def test_where_it_comes_from(body):
    kind = _kind(body)
    assert isinstance(kind, Perhaps) and isinstance(kind.known, Tensor), kind


def test_a_sum_of_what_may_be_a_list_of_shapes_as_well():
    kind = _kind("def g(v):\n    found = sum(v)\ndef f(u, x):\n    g(u)\n    g([x.shape])\n    g(F.relu(x).array)\n")
    assert isinstance(kind, Perhaps) and any(isinstance(one, Tensor) for one in options(kind.known)), kind


_MEMBERS = (
    "print(V, [V], {'v': V}, '%s' % (V,))",
    "print(V.size, V.dtype, V.ndim)",
    "print(V.mean(), V.std(), V.max(axis=0), V.copy(), V.astype(np.float64), V.transpose())",
    "print(np.mean(V), np.exp(V), np.abs(V).sum(), np.sort(V, axis=0))",
    "print(V[::-1], V[0])\nfor row in V:\n    print(row)",
    "print({V[0, 0]: 1}, len(set(V[0])), V[0, 0] in {V[0, 0]})",
)
_FROM = (
    "model.kept = model(xs).array\nV = model.kept",
    "def either(v, w):\n    return v or w\nV = either(None, model(xs).array)",
    "box = Box()\nbox.set(model(xs).array)\nV = box.value",
)


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize("members", _MEMBERS)
@pytest.mark.parametrize("way", _FROM)
def test_what_is_asked_of_it_is_asked_at_run_time(way, members, style):
    lines = values.named(f"{way}\n{members}", V="v")
    text = values.LIBRARY + "".join(f"    {line}\n" for line in lines)
    verdict, detail, both = printed_judge.judged(text, style)
    assert verdict == judge.SAME, f"{detail}\n{both}"


def test_a_dtype_that_its_method_does_not_take_is_marked():
    text = values.LIBRARY + "    model.kept = model(xs).array\n    print(model.kept.mean(dtype=np.float64))\n"
    assert printed_judge.judged(text)[0] == judge.LEFT
