"""A part of a project that names nothing of Chainer's is not analysed, and has the results that it would have."""

import textwrap
from pathlib import Path

import pytest

from chainer2torch import part_engine
from chainer2torch.analysis.flow import Analysis
from chainer2torch.engine import Options, migrate_sources
from chainer2torch.rules.table import load_rules

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


@pytest.fixture(params=["native", "faithful"])
def full_rules(request):
    return load_rules(lazy=True, style=request.param)


@pytest.fixture
def analysed(monkeypatch):
    """The paths of the files that are analysed."""
    paths: list[str] = []
    real = Analysis.run

    def run(self):
        paths.extend(self.project.modules)
        return real(self)

    monkeypatch.setattr(Analysis, "run", run)
    return paths


def migrate(texts, rules, **choices):
    """The files, each of which is looked at because of a comment."""
    said = {path: f"# for chainer\n{textwrap.dedent(text).lstrip()}" for path, text in texts.items()}
    return migrate_sources(said, rules=rules, options=Options(style=rules.style, **choices))


PLAIN = [
    "import numpy as np\nx = np.zeros((3, 4)).astype(np.float32)\ny = x.data, x.reshape(-1)\n",
    "import chainer_compat as compat\nimport torch\nm = compat.link_attribute(torch.nn.Linear(3, 4), 'W')\n",
    "import torch\n# TODO(chainer2torch C2T090): has no counterpart\nx = torch.zeros(3).numpy()\n",
    "import time\nfrom collections import OrderedDict\nimport scipy.io\nt = time.time()\n",
    "import importlib\nm = importlib.import_module(name), importlib.import_module('own.part')\n",
    "import os\n\n\ndef f(path, math):\n    return os.path.join(path, math.sys, path.float)\n",
    "import copy\nclass A:\n  def __init__(self, **k):\n    self.k = k\n  def f(self):\n    copy.deepcopy(self)\n",
]


@pytest.mark.parametrize("text", PLAIN)
def test_what_names_nothing_of_chainers_is_not_analysed_and_stays(text, full_rules, analysed):
    result = migrate({"a.py": text}, full_rules)["a.py"]
    assert analysed == [] and not result.changed and not result.sites and result.error is None


NOT_PLAIN = [
    ("import chainer\nprint(chainer.__version__)\n", "chainer.__version__"),
    ("from chainer import links as L\n", ""),
    ("import cupy as np\nx = np.zeros(3)\n", "chainer.backends.cuda.cupy"),
    ("x = cupy.zeros(3)\n", "chainer.backends.cuda.cupy"),
    ("import importlib\nF = importlib.import_module('chainer.functions')\n", "chainer.functions"),
    ("import importlib\nm = importlib.import_module('scipy.misc')\nx = m.imresize(a, 2)\n", ""),
    ("from importlib import import_module as load\nm = load('scipy.misc')\n", ""),
    ("from importlib import import_module as load\nF = load(f'chainer.{name}')\n", ""),
    ("from torch import *\nx.unchain_backward()\n", "?.unchain_backward"),
    ("f = eval('lambda x: chainer.functions.relu(x)')\n", "chainer.functions.relu"),
    ("import numpy as np\nx = np.zeros(3, np.float)\n", "numpy.float"),
    ("import numpy as np\nxp = np\nx = xp.zeros(3, xp.float)\n", "numpy.float"),
    ("from numpy import float\n", "numpy.float"),
    ("import scipy.misc\nx = scipy.misc.imresize(a, 2)\n", "scipy.misc.imresize"),
    ("from scipy import misc\nx = misc.imresize(a, 2)\n", "scipy.misc.imresize"),
    ("from distutils.util import strtobool\nstrtobool('y')\n", "distutils.util.strtobool"),
    ("import collections\nisinstance(x, collections.Iterable)\n", "collections.Iterable"),
    ("import numpy as np\ndef f(m=np):\n    return m.float\n", ""),
]


@pytest.mark.parametrize(("text", "symbol"), NOT_PLAIN)
def test_what_may_be_chainers_or_was_dropped_is_analysed(text, symbol, full_rules, analysed):
    found = {site.symbol for site in migrate({"a.py": text}, full_rules)["a.py"].sites}
    assert analysed == ["a.py"]
    assert symbol in found or not symbol, found


def test_names_of_another_file_count(full_rules, analysed):
    texts = {"own.py": "import numpy as np\n", "a.py": "from own import np as xp\nx = xp.zeros(3, xp.float)\n"}
    assert "numpy.float" in {s.symbol for s in migrate(texts, full_rules)["a.py"].sites}
    texts = {"own.py": "import numpy as np\n", "b.py": "import own\nx = own.np.zeros(3, own.np.float)\n"}
    assert "numpy.float" in {s.symbol for s in migrate(texts, full_rules)["b.py"].sites}


def test_a_part_is_analysed_as_a_whole_or_not_at_all(full_rules, analysed):
    texts = {
        "a/net.py": "import chainer.functions as F\nimport helper\ny = helper.f(F.relu(x))\n",
        "a/helper.py": "def f(x):\n    return x.data\n",
        "b/tool.py": "import numpy\nx = numpy.zeros(3)\n",
    }
    migrate(texts, full_rules)
    assert sorted(set(analysed)) == (sorted(texts) if full_rules.style == "faithful" else ["a/helper.py", "a/net.py"])


@pytest.mark.parametrize("choices", [{"kinds": True}, {"only": frozenset({"data"})}])
def test_what_is_asked_of_all_files_is_answered_for_these_too(choices, analysed):
    rules = load_rules(lazy=True, style="faithful")
    migrate({"a.py": PLAIN[0]}, rules, **choices)
    assert analysed == ["a.py"]


def test_adapters_of_an_earlier_run_are_taken_away(analysed):
    rules = load_rules(lazy=True, style="faithful")
    text = "import chainer_compat as compat\nmodel = compat.as_torch_model(net)\n"
    assert "model = net\n" in migrate({"a.py": text}, rules)["a.py"].code and analysed == ["a.py"]


@pytest.mark.parametrize("name", sorted(p.name for p in FIXTURES.iterdir() if p.is_dir()))
def test_a_second_run_has_the_same_results_without_the_short_way(name, full_rules, monkeypatch):
    folder = FIXTURES / name
    texts = {p.relative_to(folder).as_posix(): p.read_text() for p in sorted(folder.rglob("*.py"))}
    options = Options(style=full_rules.style)
    first = migrate_sources(texts, rules=full_rules, options=options)
    output = {path: result.code for path, result in first.items()}
    short = migrate_sources(output, rules=full_rules, options=options)
    monkeypatch.setattr(part_engine, "is_apart", lambda *_: False)
    assert short == migrate_sources(output, rules=full_rules, options=options)
    assert all(not result.changed for result in short.values())


def test_where_a_class_says_what_is_saved_programs_without_chainer_are_apart_all_the_same(analysed):
    rules = load_rules(lazy=True, style="native")
    texts = {
        "a.py": "import chainer\nclass A(chainer.Chain):\n    def serialize(self, s):\n        s('x', self.x)\n",
        "b.py": "import chainer.links as L\nl = L.Linear(3, 4)\n",
        "c.py": "import numpy\nx = numpy.zeros(3)\n",
    }
    results = migrate(texts, rules)
    assert analysed == ["a.py", "b.py"] and list(results) == ["a.py", "b.py", "c.py"] and not results["c.py"].changed
