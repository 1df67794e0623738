"""Imports of Chainer that stay: the module is imported without Chainer all the same, no name changes its meaning."""

import re
import subprocess
import sys
import textwrap
from types import SimpleNamespace
from unittest import mock

import pytest
import torch

from chainer2torch.compat.utils.not_migrated import not_migrated
from chainer2torch.engine import Options, migrate_source
from chainer2torch.vendor import compat_file

LEFT = """
import chainer
import chainer.functions as F


def relu(x):
    return F.relu(x)


def blocked(x):
    return chainer.functions.blocked(x)
"""

STAYS = {
    "a star binds names that nobody knows": "from chainer.functions import *\ny = sum(blocked(x))\n",
    "in a branch": "if x:\n    import chainer.functions as F\n    y = F.blocked(x)\n",
    "a line of several": "import chainer.functions as F; y = F.blocked(x)\n",
    "kept by the user": "import chainer.functions as F  # chainer2torch: skip\ny = F.blocked(x)\n",
    "guarded already": "try:\n    import chainer.functions as F\nexcept ImportError:\n    F = None\nf = lambda x: F.blocked(x)\n",  # noqa: E501
}


OTHER_MEANINGS = {
    "a builtin of the same name": "from chainer.functions import vars\ny = vars(x)\n",
    "bound elsewhere": "if x:\n    F = None\nimport chainer.functions as F\ny = F.blocked(x)\n",
    "imported from elsewhere": "from mine import F\nimport chainer.functions as F\ny = F.blocked(x)\n",
}


@pytest.mark.parametrize("name", OTHER_MEANINGS)
def test_a_name_with_another_meaning_is_bound_to_a_stand_in(migrate, name):
    """Else it would be the other thing where Chainer cannot be imported."""
    code = migrate(OTHER_MEANINGS[name]).code
    assert " = compat.not_migrated('chainer.functions" in code


