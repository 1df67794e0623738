"""Models of the native style: no helpers where none is needed; they compile, export, trace, copy and pickle."""

import copy
import importlib.util
import pickle
import re
import sys
from unittest import mock
from pathlib import Path

import pytest
import torch
from torch import nn

from chainer2torch.engine import migrate_sources
from chainer2torch.plan.options import Options
from chainer2torch.rules.table import load_rules
from chainer2torch.vendor import compat_file

FIXTURES = Path(__file__).parents[2] / "fixtures"
HEAD = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\nimport numpy as np\n"
VERSION_1 = """
class Net(chainer.Chain):
    def __init__(self, n_units=8, n_out=3):
        super(Net, self).__init__(
            conv=L.Convolution2D(3, 4, 3, initialW=chainer.initializers.HeNormal()),
            bn=L.BatchNormalization(4),
            l1=L.Linear(None, n_units, initialW=chainer.initializers.Normal(0.1)),
            l2=L.Linear(n_units, n_out, initial_bias=0.5),
        )
    def __call__(self, x):
        h = F.relu(self.bn(self.conv(x)))
        return self.l2(F.tanh(self.l1(h)))
"""
DCGAN = """
class Net(chainer.Chain):
    def __init__(self, n_hidden=6, ch=8, wscale=0.02, use_bn=True):
        super().__init__()
        self.ch = ch
        self.use_bn = use_bn
        with self.init_scope():
            w = chainer.initializers.Normal(wscale)
            self.l0 = L.Linear(n_hidden, 4 * 4 * ch, initialW=w)
            self.dc1 = L.Deconvolution2D(ch, ch // 2, 4, 2, 1, initialW=w)
            self.dc2 = L.Deconvolution2D(ch // 2, 3, 4, 2, 1, initialW=w, initial_bias=0.1)
            if use_bn:
                self.bn0 = L.BatchNormalization(4 * 4 * ch)
                self.bn1 = L.BatchNormalization(ch // 2, use_gamma=False)
    def forward(self, z):
        h = F.relu(self.bn0(self.l0(z)))
        h = F.reshape(h, (-1, self.ch, 4, 4))
        return F.sigmoid(self.dc2(F.relu(self.bn1(self.dc1(h)))))
"""
RESNET = """
class Block(chainer.Chain):
    def __init__(self, n_in, n_out, stride=1):
        super().__init__()
        init = chainer.initializers.HeNormal()
        with self.init_scope():
            self.conv1 = L.Convolution2D(n_in, n_out, 3, stride, 1, nobias=True, initialW=init)
            self.bn1 = L.BatchNormalization(n_out)
            self.conv2 = L.Convolution2D(n_out, n_out, 3, 1, 1, nobias=True, initialW=init)
            self.bn2 = L.BatchNormalization(n_out)
            self.conv3 = L.Convolution2D(n_in, n_out, 1, stride, 0, nobias=True, initialW=init)
    def __call__(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(h)) + self.conv3(x))

class Stack(chainer.ChainList):
    def __init__(self, *blocks):
        super().__init__(*blocks)
    def __call__(self, x):
        for block in self:
            x = block(x)
        return x

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(3, 4, 3, pad=1)
            self.blocks = Stack(Block(4, 4), Block(4, 8, 2))
            self.head = chainer.Sequential(L.Linear(8, 6), F.relu, L.Linear(6, 3))
    def forward(self, x):
        h = self.blocks(F.relu(self.conv(x)))
        return self.head(F.average(h, axis=(2, 3)))
"""
CELLS = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(9, 5, ignore_label=-1)
            self.cell = L.StatelessLSTM(5, 4)
            self.out = L.Linear(4, 3)
    def forward(self, x):
        c, h = self.cell(None, None, self.embed(x))
        return self.out(h)
