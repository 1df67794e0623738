"""The contract of the command line: exit status, what goes where, and what is not imported."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import command_line

ROOT = Path(__file__).parents[2]
CLEAN = "import torch\n\nx = torch.zeros(3)\n"
EASY = "import chainer.functions as F\n\n\ndef f(x):\n    return F.relu(x)   # kept\n"
HARD = "import chainer\n\nchainer.no_such_thing_at_all()\n"


def run(*arguments, cwd=None, code=None):
    """``code`` is run by a new interpreter, a command line without it in a forked process."""
    if code is None:
        return command_line.run(*arguments, cwd=cwd, env=command_line.PLAIN)
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=cwd or ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        env=command_line.PLAIN,
    )


@pytest.fixture
def project(tmp_path):
    src = tmp_path / "src"
    src.mkdir()
    (src / "easy.py").write_text(EASY)
    (src / "clean.py").write_text(CLEAN)
    return src


# -- what is not imported ------------------------------------------------------------------------------------------

WATCHED = """
import sys
from chainer2torch.cli.app import cli
from chainer2torch.cli.errors import guarded
sys.argv[0] = "chainer2torch"
status = guarded(cli)
heavy = {"libcst", "torch", "chainer", "numpy", "rich", "chainer2torch.plan.passes", "chainer2torch.plan.edits",
         "chainer2torch.analysis.flow", "chainer2torch.project.dependencies.moving"}
heavy &= set(sys.modules)
print("heavy:", sorted(heavy), "status:", status)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["migrate", "--help"],
        ["check", "."],
        ["migrate", "."],
        ["explain", "C2T004"],
        ["migrate", ".", "-o", "../out"],
        ["report", ".", "--format", "json"],
        ["check", ".", "--quiet"],
        ["migrate", ".", "--write", "--force", "--quiet"],
    ],
)
def test_without_chainer_nothing_heavy_is_imported(tmp_path, arguments):
    src = tmp_path / "src"
    src.mkdir()
    (src / "clean.py").write_text(CLEAN)
    (src / "requirements.txt").write_text("numpy\n")
    done = run(*arguments, cwd=src, code=WATCHED)
    assert done.stdout.endswith("heavy: [] status: 0\n"), done.stdout + done.stderr


def test_a_check_without_chainer_does_not_look_at_the_helpers(tmp_path):
    (tmp_path / "clean.py").write_text(CLEAN)
    done = run(
        "check", ".", cwd=tmp_path, code=WATCHED.replace('{"libcst",', '{"libcst", "chainer2torch.vendor.rooms",')
    )
    assert done.stdout.endswith("heavy: [] status: 0\n"), done.stdout + done.stderr


def test_migrating_imports_neither_torch_nor_chainer(project):
    done = run("migrate", ".", cwd=project, code=WATCHED)
    heavy = ["chainer2torch.analysis.flow", "chainer2torch.plan.edits", "chainer2torch.plan.passes", "libcst"]
    assert f"heavy: {heavy} status: 1" in done.stdout, done.stdout + done.stderr


def test_the_package_is_light():
    done = run(code="import sys, chainer2torch; print('libcst' in sys.modules, chainer2torch.__version__)")
    assert done.stdout == "False 0.1.0\n"
    done = run(code="import chainer2torch; print(chainer2torch.migrate_source('import numpy\\n').changed)")
    assert done.stdout == "False\n", done.stderr


# -- migrate -------------------------------------------------------------------------------------------------------


def test_diff_is_the_default_and_changes_nothing(project):
    before = {path.name: path.read_bytes() for path in project.iterdir()}
    done = run("migrate", ".", cwd=project)
    assert done.returncode == 1
    assert done.stdout.startswith("--- a/easy.py\n+++ b/easy.py\n")
    assert "+import torch.nn.functional as F" in done.stdout
    assert "dry run" in done.stderr and "2 Python files: 1 to migrate, 1 without Chainer\n" in done.stderr
    assert "would be left in the output: 0 references" in done.stderr
    assert {path.name: path.read_bytes() for path in project.iterdir()} == before
    assert run("migrate", ".", "--diff", cwd=project).stdout == done.stdout


