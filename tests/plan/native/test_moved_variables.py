"""``x.to_gpu()`` of a Variable that a name has just got: a tensor is moved by an assignment."""

import sys
from unittest import mock

import numpy as np
import pytest

from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import helpers, migrated

IMPORTS = "import chainer\nimport chainer.functions as F\nfrom chainer import Variable\nimport numpy as np\n\n"
FUNCTION = """
def f(a, b, gpu=True):
    x = Variable(a)
    y, z = Variable(b), Variable(a)
    {moves}
    return F.sum(x * y + z)
"""


def body(source: str) -> str:
    return migrated(source, IMPORTS).code


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x.to_gpu()", "x = x.cuda()"),
        ("x.to_gpu(), y.to_gpu()", "x, y = x.cuda(), y.cuda()"),
        ("if gpu:\n        z.to_gpu()", "if gpu:\n        z = z.cuda()"),
        ("x.to_cpu()  # back", "x = x.cpu()  # back"),
        ("x.to_gpu(1)", "x = x.cuda(1)"),
        ("x.to_gpu(device=0)", "x = x.cuda(0)"),
        ("s = F.sum(x)\n    x.to_cpu()", "x = x.cpu()"),
        ("s = F.sum(x * y)\n    s.backward()\n    s.to_cpu()", "s = s.cpu()"),
        ("for i in range(2):\n        s = F.sum(x * y)\n    s.to_cpu()", "s = s.cpu()"),
        ("x.to_gpu(gpu)", "x = x.cuda(gpu)"),
        ("if gpu:\n        s = F.sum(x)\n    else:\n        s = F.sum(y)\n    s.to_cpu()", "s = s.cpu()"),
        ("for i in range(2):\n        if gpu:\n            s = F.sum(x * y)\n    s.to_cpu()", "s = s.cpu()"),
    ],
)
def test_a_new_variable_is_assigned_anew(before: str, after: str) -> None:
    assert f"    {after}\n" in body(FUNCTION.format(moves=before))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    x.to_gpu()", "    kept = [x]\n    x.to_gpu()"),  # the list holds the Variable that moves
        ("x = Variable(a)", "x = a[0]"),
        ("x = Variable(a)", "x = z = Variable(a)"),
        ("x = Variable(a)", "if gpu:\n        x = Variable(a)\n    else:\n        x = b.x"),
        ("return F.sum(x * y + z)", "F.sum(x * y + z).backward()\n    return x.grad"),
        ("x.to_gpu()", "x.to_gpu(), x.to_gpu()"),
        ("    x.to_gpu()", "    b.kept.append(x)\n    x.to_gpu()"),
        ("    x.to_gpu()", "    b.kept = x\n    x.to_gpu()"),
        ("x.to_gpu()", "x.to_gpu(b.gpu)"),
    ],
)
def test_what_another_name_may_stand_for_moves_itself(old: str, new: str) -> None:
    source = FUNCTION.format(moves="x.to_gpu()").replace(old, new)
    result = migrate_source(IMPORTS + source, options=Options(style="native"))
    assert "x = x.cuda()" not in result.code


STATES = """
class State(chainer.Chain):
    def __init__(self):
        super(State, self).__init__()
        self.c = self.h = None

    def to_cpu(self):
        super(State, self).to_cpu()
        if self.h is not None:
            self.h.to_cpu()
        return self

    def to_gpu(self, device=None):
        super(State, self).to_gpu(device)
        if self.h is not None:
            self.h.to_gpu(device)

    def set_state(self, h):
        assert isinstance(h, chainer.Variable)
        h_ = h
        if self.xp == np:
            h_.to_cpu()
        else:
            h_.to_gpu()
        self.h = h_

    def __call__(self, x):
        self.h = x if self.h is None else F.tanh(x + self.h)
        return self.h


def f(x):
    net = State()
    net.set_state(chainer.Variable(x))
    net.to_cpu()
    return net(chainer.Variable(x)), net.h
"""


def test_states_are_assigned_anew() -> None:
    """As in classes that began as a copy of Chainer's LSTM: no name but the class's own stands for a state."""
    code = body(STATES)
    assert "self.h = self.h.cpu()" in code and "self.h = self.h.cuda(device)" in code
    assert "h_ = h_.cpu()" in code and "h_ = h_.cuda()" in code and "move_variable" not in code


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return net(chainer.Variable(x)), net.h", "net.h.grad\n    return 0, 0"),
        ("self.c = self.h = None", "with self.init_scope():\n            self.h = chainer.Parameter(1.0, 3)"),
    ],
)
def test_what_is_no_state_moves_itself(old: str, new: str) -> None:
    result = migrate_source(IMPORTS + STATES.replace(old, new), options=Options(style="native"))
    assert "self.h = self.h.cpu()" not in result.code


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_no_number_is_the_current_gpu(style: str) -> None:
    """It was the CPU where a parameter was None at run time."""
    source = "def f(x, device=None):\n    v = F.relu(x)\n    kept = [v]\n    v.to_gpu(device)\n    return kept\n"
    code = migrate_source(IMPORTS + source, options=Options(style=style)).code
    assert "compat.move_variable(v, 'cuda' if device is None else compat.get_device(device))" in code
    code = migrate_source(IMPORTS + source.replace("(device)", "(1)"), options=Options(style=style)).code
    assert "is None" not in code


def test_states_compute_the_same() -> None:
    x, spaces = np.arange(3, dtype=np.float32) / 3, list[dict[str, object]]([{}, {}])
    exec(IMPORTS + STATES, spaces[0])
    result = migrated(STATES, IMPORTS)
    with mock.patch.dict(sys.modules, chainer_compat=helpers(result)):
        exec(result.code, spaces[1])
    for theirs, ours in zip(spaces[0]["f"](x), spaces[1]["f"](x), strict=True):  # type: ignore[operator]
        np.testing.assert_allclose(ours.numpy(), theirs.array, rtol=1e-6)


def test_what_is_moved_computes_the_same() -> None:
    source = FUNCTION.format(moves="x.to_cpu(), y.to_cpu()")
    a, b = np.arange(3, dtype=np.float32), np.ones(3, np.float32)
    spaces: list[dict[str, object]] = [{}, {}]
    exec(IMPORTS + source, spaces[0])
    code = body(source)
    assert "x, y = x.cpu(), y.cpu()" in code and "compat" not in code
    exec(code, spaces[1])
    assert spaces[0]["f"](a, b).array == spaces[1]["f"](a, b).item()  # type: ignore[operator]
