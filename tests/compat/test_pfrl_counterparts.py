"""Names of ChainerRL whose counterpart in PFRL does the same: both libraries run the same program from the same seed.

Their source distributions come from the package index, as in tests/sdists; where there is none these tests are skipped,
and say so (with CHAINER2TORCH_NEED_INDEX=1 they fail).
"""

import importlib
import os
import sys
import types
import urllib.error

import numpy as np
import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
from chainer2torch.verify.worker import chainer_patches
from tests.sdists.test_sdists import INDEX, download, python_files

PROOF = "tests/compat/test_pfrl_counterparts.py"
# Packages whose __init__ is left out: they ask for the installed version, for Gym or for OpenCV. The modules are whole.
BARE = ("", "utils/", "misc/")
BUFFERS = ("ReplayBuffer", "EpisodicReplayBuffer", "PrioritizedReplayBuffer", "PrioritizedEpisodicReplayBuffer")


def library(name, version, folder, root):
    for path, text in python_files(download(name, version, folder)).items():
        if path.startswith(f"{name}/"):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            bare = path in {f"{name}/{package}__init__.py" for package in BARE}
            (root / path).write_text("" if bare else text, encoding="utf-8")


@pytest.fixture(scope="module")
def libraries(request, tmp_path_factory):
    """``chainerrl`` and ``pfrl`` with the modules that the tests use."""
    cache = getattr(request.config, "cache", None)  # not there with -p no:cacheprovider
    folder = cache.mkdir("sdists") if cache is not None else tmp_path_factory.mktemp("sdists")
    root = tmp_path_factory.mktemp("libraries")
    try:
        library("chainerrl", "0.8.0", folder, root)
        library("pfrl", "0.4.0", folder, root)
    except (urllib.error.URLError, OSError, StopIteration) as error:
        reason = f"ChainerRL and PFRL cannot be had from {INDEX}: {error!r}"
        if os.environ.get("CHAINER2TORCH_NEED_INDEX"):
            pytest.fail(reason)
        pytest.skip(reason)
    chainer_patches.import_chainer()
    sys.path.insert(0, str(root))
    try:
        for module in ("chainerrl.replay_buffers", "chainerrl.explorers", "pfrl.replay_buffers", "pfrl.explorers"):
            importlib.import_module(module)
        chainerrl, pfrl = sys.modules["chainerrl"], sys.modules["pfrl"]
        for name in BUFFERS:  # as chainerrl/__init__.py does
            setattr(chainerrl.replay_buffer, name, getattr(chainerrl.replay_buffers, name))
        yield types.SimpleNamespace(chainerrl=chainerrl, pfrl=pfrl)
    finally:
        sys.path.remove(str(root))
        for name in [name for name in sys.modules if name.split(".")[0] in ("chainerrl", "pfrl")]:
            del sys.modules[name]


def fill(buffer, count=60):
    """Transitions of two environments, with episodes of different lengths, ended and interrupted ones."""
    for i in range(count):
        env = i % 2
        buffer.append(
            i,
            i % 3,
            0.5 * i,
            next_state=i + 2,
            next_action=None,
            is_state_terminal=i % 11 == 10,
            env_id=env,
            note=str(i),
        )
        if i % 17 == 16:
            buffer.stop_current_episode(env_id=env)


def transitions(buffer):
    """What is stored, and what is sampled, over several rounds with growth in between."""
    seen = []
    for turn in range(4):
        fill(buffer)
        sampled = buffer.sample(7)
        seen.append(repr(sampled))
        if hasattr(buffer, "update_errors"):
            buffer.update_errors([0.1 * turn + 0.3 * i for i in range(7)])
        seen.append(len(buffer))
    seen.append(buffer.capacity)
    return seen


def saved(buffer, path):
    fill(buffer)
    buffer.save(path)
    again = type(buffer)()
    again.load(path)
    return repr(again.sample(5)), len(again)


def episodes(buffer):
    seen = []
    for turn in range(4):
        fill(buffer)
        for limit in (None, 3):
            sampled = buffer.sample_episodes(4, limit)
            seen.append(repr(sampled))
            if hasattr(buffer, "update_errors"):
                buffer.update_errors([0.2 * turn + 0.4 * i for i in range(4)])
        seen.append((len(buffer), buffer.n_episodes))
    if not hasattr(buffer, "update_errors"):
        seen.append(repr(buffer.sample(5)))
    return seen


def subsequences(function):
    return [function(list(range(n)), k) for n in range(1, 9) for k in (1, 3, 8)]


