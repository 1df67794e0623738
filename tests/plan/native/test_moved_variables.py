"""``x.to_gpu()`` of a Variable that a name has just got: a tensor is moved by an assignment."""

import numpy as np
import pytest

from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import migrated

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
        ("x.to_gpu()", "x.to_gpu(gpu)"),
        ("x = Variable(a)", "for i in range(2):\n        if gpu:\n            x = Variable(a)"),
    ],
)
def test_what_another_name_may_stand_for_moves_itself(old: str, new: str) -> None:
    source = FUNCTION.format(moves="x.to_gpu()").replace(old, new)
    result = migrate_source(IMPORTS + source, options=Options(style="native"))
    assert "x = x.cuda()" not in result.code


def test_what_is_moved_computes_the_same() -> None:
    source = FUNCTION.format(moves="x.to_cpu(), y.to_cpu()")
    a, b = np.arange(3, dtype=np.float32), np.ones(3, np.float32)
    spaces: list[dict[str, object]] = [{}, {}]
    exec(IMPORTS + source, spaces[0])
    code = body(source)
    assert "x, y = x.cpu(), y.cpu()" in code and "compat" not in code
    exec(code, spaces[1])
    assert spaces[0]["f"](a, b).array == spaces[1]["f"](a, b).item()  # type: ignore[operator]
