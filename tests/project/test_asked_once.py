"""A question that one answer settles for a whole project has one marker, which says how many files follow."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from chainer2torch.cli.app import cli
from tests.project.test_input_output import tree as tree_of_bytes

SCALED = """\
import chainer.links as L
import chainer.functions as F


def layers(x, test=False):
    return F.dropout(L.Linear(2, 3, wscale=2)(x), train=not test)
"""
LIBRARY = """\
import chainer.links as L
from chainercv.evaluations import eval_detection_coco


def predict(model, iterator):
    return eval_detection_coco(model.predict, iterator)
"""
CUDNN = """\
from chainer import cuda


def handle():
    return cuda.cudnn.get_handle()
"""
DIVIDED = """\
import chainer


def half(count):
    print "half"
    return count / 2
"""


def tree(folder, **texts):
    return tree_of_bytes(folder, **{name: text.encode() for name, text in texts.items()})


def run(*args):
    found = CliRunner().invoke(cli, [str(arg) for arg in args], catch_exceptions=False)
    assert "internal error" not in found.output, found.output
    return found


def marks(folder):
    return {
        path.relative_to(folder).as_posix(): [line.strip() for line in path.read_text().splitlines() if "TODO(" in line]
        for path in sorted(folder.rglob("*.py"))
        if path.name != "chainer_compat.py"
    }


def test_each_file_asks_for_its_own_divisions(tmp_path):
    """Whether the numbers of one file are integers says nothing of another's."""
    src, out = tree(tmp_path / "src", a_py=DIVIDED, b_py=DIVIDED), tmp_path / "out"
    run("migrate", "--output", out, src)
    found = marks(out)
    assert [len(lines) for lines in found.values()] == [1, 1], found
    assert not any("other file" in line for lines in found.values() for line in lines)


WALKED = """\
import chainer.functions as F


def walk(y):
    return F.relu(y.top.creator)
"""


@pytest.mark.parametrize("text", [SCALED, LIBRARY, CUDNN, WALKED], ids=["version", "library", "cudnn", "graph"])
def test_the_first_file_asks_and_counts_the_others(tmp_path, text):
    src, out = tree(tmp_path / "src", a_py=text, b_py=text, c_py=text), tmp_path / "out"
    run("migrate", "--output", out, src)
    found = marks(out)
    assert len(found["a.py"]) == 1
    assert found["a.py"][0].endswith(" (also in 2 other files: the report lists them)")
    assert found["b.py"] == found["c.py"] == []


@pytest.mark.parametrize("text", [SCALED, LIBRARY, CUDNN], ids=["version", "library", "cudnn"])
def test_the_report_has_every_place(tmp_path, text):
    src = tree(tmp_path / "src", a_py=text, b_py=text)
    found = run("check", "--format", "json", src).output
    code = "C2T091" if text is LIBRARY else "C2T200" if text is SCALED else "C2T330"
    assert found.count(f'"{code}"') >= 2


@pytest.mark.parametrize("text", [LIBRARY, CUDNN], ids=["library", "cudnn"])
def test_a_second_run_changes_nothing_and_the_next_file_asks_when_the_first_is_answered(tmp_path, text):
    src, out = tree(tmp_path / "src", a_py=text, b_py=text), tmp_path / "out"
    run("migrate", "--output", out, src)
    before = {path: path.read_text() for path in out.rglob("*.py")}
    run("migrate", "--write", "--force", out)
    assert {path: path.read_text() for path in out.rglob("*.py")} == before
    (out / "a.py").write_text("import torch\n")
    run("migrate", "--write", "--force", out)
    assert [line.endswith(" DataLoader") or "also in" not in line for line in marks(out)["b.py"]] == [True]


