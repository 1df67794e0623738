"""What is written into parameters of links that nobody knows, and what looks inside of links."""

import pytest

from chainer2torch.engine import migrate_source, migrate_sources

HEAD = "import chainer\nimport chainer.links as L\nimport numpy as np\n"
NET = HEAD + "class Net(chainer.Chain):\n    def f(self, x):\n        "


@pytest.mark.parametrize(
    "code",
    [
        "return self.__dict__",
        "return vars(self)",
        "return self._children",
        "return [p for p in self._params]",
    ],
)
def test_the_inside_of_a_link_is_elsewhere(code):
    result = migrate_source(NET + code + "\n")
    assert code in result.code and [s.state for s in result.sites][1:] == ["manual"]
    assert "named_children()" in result.code
    assert migrate_source(result.code).code == result.code


def test_in_a_file_that_does_not_name_chainer():
    results = migrate_sources(
        {
            "base.py": "import chainer\nclass Base(chainer.Chain):\n    pass\n",
            "net.py": "from base import Base\nclass Net(Base):\n    def f(self):\n        return self.__dict__\n",
        }
    )
    assert "C2T200" in results["net.py"].code


def test_of_what_is_not_known_only_beside_links():
    beside = migrate_source(HEAD + "def f(a, b):\n    for l in a.namedlinks():\n        b.__dict__[l] = 1\n")
    assert "review" in [s.state for s in beside.sites]
    alone = HEAD + "def f(a, b):\n    return a.__dict__, vars(b), chainer.Variable(a)\n"
    assert "__dict__:" not in migrate_source(alone).code


@pytest.mark.parametrize(
    "before, after",
    [
        (
            "net.l.W.data[...] = np.zeros(3)",
            "compat.link_attribute(net.l, 'W').detach()[...] = torch.as_tensor(np.zeros(3))",
        ),
        ("net.l.data[0] = 3", "net.l.data[0] = 3"),
        ("np.copyto(net.l.W.data, w)", "compat.copyto(compat.link_attribute(net.l, 'W').detach(), w)"),
        ("np.copyto(w, net)", "np.copyto(w, net)"),
        (
            "w = net.l.W.data[:, ::-1]",
            "w = torch.flip(compat.link_attribute(net.l, 'W').detach(), (1,))",
        ),
    ],
)
def test_arrays_of_parameters(before, after):
    result = migrate_source(HEAD + f"v = chainer.Variable(w)\ndef f(net, w):\n    {before}\n")
    assert f"    {after}\n" in result.code


def test_cupy_by_its_own_name():
    result = migrate_source(
        "import cupy as xp\nfrom cupy import cuda\nx = xp.zeros(3)\nwith cuda.Device(0):\n    pass\n"
    )
    assert "compat.array_module('cuda').zeros(3)" in result.code and "import cupy as xp" not in result.code
    assert "with compat.find_device(0):" in result.code
    assert result.left == 0 and {s.state for s in result.sites} == {"review"}


def test_what_no_array_has_is_no_array():
    """Of a model that nobody knows the result is taken for a tensor, until it is asked for what no tensor has."""
    code = migrate_source(
        HEAD + "class A(chainer.Chain):\n    def f(self, x):\n"
        "        y = self.model(x)\n        return y.entropy.array\n"
    ).code
    assert "return y.entropy.detach()" in code
    assert migrate_source(code).code == code


@pytest.mark.parametrize("read, helper", [("a.array", "compat.array_of(a)"), ("a.xp", "compat.xp_of(a)")])
def test_an_array_less_something_is_no_array_for_sure(read, helper):
    """It is a Variable if the something is one: what no array has is looked up at run time, not passed over."""
    result = migrate_source(HEAD + f"def f(values):\n    a = np.zeros(3) - values\n    return {read}\n")
    assert f"return {helper}" in result.code and any(s.line == 6 and s.code == "C2T390" for s in result.sites)


def test_members_of_objects_of_libraries_on_chainer():
    result = migrate_source(
        HEAD + "import chainerrl\n\nclass Agent:\n    def __init__(self, p, v):\n"
        "        self.model = chainerrl.links.Branched(p, v)\n\n    def f(self):\n"
        "        return self.model.xp\n"
    )
    assert "return compat.xp_of(self.model)" in result.code
    again = migrate_source(result.code)
    assert again.code == result.code


def test_a_backward_that_keeps_its_graph_stays_so():
    result = migrate_source(
        HEAD + "def train(model, opt, x):\n    loss = model(x)\n    for i in range(2):\n"
        "        loss.backward()\n        opt.update()\n    return loss.data\n"
    )
    assert "loss.backward(retain_graph=True)" in result.code
    assert migrate_source(result.code).code == result.code
