"""Generators, `map` and views of dictionaries where Chainer walks over what it gets, and PyTorch wants a sequence."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
def joined(xs, table):
    return {expression}

def run(xs):
    variables = [chainer.Variable(x) for x in xs]
    result = eval('joined')(variables, dict(enumerate(variables)))
    return result.array
"""
EXPRESSIONS = [
    "F.concat(F.tanh(x) for x in xs)",
    "F.concat((F.tanh(x) for x in xs), axis=0)",
    "F.stack(map(F.tanh, xs), axis=1)",
    "F.vstack(table.values())",
    "F.hstack(reversed(xs))",
    "F.dstack(F.tanh(x) for x in xs)",
    "F.concat(filter(lambda x: x.shape[0] > 0, xs), axis=0)",
    "F.pad_sequence(x[0] for x in xs)",
    "F.concat(iter(xs))",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_they_become_tuples(expression):
    theirs, ours, code = run(PROGRAM.format(expression=expression))
    np.testing.assert_allclose(theirs, ours.detach().numpy(), rtol=1e-6, err_msg=code)


def test_sequences_stay_what_they_are():
    code = migrated(
        PROGRAM.format(expression="F.concat([F.tanh(x) for x in xs]), F.stack(xs), F.vstack(list(xs))")
    ).code
    assert "tuple(" not in code, code