def test_what_is_left_is_not_nothing_where_a_file_could_not_be_read(project, tmp_path):
    (project / "broken.py").write_text("import chainer\nx = chainer.Variable(\n")
    done = run("migrate", project, "-o", tmp_path / "out")
    assert done.returncode == 2
    assert "left in the output: what is in 1 file that could not be migrated; nothing in the others\n" in done.stderr
    (project / "more.py").write_text("import chainer\ny = chainer.no_such_name\n")
    done = run("migrate", project, "-o", tmp_path / "again")
    assert ", and what is in 1 file that could not be migrated\n" in done.stderr


def test_output_folder_then_nothing_left(project, tmp_path):
    done = run("migrate", project, "-o", tmp_path / "out")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "2 Python files: 1 migrated, 1 without Chainer" in done.stderr
    assert "\nleft in the output: 0 references" in done.stderr
    assert "return F.relu(x)   # kept" in (tmp_path / "out/easy.py").read_text()
    assert (tmp_path / "out/clean.py").read_text() == CLEAN
    assert run("check", tmp_path / "out").returncode == 0
    again = run("migrate", tmp_path / "out")
    assert (again.returncode, again.stdout) == (0, ""), "twice is once"


def test_write_in_place_twice_is_once(project):
    assert run("migrate", ".", "--write", cwd=project).returncode == 0
    first = {path.name: path.read_bytes() for path in project.iterdir()}
    assert run("migrate", ".", "--write", cwd=project).returncode == 0
    assert {path.name: path.read_bytes() for path in project.iterdir()} == first


def test_something_left_is_status_1_and_named(project, tmp_path):
    (project / "hard.py").write_text(HARD)
    done = run("migrate", project, "-o", tmp_path / "out")
    assert done.returncode == 1 and "left in the output: 1 reference " in done.stderr, done.stderr
    compile((tmp_path / "out/hard.py").read_text(), "hard.py", "exec")
    checked = run("check", tmp_path / "out")
    assert checked.returncode == 1 and "hard.py" in checked.stdout and "manual" in checked.stdout


def test_check_prints_each_site(project):
    done = run("check", ".", cwd=project)
    assert done.returncode == 1
    assert done.stdout == "easy.py:5:12: C2T100 exact chainer.functions.relu\n", done.stdout
    assert run("check", "clean.py", cwd=project).returncode == 0
    assert run("check", ".", "-q", cwd=project).stderr == ""


@pytest.mark.parametrize(
    "name, content, words",
    [
        ("bad.py", "import chainer\nx = (\n", "bad.py:2: C2T004 syntax error"),
        ("old.py", "import chainer\nprint 'x'\nx = [for y in z]\n", "old.py:2: C2T005 is Python 2 (print statement)"),
        ("binary.py", "import chainer\n\0", "binary.py: C2T004 syntax error: "),
    ],
)
def test_a_bad_file_is_status_2_and_the_rest_done(project, name, content, words):
    (project / name).write_text(content)
    done = run("migrate", ".", "-o", "../out", cwd=project)
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr
    assert "line None" not in done.stderr
    assert "torch" in (project / "../out/easy.py").read_text()
    assert run("check", ".", cwd=project).returncode == 2


