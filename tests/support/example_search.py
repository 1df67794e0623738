"""Looks for examples that notice what the examples of a row do not: `python -m tests.support.example_search NAMES...`

For each mutant of a row that changes the text of no example, the examples are written in other ways: one argument
more, less or another, at the borders of the row's guards, an array of the host, an array module that stays one. The
first way that becomes another text with the mutant, and that both frameworks take, is printed as an example for the
table; `--write` puts it there. A way that the frameworks do not agree on is printed as such: a wrong row, perhaps.
"""

from __future__ import annotations

import argparse
import ast
import collections
import copy
import dataclasses
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chainer2torch.engine import migrate_source
from chainer2torch.rules.row import Example, Row
from chainer2torch.rules.signature import BindError
from chainer2torch.rules.table import Rules, load_rules
from chainer2torch.verify.judge.outcome import FAILED, PASSED
from chainer2torch.verify.rules import emitted, snippets
from chainer2torch.verify.rules.callmatrix import AS_WRITTEN, Variant, _dotted, _imported, _other_value
from chainer2torch.verify.rules.mutation import every_row_mutant
from chainer2torch.verify.rules.row_mutants import RowMutant
from chainer2torch.verify.rules.verify_rules import select, verify_rules

TABLES = Path(__file__).resolve().parents[2] / "rules"
MOST = 120  # ways that are tried for one mutant
ENOUGH = 6  # ways that notice it: the frameworks may refuse one
REFUSED = "refused"
HOST = "chainer.backends.cuda.to_cpu"
# arguments for options whose default says nothing of what they take
GUESSES = {
    "dtype": ("np.float32", "np.float64", "'f'"),
    "fan_option": ("'fan_out'",),
    "initialW": ("0.5", "chainer.initializers.Constant(0.25)"),
    "name": ("'one'",),
    "out_channels": ("4",),
    "outsize": ("(7, 7)", "(8, 8)", "(7,)", "(8,)", "(7, 7, 7)", "8"),
    "pad": ("1", "(1, 1)", "(1,)"),
    "rng": ("np.random.RandomState(0)",),
    "size": ("(2, 3)", "3"),
    "soft_target_loss": ("'kl-divergence'",),
    "trigger": ("(2, 'iteration')", "(1, 'epoch')"),
}
_LEFT_OUT = object()


@dataclasses.dataclass(frozen=True, eq=False)
class Way:
    """Another way to write an example: which one it is made of, the parameter that is another, and the texts."""

    example: Example
    parameter: str
    setup: str
    before: str

    @property
    def made(self) -> Example:
        """The example itself."""
        kept = {k: v for k, v in self.example.options.items() if k not in ("after", "becomes", "setup")}
        return Example(self.example.given, self.before, {**kept, **({"setup": self.setup} if self.setup else {})})


def ways(row: Row) -> list[Way]:
    """The ways to write the examples of a row: those that change one argument of one call, then whole ones."""
    if row.signature is None:
        return []
    found: dict[tuple[str, str], Way] = {}
    for example in row.examples:
        if example.options.get("raises") or example.options.get("loud"):
            continue
        setup = example.options.get("setup", "")
        for way in _ways_of(row, example, setup):
            found.setdefault((way.setup, way.before), way)
    for example in row.examples:
        found.pop((example.options.get("setup", ""), example.before), None)
    return list(found.values())


def _ways_of(row: Row, example: Example, setup: str) -> Iterator[Way]:
    assert row.signature is not None
    for part, text in (("setup", setup), ("before", example.before)):
        tree = ast.parse(text)
        modules = _imported(setup, example.before)
        for number, _ in enumerate(_calls(tree, row, modules)):
            for parameter, change in _changes(row, tree, modules, number):
                other = copy.deepcopy(tree)
                call = _calls(other, row, modules)[number]
                if _replaced(row, call, parameter, change):
                    written = ast.unparse(ast.fix_missing_locations(other))
                    yield Way(
                        example,
                        parameter,
                        *((written, example.before) if part == "setup" else (setup, written)),
                    )
    if row.name.startswith("xp."):
        first, _, rest = example.before.partition("\n")
        if first.startswith("xp = "):
            yield Way(example, "self", setup, f"{first}\nrepr(xp)\n{rest}")


def _calls(tree: ast.AST, row: Row, modules: dict[str, str]) -> list[ast.Call]:
    """The calls of the row's name, and of a method those of its last part."""
    assert row.signature is not None
    method = row.name.rsplit(".", 1)[-1]
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (
            _dotted(node.func, modules) == row.name
            or row.signature.is_method
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == method
            and _dotted(node.func.value, modules) is None
        )
    ]


