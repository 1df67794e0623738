"""Statements without edits do not reach LibCST; the result is the same as if they did."""

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import libcst
import pytest

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, Ref, options
from chainer2torch.analysis.lattice import join_all
from chainer2torch.analysis.module_index import FuncInfo, Project
from chainer2torch.analysis.source import Source
from chainer2torch.engine import migrate_source, migrate_sources
from chainer2torch.plan.edits import Comment, Operand, RemoveImport, Replace
from chainer2torch.rewrite import apply as apply_module, in_text
from chainer2torch.rewrite.kept import Kept, shorten
from chainer2torch.rewrite.edit_places import Places

FIXTURES = Path(__file__).parents[2] / "fixtures"
# every kind of statement, some with an edit in them and some without, with comments where they are hard to place
PROGRAM = (
    '''\
# -*- coding: utf-8 -*-
"""What it is."""
try:
    import numpy
except ImportError:
    numpy = None
import chainer
import chainer.functions as F
import chainer.links as L

LABELS = ['a rather long list of labels', 'that nobody ever changes', 'although it is long enough']  # kept
# about helper


@staticmethod
# between decorator and function
def helper(a, b):
    """No Chainer."""
    if a:
        return '''
    + "'''a\n  text of its own\n'''"
    + '''
    # the last line of helper
        # further in


# about Net
class Net(chainer.Chain):
  """Indented by two."""
  names = ("one", "two", "three", "four", "five", "six", "seven"); more = 1

  def __init__(self):
    super(Net, self).__init__()
    with self.init_scope():
      self.l1 = L.Linear(3, 4)
      if numpy is None:
        self.unlikely = [name.replace("one", "two").replace("three", "four") for name in self.names]
    # behind the scope

  def untouched(self, x):
    for i in range(10):
      print("nothing here has anything to do with it", i)
    else:
      print("done")
    # about untouched

  @property
  def size(self): return len("a property that is written on one line only")

  def forward(self, x):
    names = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8}
    while names:
      names.popitem(), print("a statement that is long enough to be left out")
    if x is None:
      return "nothing to compute for what is not there at all"
    elif x.ndim == 2:
      return F.relu(self.l1(x))
    elif x.ndim == 3:
      raise ValueError("a statement in an elif which is long enough, too")
    else:
      # about else
      x = x + 1; y = F.tanh(x)
    try:
      z = F.sigmoid(y)
    except (KeyError, ValueError) as error:
      print("a statement in a handler which is long enough, too", error)
    finally:
      print("a statement in finally which is long enough, too")
    return z \\

def after(): pass
async def later(x):
    async with x as y: print("all of this on one line, and long enough")
    async for i in x:
        print("all of this on one line, and long enough", i)
        F.relu(i)
'''
)
MATCH = """\
import chainer.functions as F
def f(x):
    match x:
        case [1, 2]:
            print("long enough to be left out, as it has no edit")
        case {"a": y}:
            return F.relu(y)
        case _:
            return "long enough to be left out, as it has no edit"
"""


# functions and classes that can be rewritten by themselves, and some that look like it
PIECES = '''\
import os
if os.environ:
    pass
class Early:
    """Above the import of Chainer."""
    name = os.environ.get("a")
    def f(self):
        import chainer.functions as F
        return F.relu(name)
import chainer; import chainer.functions as F
from chainer import cuda, Variable  # the second
import numpy as np

# about Net

@F.decorated  # not of Chainer's
# between
class Net(chainer.Chain):  # Net
    def forward(self, x):
        """A text
    that is indented otherwise."""
        return F.relu(  # one
            F.tanh(x),  # two
        )  # the end
    # further in

def plain(x): return F.relu(x)  # on its line
def removed(x):
    y = F.tanh(x)
    import chainer.links  # goes
def marked(x, y):
    return chainer.functions.nothing_of_chainers(x)
def unwrapped(x, y=F.relu(np.zeros((3, 4), 'f'))):
    with chainer.using_config('train', False):
        x = F.dropout(x)
    # behind
    with cuda.get_device_from_id(0):
        return F.relu(x)
class Tail(chainer.Chain):
    def __init__(self):
        super(Tail, self).__init__(l1=chainer.links.Linear(3, 4))
        with self.init_scope():
            pass
class Model(Tail):
  def __call__(self, x):
    return F.relu(x)
  volatile = 'a name'
F.relu(plain(Variable(np.zeros((3, 4), 'f')))); x = 3
async def last(x):
    return F.relu(x)
    # at the end'''