def actions(explorer):
    log = [(explorer.select_action(t, lambda t=t: 1000 + t), getattr(explorer, "epsilon", None)) for t in range(200)]
    return log, repr(explorer)


R, E = "chainerrl.replay_buffer.", "chainerrl.explorers."
ERRORS = "alpha=0.7, beta0=0.3, betasteps=40"
CASES = [
    *((f"{R}ReplayBuffer({a})", transitions) for a in ("", "50", "capacity=40, num_steps=3", "None, 2")),
    *(
        (f"{R}PrioritizedReplayBuffer({a})", transitions)
        for a in (
            "",
            "90",
            f"capacity=90, {ERRORS}, eps=0.05",
            f"90, {ERRORS}, normalize_by_max='memory', num_steps=3",
            "error_min=None, error_max=0.5, betasteps=None",
        )
    ),
    *((f"{R}EpisodicReplayBuffer({a})", episodes) for a in ("", "90", "capacity=70")),
    *(
        (f"{R}PrioritizedEpisodicReplayBuffer({a})", episodes)
        for a in (
            "",
            "90",
            f"capacity=90, {ERRORS}, eps=1e-3, uniform_ratio=0.3",
            "normalize_by_max='memory', error_min=0.1, error_max=2.0",
            "default_priority_func=lambda episode: len(episode), return_sample_weights=False",
            "90, wait_priority_after_sampling=False",
        )
    ),
    (f"{R}random_subseq", subsequences),
    *(
        (f"{E}ConstantEpsilonGreedy({a})", actions)
        for a in ("0.0, draw", "0.3, draw", "epsilon=1.0, random_action_func=draw")
    ),
    *(
        (f"{E}LinearDecayEpsilonGreedy({a})", actions)
        for a in ("1.0, 0.1, 100, draw", "start_epsilon=0.5, end_epsilon=0.9, decay_steps=30, random_action_func=draw")
    ),
    (f"{E}Greedy()", actions),
]


def draw():
    return np.random.randint(7)


def migrated(text):
    """What the rules write for an expression; nothing about it is left to a person."""
    result = migrate_source(f"import chainerrl\nmade = {text}\n")
    assert [site.state for site in result.sites] == ["exact"], result.sites
    assert "chainerrl" not in result.code
    return result.code.rpartition("made = ")[2].strip()


def outcome(text, use, libraries):
    np.random.seed(3)
    return use(eval(text, {"chainerrl": libraries.chainerrl, "pfrl": libraries.pfrl, "draw": draw}))  # noqa: S307


@pytest.mark.parametrize(("text", "use"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_the_same_program_does_the_same(text, use, libraries):
    theirs, ours = outcome(text, use, libraries), outcome(migrated(text), use, libraries)
    assert theirs == ours
    assert len({str(part) for part in theirs}) > 1, "something happened"


@pytest.mark.parametrize("name", BUFFERS[:3])
def test_a_buffer_is_saved_and_loaded(name, libraries, tmp_path):
    theirs = outcome(f"{R}{name}()", lambda buffer: saved(buffer, tmp_path / "a"), libraries)
    assert theirs == outcome(migrated(f"{R}{name}()"), lambda buffer: saved(buffer, tmp_path / "b"), libraries)


def test_what_chainerrl_saved_is_to_be_looked_at():
    """Its files are pickles of its own classes."""
    for name in BUFFERS:
        result = migrate_source(f"import chainerrl\nbuffer = {R}{name}(9)\nbuffer.load('file')\n")
        assert [site.state for site in result.sites] == ["exact", "review"], result.sites
        assert "cannot be taken along" in result.code


@pytest.mark.parametrize(
    "text",
    [
        "import chainerrl\nb = chainerrl.replay_buffers.{}(9)\n",
        "from chainerrl import replay_buffers\nb = replay_buffers.{}(9)\n",
        "from chainerrl.replay_buffers import {0}\nb = {0}(9)\n",
    ],
)
def test_the_buffers_are_known_where_they_are_defined(text):
    for name in BUFFERS:
        assert migrate_source(text.format(name)).code == f"import pfrl\nb = pfrl.replay_buffers.{name}(capacity=9)\n"


def test_every_exact_row_is_compared():
    claimed = {name for name, row in load_rules().packs["chainerrl"].items() if row.state == "exact"}
    assert claimed == {text.partition("(")[0] for text, _ in CASES}
    assert {load_rules().packs["chainerrl"][name].proof for name in claimed} == {PROOF}
