"""Makes the pages about rules and codes, and the README's table of what is covered, from the rules themselves.

    python docs/generate.py FOLDER       writes the pages there
    python docs/generate.py --coverage   writes the table into README.md

mkdocs runs it as a hook; the pages are in no repository.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chainer2torch.report import formats
from chainer2torch.rules import codes, differences
from chainer2torch.rules.table import Row, Rules, load_rules

ROOT = Path(__file__).resolve().parent.parent
STATES = ("exact", "close", "review", "manual")
MARKS = "<!-- coverage: made by docs/generate.py -->", "<!-- end of coverage -->"
# what other programs may call
API = {
    "chainer2torch": ("engine.py", ("migrate_source",)),
    "chainer2torch.engine": ("engine.py", ("migrate_sources",)),
    "chainer2torch.plan.file_result": ("plan/file_result.py", ("FileResult",)),
    "chainer2torch.plan.options": ("plan/options.py", ("Options",)),
    "chainer2torch.verify, models": ("verify/models/verify_models.py", ("verify_models",)),
    "chainer2torch.verify, scripts": ("verify/script/verify_script.py", ("verify_script",)),
    "chainer2torch.verify, rules": ("verify/rules/verify_rules.py", ("verify_rules",)),
    "chainer2torch.weights": ("weights.py", ("load_npz", "save_npz", "convert")),
}
# what the README counts: the public names directly below these
AREAS = {
    "functions": ("chainer.functions.",),
    "links": ("chainer.links.",),
    "optimizers and their hooks": ("chainer.optimizers.", "chainer.optimizer_hooks."),
    "initializers": ("chainer.initializers.",),
    "distributions": ("chainer.distributions.",),
    "data sets, iterators, converters": ("chainer.datasets.", "chainer.iterators.", "chainer.dataset."),
    "training, extensions, triggers": (
        "chainer.training.",
        "chainer.training.extensions.",
        "chainer.training.triggers.",
        "chainer.training.updaters.",
    ),
    "serializers": ("chainer.serializers.",),
    "distributed (ChainerMN)": ("chainermn.",),
    "methods and attributes of Variable, Link, Chain": (
        "chainer.Variable.",
        "chainer.Link.",
        "chainer.Chain.",
        "chainer.ChainList.",
        "chainer.Sequential.",
    ),
    "array functions (NumPy, CuPy, xp)": ("xp.Module.",),
}


def coverage(rules: Rules) -> str:
    """The README's table: how many names of each area have which state."""
    lines = ["| area | names | exact | close | review | manual |", "|---|---|---|---|---|---|"]
    for area, prefixes in AREAS.items():
        rows = [
            row
            for name, row in rules.rows.items()
            if any(name.startswith(prefix) and "." not in name[len(prefix) :] for prefix in prefixes)
        ]
        counts = [sum(_state(rules, row) == state for row in rows) for state in STATES]
        lines.append(f"| {area} | {len(rows)} | " + " | ".join(map(str, counts)) + " |")
    for area, rows in (
        ("what begins in Python (operators, members of unknown values, NumPy)", list(rules.python.values())),
        ("everything", list(rules.every.values())),
    ):
        counts = [sum(_state(rules, row) == state for row in rows) for state in STATES]
        lines.append(f"| {area} | {len(rows)} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(lines) + "\n"


def _state(rules: Rules, row: Row) -> str:
    """The state of a row; a second name has that of the first."""
    found = rules.of_symbol(row.name)
    return found.state if found is not None else row.state


def with_coverage(readme: str, rules: Rules) -> str:
    """The README with the table of now."""
    before, rest = readme.split(MARKS[0])
    return f"{before}{MARKS[0]}\n{coverage(rules)}{MARKS[1]}{rest.split(MARKS[1])[1]}"


def pages(rules: Rules) -> dict[str, str]:
    """The text of every generated page, by its path in the site."""
    tables: dict[str, list[Row]] = {}
    for _, row in sorted(rules.every.items()):
        tables.setdefault(row.table.removesuffix(".toml"), []).append(row)
    made = {
        "codes.md": codes_page(),
        "formats.md": formats_page(),
        "differences.md": differences_page(),
        "cookbook.md": cookbook_page(),
        "api.md": api_page(),
    }
    listed = []
    for table, rows in sorted(tables.items()):
        name = f"rules/{table.replace('/', '-')}.md"
        made[name] = rules_page(table, rows)
        counts = ", ".join(
            f"{number} {state}" for state in STATES if (number := sum(_state(rules, row) == state for row in rows))
        )
        listed.append(f"| [{table}]({name.removeprefix('rules/')}) | {len(rows)} | {counts} |")
    made["rules/index.md"] = "\n".join(
        [
            "# Rules",
            "",
            "Every Chainer name that has a rule, and what begins in Python, by table. "
            "`chainer2torch rules NAME` shows one.",
            "",
            "| table | names | states |",
            "|---|---|---|",
            *listed,
            "",
        ]
    )
    return made


def cookbook_page() -> str:
    """The programs of docs/cookbook, before and after: what stands there is made when the site is built."""
    from chainer2torch.engine import Options, migrate_sources

    programs = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs/cookbook").glob("*.py"))}
    lines = [
        "# Cookbook",
        "",
        "Small programs of the usual kinds, as they are written for Chainer and as they come out. The tests run each "
        "of them in both frameworks, from the same weights and batches, and compare the losses of every step "
        "(the last one needs several GPUs, and is only read). "
        "They lie in docs/cookbook: `chainer2torch migrate docs/cookbook -o out` does all of this page.",
        "",
    ]
    for name in ("gan", "seq2seq", "detection", "reinforcement", "own_functions", "multi_gpu"):
        text = programs[f"{name}.py"]
        after = migrate_sources({f"{name}.py": text}, options=Options(style="native"))[f"{name}.py"].code
        title, _, prose = ast.get_docstring(ast.parse(text), clean=True).partition("\n")  # type: ignore[union-attr]
        lines += [f"## {title}", "", prose.strip(), ""]
        for heading, code in (("Before", text), ("After", after)):
            lines += [f"### {heading}: {name}.py", "", "```python", code.split('"""', 2)[2].strip(), "```", ""]
    return "\n".join(lines)


def api_page() -> str:
    """What other programs may call: the names that stay, with their signatures and docstrings."""
    lines = [
        "# From Python",
        "",
        "Few programs need more than the command line. What is listed here keeps its name and its arguments within a "
        "minor version; everything else may change.",
        "",
    ]
    for module, (path, names) in API.items():
        lines += [f"## `{module}`", ""]
        # read and not imported: what verification needs is not installed where the site is built
        tree = ast.parse((ROOT / "chainer2torch" / path).read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in names:
                lines += [f"### `{node.name}`", "", "```python", _declared(node), "```", ""]
                lines += [(ast.get_docstring(node) or "").replace("``", "`"), ""]
    return "\n".join(lines)


def _declared(node: ast.FunctionDef | ast.ClassDef) -> str:
    """The signature of a function, or the fields of a data class."""
    if isinstance(node, ast.FunctionDef):
        return f"{node.name}({ast.unparse(node.args)})" + (f" -> {ast.unparse(node.returns)}" if node.returns else "")
    fields = [ast.unparse(part) for part in node.body if isinstance(part, ast.AnnAssign)]
    return "\n    ".join([f"class {node.name}:", *fields])


def differences_page() -> str:
    """What the native style does otherwise than Chainer on purpose."""
    lines = [
        "# Declared differences",
        "",
        "`--style native` writes what an engineer would write in PyTorch. Where nobody would want Chainer's behaviour "
        "rebuilt for that, the output differs, on purpose and by name: the report lists the differences of a project, "
        "their sites have the state **close**, and `verify` makes each of them on the original side, too. Then it "
        "demands equality.",
        "",
    ]
    for name, difference in differences.table().items():
        lines += [f"## {name}", "", difference.what, "", f"In a verification: {difference.checked}", ""]
    return "\n".join(lines)


def formats_page() -> str:
    """What a report can be written as: the registry of report formats."""
    lines = [
        "# Report formats",
        "",
        "`chainer2torch report PATH --format NAME`, or `-o FILE` with one of the endings.",
        "",
    ]
    lines += ["| name | endings of FILE | media type | |", "|---|---|---|---|"]
    for name, form in formats.every().items():
        endings = ", ".join(f"`{ending}`" for ending in form.endings)
        lines.append(f"| `{name}` | {endings} | {form.media} | {form.help} |")
    return "\n".join([*lines, ""])


def _everything() -> Rules:
    """All rules, those for libraries on Chainer included."""
    rules = load_rules()
    return rules.with_packs(frozenset(rules.packs))


def codes_page() -> str:
    """What every code means."""
    lines = ["# Codes", "", "`chainer2torch explain CODE` prints these.", ""]
    for code, entry in codes.table().items():
        lines += [f"## {code}: {entry.title}", "", entry.cause, "", "```python", "# before", entry.before.strip()]
        lines += ["# after", entry.after.strip(), "```", "", entry.remedy, ""]
    return "\n".join(lines)


def rules_page(table: str, rows: list[Row]) -> str:
    """One page for each table."""
    lines = [f"# {table}", ""]
    for row in rows:
        lines += [f"## `{row.name}`", "", *_rule(row), ""]
    return "\n".join(lines)


def _rule(row: Row) -> list[str]:
    if row.alias:
        return [f"Another name of `{row.alias}`."]
    bound = f" (bound {row.bound})" if row.bound else ""
    lines = [f"State **{row.state}**{bound}, code [{row.code}](../codes.md#{_anchor(row.code)})."]
    if row.signature:
        lines += ["", "```python", f"{row.name.rsplit('.', 1)[-1]}{row.signature.text}", "```"]
    for case in row.cases:
        lines += ["", f"- {f'when `{case.when}`: ' if case.when else ''}`{case.torch}`"]
    if row.fallback:
        lines += ["", f"- when that cannot be decided: `{row.fallback}`"]
    for text in (row.note, row.next and f"Next: {row.next}"):
        if text:
            lines += ["", text]
    for example in row.examples[:1]:
        lines += ["", "```python", "# before", example.before.strip()]
        lines += ["# after", example.after.strip()] if example.after else []
        lines += ["```"]
    return lines


def _anchor(code: str) -> str:
    """As mkdocs makes it of a heading: other signs than letters, digits, ``_`` and ``-`` are dropped."""
    words = re.sub(r"[^\w\s-]", "", f"{code} {codes.table()[code].title}").strip().lower()
    return re.sub(r"[-\s]+", "-", words)


def on_files(files: Any, config: Any) -> Any:
    """The hook of mkdocs: adds the pages to the site."""
    from mkdocs.structure.files import File

    for name, text in pages(_everything()).items():
        files.append(File.generated(config, name, content=text))
    files.append(File.generated(config, "changelog.md", content=(ROOT / "CHANGELOG.md").read_text(encoding="utf-8")))
    return files


def write(made: Mapping[str, str], folder: Path) -> None:
    """Writes the pages to a folder."""
    for name, text in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--coverage"]:
        path = ROOT / "README.md"
        path.write_text(with_coverage(path.read_text(encoding="utf-8"), load_rules()), encoding="utf-8")
    elif len(sys.argv) == 2 and not sys.argv[1].startswith("-"):
        write(pages(_everything()), Path(sys.argv[1]))
    else:
        sys.exit(__doc__)
