"""What conditions and uses tell of a value; and where they tell nothing."""

import ast
import textwrap

import pytest
import torch

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kind_specs import describe
from chainer2torch.analysis.module_index import Project
from chainer2torch.analysis.source import Source
from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules

_HEAD = """import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import Variable
from somewhere import c, unknown
"""


@pytest.fixture(scope="module")
def shown():
    """The kinds of what is passed to calls of ``show`` in the body of a function with the parameters x and y."""
    rules = load_rules()

    def run(body, call="f(unknown(), unknown())"):
        text = f"{_HEAD}def f(x, y=None):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n{call}\n"
        source = Source(text, ast.parse(text))
        analysis = Analysis(Project({"main.py": source}), rules).run()
        calls = [n for n in source.nodes if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "show"]
        return [describe(analysis.kind(a)) for n in sorted(calls, key=lambda n: n.lineno) for a in n.args]

    return run


LEFT_LOOPS = {
    "break": ("z = None\nfor i in unknown:\n    z = F.relu(x)\n    if c:\n        break\n    z = None\nshow(z)", True),
    "continue": (
        "z = None\nfor i in unknown:\n    z = F.relu(x)\n    if c:\n        continue\n    z = None\nshow(z)",
        True,
    ),
    "while": ("z = 0\nwhile z is not None:\n    z = F.relu(x)\n    if c:\n        break\n    z = None\nshow(z)", True),
    "inner loop": (
        "z = None\nfor i in unknown:\n    for j in unknown:\n        z = F.relu(x)\n        if c:\n            break\n"
        "        z = None\n    show(z)\n    z = None\n",
        True,
    ),
    "past else": (
        "z = None\nfor i in unknown:\n    z = F.relu(x)\n    if c:\n        break\nelse:\n    z = None\nshow(z)",
        True,
    ),
    "in a try": (
        "z = None\nwhile True:\n    try:\n        z = F.relu(x)\n        if c:\n            break\n        z = None\n"
        "    except ValueError:\n        continue\nshow(z)",
        True,
    ),
    "never": ("z = None\nfor i in unknown:\n    continue\n    z = F.relu(x)\n    break\nshow(z)", False),
    "another function's": (
        "z = None\nfor i in unknown:\n    def inner():\n        for z in [F.relu(x)]:\n            break\n    inner()\n"
        "show(z)",
        False,
    ),
}


@pytest.mark.parametrize("body, tensor", LEFT_LOOPS.values(), ids=LEFT_LOOPS)
def test_what_a_name_is_where_a_loop_is_left_it_may_be_behind_it(shown, body, tensor):
    assert ("tensor" in shown(body)[0]) == tensor


