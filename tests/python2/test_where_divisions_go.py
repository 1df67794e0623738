"""Divisions that are decided by where their result goes, or of which Python 3 says itself that integers do not fit."""

import textwrap

import pytest

from chainer2torch import engine
from chainer2torch.python2 import engine as python2


def _modern(body, head=""):
    text = f"import chainer\nimport numpy as np\nimport chainer.functions as F\nimport chainer.links as L\n{head}"
    text += "def run(x, a, b, **kwargs):\n    print 'run'\n" + textwrap.indent(textwrap.dedent(body), "    ")
    return python2.modernised({"program.py": text}, engine.facts)["program.py"]


@pytest.mark.parametrize(
    "body",
    [
        "return np.zeros((a / 2, 3))",
        "return x.reshape((a / 2, 2))",
        "return x.reshape(1, a / b)",
        "return F.reshape(x, (a / 2, -1))",
        "return [i for i in range(a / b)]",
        "return x[a / 2 : b]",
        "n = a / b\nreturn x.repeat(n, axis=0)",
        "h = a / 2\nbegin = h - b\nbegin += 1\nreturn x[begin:]",
        "return L.Linear(a / 2, 10)",
        "return L.Convolution2D(3, 2 * (a / b), 3)",
        "return L.Convolution2D(3, out_channels=a / b, ksize=3)",
    ],
)
def test_where_only_an_integer_fits_python_2_had_one(body):
    found = _modern(body)
    assert "//" in found.text and "TODO" not in found.text


@pytest.mark.parametrize(
    "body",
    [
        "return F.reshape(x / a, (2, -1))",  # what is reshaped is no shape
        "return np.reshape(a / b, (2, -1))",
        "return np.repeat(a / b, 2, axis=0)",
        "return L.Linear(4, 10, a / b)",
        "return x[a / b]",  # a dictionary takes 3.5
        "n = a / b\nn = int(n)\nreturn range(n)",  # what is counted is another value
        "return range(int(a / b))",
        "return range(1)[0] + a / b",
    ],
)
def test_where_a_fraction_fits_it_is_asked(body):
    found = _modern(body)
    assert "a // b" not in found.text and "x // a" not in found.text and "C2T018" in found.text


@pytest.mark.parametrize(
    "body",
    [
        "d = {'x': a}\nd['x'] = d['x'].astype(np.float32)\nd['x'] /= 255\nreturn d",
        "return a / np.float32(b)",
        "return np.float64(a) / b",
        "return np.mean(a) / b",
        "v = chainer.Variable(a)\nv.backward()\nreturn v.data / b",
        "return F.softmax(a).data / b",
        "return F.sum(F.softmax(chainer.Variable(a)), axis=0).data / b",
    ],
)
def test_floating_numbers(body):
    found = _modern(body)
    assert "//" not in found.text and "C2T018" not in found.text and not found.sites


@pytest.mark.parametrize(
    "body",
    [
        "v = chainer.Variable(a)\nreturn v.data / b",
        "return F.sum(chainer.Variable(a)).data / b",
        "d = {'x': a}\nd['x'] = d['x'].astype(np.float32)\nd.update(b)\nd['x'] /= 255\nreturn d",
    ],
)
def test_numbers_of_an_unknown_type(body):
    assert "C2T018" in _modern(body).text


@pytest.mark.parametrize(
    "body", ["x = np.asarray(x)\nx /= a", "x /= x.max()\nreturn x[0, :, :]", "x /= a\nx.reshape(3)"]
)
def test_an_array_of_integers_says_so_itself(body):
    found = _modern(body)
    assert "//" not in found.text and "TODO" not in found.text
    assert [site.code for site in found.sites] == ["C2T018"] and "raises" in found.sites[0].message
    with pytest.raises(TypeError, match="cast"):
        exec("import numpy\nx = numpy.arange(4)\nx /= 2\n")


@pytest.mark.parametrize(
    "body",
    [
        "x /= a\nreturn x",
        "x /= a\nreturn x.max()",
        "x /= a\nreturn x['name']",
        "x = [x]\nx = a\nx /= b\nreturn x[0, :]",
    ],
)
def test_a_number_or_a_table_does_not(body):
    found = _modern(body)
    assert "C2T018" in found.text


SHARED = """\
import chainer
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self, size=96, width=64):
        self.out = size / 2 ** 4
        super(Net, self).__init__(
            one=L.Linear(self.out, width), two=L.Linear(width, 3, wscale=0.1 * (width / 8)))

    def share(self, n=7):
        return n / 2
"""


def test_a_function_that_python_3_does_not_get_through_was_run_by_python_2():
    run = "import net\nimport chainer\nmodel = net.Net(96, 64)\nprint model.share(7)\n"
    found = python2.modernised({"run.py": run, "net.py": SHARED}, engine.facts)["net.py"]
    assert "self.out = size // 2 ** 4" in found.text and "(width // 8)" in found.text
    assert "return n / 2" in found.text and found.text.count("TODO") == 1  # Python 3 runs this one, too
    assert python2.modernised({"net.py": SHARED}, engine.facts) == {}  # nothing says that it is Python 2


READ = [
    ("f = open(x, 'rb')\ndata = f.read()\nreturn np.frombuffer(data)", False),
    ("with open(x, 'rb') as f:\n    return np.frombuffer(f.read())", False),
    ("return open(x, 'rb').read().decode('utf-8')", False),
    ("with open(x, 'rb') as f:\n    a = np.load(f)\nwith open(x) as f:\n    return a, f.read()", False),
    ("with open(x, 'rb') as f:\n    return f.read() == a", True),
    ("f = open(x, 'rb')\ndata = f.read()\nreturn np.frombuffer(data), data == a", True),
    ("f = open(x, 'rb')\nreturn np.frombuffer(f.readline())", True),
    ("return [line for line in open(x, 'rb')]", True),
    ("with open(x, 'rb') as f:\n    return [line for line in f]", True),
]


@pytest.mark.parametrize(
    ("after", "is_asked"), [("", False), ("print data\n", True), ("def f():\n    return data\n", True)]
)
def test_bytes_at_the_top_of_a_file(after, is_asked):
    text = (
        "import chainer\nimport numpy as np\nfor name in ['a', 'b']:\n    f = open(name, 'rb')\n    data = f.read()\n"
    )
    text += "    x = np.frombuffer(data)\nprint x\n" + after
    found = python2.modernised({"program.py": text}, engine.facts)["program.py"]
    assert ("open: gives bytes" in found.text) is is_asked


@pytest.mark.parametrize(("body", "is_asked"), READ)
def test_bytes_that_nobody_takes_for_a_text(body, is_asked):
    assert ("open: gives bytes" in _modern(body).text) is is_asked


def test_a_method_of_the_projects_own_that_is_called_encode():
    own = "class Net(object):\n    def encode(self, x):\n        return x\n"
    own += "    def f(self, x):\n        return self.encode(x)\n"
    assert "encode: gives" not in _modern("return a.encode(x, test=True)", own).text
    assert "encode: gives" in _modern("return a.encode('utf-8')", own).text
    assert "encode: gives" in _modern("return a.encode(encoding='utf-8')", own).text