def test_python_2_is_converted_unless_told_otherwise(project):
    (project / "old.py").write_text("import chainer\nprint 'x'\n")
    named = run("migrate", ".", "-o", "../left", "--no-modernize", cwd=project)
    assert named.returncode == 2 and "old.py:2: C2T005" in named.stderr
    done = run("migrate", ".", "-o", "../out", "--report", "../out.json", cwd=project)
    assert "note: 1 file was Python 2 and is made Python 3 (--no-modernize leaves them): old.py\n" in done.stderr
    assert (project / "../out/old.py").read_text() == "print('x')\n"
    files = json.loads((project / "../out.json").read_text())["files"]
    assert [row["path"] for row in files if row.get("python2")] == ["old.py"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["migrate", "nowhere"], "nowhere: C2T001 does not exist"),
        (["check", "nowhere"], "C2T001"),
        (["migrate"], "chainer2torch migrate: missing argument 'PATH...'"),
        (["migrate", ".", "-o", "out"], "inside the source"),
        (["migrate", ".", "-o", ".."], "contains the source"),
        (["migrate", ".", "--write", "--diff"], "choose one of"),
        (["migrate", ".", "--report", "x.doc"], "must be one of .htm, .html, .json, .markdown, .md"),
        (["migrate", ".", "--rules", "nowhere"], "nowhere: no such directory of rule tables"),
        (["report", ".", "-o", "x.doc"], "must be one of .htm, .html, .json, .markdown, .md"),
        (["explain", "C2T0O4"], "did you mean C2T"),
        (["rules", "leeky_relu"], "did you mean chainer.functions.leaky_relu"),
        (["weights", "x.npz", "--model", "net", "-o", "x.pt"], "MODULE:CLASS"),
        (["verify", "script", "nowhere", "out", "--", "train.py"], "nowhere: no such folder"),
        (["nonsense"], "chainer2torch: no such command"),
        (["migrate", ".", "--wirte"], "`chainer2torch migrate --help` says how"),
        (["check", ".", "--select", "C2T9"], "C2T9: no code begins so"),
        (["check", ".", "--ignore", "relu"], "relu: no code begins so; codes look like"),
        (["explain", "relu"], "rules relu"),
        (["check", ".", "--baseline", "nowhere"], "nowhere: cannot be read"),
        (["migrate", ".", "--trace", "nowhere"], "nowhere"),
    ],
)
def test_wrong_requests_are_status_2_with_a_short_message(project, arguments, words):
    done = run(*arguments, cwd=project)
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) <= 2
    assert sorted(path.name for path in project.iterdir()) == ["clean.py", "easy.py"]


@pytest.mark.parametrize("package", ["numpy", "torch", "chainer"])
@pytest.mark.parametrize("command", [["verify", "rules", "chainer.functions.relu"], ["trace", "--", "x.py"]])
def test_a_package_of_the_extras_that_is_missing(project, package, command):
    """As where only the core is installed."""
    done = run(
        *command,
        cwd=project,
        code=(
            f"import builtins, sys\nsys.modules['numpy'] = None\n"
            f"def missing(*a, **k): raise ModuleNotFoundError('No module named {package}', name='{package}')\n"
            "from chainer2torch import verify\nfrom chainer2torch.cli import programs\n"
            "verify.verify_rules = programs.record = missing\n"
            f"from chainer2torch.__main__ import main\nmain()"
        ),
    )
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert f"{package} is not installed here" in done.stderr and "chainer2torch[verify]" in done.stderr


def test_debug_shows_a_traceback(project):
    assert "Traceback" in run("--debug", "migrate", ".", "-o", "out", cwd=project).stderr


def test_a_rule_table_of_the_user(project, tmp_path):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/own.toml").write_text("module = 'chainer'\n[broken]\nsignatur = '(x)'\n")
    done = run("migrate", project, "--rules", tmp_path / "rules")
    assert done.returncode == 2 and "own.toml" in done.stderr and "signatur" in done.stderr


# -- configuration -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table, words",
    [
        ("exclud = ['a']", "unknown key 'exclud'; did you mean 'exclude'?"),
        ("nonsense = 1", "known keys: rules, select, ignore, exclude, only, gitignore, modernize, jobs, init"),
        ("inti = 'torch'", "did you mean 'init'?"),
        ("fail-under = 101", "fail-under must be a number from 0 to 100, not 101"),
        ("jobs = true", "jobs must be a whole number"),
        ("init = 'keras'", "init must be 'chainer' or 'torch'"),
        ("only = ['model']", "only must be a list of training, data, models, not 'model'"),
        ("gitignore = 1", "gitignore must be true or false"),
        ("baseline = 3", "baseline must be a path"),
        ("exclude = 'a'", "exclude must be a list of strings"),
        ("exclude = [", "not valid TOML"),
        (
            "[[tool.chainer2torch.verify.model]]\ntarget = 'a:B'\nagrs = [1]\n",
            "unknown key `agrs`; did you mean `args`",
        ),
        ("[[tool.chainer2torch.verify.model]]\ntarget = 'net.Net'\n", "`target` is written"),
        ("[tool.chainer2torch.verify]\nmodels = 1\n", "unknown key `models`; did you mean `model`"),
        (
            "[[tool.chainer2torch.verify.model]]\ntarget = 'net:Net'\ninputs = ['f32[4]']\nargs = 3\n",
            "`args` is a list",
        ),
        (
            "[[tool.chainer2torch.verify.model]]\ntarget = 'a:B'\ninputs = ['f32[4]']\nmodes = 'eval'\n",
            "`modes` is a list",
        ),
        ("[tool.chainer2torch.verify.names]\nl1 = 3\n", "`l1` must be a text"),
    ],
)
def test_configuration_is_strict(project, table, words):
    (project / "pyproject.toml").write_text(f"[tool.chainer2torch]\n{table}\n")
    done = run("check", project)
    assert done.returncode == 2 and words in done.stderr and "pyproject.toml" in done.stderr