KNOWN = {
    "isinstance": (
        "if isinstance(x, Variable):\n    show(x)\nelse:\n    show(x)",
        ["tensor", "unknown"],
    ),
    "early return": (
        "x = np.zeros((2, 3)) if c else F.relu(x)\nif isinstance(x, np.ndarray):\n    return show(x)\nshow(x)",
        ["host array rank 2 dtype float64", "tensor"],
    ),
    "not, and, or": (
        "if not (isinstance(x, int) and isinstance(y, float)):\n    show(x, y)\nelse:\n    show(x, y)\n"
        "if not isinstance(x, int) or c:\n    show(x)\nelse:\n    show(x)",
        ["unknown", "unknown", "int", "float", "unknown", "int"],
    ),
    "assert": ("assert isinstance(x, (int, float)) and isinstance(y, str)\nshow(x, y)", ["float", "str"]),
    "conditional expressions": (
        "show(x.data if isinstance(x, Variable) else x)\nshow(isinstance(x, Variable) and x)\nshow(x)",
        ["perhaps array", "bool | tensor", "unknown"],
    ),
    "within an expression": (
        "z = show(x) if isinstance(x, Variable) else 0\nisinstance(x, int) and show(x)\nisinstance(x, str) or show(x)",
        ["tensor", "int", "unknown"],
    ),
    "comprehensions": ("[show(v) for v in x if isinstance(v, Variable)]", ["tensor"]),
    "containers": (
        "if isinstance(x, (list, tuple)):\n    show(x)\nelif isinstance(x, dict):\n    show(x)\nelse:\n    show(x)",
        ["list of unknown", "dict of unknown", "unknown"],
    ),
    "classes of the project and links": (
        "class A(object):\n    pass\nif isinstance(x, A):\n    show(x)\nelif isinstance(x, L.Linear):\n    show(x)",
        ["instance A", "instance chainer.links.Linear"],
    ),
    "a layer or a function": (
        "for part in [L.Linear(3, 3), F.relu, lambda h: h]:\n    if isinstance(part, chainer.Link):\n"
        "        show(part)\n"
        "    elif not isinstance(part, L.Linear):\n        show(part)",
        ["instance chainer.links.Linear", "chainer.functions.relu | func <lambda>"],
    ),
    "one of some links": (
        "class A(chainer.Chain):\n    pass\nclass B(object):\n    pass\nfor name, link in x.namedlinks():\n"
        "    if isinstance(link, A):\n        show(link)\n    elif isinstance(link, B):\n        show(link)",
        ["instance A", "instance chainer.Link"],
    ),
    "None is filled": (
        "h = None\nfor v in x:\n    if h is None:\n        h = F.sum(v, axis=0) * 0 + np.zeros(3, 'f')\n    else:\n"
        "        h = F.tanh(h)\n    show(h)",
        ["tensor"],
    ),
    "None while looping": (
        "h = None\nfor i in range(3):\n    z = L.Linear(3, 4)(x)\n    if h is not None:\n        z = z + h\n"
        "    h = F.tanh(z)\nshow(h)",
        ["tensor rank 2"],
    ),
    "a parameter that is None or more": (
        "if y is None:\n    show(y)\n    y = np.zeros((2, 3), 'f')\nshow(y)",
        ["None", "perhaps host array rank 2 dtype float32"],
    ),
    "ranks": (
        "x = F.relu(x)\nif x.ndim == 4:\n    show(x)\nelif len(x.shape) != 2:\n    show(x)\nelse:\n    show(x)",
        ["tensor rank 4", "tensor", "tensor rank 2"],
    ),
    "an unpacked shape": (
        "x = F.relu(x)\nshow(x)\nn, c, h, w = x.data.shape\nshow(x)",
        ["tensor", "tensor rank 4"],
    ),
    "a convolution": (
        "x = F.relu(x)\nL.Convolution2D(3, 4, 3)(x)\nshow(x, F.max_pooling_2d(y, 2))\n"
        "y = F.relu(y)\nF.average_pooling_3d(y, 2)\nshow(y)",
        ["tensor rank 4", "tensor rank 4", "tensor rank 5"],
    ),
    "an array of a Variable": ("show(x)\nshow(x.array)\nshow(x)", ["unknown", "array", "tensor"]),
}
OPEN = {
    "a value that changes in between": (
        "if isinstance(x, Variable):\n    x = unknown(x)\n    show(x)\nshow(x)",
        ["unknown", "unknown"],
    ),
    "behind the condition": ("if isinstance(x, Variable):\n    pass\nshow(x)", ["perhaps tensor"]),
    "one of two reasons": ("if isinstance(x, Variable) or c:\n    show(x)", ["unknown"]),
    "an array may be on the host or on the device": ("if isinstance(x, np.ndarray):\n    show(x)", ["unknown"]),
    "another of the classes is not known": ("if isinstance(x, (Variable, c)):\n    show(x)", ["unknown"]),
    "a loop that was left": ("while isinstance(x, Variable):\n    x = unknown(x)\nshow(x)", ["unknown"]),
    "in another branch": ("if c:\n    x.array\nshow(x)", ["perhaps tensor"]),
    "an array that is asked for None": ("show(x.array is None)\nshow(x)", ["bool", "unknown"]),
    "other ranks": ("x = F.relu(x)\nif x.ndim in (2, 4) or x.ndim > 2:\n    show(x)", ["tensor"]),
    "a shape of which a part is unpacked": ("x = F.relu(x)\nn, *rest = x.shape\nshow(x)", ["tensor"]),
    "None or zero": ("x = None if c else 0\nif not x:\n    show(x)", ["0"]),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known(shown, name):
    body, expected = KNOWN[name]
    assert shown(body) == expected


@pytest.mark.parametrize("name", OPEN)
def test_open(shown, name):
    body, expected = OPEN[name]
    assert shown(body) == expected


def test_a_parameter_that_no_visible_caller_passes(shown):
    assert shown("if y is not None:\n    show(y)\nelse:\n    show(y)", "f(unknown())") == ["unknown", "None"]


def test_what_nobody_passes_reaches_layers_all_the_same():
    """A layer that is called with a parameter that is None for all visible callers may get maps from others."""
    code = migrate_source(
        _HEAD + "class Net(chainer.Chain):\n    def __init__(self):\n        super().__init__()\n"
        "        with self.init_scope():\n            self.fc = L.Linear(3, 4)\n"
        "    def forward(self, x, y=None):\n        h = self.fc(x)\n        if y is not None:\n"
        "            h = h + self.fc(y)\n        return h\n"
        "Net()(chainer.Variable(np.ones((5, 3), 'f')))\n"
    ).code
    assert "self.fc = compat.Linear(3, 4)" in code


@pytest.mark.parametrize(
    "own",
    [
        "class Own(object):\n    def __init__(self, array):\n        self.array = array\n",
        "class Own(object):\n    @property\n    def array(self):\n        return 1\n",
        "class Own(object):\n    array = None\n",
        "import collections\nOwn = collections.namedtuple('Own', 'shape array')\n",
    ],
)
def test_an_object_of_the_project_may_have_an_array_too(own):
    result = migrate_source(_HEAD + own + "def f(x):\n    return x.array\n")
    assert "return compat.array_of(x)" in result.code


def test_the_array_of_anything_but_a_tensor_raises():
    """`x.detach()` is the array of every Variable; what has no such method is no Variable, and that is loud."""
    code = migrate_source("import chainer\ndef f(x):\n    return x.array\n").code
    assert "return x.detach()" in code and "compat" not in code
    names = {}
    exec(code, names)
    x = torch.ones(3, requires_grad=True)
    assert not names["f"](x * 2).requires_grad and names["f"](x).data_ptr() == x.data_ptr()
    with pytest.raises(AttributeError):
        names["f"](memoryview(b""))


@pytest.mark.parametrize(
    "body, tensor",
    [
        ("return F.relu(x) + x", True),
        ("h = L.Linear(3, 4)(x.data)\nh = F.concat((h, F.tanh(x)), axis=1)\nreturn h", True),
        ("y = x * 2\nreturn F.sum(y) + F.max(x)", True),
        ("n = x.shape[0]\nreturn F.reshape(x, (n, -1))", True),
        ("return x * 2", False),  # a number may be one
        ("return F.relu(x) if x > 0 else 0", False),
        ("return F.dropout(F.relu(y), x)", False),  # not the parameter that is a tensor
        ("return F.concat(x)", False),  # a list
        ("return F.relu(x) + np.log(x)", False),
        ("return F.relu(x) + unknown(x)", False),
        ("return [F.relu(v) for v in x]", False),
        ("return F.relu(x).astype(x.dtype)", False),  # a comparison of dtypes would be silent
        ("return L.NStepLSTM(1, 3, 3, 0.)(x)", False),
    ],
)
def test_a_parameter_that_only_meets_functions(body, tensor):
    """Nobody calls the function: what it does with its parameter tells, or does not."""
    text = f"{_HEAD}def f(x, y):\n{textwrap.indent(body, '    ')}\n"
    source = Source(text, ast.parse(text))
    analysis = Analysis(Project({"main.py": source}), load_rules()).run()
    uses = [n for n in source.nodes if isinstance(n, ast.Name) and n.id == "x" and isinstance(n.ctx, ast.Load)]
    first = min(uses, key=lambda n: (n.lineno, n.col_offset))
    assert describe(analysis.kind(first)) == ("tensor" if tensor else "unknown")


@pytest.mark.parametrize(
    "argument, kind", [("np.ones((2, 3))", "host array rank 2 dtype float64"), ("[1]", "list of 1")]
)
def test_what_a_visible_call_passes_counts_more(shown, argument, kind):
    assert shown("show(x)\nreturn F.relu(x)", f"f({argument})") == [kind]
