"""The strict loader: what is wrong with a table is said with the file, the row and the remedy."""

import pytest

from chainer2torch.engine import migrate_source, migrate_sources
from chainer2torch.rules import table
from chainer2torch.rules.table import Rules, RulesError, load_rules
from chainer2torch.rules.lazy_tables import cut
from chainer2torch.rules.resources import rules_dir

GOOD = """
module = "chainer.functions"
[good]
signature = "(x, slope=0.2)"
torch = "compat.good(x, slope)"
state = "exact"
[[good.example]]
before = "F.good(x)"
"""


def load(tmp_path, *tables: str) -> Rules:
    for i, text in enumerate(tables):
        (tmp_path / f"table{i}.toml").write_text(text)
    return load_rules([tmp_path], lazy=True)  # our own tables are read and checked whole elsewhere


PROBLEMS = {
    "unknown key": (
        '[row]\nsignature = "(x)"\ntorhc = "compat.f(x)"\nstate = "manual"\nnote = "n"\n',
        "unknown key `torhc`; did you mean `torch`?",
    ),
    "unknown key without a near one": (
        '[row]\nsignature = "(x)"\nzzzzzz = 1\nstate = "manual"\nnote = "n"\n',
        "unknown key `zzzzzz`",
    ),
    "unknown key of an example": (
        '[row]\nsignature = "(x)"\ntorch = "compat.f(x)"\nstate = "exact"\n'
        '[[row.example]]\nbefore = "f"\nbefor = "f"\n',
        "unknown key `befor`; did you mean `before`?",
    ),
    "unknown key of a case": (
        '[row]\nsignature = "(x)"\ncases = [{ whn = "x", torch = "compat.f(x)" }]\nstate = "manual"\nnote = "n"\n',
        "unknown key `whn`; did you mean `when`?",
    ),
    "half a case": (
        '[row]\nsignature = "(x)"\ncases = [{ torch = "compat.f(x)" }]\nstate = "manual"\nnote = "n"\n',
        "a case needs `when` and `torch`",
    ),
    "example without code": (
        '[row]\nsignature = "(x)"\ntorch = "compat.f(x)"\nstate = "exact"\n[[row.example]]\ngiven = {}\n',
        "an example needs `before`",
    ),
    "bad template": (
        '[row]\nsignature = "(x)"\ntorch = "compat.f(x"\nstate = "manual"\nnote = "n"\n',
        "template `compat.f(x` is not an expression: ",
    ),
    "bad guard": (
        '[row]\nsignature = "(x)"\ncases = [{ when = "x ==", torch = "compat.f(x)" }]\nstate = "manual"\nnote = "n"\n',
        "guard `x ==` is not an expression: ",
    ),
    "bad fallback": (
        '[row]\nsignature = "(x)"\ntorch = "compat.f(x)"\nfallback = "= x"\nstate = "manual"\nnote = "n"\n',
        "template `= x` is not an expression: ",
    ),
    "unbound name": (
        '[row]\nsignature = "(x)"\ntorch = "compat.f(y)"\nstate = "manual"\nnote = "n"\n',
        "template `compat.f(y)` uses `y`, which is not a parameter, a macro, or one of PIL, collections, compat, ",
    ),
    "no example": (
        '[row]\nsignature = "(x)"\ntorch = "compat.f(x)"\nstate = "exact"\n',
        "state `exact` needs at least one [[row.example]]: it is the proof",
    ),
    "bad signature": (
        '[row]\nsignature = "(x, y=1, z)"\nstate = "manual"\nnote = "n"\n',
        "signature `(x, y=1, z)` is not a parameter list: ",
    ),
    "close without bound": (
        '[row]\nsignature = "(x)"\ntorch = "compat.f(x)"\nstate = "close"\n[[row.example]]\nbefore = "f"\n',
        "state `close` needs `bound`, the measured largest relative difference",
    ),
    "manual without note": (
        '[row]\nsignature = "(x)"\nstate = "manual"\n',
        "state `manual` needs a `note` that says why",
    ),
    "no such state": (
        '[row]\nsignature = "(x)"\nstate = "proved"\n',
        "state `proved` is not one of exact, close, review, manual",
    ),
    "not a table": ("row = 3\n", "a row is a table, not 3"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_problem(tmp_path, name):
    table, message = PROBLEMS[name]
    with pytest.raises(RulesError) as raised:
        load(tmp_path, 'module = "chainer.functions"\n' + table)
    assert any(line.startswith("table0.toml [row]: ") and message in line for line in str(raised.value).splitlines())


def test_all_problems_are_named_at_once(tmp_path):
    tables = ['module = "chainer.functions"\n' + PROBLEMS[n][0] for n in ("no example", "bad signature")]
    with pytest.raises(RulesError) as raised:
        load(tmp_path, tables[0], tables[1].replace("[row]", "[other]"))
    assert "table0.toml [row]: " in str(raised.value) and "table1.toml [other]: " in str(raised.value)


def test_duplicate_row(tmp_path):
    with pytest.raises(RulesError, match=r"table1\.toml \[chainer\.functions\.good\]: the row stands in table0\.toml"):
        load(tmp_path, GOOD, GOOD)


def test_not_toml(tmp_path):
    with pytest.raises(RulesError, match=r"table0\.toml: not valid TOML: "):
        load(tmp_path, "module = \n")


def test_no_module(tmp_path):
    with pytest.raises(RulesError, match=r"table0\.toml: the line `module = "):
        load(tmp_path, GOOD.replace('module = "chainer.functions"', ""))


def test_no_directory(tmp_path):
    with pytest.raises(RulesError, match="nowhere: no such directory of rule tables"):
        load_rules([tmp_path / "nowhere"])


def test_a_users_row_replaces_ours(tmp_path):
    shipped = load_rules(strict=False).rows["chainer.functions.relu"]
    rules = load(tmp_path, GOOD.replace("good", "relu"))
    assert rules.rows["chainer.functions.relu"].cases != shipped.cases
    assert rules.rows["chainer.functions.relu"].table == "table0.toml"
    assert len(rules.rows) == len(load_rules().rows)


def test_not_strict_leaves_bad_rows_out(tmp_path):
    (tmp_path / "bad.toml").write_text(GOOD + '[bad]\nstate = "proved"\n')
    rules = load_rules([tmp_path], strict=False)
    assert "chainer.functions.good" in rules.rows and "chainer.functions.bad" not in rules.rows


def test_user_tables_of_other_modules(tmp_path):
    rules = load(tmp_path, GOOD.replace('"chainer.functions"', '"our_library.ops"'))
    assert rules.find("our_library.ops.good") is not None


def test_aliases_and_bases(tmp_path):
    rules = load(
        tmp_path,
        GOOD,
        """
module = "chainer.links"
[Base]
state = "manual"
note = "n"
["Base.read"]
signature = "(self)"
torch = "self.read()"
state = "manual"
note = "n"
[Derived]
base = "chainer.links.Base"
state = "manual"
note = "n"
[Old]
alias = "chainer.links.Derived"
""",
    )
    assert rules.canonical("chainer.links.Old") == "chainer.links.Derived"
    assert rules.find("chainer.links.Old").name == "chainer.links.Derived"
    assert rules.member("chainer.links.Derived", "read").name == "chainer.links.Base.read"
    assert rules.member("chainer.links.Derived", "write") is None
    assert rules.is_subclass("chainer.links.Derived", "chainer.links.Base")
    assert not rules.is_subclass("chainer.links.Base", "chainer.links.Derived")
    assert rules.is_namespace("chainer.links") and not rules.is_namespace("chainer.nowhere")


def test_the_shipped_tables_are_well_formed():
    assert len(load_rules().rows) > 400


PACK = """
module = "chainerrl.links"

[MLP]
signature = "(in_size, out_size)"
torch = "pfrl.nn.MLP(in_size, out_size, (16,))"
state = "review"
note = "A test."
"""


def _pack(folder, text=PACK, library="chainerrl"):
    (folder / "packs" / library).mkdir(parents=True)
    (folder / "packs" / library / "links.toml").write_text(text)
    return load_rules([folder], lazy=True)


def test_a_pack_loads_only_when_its_library_is_imported(tmp_path):
    rules = _pack(tmp_path)
    name = "chainerrl.links.MLP"
    assert name not in rules.rows and rules.with_packs(frozenset({"chainercv", "nothing"})).find(name) is None
    assert rules.with_packs(frozenset({"chainerrl"})).find(name).table == "packs/chainerrl/links.toml"
    with_it = "import chainer\nfrom chainerrl.links import MLP\nMLP(1, 2)\n"
    assert migrate_source(with_it, rules=rules).code == (
        "import pfrl\n# TODO(chainer2torch C2T091): chainerrl.links.MLP: A test.\npfrl.nn.MLP(1, 2, (16,))\n"
    )
    without = migrate_source("import chainer\nfrom mine import MLP\nMLP(1, 2)\n", rules=rules)
    assert without.code == "from mine import MLP\nMLP(1, 2)\n"


def test_a_pack_is_as_strict_as_any_table(tmp_path):
    with pytest.raises(RulesError, match=r"packs/chainerrl/links.toml \[MLP\]: unknown key `stat`"):
        _pack(tmp_path / "a", PACK.replace("state", "stat"))
    with pytest.raises(RulesError, match=r"packs/chainercv/ is for names of chainercv"):
        _pack(tmp_path / "b", library="chainercv")


def test_a_table_of_libraries_is_strict(tmp_path):
    (tmp_path / "mine.toml").write_text('[libraries.chainerlab]\nname = "Lab"\npackage = "lab"\nhome = "x"\n')
    with pytest.raises(RulesError) as error:
        load_rules([tmp_path])
    assert "unknown key `home`" in str(error.value) and "the key `counterpart` is missing" in str(error.value)


def test_libraries_on_chainer_are_named_with_their_counterpart():
    result = migrate_source(
        "import chainercv\nfrom espnet.nets.chainer_backend import rnn\nimport espnet.utils\n\n"
        "chainercv.links.Unheard()\nrnn.A()\nespnet.utils.f()\n"
    )
    said = {site.symbol: (site.state, site.code, site.message) for site in result.sites}
    assert said["chainercv.links.Unheard"][:2] == ("manual", "C2T091")
    assert "torchvision" in said["chainercv.links.Unheard"][2]
    assert "pytorch_backend" in said["espnet.nets.chainer_backend.rnn.A"][2]
    assert len(said) == 2 and result.left == 2


def test_a_library_is_not_foreign_to_itself():
    sources = {
        "chainercv/__init__.py": "",
        "chainercv/links.py": "import chainer.functions as F\nF.relu\n",
        "main.py": "import chainer\nfrom chainercv.links import F\n\nF.tanh\n",
    }
    results = migrate_sources(sources)
    assert [site.symbol for site in results["main.py"].sites] == ["chainer.functions.tanh"]
    assert results["main.py"].left == 0


@pytest.mark.parametrize("style", ["faithful", "native"])
def test_rows_that_are_read_when_asked_for_are_those_of_the_whole_tables(style):
    lazy, whole = load_rules(lazy=True, style=style), load_rules(style=style)
    assert {question: dict(rows) for question, rows in lazy.under.items()} == {
        question: dict(rows) for question, rows in whole.under.items()
    }
    assert list(lazy.rows) == list(whole.rows)
    assert dict(lazy.rows) == dict(whole.rows)
    assert dict(lazy.old) == dict(whole.old)
    assert {name: dict(pack) for name, pack in lazy.packs.items()} == {
        name: dict(pack) for name, pack in whole.packs.items()
    }
    assert lazy.libraries == whole.libraries
    packs = frozenset(whole.packs)
    assert dict(lazy.with_packs(packs).rows) == dict(whole.with_packs(packs).rows)


def test_only_the_rows_that_are_asked_for_are_read(monkeypatch):
    import chainer2torch.rules.table_files as loader

    table._shipped.cache_clear()  # no other test has asked these tables for a row
    rules = load_rules(lazy=True)
    read = []
    made = loader.row_of
    monkeypatch.setattr(loader, "row_of", lambda name, *rest: read.append(name) or made(name, *rest))
    assert rules.find("chainer.functions.relu").value == "torch.nn.functional.relu"
    assert rules.rows.get("chainer.functions.nothing") is None and "chainer.links.Linear" in rules.rows
    assert (
        rules.rows["chainer.functions.relu"]
        is rules.with_packs(frozenset({"chainerrl"})).rows["chainer.functions.relu"]
    )
    assert read == ["chainer.functions.relu"]


def test_no_table_of_the_native_style_is_read_whole(monkeypatch):
    import chainer2torch.rules.table_files as loader

    table._shipped.cache_clear()
    read = []
    made = loader.parsed
    monkeypatch.setattr(loader, "parsed", lambda text, *rest: read.append(text) or made(text, *rest))
    rules = load_rules(lazy=True, style="native")
    texts = {path.read_text(encoding="utf-8") for path in (rules_dir() / "native").rglob("*.toml")}
    texts = {text for text in texts if cut(text) is not None}  # one holds lines that look like headings
    assert len(texts) > 20 and texts.isdisjoint(read)
    read.clear()
    assert rules.rows["chainer.functions.dropout"].value
    assert read and all("dropout" in text for text in read)


def test_a_users_tables_are_read_and_checked_whole(tmp_path):
    (tmp_path / "bad.toml").write_text(GOOD + '[bad]\nstate = "proved"\n')
    with pytest.raises(RulesError, match="bad.toml .bad.: state `proved`"):
        load_rules([tmp_path], lazy=True)


@pytest.mark.parametrize(
    "text",
    [
        'module = "m"\n[a]\nnote = """\n[b]]\n"""\n',
        "module = 'm'\n[a.b]\nnote = 'n'\n",
        "[module_aliases]\n",
    ],
)
def test_tables_that_cannot_be_cut_at_their_headings_are_read_whole(text):
    found = cut(text)
    assert found is None or "module" not in found[0]


def test_a_table_is_cut_at_its_headings():
    text = '# c\nmodule = "m"\n[a]\nx = 1\n[[a.example]]\nbefore = """\n[1, 2][\n[3]"""\n\n["B.c"]\ny = 2\n'
    head, rows = cut(text)
    assert head == '# c\nmodule = "m"\n' and [part.names for part in rows] == [("a",), ("B.c",)]
    assert head + "".join(part.text for part in rows) == text


def test_groups_are_cut_off_with_their_names():
    group = '[[same]]\nnames = [\n    "b", "C.d",\n    "e",\n]\nx = 1\n[[same.example]]\nbefore = "[1]"\n'
    _, rows = cut('module = "m"\n' + group + "[a]\ny = 2\n")
    assert [(part.names, part.group) for part in rows] == [(("a",), False), (("b", "C.d", "e"), True)]
    assert rows[1].text == group
    assert cut('module = "m"\n[[same]]\nx = 1\nnames = ["a", "b"]\n[c]\n') is None, "read whole: names stand first"


GROUP = """
module = "chainer.functions"
[[same]]
names = ["activation.leaky.Leaky", "activation.steep.Steep"]
signature = "(x, slope=0.2)"
torch = "compat.{owner}(x, slope)"
note = "{name} is in {path}; {x} is no word."
state = "exact"
[[same.example]]
before = "F.{owner}(x)"
"""


def test_a_group_gives_a_row_for_each_of_its_names(tmp_path):
    rules = load(tmp_path, GROUP)
    row = rules.rows["chainer.functions.activation.steep.Steep"]
    assert row.cases[0].torch == "compat.steep(x, slope)" and row.examples[0].before == "F.steep(x)"
    assert row.note == "Steep is in activation.steep; {x} is no word."
    assert "chainer.functions.activation.leaky.Leaky" in rules.rows


GROUP_PROBLEMS = {
    "no names": ('[[same]]\nstate = "manual"\n', "group 1 of [[same]]: `names` is the list of the rows' names"),
    "names are no list": ('[[same]]\nnames = "a"\n', "group 1 of [[same]]: `names` is the list of the rows' names"),
    "one name": ('[[same]]\nnames = ["a"]\n', "group 1 of [[same]]: a group has two names at least"),
    "a name twice": ('[[same]]\nnames = ["a", "b", "a"]\n', "group 1 of [[same]]: `names` has a twice"),
    "no list of groups": ("[same]\nnames = []\n", "`same` is the heading of a group of rows; write [[same]]"),
    "word without meaning": (
        '[[same]]\nnames = ["a.b", "c"]\nnote = "{owner}"\n',
        "group 1 of [[same]]: `{owner}` stands for nothing in the name c",
    ),
    "row and group": (
        '[a]\nstate = "manual"\nnote = "n"\n[[same]]\nnames = ["a", "b"]\nstate = "manual"\nnote = "n"\n',
        "[chainer.functions.a]: the row stands in table0.toml already",
    ),
    "bad key": ('[[same]]\nnames = ["a", "b"]\nnoet = "n"\n', "[a]: unknown key `noet`; did you mean `note`?"),
}


@pytest.mark.parametrize("name", GROUP_PROBLEMS)
def test_problem_of_a_group(tmp_path, name):
    text, message = GROUP_PROBLEMS[name]
    with pytest.raises(RulesError) as raised:
        load(tmp_path, 'module = "chainer.functions"\n' + text)
    assert any(line.startswith("table0.toml") and message in line for line in str(raised.value).splitlines())


def test_a_group_is_read_once_and_when_a_row_of_it_is_asked_for(monkeypatch):
    import chainer2torch.rules.table_files as loader

    table._shipped.cache_clear()  # no other test has asked these tables for a row
    rules = load_rules(lazy=True)
    read = []
    reads = loader.parsed
    monkeypatch.setattr(loader, "parsed", lambda text, *rest: read.append(text) or reads(text, *rest))
    assert rules.rows["chainer.functions.cos"].value == "torch.cos" and len(read) == 1
    assert rules.rows["chainer.functions.cosh"].value == "torch.cosh" and len(read) == 1


KIND = 'module = "?"\nkind = "member"\n[spread]\n'
EXAMPLE = '[[spread.example]]\nbefore = "x.spread()"\nunknown = true\n'
KIND_PROBLEMS = {
    "no such kind": (KIND.replace("member", "method"), "kind `method` is not one of member, operator, class, function"),
    "no such state": (KIND + 'state = "close"\nnote = "n"\n' + EXAMPLE, "state `close` is not one of exact, review"),
    "nothing to do": (KIND + 'state = "review"\nnote = "n"\n', "a row of kind member that is not exact needs `next`"),
    "template": (
        KIND + 'state = "exact"\nnote = "n"\ntorch = "compat.f(self)"\n' + EXAMPLE,
        "a row of kind member has no template",
    ),
    "no example": (
        KIND + 'state = "exact"\nnote = "n"\nproof = "tests/engine/test_arrays.py"\n',
        "a row of kind member that is exact needs an executed example; `proof` is not enough",
    ),
    "no note": (KIND + 'state = "exact"\n' + EXAMPLE, "a row of kind member needs a `note`"),
}


@pytest.mark.parametrize("name", KIND_PROBLEMS)
def test_problem_of_a_row_that_begins_in_python(tmp_path, name):
    text, message = KIND_PROBLEMS[name]
    with pytest.raises(RulesError) as raised:
        load(tmp_path, text)
    assert f"table0.toml [spread]: {message}" in str(raised.value)


def test_rows_that_begin_in_python_are_no_names_of_the_source(tmp_path):
    rules = load(tmp_path, KIND + 'state = "exact"\nnote = "n"\n' + EXAMPLE)
    row = rules.python["?.spread"]
    assert (row.kind, row.code, row.state) == ("member", "C2T390", "exact") and "?.spread" not in rules.rows
    assert rules.of_symbol("?.spread") is row and rules.every["?.spread"] is row
    assert dict(load_rules().python) == dict(load_rules(lazy=True).python)


def test_the_row_of_a_symbol():
    rules = load_rules()
    names = {
        "numpy.linalg.norm": "numpy.*",
        "numpy.copyto": "numpy.copyto",
        "chainer.links.Linear.__init__": "chainer.links.Linear",
        "chainer.functions.relu": "chainer.functions.relu",
    }
    assert {symbol: rules.of_symbol(symbol).name for symbol in names} == names
    assert rules.of_symbol("self.alias", "C2T203").name == "chainer.Link.__setattr__"
    assert rules.of_symbol("self.alias") is None and rules.of_symbol("?.nothing", "C2T390") is None


def test_nothing_is_exact_without_a_rule(monkeypatch):
    from chainer2torch.plan.collector import Decisions

    mark = Decisions.mark
    unheard = ("?.unheard", "exact", "", "C2T390")
    monkeypatch.setattr(Decisions, "mark", lambda self, node, *_, **__: mark(self, node, None, *unheard))
    result = migrate_source("import chainer\nchainer.functions.relu(1)\n")
    assert result.defect and "?.unheard is exact, and no rule says so" in (result.error or "")
    assert not result.changed
