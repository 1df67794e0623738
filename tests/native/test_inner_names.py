"""Names of parameters that are only compared, or only look parameters up: PyTorch's do as well as Chainer's."""

import pytest

from tests.support.native_snippets import migrated, run

COPY = """
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.b = L.Linear(2, n, initialW=n, initial_bias=n)
            self.a = L.Linear(2, 3, initialW=n + 1, initial_bias=n + 1)
            self.only = L.Linear(2, 3) if n == 4 else L.Convolution2D(2, 3, 3)


def copy_model(src, dst):
    copied = []
    for child in src.children():
        if child.name not in dst.__dict__:
            continue
        dst_child = dst[child.name]
        if type(child) != type(dst_child):
            continue
        match = True
        for a, b in zip(child.namedparams(), dst_child.namedparams()):
            if a[0] != b[0]:
                match = False
                break
            if a[1].data.shape != b[1].data.shape:
                match = False
                break
        if not match:
            continue
        for a, b in zip(child.namedparams(), dst_child.namedparams()):
            b[1].data = a[1].data
        copied.append(child.name)
    return copied


def run(xs):
    src, dst = Net(3), Net(4)
    copied = copy_model(src, dst)
    return copied, dst.a(xs[0]).array.tolist(), dst.b(xs[0]).array.tolist()
"""


def test_a_model_is_copied_child_by_child() -> None:
    theirs, ours, code = run(COPY)
    assert ours == theirs and theirs[0] == ["a"]
    assert "zip(sorted(child.named_parameters()), sorted(dst_child.named_parameters()))" in code
    assert "not hasattr(dst, " in code and "inner_dict" not in code


KEYED = """
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.b = L.Linear(2, 3, initialW=n, initial_bias=n)
            self.a = L.Linear(2, 3, initialW=2 * n, initial_bias=n)


def soft_copy(target, source, tau):
    params = dict(target.namedparams())
    for name, param in source.namedparams():
        params[name].data[:] *= 1 - tau
        params[name].data[:] += tau * param.data


def run(xs):
    target, source = Net(3), Net(4)
    soft_copy(target, source, 0.25)
    return target.a(xs[0]).array.tolist(), target.b(xs[0]).array.tolist()
"""


def test_names_look_up_the_parameters_of_another_link() -> None:
    theirs, ours, code = run(KEYED)
    assert ours == theirs
    assert "params = dict(target.named_parameters())" in code
    assert "for name, param in source.named_parameters():" in code


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "            if a[0] != b[0]:\n                match = False\n                break\n",
            "",
        ),  # nothing compares
        ("            b[1].data = a[1].data\n", "            b[1].data = a[1].data\n            print(a[0])\n"),
        ("if a[0] != b[0]:", "if a[0] != '/W' and b[0]:"),
        ("copied.append(child.name)", "copied.append(b)"),  # a pair is used behind the loop
        ("if a[0] != b[0]:", "if a[0] != a[0]:"),
    ],
)
def test_names_that_are_seen_are_chainers(old: str, new: str) -> None:
    assert old in COPY
    code = migrated(COPY.replace(old, new)).code
    assert "compat.namedparams(child)" in code and "named_parameters()" not in code


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    for name, param in source", "    print(list(params))\n    for name, param in source"),
        ("tau * param.data", "tau * param.data\n        print(name)"),
        ("source.namedparams():", "source.namedparams(include_uninit=False):"),
        ("        params[name].data[:] *= 1 - tau\n", "        if name == '/a/W':\n            continue\n"),
    ],
)
def test_names_that_are_used_otherwise_are_chainers(old: str, new: str) -> None:
    assert old in KEYED
    code = migrated(KEYED.replace(old, new)).code
    assert "compat.namedparams(" in code and "named_parameters()" not in code
