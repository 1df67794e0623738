"""The mutation run of ``verify rules --mutants``: what it changes, and that the examples of a few rows notice."""

import ast
import builtins
import dataclasses
import importlib
import mmap
import multiprocessing
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
from chainer2torch.verify.judge.outcome import FAILED
from chainer2torch.verify.rules import helper_mutants, row_mutants
from chainer2torch.verify.rules.bench import Bench
from chainer2torch.verify.rules.isolation import isolated, limited
from chainer2torch.verify.rules.mutation import KILLED, NOT_RUN, Verdict, every_row_mutant
from chainer2torch.verify.rules.mutation_report import MutationReport, Reason, run
from chainer2torch.verify.rules.verify_rules import Plan
from tests.support import helper_calls, helper_mutation

ROOT = Path(__file__).resolve().parents[2]
RULES = load_rules(strict=False)
MATH = helper_mutants.COMPAT / "functions" / "math_functions.py"


def changes(name):
    return {mutant.what for mutant in row_mutants.mutants(RULES.rows[name])}


def test_what_is_changed_in_a_row():
    assert changes("chainer.functions.leaky_relu") >= {"default slope=0.2 -> 1.4", "`torch`: negative_slope= left out"}
    assert any(what.startswith("`torch`: relu -> ") for what in changes("chainer.functions.relu"))
    pooling = changes("chainer.functions.max_pooling_2d")
    assert "value: compat.max_pooling_2d -> compat.normalize" in pooling
    assert any(what.endswith("LtE flipped") for what in pooling) and any("2 -> 3" in what for what in pooling)


def test_every_mutant_is_another_row_that_is_well_formed():
    for name in ("chainer.functions.max_pooling_nd", "chainer.links.Convolution2D", "numpy.ndarray.std"):
        row = RULES.rows[name]
        mutants = list(row_mutants.mutants(row))
        assert len(mutants) > 10
        for mutant in mutants:
            assert mutant.row != row, mutant.what
            for text in (*mutant.row.templates, *(case.when for case in mutant.row.cases if case.when)):
                ast.parse(text, mode="eval")


def test_every_row_has_mutants_that_are_well_formed():
    for mutants in every_row_mutant(RULES).values():
        for mutant in mutants:
            assert all(ast.parse(text) for text in mutant.row.templates)


def test_what_is_never_emitted_is_equivalent():
    row = RULES.rows["chainer.links.BlackOut"]  # calls of it keep their arguments: compat.BlackOut(...)
    found = {m.what: row_mutants.is_equivalent(row, m.row) for m in row_mutants.mutants(row)}
    assert found["`torch`: `in_size` and `counts` swapped"]
    assert not any(same for what, same in found.items() if what.startswith("value"))


def test_a_default_that_nothing_reads_is_no_mutant():
    native = load_rules(style="native").rows
    defaults = {m.parameter for m in row_mutants.mutants(native["xp.Random.randint"], True)} - {""}
    assert not defaults  # guards ask only whether they are given
    assert {m.parameter for m in row_mutants.mutants(native["xp.Module.append"], True)} == {"", "axis"}


def test_an_option_that_no_example_gives_is_tried():
    row = RULES.rows["chainer.functions.elu"]
    silent = dataclasses.replace(row, examples=tuple(e for e in row.examples if "alpha" not in e.before)[:1])
    plan = Plan(RULES.replacing(silent), migrate_source)
    plan.add(silent)
    tried = [pair for pair in plan.pairs if pair.tried]
    assert [pair.label for pair in tried] == ["example 1, another alpha, float32, train"]
    assert "F.elu(x, alpha=0.75)" in tried[0].chainer and "alpha=0.75" in tried[0].torch
    plan = Plan(RULES, migrate_source)
    plan.add(row)
    assert not [pair for pair in plan.pairs if pair.tried]  # the row's own examples give it


def test_an_example_may_state_what_its_setup_becomes():
    row = RULES.rows["chainer.links.Linear"]
    stated = next(example for example in row.examples if "becomes" in example.options)
    for text, failures in ((stated.options["becomes"], 0), ("link = nn.LazyLinear(3)", 1)):
        plan = Plan(RULES, migrate_source, matrix=False)
        plan.add_example(row, 0, dataclasses.replace(stated, options={**stated.options, "becomes": text}))
        assert len([outcome for outcome in plan.outcomes if outcome.status == FAILED]) == failures


