"""Which training objects become native: all uses have to be understood, and objects that meet go together."""

import ast

import pytest

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import Project
from chainer2torch.analysis.source import Source
from chainer2torch.plan.native.concerns import CONCERNS
from chainer2torch.plan.native.objects import Objects
from chainer2torch.rules.table import Rules, load_rules

HEAD = """
import chainer
from chainer import optimizers
import chainer.links as L
model = L.Linear(3, 2)
"""


@pytest.fixture(scope="module")
def rules() -> Rules:
    return load_rules(lazy=True, style="native")


def objects(rules: Rules, body: str, **others: str) -> Objects:
    texts = {"main.py": HEAD + body, **{f"{name}.py": text for name, text in others.items()}}
    sources = {path: Source(text, ast.parse(text)) for path, text in texts.items()}
    return Objects(Analysis(Project(sources), rules).run(), CONCERNS)


def reasons(rules: Rules, body: str, **others: str) -> list[str]:
    """Why each optimizer stays, in the order in which they are made; "": it becomes native."""
    found = objects(rules, body, **others)
    insts = {uses[0].inst.site: uses[0].inst for uses in found.uses.values()}
    return [found.reason(insts[site]) for site in sorted(insts)]


UNDERSTOOD = [
    "opt = optimizers.Adam()\nopt.setup(model)\nopt.update()",
    "opt = optimizers.SGD().setup(model)\nopt.lr *= 0.5",
    "opt = optimizers.SGD()\nopt = opt.setup(model)",
    "def step(o):\n    o.update()\nopt = optimizers.SGD()\nopt.setup(model)\nstep(opt)",
    "class T:\n    def __init__(self):\n        self.opt = optimizers.SGD()\n        self.opt.setup(model)\n"
    "    def step(self):\n        self.opt.update()\nT().step()",
    "def make(m):\n    opt = optimizers.SGD()\n    opt.setup(m)\n    return opt\nmake(model).update()",
    "opt = optimizers.SGD()\nopt.setup(model)\nchainer.serializers.save_npz('opt.npz', opt)",
    "opt = optimizers.SGD()\nopt.setup(model)\nopt.setup(model)",
    "opt = optimizers.SGD()\nopt.setup(model)\nprint(opt)",
    "opt = optimizers.SGD()\nopt.setup(model)\nall = [opt]",
]
REFUSED = [
    ("opt = optimizers.SGD()", "never set up"),
    ("opt = optimizers.SGD()\nopt.setup(model)\nopt.remove_hook('x')", "`.remove_hook()` has no counterpart"),
    ("opt = optimizers.SGD()\nopt.setup(model)  # chainer2torch: skip", "skipped on request"),
    ("opt = optimizers.Adam()\nopt.setup(model)\nopt.beta1 *= 0.5", "`.beta1` is set"),
    ("import x\nopt = optimizers.Adam()\nopt.setup(model)\nx.train(opt)", "given to `x.train`"),
    ("class Own(optimizers.Adam):\n    pass\nopt = Own()\nopt.setup(model)", "an optimizer of the project's own"),
]


@pytest.mark.parametrize("body", UNDERSTOOD)
def test_understood(rules: Rules, body: str) -> None:
    assert reasons(rules, body) == [""]


@pytest.mark.parametrize(("body", "why"), REFUSED)
def test_refused_with_the_reason(rules: Rules, body: str, why: str) -> None:
    assert reasons(rules, body) == [why]


def test_what_meets_in_one_variable_goes_together(rules: Rules) -> None:
    body = "opt = optimizers.SGD() if model else optimizers.Adam()\nopt.setup(model)\nopt.remove_hook('x')"
    found = reasons(rules, body)
    assert len(found) == 2 and found[0] == found[1] != ""


def test_others_are_not_touched_by_it(rules: Rules) -> None:
    body = "a = optimizers.SGD()\na.setup(model)\nb = optimizers.SGD()\nb.setup(model)\nb.remove_hook('x')"
    assert reasons(rules, body) == ["", "`.remove_hook()` has no counterpart"]


def test_through_another_file(rules: Rules) -> None:
    other = "import chainer\ndef step(opt):\n    opt.update()\n    return opt\n"
    body = "from other import step\nopt = optimizers.SGD()\nopt.setup(model)\nstep(opt).update()"
    assert reasons(rules, body, other=other) == [""]
    assert reasons(rules, body, other=other.replace("opt.update()", "opt.call_hooks()")) == [
        "`.call_hooks()` has no counterpart"
    ]
