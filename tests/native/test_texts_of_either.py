"""What is an array for one caller and a Variable for another is written as the array."""

import textwrap

import pytest

from tests.generated import judge, printed_judge, values

TEXTS = ["print(v)", "print([v, 1])", "print('%s' % v, f'{v}')", "print(sorted([v, v * 2]))", "print({'v': v})"]


# arrays with axes have no order
CASES = [(source, text) for source in ("model(xs).array.max()", "loss.data") for text in TEXTS]
CASES += [("model(xs).array", text) for text in TEXTS if "sorted" not in text]


@pytest.mark.parametrize(("source", "text"), CASES)
def test_it_is_written_as_an_array(source, text):
    body = f"v = same({source})\n{text}\nother = same(F.tanh(model(xs)))\nprint(other.array)\n"
    verdict, detail, text = printed_judge.judged(values.HEAD + textwrap.indent(body, "    "))
    assert verdict == judge.SAME, f"{detail}\n{text}"
