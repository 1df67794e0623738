"""Chainer's names in strings: annotations in quotes, and texts that run."""

import pytest

HEAD = "import chainer\nimport chainer.functions as F\nfrom chainer import Variable\n"


@pytest.mark.parametrize(
    "before, after",
    [
        ("def f(x: 'chainer.Variable'): pass", "def f(x: torch.Tensor): pass"),
        ('def f() -> "Variable": pass', "def f() -> torch.Tensor: pass"),
        ("x: 'Variable' = None", "x: torch.Tensor = None"),
        ("def f(x: Optional['Variable']): pass", "def f(x: Optional[torch.Tensor]): pass"),
    ],
)
def test_annotation_in_quotes(migrate, before, after):
    result = migrate(HEAD + before + "\n")
    assert after in result.code and "chainer" not in result.code and result.left == 0
    assert [site.state for site in result.sites] == ["exact"]


@pytest.mark.parametrize("text", ["def f(x: 'Optional[Variable]'): pass", "def f(x: 'chainer.nobody.Knows'): pass"])
def test_annotation_that_cannot_be_rewritten(migrate, text):
    result = migrate(HEAD + text + "\n")
    assert [site.state for site in result.sites] == ["manual"] and text in result.code and result.left == 1


@pytest.mark.parametrize(
    "text",
    [
        "def f(x: 'Variables', y: 'my.Variable', z: Literal['Variable']): pass",
        "def f(Variable: 'int'): pass",
        "eval('1 + 1')",
        "model.eval('F.relu')",
        "print('F.relu')",
    ],
)
def test_other_strings_are_not_touched(migrate, text):
    result = migrate(HEAD + text + "\n")
    assert not result.sites and text in result.code and result.left == 0


@pytest.mark.parametrize(
    "text",
    [
        "y = eval('F.relu(x)')",
        "y = eval('F.' + name)",
        "y = eval('F.{}'.format(name))",
        "y = eval(f'F.{name}')",
        "exec('import chainer\\nz = 1')",
        "code = 'F.relu(x)'\ny = eval(code)",
        "y = compile('F.relu(x)', 'a', 'eval')",
    ],
)
def test_texts_that_run_keep_their_imports(migrate, text):
    result = migrate(HEAD + text + "\n")
    assert [site.state for site in result.sites] == ["manual"]
    assert "chainer" in result.code and text.splitlines()[-1] in result.code and result.left >= 1


def test_only_the_import_that_a_text_needs_stays(migrate):
    result = migrate(HEAD + "y = eval('F.relu(x)')\nz = F.relu(y)\n")
    assert "import chainer.functions as F\n" in result.code and "Variable" not in result.code
    assert [site.state for site in result.sites] == ["manual", "exact"] and result.left == 1


def test_import_of_a_function(migrate):
    result = migrate("def f(x):\n    import chainer.functions as F\n    return eval('F.relu(x)')\n")
    assert "    import chainer.functions as F\n" in result.code and result.left == 1


def test_text_with_imports_of_its_own(migrate):
    result = migrate("exec('import chainer.links as L')\n")
    assert result.left == 1 and [site.symbol for site in result.sites] == ["chainer.links"]


def test_skipped_annotation(migrate):
    text = HEAD + "def f(x: 'Variable'): pass  # chainer2torch: skip\n"
    result = migrate(text)
    assert "x: 'Variable'" in result.code and "from chainer import Variable" in result.code


def named(result):
    return [(mention.line, mention.symbol, mention.where) for mention in result.mentions]


def test_mentions_are_listed_and_stay(migrate):
    text = (
        HEAD
        + '''
"""No docstring, but a text
with chainer.links.Linear."""
x = F.relu(x)  # F.relu, as chainer.functions.tanh; see chainer.py and docs.chainer.org
default = 'chainer.optimizers.Adam'  # a '#' before it: '# chainer.x'
names = ["chainer", "Chainer", "relu"]
z = f"{F.relu(x)} is F.relu"
'''
    )
    result = migrate(text)
    assert named(result) == [
        (6, "chainer.links.Linear", "docstring"),
        (7, "chainer.functions.relu", "comment"),
        (7, "chainer.functions.tanh", "comment"),
        (8, "chainer.optimizers.Adam", "string"),
        (8, "chainer.x", "comment"),
        (9, "chainer", "string"),
        (10, "chainer.functions.relu", "string"),
    ]
    assert "with chainer.links.Linear." in result.code and "# F.relu, as" in result.code
    assert [site.state for site in result.sites] == ["exact", "exact"] and result.left == 0


@pytest.mark.parametrize(
    "text",
    [
        "import importlib\nm = importlib.import_module('chainer.links')",
        "eval('F.relu(x)')",
        "def f(x: 'chainer.Variable'): pass",
        "x = chainer.functions.relu",
        "F.blocked(1)",
        "y = 'F.nothing, F.'",
        "# TODO(chainer2torch C2T100): chainer.functions.blocked: x",
        "# chainer, in prose",
    ],
)
def test_what_has_a_site_or_is_no_name_is_no_mention(migrate, text):
    assert not migrate(HEAD + text + "\n").mentions


def test_mention_without_any_import(migrate):
    result = migrate("# é chainer.links\nx = 1\n")
    assert named(result) == [(1, "chainer.links", "comment")] and result.mentions[0].column == 6
    assert not result.changed
