"""Which dotted name a reference is: aliases, from-imports, star imports, re-exports, folders, conditions."""

import ast

import pytest

from chainer2torch.analysis.kinds import Inst, UNKNOWN
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.analysis.source import Source
from chainer2torch.engine import migrate_source

SPELLINGS = [
    "import chainer\n{}chainer.functions.tanh(x)",
    "import chainer as ch\n{}ch.functions.tanh(x)",
    "import chainer.functions\n{}chainer.functions.tanh(x)",
    "import chainer.functions as F\n{}F.tanh(x)",
    "from chainer import functions\n{}functions.tanh(x)",
    "from chainer import functions as F\n{}F.tanh(x)",
    "from chainer.functions import tanh\n{}tanh(x)",
    "from chainer.functions import tanh as t\n{}t(x)",
    "from chainer.functions.activation.tanh import tanh\n{}tanh(x)",
    "from chainer.functions.activation import tanh\n{}tanh.tanh(x)",
    "import chainer.functions.activation.tanh as m\n{}m.tanh(x)",
    "from chainer import *\n{}functions.tanh(x)",
    "from chainer.functions import *\n{}tanh(x)",
    "import chainer, chainer.links\n{}chainer.functions.tanh(x)",
    "try:\n    import chainer.functions as F\nexcept ImportError:\n    F = None\n{}F.tanh(x)",
    "if x:\n    import chainer.functions as F\nelse:\n    from chainer import functions as F\n{}F.tanh(x)",
]


@pytest.mark.parametrize("text", SPELLINGS)
def test_spelling(migrate, text):
    result = migrate(text.format("y = ") + "\n")
    assert [(s.symbol, s.state) for s in result.sites] == [("chainer.functions.tanh", "exact")]
    assert "y = torch.tanh(x)" in result.code and result.left == 0


@pytest.mark.parametrize("text", SPELLINGS[:11])
def test_spelling_inside_a_function(migrate, text):
    lines = ["    " + line for line in text.format("return ").splitlines()]
    result = migrate("def f(x):\n" + "\n".join(lines) + "\n")
    assert [(s.symbol, s.state) for s in result.sites] == [("chainer.functions.tanh", "exact")]
    assert "return torch.tanh(x)" in result.code and result.left == 0


@pytest.mark.parametrize(
    "text",
    [
        "F = object()\ny = F.tanh(x)  # chainer\n",
        "import chainer_like.functions as F\ny = F.tanh(x)\n",
        "import chainer\ndef f(chainer):\n    return chainer.functions.tanh(x)\n",
        "import chainer.functions as F\ny = [F.tanh(x) for F in z]\n",
        "import chainer.functions as F\ny = lambda F: F.tanh(x)\n",
        "import chainer.functions as F\ndef f():\n    F = g()\n    return F.tanh(x)\n",
        "import chainer.functions as F\ndef f(*F):\n    return F.tanh(x)\n",
        "from .chainer import functions as F\ny = F.tanh(x)\n",
        "class A:\n    def chainer(self):\n        return self.chainer.functions.tanh(x)\n",
    ],
)
def test_names_that_only_look_like_chainer(migrate, text):
    result = migrate(text)
    assert result.sites == [] and "F.tanh(x)" in result.code.replace("functions", "F")


@pytest.mark.parametrize(
    "text",
    [
        "import chainer.functions as F\ndef f(x):\n    return F.tanh(x)\nF = g()\n",
        "if a:\n    import chainer.functions as F\nelse:\n    import numpy as F\ny = F.tanh(x)\n",
    ],
)
def test_a_name_with_several_meanings_is_never_guessed(migrate, text):
    result = migrate(text)
    assert [s.state for s in result.sites] == ["manual"]
    assert "F.tanh(x)" in result.code and "different things" in result.code


def tanh_in(results, path):
    result = results[path]
    assert "torch.tanh(x)" in result.code, result.code
    assert result.left == 0
    return result