def test_a_row_that_only_leaves_calls_is_not_counted(tmp_path):
    """Its `fallback` has no place for an argument: such a call stays as it is, with a message."""
    row = RULES.rows["chainer.functions.batch_matmul"]
    (mutant,) = (m for m in row_mutants.mutants(row) if m.what == "`fallback`: transb= left out")
    bench = Bench(RULES, migrate_source, tmp_path, jobs=1)
    bench.plan([row.name], True)
    shown = bench.differing(mutant.row, True)
    assert shown.killed is None and not shown.texts and shown.left


def test_a_helper_is_wrong_while_its_mutant_is_applied_and_right_again_afterwards():
    maximum = importlib.import_module("chainer2torch.compat.functions.math_functions").maximum
    (mutant,) = (m for m in helper_mutants.mutants(MATH) if m.name == "maximum")
    x = torch.ones(2, requires_grad=True)

    def gradient():
        return torch.autograd.grad(maximum(x, torch.ones(2)).sum(), x)[0].tolist()

    assert gradient() == [1, 1]
    with helper_mutants.applied(mutant):
        assert mutant.what == "GtE flipped" and gradient() == [0, 0]
    assert gradient() == [1, 1]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("x.flatten()", set()),
        ("np.zeros((0, n))", {"0 -> 1"}),
        ("np.zeros((1, n))", {"zeros -> ones", "1 -> 2"}),
        ("x.flatten(1)", {"flatten -> ravel", "1 -> 2"}),
        ("zip(x, x, strict=True)", set()),
        ("warnings.warn(x, stacklevel=2)", set()),
        ("torch.from_numpy(np.empty(0, dtype=x)).dtype", set()),
        ("torch.empty(0, dtype=x).numpy().dtype", set()),
        ("torch.empty(0, dtype=x).shape", {"0 -> 1"}),
        ("x.empty(0)[1].dtype", {"0 -> 1", "1 -> 2"}),
        ("f(x, other=2)", {"2 -> 3"}),
    ],
)
def test_what_changes_no_value_is_no_mutant(text, expected):
    (function,) = ast.parse(f"def helper(x):\n    return {text}").body
    assert {what for _, what, _ in helper_mutants._changes(function)} == expected


def test_a_process_that_a_test_forks_says_that_the_mutant_ran(monkeypatch):
    (mutant,) = (m for m in helper_mutants.mutants(MATH) if m.name == "maximum")
    ran = mmap.mmap(-1, 1)
    monkeypatch.setattr(builtins, helper_mutants.RAN, ran, raising=False)
    maximum = importlib.import_module("chainer2torch.compat.functions.math_functions").maximum
    with helper_mutants.applied(mutant, told=True):
        process = multiprocessing.get_context("fork").Process(target=maximum, args=(torch.ones(1), torch.ones(1)))
        process.start()
        process.join()
    assert ran[0] == 1


def test_the_tests_of_a_mutant_run_its_statement(tmp_path):
    path = tmp_path / "helper.py"
    path.write_text("def f(\n    a=1,\n):\n    if a and (\n        a > 2\n    ):\n        return 3\n    return 4\n")
    lines = helper_mutation._statements(path)
    assert [lines[n] for n in (2, 5, 6, 7, 8)] == [(1, 3), (4, 6), (4, 6), (7, 7), (8, 8)]
    mutant = next(m for m in helper_mutants.mutants(MATH) if m.name == "clip")
    called = helper_calls.Called(
        0.1, frozenset({f"compat.{mutant.room}:clip"}), {f"compat.{mutant.room}": frozenset({1})}
    )
    assert not helper_mutation._runs(mutant, called)  # the function is called, the line is not reached
    assert helper_mutation._runs(dataclasses.replace(mutant, default=True), called)
    there = dataclasses.replace(called, lines={f"compat.{mutant.room}": frozenset({mutant.line})})
    assert helper_mutation._runs(mutant, there)