def test_what_this_run_does_not_write_asks_nothing_for_what_it_writes(tmp_path):
    user = LIBRARY.replace("import chainer.links as L", "import a")
    src, out = tree(tmp_path / "src", a_py=LIBRARY, b_py=user), tmp_path / "out"
    run("migrate", "--output", out, src / "b.py")
    assert len([line for line in next(out.rglob("b.py")).read_text().splitlines() if "TODO(" in line]) == 1


def test_a_file_that_asks_something_else_as_well_keeps_its_marker(tmp_path):
    other = LIBRARY + "\n\ndef show(it):\n    from chainercv.links import SSD300\n\n    return SSD300(it)\n"
    src, out = tree(tmp_path / "src", a_py=LIBRARY, b_py=other), tmp_path / "out"
    run("migrate", "--output", out, src)
    found = marks(out)
    assert len(found["a.py"]) == 1 and "also in 1 other file:" in found["a.py"][0]
    assert len(found["b.py"]) == 1 and "SSD300" in found["b.py"][0]


def test_a_question_of_the_place_is_asked_in_every_file(tmp_path):
    text = "import chainer\n\n\ndef f(x):\n    return isinstance(x, chainer.Variable)\n"
    src, out = tree(tmp_path / "src", a_py=text, b_py=text), tmp_path / "out"
    run("migrate", "--output", out, src)
    found = marks(out)
    assert found["a.py"] and found["a.py"] == found["b.py"]


def test_an_import_that_a_traceback_shows_says_what_the_marker_of_another_file_says(tmp_path):
    text = "import chainer\n\n\ndef f():\n    return chainer.exporters.caffe.export(1, 2)\n"
    src, out = tree(tmp_path / "src", a_py=text, b_py=text), tmp_path / "out"
    run("migrate", "--output", out, src)
    assert "    import chainer  # not migrated: the comment below says why\n    # TODO" in (out / "a.py").read_text()
    told = "    import chainer  # not migrated: (C2T090): chainer.exporters.caffe.export: Writes a model for Caffe;"
    assert told in (out / "b.py").read_text()
    before = (out / "b.py").read_text()
    run("migrate", "--write", "--force", out)
    assert (out / "b.py").read_text() == before


KERNELS = """\
from chainer import cuda
from cupy.cuda import compiler


def kernels(x):
    text = compiler.compile_using_nvrtc('code')
    return cuda.elementwise('T x', 'T y', text, 'id')(x), cuda.reduce('T x', 'T y', text, 'a + b', 'y = a', '0', 's')(x)
"""


def test_kernels_written_as_texts_are_one_question(tmp_path):
    src, out = tree(tmp_path / "src", a_py=KERNELS, b_py=KERNELS), tmp_path / "out"
    run("migrate", "--output", out, src)
    assert [len(lines) for lines in marks(out).values()] == [1, 0]


LEFT = """\
from chainer import cuda


def handle(x):
    return cuda.cudnn.get_handle() if x else 0


def kernel(x):
    return cuda.elementwise('T x', 'T y', 'y = x', 'id')(x) if x else 0
"""


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_the_error_of_a_stand_in_has_the_words_of_a_marker_in_another_file(tmp_path, style):
    src, out = tree(tmp_path / "src", a_py=LEFT, b_py=LEFT), tmp_path / "out"
    run("migrate", "--style", style, "--output", out, src)
    assert [len(lines) for lines in marks(out).values()] == [2, 0]
    script = "import sys; sys.modules['chainer'] = None; import {}; {}.{}(1)"
    for name in ("a", "b"):
        for function, words in (("handle", "CuPy's bindings of cuDNN"), ("kernel", "A CUDA kernel written")):
            command = [sys.executable, "-c", script.format(name, name, function)]
            error = subprocess.run(command, cwd=out, capture_output=True, text=True).stderr
            assert "NotImplementedError" in error and words in error.splitlines()[-1], error
    before = {path: path.read_text() for path in out.rglob("*.py")}
    run("migrate", "--style", style, "--write", "--force", out)
    assert {path: path.read_text() for path in out.rglob("*.py")} == before
