"""Weights that get another array between a step and the backward pass of a graph from before it."""

import pytest

from tests.plan.native.test_graph_crossings import FRESH, HEAD, LOOP, OLD
from tests.support.native_snippets import run

STEP = "        opt_dis.update()\n"
CLIPPED = "        for p in dis.params():\n            {}\n"
HOOK = """
class Clip(object):
    name = 'Clip'
    def __call__(self, opt):
        for param in opt.target.params():
            param.data = opt.target.xp.clip(param.data, -0.25, 0.25)
"""


def equal(text: str) -> str:
    """Runs both programs, whose losses are equal, and gives the migrated one."""
    theirs, ours, code = run(text)
    assert ours == pytest.approx(theirs, rel=1e-5)
    return code


def clipped(steps: str, line: str) -> str:
    return HEAD + LOOP.format(steps=steps.replace(STEP, STEP + CLIPPED.format(line)))


@pytest.mark.parametrize(
    "line",
    [
        "p.data = np.clip(p.data, -0.25, 0.25)",
        "p.array = p.array * np.float32(0.9)",
        "p.data = np.maximum(-0.25, np.minimum(0.25, p.data)).astype('f')",
        "p.copydata(chainer.Parameter(p.data * np.float32(0.9)))",
        "p.data[...] = np.clip(p.data, -0.25, 0.25)",
    ],
)
def test_a_graph_goes_backward_with_the_weights_of_then(line: str) -> None:
    equal(clipped(OLD, line))


def test_those_that_a_hook_gives_count_too() -> None:
    setup = "    opt_dis.setup(dis)\n"
    equal(HEAD + HOOK + LOOP.format(steps=OLD).replace(setup, setup + "    opt_dis.add_hook(Clip())\n"))


def test_an_array_that_is_put_back_is_not_written_into() -> None:
    line = "kept = p.data; p.data = p.data * np.float32(0.5); p.data = kept"
    assert "copy_" not in equal(clipped(OLD, line))


def test_without_such_a_graph_a_parameter_holds_the_new_array() -> None:
    line = "p.data = np.clip(p.data, -0.25, 0.25)"
    assert "copy_" not in equal(clipped(FRESH, line))


@pytest.mark.parametrize("copy", ["p.data.copy()", "np.array(p.data)", "copy.deepcopy(p.array)"])
def test_a_copy_is_memory_of_its_own(copy: str) -> None:
    """As where parameters of two models stop to share theirs."""
    assert "copy_" not in equal("import copy\n" + clipped(OLD, f"p.data = {copy}"))


def test_an_input_may_get_another_shape() -> None:
    line = "x = chainer.Variable(x); x.data = x.data.reshape((1, 8)).astype('f'); x = x.data"
    assert "copy_" not in equal(clipped(OLD, line))
