"""Names of Chainer's that stay in the native style: a module is imported without Chainer, every use of them raises."""

import importlib
import sys

import pytest

from chainer2torch.engine import migrate_sources
from chainer2torch.native.not_migrated import not_migrated
from chainer2torch.plan.options import Options
from chainer2torch.vendor import compat_file
from chainer2torch.vendor.said import words

IN_FUNCTIONS = """
import chainer
import chainer.functions as F
from chainer import missing


def called(x):
    return F.missing(F.relu(x))


def value():
    return [chainer.missing]


def compared(x):
    return x is missing


def inner():
    import chainer.missing as L
    return L.missing(1)
"""

AT_IMPORT = """
import chainer
import chainer.functions as F

TABLE = {'value': chainer.missing, 'function': F.missing}


@chainer.missing
def decorated(x):
    return x


class Derived(chainer.missing):
    pass


def default(x=chainer.missing):
    return x(1)


def tested():
    return isinstance(1, chainer.missing)


def entered():
    with chainer.missing():
        pass


def looked_up():
    return TABLE['function'](1)


def looked_up_value():
    return TABLE['value'][0]
"""


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """The migrated text of a module, imported where Chainer cannot be, and the names of its helpers."""

    def load(source):
        result = migrate_sources({"left.py": source}, options=Options(style="native"))["left.py"]
        (tmp_path / "left.py").write_text(result.code)
        helpers = compat_file.build(result.helpers, style="native", said=words(result.code))
        (tmp_path / "chainer_compat.py").write_text(helpers)
        monkeypatch.syspath_prepend(tmp_path)
        for name in ("left", "chainer_compat"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        for name in [name for name in sys.modules if name.partition(".")[0] == "chainer"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "chainer", None)  # an import of it raises
        return importlib.import_module("left"), result

    return load


def test_what_functions_use_is_imported_beside_its_marker(imported):
    module, result = imported(IN_FUNCTIONS)
    assert not result.helpers and "try:" not in result.code
    lines = result.code.splitlines()
    uses = {"functions.missing": lambda: module.called(1), "missing": module.value, "links": module.inner}
    uses["is missing"] = lambda: module.compared(1)  # a stand-in would answer
    for name, use in uses.items():
        with pytest.raises(ImportError, match="chainer") as raised:
            use()
        (number,) = [entry.lineno for entry in raised.traceback if entry.path.name == "left.py"]  # from 0
        assert lines[number].lstrip().startswith(("import chainer", "from chainer import")), name
        assert "TODO(chainer2torch" in lines[number + 1] or name == "is missing", name
    assert migrate_sources({"left.py": result.code}, options=Options(style="native"))["left.py"].code == result.code


PLACED = """
import chainer
import chainer.functions as F
from chainer import cuda


def branches(kind):
    if kind == 1:
        return chainer.missing(1)
    if kind == 2:
        return F.missing(2)
    return kind


class A:
    def twice(self, x):
        # of mine
        y = cuda.missing(x)
        if y:
            y = cuda.missing(y)
        return y

    def at_once(self):
        for i in cuda.missing():
            pass
"""


def test_an_import_stands_in_the_branch_that_needs_it(imported):
    module, result = imported(PLACED)
    assert not result.helpers
    assert module.branches(3) == 3
    for use in (
        lambda: module.branches(1),
        lambda: module.branches(2),
        module.A().at_once,
        lambda: module.A().twice(1),
    ):
        with pytest.raises(ImportError, match="chainer"):
            use()
    assert result.code.count("from chainer import cuda") == 2, "once a function, above the first use"
    why = "  # not migrated: the comment below says why\n"
    assert f"        from chainer import cuda{why}        # of mine\n        # TODO" in result.code
    assert migrate_sources({"left.py": result.code}, options=Options(style="native"))["left.py"].code == result.code


@pytest.mark.parametrize(
    "body",
    [
        "return F.missing(x) if x else 1",
        "return x and F.missing(x)",
        "return lambda: F.missing(x)",
        "return [F.missing(y) for y in x]",
        "assert x is not None, F.missing(x)",
        "if x: return F.missing(x)",
        "if x:\n        return 1\n    elif F.missing(x):\n        return 2",
        "try:\n        return F.missing(x)\n    except ImportError:\n        return 1",
        "try:\n        return 1 / x\n    except F.missing:\n        return 1",
    ],
)
def test_what_may_not_be_reached_has_a_stand_in(imported, body):
    """An import above the statement would stop what works, or be taken for something else."""
    source = f"import chainer.functions as F\n\n\ndef f(x):\n    {body}\n"
    assert set(imported(source)[1].helpers) == {"not_migrated"}


def test_what_an_import_needs_has_a_stand_in(imported):
    module, result = imported(AT_IMPORT)
    assert set(result.helpers) == {"not_migrated"}
    uses = "decorated Derived default tested entered looked_up looked_up_value".split()
    for use in uses:
        with pytest.raises(NotImplementedError, match=r"chainer\S* was not migrated: .*TODO"):
            getattr(module, use)(*[1] * (use == "decorated"))


@pytest.mark.parametrize(
    "source",
    [
        "from math import *\nimport chainer.functions as F\ndef f(x):\n    return F.missing(x) if x else x\n",
        "from math import pi as F\nimport chainer.functions as F\ndef f(x):\n    return F.missing(x)\n",
        "from chainer.functions import vars\ndef f(x):\n    return vars(x) if x else x\n",
    ],
)
def test_a_name_that_may_have_another_meaning_has_a_stand_in(imported, source):
    """Else it would be the other thing where Chainer cannot be imported."""
    module, result = imported(source)
    assert set(result.helpers) == {"not_migrated"}
    with pytest.raises(NotImplementedError):
        module.f(1)


@pytest.mark.parametrize(
    "use", ["return missing is x", "return [missing]", "try:\n        missing.a\n    except AttributeError: pass"]
)
def test_a_name_that_the_file_has_twice_has_a_stand_in(imported, use):
    source = f"from math import pi as missing\nfrom chainer.functions import missing\ndef f(x):\n    {use}\n"
    assert set(imported(source)[1].helpers) == {"not_migrated"}


def test_a_stand_in_has_no_special_names_and_nothing_is_set():
    missing = not_migrated("chainer.a")
    assert not hasattr(missing, "__wrapped__")
    for use in (lambda: setattr(missing, "use", 1), lambda: bool(missing), lambda: missing[0], lambda: missing.b):
        with pytest.raises(NotImplementedError):
            use()


def test_what_goes_with_its_statement_keeps_no_import():
    source = "import chainer\nchainer.cuda.set_max_workspace_size(chainer.cuda.get_max_workspace_size() * 2)\nx = 1\n"
    assert migrate_sources({"a.py": source}, options=Options(style="native"))["a.py"].code == "x = 1\n"


BOUND = """
try:
    from chainer.backends import cuda
except Exception:
    cuda = compat.not_migrated('chainer.backends.cuda')
"""


@pytest.mark.parametrize(
    ("texts", "whole"),
    [
        ((BOUND + "def f(x):\n    return cuda.elementwise(x)\n",), False),
        ((BOUND + "f = lambda x: cuda.elementwise(x)\n",), False),
        ((BOUND + "class A:\n    def f(self):\n        class B(cuda.C): pass\n",), False),
        ((BOUND + "class A(cuda.C): pass\n",), True),
        ((BOUND + "class A:\n    kernel = cuda.elementwise(1)\n",), True),
        ((BOUND + "@cuda.memoize()\ndef f(): pass\n",), True),
        ((BOUND + "def f(x=cuda.C): pass\n",), True),
        ((BOUND + "f = lambda x=cuda.C: x\n",), True),
        ((BOUND, "from a import cuda\ndef f(x):\n    return cuda.elementwise(x)\n"), False),
        ((BOUND, "from a import cuda as c\nkernel = c.elementwise(1)\n"), True),
        ((BOUND, "from a import *\nclass A(cuda.C): pass\n"), True),
        ((BOUND, "from a import *\nclass A(other.C): pass\n"), False),
        ((BOUND, "def f(:\n"), True),
    ],
)
def test_a_stand_in_knows_of_imports_where_something_is_used_at_one(texts, whole):
    helpers = compat_file.build(["not_migrated"], style="native", said=set().union(*map(words, texts)))
    assert ("_at_top" in helpers) is whole
