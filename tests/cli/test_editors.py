"""What an editor gets: the places of a file as it is typed, and a language server that speaks of them."""

import json
import subprocess
import sys
import time

import pytest

from chainer2torch.cli.editors.places import LEFT_TO_DO, look
from tests.cli.test_cli import run

SOURCE = """\
import chainer.functions as F


def f(x):
    s = '\U0001d11e'; return F.leaky_relu(x)


def g(x):
    return F.no_such_function(x)
"""


def test_places_of_a_text_that_is_not_saved(tmp_path):
    path = tmp_path / "net.py"
    path.write_text("import chainer\n")
    found = look(path, SOURCE)
    assert [(p.line, p.column, p.end_line, p.end_column, p.symbol, p.state) for p in found.places] == [
        (4, 20, 4, 32, "chainer.functions.leaky_relu", "exact"),
        (8, 11, 8, 29, "chainer.functions.no_such_function", "manual"),
    ]
    assert "no rule for this name" in found.places[1].message
    assert set(found.migrated) == {path}, "what is left is imported where it is used"
    assert "leaky_relu(x, negative_slope=0.2)" in found.migrated[path]
    assert path.read_text() == "import chainer\n"


def test_what_it_imports_and_the_settings_of_its_project_count(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.chainer2torch]\nignore = ['C2T090']\n")
    (tmp_path / "names.py").write_text("import chainer.functions as F\n")
    text = "from names import F  # Chainer's, chainer.functions\n" + SOURCE.partition("\n")[2]
    found = look(tmp_path / "net.py", text)
    assert found.places == (), "a file that is not there imports nothing that is known"
    (tmp_path / "net.py").write_text("")
    found = look(tmp_path / "net.py", text)
    assert [p.symbol for p in found.places] == ["chainer.functions.leaky_relu"]


def test_comments_of_a_migration_are_places(tmp_path):
    marker = "    # TODO(chainer2torch C2T090): chainer.a.b: no rule for this name"
    text = f"import torch\n\n\ndef f(x):\n{marker}\n    return a.b(x)\n"
    (place,) = look(tmp_path / "net.py", text).places
    assert (place.line, place.column, place.end_column, place.code) == (4, 4, len(text.splitlines()[4]), "C2T090")
    assert place.state == LEFT_TO_DO and place.symbol == "chainer.a.b"


def test_a_text_that_does_not_parse_is_one_place(tmp_path):
    (place,) = look(tmp_path / "net.py", "import chainer\nx = (\n").places
    assert (place.line, place.code, place.column) == (1, "C2T004", 0)


# -- the server ----------------------------------------------------------------------------------------------------


