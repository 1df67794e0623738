"""A fixed sample of generated programs comes out the same on both sides, and the judge tells what does not."""

import re

import pytest

from tests.generated import judge
from tests.generated.grammar import Program


@pytest.mark.parametrize("seed", range(12))
def test_a_program_comes_out_the_same(seed):
    verdict, detail, text = judge.of(seed)
    assert verdict not in judge.WRONG, f"{detail}\n{text}"


def test_most_programs_say_something():
    verdicts = [judge.of(seed)[0] for seed in range(100, 106)]
    assert verdicts.count(judge.SAME) >= 4, verdicts


def test_a_wrong_migration_is_seen(monkeypatch):
    """The migration with another learning rate, with a layer that is not there, and with one loss less."""
    texts = (text for text in (Program(seed).text() for seed in range(90)) if "optimizers.SGD(0.05)" in text)
    migrate = judge.migrate_source

    def unmarked(text):
        return all(site.state != "review" for site in migrate(text, options=judge.Options(style="native")).sites)

    text = next(t for t in texts if "L.Linear(" in t and judge.judge(t)[0] == judge.SAME and unmarked(t))

    def changed(pattern, new):
        def run(source, **options):
            result = migrate(source, **options)
            assert re.search(pattern, result.code), result.code
            result.code = re.sub(pattern, new, result.code, count=1)
            return result

        return run

    for pattern, new, verdict in (
        (r"lr=0\.05", "lr=0.04", judge.DIFFERENT),
        (r"nn\.Linear\(", "nn.Linerar(", judge.LOUD),
        (r"return said", "return said[1:]", judge.DIFFERENT),
    ):
        monkeypatch.setattr(judge, "migrate_source", changed(pattern, new))
        assert judge.judge(text)[0] == verdict, new
