"""``b[1].data = a[1].data`` behind a loop that compared the shapes: such a parameter does not wait for its shape."""

import pytest

from tests.support.native_snippets import migrated, run

COPY = """
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(2, 3, initialW=n)
            self.b = L.Linear(2, n)
            self.lazy = L.Linear(None, 3)


def copy_model(src, dst):
    told = []
    for child in src.children():
        if child.name == 'lazy':
            continue
        dst_child = dst[child.name]
        match = True
        for a, b in zip(child.namedparams(), dst_child.namedparams()):
            if a[0] != b[0]:
                match = False
                break
            if a[1].data.shape != b[1].data.shape:
                match = False
                told.append(child.name)
                break
        if not match:
            continue
        for a, b in zip(child.namedparams(), dst_child.namedparams()):
            b[1].data = a[1].data
    return told


def run(xs):
    src, dst = Net(3), Net(4)
    told = copy_model(src, dst)
    return told, dst.a.W.array.tolist(), dst.a(xs[0]).array.tolist()
"""
ASKED = """        if a[1].data.shape != b[1].data.shape:
            match = False
            break
"""
LOOPS = """import chainer
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__(l=L.Linear(None, 3))


def f(src, dst):
    match = True
    for a, b in zip(src.namedparams(), dst.namedparams()):
{asked}    if not match:
        return
    for a, b in zip(src.namedparams(), {walk}):
        b[1].data = a[1].data


f(Net(), Net())
"""


def test_a_model_is_copied() -> None:
    theirs, ours, code = run(COPY)
    assert ours == theirs and theirs[0] == ["b"]
    assert "b[1].data = a[1].detach()" in code and "set_array" not in code


def text(asked=ASKED, walk="dst.namedparams()"):
    return migrated(LOOPS.format(asked=asked, walk=walk)).code


def test_the_loops_by_themselves() -> None:
    assert "b[1].data = a[1].detach()" in text()


@pytest.mark.parametrize(
    "asked",
    [
        ASKED.replace("break", "pass"),
        ASKED.replace("if a", "if len(src) and a"),  # not always asked
        ASKED.replace(".data.shape != b[1].data.shape", ".data.size != b[1].data.size"),
        ASKED.replace("if a", "if a[0] == 'l/W':\n            continue\n        if a"),
        ASKED.replace("match = False", "other = False"),
    ],
)
def test_what_may_pass_by_the_comparison_keeps_the_helper(asked) -> None:
    assert "compat.set_array(b[1], " in text(asked)


def test_a_walk_over_something_else_keeps_the_helper() -> None:
    assert "compat.set_array(b[1], " in text(walk="src.namedparams()")


def test_a_value_in_the_shape_of_the_parameter() -> None:
    code = migrated(
        "import chainer\nimport chainer.links as L\n\n\ndef f():\n    a, b = L.Linear(2, 3), L.Linear(None, 3)\n"
        "    for p, q in zip(a.params(), b.params()):\n        q.data = p.data.reshape(q.shape)\n"
    ).code
    assert "q.data = p.detach().reshape(q.shape)" in code
