"""Buffers of bytes: `StringIO` of Python 2 is `BytesIO` where it holds them, and stays where it holds a text."""

import pytest

from chainer2torch.python2 import convert, names

READ = "import numpy as np\nfrom PIL import Image\n{head}\n\n\ndef load(name):\n    {body}\n"
OF_BYTES = [
    (
        "from StringIO import StringIO",
        "f = open(name, 'rb')\n    data = f.read()\n    return Image.open(StringIO(data))",
    ),
    ("from cStringIO import StringIO", "with open(name, 'rb') as f:\n        return StringIO(f.read())"),
    ("import StringIO", "return Image.open(StringIO.StringIO(name))"),
    ("import cStringIO", "return np.load(cStringIO.StringIO(open(name, mode='rb').read()))"),
]
OF_TEXTS = [
    ("from StringIO import StringIO", "return StringIO('a line')"),
    ("from StringIO import StringIO", "f = open(name)\n    return StringIO(f.read())"),
    ("from StringIO import StringIO", "f = open(name, 'rb')\n    return StringIO(f.read()), StringIO(name)"),
    ("from StringIO import StringIO", "out = StringIO()\n    return Image.open(StringIO(name)), out"),
    ("from StringIO import StringIO as Buffer", "return Image.open(Buffer(name))"),
]


def _converted(text):
    """By way of lib2to3, and where Python 3 parses the file."""
    by_grammar = convert.convert(text + "print 'x'\n")
    by_names = names.of_today(text + "xrange(3)\n")
    assert by_grammar is not None and by_names is not None
    return by_grammar.text, by_names


@pytest.mark.parametrize(("head", "body"), OF_BYTES)
def test_what_holds_bytes(head, body):
    for text in _converted(READ.format(head=head, body=body)):
        assert "BytesIO(" in text and ".StringIO(" not in text and " StringIO(" not in text
        compile(text, "<converted>", "exec")


def test_a_name_that_is_one_already():
    text = READ.format(head="from io import BytesIO as StringIO", body="return Image.open(StringIO(name))")
    assert all("Image.open(StringIO(name))" in converted for converted in _converted(text))


@pytest.mark.parametrize(("head", "body"), OF_TEXTS)
def test_what_may_hold_a_text(head, body):
    assert all("BytesIO" not in text for text in _converted(READ.format(head=head, body=body)))
