"""The record that shows whether a change of the code changes the output: it must see every kind of difference."""

import copy
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def golden():
    spec = importlib.util.spec_from_file_location("golden", ROOT / "benchmarks" / "golden.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def record(golden):
    return {"mlp_trainer": golden.migrated(ROOT / "fixtures" / "mlp_trainer", [])}


def test_the_same_code_gives_the_same_record(golden, record, capsys):
    assert golden.compare(record, {"mlp_trainer": golden.migrated(ROOT / "fixtures" / "mlp_trainer", [])}) == 0
    assert "1 trees equal" in capsys.readouterr().out
    assert record["mlp_trainer"]["files"] and record["mlp_trainer"]["report"]["totals"]["sites"] > 10


@pytest.mark.parametrize("what", ["status", "messages", "a file", "a missing file", "a site", "a state", "a tree"])
def test_each_difference_is_seen(golden, record, what):
    other = copy.deepcopy(record)
    one = other["mlp_trainer"]
    sites = next(file["sites"] for file in one["report"]["files"] if file["sites"])
    if what == "a tree":
        other["another"] = one
    elif what == "a file":
        one["files"]["train.py"] = "0"
    elif what == "a missing file":
        del one["files"]["train.py"]
    elif what == "a site":
        sites.pop()
    elif what == "a state":
        sites[0]["state"] = "manual"
    else:
        one[what] = "other"
    assert golden.compare(record, other) == (2 if what == "a tree" else 1)


def test_words_of_helpers_may_change_and_their_code_not(golden, tmp_path):
    path = tmp_path / "chainer_compat.py"
    texts = [
        'def f(x: int) -> int:\n    """One."""\n    return x\n',
        "def f(x):\n    return x\n",
        "def f(x):\n    return -x\n",
    ]
    digests = []
    for text in texts:
        path.write_text(text)
        digests.append(golden.digest(path))
    assert digests[0] == digests[1] != digests[2]
