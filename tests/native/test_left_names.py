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


def test_what_functions_use_raises_and_names_the_marker(imported):
    module, result = imported(IN_FUNCTIONS)
    assert set(result.helpers) == {"not_migrated"}
    lines = result.code.splitlines()
    for use, name in ((lambda: module.called(1), "functions.missing"), (module.value, "missing")):
        number = next(i for i, line in enumerate(lines, 1) if f"): chainer.{name}: " in line)
        with pytest.raises(NotImplementedError, match=rf"chainer\.{name} was not migrated: .*TODO\(chainer") as raised:
            use()
        assert [entry.lineno for entry in raised.traceback if entry.path.name == "left.py"] == [number]  # from 0
    with pytest.raises(NotImplementedError, match=r"chainer\.missing\S* was not migrated: .*TODO\(chainer2torch"):
        module.inner()
    with pytest.raises(NameError):  # a stand-in would answer
        module.compared(1)


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
        "from math import *\nimport chainer.functions as F\ndef f(x):\n    return F.missing(x)\n",
        "from math import pi as F\nimport chainer.functions as F\ndef f(x):\n    return F.missing(x)\n",
        "from chainer.functions import vars\ndef f(x):\n    return vars(x)\n",
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