def test_a_report_says_what_would_be_and_a_migration_what_was_done(project, tmp_path):
    (project / "hard.py").write_text(HARD)
    planned = run("report", project)
    assert "3 Python files: 1 to migrate, 1 to migrate in part, 1 without Chainer\n" in planned.stdout
    assert "would be left in the output" in planned.stdout
    assert "next: `chainer2torch migrate PATH -o OUT` writes a migrated copy\n" in planned.stdout
    done = run("migrate", project, "-o", tmp_path / "out", "--report", tmp_path / "report.txt")
    assert "3 Python files: 1 migrated, 1 migrated in part, 1 without Chainer\n" in done.stderr
    assert "next: work through" in done.stderr and "migrated in part" in (tmp_path / "report.txt").read_text()
    assert "next: work through" in run("report", tmp_path / "out").stdout, "nothing more can be written"


def test_configuration_excludes(project):
    (project / "pyproject.toml").write_text("[tool.chainer2torch]\nexclude = ['easy.py']\n")
    assert run("check", project).returncode == 0
    (project / "pyproject.toml").write_text("[tool.chainer2torch]\nignore = ['C2T1']\n")
    assert run("check", project).returncode == 0
    (project / "pyproject.toml").write_text("[tool.other]\nwhatever = ['C2T1']\n")
    assert run("check", project).returncode == 1


def test_configuration_sets_the_goal_and_the_command_line_overrides_it(project):
    (project / "hard.py").write_text(HARD)
    (project / "pyproject.toml").write_text("[tool.chainer2torch]\nfail-under = 10\n")
    assert run("report", project).returncode == 0
    assert run("report", project, "--fail-under", "99").returncode == 1
    run("report", project, "--format", "json", "-o", project / "base.json")
    (project / "pyproject.toml").write_text("[tool.chainer2torch]\nbaseline = 'base.json'\n")
    assert run("report", project).returncode == 0
    (project / "pyproject.toml").write_text("[tool.chainer2torch]\n")
    assert run("report", project).returncode == 1


def test_initial_values_of_torch(tmp_path):
    (tmp_path / "net.py").write_text("import chainer.links as L\nnet = L.Convolution2D(3, 4, 3)\n")
    assert "net = init_weights(nn.Conv2d(3, 4, 3))" in run("migrate", tmp_path).stdout
    assert "compat.initialize(nn.Conv2d(3, 4, 3))" in run("migrate", tmp_path, "--style", "faithful").stdout
    done = run("migrate", tmp_path, "--init", "torch")
    assert "net = nn.Conv2d(3, 4, 3)\n" in done.stdout and "1 close" in done.stderr
    (tmp_path / "pyproject.toml").write_text("[tool.chainer2torch]\ninit = 'torch'\n")
    assert "net = nn.Conv2d(3, 4, 3)\n" in run("migrate", tmp_path).stdout


