"""The share of the uses of chainer.functions that become torch expressions without a helper: it may only grow."""

from pathlib import Path

from benchmarks import plain_share

ROOT = Path(__file__).resolve().parents[2]


def share(sources: dict[str, str]) -> tuple[int, int]:
    total, helped = plain_share.count(plain_share.ledgers_of(sources))
    return total - helped.total(), total


def test_the_fixtures() -> None:
    folder = ROOT / "fixtures"
    plain, total = share(
        {file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8") for file in folder.rglob("*.py")}
    )
    assert total >= 36
    assert plain / total >= 0.80, "more functions than before need a helper"


def test_what_counts() -> None:
    code = """\
import chainer
import chainer.functions as F

class Net(chainer.Chain):
    def forward(self, x, t):
        h = F.dropout(F.relu(x))
        return F.softmax_cross_entropy(h, t), F.accuracy(h, t)

def sample(h, act=F.leaky_relu):
    return F.dropout(act(h))
"""
    # two helpers, and the dropout outside of a module, which asks a helper for the mode
    assert share({"net.py": code}) == (3, 6)