def programs():
    yield "program", PROGRAM
    yield "pieces", PIECES
    yield "pieces, CRLF", PIECES.replace("\n", "\r\n")
    yield "match", MATCH
    yield "CRLF", PROGRAM.replace("\n", "\r\n")
    yield "tabs", PROGRAM.replace("  ", "\t")
    for path in sorted(FIXTURES.rglob("*.py")):
        if "chainer" in path.read_text():
            yield path.relative_to(FIXTURES).as_posix(), path.read_text()


def by_libcst(monkeypatch):
    """No edit is made in the text."""
    monkeypatch.setattr(in_text, "patches", lambda source, edits, names: in_text.Patches(source, edits))


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in programs()])
def test_same_bytes_as_with_everything_parsed(text, rules, monkeypatch):
    sources = {"module.py": text}
    short = migrate_sources(sources, rules=rules)["module.py"]
    with monkeypatch.context() as patch:
        by_libcst(patch)
        patch.setattr(apply_module, "shorten", lambda source, end, *_, **__: Kept(source.text[:end]))
        full = migrate_sources(sources, rules=rules)["module.py"]
    assert short.code == full.code
    assert short == full
    by_libcst(monkeypatch)
    parsed = migrate_sources(sources, rules=rules)["module.py"]
    assert parsed == full
    monkeypatch.setattr(apply_module, "LARGE", 0)
    apart = migrate_sources(sources, rules=rules)["module.py"]
    assert apart.code == full.code
    assert apart == full
    assert short.error is None


def test_what_has_no_edit_is_left_out(rules, monkeypatch):
    by_libcst(monkeypatch)
    seen = []
    parse = libcst.parse_module
    monkeypatch.setattr(libcst, "parse_module", lambda text: seen.append(text) or parse(text))
    code = migrate_sources({"module.py": PROGRAM}, rules=rules)["module.py"].code
    text = seen[0]
    for left_out in ("LABELS", "nothing here has", "popitem", "in a handler", "in finally", "in an elif"):
        assert left_out not in text
        assert left_out in code
    assert "F.relu(self.l1(x))" in text
    assert len(text) < 0.7 * len(PROGRAM)


def test_a_large_file_is_parsed_in_parts(monkeypatch):
    by_libcst(monkeypatch)
    sizes = []
    parse = libcst.parse_module
    monkeypatch.setattr(libcst, "parse_module", lambda text, *rest: sizes.append(len(text)) or parse(text, *rest))
    one = "def f(x):\n" + "    y = F.relu(x)\n" * 9 + "    return F.tanh(y)\nclass A:\n" + "    y = F.relu(x)\n" * 9
    text = "import chainer.functions as F\n" + one * 400
    assert len(text) > apply_module.LARGE
    code = migrate_source(text).code
    assert code.count("F.relu(x)") == 7200 and "import chainer" not in code
    assert len(sizes) == 800 and max(sizes) < len(text) / 5  # the first function shows the indentation


def test_what_has_to_do_with_other_statements_is_not_rewritten_by_itself():
    source = Source(PIECES, ast.parse(PIECES))
    nodes = {getattr(node, "name", None): node for node in source.tree.body}
    inside = [source.start(nodes[name].body[-1]) for name in ("Early", "Net", "plain", "Tail", "last")]
    edits = [Comment(start, "# a marker") for start in inside]
    imports = [
        RemoveImport(source.start(node), frozenset({0}))
        for node in source.tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ][1:]
    names = [node.name for node in Places.of(source, [*edits, *imports]).apart()]
    assert "Early" not in names and {"Net", "plain", "Tail", "last"} <= set(names)
    elsewhere = Operand(source.span(nodes["last"].args.args[0]))
    tied = Replace(source.span(nodes["plain"].body[0].value), "x", {"x": elsewhere})
    above = Comment(source.start(nodes["Net"]), "# a marker")
    names = [node.name for node in Places.of(source, [*edits, *imports, tied, above]).apart()]
    assert "Tail" in names and not {"Net", "plain", "last"}.intersection(names)


