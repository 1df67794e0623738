"""The guided command: what it looks at, what it keeps, what it says, and with which status it ends."""

import json
import textwrap
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from chainer2torch import verify
from chainer2torch.cli import porting
from chainer2torch.cli.app import cli
from chainer2torch.cli.errors import guarded
from chainer2torch.port import checks, left, look, state
from chainer2torch.port import scripts as port_scripts
from chainer2torch.port.state import State
from chainer2torch.port.writing import write
from chainer2torch.project.output import changes
from chainer2torch.project.scan import Project, collect
from chainer2torch.project.tree import Tree
from chainer2torch.report.verification import Check
from chainer2torch.verify.models.verify_models import NO_TABLE

EASY = "import chainer.functions as F\n\n\ndef f(x):\n    return F.relu(x)\n"
HARD = "import chainer.functions as F\n\n\ndef g(x):\n    return F.no_such_function(x)\n"
TRAIN = """\
import argparse
import net
if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--gpu', '-g', type=int, default=0)
    parser.add_argument('--epoch', '-e', type=int, default=20)
    args = parser.parse_args()
    print 'epoch', args.epoch, net.f
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "src"
    source.mkdir()
    (source / "net.py").write_text(EASY)
    (source / "hard.py").write_text(HARD)
    (source / "train.py").write_text(TRAIN)
    (source / "requirements.txt").write_text("chainer==1.24\n")
    (source / "mlp.npz").write_bytes(b"weights")
    (source / "image.png").write_bytes(b"data")
    return source


def port(*arguments, status):
    """What the command prints; stdout and stderr together."""
    result = CliRunner().invoke(cli, ["port", "src", "-o", "out", *arguments], standalone_mode=False)
    assert result.exception is None, result.exception
    assert result.return_value == status, result.output
    return result.output


def test_a_submodule_that_is_not_checked_out_is_the_first_thing_to_do(project):
    (project / ".gitmodules").write_text('[submodule "tools"]\n\tpath = tools\n\turl = x\n')
    said = port(status=1)
    assert "1 git submodule not checked out" in said
    assert "1. tools: check out this git submodule" in said


def test_ten_lines_say_where_it_stands_and_what_is_next(project, tmp_path):
    lines = port("--no-verify", status=1).splitlines()
    assert len(lines) <= 10
    assert lines[0] == (
        "looked at  src: 3 Python files: 1 of Python 2, Chainer 1 (src/requirements.txt), 1 script, "
        "1 file with weights, data (1 .png)"
    )
    assert lines[1].startswith("migrated   to out: ") and lines[2] == "compared   models: not compared: --no-verify"
    assert lines[3] == ("left       1 comment TODO(chainer2torch ...), of 1 kind; 1 file with an import of Chainer")
    marked = (tmp_path / "out/hard.py").read_text().splitlines()
    at = next(number for number, line in enumerate(marked, 1) if "return F.no_such_function(x)" in line)
    assert lines[4].startswith(f"next    1. out/hard.py:{at}: chainer.functions.no_such_function: ")
    assert "C2T090" in marked[at - 2]
    assert (
        lines[6].startswith("        3. train.py: run it in both frameworks")
        and lines[-1] == "page       out/chainer2torch.html"
    )
    assert (tmp_path / "out/train.py").read_text().endswith("print('epoch', args.epoch, net.f)\n")
    assert (tmp_path / "out/mlp.npz").read_bytes() == b"weights"
    page = (tmp_path / "out/chainer2torch.html").read_text()
    assert "--run &#39;train.py --epoch 1 --gpu -1&#39;" in page and f"out/hard.py:{at}" in page


def test_a_second_call_keeps_what_was_changed_and_counts_again(project, tmp_path):
    port("--no-verify", status=1)
    hard, net = tmp_path / "out/hard.py", tmp_path / "out/net.py"
    own = "import torch\n\n\ndef g(x):\n    return torch.sin(x)\n"
    hard.write_text(own)
    before = net.read_bytes()
    (project / "net.py").write_text(EASY + "\n\nLIMIT = 3\n")
    said = port("--no-verify", status=0)
    assert "left       0 comments TODO(chainer2torch ...) (1 at first)\n" in said and "1 kept with your changes" in said
    assert hard.read_text() == own
    assert net.read_bytes() == before + b"\n\nLIMIT = 3\n"


def test_a_source_that_changed_under_changes_of_the_copy_is_named(project, tmp_path):
    port("--no-verify", status=1)
    (tmp_path / "out/net.py").write_text("mine = 1\n")
    (project / "net.py").write_text(EASY + "LIMIT = 3\n")
    said = port("--no-verify", status=1)
    assert "next    1. out/net.py: you have changed it, and so has its source" in said
    assert (tmp_path / "out/net.py").read_text() == "mine = 1\n"


def test_what_an_interrupted_call_left_out_is_written(project, tmp_path):
    port("--no-verify", status=1)
    whole = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.suffix != ".html"}
    for name in ("net.py", "mlp.npz"):
        (tmp_path / "out" / name).unlink()
    port("--no-verify", status=1)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.suffix != ".html"} == whole


def test_a_change_is_told_from_what_a_killed_call_wrote(project, tmp_path):
    """Between the two states that are saved a file may have the old text or the new one."""
    found = collect([project])
    out = tmp_path / "copy"
    write(found, changes(found), out, None, False)
    old, new = (project / "net.py").read_bytes(), b"import chainer\n"
    (project / "net.py").write_bytes(new)
    again = state.load(out)
    again.written["net.py"] = [state.digest(old), state.digest(new)]
    for present in (old, new):
        (out / "net.py").write_bytes(present)
        found = collect([project])
        written, _ = write(found, changes(found), out, State(dict(again.written)), False)
        assert not written.edited and (out / "net.py").read_bytes() == new


@pytest.mark.parametrize(
    "prepare, arguments, words",
    [
        (lambda out: (out.mkdir(), (out / "x").write_text("")), (), "exists and is not empty"),
        (lambda out: (out.mkdir(), (out / state.NAME).write_text("{}")), (), "cannot be read"),
        (lambda out: None, ("--run",), "requires an argument"),
    ],
)
def test_errors_are_one_message_with_status_2(project, tmp_path, capsys, monkeypatch, prepare, arguments, words):
    prepare(tmp_path / "out")
    monkeypatch.setattr("sys.argv", ["chainer2torch", "port", "src", "-o", "out", "--no-verify", *arguments])
    assert guarded(cli) == 2
    said = capsys.readouterr()
    assert words in said.err and not said.out


def test_no_folder_is_status_2(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["chainer2torch", "port", str(tmp_path / "nowhere"), "-o", str(tmp_path / "out")])
    assert guarded(cli) == 2 and "no such folder" in capsys.readouterr().err


def test_a_file_that_cannot_be_parsed_comes_first(project):
    (project / "bad.py").write_text("import chainer\nx = (\n")
    said = port("--no-verify", status=2)
    assert "next    1. src/bad.py:2: syntax error" in said


# -- comparing -----------------------------------------------------------------------------------------------------


@pytest.fixture
def compared(monkeypatch):
    """Comparisons that find what they are told, and remember with which folders they were called."""
    calls, found = [], {"name": "net:Net", "passed": 3, "failed": 0, "unverified": 0}

    def run(src, out, *rest, **options):
        calls.append(((src / "train.py").read_text(), out, rest))
        return found

    def script(src, out, command, iterations, comparing):
        run(src, out, command)
        return Check(
            command, *(found[part] for part in ("passed", "failed", "unverified")), found.get("message", "")
        ), ()

    monkeypatch.setattr(verify, "verify_models", run, raising=False)
    monkeypatch.setattr(port_scripts, "compare_script", script)
    monkeypatch.setattr(checks, "document_of", lambda one: json.dumps({"version": 1, "checks": [one]}))
    monkeypatch.setattr(checks, "missing", lambda options: "")
    return calls, found


def test_models_are_compared_once_until_something_changes(project, tmp_path, compared):
    calls, found = compared
    for _ in range(2):
        assert "compared   models: 1 equal" in port("--yes", status=1)
        assert len(calls) == 1
    (tmp_path / "out/hard.py").write_text("x = 1\n")
    found.update(failed=1, passed=0, message="values differ")
    said = port("--yes", status=1)
    assert len(calls) == 2 and "1 different (net:Net)" in said
    assert "next    1. models: net:Net: differs from Chainer: values differ" in said


def test_scripts_are_compared_when_asked(project, compared):
    calls, found = compared
    found["message"] = "20 updates"
    said = port("--yes", "--run", "train.py --epoch 1", status=1)
    assert [rest for _, _, rest in calls] == [(), ("train.py --epoch 1",)]
    assert "train.py --epoch 1: equal (20 updates)" in said and "run it in both" not in said
    assert "train.py --epoch 1: equal (20 updates)" in port("--yes", status=1), "it is remembered"
    port("--yes", "--run", "train.py --epoch 1", status=1)
    assert len(calls) == 2, "it is proved, and not run again"


def test_a_script_that_does_not_run_under_chainer_is_no_difference(project, compared):
    calls, found = compared
    port("--yes", status=1)
    found.update(passed=0, unverified=1, message="the script failed under Chainer: FileNotFoundError: data.csv")
    for count in (2, 3):  # again when it is asked for again: data may have come, which no digest sees
        said = port("--yes", "--run", "train.py", status=1)
        assert len(calls) == count and "train.py: not verified (the script failed under Chainer: FileNot" in said
    assert "train.py: not verified: the script failed under Chainer: FileNotFoundError: data.csv; give it" in said
    assert "--run train.py" in Path("out/chainer2torch.html").read_text()
    assert "train.py: not verified" not in port("--yes", status=1), "a try that told nothing is not kept"
    found.update(unverified=0, failed=1, message="the script failed under PyTorch: TypeError: no")
    said = port("--yes", "--run", "train.py", status=1)
    assert (
        "train.py: stopped by an error (the script" in said and "train.py: stops, where Chainer does not: the" in said
    )


def test_a_package_that_comes_makes_it_compare_again(project, monkeypatch, compared):
    calls, _ = compared
    for digest, count in (("a", 1), ("a", 1), ("b", 2)):
        monkeypatch.setattr(checks, "installed", lambda digest=digest: digest)
        port("--yes", status=1)
        assert len(calls) == count


@pytest.mark.parametrize("command", ["nothing.py --epoch 1", ""])
def test_a_script_that_is_not_there_is_said_at_once(project, tmp_path, capsys, monkeypatch, command):
    monkeypatch.setattr("sys.argv", ["chainer2torch", "port", "src", "-o", "out", "--run", command])
    assert guarded(cli) == 2 and "no such script in src" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("answers, ran", [("n\n", 0), ("y\n0\n", 1), ("y\n7\n1\n", 2)])
def test_on_a_terminal_it_asks_before_code_runs(project, tmp_path, compared, answers, ran):
    found = look.Look(1, (), "", (), (look.Script("train.py", ("--epoch", "1")),), (), ())
    (tmp_path / "out").mkdir()

    @click.command()
    def ask():
        porting._compared(project, tmp_path / "out", State(), found, False, (), True, {})

    done = CliRunner().invoke(ask, input=answers)
    assert done.exception is None and "This runs the code of both versions." in done.output
    assert len(compared[0]) == ran and ("1. train.py --epoch 1" in done.output) == (ran > 0)


def test_that_no_model_could_be_run_is_no_difference(project, monkeypatch, compared):
    _, found = compared
    checked = {**found, "passed": 0, "unverified": 1, "message": "it takes a corpus"}
    advice = {**found, "name": "chainer2torch", "passed": 0, "failed": 1, "message": f"src/pyproject.toml: {NO_TABLE}"}
    other = {**advice, "message": "interrupted"}
    for parts, line in (
        ([checked, advice], "compared   models: 1 not verified\n"),
        ([advice], "compared   models: there are none to compare\n"),
        ([other], "compared   models: 1 different (chainer2torch)\n"),
    ):
        monkeypatch.setattr(checks, "document_of", lambda one, p=parts: json.dumps({"version": 1, "checks": p}))
        assert line in port("--yes", "--force", status=1)
        (project / "net.py").write_text((project / "net.py").read_text() + "\n")  # else it is remembered


def test_an_error_is_not_called_a_difference():
    stopped = Check("net:A", 0, 2, 0, "float32, train, inferred: PyTorch: TypeError in build: empty(): no")
    other = Check("net:B", 0, 1, 0, "float32, train, inferred: out: 3 of 4 values differ")
    assert stopped.raises and not other.raises
    said = checks.Compared("models", (stopped, other, Check("net:C", 1, 0, 0))).line()
    assert said == "models: 1 equal, 1 different (net:B), 1 stopped by an error (net:A)"


def test_what_cannot_be_compared_says_why(project, monkeypatch, compared):
    def fails(*arguments, **options):
        raise verify.WorkerError("no such interpreter")

    monkeypatch.setattr(verify, "verify_models", fails, raising=False)
    assert "compared   models: not compared: no such interpreter" in port("--yes", status=1)
    monkeypatch.setattr(checks, "missing", lambda options: "chainer not installed here: pip install")
    assert "models: not compared: chainer not installed here" in port("--yes", status=1)


def test_missing_packages_are_named_and_not_installed(monkeypatch):
    monkeypatch.setattr(checks.importlib.util, "find_spec", lambda name: None)
    assert checks.missing({}).startswith("chainer and torch not installed here: pip install 'chainer2torch[verify]'")
    assert checks.missing({"chainer_python": "python3.6"}).startswith("torch not installed")


# -- parts ---------------------------------------------------------------------------------------------------------


def test_comments_that_say_the_same_are_one_task(tmp_path):
    comment = "# TODO(chainer2torch C2T090): chainer.functions.x: no rule\n"
    other = "# TODO(chainer2torch C2T310): ?.data: look\n"
    divided = "# TODO(chainer2torch C2T018): Python 2: /: ask\n"
    (tmp_path / "a.py").write_text(f"{other}y.data\n{other.replace('data', 'grad')}y.grad\n{divided}")
    (tmp_path / "b.py").write_text(f"def f():\n    {comment}    {other}    y = x(1)\n\n    {comment}    z = x(1)\n")
    found = left.tasks(tmp_path, ["a.py", "b.py", "gone.py"], {("C2T090", "chainer.functions.x")})
    assert [(task.text, task.state, [(place.path, place.line) for place in task.places]) for task in found] == [
        ("chainer.functions.x: no rule", "manual", [("b.py", 4), ("b.py", 7)]),
        ("?.data, ?.grad: look", "review", [("a.py", 2), ("a.py", 4), ("b.py", 4)]),
        ("Python 2: /: ask", "review", [("a.py", 5)]),
    ]


@pytest.mark.parametrize(
    "text, arguments",
    [
        (TRAIN.replace("print 'epoch', args.epoch, net.f", "pass"), ("--epoch", "1", "--gpu", "-1")),
        ("if __name__ == '__main__':\n    main()\n", ()),
        ("args = parser.parse_args()\n", ()),
        (
            "p.add_argument('data')\np.add_argument('rest', nargs='*')\np.add_argument('--gpu', required=True)\n"
            "p.add_argument('--out', '-o', required=True)\np.add_argument('-v', action='store_true')\np.parse_args()\n",
            ("DATA", "--out", "OUT", "--gpu", "-1"),
        ),
        ("def main(): pass\n", None),
        ("if __name__ == '__main__':\n    (\n", None),
    ],
)
def test_scripts_and_how_they_are_started(tmp_path, text, arguments):
    (tmp_path / "a.py").write_text(text)
    (tree,) = collect([tmp_path]).trees
    found = look.look(tree, {"a.py": text}, ())
    assert [(*script.needs, *script.arguments) for script in found.scripts] == (
        [] if arguments is None else [arguments]
    )


def test_what_trains_is_proposed_first():
    tree = Tree(Path(), "", reported=["draw.py", "sub/train_net.py"])
    main = "if __name__ == '__main__':\n    main()\n"
    found = look.look(tree, {"draw.py": main, "sub/train_net.py": main}, ())
    assert [script.path for script in found.scripts] == ["sub/train_net.py", "draw.py"]


def test_versions_that_the_words_of_files_tell(tmp_path):
    (tree,) = Project(collect([tmp_path]).trees).trees
    texts = {"a.py": "model = FunctionSet()\n", "b.py": textwrap.dedent("with self.init_scope():\n    pass\n")}
    assert look.look(tree, texts, ()).eras == ("1", "2 or later")


def test_what_needs_a_gpu_is_counted_apart(project):
    (project / "gpu.py").write_text("from chainer.backends import cuda\n\n\ndef f(x):\n    return cuda.empty((2,))\n")
    line = port("--no-verify", status=1).splitlines()[1]
    assert line.endswith("places of Chainer need nobody; 1 without a question, but not executed (most need a GPU)"), (
        line
    )
