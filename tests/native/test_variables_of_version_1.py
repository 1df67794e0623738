"""``Variable(x, volatile=False)`` of version 1 is a Variable as it is today; so are others, but for their graphs."""

import sys
import types
from unittest import mock

import numpy as np
import pytest

from chainer2torch.engine import Options, migrate_source
from chainer2torch.vendor import compat_file
from tests.support.native_snippets import HEAD

PROGRAM = """
def run():
    given = GIVEN
    x = chainer.Variable(given, volatile=VOLATILE)
    w = chainer.Variable(np.ones(3, dtype='f'), volatile=VOLATILE)
    y = F.sum(F.relu(w) * x * x * 2)
    BACK
    return [y.data.tolist(), ASKED]
"""
GIVEN = {
    "an array": "np.arange(3, dtype='f') + 1",
    "one that is asked later": "np.random.RandomState(0).uniform(size=3).astype(np.float32)",
    "nobody knows": "eval(\"np.arange(3, dtype='f')\")",
}


def both(text, off):
    result = migrate_source(HEAD + text, options=Options(style="native", chainer_version=1, chainer_minor=20))
    assert result.error is None, result.error
    theirs: dict = {}
    exec(compile(HEAD + text.replace(f", volatile={off}", ""), "<original>", "exec"), theirs)
    compat = types.ModuleType("chainer_compat")
    exec(compile(compat_file.build(result.helpers, style="native"), "<helpers>", "exec"), compat.__dict__)
    ours: dict = {}
    with mock.patch.dict(sys.modules, chainer_compat=compat):
        exec(compile(result.code, "<migrated>", "exec"), ours)
    return theirs["run"](), ours["run"](), result.code


@pytest.mark.parametrize("off", ["False", "'off'"])
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("asked", ["None", "x.grad.tolist()"])
def test_a_variable_that_is_not_volatile(off, given, asked):
    text = PROGRAM.replace("GIVEN", GIVEN[given]).replace("VOLATILE", off).replace("ASKED", asked)
    text = text.replace("BACK", "pass" if asked == "None" else "y.backward()")
    theirs, ours, code = both(text, off)
    assert "volatile" not in code and "faithful" not in code
    np.testing.assert_allclose(theirs[0], ours[0], rtol=1e-6)
    assert theirs[1] == ours[1] or np.allclose(theirs[1], ours[1])


@pytest.mark.parametrize("kind", ["'i'", "np.int32", "np.int64"])
def test_whole_numbers_have_no_gradient(kind):
    made = f"chainer.Variable(np.arange(3, dtype={kind}), volatile=False)"
    text = f"def run():\n    x = {made}\n    return x.grad, x.data.tolist()\n"
    theirs, ours, code = both(text, "False")
    assert "compat." not in code
    assert theirs == ours == (None, [0, 1, 2])


VOLATILE = """
import chainer.links as L

net = L.Linear(3, 2, initialW=np.ones((2, 3), 'f'))

def run(train=True):
    x = chainer.Variable(GIVEN, volatile=FLAG)
    h = chainer.Variable(np.ones((1, 3), dtype='f'), volatile=FLAG)
    y = F.sum(net(x) * net(h))
    return [y.data.tolist(), MORE]
"""


@pytest.mark.parametrize("flag", ["'auto'", "'on'", "not train", "train and 'off'", "True"])
@pytest.mark.parametrize("given", ["np.ones((1, 3), 'f')", "eval(\"np.ones((1, 3), 'f')\")", "net.W.data"])
def test_what_may_be_volatile_is_a_tensor(flag, given):
    """It computes the same; that Chainer keeps no graph is a declared difference."""
    text = VOLATILE.replace("FLAG", flag).replace("GIVEN", given).replace("MORE", "None")
    theirs, ours, code = both(text, flag)
    assert "volatile" not in code and theirs == ours
    result = migrate_source(HEAD + text, options=Options(style="native", chainer_version=1, chainer_minor=20))
    differences = {site.difference for site in result.sites}
    assert ("volatile-graphs" in differences) is ("@torch.no_grad()\ndef run(" not in code)


@pytest.mark.parametrize(
    ("flag", "more"),
    [
        ("not train", "x.grad"),  # a gradient by it
        ("not train", "x.volatile"),
        ("flags.pop()", "None"),  # something happens there
        ("(flag := not train)", "None"),
    ],
)
def test_what_asks_for_its_flag_or_gradient_keeps_the_helper(flag, more):
    text = VOLATILE.replace("FLAG", flag).replace("GIVEN", "np.ones((1, 3), 'f')").replace("MORE", more)
    code = migrate_source(HEAD + text, options=Options(style="native", chainer_version=1, chainer_minor=20)).code
    assert "x = compat.volatile_variable(" in code
