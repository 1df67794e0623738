"""What is an array for one caller and a Variable for another is written as the array."""

import textwrap

import pytest

from tests.generated import judge, printed_judge, values

TEXTS = ["print(v)", "print([v, 1])", "print('%s' % v, f'{v}')", "print(sorted([v, v * 2]))", "print({'v': v})"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("source", ["model(xs).array.max()", "model(xs).array", "loss.data"])
def test_it_is_written_as_an_array(source, text):
    if "sorted" in text and source == "model(xs).array":
        pytest.skip("arrays have no order")
    body = f"v = same({source})\n{text}\nother = same(F.tanh(model(xs)))\nprint(other.array)\n"
    verdict, detail, text = printed_judge.judged(values.HEAD + textwrap.indent(body, "    "))
    assert verdict == judge.SAME, f"{detail}\n{text}"
