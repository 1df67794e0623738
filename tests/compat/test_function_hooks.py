"""The timer of functions: the report has Chainer's form, and PyTorch's calls."""
import io

import chainer
import chainer.functions as F
import numpy as np
import torch

from chainer2torch.compat.function_hooks import FunctionTimerHook
from chainer2torch.engine import migrate_source


def _report(hook, relu, x):
    with hook:
        y = relu(relu(x)) + x
    relu(y)
    file = io.StringIO()
    hook.print_report(file=file)
    return hook.summary(), file.getvalue().splitlines()


def test_forward_calls_are_counted_and_reported_as_in_chainer():
    x = np.ones((3, 4), "f")
    theirs, their_lines = _report(chainer.function_hooks.TimerHook(), F.relu, chainer.Variable(x))
    hook = FunctionTimerHook()
    ours, our_lines = _report(hook, torch.nn.functional.relu, torch.from_numpy(x))
    counts = [[record["occurrence"] for record in summary.values()] for summary in (ours, theirs)]
    assert counts == [[2, 1], [2, 1]] and list(ours) == ["relu", "add"]
    assert our_lines[0].split() == their_lines[0].split() and len(our_lines) == len(their_lines)
    assert 0 < hook.total_time() == sum(seconds for _, seconds in hook.call_history)


def test_a_backward_pass_is_one_call_and_attributes_are_none():
    x = torch.ones(3, requires_grad=True)
    hook = FunctionTimerHook()
    with hook:
        assert x.shape == (3,)
        (x * x).sum().backward()
    assert [name for name, _ in hook.call_history] == ["mul", "sum", "backward"]


def test_the_words():
    source = "import chainer\nfrom chainer.function_hooks import TimerHook\nhook = TimerHook()\nwith hook:\n    pass\n"
    result = migrate_source(source + "hook.print_report()\nprint(hook.total_time())\n")
    assert "hook = compat.FunctionTimerHook()" in result.code and "hook.print_report()" in result.code
    assert {s.state for s in result.sites if s.line == 3} == {"review"}
    assert "manual" not in {s.state for s in result.sites}