def _changes(row: Row, tree: ast.AST, modules: dict[str, str], number: int) -> Iterator[tuple[str, Any]]:
    """What may be changed in a call: a parameter, and the text of another argument, or that it is left out."""
    assert row.signature is not None
    call = _calls(tree, row, modules)[number]
    receiver = call.func.value if isinstance(call.func, ast.Attribute) and row.signature.is_method else None
    try:
        given = row.signature.bind(call.args, call.keywords, receiver).given
    except BindError:
        return
    defaults = row.signature.defaults
    borders = _borders(row)
    for parameter in row.signature.parameters:
        name = parameter.name
        if parameter.kind not in ("positional", "keyword") or name == "self":
            continue
        now = given.get(name)
        texts = [*borders.get(name, ()), *GUESSES.get(name, ())]
        if now is None:
            other = _other_value(name, defaults.get(name, "None"))
            texts += [other] if other is not None else []
            texts += [defaults[name]] if name in defaults else []
        else:
            if name in defaults:
                yield name, _LEFT_OUT
            texts += list(_of_argument(now))
        for other_name, node in given.items():
            if other_name != name and isinstance(node, ast.Constant) and type(node.value) is int:
                texts += [repr(node.value + step) for step in (-1, 0, 1)] if (name, other_name) in _pairs(row) else []
        for text in dict.fromkeys(texts):
            if now is None or text != ast.unparse(now):
                yield name, text


def _of_argument(node: ast.expr) -> Iterator[str]:
    """Other arguments than this one that are much like it."""
    text = ast.unparse(node)
    try:
        value = ast.literal_eval(node)
    except (ValueError, SyntaxError, TypeError):
        value = ()
    if not isinstance(value, (tuple, list, dict)):
        if isinstance(value, bool):
            yield repr(not value)
        elif isinstance(value, int):
            yield from (repr(value + 1), repr(value - 1), f"({value}, {value})", f"({value},)", f"[{value}]")
            yield repr(value + 0.5)
        elif isinstance(value, float):
            yield from (repr(value / 2 + 0.25), "1")
        elif isinstance(value, str):
            yield f"{{'a': {text}}}['a']"
        if value is not None:
            yield f"{{'a': {text}}}['a']"
            yield "None"
        return
    yield f"{HOST}({text})"
    yield f"{{'a': {text}}}['a']"
    if not isinstance(node, (ast.List, ast.Tuple, ast.Dict, ast.Lambda)):
        yield f"({text}).astype('i')"
    if isinstance(node, (ast.List, ast.Tuple)):
        yield f"list({text})"
        yield f"tuple({text})"
        if node.elts and value:
            yield ast.unparse(node.elts[0])
        yield f"[{', '.join(f'{HOST}({ast.unparse(item)})' for item in node.elts)}]"


def _borders(row: Row) -> dict[str, list[str]]:
    """For each parameter the values at the borders of the guards' comparisons."""
    found: dict[str, list[str]] = {}
    for case in row.cases:
        for node in ast.walk(ast.parse(case.when or "0", mode="eval")):
            if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name):
                for value in _constants(node.comparators[0]):
                    texts = found.setdefault(node.left.id, [])
                    if isinstance(value, int) and not isinstance(value, bool):
                        texts += [repr(value + step) for step in (0, 1, -1)]
                    elif isinstance(value, bool):
                        texts += ["True", "False"]
                    else:
                        texts.append(repr(value))
    return found


def _constants(node: ast.expr) -> list[Any]:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return []
    return list(value) if isinstance(value, tuple) and value else [value]


def _pairs(row: Row) -> set[tuple[str, str]]:
    """The parameters that a guard compares with each other."""
    nodes = [node for case in row.cases for node in ast.walk(ast.parse(case.when or "0", mode="eval"))]
    return {
        (node.left.id, node.comparators[0].id)
        for node in nodes
        if isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Name)
        and isinstance(node.comparators[0], ast.Name)
    }


def _replaced(row: Row, call: ast.Call, parameter: str, change: Any) -> bool:
    """Puts another argument into a call; False where that cannot be written."""
    assert row.signature is not None
    method = row.signature.is_method and isinstance(call.func, ast.Attribute)
    order = [p.name for p in row.signature.parameters if p.kind == "positional" and not (method and p.name == "self")]
    keyword = next((k for k in call.keywords if k.arg == parameter), None)
    place = order.index(parameter) if parameter in order else len(order)
    if change is _LEFT_OUT:
        if keyword is not None:
            call.keywords.remove(keyword)
            return True
        if place == len(call.args) - 1:
            call.args.pop()
            return True
        return False
    value = ast.parse(change, mode="eval").body
    if keyword is not None:
        keyword.value = value
    elif place < len(call.args):
        call.args[place] = value
    else:
        call.keywords.append(ast.keyword(parameter, value))
    return True


