"""Members of Chainer's objects without a rule: marked where they are Chainer's, else left to the user."""

import ast
import inspect
import textwrap

import chainer
import pytest

from chainer2torch.plan.parts.other_members import _OF_CHAINER, ELSEWHERE
from chainer2torch.rules.table import load_rules
from tests.support.native_snippets import migrated

RULES = load_rules(lazy=True)


def _class(name):
    found = chainer
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found if inspect.isclass(found) else None


def _members(cls):
    """What Chainer's classes among the bases have: members of the class, and attributes that methods set."""
    for base in cls.__mro__:
        if base.__module__.startswith("chainer"):
            yield from vars(base)
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
            stored = (n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
            yield from (n.attr for n in stored if ast.unparse(n.value) == "self")


def _names():
    for name, row in RULES.rows.items():
        if name.startswith("chainer.") and row.base and not any(RULES.is_subclass(name, e) for e in ELSEWHERE):
            yield name


def test_all_that_chainers_classes_have_is_in_the_list():
    missing = {}
    classes = {name: cls for name in _names() if (cls := _class(name)) is not None}
    assert len(classes) > 80
    for name, cls in classes.items():
        members = {m for m in _members(cls) if not m.startswith("__") and RULES.member(name, m) is None}
        members -= {m for m in members if RULES.keeps(name, m) or f"_{cls.__name__}__" in m or "__" in m}
        if left := members - _OF_CHAINER - {"_abc_impl"}:
            missing[name] = left
    assert missing == {}


PROGRAM = """
def run(dataset, model, iterator):
    updater = chainer.training.StandardUpdater(iterator, chainer.optimizers.SGD())
    parts = chainer.datasets.SubDataset(dataset, 0, 3)
    return MEMBER
"""


@pytest.mark.parametrize("member", ["updater.n_components_pca", "parts.num_classes", "parts.load_image(0)"])
def test_a_name_that_no_class_of_chainers_has_asks_nobody(member):
    result = migrated(PROGRAM.replace("MEMBER", member))
    assert "TODO" not in result.code and f"return {member}" in result.code


def test_a_member_of_chainers_without_a_rule_is_marked():
    program = "def run(data):\n    it = chainer.iterators.SerialIterator(data, 3)\n    return it._epoch_size\n"
    assert "no rule for this member of SerialIterator" in migrated(program).code
