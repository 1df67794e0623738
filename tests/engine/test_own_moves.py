"""Links whose `to_gpu` and `to_cpu` move more than parameters: they run when the model around them is moved.

There is no GPU here: the device "meta" stands for it.
"""

import torch
import torch.nn as nn

from chainer2torch.compat.links.own_moves import MovedModule
from chainer2torch.engine import migrate_sources
from tests.support.both_sides import both

_PROGRAM = """
class Child(chainer.Chain):
    def __init__(self):
        super().__init__(l=L.Linear(3, 3))
        self.moves = []
    def to_gpu(self, device=None):
        self.moves.append('gpu')
        return super().to_gpu(device)
    def to_cpu(self):
        self.moves.append('cpu')
        super().to_cpu()
        return self
class Parent(chainer.Chain):
    def __init__(self):
        super().__init__(c=Child(), d=L.Linear(3, 3))
def moved():
    net = Parent()
    net.c.to_cpu()
    return net.c.moves, type(net).__mro__[1]
"""


class _Part(MovedModule):
    def __init__(self, *parts):
        super().__init__()
        self.calls, self.parts = [], nn.ModuleList(parts)

    def to_gpu(self, device=None):
        self.calls.append(("gpu", device))
        return super().to("meta")

    def to_cpu(self):
        self.calls.append(("cpu",))
        return super().to_empty(device="cpu")


class _Plain(_Part):
    def to_gpu(self):
        return super().to_gpu()


def test_a_module_inside_is_asked_once():
    part, other = _Part(nn.Linear(2, 2)), _Plain()  # one of them has no parameters
    outer = _Part(part, other)
    model = nn.Sequential(outer, nn.Linear(2, 2))
    assert model.to("meta") is model
    assert outer.calls == part.calls == other.calls == [("gpu", None)]
    model.float().half()
    model.to("meta")
    assert part.calls == other.calls == [("gpu", None)]
    model.to_empty(device="cpu")
    assert outer.calls == part.calls == other.calls == [("gpu", None), ("cpu",)]
    assert {p.device.type for p in model.parameters()} == {"cpu"}


def test_its_own_method_runs_once():
    part = _Part(nn.Linear(2, 2))
    outer = _Part(part)
    outer.to_gpu(3)
    assert outer.calls == [("gpu", 3)] and part.calls == [("gpu", None)]
    assert outer._moving is False and part.parts[0].weight.is_meta


def test_a_method_that_fails_can_be_called_again():
    class Failing(MovedModule):
        def to_cpu(self):
            raise RuntimeError("no")

    part = Failing()
    for _ in range(2):
        try:
            part.to_cpu()
        except RuntimeError:
            assert part._moving is False


def test_the_class_with_the_method_calls_it():
    original, migrated = both(_PROGRAM, left=["chainer.Link.to_gpu"])
    assert migrated["moved"]()[0] == original["moved"]()[0] == ["cpu"]
    assert "class Child(compat.MovedModule):" in migrated["__code__"]
    assert "class Parent(nn.Module):" in migrated["__code__"]
    net = migrated["Parent"]()
    cuda, nn.Module.cuda = nn.Module.cuda, lambda self, device=None: self.to("meta")
    try:
        net.cuda()
    finally:
        nn.Module.cuda = cuda
    assert net.c.moves == ["gpu"] and net.d.weight.is_meta and isinstance(net.c, torch.nn.Module)


def test_where_the_base_is():
    results = migrate_sources(
        {
            "base.py": "import chainer\nclass Base(chainer.Chain):\n    pass\nclass Other(chainer.Chain):\n    pass\n",
            "net.py": """import chainer
import chainer.links as L
from base import Base
class Net(Base):
    def to_cpu(self):
        return super().to_cpu()
class Own(L.Linear):
    def to_gpu(self, device=None):
        self.n = device
class NoLink:
    def to_gpu(self):
        pass
""",
        }
    )
    assert "class Base(compat.MovedModule):" in results["base.py"].code
    assert "class Other(nn.Module):" in results["base.py"].code
    assert "class Net(Base):" in results["net.py"].code
    marked = [site for site in results["net.py"].sites if site.symbol == "chainer.Link.to_gpu"]
    assert [(site.line, site.state) for site in marked] == [(8, "review")]
