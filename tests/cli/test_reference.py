"""``rules NAME`` and ``explain CODE`` answer for every symbol and every code that a report can contain."""

import functools
import re
from pathlib import Path

import pytest

from chainer2torch.cli import reference
from chainer2torch.engine import Options, migrate_sources
from chainer2torch.rules import codes
from chainer2torch.rules.table import load_rules

ROOT = Path(__file__).resolve().parents[2]
RULES = load_rules()
RULES = RULES.with_packs(frozenset(RULES.packs))
# about files and dependencies, which the engine does not see
TOLD = {f"C2T00{n}" for n in range(1, 10)} | {"C2T013", "C2T015", "C2T016", "C2T018", "C2T019"}
# programs that use Chainer in every way: the fixtures, programs found in the wild, and what the examples of codes show
PROGRAMS = sorted([*(ROOT / "fixtures").rglob("*.py"), *(ROOT / "tests" / "programs" / "wild").rglob("*.py")])
# a site that says that no rule knows the name, or that a member is not to be had, needs no row
UNHEARD = re.compile(
    "no rule for this|no attribute|does not have this name|is built on Chainer|stands for different things|in quotes"
)
# rows that are not exact, and the form of their use that is: a pass decides that the form is there
EXACT_FORMS = {
    "chainer.Link.copy_parameters_from": "of the parameters of another model, whatever their order is",
    "chainer.Link.parameters": "given to copy_parameters_from",
    "chainer.backend.ChainerxDevice": "in a test that is constant",
    "chainer.backend.GpuDevice": "in a test for the type of a device",
    "chainer.backends.cuda.Device": "in a test for the type of a device",
    "chainer.backends.cuda.cupy": "where it is the array module of a device, or compared with one",
    "chainer.config": "the default, written out in using_config",
    "chainerx.ndarray": "in a test that is constant",
}


@functools.cache
def sites():
    """Every site of the programs: one by one, as in a call of the tool on one file."""
    found = []
    for path in PROGRAMS:
        text = path.read_text(encoding="utf-8", errors="replace")
        if "chainer" in text:
            found += migrate_sources({path.name: text})[path.name].sites
    for entry in codes.table().values():
        if entry.run is not None:
            found += migrated(entry).sites
    return found


def migrated(entry):
    run = dict(entry.run)
    options = Options(only=frozenset(run["only"])) if "only" in run else Options()
    return migrate_sources({"program.py": entry.before.lstrip("\n")}, options=options)["program.py"]


@pytest.mark.parametrize("code", [code for code, entry in codes.table().items() if entry.run is not None])
def test_the_example_of_a_code_is_what_the_engine_makes(code):
    entry = codes.table()[code]
    result = migrated(entry)
    assert code in {site.code for site in result.sites}, [(site.symbol, site.code) for site in result.sites]
    assert result.code.strip() == entry.after.strip()


def test_every_code_has_a_cause_an_example_and_a_remedy():
    for code, entry in codes.table().items():
        text = reference.explained(code)
        assert text.startswith(f"{code}: {entry.title} (") and "Before:" in text and "After:" in text, code
        assert entry.cause and entry.before.strip() != entry.after.strip() or code in ("C2T009", "C2T012"), code
        assert len(entry.remedy) > 20 and "What to do: " in text, code
    assert {code for code, entry in codes.table().items() if entry.run is None} == TOLD


def test_every_code_that_can_be_emitted_is_explained():
    package = [path.read_text(encoding="utf-8") for path in (ROOT / "chainer2torch").rglob("*.py")]
    emitted = {code for text in package for code in re.findall(r"[\"'](C2T\d{3})[\"']", text)}
    emitted |= {row.code for row in [*RULES.every.values(), *RULES.old.values()]} | {site.code for site in sites()}
    assert len(emitted) > 35
    assert emitted <= set(codes.table()), sorted(emitted - set(codes.table()))


def test_every_exact_site_has_a_rule_that_says_so():
    exact = {(site.symbol, site.code) for site in sites() if site.state == "exact"}
    assert len(exact) > 200
    rows = {symbol: RULES.of_symbol(symbol, code) for symbol, code in exact}
    assert not sorted(symbol for symbol, row in rows.items() if row is None)
    assert {row.name for row in rows.values() if row.state not in ("exact", "close")} <= set(EXACT_FORMS)


def test_every_symbol_is_answered():
    silent = set()
    for site in sites():
        if RULES.of_symbol(site.symbol, site.code) is None and not UNHEARD.search(site.message):
            silent.add((site.symbol, site.state, site.code, site.message))
    assert not silent, sorted(silent)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("?.std", "?.std"),
        ("operator +=", "?.__iadd__"),
        ("*=", "?.__imul__"),
        ("numpy.copyto", "numpy.copyto"),
        ("numpy.linalg.norm", "numpy.*"),
        ("chainer.links.Linear.__init__", "chainer.links.Linear"),
        ("F.relu", "chainer.functions.relu"),
    ],
)
def test_rules_answers_for_what_begins_in_python(name, row):
    text = reference.rules_text(name, ())
    assert (
        text.startswith(row)
        and "  state: exact" in text
        and "  becomes: " in text
        and "(chainer2torch explain C2T" in text
    )


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("F.leaky_rel", "chainer.functions.leaky_relu"),
        ("chainer.link.Linear", "chainer.links.Linear"),
        ("relux", "chainer.functions.relu"),
        ("?.stdd", "?.std"),
    ],
)
def test_near_names_are_suggested(name, near):
    with pytest.raises(LookupError, match="no rule for .*; did you mean ") as raised:
        reference.rules_text(name, ())
    assert near in str(raised.value)


def test_a_name_that_is_near_to_nothing():
    with pytest.raises(LookupError, match=r"no rule for qqqqq; `chainer2torch rules` lists all names"):
        reference.rules_text("qqqqq", ())