def test_a_module_with_left_overs_is_imported_without_chainer(migrate, tmp_path):
    result = migrate(LEFT)
    code = result.code
    assert "import chainer\n" in code and "import chainer.functions" not in code
    (tmp_path / "chainer.py").write_text("raise ImportError('not here')\n")
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").touch()
    (tmp_path / "torch" / "nn").mkdir()
    (tmp_path / "torch" / "nn" / "__init__.py").touch()
    (tmp_path / "torch" / "nn" / "functional.py").write_text("def relu(x):\n    return max(x, 0)\n")
    (tmp_path / "chainer_compat.py").write_text(compat_file.build(result.helpers, style="faithful"))
    (tmp_path / "net.py").write_text(code)
    (tmp_path / "use.py").write_text(
        textwrap.dedent("""
        import net
        print(net.relu(-2))
        net.blocked(1)
    """)
    )
    done = subprocess.run([sys.executable, "use.py"], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.stdout == "0\n" and done.returncode == 1
    said = done.stderr.rstrip().splitlines()[-1]
    form = r"\w+: chainer\.functions was not migrated\. .*net\.py:(\d+): (.*) \(chainer2torch explain \w+\)"
    found = re.fullmatch(form, said)
    assert found is not None and code.splitlines()[int(found[1]) - 1].strip() == found[2], said
    assert found[2].startswith("# TODO(chainer2torch C2T100): chainer.functions.blocked: ")


FORMS = """
import chainer
import chainer.functions as F
from chainer import thing

TABLE = {'value': chainer.missing, 'function': F.missing}


@chainer.missing
def decorated(x):
    return x


class Derived(chainer.missing):
    pass


def default(x=chainer.missing):
    return x(1)


def called():
    return chainer.functions.missing(1)


def bare():
    return thing(1)


def value():
    return [chainer.missing]


def tested():
    return isinstance(1, chainer.missing)


def entered():
    with chainer.missing():
        pass


def raised():
    raise chainer.missing('x')


def caught():
    try:
        raise ValueError
    except chainer.missing:
        pass


def assigned():
    chainer.missing = 1


def inner():
    import chainer.links as L
    return L.missing(1)


def looked_up():
    return TABLE['function'](1)


def looked_up_value():
    return TABLE['value'][0]


async def later():
    return F.missing(1)
"""
USES = ("decorated(1)", "Derived()", "default()", "asyncio.run(net.later())") + tuple(
    f"{name}()"
    for name in "called bare value tested entered raised caught assigned inner looked_up looked_up_value".split()
)


def test_every_form_in_which_a_name_stays_raises_an_error_that_names_its_marker(migrate, tmp_path):
    result = migrate(FORMS)
    (tmp_path / "chainer.py").write_text("raise ImportError('not here')\n")
    (tmp_path / "chainer_compat.py").write_text(compat_file.build(result.helpers, style="faithful"))
    (tmp_path / "net.py").write_text(result.code)
    uses = [use if "." in use else f"net.{use}" for use in USES]
    (tmp_path / "use.py").write_text(
        f"import asyncio\nimport net\nfor use in {uses}:\n    try:\n        eval(use)\n        print('quiet', use)\n"
        "    except Exception as error:\n        print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "use.py"], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    said = done.stdout.splitlines()
    assert len(said) == len(USES), done.stdout + done.stderr
    lines = result.code.splitlines()
    for use, line in zip(USES, said):
        found = re.fullmatch(
            r"NotImplementedError .* was not migrated\. .*net\.py:(\d+): (.*) \(chainer2torch .*\)", line
        )
        assert found is not None, (use, line)
        assert lines[int(found[1]) - 1].strip() == found[2] and "# TODO(chainer2torch C2T" in found[2], (use, line)


@pytest.mark.parametrize("name", STAYS)
def test_where_a_guard_could_change_a_meaning_there_is_none(migrate, name):
    code = migrate(STAYS[name]).code
    assert "only what is marked" not in code
    assert "chainer" in code


def test_a_guard_goes_with_its_last_import(migrate):
    guarded = (
        "import sys\n\ntry:\n    import chainer.functions as F\nexcept ImportError:{}\n    pass\n\ny = F.relu(x)\n"
    )
    expected = "import sys\n\nimport torch.nn.functional as F\n\ny = F.relu(x)\n"
    assert migrate(guarded.format("  # only what is marked below needs it")).code == expected
    other = guarded.format("").replace("    pass", "    sys.exit('no Chainer')")
    assert "sys.exit" in migrate(other).code, "a handler that does something is the user's"


def test_a_comment_whose_statement_has_gone(migrate):
    code = migrate(
        "import chainer\nimport chainer.functions as F\nimport chainerx\n"
        "xp = chainer.backend.get_array_module(x)\n"
        "y = F.blocked(x)\nif xp is chainerx:\n    y = 1\nelse:\n    # a comment\n    pass\n"
    ).code
    assert "# a comment" in code and "only what is marked" in code


@pytest.mark.parametrize(
    "line",
    [
        "import chainer;from chainer import functions",
        "from chainer import functions; import chainer",
        "import chainer, chainer.links as L; from chainer import functions; import chainer",
    ],
)
def test_what_is_left_of_a_line_of_imports(migrate, line):
    code = migrate(f"{line}\nx = chainer.Variable(y)\nz = functions.blocked(x)\n").code
    assert "try:\n    from chainer import functions\nexcept Exception:  # only what is marked" in code
    assert migrate(code).code == code


SECOND = """
import chainer.functions as F
try:
    from chainer.functions.connection.n_step_lstm import _lstm
except {error}:
    from chainer.functions.rnn.n_step_lstm import _lstm


def step(x):
    return _lstm(x)


def relu(x):
    return F.relu(x)
"""


@pytest.mark.parametrize("error", ["ImportError", "Exception"])
def test_what_is_imported_where_an_import_failed_is_guarded_as_well(error):
    result = migrate_source(SECOND.replace("{error}", error), options=Options(style="native"))
    space: dict = {}
    gone = {name: None for name in [*sys.modules, "chainer"] if name.partition(".")[0] == "chainer"}
    with mock.patch.dict(sys.modules, {**gone, "chainer_compat": SimpleNamespace(not_migrated=not_migrated)}):
        exec(compile(result.code, "<migrated>", "exec"), space)
    assert space["relu"](torch.tensor(-1.0)) == 0
    with pytest.raises(NotImplementedError, match="n_step_lstm._lstm was not migrated"):
        space["step"](1)
    assert [site.state for site in result.sites if site.symbol.endswith("_lstm")] == ["manual"]
    assert migrate_source(result.code, options=Options(style="native")).code == result.code


def test_array_libraries_that_a_text_names_stay():
    """``eval('np.arange(3)')`` raised a NameError where every other use of NumPy had become one of torch's."""
    head = "import numpy as np\nimport chainer\nimport chainer.functions as F\n\n\n"
    text = "def run(t):\n    w = chainer.Variable(np.ones(3, dtype='f'))\n    return F.relu(w), {}\n"
    for ran, stays in (
        ("eval('np.arange(3)')", True),
        ("eval(t, {'np': 1})", True),
        ("eval('t')", False),
        ("eval('t.np')", False),
        ("eval(t)", False),
    ):
        code = migrate_source(head + text.format(ran), options=Options(style="native")).code
        assert ("import numpy as np" in code) is stays, ran
