"""Loops over the children of a Chain that ask each for its name: ``for name, child in link.named_children():``."""

import pytest

from chainer2torch.engine import migrate_sources
from chainer2torch.plan.options import Options

HEAD = """\
import chainer
import chainer.links as L
from chainer import link


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(3, 4)
            self.l2 = L.Linear(4, 2)


"""
COPY = """\
def copy(src, dst):
    assert isinstance(src, link.Chain)
    for child in src.children():
        if hasattr(dst, child.name):
            print('Copy %s' % child.name)
            getattr(dst, child.name).copyparams(child)


copy(Net(), Net())
"""
# what keeps the helpers
KEPT = {
    "a list": COPY.replace("Net()", "chainer.ChainList(L.Linear(3, 4))").replace("src, link.Chain", "src, link.Link"),
    "another link takes the variable": COPY.replace(
        "        if has", "        dst.add_link('other', child)\n        if has"
    ),
    "the variable gets another value": COPY.replace("        if has", "        child = child.copy()\n        if has"),
    "names of the program's": COPY + "net = Net()\nnet.name = 'net'\n",
    "a name that is set": COPY.replace("        if has", "        child.name = 'x'\n        if has"),
}


def migrated(source: str) -> str:
    return migrate_sources({"net.py": HEAD + source}, options=Options(style="native"))["net.py"].code


def test_the_name_comes_with_the_child() -> None:
    code = migrated(COPY)
    assert "for name, child in sorted(src.named_children()):" in code and "child_name" not in code, code
    assert "hasattr(dst, name)" in code and "print('Copy %s' % name)" in code, code


def test_the_name_is_one_that_the_function_does_not_use() -> None:
    for old, new in (
        ("def copy(src, dst):", "def copy(src, dst, name=None):"),
        ("    for", "    import name\n    for"),
    ):
        code = migrated(COPY.replace(old, new))
        assert "for child_name, child in sorted(src.named_children()):" in code, code
        assert "hasattr(dst, child_name)" in code, code


@pytest.mark.parametrize("name", KEPT)
def test_what_may_have_another_name_keeps_the_helpers(name: str) -> None:
    assert "named_children()" not in migrated(KEPT[name])
