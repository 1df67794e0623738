"""Every fixture runs under Chainer as it is, and is written as people write: with Chainer's names and comments."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = {
    "mlp_trainer": ["train.py", "--epoch", "2", "--out", "{out}/result"],
    "cnn_loop": ["train.py", "--epoch", "2", "--out", "{out}/stripes.npz"],
    "ptb_rnn": ["train_ptb.py", "--epoch", "1"],
    "gan_updater": ["train_gan.py", "--epoch", "1", "--out", "{out}/result"],
    "v1_style": ["train_autoencoder.py", "--epoch", "2", "--output", "{out}/dae.model"],
}
EXPECTED = {
    "mlp_trainer": ["result/log", "result/snapshot_iter_19"],
    "cnn_loop": ["stripes.npz"],
    "gan_updater": ["result/log", "result/forger_1.npz", "result/points_8.txt"],
    "v1_style": ["dae.model"],
}
# Runs a script as `python SCRIPT ARGS` would, after Chainer was made importable.
RUN = """
import runpy, sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, {root!r})
from chainer2torch.verify.worker.chainer_patches import import_chainer
import_chainer()
sys.path[0] = {folder!r}
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_runs_under_chainer(name, tmp_path):
    pytest.importorskip("chainer", reason="the reference side is an extra")
    folder = ROOT / "fixtures" / name
    script, *arguments = [part.format(out=tmp_path) for part in PROGRAMS[name]]
    code = RUN.format(root=str(ROOT), folder=str(folder))
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder / script), *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "nan" not in done.stdout and done.stdout.strip()
    for path in EXPECTED.get(name, []):
        assert (tmp_path / path).stat().st_size > 0


def test_all_fixtures_are_here():
    folders = {path.name for path in (ROOT / "fixtures").iterdir() if path.is_dir()}
    assert folders >= set(PROGRAMS)
