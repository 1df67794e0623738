"""Markers over what is left: valid code, once, and gone when a later version can convert the line."""

import re

import pytest

from chainer2torch.engine import migrate_source, migrate_sources
from chainer2torch.plan.options import Options
from chainer2torch.rules.table import load_rules

ROW = """
module = "chainer.functions"
[blocked]
signature = "(x)"
torch = "compat.blocked(x)"
value = "compat.blocked"
state = "exact"
[[blocked.example]]
before = "F.blocked(x)"
"""


@pytest.fixture(scope="module")
def later(tmp_path_factory):
    """Rules in which `blocked` can be converted."""
    folder = tmp_path_factory.mktemp("later")
    (folder / "later.toml").write_text(ROW)
    return load_rules([folder], strict=False)


PLACES = {
    "first statement of the file": "from chainer.functions import blocked\ny = blocked(x)\n",
    "no import of its own": "y = __import__('chainer').functions\n",
    "comment above": "import chainer.functions as F\n# why\ny = F.blocked(x)\n",
    "nested": "import chainer.functions as F\nif x:\n    for i in x:\n        # a\n\n        # b\n        y = F.blocked(x)\n",  # noqa: E501
    "one line": "import chainer.functions as F\nif x: y = F.blocked(x); z = F.blocked(y)\n",
    "elif": "import chainer.functions as F\nif x:\n    pass\nelif F.blocked(y):\n    pass\nelse:\n    F.blocked(z)\n",
    "decorators": "import chainer.functions as F\n@property\n@F.blocked\ndef f():\n    pass\n",
    "default": "import chainer.functions as F\nclass A:\n    @a\n    def f(self, x=F.blocked(1)):\n        pass\n",
    "handler": "import chainer.functions as F\ntry:\n    pass\nexcept F.blocked(1):\n    pass\n",
    "inside brackets": "import chainer.functions as F\nx = [\n    F.blocked(1),  # c\n    F.blocked(2)]\n",
    "multi-line string": "import chainer.functions as F\nx = f'''\n{F.blocked(1)}\n'''\n",
    "continued line": "import chainer.functions as F\nx = 1 + \\\n    F.blocked(1)\n",
    "tabs": "import chainer.functions as F\nif x:\n\tif x:\n\t\ty = F.blocked(x)\n",
    "match": "import chainer.functions as F\nmatch x:\n    case y if F.blocked(y):\n        F.blocked(z)\n",
    "with": "import chainer.functions as F\nwith a as b, F.blocked(x) as c:\n    pass\n",
    "while else": "import chainer.functions as F\nwhile F.blocked(x):\n    pass\nelse:\n    F.blocked(y)\n",
    "lambda": "import chainer.functions as F\nf = lambda: F.blocked(x)\n",
}


def _unguarded(code):
    code = re.sub(r"try:\n\s+(.*\n)except Exception:  # only what is marked below needs it\n\s+\w+ = .*\n", r"\1", code)
    return code.replace("import chainer_compat as compat\n\n", "") if "compat." not in code else code


@pytest.mark.parametrize("name", PLACES)
def test_marker(migrate, later, name):
    """``migrate`` itself checks that the result parses and that a second run changes nothing."""
    text = PLACES[name]
    result = migrate(text)
    lines = result.code.splitlines(keepends=True)
    markers = [line for line in lines if line.lstrip().startswith("# TODO(chainer2torch ")]
    assert markers and len(markers) <= len(result.sites)
    assert _unguarded("".join(line for line in lines if line not in markers)) == text
    if "blocked" in text:
        converted = migrate(result.code, rules=later)
        assert "TODO" not in converted.code and "compat.blocked" in converted.code
        assert converted.code == migrate(text, rules=later).code


def test_other_comments_are_not_touched(migrate, later):
    text = "import chainer.functions as F\n# TODO(chainer2torch): mine\n# TODO(me): later\ny = F.blocked(x)\n"
    code = migrate(migrate(text).code, rules=later).code
    assert "# TODO(chainer2torch): mine\n# TODO(me): later\ny = compat.blocked(x)\n" in code


def test_a_marker_stays_as_long_as_its_reason(migrate, later):
    text = "import chainer.functions as F\ny = F.blocked(x) + F.no_such_name(x)\n"
    first = migrate(text).code
    assert first.count("# TODO(chainer2torch ") == 2
    code = migrate(first, rules=later).code
    assert code.count("# TODO(chainer2torch ") == 1 and "chainer.functions.no_such_name" in code


def test_a_module_that_is_asked_for_a_name_at_run_time():
    """The marker says what to do: names in a table are migrated one by one."""
    head = "import chainer\nimport chainer.functions as F\n"
    result = migrate_source(head + "def f(name, x):\n    return getattr(F, name)(x)\n")
    assert "write a dict of those that may be" in result.code.lower() and [s.state for s in result.sites] == ["review"]
    links = migrate_source("import chainer.links as L\ndef f(name):\n    return getattr(L, name)(3)\n")
    assert "write a dict of those that may be" in links.code and [s.state for s in links.sites] == ["manual"]
    table = migrate_source(head + "def f(name, x):\n    return {'relu': F.relu, 'tanh': F.tanh}[name](x)\n")
    assert {s.state for s in table.sites} == {"exact"}


