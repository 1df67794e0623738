"""Results that are kept from one run to the next: whatever changes, they are those of a run that knows nothing."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from chainer2torch import engine, part_engine
from chainer2torch.analysis.flow import Analysis
from chainer2torch.cli.app import cli
from chainer2torch.engine import Options, migrate_sources
from chainer2torch.project.result_cache import ResultCache, default_folder, version_of_all
from chainer2torch.rules.table import load_rules
from chainer2torch.vendor import compat_file

ROOT = Path(__file__).parents[2]
RULES = load_rules(lazy=True, style="native")
NET = """import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(4, 3)

    def forward(self, x):
        return F.relu(self.fc(x))
"""
TRAIN = """import numpy as np
import chainer.functions as F
from net import Net

net = Net()
x = np.zeros((2, 4), np.float32)
print(F.sum(net(x)))
"""
SCRIPT = "import chainer.functions as F\n\n\ndef f(x):\n    return F.dropout(F.relu(x), 0.3)\n"


def tree() -> dict[str, str]:
    """Three programs: one in two files, and two that are alone."""
    return {"net.py": NET, "train.py": TRAIN, "alone.py": SCRIPT, "other/sums.py": SCRIPT.replace("relu", "sigmoid")}


def migrated(texts: dict[str, str], memory: ResultCache | None, **settings: object) -> dict[str, engine.FileResult]:
    return migrate_sources(texts, rules=RULES, options=Options(style="native"), memory=memory, **settings)


def edited(texts: dict[str, str], rng: random.Random) -> dict[str, str]:
    """A tree in which one thing has changed."""
    path = rng.choice(sorted(texts))
    lines = texts[path].splitlines(keepends=True)
    at = rng.randrange(len(lines))
    kind = rng.randrange(7)
    if kind == 0:
        lines.insert(at, "# a comment\n")
    elif kind == 1:
        del lines[at]
    elif kind == 2:
        lines.append("x.data = F.tanh(x) if x.grad is None else x\n")
    elif kind == 3:
        lines.insert(0, f"from {rng.choice(['net', 'alone', 'train', 'chainercv.links'])} import *\n")
    elif kind == 4:
        lines.append("class S(object):\n    def serialize(self, serializer):\n        pass\n")
    elif kind == 5:
        return {name.replace(path, f"moved/{path}"): text for name, text in texts.items()}
    else:
        lines[at] = lines[at].replace("4", "None").replace("relu", "max_pooling_2d")
    return {**texts, path: "".join(lines)}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rewrite", [True, False])
def test_after_any_edits_a_run_that_remembers_finds_what_one_without_memory_finds(tmp_path, seed, rewrite):
    rng, memory, texts = random.Random(seed), ResultCache(tmp_path, "1"), tree()
    for _ in range(15):
        expected = migrated(texts, None, rewrite=rewrite)
        assert migrated(texts, memory, rewrite=rewrite) == expected
        assert migrated(texts, memory, rewrite=rewrite) == expected, "nothing has changed"
        texts = edited(texts if rng.random() < 0.7 else tree(), rng)


def analysed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The files of each analysis that is made from now on."""
    found: list[list[str]] = []
    real = Analysis.run

    def run(self: Analysis) -> Analysis:
        found.append(list(self.project.modules))
        return real(self)

    monkeypatch.setattr(Analysis, "run", run)
    return found


def test_only_the_program_in_which_something_changed_is_analysed_again(tmp_path, monkeypatch):
    memory, texts = ResultCache(tmp_path, "1"), tree()
    found = analysed(monkeypatch)
    migrated(texts, memory)
    assert sorted(found) == [["alone.py"], ["net.py", "train.py"], ["other/sums.py"]]
    found.clear()
    migrated(texts, memory)
    assert found == []
    migrated({**texts, "train.py": TRAIN + "print(net)\n"}, memory)
    assert found == [["net.py", "train.py"]]
    found.clear()
    migrated({**texts, "new.py": "import chainer\n"}, memory)  # another file may be what an import finds
    assert len(found) == 4


