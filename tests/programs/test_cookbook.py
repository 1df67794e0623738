"""The programs of the cookbook: each migrates without a question, and computes the same in both frameworks."""

import importlib.util
from pathlib import Path

import pytest

from chainer2torch import verify
from chainer2torch.project import output
from chainer2torch.cli.running import run
from chainer2torch.cli.settings import settings

ROOT = Path(__file__).parents[2]
COOKBOOK = ROOT / "docs/cookbook"
NEEDS_GPUS = {"multi_gpu"}
NAMES = sorted(path.stem for path in COOKBOOK.glob("*.py"))


@pytest.fixture(scope="module")
def migrated(tmp_path_factory):
    out = tmp_path_factory.mktemp("cookbook") / "out"
    project = run((COOKBOOK,), settings((COOKBOOK,), (), (), (), (), quiet=True))
    output.write_out(project, output.changes(project), out, force=False)
    assert not project.problems
    return project.report(migrated=True), out


def test_nothing_is_left_to_do(migrated):
    report, out = migrated
    assert report.left == 0 and report.totals()["manual"] == 0
    for name in NAMES:
        text = (out / f"{name}.py").read_text()
        assert "TODO(chainer2torch" not in text and "import chainer\n" not in text


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NEEDS_GPUS])
def test_it_computes_the_same(migrated, name):
    found = verify.verify_script(COOKBOOK, migrated[1], [f"{name}.py"])
    assert found.ok, found.lines()
    assert sum(step.name.startswith("loss") for step in found.steps) >= 4


def test_the_page_shows_what_comes_out():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    page = generate.cookbook_page()
    for name in NAMES:
        assert f"### Before: {name}.py" in page and f"### After: {name}.py" in page
    assert page.count("class Net(nn.Module)") == page.count("class Net(chainer.Chain)") == 1
    assert page.count("```python") == 2 * len(NAMES)
