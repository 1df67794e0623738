"""A table of optimizers by name holds those that the settings files of a project name; others raise and say why."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import command_line, forked

PROGRAM = """import json
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


def train(path, **options):
    settings = json.load(open(path))
    link = L.Linear(3, 2, initialW=0.5)
    optimizer = getattr(chainer.optimizers, settings['name'])(**options)
    optimizer.setup(link)
    losses = []
    for i in range(5):
        loss = F.sum(link(np.ones((4, 3), 'f')) ** 2)
        link.cleargrads()
        loss.backward()
        optimizer.update()
        losses.append(float(loss.array))
    return losses
"""


def migrated(folder: Path, settings: dict[str, str]) -> str:
    (folder / "in").mkdir(parents=True)
    (folder / "in/train.py").write_text(PROGRAM)
    for path, text in settings.items():
        (folder / "in" / path).write_text(text)
    done = command_line.run("migrate", "in", "-o", "out", "--no-cache", "-j", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    return (folder / "out/chainer_compat.py").read_text()


def losses(folder: Path, path: str) -> subprocess.CompletedProcess[str]:
    code = f"import train, json; print(json.dumps(train.train({path!r})))"
    return forked.code(code, cwd=folder, without=("chainer",))


def test_what_no_settings_name_raises_and_says_so(tmp_path: Path) -> None:
    helpers = migrated(tmp_path, {"a.json": '{"name": "AdaGrad"}', "b.yml": "name: Adam"})
    assert "    AdaGrad = " in helpers and "    Adam = " in helpers
    assert "    RMSprop = " not in helpers and "    SGD = " not in helpers and "chosen_" not in helpers
    theirs: dict[str, Any] = {}
    exec(PROGRAM, theirs)
    ours = losses(tmp_path / "out", "a.json")
    assert not ours.returncode, ours.stderr
    expected = theirs["train"](tmp_path / "in/a.json")
    np.testing.assert_allclose(json.loads(ours.stdout), expected, rtol=1e-5)
    (tmp_path / "other.json").write_text('{"name": "RMSprop"}')
    other = losses(tmp_path / "out", "../other.json")
    assert other.returncode and "RMSprop is not here: `chainer2torch migrate` puts in" in other.stderr


@pytest.mark.parametrize("settings", [{}, {"a.json": '{"name": "relu"}'}, {"notes.md": "We use Adam."}])
def test_without_a_name_in_settings_all_stay(settings: dict[str, str], tmp_path: Path) -> None:
    helpers = migrated(tmp_path, settings)
    rows = ("SGD", "CorrectedMomentumSGD", "AdaGrad", "AdaDelta", "RMSprop", "Adam", "AMSGrad", "AdamW", "SMORMS3")
    assert all(f"    {name} = " in helpers for name in rows) and "chosen_" not in helpers
