"""The fuzzer finds what is wrong, and what it has found stays mended. More of it: python -m tests.fuzz."""

import time
from pathlib import Path

import pytest

from tests.fuzz import mutants
from tests.fuzz.__main__ import TREES

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.py"))
LIMIT = mutants.Limit(60)


@pytest.fixture(scope="module")
def texts():
    return mutants.programs(TREES)


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_what_was_found_stays_mended(path, style):
    assert mutants.wrong(path.read_text("utf-8"), mutants.rules_of(style), LIMIT) is None


def test_a_few_mutants(texts):
    rules = mutants.rules_of("native")
    found = [(number, mutants.wrong(text, rules, LIMIT)) for number, text in mutants.mutants(texts, 0, 0, 12)]
    assert [case for case in found if case[1] is not None] == []


def test_a_number_of_a_seed_is_one_mutant(texts):
    assert len(texts) > 30
    several = dict(mutants.mutants(texts, 5, 0, 8))
    assert dict(mutants.mutants(texts, 5, 6, 1)) == {6: several[6]}
    assert len(set(several.values())) == 8 and several != dict(mutants.mutants(texts, 6, 0, 8))


def test_a_defect_is_found(monkeypatch):
    monkeypatch.setattr(mutants, "complaint", lambda text, rules: time.sleep(5))
    assert mutants.wrong("import chainer\n", mutants.rules_of("native"), mutants.Limit(1)) == "takes longer than 1 s"
    monkeypatch.setattr(mutants, "complaint", lambda text, rules: "crash")
    assert mutants.wrong("import chainer\n", mutants.rules_of("native"), LIMIT) == "crash"