def test_what_one_answer_settles_is_asked_once_a_file(migrate):
    """The report names every place; the file asks at the first of them."""
    head = "import chainer.functions as F\ndef f(x):\n"
    result = migrate(head + "    y = F.no_such_name(x)\n    return F.no_such_name(y) + F.another_name(y)\n")
    lines = result.code.splitlines()
    assert [line.split(":")[1].strip() for line in lines if "TODO" in line] == [
        "chainer.functions.no_such_name",
        "chainer.functions.another_name",
    ]
    assert "no_such_name: no rule" in lines[lines.index("    y = F.no_such_name(x)") - 1]
    assert [site.symbol for site in result.sites if site.state == "manual"].count("chainer.functions.no_such_name") == 2
    assert migrate(result.code).code == result.code
    resolved = result.code.replace("    y = F.no_such_name(x)\n", "    y = x\n")
    again = migrate("".join(line for line in resolved.splitlines(keepends=True) if "TODO" not in line)).code
    assert again.count("no_such_name: no rule") == 1  # what was second is first now


def test_a_second_run_leaves_a_file_whose_one_marker_stands_for_several_places(migrate):
    """The places without a marker of their own are no sign that the run of the models is still to come."""
    code = migrate(
        """
import numpy
import chainer
import chainer.functions as F
from chainer import Variable, cuda


def first(x):
    return cuda.elementwise('raw T x', 'T y', 'y = x[i]', 'one')(x)


def second(x):
    return cuda.elementwise('raw T x', 'T y', 'y = 2 * x[i]', 'two')(x)


class Model(chainer.Chain):
    def step(self, h):
        return first(h)


def rounds(args):
    x = numpy.zeros((3, 4), 'f')
    model = Model()
    model = model.to_gpu(args.gpu)
    step = model.step
    for _ in range(3):
        h = Variable(x)
        for _ in range(2):
            h = step(h)
        loss = F.sum(h)
        loss.backward()
        print(h.grad)
"""
    ).code
    assert code.count("cuda.elementwise('raw T x'") == 2 and code.count("chainer.backends.cuda.elementwise:") == 1
    assert migrate(code).code == code


def test_questions_that_each_place_answers_for_itself_stand_at_each(migrate):
    code = migrate("import chainer\ndef f(a, b):\n    a.unchain_backward()\n    b.unchain_backward()\n").code
    assert code.count("TODO(chainer2torch ") == 2


CAUSES = """import chainer
from chainercv.evaluations import eval_detection_coco
from chainercv.links import SSD300


def f(x, it):
    return isinstance(x, chainer.Variable), eval_detection_coco(x, it)


def g(x):
    return isinstance(x, chainer.Variable) or SSD300(x)


def h(x):
    return chainer.functions.no_such(x), chainer.functions.no_other(x)
"""


def test_the_native_style_asks_once_for_each_cause() -> None:
    """The report has all places; names without a rule are a cause each."""
    found = {}
    for style in ("native", "faithful"):
        result = migrate_sources({"a.py": CAUSES}, options=Options(style=style))["a.py"]
        found[style] = re.findall("# TODO.*", result.code)
        assert len({site.symbol for site in result.sites if "no_" in site.symbol}) == 2
        again = migrate_sources({"a.py": result.code}, options=Options(style=style))["a.py"]
        assert again.code == result.code
    assert len(found["native"]) < len(found["faithful"]) and set(found["native"]) <= set(found["faithful"])
    assert sum("no rule for this name" in marker for marker in found["native"]) == 2
    causes = [re.sub(r"chainer[\w.]+", "", marker) for marker in found["native"] if "no rule for" not in marker]
    assert len(set(causes)) == len(causes)


BINDINGS = """
from chainer import cuda
import cupy


def solve(a, first, last):
    cuda.cupy.cuda.cusolver.sgetrf(a)
    cuda.cusolver.sgetrs(a)
    cupy.cuda.cublas.cublasSgemm(a)
    cupy.cuda.Stream.null.synchronize()
    return cuda.get_elapsed_time(first, last)
"""


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_bindings_of_one_kind_are_one_question(style: str) -> None:
    result = migrate_sources({"a.py": BINDINGS}, options=Options(style=style))["a.py"]
    markers = re.findall("# TODO.*", result.code)
    assert len(markers) == 1 and "C2T330" in markers[0] and "torch.linalg" in markers[0], result.code
    assert len([s for s in result.sites if s.state == "manual" and s.code == "C2T330"]) == 3
    assert "torch.cuda.default_stream().synchronize()" in result.code
    assert "first.elapsed_time(last)" in result.code
