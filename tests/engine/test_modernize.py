"""Names that today's Python, NumPy, SciPy and Pillow have dropped: the output runs on today's, or says why not."""

import importlib
import sys
import types

import numpy as np
import pytest

from chainer2torch.compat.utils.not_migrated import not_migrated
from chainer2torch.engine import Options, migrate_source, migrate_sources
from chainer2torch.rules.table import load_rules

HEAD = "import chainer\nimport chainer.functions as F\n"
ROWS = {name: row for name, row in load_rules().python.items() if row.kind == "dropped"}


def migrated(text: str, **options: object) -> str:
    """What a program becomes, without the import of Chainer that nobody uses."""
    return migrate_source(HEAD + text, options=Options(**options)).code  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "before, after",
    [
        ("import numpy as np\ndef f(x, t=np.float):\n    return np.product(x)\n", "np.prod(x)"),
        ("from collections import Callable\nprint(Callable)\n", "from collections.abc import Callable"),
        ("from collections import OrderedDict, Iterable as It\n", "from collections.abc import Iterable as It"),
        ("from numpy import product\nprint(product([2]))\n", "from numpy import prod as product"),
        ("import xml.etree.cElementTree as ET\n", "import xml.etree.ElementTree as ET"),
        ("import numpy as np\nprint(np.in1d([1], [2]))\n", "np.isin(np.ravel([1]), [2])"),
        ("import numpy as np\nprint(2 ** np.NINF)\n", "2 ** (-np.inf)"),
        ("import numpy\nnumpy.warnings.simplefilter('ignore')\n", "import warnings\n"),
    ],
)
def test_a_name_with_an_equal_becomes_it(before: str, after: str) -> None:
    code = migrated(before)
    assert after in code
    assert "TODO" not in code
    assert migrated(before, modernize=False) != code


def test_a_type_of_pythons_own_takes_tensors_and_gets_todays_name() -> None:
    """The call was taken for one of NumPy's: its argument became a host array, and the dropped name stayed."""
    text = HEAD + "import numpy as np\ndef f(x, y):\n    return np.{}((F.argmax(x).data == y.data).sum())\n"
    for name in ("float", "int", "bool"):
        code = migrate_source(text.format(name), options=Options(style="native")).code
        assert f"return {name}((torch.argmax(" in code
        assert "np." not in code and "numpy()" not in code


@pytest.mark.parametrize("known", [True, False], ids=["a tensor", "perhaps a tensor"])
def test_a_function_that_is_handed_a_tensor_gets_todays_name_too(known: bool) -> None:
    """What became of the argument had settled the call: the dropped name stayed, exact, and raised."""
    names = sorted(
        name
        for name, row in ROWS.items()
        if name.count(".") == 1
        and name.startswith("numpy.")
        and row.state != "manual"
        and (row.signature is not None or callable(getattr(np, (row.value or "").rpartition(".")[2], None)))
        and not isinstance(getattr(np, (row.value or "").rpartition(".")[2], None), type)
    )
    assert len(names) > 8
    head = "    a = F.relu(x).array\n" if known else "    a = x.array if isinstance(x, chainer.Variable) else x\n"
    more = {"numpy.in1d": ", [1.0]", "numpy.round_": ", 2"}
    calls = [f"    yield {name.replace('numpy', 'np')}(a{more.get(name, '')})\n" for name in names]
    text = HEAD + "import numpy as np\ndef f(x):\n" + head + "".join(calls)
    text += "for value in f(chainer.Variable(np.array([[3, 1, 2], [2, 7, 1]], 'f'))[:1]):\n    pass\n"
    code = migrate_source(text, options=Options(style="native")).code
    assert "TODO" not in code
    for name in names:
        assert f"{name.replace('numpy', 'np')}(" not in code, name


def test_a_function_without_equal_that_is_handed_a_tensor_is_marked() -> None:
    text = HEAD + "import numpy as np\ndef f(x):\n    return np.rank(F.relu(x).array)\n"
    result = migrate_source(text + "f(chainer.Variable(np.ones(3, 'f')))\n", options=Options(style="native"))
    assert "TODO(chainer2torch C2T092)" in result.code
    assert [site.state for site in result.sites if site.symbol == "numpy.rank"] == ["manual"]


def test_every_new_name_is_there() -> None:
    """What the rows name exists in the installed libraries: none of them is a name of the future or of the past."""
    for row in ROWS.values():
        value = (row.value or "").lstrip("-")
        if not value or value.replace(".", "").isdigit() or value.startswith("compat."):
            continue
        parts = value.split(".")
        if len(parts) == 1 and parts[0] in dir(__builtins__) or value in dir(importlib.import_module("builtins")):
            continue
        found = importlib.import_module(parts[0])
        for i, part in enumerate(parts[1:], 2):
            if not hasattr(found, part):
                importlib.import_module(".".join(parts[:i]))
            found = getattr(found, part)


def test_a_name_without_equal_is_marked_where_it_is_used_and_does_not_stop_the_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = migrated("from scipy.misc import imresize, imread\n\ndef small(x):\n    return imresize(x, 2)\n")
    assert code.count("TODO(chainer2torch C2T092)") == 1
    monkeypatch.setitem(sys.modules, "chainer_compat", types.SimpleNamespace(not_migrated=not_migrated))  # type: ignore[arg-type]
    space: dict[str, object] = {}
    exec(compile(code, "module", "exec"), space)
    with pytest.raises(NotImplementedError, match="scipy.misc.imresize was not migrated"):
        space["small"](1)  # type: ignore[operator]


def test_a_module_that_is_gone_does_not_stop_the_import() -> None:
    code = migrated("import imp\nimport scipy.io\nimport scipy.misc\nprint(scipy.misc.imread, imp.find_module)\n")
    assert "    import imp\nexcept Exception:" in code and "    imp = compat.not_migrated('imp')\n" in code
    assert "    import scipy.misc\nexcept Exception:" in code and "not_migrated('scipy" not in code, "scipy.io stays"


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    from collections import Mapping\nexcept ImportError:\n    from collections.abc import Mapping\n",
        "import numpy as np\ntry:\n    whole = np.int\nexcept AttributeError:\n    whole = int\n",
        "class np:\n    float = 1\nprint(np.float)\n",
        "def f(np):\n    return np.product(2)\n",
        "import collections\ncollections.Mapping = 3\n",
    ],
)
def test_what_a_program_deals_with_itself_stays(text: str) -> None:
    assert migrated(text).endswith(text)


def test_the_option_leaves_all_of_them() -> None:
    text = "import numpy as np\nx = np.float(2)\nnp.cast['f'](x)\n"
    assert migrated(text, modernize=False).endswith(text)


def test_distutils_stays_as_setuptools_brings_it_which_pytorch_needs() -> None:
    text = "import distutils.spawn\nprint(distutils.spawn.find_executable('git'))\n"
    text = "import chainer\n" + text
    results = migrate_sources({"setup.py": text, "lib/setup.py": text, "run.py": text})
    assert not any("TODO" in result.code for result in results.values())
    assert "import distutils.spawn" in results["run.py"].code