def test_reexports(project):
    results = project(
        {
            "pkg/__init__.py": "from chainer import functions as F\nfrom .deep import *\nfrom . import deep\n",
            "pkg/deep/__init__.py": "from chainer.functions import tanh as hyper\nfrom .deeper import relu_ as rectify\n",  # noqa: E501
            "pkg/deep/deeper.py": "import chainer.functions\nrelu_ = chainer.functions.relu\n",
            "pkg/user.py": "from . import F\nfrom .deep import hyper\nfrom pkg.deep import deeper\ny = hyper(x)\n",
            "main.py": "import pkg\nimport pkg.deep as d\nfrom pkg import *\n"
            "y = pkg.deep.hyper(x)\nz = d.hyper(x)\nw = hyper(x)\n",
        }
    )
    assert results["pkg/deep/__init__.py"].left == 0 or "import tanh as hyper" in results["pkg/deep/__init__.py"].code
    for path in ("pkg/user.py", "main.py"):
        # whatever the spelling becomes, no use of a name may outlive the import that binds it
        code = results[path].code
        if "hyper(" in code:
            assert "hyper" in results["pkg/deep/__init__.py"].code


def test_a_name_that_other_files_import_is_not_removed(project):
    results = project(
        {
            "common.py": "import chainer.functions as F\nfrom chainer.functions import tanh\n",
            "user.py": "# chainer\nfrom common import F, tanh\ny = tanh(x)\nz = F.relu(x)\n",
            "module_user.py": "# chainer\nimport common\ny = common.tanh(x)\nz = common.F.relu(x)\n",
        }
    )
    for path in ("user.py", "module_user.py"):
        code, common = results[path].code, results["common.py"].code
        for name in ("F", "tanh"):
            if f"from common import F, {name}" in code or f"common.{name}" in code:
                assert name in common, f"{path} uses {name}, which common.py does not bind any more:\n{common}"


def test_namespace_folders_and_scripts(project):
    results = project(
        {
            "tools/train.py": "from nets.mlp import MLP\nimport chainer\nm = MLP()\ny = m(chainer.Variable(x))\n",
            "tools/nets/mlp.py": "import chainer\nclass MLP(chainer.Chain):\n    def forward(self, x):\n"
            "        return chainer.functions.tanh(x)\n",
        }
    )
    tanh_in(results, "tools/nets/mlp.py")
    assert results["tools/nets/mlp.py"].root == "tools" and results["tools/train.py"].root == "tools"
    assert "from nets.mlp import MLP" in results["tools/train.py"].code


def test_the_helpers_of_all_files_lie_above_them(project):
    results = project(
        {
            "src/pkg/__init__.py": "",
            "src/pkg/sub/__init__.py": "",
            "src/pkg/sub/a.py": "import chainer.functions as F\ny = F.tanh(x)\n",
            "src/run.py": "import chainer.functions as F\nfrom pkg.sub import a\ny = F.tanh(x)\n",
            "top.py": "import chainer.functions as F\ny = F.tanh(x)\n",
        }
    )
    assert {p: r.root for p, r in results.items() if "tanh" in r.source} == {
        "src/pkg/sub/a.py": "",  # one module of helpers, above all files that may need it
        "src/run.py": "",
        "top.py": "",
    }


def test_relative_imports(project):
    results = project(
        {
            "pkg/__init__.py": "",
            "pkg/base.py": "import chainer\nclass Base(chainer.Chain):\n    pass\n",
            "pkg/sub/__init__.py": "from ..base import Base\n",
            "pkg/sub/net.py": "import chainer.functions as F\nfrom . import Base\nfrom .. import base as b\n"
            "class A(Base):\n    def __call__(self, x):\n        return F.tanh(x)\n"
            "class B(b.Base):\n    def __call__(self, x):\n        return F.tanh(x)\n",
        }
    )
    code = tanh_in(results, "pkg/sub/net.py").code
    assert code.count("def forward(self, x)") == 2


def test_a_folder_called_chainer_does_not_hide_the_library(project):
    results = project({"chainer/notes.py": "x = 1\n", "main.py": "import chainer.functions as F\ny = F.tanh(x)\n"})
    tanh_in(results, "main.py")