def test_a_record_of_calls_knows_lines_and_forked_processes(tmp_path):
    file, path = tmp_path / "test_it.py", tmp_path / "record.json"
    file.write_text(
        "import multiprocessing\n"
        "import torch\n"
        "from chainer2torch.compat.functions.math_functions import clip, maximum\n"
        "def test_here():\n    clip(torch.ones(1), 0, 2)\n"
        "def test_in_a_process():\n"
        "    x = torch.ones(1)\n"
        "    process = multiprocessing.get_context('fork').Process(target=maximum, args=(x, x))\n"
        "    process.start()\n    process.join()\n"
    )
    helper_calls.write(path, {"::test_before": helper_calls.Called(0.5)})  # what is there already stays
    command = [sys.executable, "-m", "tests.support.helper_calls", str(path), str(file)]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    found = {name.rpartition("::")[2]: called for name, called in helper_calls.read(path).items()}
    room = "compat.functions.math_functions"
    assert f"{room}:clip" in found["test_here"].names and found["test_here"].lines[room]
    assert f"{room}:maximum" in found["test_in_a_process"].names and found["test_in_a_process"].lines[room]
    assert found["test_before"] == helper_calls.Called(0.5)


def test_a_helper_is_used_by_what_calls_it():
    users = helper_mutants.users()
    assert "max_pooling_2d" in users["max_pooling_nd"]
    assert all(name in found for name, found in users.items())


def test_a_mutant_that_ends_its_process_is_killed_and_the_next_one_runs():
    def work(item):
        if item == "dies":
            import os

            os._exit(3)
        if item == "sleeps":
            with limited(1):
                time.sleep(30)
        return "survived", item

    assert isolated(["a", "dies", "b", "sleeps", "c"], work, KILLED) == [
        ("survived", "a"),
        (KILLED, "the process ended"),
        ("survived", "b"),
        (KILLED, "took more than 1 s"),
        ("survived", "c"),
    ]


def test_a_wrong_helper_stands_in_the_texts_that_are_vendored_too():
    mutant = next(m for m in helper_mutants.mutants(MATH) if m.name == "maximum")
    text = helper_mutants.wrong_text(mutant)
    right = MATH.read_text(encoding="utf-8")
    changed = [line for line in text.splitlines() if line not in right.splitlines()]
    assert any(helper_mutants.RAN in line for line in changed)
    assert "    return torch.where((x1 > x2) | x1.isnan(), x1, x2)" in changed
    (function,) = (node for node in ast.parse(text).body if getattr(node, "name", None) == "maximum")
    assert "Source: chainer.functions.maximum" in ast.get_docstring(function)  # tests of signatures read it
    assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(right))


def test_the_tests_of_a_helper_notice_its_mutants():
    """Two mutants of one helper, by its own test file; the whole is `python -m tests.support.helper_mutation`."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.helper_mutation", "--count", "2"]
        + ["--only", "math_functions.maximum", "tests/compat/test_math_functions.py"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "100.0%" in done.stdout, done.stdout


def test_the_report_counts_what_ran_and_fails_on_survivors_without_a_reason():
    verdicts = [
        Verdict("row", "functions", "F.a", "x", KILLED),
        Verdict("row", "functions", "F.a", "y", "survived"),
        Verdict("row", "functions", "F.a", "z", NOT_RUN),
    ]
    report = MutationReport(verdicts, {"row": 7})
    assert report.exit_code == 1 and "survived: F.a: y" in report.lines()
    assert any("50.0%" in line for line in report.lines()) and "row mutants: 3 of 7 possible ones" in report.lines()
    assert dataclasses.replace(report, reasons=[Reason("because", frozenset({"F.a: y"}))]).exit_code == 0
    assert dataclasses.replace(report, reasons=[Reason("because", pattern=r"F\..*: y")]).exit_code == 0
    unseen = dataclasses.replace(verdicts[1], status="not emitted")
    assert MutationReport([unseen], {"row": 7}, [Reason("because", pattern=".*")]).exit_code == 1
    assert MutationReport(verdicts[2:], {"row": 7}).exit_code == 1  # nothing ran
    with pytest.raises(LookupError, match="two numbers"):
        run(RULES, [], "many", 0, None)


def test_a_sample_is_killed():
    """A few rows in full, by the command itself; the whole is `make mutants`."""
    names = ["F.elu", "F.leaky_relu", "F.clipped_relu"]
    done = subprocess.run(
        [sys.executable, "-m", "chainer2torch", "verify", "rules", *names, "--mutants", "all,all"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "row mutants: " in done.stdout and "100.0%" in done.stdout
