"""What the documents say is so: commands and options exist, links lead somewhere, the counts are those of the rules."""

import importlib.util
import re
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from chainer2torch.rules import codes
from chainer2torch.cli.app import cli
from chainer2torch.rules.table import load_rules

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SPEC = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
generate = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(generate)


def commands(text):
    """The words after every `chainer2torch` that is a command: in code spans and on the lines of code blocks."""
    spans = re.findall(r"`(chainer2torch [^`]*)`", text)
    lines = re.findall(r"^(?:    |- |\s+- |\s+run: )(chainer2torch [^#\n]*)", text, re.MULTILINE)
    for found in spans + lines:
        for part in re.split(r"\|\||&&|[|<>]", found):
            words = part.split()
            if words[:1] == ["chainer2torch"] and len(words) > 1:
                yield words[1:]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_commands_and_options_exist(path):
    for words in commands(path.read_text()):
        if words[0].startswith(("-", "skip")):
            continue
        assert words[0] in cli.commands, words
        command = cli.commands[words[0]]
        if isinstance(command, click.Group) and len(words) > 1 and not words[1].isupper():
            assert words[1] in command.commands, words
            command = command.commands[words[1]]
        known = {option for parameter in command.params for option in parameter.opts}
        own = words[: words.index("--")] if "--" in words else words
        used = {word.split("=")[0] for word in own if re.match(r"-{1,2}[a-z]", word)}
        assert used <= known or isinstance(command, click.Group), (words, used - known)


def test_commands_are_found_at_all():
    assert ["check", "PATH..."] in list(commands((ROOT / "README.md").read_text()))
    assert list(commands("- `chainer2torch migrate -`\n    chainer2torch a b  # x\n")) == [["migrate", "-"], ["a", "b"]]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    made = {"codes.md", "formats.md", "changelog.md", "rules/index.md", "cookbook.md", "api.md", "differences.md"}
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text()):
        if not target.startswith("http") and target not in made:
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_codes_that_are_named_exist():
    for path in DOCUMENTS:
        assert set(re.findall(r"\bC2T\d{3}\b", path.read_text())) <= set(codes.table()), path


def test_the_counts_of_the_readme_are_those_of_the_rules():
    text = (ROOT / "README.md").read_text()
    assert text == generate.with_coverage(text, load_rules()), "run `python docs/generate.py --coverage`"


def test_the_counts_count():
    table = generate.coverage(load_rules())
    areas = {line.split("|")[1].strip(): [int(n) for n in line.split("|")[2:-1]] for line in table.splitlines()[2:]}
    assert all(row[0] == sum(row[1:]) for row in areas.values())
    assert areas["functions"][0] > 200 and areas["links"][0] > 50
    assert areas["everything"][0] == len(load_rules().rows) + len(load_rules().python)


def test_every_rule_and_code_has_its_place():
    rules = load_rules()
    pages = generate.pages(rules)
    text = "\n".join(pages.values())
    assert all(f"## `{name}`" in text for name in rules.every)
    assert all(f"## {code}: " in pages["codes.md"] for code in codes.table())
    for target in re.findall(r"\]\(([^)#]+)\)", pages["rules/index.md"]):
        assert f"rules/{target}" in pages
    anchors = {generate._anchor(code) for code in codes.table()}
    assert {"c2t202-attribute-that-torchnnmodule-has-itself", "c2t203-link-or-parameter-outside-init_scope"} <= anchors
    assert set(re.findall(r"codes\.md#([\w-]+)", text)) <= anchors


def test_the_site_names_pages_that_exist():
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    made = {*generate.pages(load_rules()), "changelog.md"}
    stack = list(nav)
    while stack:
        item = next(iter(stack.pop().values()))
        if isinstance(item, list):
            stack += item
        else:
            assert item in made or (ROOT / "docs" / item).is_file(), item


def test_all_names_of_the_interface_are_described():
    page = generate.api_page()
    names = [name for _, listed in generate.API.values() for name in listed]
    assert len(names) == 10
    for name in names:
        part = page.partition(f"### `{name}`")[2].partition("### ")[0]
        assert len(part.splitlines()) > 5 and name in part, name


# Commands whose operands are placeholders, which a small project stands for here. What runs the code of a project is
# run by the tests of those commands.
PLACES = {"SRC": "src", "PATH...": "src", "my_project": "src", "OUT": "out", "migrated": "out", "STEP1": "out"}
READERS = {"check", "migrate", "report", "rules", "explain"}


def runnable():
    seen = set()
    for path in DOCUMENTS:
        for words in commands(path.read_text()):
            words = [PLACES.get(word.strip("`"), word) for word in words]
            operands = [word for word in words[1:] if not word.startswith("-")]
            free = [word for word in operands if word.isupper() and not word.startswith("C2T") or "v.json" in word]
            if words[0] in READERS and operands and not free and not any("[" in word or ":" in word for word in words):
                seen.add(tuple(words))
    return sorted(seen)


def test_there_are_commands_to_run():
    assert len(runnable()) >= 15


@pytest.mark.parametrize("words", runnable(), ids=" ".join)
def test_commands_that_only_read_run(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "import chainer.functions as F\n\n\ndef f(x):\n    return F.relu(x)\n"
    folders = ["src", ".", "docs/cookbook", "fixtures/mlp_trainer", *(["out"] if words[0] == "check" else [])]
    for name in (f"{folder}/net.py" for folder in folders):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "chainer-baseline.json").write_text('{"version": 1, "files": []}')
    done = CliRunner().invoke(cli, list(words), standalone_mode=False, input=text)
    assert done.exception is None and done.return_value in (0, 1), (words, done.exception, done.output)