def test_nor_do_packages_in_such_a_folder(project):
    """`chainer/functions/__init__.py` is no `chainer.functions` where `chainer/` itself is no package."""
    results = project(
        {
            "chainer/functions/__init__.py": "",
            "chainer/functions/own.py": "def tanh(x):\n    return x\n",
            "chainer/main.py": "import chainer.functions as F\nfrom functions.own import tanh\ny = tanh(F.tanh(x))\n",
        }
    )
    tanh_in(results, "chainer/main.py")


def test_mutual_imports_end(project):
    results = project(
        {
            "a.py": "import chainer.functions as F\nfrom b import g\ndef f(x):\n    return g(F.tanh(x))\n",
            "b.py": "import chainer.functions as F\nfrom a import f\ndef g(x):\n    return f(F.tanh(x))\n",
            "c.py": "from c import *\nimport chainer.functions as F\ny = F.tanh(x)\n",
        }
    )
    for path in ("a.py", "b.py", "c.py"):
        assert "torch.tanh(x)" in results[path].code


def test_what_is_known_of_a_class_has_a_short_text(project) -> None:
    """Classes hang together through their attributes: a text with all of them would take all the memory there is."""
    names = [f"C{i}" for i in range(60)]
    made = "class {0}(object):\n    def __init__(self):\n        self.a = {1}()\n        self.b = {1}()\n"
    text = "import chainer\n" + "".join(made.format(*pair) for pair in zip(names, [*names[1:], "dict"]))
    result = project({"m.py": text + "def f():\n    c = C0()\n    return c['l1']\n"})["m.py"]
    assert result.error is None and "return c['l1']" in result.code
    source = Source(text, ast.parse(text))
    cls = ClassInfo("C", source.tree.body[1], ModuleInfo("m.py", source), attrs={"a": UNKNOWN})
    assert repr(cls) == "ClassInfo('C', ModuleInfo('m.py'))"
    assert repr(Inst(cls)) == f"Inst(cls={cls!r}, site=0)"


@pytest.mark.parametrize(
    "other",
    ["import torch.nn as F\nimport chainer.functions as F\n", "import torch.nn as F\nif __debug__:\n    F = None\n"],
)
def test_an_alias_that_stands_for_several_things_is_used_for_none(other):
    """``F.Conv2d`` would be looked for in Chainer's functions."""
    body = "class A(chainer.Chain):\n    def __init__(self):\n        super().__init__()\n        with self.init_scope():\n"  # noqa: E501
    text = (
        f"{other}import chainer\nimport chainer.links as L\n\n\n{body}            self.l = L.Convolution2D(3, 4, 3)\n"
    )
    code = migrate_source(text).code
    assert "nn.Conv2d" in code and "F.Conv2d" not in code and "F.Module" not in code


@pytest.mark.parametrize("statement", ["from net import MLP", "from net import *", "import net\nMLP = net.MLP"])
def test_a_script_in_a_package_finds_what_lies_beside_it(project, statement):
    """``python models/train.py`` with an ``__init__.py`` beside it, which old projects have for no reason."""
    results = project(
        {
            "models/__init__.py": "",
            "models/net.py": "import chainer\nclass MLP(chainer.Chain):\n    def forward(self, x):\n"
            "        return chainer.functions.tanh(x)\n",
            "models/train.py": f"import chainer\n{statement}\nm = MLP()\nm.cleargrads()\n",
        }
    )
    tanh_in(results, "models/net.py")
    assert "m.zero_grad()" in results["models/train.py"].code and not results["models/train.py"].left


def test_a_module_of_a_package_that_has_the_name_of_a_library_does_not_hide_it(project):
    results = project(
        {
            "pkg/__init__.py": "",
            "pkg/random.py": "import chainer\ndef sample(a, b):\n    return chainer.Variable(a)\n",
            "pkg/gym.py": "import chainer\nimport gym\nenv = gym.make(1)\n\n\ndef make(x):\n    return x\n",
            "pkg/user.py": "import random\nimport chainer\n\n\ndef f(xs):\n    return random.sample(xs, 2).data\n",
        }
    )
    assert "random.sample(xs, 2).data" in results["pkg/user.py"].code
    assert "env = gym.make(1)" in results["pkg/gym.py"].code
