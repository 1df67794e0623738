"""Nothing is lost and nothing half-written: bytes, modes, links and everything that can be wrong with a file."""

import contextlib
import dataclasses
import encodings.aliases
import io
import os
import pkgutil
import shutil
import signal
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from chainer2torch.project import patches
from chainer2torch.project import files, output, scan, transaction
from chainer2torch.vendor import compat_file
from tests.project.fakes import Engine

ROOT = Path(__file__).parents[2]
OLD, NEW = b"import chainer\nx = chainer.old\n", b"import chainer\nx = torch.new\n"


def tree(folder, **contents):
    for name, data in contents.items():
        path = folder / (name if "." in name or "/" in name else name.replace("_py", ".py"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def run(source, engine=None, exclude=()):
    found = scan.collect([source], exclude)
    scan.analyse(found, engine or Engine())
    return found


def migrate(source, out, engine=None, force=False, exclude=()):
    found = run(source, engine, exclude)
    output.write_out(found, output.changes(found), out, force)
    return found


def in_place(source, engine=None, force=False):
    found = run(source, engine)
    output.write_back(found, output.changes(found), force)
    return found


def codes(found):
    return [problem.code for problem in found.problems]


@pytest.fixture
def src(tmp_path):
    return tree(tmp_path / "src", a_py=OLD)


def test_everything_else_is_copied_as_it_is(src, tmp_path):
    tree(src, **{"data/x.bin": bytes(range(256)), "plain_py": b"import numpy\r\n\tx=1", ".hidden": b"h"})
    (src / "empty").mkdir(mode=0o750)
    (src / "run").write_bytes(b"#!/bin/sh\n")
    (src / "run").chmod(0o755)
    (src / "secret").write_bytes(b"s")
    (src / "secret").chmod(0o400)
    (src / "link.py").symlink_to("a.py")
    (src / "broken").symlink_to("nowhere/at all")
    (src / "loop").symlink_to("..")
    found = migrate(src, tmp_path / "out")
    out = tmp_path / "out"
    assert not found.problems
    assert (out / "a.py").read_bytes() == NEW
    for name in ("data/x.bin", "plain.py", ".hidden", "run", "secret"):
        assert (out / name).read_bytes() == (src / name).read_bytes()
        assert stat.S_IMODE((out / name).stat().st_mode) == stat.S_IMODE((src / name).stat().st_mode)
    assert stat.S_IMODE((out / "empty").stat().st_mode) == 0o750
    assert [os.readlink(out / name) for name in ("link.py", "broken", "loop")] == ["a.py", "nowhere/at all", ".."]
    assert (src / "a.py").read_bytes() == OLD


def test_mode_of_a_migrated_file_is_kept(src, tmp_path):
    (src / "a.py").chmod(0o751)
    migrate(src, tmp_path / "out")
    assert stat.S_IMODE((tmp_path / "out/a.py").stat().st_mode) == 0o751


@pytest.mark.parametrize(
    "raw",
    [
        b"\xef\xbb\xbf# chainer.old \xc3\xa9\n",
        b"# -*- coding: latin-1 -*-\n# chainer.old \xe9\n",
        b"#!/usr/bin/python\n# vim: set fileencoding=shift_jis :\ns = '\x93\xfa'  # chainer.old\n",
        b"# chainer.old\r\nif x:\r\n\ty = 1\r\n",
        b"# chainer.old\rx = 1\r",
        b"# chainer.old\r\nx = 1\ny = 2\r\n",
        b"\x0c\n# chainer.old no newline at the end",
        "# chainer.old \u2028 \x85 ü\n".encode(),
    ],
)
def test_encodings_and_line_ends_survive(tmp_path, raw):
    src = tree(tmp_path / "src", a_py=raw)
    found = migrate(src, tmp_path / "out")
    assert not found.problems
    assert (tmp_path / "out/a.py").read_bytes() == raw.replace(b"chainer.old", b"torch.new")
    in_place(src)
    assert (src / "a.py").read_bytes() == raw.replace(b"chainer.old", b"torch.new")


def test_files_without_chainer_are_never_handed_to_the_engine(src):
    tree(src, b_py=b"import numpy\n", c_py=b"syntax error here (\n", d_py=b"import b\n")
    engine = Engine()
    found = run(src, engine)
    assert [sorted(call) for call in engine.calls] == [["a.py"]] and not found.problems


def test_files_that_use_chainer_through_others_are_handed_over(src):
    tree(
        src,
        b_py=b"from a import F\n",
        c_py=b"from pkg import (x,\n  b)\n",
        a_py=OLD + b"import util\n",
        util_py=b"",
        other_py=b"import c_not\n",
    )
    engine = Engine()
    run(src, engine)
    assert sorted(engine.calls[0]) == ["a.py", "b.py", "c.py", "util.py"]


def test_no_engine_at_all_without_chainer(tmp_path):
    engine = Engine()
    run(tree(tmp_path / "src", a_py=b"import numpy\n"), engine)
    assert engine.calls == []


@pytest.mark.parametrize(
    "raw, code, line, words",
    [
        (b"# chainer\nx = (\n", "C2T004", 2, "syntax error"),
        (b"import chainer\nprint 'x'\n", "C2T005", 2, "--no-modernize"),
        (b"import chainer\ntry:\n  pass\nexcept A, e:\n  pass\n", "C2T005", 4, "by hand"),
        (b"import chainer\nx = 0777\n", "C2T005", 2, "octal"),
        (b"import chainer\nexec 'a' in b\n", "C2T005", 2, "exec"),
        (b"import chainer\nraise E, 'b'\n", "C2T005", 2, "raise"),
        (b"import chainer\nif a <> b: pass\n", "C2T005", 2, "<>"),
        (b"import chainer\n# \xe9\n", "C2T003", 2, "coding"),
        (b"# -*- coding: klingon -*-\nimport chainer\n", "C2T003", None, "klingon"),
        *[
            (b"# -*- coding: %b -*-\nimport chainer\n" % name.encode(), "C2T003", None, "coding line")
            for name in ("rot13", "base64", "zlib", "hex", "bz2", "uu", "undefined", "punycode")
        ],
    ],
)
def test_a_file_that_cannot_be_read_or_parsed(src, tmp_path, raw, code, line, words):
    tree(src, bad_py=raw)
    found = migrate(src, tmp_path / "out")
    assert [(p.code, p.line) for p in found.problems] == [(code, line)]
    assert words in found.problems[0].message and "bad.py" in found.problems[0].path
    assert (tmp_path / "out/bad.py").read_bytes() == raw, "it is copied as it is"
    assert (tmp_path / "out/a.py").read_bytes() == NEW, "the others are done"
    assert {row.path[-6:]: row.status for row in found.report(True).files}["bad.py"] == "error"


def test_what_macos_keeps_beside_a_file_is_no_python(src, tmp_path):
    raw = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        import chainer\x00\xe9"
    (src / "._a.py").write_bytes(raw)
    found = migrate(src, tmp_path / "out")
    assert found.problems == [] and (tmp_path / "out/._a.py").read_bytes() == raw
    assert (tmp_path / "out/a.py").read_bytes() == NEW


def test_no_codec_makes_more_than_an_error_of_one_file():
    names = {module.name for module in pkgutil.iter_modules(encodings.__path__)} | set(encodings.aliases.aliases)
    read = set()
    for name in sorted(names):
        raw = b"# -*- coding: " + name.encode() + b" -*-\nimport chainer\nx = 1 - 2\n"
        with contextlib.suppress(files.FileError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source = files.decode(raw, "a.py")
            assert source.encode(source.text) == raw
            read.add(source.encoding)
    assert {"utf-8", "iso8859-1", "shift_jis", "euc_jp"} <= read and not read & {"punycode", "rot13", "undefined"}


def test_missing_path_and_the_rest_done(src, tmp_path):
    found = scan.collect([tmp_path / "nowhere", src])
    assert codes(found) == ["C2T001"] and "nowhere" in found.problems[0].path and len(found.trees) == 1


def test_special_files_are_named_and_left_out(src, tmp_path):
    os.mkfifo(src / "pipe.py")
    found = migrate(src, tmp_path / "out")
    assert codes(found) == ["C2T006"] and not (tmp_path / "out/pipe.py").exists()
    assert codes(scan.collect([src / "pipe.py"])) == ["C2T006"]


def test_an_unreadable_file(src, tmp_path, monkeypatch):
    tree(src, locked_py=OLD)
    real = files.Path.read_bytes

    def refuse(path):
        if path.name == "locked.py":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(files.Path, "read_bytes", refuse)
    found = run(src)
    assert codes(found) == ["C2T002"] and "Permission denied" in found.problems[0].message
    assert output.changes(found)[0].relative == "a.py"


def test_when_the_engine_fails_over_the_whole_nothing_is_decided_without_it(src, tmp_path):
    """One file at a time would be another analysis, and so another output."""
    tree(src, b_py=OLD, c_py=OLD, plain_py=b"x = 1\n")
    found = migrate(src, tmp_path / "out", Engine(fail=["b.py"]))
    assert codes(found) == ["C2T009", "C2T009"]
    assert "RuntimeError: a defect" in found.problems[0].message and found.problems[0].path.endswith("b.py")
    assert "nothing of this project was migrated" in found.problems[1].message
    assert [(tmp_path / "out" / name).read_bytes() for name in ("a.py", "b.py", "c.py")] == [OLD, OLD, OLD]
    assert [row.status for row in found.report(True).files] == ["error", "error", "error", "no chainer"]


@pytest.mark.parametrize("place", ["src/out", "src", "src/deep/er", "."])
def test_output_inside_or_around_the_source_is_refused(src, tmp_path, place):
    with pytest.raises(output.UsageError, match="source"):
        migrate(src, tmp_path / place, force=True)
    assert sorted(path.name for path in src.iterdir()) == ["a.py"]


def test_output_inside_through_a_link_is_refused(src, tmp_path):
    (tmp_path / "alias").symlink_to("src")
    with pytest.raises(output.UsageError, match="inside the source"):
        migrate(src, tmp_path / "alias/out")


def test_output_that_exists(src, tmp_path):
    out = tree(tmp_path / "out", keep=b"k", a_py=b"old")
    with pytest.raises(output.UsageError, match="--force"):
        migrate(src, out)
    assert (out / "a.py").read_bytes() == b"old"
    assert not migrate(src, out, force=True).problems
    assert (out / "a.py").read_bytes() == NEW and (out / "keep").read_bytes() == b"k"
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(output.UsageError, match="not a folder"):
        migrate(src, tmp_path / "file", force=True)
    (tmp_path / "empty").mkdir()
    assert not migrate(src, tmp_path / "empty").problems


def test_one_file_to_one_file(src, tmp_path):
    migrate(src / "a.py", tmp_path / "b.py")
    assert (tmp_path / "b.py").read_bytes() == NEW
    migrate(src / "a.py", tmp_path / "folder")
    assert (tmp_path / "folder/a.py").read_bytes() == NEW
    with pytest.raises(output.UsageError):
        migrate(src / "a.py", src / "a.py", force=True)
    with pytest.raises(output.UsageError):
        migrate(src / "a.py", src, force=True)


def test_several_folders_stand_side_by_side(tmp_path):
    first, second = tree(tmp_path / "one", a_py=OLD), tree(tmp_path / "two", a_py=OLD)
    found = scan.collect([first, second])
    scan.analyse(found, Engine())
    output.write_out(found, output.changes(found), tmp_path / "out", False)
    assert (tmp_path / "out/one/a.py").read_bytes() == NEW == (tmp_path / "out/two/a.py").read_bytes()


def test_read_only_targets(src):
    tree(src, b_py=OLD)
    (src / "a.py").chmod(0o444)
    found = in_place(src)
    assert codes(found) == ["C2T007"] and "read-only" in found.problems[0].message and "a.py" in found.problems[0].path
    assert [(src / name).read_bytes() for name in ("a.py", "b.py")] == [OLD, NEW]
    assert [row.status for row in found.report(True).files] == ["error", "migrated"]
    out = src.parent / "out"
    out.mkdir()
    out.chmod(0o555)
    found = migrate(src, out)
    assert set(codes(found)) == {"C2T007"} and not list(out.iterdir())
    out.chmod(0o755)


def test_a_full_disk_leaves_the_original_and_no_rubbish(src, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", full)
    found = in_place(src)
    assert codes(found) == ["C2T007"] and "No space left" in found.problems[0].message
    assert [path.name for path in src.iterdir()] == ["a.py"] and (src / "a.py").read_bytes() == OLD


def test_ctrl_c_leaves_no_rubbish(src, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        in_place(src)
    assert [path.name for path in src.iterdir()] == ["a.py"] and (src / "a.py").read_bytes() == OLD


@pytest.mark.parametrize("moment", ["open", "fdopen", "chmod", "replace", "after"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_wait_until_a_file_is_whole(src, monkeypatch, moment, number):
    """At every moment of writing: no temporary file, the file old or new, and the signal is not lost."""
    real = getattr(os, "replace" if moment == "after" else moment)

    def interrupted(*args, **keywords):
        if moment == "after":
            real(*args, **keywords)
        signal.raise_signal(number)
        return real(*args, **keywords) if moment != "after" else None

    monkeypatch.setattr(os, "replace" if moment == "after" else moment, interrupted)
    before = signal.signal(number, signal.default_int_handler)  # who runs the tests may have it ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            in_place(src)
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)
    assert [path.name for path in src.iterdir()] == ["a.py"] and (src / "a.py").read_bytes() == NEW


def test_a_file_that_changes_while_it_is_read(src, tmp_path, monkeypatch):
    tree(src, b_py=OLD)
    real = files.Path.read_bytes

    def read(path):
        data = real(path)
        if path.name == "a.py":
            with open(path, "ab") as stream:
                stream.write(b"more\n")
        return data

    monkeypatch.setattr(files.Path, "read_bytes", read)
    found = migrate(src, tmp_path / "out")
    assert "C2T002" in codes(found) and "changed while it was being read" in found.problems[0].message
    assert (tmp_path / "out/b.py").read_bytes() == NEW and real(src / "a.py").startswith(OLD + b"more")


def test_a_real_limit_on_the_size_of_files(src, tmp_path):
    """As a full disk, without one: the system refuses the rest of a file in the middle of writing it."""
    (src / "a.py").write_text("import chainer.functions as F\n" + "y = F.leaky_relu(x)\n" * 2000)
    (src / "b.py").write_text("import chainer.functions as F\ny = F.relu(x)\n")
    before = (src / "a.py").read_bytes()
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000)); "
        "from chainer2torch.__main__ import main; main()"
    )
    for arguments in (["--write"], ["-o", "../out"]):
        done = subprocess.run(
            [sys.executable, "-B", "-c", program, "migrate", ".", *arguments],
            cwd=src,
            text=True,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert done.returncode == 2 and "a.py: C2T007 cannot be written: File too large" in done.stderr, done.stderr
        assert ", 1 with errors" in done.stderr
        assert "Traceback" not in done.stderr and (src / "a.py").read_bytes() == before
        assert sorted(path.name for path in src.iterdir()) == ["a.py", "b.py"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["b.py"], "nothing half-written, the rest done"
    assert "torch" in (tmp_path / "out/b.py").read_text()


@pytest.mark.parametrize("name", ["loop", "null", "empty.py"])
def test_odd_paths_on_the_command_line(src, name):
    (src / "loop").symlink_to("loop")
    (src / "null").symlink_to("/dev/null")
    (src / "empty.py").write_bytes(b"")
    found = scan.collect([src / name])
    expected = {"loop": ["C2T002"], "null": ["C2T006"], "empty.py": []}[name]
    assert codes(found) == expected
    if name == "loop":
        assert "symbolic links" in found.problems[0].message


def test_a_file_that_changed_meanwhile_is_left_alone(src):
    found = run(src)
    (src / "a.py").write_bytes(b"edited")
    output.write_back(found, output.changes(found), False)
    assert codes(found) == ["C2T007"] and (src / "a.py").read_bytes() == b"edited"


def test_links_stay_links_when_written_in_place(src):
    (src / "link.py").symlink_to("a.py")
    in_place(src)
    assert os.readlink(src / "link.py") == "a.py" and (src / "a.py").read_bytes() == NEW


def test_helpers_are_written_once_per_import_root(src, tmp_path):
    tree(src, **{"sub/b.py": OLD})
    out = tmp_path / "out"
    migrate(src, out, Engine(helpers=["leaky_relu"]))
    assert "def leaky_relu" in (out / compat_file.FILE_NAME).read_text()
    assert not (out / "sub" / compat_file.FILE_NAME).exists()
    migrate(src, tmp_path / "out2", Engine(helpers=["leaky_relu"], root="sub"))
    assert (tmp_path / "out2/sub" / compat_file.FILE_NAME).is_file()


def test_helpers_of_files_that_were_migrated_before_are_kept(src):
    tree(src, done_py=b"import chainer_compat as compat\ncompat.get_device(0)\n")
    in_place(src, Engine(helpers=["leaky_relu"]))
    text = (src / compat_file.FILE_NAME).read_text()
    assert "def leaky_relu" in text and "def get_device" in text
    again = run(src, Engine(helpers=["leaky_relu"]))
    assert output.changes(again) == [], "twice is once"


def test_without_the_helpers_no_file_that_needs_them_is_written(src, tmp_path, monkeypatch):
    tree(src, b_py=OLD, c_py=OLD)
    real = files.write_atomic

    def write(path, data, **options):
        if path.name == compat_file.FILE_NAME:
            raise files.FileError("C2T007", path, "cannot be written: No space left on device")
        return real(path, data, **options)

    class Some(Engine):
        def __call__(self, texts, pinned=None, name=""):
            return {
                path: dataclasses.replace(result, helpers=frozenset() if path == "b.py" else result.helpers)
                for path, result in super().__call__(texts).items()
            }

    def add(self, name, *arguments):
        if name == compat_file.FILE_NAME:
            raise files.FileError("C2T007", name, "cannot be written: No space left on device")
        return prepare(self, name, *arguments)

    prepare = transaction.Transaction.add
    monkeypatch.setattr(files, "write_atomic", write)
    monkeypatch.setattr(transaction.Transaction, "add", add)
    engine = Some(helpers=["leaky_relu"])
    for found, place in ((migrate(src, tmp_path / "out", engine), tmp_path / "out"), (in_place(src, engine), src)):
        assert codes(found) == ["C2T007"]
        assert [(place / name).read_bytes() for name in ("a.py", "b.py", "c.py")] == [OLD, NEW, OLD]
        assert [row.status for row in found.report(True).files] == ["error", "migrated", "error"]


def test_a_module_of_that_name_is_not_overwritten(src):
    tree(src, chainer_compat_py=b"mine = 1\n")
    found = in_place(src, Engine(helpers=["leaky_relu"]))
    assert codes(found) == ["C2T008"] and (src / "chainer_compat.py").read_bytes() == b"mine = 1\n"
    assert (src / "a.py").read_bytes() == OLD, "without its helpers a file is not migrated"


def test_text_that_the_encoding_cannot_hold(tmp_path):
    class Marks(Engine):
        def _one(self, text):
            result = super()._one(text)
            result.code = result.code.replace("torch", "τorch")
            return result

    src = tree(tmp_path / "src", a_py=b"# coding: ascii\nx = chainer.old\n")
    found = in_place(src, Marks())
    assert codes(found) == ["C2T003"] and b"chainer.old" in (src / "a.py").read_bytes()


def test_exclude_is_copied_but_not_migrated(src, tmp_path):
    tree(src, **{"third/b.py": OLD, "third/c.py": b"import chainer\n((("})
    found = migrate(src, tmp_path / "out", exclude=["third/"])
    assert not found.problems and (tmp_path / "out/third/b.py").read_bytes() == OLD
    assert (tmp_path / "out/a.py").read_bytes() == NEW


def test_environments_and_history_are_not_source(src, tmp_path):
    tree(src, **{"env/pyvenv.cfg": b"", "env/lib/b.py": OLD, ".git/config": b"", "node_modules/x.py": OLD})
    found = migrate(src, tmp_path / "out")
    assert [row.path for row in found.report(True).files] == [f"{src.as_posix()}/a.py"]
    assert (tmp_path / "out/env/lib/b.py").read_bytes() == OLD and not (tmp_path / "out/.git").exists()


def test_scripts_without_an_ending(src, tmp_path):
    tree(src, train=b"#!/usr/bin/env python3\n# chainer.old\n", notes=b"chainer.old\n")
    migrate(src, tmp_path / "out")
    assert b"torch.new" in (tmp_path / "out/train").read_bytes()
    assert (tmp_path / "out/notes").read_bytes() == b"chainer.old\n"


def test_patch_applies(src):
    tree(src, b_py=b"a = 1\r\nx = chainer.old\r\n# no end", c_py=b"x = 1\x0c\nchainer.old = '\xe2\x80\xa8'\n")
    engine = Engine(helpers=["leaky_relu"])
    found = run(src, engine)
    found.trees[0].shown = ""
    text = b"".join(patches.patch(output.changes(found))).decode()
    subprocess.run(["git", "apply", "-p1", "-"], input=text.encode(), cwd=src, check=True)
    assert (src / "a.py").read_bytes() == NEW and (src / "b.py").read_bytes() == b"a = 1\r\nx = torch.new\r\n# no end"
    assert b"def leaky_relu" in (src / compat_file.FILE_NAME).read_bytes()


@pytest.mark.parametrize(
    ("head", "encoding"),
    [(b"# coding: euc-jp\n", "euc-jp"), (b"# coding: latin-1\r\n", "latin-1"), (b"\xef\xbb\xbf", "utf-8")],
)
def test_a_patch_is_in_the_encoding_of_the_file(tmp_path, head, encoding):
    word = "caf\xe9" if encoding == "latin-1" else "\u65e5\u672c"
    raw = head + f"x = chainer.old  # {word}\r\ny = '{word}'".encode(encoding)
    src = tree(tmp_path / "src", a_py=raw)
    found = run(src)
    found.trees[0].shown = ""
    text = b"".join(patches.patch(output.changes(found)))
    subprocess.run(["git", "apply", "-p1", "-"], input=text, cwd=src, check=True)
    assert (src / "a.py").read_bytes() == raw.replace(b"chainer.old", b"torch.new")


@pytest.mark.parametrize("fixture", sorted(path.name for path in (ROOT / "fixtures").iterdir() if path.is_dir()))
def test_the_patch_of_every_fixture_applies(fixture, tmp_path):
    work = tmp_path / "work"
    shutil.copytree(ROOT / "fixtures" / fixture, work)
    done = subprocess.run([sys.executable, "-m", "chainer2torch", "migrate", "."], cwd=work, capture_output=True)
    assert done.returncode in (0, 1) and done.stdout, done.stderr
    subprocess.run(["git", "apply", "--check", "-p1", "-"], input=done.stdout, cwd=work, check=True)


def test_on_a_terminal_a_line_stands_for_the_helpers(src):
    found = run(src, Engine(helpers=["leaky_relu"]))
    brief = b"".join(patches.patch(output.changes(found), brief=True))
    assert b"def leaky_relu" not in brief and b"chainer_compat.py: new, " in brief and b"+x = torch.new" in brief


def test_links_out_of_the_folder_are_named(tmp_path):
    src = tree(tmp_path / "src", a_py=OLD, **{"pkg/b.py": OLD})
    (src / "in").symlink_to("pkg")
    (src / "pkg/up").symlink_to("../a.py")
    assert run(src).report(True).notes == []
    (src / "data").symlink_to("/data/set")
    (src / "pkg/out").symlink_to("../../elsewhere")
    (note,) = run(src).report(True).notes
    assert note.startswith("2 links lead out of the folder and stay as they are")
    assert "data -> /data/set" in note and "pkg/out -> ../../elsewhere" in note and "up ->" not in note
    migrate(src, tmp_path / "out")
    assert os.readlink(tmp_path / "out/data") == "/data/set"


def test_submodules_that_are_not_checked_out_are_named(tmp_path):
    src = tree(tmp_path / "src", a_py=OLD, **{"there/b.py": OLD})
    (src / ".gitmodules").write_text(
        '[submodule "there"]\n\tpath = there\n\turl = x\n[submodule "tools"]\n\tpath = lib/tools\n\turl = y\n'
    )
    (note,) = run(src).report(True).notes
    assert note.startswith("1 git submodule is not checked out") and note.endswith(": " + str(src / "lib/tools"))
    (src / "lib/tools").mkdir(parents=True)
    assert run(src).report(True).notes == [note]
    (src / "lib/tools/c.py").write_bytes(OLD)
    assert run(src).report(True).notes == []
    (src / ".gitmodules").write_bytes(b"[submodule\n\xff")
    assert run(src).report(True).notes == []


def test_named_files_see_what_they_import(tmp_path):
    src = tree(
        tmp_path / "src",
        train_py=b"import net\nx = chainer.old\n",
        net_py=OLD,
        other_py=OLD,
        **{"pkg/__init__.py": b"", "pkg/m.py": OLD},
    )
    engine = Engine()
    found = run(src / "train.py", engine)
    assert sorted(engine.calls[0]) == ["net.py", "train.py"]
    assert [change.relative for change in output.changes(found)] == ["train.py"]
    inside = scan.collect([src / "pkg" / "m.py"])
    assert inside.trees[0].base == src and inside.trees[0].reported == ["pkg/m.py"]
    assert inside.trees[0].show("pkg/m.py") == (src / "pkg/m.py").as_posix()


def test_named_files_see_modules_that_lie_deeper(tmp_path, monkeypatch):
    src = tree(
        tmp_path / "src",
        train_py=b"from lib.nets.deep import Net\nimport lib.tools.more as more\nx = chainer.old\n",
        **dict.fromkeys(("lib/__init__.py", "lib/tools/__init__.py", "lib/tools/more.py", "lib/other.py"), b""),
        **{"lib/nets/__init__.py": b"from . import base\n", "lib/nets/deep.py": b"from ..tools import x\n"},
        **{"lib/nets/base.py": OLD, "lib/tools/x.py": OLD},
    )
    engine = Engine()
    run(src / "train.py", engine)
    seen = [
        "lib/nets/__init__.py",
        "lib/nets/base.py",
        "lib/nets/deep.py",
        "lib/tools/__init__.py",
        "lib/tools/more.py",
    ]
    assert {*seen, "lib/tools/x.py", "train.py"} <= set(engine.calls[0]) | {"lib/tools/__init__.py"}
    assert "lib/other.py" not in engine.calls[0]
    standard_input = io.TextIOWrapper(io.BytesIO((src / "train.py").read_bytes() + b"# edited\n"))
    monkeypatch.setattr(sys, "stdin", standard_input)
    piped = scan.collect([scan.STDIN], stdin=str(src / "train.py"))
    scan.analyse(piped, engine)
    assert set(engine.calls[1]) == set(engine.calls[0]) and piped.trees[0].reported == ["train.py"]
    assert engine.calls[1]["train.py"].endswith("# edited\n")


def test_helpers_of_a_library_are_kept_where_its_examples_import_them_from(src):
    used = b"from lib import chainer_compat as compat\ncompat.get_device(0)\n"
    tree(src, **{"lib/__init__.py": b"", "examples/done.py": used, "lib/new.py": OLD})
    tree(src, **{"lib/chainer_compat.py": compat_file.build(["get_device"]).encode()})
    (src / "a.py").unlink()
    in_place(src, Engine(helpers=["leaky_relu"], root="lib"))
    assert not (src / compat_file.FILE_NAME).exists() and not (src / "examples" / compat_file.FILE_NAME).exists()
    text = (src / "lib" / compat_file.FILE_NAME).read_text()
    assert "def leaky_relu" in text and "def get_device" in text


def test_a_folder_in_another_one_has_its_own_helpers_and_those_of_what_it_imports(tmp_path):
    """A script there finds these; what lies above it may be loaded with it, and what it imports is."""
    src = tmp_path / "src"
    program = "import chainer\nimport chainer.functions as F\n\n\ndef {0}(x):\n    return F.{1}(x)\n"
    parts = {
        "top.py": program.format("top", "softplus"),
        "other.py": program.format("other", "leaky_relu"),
        "tools/__init__.py": "",
        "tools/plain.py": "from tools import x\n",
        "data/script.py": "import top\n" + program.format("script", "clipped_relu"),
    }
    helpers = {"top.py": "get_device", "other.py": "to_cpu", "data/script.py": "to_gpu"}

    class Some(Engine):
        def __call__(self, texts, pinned=None, name=""):
            return {
                path: dataclasses.replace(
                    result,
                    code=result.code + "# new\n",
                    helpers=frozenset([helpers[path]] if path in helpers else ()),
                    root="data" if path.startswith("data") else "",
                    imports=frozenset(["top.py"] if path == "data/script.py" else ()),
                )
                for path, result in super().__call__(texts).items()
            }

    for path, text in parts.items():
        (src / path).parent.mkdir(parents=True, exist_ok=True)
        (src / path).write_text(text)
    migrate(src, tmp_path / "out", Some())
    above, inside = (
        (tmp_path / "out" / part / compat_file.FILE_NAME).read_text(encoding="utf-8") for part in ("", "data")
    )
    assert all(f"def {name}(" in above for name in ("get_device", "to_cpu", "to_gpu"))
    assert "def to_gpu(" in inside and "def get_device(" in inside and "def to_cpu(" not in inside
