"""Imports across files: what others still take stays, and a second run finds nothing more to do."""

from chainer2torch.engine import migrate_source, migrate_sources
from chainer2torch.vendor.compat_file import build

_KERNEL = 'k = cuda.elementwise("T x", "T y", "while (y < x) y += 1", "up")\n'  # no formula: it stays


def test_a_name_that_a_user_keeps_is_passed_on_all_the_way():
    results = migrate_sources(
        {
            "pkg/__init__.py": "from .base import F, cuda, links\n",
            "pkg/base.py": "from chainer import functions as F, links\nfrom chainer import cuda\n",
            "main.py": "from pkg import F, cuda\ny = F.relu(x)\n" + _KERNEL,
        }
    )
    assert "from chainer import cuda" in results["pkg/base.py"].code
    assert "cuda" in results["pkg/__init__.py"].code and "from pkg import cuda" in results["main.py"].code
    for path in results:
        assert "links" not in results[path].code and "functions as" not in results[path].code


def test_a_name_that_a_user_takes_through_a_module_or_a_star_stays():
    results = migrate_sources(
        {
            "base.py": "from chainer import cuda\nimport chainer.functions as F\n",
            "one.py": "import base  # chainer\n" + _KERNEL.replace("cuda", "base.cuda"),
            "two.py": "from base import *  # chainer\n" + _KERNEL,
        }
    )
    assert "    from chainer import cuda\n" in results["base.py"].code and "F" not in results["base.py"].code
    assert "    cuda = compat.not_migrated('chainer.backends.cuda')\n" in results["base.py"].code
    assert results["one.py"].code.endswith(_KERNEL.replace("cuda", "base.cuda"))
    assert results["two.py"].code.startswith("from base import *")


def test_an_array_library_goes_with_its_last_use():
    code = migrate_source(
        "import cupy, os, chainer\nimport numpy as np\nfrom scipy import misc\n"
        "def make(gpu):\n    xp = np\n    if gpu:\n        xp = cupy\n    return chainer.Variable(xp.zeros(3))\n"
    ).code
    assert "numpy" not in code and "cupy" not in code
    assert "import os\n" in code and "from scipy import misc\n" in code


def test_an_array_library_that_is_used_or_taken_or_was_idle_before_stays():
    results = migrate_sources(
        {
            "a.py": "import chainer\nimport numpy as np\nxp = np\nx = chainer.Variable(xp.zeros(3))\n",
            "b.py": "from a import *  # chainer\ny = np.zeros(2)\n",
            "c.py": "import chainer\nimport numpy\nx = chainer.Variable(y)\n",
            "d.py": "import chainer\nimport numpy as np\nxp = np\nx = chainer.Variable(xp.zeros(np.random.randint(3)))\n",  # noqa: E501
        }
    )
    assert "import numpy as np" in results["a.py"].code and "import numpy as np" in results["d.py"].code
    assert "import numpy\n" in results["c.py"].code


def test_the_helper_module_is_never_rewritten():
    text = build(["variable", "array_of", "Linear", "set_array"])
    assert "chainer" in text
    result = migrate_sources({"chainer_compat.py": text, "main.py": "import chainer_compat as compat\n"})
    assert result["chainer_compat.py"].code == text and not result["chainer_compat.py"].sites


def test_markers_of_a_constructor_stand_above_their_own_lines():
    source = (
        "import chainer\nimport chainer.links as L\nclass Net(chainer.Chain):\n    def __init__(self):\n"
        "        super(Net, self).__init__(\n            a=L.NoSuch(1),\n            b=L.Linear(3, 4),\n"
        "            c=L.NoneEither(2),\n        )\n"
    )
    first = migrate_source(source).code
    lines = [line.strip() for line in first.splitlines()]
    for name, layer in ("a", "NoSuch"), ("c", "NoneEither"):
        at = next(i for i, line in enumerate(lines) if line.startswith(f"self.{name} ="))
        assert lines[at - 1].startswith(f"# TODO(chainer2torch C2T090): chainer.links.{layer}")
    assert sum("TODO" in line for line in lines) == 2
    assert migrate_source(first).code == first


def test_an_import_goes_with_the_uses_in_its_own_scope():
    code = migrate_source(
        "import chainer.computational_graph as c\nimport chainer.functions as F\n"
        "def f(c, x):\n    return c + F.relu(x)\n"
        "def g(x):\n    import chainer\n    return chainer.functions.tanh(x)\n"
        "def h(kernel):\n    import chainer\n    return chainer.backends.cuda.elementwise(*kernel)\n"
    ).code
    assert "computational_graph" not in code
    assert code.count("import chainer\n") == 1 and "def h(kernel):\n    try:\n        import chainer\n" in code


def test_what_is_left_counts_no_variable_of_the_same_name():
    result = migrate_source(
        "from chainer import cuda\ndef f(cuda):\n    return cuda.name\n"
        "def g():\n    return [cuda for cuda in range(3)]\nk = cuda.elementwise('T x', 'T y', 'while (x) y++', 'k')\n"
    )
    assert result.left == 1