class Search:
    """The search for the mutants of one row."""

    def __init__(self, rules: Rules, row: Row) -> None:
        self.rules, self.row = rules, row
        self.right: dict[tuple[str, bool], str] = {}

    def text(self, example: Example, rules: Rules, known: bool = True) -> str:
        """What an example becomes."""
        source = snippets.build(Variant(AS_WRITTEN, example.options.get("setup", ""), example.before), example.given)
        if rules is self.rules and (source, known) in self.right:
            return self.right[source, known]
        kinds = snippets.hints(example.given, example.options) if known else {}
        migrated = snippets.migrate(source, migrate_source, rules, kinds)
        text = emitted.LEFT if migrated.left is not None else emitted.text_of(migrated.code)
        if rules is self.rules:
            self.right[source, known] = text
        return text

    def notices(self, example: Example, mutant: RowMutant, both: bool = False) -> bool:
        """Whether an example becomes another text with the mutant."""
        wrong = self.rules.replacing(mutant.row)
        ways = (True, False) if both and snippets.hints(example.given, example.options) else (True,)
        return any(self.text(example, wrong, known) != self.text(example, self.rules, known) for known in ways)

    def unseen(self, mutants: Sequence[RowMutant]) -> list[RowMutant]:
        """The mutants that no example of the row shows. Chainer's signatures hold defaults, and each example is also
        run with the name as a value.
        """
        left = []
        recent: list[Example] = []
        for mutant in (m for m in mutants if not m.parameter and not m.what.startswith("value: ")):
            shown = next(
                (e for e in [*recent, *self.row.examples] if self.notices(e, mutant, both=True)),
                None,
            )
            if shown is None:
                left.append(mutant)
            else:
                recent = [shown]
        return left

    def candidates(self, mutants: Sequence[RowMutant]) -> list[tuple[RowMutant, list[Way]]]:
        """The mutants that no example shows, each with some ways that do. A way is mostly one for several of them."""
        left = self.unseen(mutants)
        every = ways(self.row) if left else []
        good: list[Way] = []
        found = []
        for mutant in left:
            shown = [way for way in good if self.notices(way.made, mutant)]
            lost = _named(self.row) - _named(mutant.row)
            near = sorted(every, key=lambda way: _distance(way, mutant, lost))
            for way in near[:MOST]:
                if len(shown) >= ENOUGH:
                    break
                if way in shown or self.text(way.made, self.rules) == emitted.LEFT:
                    continue
                if self.notices(way.made, mutant):
                    shown.append(way)
            good += [way for way in shown if way not in good]
            found.append((mutant, shown))
        return found


def _named(row: Row) -> collections.Counter[str]:
    """How often the templates and guards of a row say each name."""
    texts = [*row.templates, *(case.when for case in row.cases if case.when)]
    nodes = (node for text in texts for node in ast.walk(ast.parse(text.strip())))
    return collections.Counter(node.id for node in nodes if isinstance(node, ast.Name))


def _distance(way: Way, mutant: RowMutant, lost: collections.Counter[str]) -> int:
    """0: the way changes the very parameter that the mutant is about; 1: one of its guard; 2: neither."""
    word = re.compile(rf"\b{way.parameter}\b")
    if way.parameter in lost or word.search(mutant.what.rpartition("`: ")[2]):
        return 0
    return 1 if word.search(mutant.what) else 2


def run(rules: Rules, chosen: Mapping[str, Sequence[Way]]) -> dict[Way, tuple[str, str]]:
    """What both frameworks say to ways of some rows: the worst status, and why."""
    rows = [
        dataclasses.replace(rules.every[name], examples=tuple(way.made for way in those))
        for name, those in chosen.items()
    ]
    report = verify_rules(rows=rows, rules=rules, matrix=False, timeout=900)
    found: dict[Way, tuple[str, str]] = {}
    for name, those in chosen.items():
        for number, way in enumerate(those, 1):
            start = f"example {number}, {AS_WRITTEN}"
            mine = [o for o in report.outcomes if o.pair.row == name and o.pair.label.startswith(start)]
            failed = [o.reasons[0] for o in mine if o.status == FAILED]
            if any(reason.startswith("Chainer: ") for reason in failed):
                found[way] = REFUSED, failed[0]
            elif failed:
                found[way] = FAILED, failed[0]
            else:
                found[way] = (PASSED if any(o.status == PASSED and o.compared for o in mine) else REFUSED), ""
    return found