"""
SOURCES = {
    "cnn_loop": ((FIXTURES / "cnn_loop" / "models.py").read_text(encoding="utf-8"), "StripeNet()", (4, 3, 13, 13)),
    "mlp_trainer": ((FIXTURES / "mlp_trainer" / "net.py").read_text(encoding="utf-8"), "MLP(5, 3)", (4, 6)),
    "version 1": (HEAD + VERSION_1, "Net()", (4, 3, 7, 7)),
    "dcgan": (HEAD + DCGAN, "Net()", (4, 6)),
    "resnet": (HEAD + RESNET, "Net()", (4, 3, 9, 9)),
    "cells": (HEAD + CELLS, "Net()", (4,)),
}


@pytest.fixture(scope="module")
def migrated():
    rules = load_rules(style="native")
    return {
        name: migrate_sources({"net.py": text}, rules=rules, options=Options(style="native"))["net.py"]
        for name, (text, _, _) in SOURCES.items()
    }


@pytest.fixture
def model(request, migrated, tmp_path, monkeypatch):
    """The migrated model, after one call, and an input."""
    result = migrated[request.param]
    _, made, shape = SOURCES[request.param]
    assert result.error is None
    # names of their own: torch.compile remembers modules by their names
    prefix = re.sub(r"\W", "_", request.param)
    texts = {
        f"{prefix}_compat": compat_file.build(result.helpers, style="native"),
        f"{prefix}_net": result.code.replace("import chainer_compat", f"import {prefix}_compat"),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
    torch.manual_seed(0)
    x = torch.randint(0, 9, shape) if request.param == "cells" else torch.randn(shape)
    net = eval(made, vars(sys.modules[f"{prefix}_net"]))
    untouched = pickle.loads(pickle.dumps(copy.deepcopy(net)))
    net(x)
    untouched.load_state_dict(net.state_dict())
    assert torch.equal(untouched.eval()(x), net.eval()(x))
    return net, x


EVERY = pytest.mark.parametrize("model", SOURCES, indirect=True)


@EVERY
@pytest.mark.parametrize("training", [True, False])
def test_compiled_as_one_graph(model, training):
    net, x = model
    net.train(training)
    torch._dynamo.reset()
    compiled = torch.compile(copy.deepcopy(net), fullgraph=True, backend="eager")
    torch.manual_seed(1)
    expected = net(x)
    torch.manual_seed(1)
    assert torch.allclose(compiled(x), expected, atol=1e-6)


@EVERY
def test_exported(model):
    net, x = model
    assert torch.allclose(torch.export.export(net, (x,)).module()(x), net(x), atol=1e-6)


@EVERY
def test_traced(model):
    net, x = model
    assert torch.allclose(torch.fx.symbolic_trace(net)(x), net(x), atol=1e-6)


@EVERY
def test_copied_and_pickled_after_a_call(model):
    net, x = model
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert torch.equal(other(x), net(x)) and not set(map(id, other.parameters())) & set(map(id, net.parameters()))


@pytest.mark.parametrize(
    ("name", "helpers"),
    [
        ("cnn_loop", set()),
        ("mlp_trainer", set()),
        ("version 1", set()),
        ("dcgan", {"BatchNorm"}),
        ("resnet", set()),
        ("cells", {"Embedding", "StatelessLSTM"}),
    ],
)
def test_few_helpers(name, helpers, migrated):
    used = set(re.findall(r"\bcompat\.(\w+)", migrated[name].code))
    assert used - {"Linear"} == helpers  # what reaches the layers of a Sequential is not always known


def test_what_they_read_like(migrated):
    body = migrated["resnet"].code
    assert "class Stack(nn.ModuleList):" in body and "super().__init__(blocks)" in body
    last = r"init_weights\(nn.Linear\(6, 3\)\)"
    head = rf"self.head = nn.Sequential\((init_weights\()?\w+.Linear\(8, 6\)\)?, nn.ReLU\(\), {last}\)"
    assert re.search(head, body)
    loop = "        for layer in (self.conv1, self.conv2, self.conv3):\n            init(layer.weight)\n"
    assert loop in body
    assert "nn.init.kaiming_normal_(self.conv.weight, nonlinearity='relu')" in migrated["version 1"].code
    assert "nn.init.constant_(self.dc2.bias, 0.1)" in migrated["dcgan"].code


def test_first_values_of_migrated_models(migrated, tmp_path, monkeypatch):
    result = migrated["dcgan"]
    space = {}
    (tmp_path / "chainer_compat.py").write_text(compat_file.build(result.helpers, style="native"), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with mock.patch.dict(sys.modules):  # the module of another test may be there, and this one goes again
        sys.modules.pop("chainer_compat", None)
        exec(result.code, space)
    net = space["Net"](n_hidden=64, ch=32, wscale=0.3)
    assert net.l0.weight.std().item() == pytest.approx(0.3, rel=0.05) and (net.l0.bias == 0).all()
    assert (net.dc2.bias == 0.1).all() and isinstance(net.bn0, nn.BatchNorm1d)