class Editor:
    """The least that an editor does: messages with a length in front of them, over pipes."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "chainer2torch", "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
        )
        self.number = 0
        self.ask("initialize", processId=None, rootUri=None, capabilities={})
        self.tell("initialized")

    def tell(self, method, **parameters):
        self._send({"method": method, "params": parameters})

    def ask(self, method, **parameters):
        self.number += 1
        self._send({"id": self.number, "method": method, "params": parameters})
        return self.until(lambda message: message.get("id") == self.number)["result"]

    def until(self, wanted):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            length = 0
            while line := self.process.stdout.readline().strip():
                if line.lower().startswith(b"content-length"):
                    length = int(line.split(b":")[1])
            message = json.loads(self.process.stdout.read(length))
            if wanted(message):
                return message
        raise AssertionError("no answer")

    def marks(self):
        message = self.until(lambda message: message.get("method") == "textDocument/publishDiagnostics")
        return message["params"]["diagnostics"]

    def _send(self, message):
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()


@pytest.fixture
def editor(tmp_path):
    pytest.importorskip("pygls")
    made = Editor(tmp_path)
    yield made
    made.process.kill()
    made.process.wait(10)


def _at(line, character):
    position = {"line": line, "character": character}
    return {"start": position, "end": position}


def test_a_session(editor, tmp_path):
    path = tmp_path / "net.py"
    path.write_text(SOURCE)
    document = {"uri": path.as_uri()}
    editor.tell("textDocument/didOpen", textDocument={**document, "languageId": "python", "version": 1, "text": SOURCE})
    exact, manual = editor.marks()
    assert (exact["severity"], exact["code"], manual["severity"]) == (4, "C2T100", 2)
    # the editor counts in units of UTF-16, of which the clef in the line has two
    assert exact["range"] == {"start": {"line": 4, "character": 21}, "end": {"line": 4, "character": 33}}
    hover = editor.ask("textDocument/hover", textDocument=document, position={"line": 4, "character": 25})
    assert "negative_slope=slope" in hover["contents"]["value"]
    assert editor.ask("textDocument/hover", textDocument=document, position={"line": 1, "character": 0}) is None

    actions = editor.ask(
        "textDocument/codeAction", textDocument=document, range=_at(8, 14), context={"diagnostics": []}
    )
    assert [action["kind"] for action in actions] == ["quickfix", "source.fixAll", "quickfix"]
    (keep,) = actions[0]["edit"]["changes"][path.as_uri()]
    assert keep["newText"] == "    # chainer2torch: skip\n" and keep["range"] == _at(8, 0)
    changes = [change for change in actions[1]["edit"]["documentChanges"] if "textDocument" in change]
    migrated = next(c["edits"][0]["newText"] for c in changes if c["textDocument"]["uri"] == path.as_uri())
    assert "negative_slope=0.2" in migrated

    changed = {"contentChanges": [{"text": migrated}]}
    editor.tell("textDocument/didChange", textDocument={**document, "version": 2}, **changed)
    marks = editor.marks()
    comment = next(mark for mark in marks if mark["message"].startswith("chainer.functions.no_such_function: no rule"))
    line = comment["range"]["start"]["line"]
    assert "TODO(chainer2torch" in migrated.splitlines()[line]
    here = _at(line, comment["range"]["start"]["character"])
    done = editor.ask("textDocument/codeAction", textDocument=document, range=here, context={"diagnostics": []})[0]
    assert done["title"].startswith("This is done")
    (edit,) = done["edit"]["changes"][path.as_uri()]
    assert edit == {"range": {**_at(line, 0), "end": {"line": line + 1, "character": 0}}, "newText": ""}

    editor.tell("textDocument/didClose", textDocument=document)
    assert editor.marks() == []
    assert editor.ask("shutdown") is None
    editor.tell("exit")
    assert editor.process.wait(20) == 0
    assert path.read_text() == SOURCE, "the editor writes, the server does not"


def test_helpers_come_along(editor, tmp_path):
    path = tmp_path / "net.py"
    text = "import chainer.functions as F\n\n\ndef f(x):\n    return F.maxout(x, 2, axis=0)\n"
    path.write_text(text)
    document = {"uri": path.as_uri()}
    editor.tell("textDocument/didOpen", textDocument={**document, "languageId": "python", "version": 1, "text": text})
    editor.marks()
    only = {"diagnostics": [], "only": ["source.fixAll"]}
    (action,) = editor.ask("textDocument/codeAction", textDocument=document, range=_at(0, 0), context=only)
    changes = action["edit"]["documentChanges"]
    helpers = (tmp_path / "chainer_compat.py").as_uri()
    assert [change.get("kind") for change in changes] == [None, "create", None]
    assert changes[1]["uri"] == helpers == changes[2]["textDocument"]["uri"]
    assert "import chainer_compat" in changes[0]["edits"][0]["newText"]


def test_a_wrong_setting_does_not_end_it(editor, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.chainer2torch]\nno_such_key = 1\n")
    uri = (tmp_path / "net.py").as_uri()
    editor.tell("textDocument/didOpen", textDocument={"uri": uri, "languageId": "python", "version": 1, "text": SOURCE})
    said = editor.until(lambda message: message.get("method") == "window/logMessage")
    assert "no_such_key" in said["params"]["message"]
    assert editor.marks() == []
    (tmp_path / "pyproject.toml").unlink()
    editor.tell("textDocument/didSave", textDocument={"uri": uri})
    assert len(editor.marks()) == 2


def test_without_pygls_it_says_what_to_install(tmp_path):
    code = "import sys; sys.modules['lsprotocol'] = None; from chainer2torch.__main__ import main; sys.exit(main())"
    done = run("lsp", cwd=tmp_path, code=code)
    assert done.returncode == 2 and "pip install 'chainer2torch[lsp]'" in done.stderr, done.stderr