def test_one_part_at_a_time(tmp_path):
    out, tmp_path = tmp_path / "out", tmp_path / "source"
    tmp_path.mkdir()
    (tmp_path / "net.py").write_text(
        "import chainer\nimport chainer.links as L\nnet = L.Linear(3, 4)\n"
        "it = chainer.iterators.SerialIterator([1], 1)\nopt = chainer.optimizers.SGD().setup(net)\n"
    )
    done = run("migrate", tmp_path, "--only", "training")
    assert "compat.SGD().setup(compat.as_torch_model(net))" in done.stdout and "+net" not in done.stdout
    assert done.returncode == 1 and "kept for other stages: 2 Chainer sites" in done.stderr
    assert run("migrate", tmp_path, "-o", out, "--only", "training").returncode == 0
    listed = run("report", out).stdout
    assert "chainer.links.Linear" in listed and "optimizers" not in listed
    both = run("migrate", tmp_path, "--only", "training,data")
    assert "compat.SerialIterator([1], 1)" in both.stdout and "+net" not in both.stdout
    (tmp_path / "pyproject.toml").write_text("[tool.chainer2torch]\nonly = ['training', 'data']\n")
    assert run("migrate", tmp_path).stdout == both.stdout
    listed = run("report", tmp_path).stdout
    assert "kept (not in this stage: goes with models): chainer.links.Linear" in listed
    kept = json.loads(run("report", tmp_path, "--format", "json").stdout)["files"][0]["kept"]
    assert [site["symbol"] for site in kept] == ["chainer.links.Linear"]
    assert run("check", tmp_path).stdout.count("\n") >= 3, "check counts every part"
    done = run("migrate", tmp_path, "--only", "model")
    assert done.returncode == 2 and "--only model: no such stage; did you mean models?" in done.stderr


def test_what_has_no_half_way_form(tmp_path):
    (tmp_path / "train.py").write_text(
        "import chainer\nfrom chainer.training import extensions, updaters\nimport chainer.links as L\n"
        "net = L.Linear(3, 4)\nopt = chainer.optimizers.SGD().setup(net)\n"
        "up = updaters.ParallelUpdater(it, opt, devices={'main': 0})\n"
    )
    done = run("migrate", tmp_path, "--only", "training")
    assert "C2T017" in done.stdout and "migrate them together" in done.stdout and "1 manual" in done.stderr
    assert "compat.ParallelUpdater" in run("migrate", tmp_path, "--only", "training,models").stdout
    (tmp_path / "train.py").write_text(
        "import chainer.functions as F\nfrom chainer.training import extensions\n\n\n"
        "class Own(extensions.Evaluator):\n    def evaluate(self):\n"
        "        return {'x': F.sum(self.get_target('main')(self.x))}\n\n\n"
        "e = extensions.Evaluator(it, model, eval_func=F.sum)\n"
    )
    done = run("migrate", tmp_path, "--only", "models")
    assert done.stdout.count("migrate the training with the models") == 2 and done.returncode == 1
    (tmp_path / "train.py").write_text(
        "import chainer.functions as F\nfrom chainer import training\n\n\n"
        "it = training.updaters.StandardUpdater(it, opt, loss_func=F.sum)\n"
    )
    assert "OfLinks" in run("migrate", tmp_path, "--only", "training").stdout


def test_updaters_for_several_devices_on_one(tmp_path):
    (tmp_path / "train.py").write_text(
        "from chainer.training import updaters\n"
        "a = updaters.ParallelUpdater(it, opt, devices={'main': 0, 'second': 1})\n"
        "b = updaters.MultiprocessParallelUpdater([it, it], opt, devices=(0, 1))\n"
        "c = updaters.ParallelUpdater(it, opt, models=models)\n"
    )
    several = run("migrate", tmp_path).stdout
    assert "devices={'main': 0, 'second': 1})" in several and "one_device" not in several
    done = run("migrate", tmp_path, "--parallel-updater", "single")
    made = " ".join(done.stdout.replace("\n+", " ").split())  # long lines are broken
    assert "devices=compat.one_device({'main': 0, 'second': 1}))" in made, made
    assert "[it, it], opt, devices=compat.one_device((0, 1)))" in made, made
    assert "0 exact, 0 close, 3 review" in done.stderr and "does not name its devices" in done.stdout
    command = "start in N processes: torchrun --nproc_per_node N "
    assert command in run("report", tmp_path).stdout
    for name, wanted in (("ddp", True), ("single", False)):
        options = ["--parallel-updater", name, "--report", tmp_path / f"{name}.txt"]
        (tmp_path / "train.py").write_text(
            "from chainer.training import updaters\na = updaters.ParallelUpdater(it, opt, devices={'main': 0})\n"
        )
        run("migrate", tmp_path, *options)
        assert (command in (tmp_path / f"{name}.txt").read_text()) == wanted
    done = run("migrate", tmp_path, "--parallel-updater", "single")
    (tmp_path / "pyproject.toml").write_text("[tool.chainer2torch]\nparallel-updater = 'single'\n")
    assert run("migrate", tmp_path).stdout == done.stdout != ""
    (tmp_path / "pyproject.toml").write_text("[tool.chainer2torch]\nparallel-updater = 'two'\n")
    assert "must be 'ddp' or 'single'" in run("migrate", tmp_path).stderr


