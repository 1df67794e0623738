"""Lists that collect results, and that only NumPy, Python's functions or other libraries of the host read."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
import json

def run(xs):
    losses = []
    found = []
    for x in xs:
        loss = F.sum(F.relu(x) * 2)
        losses.append(loss.data)
    USE
    return found
"""
READ = {
    "a mean": "found.append(str(np.mean(losses)))",
    "a sum": "found.append(repr(float(sum(losses) / len(losses))))",
    "a text": "found.append(str(np.array(losses)))",
    "the largest": "found += [float(max(losses)), float(min(losses))]",
    "by keyword": "found.append(np.sum(a=losses).tolist())",
    "begun again": "found.append(float(np.sum(losses)))\n    losses = []\n    losses.append(loss.array)\n"
    "    found.append(float(np.mean(losses)))",
    "a function of the file": "found.append(mean(1, losses))",
    "cleared": "found.append(float(np.sum(losses)))\n    losses.clear()\n    found.append(len(losses))",
}
ELSEWHERE = {
    "returned": "return losses",
    "an item": "found.append(F.relu(losses[0]).data)",
    "stacked": "found.append(F.stack([F.relu(l) for l in losses]).data)",
    "handed on": "found.append(shown(losses))",
    "another name": "other = losses\n    found.append(float(np.sum(losses)))",
    "a closure": "found.append((lambda: float(np.sum(losses)))())",
    "nothing": "pass",
    "a function that takes an item": "found.append(first(losses))",
    "a method": "found.append(Own().mean(losses))",
    "an own print": "print = shown\n    print(losses)",
}
SHOWN = "\ndef shown(values):\n    return [float(v) for v in values]\n"


HELPER = """
def mean(kind, values):
    return float(np.mean(values)) + float(np.sum(values)) / len(values)

def first(values):
    return float(np.mean(values[0]))

class Own:
    def mean(self, values):
        return float(np.mean(values))
"""


@pytest.mark.parametrize("use", READ)
def test_what_the_host_reads_is_brought_there_once(use):
    theirs, ours, code = run(HELPER + PROGRAM.replace("USE", READ[use]))
    assert "losses.append(loss.detach().cpu().numpy())" in code
    assert "for array in" not in code and "compat." not in code
    assert theirs == ours


@pytest.mark.parametrize("use", ELSEWHERE)
def test_other_lists_hold_what_they_are_given(use):
    assert "losses.append(loss.detach())" in migrated(SHOWN + HELPER + PROGRAM.replace("USE", ELSEWHERE[use])).code


def test_a_list_of_the_module():
    text = "x = chainer.Variable(np.ones(3, 'f'))\nlosses = []\nlosses.append(F.sum(x).data)\nprint(np.mean(losses))\n"
    assert "print(np.mean(losses))" in migrated(text).code
    inside = text + "\ndef run(xs):\n    losses.append(F.sum(xs[0]).data)\n    return losses\n"
    assert "[array.cpu().numpy() for array in losses]" in migrated(inside).code


def test_what_is_put_into_both_kinds_of_lists():
    text = PROGRAM.replace("USE", "found.append(float(np.mean(losses)))").replace(
        "        losses.append(loss.data)", "        losses.append(loss.data)\n        found.append(loss.data)"
    )
    theirs, ours, code = run(text)
    assert "losses.append(loss.detach().cpu().numpy())" in code and "found.append(loss.detach())" in code
    np.testing.assert_allclose([float(v) for v in theirs], [float(v) for v in ours])