@pytest.mark.parametrize("text", [PROGRAM, MATCH])
def test_without_edits_the_text_comes_back(text):
    source = Source(text, ast.parse(text))
    kept = shorten(source, len(text), [], [])
    assert len(kept.statements) > (0 if text is MATCH else 3)
    ast.parse(kept.text)
    assert kept.restore(kept.text) == text


def test_one_name_stands_for_statements_that_follow_each_other(rules):
    text = textwrap.dedent("""\
        import chainer.functions as F
        def f(x):
            a = 1  # one
            b = 2
            # two
            c = 3; d = 4

            if a:
                e = 5
            y = F.relu(x)
            g = 6
            y = F.relu(y)
            h = 7
            return y
        i = 8
        j = 9
        """)
    tree = ast.parse(text)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    source = Source(text, tree)
    kept = shorten(source, len(text), [source.start(call) for call in calls], [])
    assert kept.statements == ("a = 1  # one\n    b = 2", "if a:\n        e = 5", "h = 7\n    return y", "i = 8\nj = 9")
    assert list(kept.counts.values()) == [2, 1, 2, 2]
    assert kept.restore(kept.text) == text
    code = migrate_sources({"module.py": text}, rules=rules)["module.py"].code
    assert code == text.replace("chainer.functions", "torch.nn.functional")


def test_names_of_the_file_are_not_taken_for_places():
    text = "c2t_kept_0_ = 1\n" + PROGRAM
    kept = shorten(Source(text, ast.parse(text)), len(text), [], [])
    assert kept.name not in text
    assert kept.restore(kept.text) == text


def test_indentation_is_taken_from_the_first_block():
    text = "def first():\n  return 'a function without any edit in it'\n\nclass A:\n    def f(self):\n        pass\n"
    kept = shorten(Source(text, ast.parse(text)), len(text), [], [])
    assert libcst.parse_module(kept.text).default_indent == "  "


@pytest.mark.parametrize("large", [10**6, 0])
def test_what_the_parser_does_not_take_is_reported_at_its_line(rules, monkeypatch, large):
    by_libcst(monkeypatch)
    monkeypatch.setattr(apply_module, "LARGE", large)
    bad = textwrap.dedent("""\
        import chainer.functions as F
        def kept():
            return 'a function without any edit in it, long enough to be left out'
        def f(x): y = F.relu(x)
        """)

    def parse(text, *rest, parse=libcst.parse_module):
        if "F.relu" in text:  # as if LibCST did not know the syntax of line 4
            return parse(text.replace("y = F.relu(x)", "y = = F.relu(x)"), *rest)
        return parse(text, *rest)

    monkeypatch.setattr(libcst, "parse_module", parse)
    result = migrate_sources({"module.py": bad}, rules=rules)["module.py"]
    assert result.code == bad
    assert result.error.startswith("line 4:")


# -- the same in every run -----------------------------------------------------------------------------------------


def test_the_parts_of_a_union_have_an_order():
    """Sets of strings have another order in every process, and what is looked at first decides now and then."""
    program = (
        "from chainer2torch.analysis.kinds import Ref, options\n"
        "from chainer2torch.analysis.lattice import join_all\n"
        "parts = [Ref(name) for name in 'abcdef']\n"
        "print([k.name for k in options(join_all(parts))])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": str(seed), "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(4)
    }
    assert outputs == {"['a', 'b', 'c', 'd', 'e', 'f']\n"}
    first, second = Inst("chainer.links.Linear"), Ref("a")
    assert options(join_all([first, second])) == (first, second)
    assert options(join_all([second, first])) == (second, first)
    assert join_all([first, second]) == join_all([second, first])


def test_who_reads_a_summary_is_visited_in_the_order_of_reading(rules):
    analysis = Analysis(Project({}), rules)
    units = [FuncInfo(f"f{i}", ast.parse("lambda: 0", mode="eval").body, None, None, ()) for i in range(100)]
    for unit in units:
        analysis.unit = unit
        analysis.reads("owner", "name")
    analysis.changed("owner", "name")
    assert list(analysis._queue) == units
