"""Files of pickles are opened as bytes; prints get no second pair of parentheses."""

import pickle

import pytest

from chainer2torch.python2 import convert, names

HEAD = "import cPickle as pickle\nprint 'x'\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("m = pickle.load(open(path))", "m = pickle.load(open(path, 'rb'))"),
        ("m = pickle.load(open(path, mode='r'))", "m = pickle.load(open(path, mode='rb'))"),
        ('pickle.dump(m, open(path, "w"), -1)', 'pickle.dump(m, open(path, "wb"), -1)'),
        ("m = pickle.Unpickler(open(path)).load()", "m = pickle.Unpickler(open(path, 'rb')).load()"),
        ("with open(path) as f:\n    m = pickle.load(f)", "with open(path, 'rb') as f:\n    m = pickle.load(f)"),
        ("f = open(path, 'w+')\npickle.dump(m, f)\nf.close()", "f = open(path, 'wb+')\npickle.dump(m, f)\nf.close()"),
        ("m = six.moves.cPickle.load(open(path))", "m = six.moves.cPickle.load(open(path, 'rb'))"),
    ],
)
def test_a_file_that_only_pickle_has(before, after):
    assert convert.convert(HEAD + before + "\n").text == f"import pickle\nprint('x')\n{after}\n"


@pytest.mark.parametrize(
    "line",
    [
        "m = pickle.load(open(path, 'rb'))",
        "f = open(path, 'w')\npickle.dump(m, f)\nf.write('end')",  # a text follows
        "m = other.load(open(path))",
        "m = pickle.loads(open(path).read())",
        "pickle.dump(m, open(path, mode))",
        "with open(path) as f:\n    pass",
        "m = pickle.load(open(path, 'r', 1))",
        "f = g = open(path)",
    ],
)
def test_other_files_stay(line):
    assert convert.convert(f"{HEAD}{line}\n").text == f"import pickle\nprint('x')\n{line}\n"


def test_in_a_file_that_has_names_of_python_2_alone():
    text = "import pickle\nfor i in xrange(3):\n    pickle.dump(i, open(str(i), 'w'))\n"
    assert names.of_today(text) == text.replace("xrange", "range").replace("'w'", "'wb'")


def test_what_is_written_is_read_again(tmp_path):
    text = HEAD + "with open(path, 'w') as f:\n    pickle.dump({'a': 1}, f)\nfound = pickle.load(open(path))\n"
    values = {"path": tmp_path / "x.pkl", "print": lambda *_: None}
    exec(convert.convert(text).text, values)
    assert values["found"] == {"a": 1} == pickle.loads((tmp_path / "x.pkl").read_bytes())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("print(x.shape)", "print(x.shape)"),
        ("print (f(x) + 1)", "print (f(x) + 1)"),
        ("print(x, 1)", "print((x, 1))"),
        ("print(x), 1", "print((x), 1)"),
        ('print ("%d") % x', 'print(("%d") % x)'),
        ("print(a for a in x)", "print((a for a in x))"),
    ],
)
def test_parentheses_of_a_print(before, after):
    assert convert.convert(f"print 'x'\n{before}\n").text == f"print('x')\n{after}\n"
