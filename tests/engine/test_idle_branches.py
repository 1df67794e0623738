"""A branch of which nothing is left to do goes: ``if not isinstance(x, Variable): x = Variable(x)`` of a tensor."""

import pytest

from chainer2torch.engine import Options, migrate_source

HEAD = "import chainer\nimport chainer.functions as F\n\n\ndef made(p, q):\n"
TAIL = "    return F.sum(p * q)\n\n\nx = F.relu(chainer.Variable(chainer.cuda.to_cpu([1.0])))\nmade(x, x)\n"
MADE = "    if not isinstance(p, chainer.Variable):\n        p = chainer.Variable(p)\n"
KEPT = {
    "with an else": MADE + "    else:\n        q = q + 1\n",
    "with a comment": MADE.replace("(p)\n", "(p)  # a Variable\n"),
    "where something is left": MADE + "        q = q + 1\n",
    "that says pass": MADE.replace("p = chainer.Variable(p)", "pass"),
    "that asks by a call": MADE.replace("not isinstance(p, chainer.Variable)", "asked(p)"),
    "that reads an attribute": MADE.replace("not isinstance(p, chainer.Variable)", "p.asked"),
}
GONE = {
    "alone": MADE,
    "two of them": MADE + "        q = chainer.Variable(q)\n",
    "on one line": MADE.replace(":\n        ", ": "),
    "by a flag": MADE.replace("not isinstance(p, chainer.Variable)", "made"),
    "by both": MADE.replace("not ", "q and not "),
}


def migrated(branch: str) -> str:
    result = migrate_source(HEAD + branch + TAIL, options=Options(style="native"))
    assert result.error is None
    return result.code.partition("def made(p, q):\n")[2]


@pytest.mark.parametrize("name", GONE)
def test_a_branch_without_anything_to_do_goes(name: str) -> None:
    assert migrated(GONE[name]).startswith("    return torch.sum(p * q)\n")


@pytest.mark.parametrize("name", KEPT)
def test_what_may_be_noticed_stays(name: str) -> None:
    code = migrated(KEPT[name])
    assert code.startswith("    if "), code
    compile("def made(p, q):\n" + code, "made", "exec")


def test_the_last_case_of_several_goes_alone() -> None:
    code = migrated("    if p is None:\n        return q\n    el" + MADE.lstrip())
    assert code.startswith("    if p is None:\n        return q\n    return torch.sum(p * q)\n"), code


def test_a_block_of_nothing_else_is_empty() -> None:
    code = migrated("    for _ in range(2):\n" + "".join(f"    {line}\n" for line in MADE.splitlines()))
    assert code.startswith("    for _ in range(2):\n        pass\n    return torch"), code