OWN_STATE = """

class Counter(chainer.training.Extension):
    count = 0

    def serialize(self, serializer):
        self.count = serializer('count', self.count)
"""


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_helpers_lie_where_they_lie_without_memory(tmp_path, style):
    """A project of one part, as a class that says what is saved of it makes it: a library, and tests beside it."""
    train = TRAIN.replace("from net", "from lib.net")
    texts = {"lib/__init__.py": "", "lib/net.py": NET + OWN_STATE, "tests/suite/test_net.py": train, "run.py": train}
    rules, options = load_rules(lazy=True, style=style), Options(style=style)
    fresh = migrate_sources(texts, rules=rules, options=options)
    memory = ResultCache(tmp_path / "cache", "1")
    for _ in range(2):
        assert migrate_sources(texts, rules=rules, options=options, memory=memory) == fresh
    assert "from lib import chainer_compat" in fresh["lib/net.py"].code


def test_what_else_decides_is_another_run(tmp_path, monkeypatch):
    texts = tree()
    migrated(texts, ResultCache(tmp_path, "1"))
    found = analysed(monkeypatch)
    migrated(texts, ResultCache(tmp_path, "2"))  # another tool
    assert len(found) == 3
    found.clear()
    memory = ResultCache(tmp_path, "1")
    migrate_sources(texts, rules=RULES, options=Options(style="native", init="torch"), memory=memory)
    assert len(found) == 3
    found.clear()
    migrate_sources(texts, rules=RULES, options=Options(style="native", pinned=1), memory=memory)
    assert len(found) == 3, "the version of a file is that of its project"


def test_the_version_of_chainer_that_a_file_takes_from_others_is_part_of_its_key(tmp_path):
    memory, texts = ResultCache(tmp_path, "1"), tree()
    migrated(texts, memory)
    old = {**texts, "other/sums.py": "import chainer\nx = chainer.Variable(y, volatile=True)\n"}
    assert migrated(old, memory) == migrated(old, None)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: b"x" + data,
        lambda data: data[:-9] + b"!" + data[-8:],
    ],
)
def test_a_broken_entry_is_none(tmp_path, damage):
    memory, texts = ResultCache(tmp_path, "1"), tree()
    expected = migrated(texts, memory)
    entries = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(entries) > 4
    for path in entries:
        path.write_bytes(damage(path.read_bytes()))
    assert migrated(texts, memory) == expected


@pytest.mark.parametrize("value", [None, 1, [], {}, {"net.py": 3}, [[1]], {"alone.py": {"code": "pass\n"}}, "text"])
def test_an_entry_of_another_form_is_none(tmp_path, value):
    texts = tree()
    expected = migrated(texts, None)

    class Odd(ResultCache):
        def get(self, key: str) -> object:
            return value

    assert migrated(texts, Odd(tmp_path, "1")) == expected


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    memory = ResultCache(tmp_path / "file", "1")
    assert migrated(tree(), memory) == migrated(tree(), None)


def test_nothing_unfinished_is_left_and_the_folder_says_what_it_is(tmp_path):
    migrated(tree(), ResultCache(tmp_path / "cache", "1"))
    names = sorted(path.name for path in (tmp_path / "cache").iterdir() if path.is_file())
    assert names == [".gitignore", "CACHEDIR.TAG"]
    assert all(len(path.name) == 62 for path in (tmp_path / "cache").glob("*/*"))


def test_an_error_of_ours_is_not_remembered(tmp_path, monkeypatch):
    memory, texts = ResultCache(tmp_path, "1"), tree()
    with monkeypatch.context() as patch:
        patch.setattr(part_engine, "decide", lambda *_: 1 / 0)
        assert migrated(texts, memory)["alone.py"].defect
    assert migrated(texts, memory) == migrated(texts, None)


@pytest.mark.parametrize("jobs", [1, 3])
def test_processes_share_the_folder(tmp_path, jobs):
    memory, texts = ResultCache(tmp_path, "1"), tree()
    assert migrated(texts, memory, jobs=jobs) == migrated(texts, memory) == migrated(texts, None)