def test_the_number_of_processes_changes_nothing(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for i in range(7):
        (source / f"m{i}.py").write_text("import chainer.functions as F\nprint(F.relu(x), F.nothing(x))\n")
    outs = [run("migrate", source, "-j", str(n), "--report", tmp_path / f"{n}.json").stdout for n in (1, 3)]
    assert outs[0] == outs[1] and outs[0].count("-print(F.relu(x)") == 7
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "3.json").read_bytes()


def test_select_and_ignore(project):
    assert run("check", project, "--select", "C2T2").returncode == 0
    assert run("check", project, "--select", "C2T1").returncode == 1
    assert run("check", project, "--ignore", "C2T100").returncode == 0


# -- reports -------------------------------------------------------------------------------------------------------


def test_json_report_version_1(project, tmp_path):
    (project / "hard.py").write_text(HARD)
    (project / "bad.py").write_text("import chainer\n(\n")
    run("migrate", ".", "-o", "../out", "--report", "../r.json", cwd=project)
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["version"] == 1
    assert report["totals"] == {"files": 4, "sites": 2, "exact": 1, "close": 0, "review": 0, "manual": 1}
    assert [(row["path"], row["status"]) for row in report["files"]] == [
        ("bad.py", "error"),
        ("clean.py", "no chainer"),
        ("easy.py", "migrated"),
        ("hard.py", "partial"),
    ]
    site = report["files"][2]["sites"][0]
    assert site == {
        "line": 5,
        "column": 12,
        "symbol": "chainer.functions.relu",
        "state": "exact",
        "code": "C2T100",
        "message": site["message"],
    }
    assert report["symbols"]["chainer.functions.relu"]["exact"] == 1
    assert report["problems"][0]["code"] == "C2T004" and report["problems"][0]["line"] == 2
    again = run("report", ".", "--format", "json", cwd=project)
    assert json.loads(again.stdout) == report and again.returncode == 2


def test_markdown_and_text_reports(project, tmp_path):
    (project / "hard.py").write_text(HARD)
    text = run("report", ".", cwd=project).stdout
    assert "hard.py:3:1: C2T" in text and "2 Chainer sites: 1 exact, 0 close, 0 review, 1 manual" in text
    assert "\x1b" not in text, "plain in a pipe"
    run("report", ".", "-o", tmp_path / "r.md", cwd=project)
    markdown = (tmp_path / "r.md").read_text()
    assert "| 3 | 2 | 1 | 0 | 0 | 1 |" in markdown and "`hard.py:3`" in markdown


def test_two_runs_give_identical_bytes(project):
    first = run("report", ".", "--format", "json", cwd=project).stdout
    assert first == run("report", ".", "--format", "json", cwd=project).stdout


# -- rules, explain, version ---------------------------------------------------------------------------------------


def test_first_values_of_torch_are_chosen_and_told(project):
    (project / "net.py").write_text(
        "import chainer\nimport chainer.links as L\nclass N(chainer.Chain):\n"
        "    def __init__(self):\n        super().__init__()\n"
        "        with self.init_scope():\n            self.c = L.Convolution2D(1, 2, 3)\n"
    )
    ours, theirs = run("migrate", project / "net.py"), run("migrate", project / "net.py", "--init", "torch")
    assert "nn.init." in ours.stdout and "nn.init." not in theirs.stdout
    assert "PyTorch's own" in theirs.stderr and "PyTorch's own" not in ours.stderr
    (project / "pyproject.toml").write_text("[tool.chainer2torch]\ninit = 'torch'\n")
    assert run("migrate", project / "net.py").stdout == theirs.stdout


