"""``migrate --only``: two fixtures at every stage, in both frameworks: the losses of the original, and its weights."""

import json
from pathlib import Path

import chainer
import numpy as np
import pytest

from click.testing import CliRunner

import chainer2torch.compat.training.trainer  # noqa: F401 - what the scripts are going to import
from chainer2torch.cli.app import cli
from tests.support import forked

ROOT = Path(__file__).parents[2]
# the class, constructor arguments, the shape of a batch, the script, and the dropout that is taken out: two frameworks
# do not draw the same masks, and Chainer draws them from the generator that shuffles
CASES = {
    "mlp_trainer": (
        "net:MLP",
        (24, 3),
        (4, 10),
        ["train.py"],
        ("F.dropout( F.relu(self.l2(h)), ratio=.25 )", "F.relu(self.l2(h))"),
    ),
    "cnn_loop": (
        "models:StripeNet",
        (3,),
        (4, 3, 13, 13),
        ["train.py"],
        ("F.dropout(F.relu(self.conv3(h)), .2)", "F.relu(self.conv3(h))"),
    ),
}
# the name of a stage, what it starts from, what is migrated, and whether Chainer is needed afterwards
STAGES = [
    ("training", "original", ["training"], True),
    ("training-data", "training", ["data"], True),
    ("all-in-steps", "training-data", ["models"], False),
    ("rest-at-once", "training", [], False),
    ("models", "original", ["models"], True),
    ("data", "original", ["data"], True),
    ("data-models", "data", ["models"], True),
    ("training-models", "training", ["models"], True),
    ("models-then-training", "models", ["training"], True),
    ("models-training-data", "models-then-training", ["data"], False),
]


def migrate(source, out, only):
    arguments = ["migrate", str(source), "-o", str(out)] + [part for stage in only for part in ("--only", stage)]
    return CliRunner().invoke(cli, arguments, standalone_mode=False)


@pytest.fixture(scope="module", params=sorted(CASES))
def project(request, tmp_path_factory):
    """The original, every stage of it, and what a run of each gave."""
    target, arguments, shape, script, (dropout, without) = CASES[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "original").mkdir()
    for path in (ROOT / "fixtures" / request.param).iterdir():
        if path.is_file():
            (folder / "original" / path.name).write_bytes(path.read_bytes())
    module, name = target.split(":")
    net = folder / "original" / f"{module}.py"
    assert dropout in net.read_text()
    net.write_text(net.read_text().replace(dropout, without))
    codes = {}
    for stage, source, only, _ in STAGES:
        codes[stage] = migrate(folder / source, folder / stage, only)
    scope: dict = {}
    exec(compile(net.read_text(), "original", "exec"), scope)
    np.random.seed(3)
    link = scope[name](*arguments)
    with chainer.using_config("train", False):
        link(np.zeros(shape, np.float32))
    chainer.serializers.save_npz(str(folder / "start.npz"), link)
    folders = [str(folder / stage) for stage in ("original", *(stage for stage, *_ in STAGES))]
    done = forked.script(
        ROOT / "tests/support/half_way.py",
        *(folder / "runs.json", folder / "start.npz", target, *folders, "--", *script),
        env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PATH": ""},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    runs = json.loads((folder / "runs.json").read_text())
    return folder, {Path(name).name: run for name, run in runs.items()}, codes


@pytest.mark.parametrize("stage", [stage for stage, *_ in STAGES])
def test_every_stage_learns_as_the_original(project, stage):
    _, runs, _ = project
    want, got = runs["original"]["losses"], runs[stage]["losses"]
    assert "error" not in runs[stage], runs[stage]["error"]
    assert len(got) == len(want) >= 10 and len(set(want)) == len(want)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)  # the last losses are below 0.01


@pytest.mark.parametrize("stage, needed", [(stage, needed) for stage, _, _, needed in STAGES])
def test_the_frameworks_that_a_stage_needs(project, stage, needed):
    folder, _, _ = project
    texts = [path.read_text() for path in (folder / stage).glob("*.py")]
    imports = [
        line
        for text in texts
        for line in text.splitlines()
        if line.split("#")[0].strip().replace("from ", "import ").startswith("import chainer")
        and "chainer_compat" not in line
    ]
    assert bool(imports) == needed, imports


@pytest.mark.parametrize("stage", [stage for stage, *_ in STAGES])
def test_a_stage_that_is_done_changes_nothing_the_second_time(project, stage, tmp_path):
    folder, _, codes = project
    assert codes[stage].return_value is not None and codes[stage].return_value < 2, codes[stage].output
    only = next(only for name, _, only, _ in STAGES if name == stage)
    migrate(folder / stage, tmp_path / "again", only)
    for path in (folder / stage).glob("*.py"):
        assert (tmp_path / "again" / path.name).read_text() == path.read_text(), path.name