def test_the_command_keeps_results_where_it_is_told_to(tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text(SCRIPT)
    cache = tmp_path / "cache"
    monkeypatch.setenv("CHAINER2TORCH_CACHE_DIR", str(tmp_path / "another"))

    first = tool("migrate", tmp_path / "src", "--no-cache")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["src"]
    assert tool("migrate", tmp_path / "src", "--cache-dir", cache) == first
    assert cache.is_dir() and not (tmp_path / "another").exists()
    found = analysed(monkeypatch)
    assert tool("migrate", tmp_path / "src", "--cache-dir", cache) == first and found == []
    assert tool("check", tmp_path / "src", "--cache-dir", cache) == tool("check", tmp_path / "src", "--no-cache")
    tool("check", tmp_path / "src")
    assert (tmp_path / "another").is_dir()


def tool(*arguments: object) -> str:
    return CliRunner().invoke(cli, [*map(str, arguments)], standalone_mode=False).output


def test_helpers_are_built_once_for_what_they_are_built_from(tmp_path, monkeypatch):
    source, cache = tmp_path / "src", ("--cache-dir", tmp_path / "cache")
    source.mkdir()
    (source / "a.py").write_text("import chainer.links as L\nbn = L.BatchNormalization(3, decay=0.5)\n")
    (source / "requirements.txt").write_text("chainer\n")
    built = []
    real = compat_file.build
    monkeypatch.setattr(compat_file, "build", lambda *a, **k: built.append(a) or real(*a, **k))
    command = ("migrate", source, "--style", "faithful")
    first = tool(*command, *cache)
    assert "chainer_compat.py" in first and len(built) == 1
    assert tool(*command, *cache) == first and len(built) == 1
    (source / "b.py").write_text("import chainer\nopt = chainer.optimizers.SMORMS3()\nopt.setup(net)\n")
    second = tool(*command, *cache)
    assert len(built) > 1 and second == tool(*command, "--no-cache") != first


@pytest.mark.parametrize("seed", range(2))
def test_after_any_edits_a_command_says_what_one_without_memory_says(tmp_path, seed):
    rng, source, cache = random.Random(seed), tmp_path / "src", ("--cache-dir", tmp_path / "cache")
    texts = {**tree(), "requirements.txt": "chainer==7.8.1\n"}
    for _ in range(6):
        shutil.rmtree(source, ignore_errors=True)
        for path, text in texts.items():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            (source / path).write_text(text)
        for command in (("migrate",), ("report",)):
            expected = tool(*command, source, "--no-cache")
            assert tool(*command, source, *cache) == expected
            assert tool(*command, source, *cache) == expected, "nothing has changed"
        python = {path: text for path, text in texts.items() if path.endswith(".py")}
        texts = {**edited(python if rng.random() < 0.7 else tree(), rng), "requirements.txt": texts["requirements.txt"]}


def test_where_results_are_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("CHAINER2TORCH_CACHE_DIR", "")
    assert default_folder() is None
    monkeypatch.delenv("CHAINER2TORCH_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "chainer2torch"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".cache/chainer2torch"
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    assert default_folder() is None


def test_tables_of_the_user_are_part_of_the_version(tmp_path):
    without = version_of_all(())
    (tmp_path / "own.toml").write_text("")
    one = version_of_all((tmp_path,))
    (tmp_path / "own.toml").write_text("# changed\n")
    assert len({without, one, version_of_all((tmp_path,)), version_of_all(())}) == 3


def test_the_folder_does_not_grow_without_end(tmp_path, monkeypatch):
    from chainer2torch.project import result_cache

    monkeypatch.setattr(result_cache, "_MOST", 512)
    memory = ResultCache(tmp_path, "1")
    for number in range(1500):
        memory.put(str(number), number)
    assert 256 < len(list(tmp_path.glob("*/*"))) < 800 and memory.get("1499") == 1499


def test_a_run_that_knows_everything_imports_neither_analysis_nor_plan(tmp_path):
    program = (
        "import sys; from pathlib import Path; from chainer2torch.engine import Options, migrate_sources\n"
        "from chainer2torch.project.result_cache import ResultCache\n"
        f"results = migrate_sources({tree()!r}, memory=ResultCache(Path({str(tmp_path)!r}), '1'), options=Options())\n"
        "print(results['net.py'].changed, 'chainer2torch.plan.pipeline' in sys.modules)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def said() -> str:
        return subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()

    assert said() == "True True"
    assert said() == "True False"


def test_what_a_text_says_is_kept_with_its_result(tmp_path):
    memory = ResultCache(tmp_path, "1")
    first = migrated(tree(), memory)
    again = migrated(tree(), memory)
    assert all(again[path].said == first[path].said is not None for path in first)