def test_rules_lists_and_shows():
    everything = run("rules").stdout.splitlines()
    assert len(everything) > 50 and "exact   chainer.functions.relu" in everything
    one = run("rules", "leaky_relu").stdout
    assert "slope=0.2" in one and "torch.nn.functional.leaky_relu" in one and "becomes" in one
    assert run("rules", "F.leaky_relu").stdout == one
    link = run("rules", "L.Linear").stdout
    assert "example: link = L.Linear(6, 3)\n      link(x)\n  becomes: link = compat.initialize(nn.Linear(6, 3))" in link


def test_rules_of_a_module_and_by_a_part_of_the_name():
    lines = run("rules", "links").stdout.splitlines()
    assert "exact   chainer.links.Linear" in lines and not any("chainer.functions" in line for line in lines)
    lines = run("rules", "Entropy").stdout.splitlines()
    assert len(lines) > 1 and all("entropy" in line.lower() for line in lines)


def test_every_code_that_is_used_is_explained():
    from chainer2torch.rules import codes

    known = set(codes.table())
    import re

    package = ROOT / "chainer2torch"
    used = {code for path in package.rglob("*.py") for code in re.findall(r"[\"'](C2T\d{3})[\"']", path.read_text())}
    used |= {code for path in (ROOT / "rules").rglob("*.toml") for code in re.findall(r"C2T\d{3}", path.read_text())}
    assert used <= known, sorted(used - known)
    done = run("explain", "c2t005")
    assert done.returncode == 0 and "--no-modernize" in done.stdout


def test_version_names_the_libraries():
    text = run("--version").stdout
    assert text.startswith("chainer2torch 0.1.0\n") and "libcst" in text


def test_verify_rules_from_the_command_line():
    pytest.importorskip("torch")
    pytest.importorskip("chainer")
    done = run("verify", "rules", "chainer.functions.relu", "--no-matrix")
    assert done.returncode == 0 and "0 failed" in done.stdout, done.stdout + done.stderr
    assert run("verify", "rules", "no_such_rule").returncode == 2


def test_weights(tmp_path):
    np = pytest.importorskip("numpy")
    torch = pytest.importorskip("torch")
    (tmp_path / "net.py").write_text(
        "import torch.nn as nn\n\n\nclass Net(nn.Module):\n    def __init__(self, n, m):\n        super().__init__()\n"
        "        self.l1 = nn.Linear(n, m)\n"
    )
    arrays = {"l1/W": np.arange(6, dtype="f").reshape(2, 3), "l1/b": np.ones(2, "f")}
    np.savez(tmp_path / "good.npz", **arrays)
    done = run("weights", "good.npz", "--model", "net:Net", "--args", "[3, 2]", "-o", "net.pt", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    state = torch.load(tmp_path / "net.pt")
    assert torch.equal(state["l1.weight"], torch.arange(6.0).reshape(2, 3)) and state["l1.bias"].tolist() == [1, 1]
    done = run("weights", "good.npz", "--model", "net:Net", "--args", '{"n": 4, "m": 2}', "-o", "x.pt", cwd=tmp_path)
    assert done.returncode == 2 and "l1/W" in done.stderr and not (tmp_path / "x.pt").exists(), done.stderr
    np.savez(tmp_path / "short.npz", **{"l1/W": arrays["l1/W"]})
    with np.load(tmp_path / "good.npz") as good:
        np.savez(tmp_path / "more.npz", **{**good, "old/W": np.zeros(2, "f")})
    done = run("weights", "more.npz", "--model", "net:Net", "--args", "[3, 2]", "-o", "x.pt", cwd=tmp_path)
    assert done.returncode == 2 and "old/W is in the file" in done.stderr and "--allow-extra" in done.stderr
    done = run(
        "weights", "more.npz", "--model", "net:Net", "--args", "[3, 2]", "-o", "more.pt", "--allow-extra", cwd=tmp_path
    )
    assert done.returncode == 0 and (tmp_path / "more.pt").exists()
    done = run("weights", "short.npz", "--model", "net:Net", "--args", "[3, 2]", "-o", "x.pt", cwd=tmp_path)
    assert done.returncode == 2 and "l1/b" in done.stderr


def test_a_script_that_is_not_there_is_one_line(project):
    done = run("verify", "script", project, project, "--", "none.py")
    assert done.returncode == 2 and done.stderr == f"chainer2torch: {project / 'none.py'}: no such script\n"