def chosen_of(found: Sequence[tuple[RowMutant, list[Way]]], said: Mapping[Way, tuple[str, str]]) -> list[Way]:
    """Few ways that notice all mutants that can be noticed: first the one that notices most."""
    left = [{way for way in those if said[way][0] == PASSED} for _, those in found]
    chosen: list[Way] = []
    while any(left):
        every = list(dict.fromkeys(way for _, those in found for way in those))
        best = max(every, key=lambda way: (sum(way in those for those in left), -len(way.setup + way.before)))
        chosen.append(best)
        left = [those for those in left if best not in those]
    return chosen


def block(key: str, example: Example, name: str = "") -> str:
    """An example as it stands in a table; in that of a group (``name``) without the row's own name."""

    def text(value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            said = re.sub(rf"\b{re.escape(name)}\b", "{name}", value) if name else value
            escaped = said.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            return f'"{escaped}"'
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(map(text, value)) + "]"
        if isinstance(value, dict):
            return "{ " + ", ".join(f"{k} = {text(v)}" for k, v in value.items()) + " }"
        return repr(value)

    options = {k: v for k, v in example.options.items() if k not in ("given", "before")}
    lines = [f"[[{key}.example]]", f"given = {text(dict(example.given))}"]
    lines += [f"{k} = {text(v)}" for k, v in options.items()]
    return "\n".join([*lines, f"before = {text(example.before)}"]) + "\n"


def put(row: Row, examples: Sequence[Example]) -> None:
    """Writes examples behind those that a row of our own tables has."""
    path = TABLES / row.table
    text = path.read_text(encoding="utf-8")
    data = tomllib.loads(text)
    short = row.name.removeprefix(data.get("module", "") + ".")
    group = next((g for g in data.get("same", ()) if short in g["names"]), None)
    if group is not None:
        start = text.index("names = " + _names_text(text, short))
        added = [block("same", example, short.rsplit(".", 1)[-1]) for example in examples]
    else:
        key = short if f"\n[{short}]" in text else f'"{short}"'
        start = text.index(f"\n[{key}]") + 1
        added = [block(key, example) for example in examples]
    following = re.compile(r"^(\[\[same\]\]|\[(\"[^\"\n]+\"|[\w.]+)\]|# ----.*)$", re.MULTILINE).search(text, start + 1)
    end = following.start() if following else len(text)
    head = text[:end].rstrip("\n")
    path.write_text(head + "\n" + "".join(added) + "\n" + text[end:], encoding="utf-8")


def _names_text(text: str, short: str) -> str:
    lists = re.findall(r"^names = (\[.*?\])", text, re.MULTILINE | re.DOTALL)
    return next(names for names in lists if f'"{short}"' in names)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.example_search", description=__doc__)
    parser.add_argument("--style", default="native", choices=emitted.STYLES)
    parser.add_argument("--write", action="store_true", help="put the examples into the tables")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    rules = load_rules(strict=False, style=args.style)
    names = [row.name for row in select(rules, args.names)]
    groups: set[tuple[str, str]] = set()
    found: dict[str, list[tuple[RowMutant, list[Way]]]] = {}
    for name, mutants in every_row_mutant(rules, names).items():
        row = rules.every[name]
        alike = (row.table, "\n".join(m.what.replace(name.rsplit(".", 1)[-1], "") for m in mutants))
        if not mutants or alike in groups:
            continue
        groups.add(alike)
        found[name] = Search(rules, row).candidates(mutants)
        print(f"{name}: {len(found[name])} of {len(mutants)} mutants unseen", file=sys.stderr, flush=True)
    wanted = {name: list(dict.fromkeys(way for _, those in pairs for way in those)) for name, pairs in found.items()}
    said = run(rules, {name: those for name, those in wanted.items() if those})
    for name, pairs in found.items():
        for mutant, those in pairs:
            if not any(said[way][0] == PASSED for way in those):
                print(f"nothing: {name}: {mutant.what}")
        for way in wanted[name]:
            if said[way][0] == FAILED:
                print(f"differs: {name}: {way.setup!r} {way.before!r}\n    {said[way][1]}")
        good = chosen_of(pairs, said)
        for way in good:
            print(f"found: {name}: {way.setup!r} {way.before!r}", flush=True)
        if args.write and good:
            put(rules.every[name], [way.made for way in good])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
