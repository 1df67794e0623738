"""The ledger: who gets a place, what gives way, and groups that stand or fall together."""

from __future__ import annotations

import ast
from collections.abc import Iterable

import pytest

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import Project
from chainer2torch.analysis.source import Source
from chainer2torch.plan.collector import NO_RULE, Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Decision, Group, Item, Part
from chainer2torch.plan.edits import Comment, Replace
from chainer2torch.plan.ledger import Conflict, Ledger, Policy
from chainer2torch.plan.options import Options
from chainer2torch.rules.table import Row, load_rules

TEXT = "import numpy\na = numpy.exp(1)\nb = a + 2  # chainer2torch: skip\nc = (a, b)\n"
FIRST_EDITS = frozenset({(Part.EDIT, "first")})
FIRST, SECOND = Policy("first"), Policy("second")


@pytest.fixture
def context() -> Context:
    source = Source(TEXT, ast.parse(TEXT))
    analysis = Analysis(Project({"net.py": source}), load_rules(lazy=True)).run()
    return Context(analysis, analysis.project.modules["net.py"], Options())


@pytest.fixture
def ledger(context: Context, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    monkeypatch.setattr(Ledger, "strict", False)
    return Ledger(context)


def relu(context: Context) -> Row:
    """Some row: nothing is exact without one."""
    return context.rules.rows["chainer.functions.relu"]


def value(context: Context, line: int) -> ast.expr:
    statement = context.source.tree.body[line - 1]
    assert isinstance(statement, ast.Assign)
    return statement.value


def replaced(context: Context, node: ast.expr, template: str) -> Decisions:
    decisions = Decisions(context)
    decisions.replace(node, template, {})
    return decisions


def template(ledger: Ledger, node: ast.AST) -> str:
    edit = ledger.edits[node]
    assert isinstance(edit, Replace)
    return edit.template


def test_the_parts_of_a_node_are_claimed_separately(ledger: Ledger, context: Context) -> None:
    node, decisions = value(context, 2), Decisions(context)
    decisions.replace(node, "one", {})
    ledger.take(FIRST, decisions)
    other = Decisions(context)
    other.wrap(node, "two(value)")
    other.mark(node, relu(context), "numpy.exp", "exact")
    ledger.take(SECOND, other)
    assert template(ledger, node) == "one" and ledger.wraps[node].template == "two(value)"
    assert ledger.sites[node].symbol == "numpy.exp"


@pytest.mark.parametrize(
    "policy, stands",
    [(Policy("second", yields_to=FIRST_EDITS), "one"), (Policy("second", overrides=FIRST_EDITS), "two")],
)
def test_a_declared_conflict_is_resolved_as_declared(
    ledger: Ledger, context: Context, monkeypatch: pytest.MonkeyPatch, policy: Policy, stands: str
) -> None:
    monkeypatch.setattr(Ledger, "strict", True)
    node = value(context, 2)
    ledger.take(FIRST, replaced(context, node, "one"))
    ledger.take(policy, replaced(context, node, "two"))
    assert template(ledger, node) == stands
    assert node not in ledger.sites


def test_an_undeclared_conflict_is_an_error_in_tests(
    ledger: Ledger, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ledger, "strict", True)
    node = value(context, 2)
    ledger.take(FIRST, replaced(context, node, "one"))
    with pytest.raises(Conflict, match=r"net\.py:2: second and first both decide the edit of `numpy\.exp\(1\)`"):
        ledger.take(SECOND, replaced(context, node, "two"))


def test_for_users_the_first_decision_stands_and_the_place_is_marked(ledger: Ledger, context: Context) -> None:
    node, decisions = value(context, 2), replaced(context, value(context, 2), "one")
    decisions.mark(node, relu(context), "numpy.exp", "exact")
    ledger.take(FIRST, decisions)
    ledger.take(SECOND, replaced(context, node, "two"))
    assert template(ledger, node) == "one"
    assert (ledger.sites[node].state, ledger.sites[node].symbol) == ("review", "numpy.exp")
    assert "two rules" in ledger.comments[node].text


def test_the_first_site_of_a_node_stands(ledger: Ledger, context: Context) -> None:
    node = value(context, 2)
    for policy, state in ((FIRST, "review"), (SECOND, "exact")):
        decisions = Decisions(context)
        decisions.mark(node, relu(context), policy.name, state, f"said by {policy.name}")
        ledger.take(policy, decisions)
    assert (ledger.sites[node].symbol, ledger.sites[node].state) == ("first", "review")
    assert "said by first" in ledger.comments[node].text


@pytest.mark.parametrize(
    "present, of, expected",
    [
        ("exact", "", ("numpy.exp", "review")),
        ("exact", "numpy.exp", ("numpy.exp", "review")),
        ("exact", "numpy.log", ("numpy.exp", "exact")),
        ("manual", "", ("numpy.exp", "manual")),
        (None, "", None),
    ],
)
def test_a_refinement_needs_a_site_that_is_not_left_for_a_person(
    ledger: Ledger, context: Context, present: str | None, of: str, expected: tuple[str, str] | None
) -> None:
    node, decisions = value(context, 2), Decisions(context)
    if present is not None:
        decisions.mark(node, relu(context), "numpy.exp", present, "", "C2T300")
    ledger.take(FIRST, decisions)
    finer = Decisions(context)
    finer.refine(node, None, "review", "more is known", of=of)
    ledger.take(SECOND, finer)
    site = ledger.sites.get(node)
    assert (site and (site.symbol, site.state)) == expected
    assert site is None or site.code == "C2T300"


@pytest.mark.parametrize("free, stands", [(Part.EDIT, False), (Part.WRAP, True)])
def test_conditions_are_asked_when_the_ledger_comes_to_them(
    ledger: Ledger, context: Context, free: Part, stands: bool
) -> None:
    node, decisions = value(context, 2), replaced(context, value(context, 2), "one")
    with decisions.provided(free=((free, node),)):
        decisions.mark(node, relu(context), "free", "exact")
    with decisions.provided(taken=((Part.EDIT, node), (Part.KEPT, node))):
        decisions.mark(value(context, 4), relu(context), "taken", "exact")
    ledger.take(FIRST, decisions)
    assert (node in ledger.sites) is stands
    assert ledger.sites[value(context, 4)].symbol == "taken"


def test_a_condition_can_ask_for_a_site_nearby(ledger: Ledger, context: Context) -> None:
    decisions = Decisions(context)
    for name in ("numpy.", "chainer."):
        with decisions.provided(near=(context.source.tree, (name,))):
            decisions.mark(value(context, 4), None, name, "review")
        decisions.mark(value(context, 2), relu(context), "chainer.functions.exp", "exact")
    ledger.take(FIRST, decisions)
    assert ledger.sites[value(context, 4)].symbol == "chainer."


def test_a_decision_that_takes_the_place_of_another(ledger: Ledger, context: Context) -> None:
    node, decisions = value(context, 2), replaced(context, value(context, 2), "one")
    decisions.mark(node, None, "numpy.exp", "review", "look")
    ledger.take(FIRST, decisions)
    other = Decisions(context)
    other.mark(node, relu(context), "numpy.log", "exact", replaces=((Part.SITE, node), (Part.EDIT, node)))
    ledger.take(SECOND, other)
    assert node not in ledger.edits and node not in ledger.comments
    assert ledger.sites[node].symbol == "numpy.log"


# -- groups ------------------------------------------------------------------------------------------------------------


def moved(context: Context) -> Decisions:
    """Two statements that change together."""
    decisions = Decisions(context)
    with decisions.group("the call goes to the tuple"):
        for line in (2, 4):
            decisions.replace(value(context, line), f"line{line}", {})
            decisions.mark(value(context, line), relu(context), f"symbol{line}", "exact")
            decisions.use(value(context, line))
    return decisions


def states(ledger: Ledger, context: Context) -> list[str | None]:
    sites = [ledger.sites.get(value(context, line)) for line in (2, 4)]
    return [site and site.state for site in sites]


def test_a_group_stands_as_a_whole(ledger: Ledger, context: Context) -> None:
    ledger.take(FIRST, moved(context))
    assert {template(ledger, node) for node in ledger.edits} == {"line2", "line4"}
    assert states(ledger, context) == ["exact", "exact"] and len(ledger.consumed) == 2


def test_a_group_falls_when_one_member_finds_its_place_taken(ledger: Ledger, context: Context) -> None:
    ledger.take(FIRST, replaced(context, value(context, 4), "other"))
    ledger.take(Policy("second", yields_to=FIRST_EDITS), moved(context))
    assert [template(ledger, node) for node in ledger.edits] == ["other"]
    assert states(ledger, context) == ["manual", "manual"] and not ledger.consumed
    assert "could not be carried out as a whole: the call goes to the tuple" in ledger.comments[value(context, 2)].text


def test_a_group_falls_when_a_later_pass_overrides_one_member(ledger: Ledger, context: Context) -> None:
    ledger.take(FIRST, moved(context))
    later = Policy("second", overrides=FIRST_EDITS)
    ledger.take(later, replaced(context, value(context, 4), "other"))
    assert [template(ledger, node) for node in ledger.edits] == ["other"]
    assert states(ledger, context) == ["manual", "manual"] and not ledger.consumed


def test_a_group_falls_when_the_rewriter_cannot_place_one_edit(ledger: Ledger, context: Context) -> None:
    ledger.take(FIRST, moved(context))
    ledger.fail([ledger.edits[value(context, 2)]])
    assert not ledger.edits and states(ledger, context) == ["manual", "manual"] and not ledger.consumed


def test_a_group_falls_when_the_user_keeps_one_of_its_lines(ledger: Ledger, context: Context) -> None:
    decisions = Decisions(context)
    with decisions.group("two lines"):
        for line in (2, 3):
            decisions.replace(value(context, line), f"line{line}", {})
    ledger.take(FIRST, decisions)
    ledger.leave_out("skipped on request", "C2T012")
    assert not ledger.edits


def test_a_group_cannot_decide_one_place_twice(ledger: Ledger, context: Context) -> None:
    node = value(context, 2)
    (one,), (two,) = replaced(context, node, "one"), replaced(context, node, "two")
    assert isinstance(one, Decision) and isinstance(two, Decision)
    items: Iterable[Item] = [Group((one, two), "the same place twice")]
    ledger.take(FIRST, items)
    assert not ledger.edits


def test_a_group_holds_plain_decisions_only(context: Context) -> None:
    decisions = Decisions(context)
    with pytest.raises(ValueError, match="plain decisions"), decisions.group("conditions inside"):
        with decisions.provided(free=((Part.EDIT, value(context, 2)),)):
            decisions.wrap(value(context, 2), "f(value)")


def test_an_edit_that_cannot_be_placed_leaves_its_reference_to_a_person(ledger: Ledger, context: Context) -> None:
    node, decisions = value(context, 2), replaced(context, value(context, 2), "one")
    decisions.mark(node, relu(context), "numpy.exp", "exact")
    decisions.use(node)
    ledger.take(FIRST, decisions)
    ledger.fail(list(ledger.edits.values()))
    assert not ledger.edits and not ledger.consumed
    assert (ledger.sites[node].symbol, ledger.sites[node].state) == ("numpy.exp", "manual")


def marked_lines(ledger: Ledger) -> list[int]:
    starts = [edit.start for edit in ledger.live() if isinstance(edit, Comment)]
    return [TEXT.count("\n", 0, start) + 1 for start in starts]


def asks(ledger: Ledger, context: Context, policy: Policy, line: int, message: str) -> None:
    decisions = Decisions(context)
    decisions.mark(value(context, line), None, "numpy.exp", "manual", message)
    ledger.take(policy, decisions)


def test_one_question_has_one_marker_at_the_first_place_that_the_file_keeps(ledger: Ledger, context: Context) -> None:
    for line in (2, 3, 4):
        asks(ledger, context, FIRST, line, NO_RULE)
    assert marked_lines(ledger) == [2]
    ledger.removed.add(context.source.tree.body[1])
    assert marked_lines(ledger) == [3]
    ledger.removed.add(context.source.tree.body[2])
    assert marked_lines(ledger) == [4]


def test_what_comes_second_does_not_change_what_the_first_asks(ledger: Ledger, context: Context) -> None:
    asks(ledger, context, FIRST, 2, "a question of this place")
    asks(ledger, context, SECOND, 2, NO_RULE)
    asks(ledger, context, FIRST, 4, NO_RULE)
    assert marked_lines(ledger) == [2, 4]


def test_nothing_happens_on_lines_that_the_user_keeps(ledger: Ledger, context: Context) -> None:
    node, decisions = value(context, 3), Decisions(context)
    decisions.replace(node, "one", {})
    decisions.mark(node, None, "symbol", "review", "look")
    ledger.take(FIRST, decisions)
    ledger.leave_out("skipped on request", "C2T012")
    assert not ledger.edits and not ledger.comments
    assert (ledger.sites[node].state, ledger.sites[node].code) == ("manual", "C2T012")
