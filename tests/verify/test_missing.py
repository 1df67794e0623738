"""Packages that are not installed: models that do without are compared, the others are not."""

import importlib
import json
import string
import sys

import pytest

from chainer2torch.verify.worker import missing
from chainer2torch.verify.models.verify_models import verify_models
from chainer2torch.verify.judge.outcome import PASSED, UNVERIFIED
from tests.support import model_batch

NET = """
import chainer
import chainer.functions as F
import chainer.links as L
import no_such_package.plots as plots
from json import no_such_function
from no_such_package.words import scores, Vocabulary

try:
    import no_such_package_either as fast
except ImportError:
    fast = None


class Reader(Vocabulary):
    pass


class Plain(chainer.Chain):
    def __init__(self):
        super().__init__(l=L.Linear(4, 3))

    def forward(self, x):
        if fast is not None:
            return x
        return F.tanh(self.l(x))

    def plot(self, x):
        plots.show(x)


class Scored(Plain):
    def forward(self, x):
        return F.tanh(self.l(x)) * scores(x)
"""


def test_models_that_do_without_are_compared(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "net.py").write_text(NET)
    out = model_batch.migrated_tree(tmp_path / "src", tmp_path / "out")
    report = verify_models(tmp_path / "src", out, timeout=100)
    by_model = {}
    for outcome in report.outcomes:
        by_model.setdefault(outcome.pair.row, []).append(outcome)
    assert len(by_model["net:Plain"]) == 4 and {o.status for o in by_model["net:Plain"]} == {PASSED}
    assert (
        "not installed, and not used by what was run: json.no_such_function, no_such_package"
        in by_model["net:Plain"][0].notes
    )
    assert {o.status for o in by_model["net:Scored"]} == {UNVERIFIED}
    assert "no_such_package.words.scores is needed here" in by_model["net:Scored"][0].reasons[0]


@pytest.fixture
def taken(tmp_path, monkeypatch):
    """``taken(text)``: the module with this text, imported with stand-ins."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "of_the_project.py").write_text("")
    missing.install(str(tmp_path))

    def taken(text):
        (tmp_path / "taken.py").write_text(text)
        importlib.invalidate_caches()
        return missing.importing(lambda: importlib.import_module("taken"))

    yield taken
    for name in [name for name in sys.modules if "not_here" in name or name == "taken"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    "use",
    [
        "{x}()",
        "{x}.y()",
        "list({x})",
        "len({x})",
        "bool({x})",
        "not {x}",
        "{x}[0]",
        "1 in {x}",
        "{x} == 1",
        "{x} + 1",
        "1 * {x}",
        "float({x})",
        "str({x})",
        "isinstance(1, {x})",
        "type('C', (), {{}}) and Made()",
        "{x} < 2",
        "-{x}",
    ],
)
def test_every_use_raises(taken, use):
    module = taken("from not_here import x\nclass Made(x):\n    pass\n")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'not_here': not_here\.x(\.y)? is needed here"):
        eval(use.format(x="x"), vars(module))
    assert missing.names() == ["not_here"]


@pytest.mark.parametrize(
    "text",
    [
        "import of_the_project",
        "import torch.not_there",
        "from torch import not_there",
        "import $own.not_there",
        "import not_here\nnot_here.start()",
    ],
)
def test_other_errors_stay(taken, text):
    with pytest.raises(ImportError):
        taken(string.Template(text).substitute(own="tools"))


def test_guarded_imports_fail_as_before(taken):
    module = taken("try:\n    import not_here\nexcept ImportError:\n    not_here = 0\n")
    assert module.not_here == 0 and not missing.names()


def test_what_an_installed_package_has_no_more(taken):
    module = taken("from json import not_there, dumps\nimport json.not_here_either.at_all as other\n")
    assert module.dumps is json.dumps and missing.names() == ["json.not_here_either", "json.not_there"]
    with pytest.raises(ModuleNotFoundError):
        module.other.run()
    del json.not_there, json.not_here_either


def test_what_would_fetch_weights_does_nothing(taken):
    module = taken("import not_here\npath = not_here.data.cached_download('a', 'b')\n")
    with pytest.raises(ModuleNotFoundError, match=r"not_here\.data\.cached_download\(\) is needed here"):
        str(module.path)
    with pytest.raises(ModuleNotFoundError):
        module.not_here.data.load("a")
