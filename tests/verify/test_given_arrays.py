"""A model that is made from an array: under PyTorch that may have to be a tensor, or the array of NumPy that it was."""

from chainer2torch.verify.judge.outcome import FAILED
from chainer2torch.verify.models.entries import Code
from tests.support.model_batch import verify

NET = """
import chainer
import chainer.functions as F
import chainer.links as L


class Shared(chainer.Chain):
    def __init__(self, W):
        super(Shared, self).__init__()
        self.W = W
        with self.init_scope():
            self.fc = L.Linear(8, 8)

    def forward(self, x):
        return F.linear(self.fc(x), self.W)
"""
PORT = """
import torch.nn as nn
import torch.nn.functional as F


class Shared(nn.Module):
    def __init__(self, W):
        super().__init__()
        self.W = W
        self.fc = nn.Linear(8, 8)
        nn.init.kaiming_normal_(self.fc.weight, nonlinearity="linear")
        nn.init.zeros_(self.fc.bias)

    def forward(self, x):
        return F.linear(self.fc(x), self.W)
"""
OF_ARRAYS = PORT.replace("self.W = W", "self.W = torch.from_numpy(W)").replace(
    "import torch.nn as", "import torch\nimport torch.nn as"
)


def test_both_are_tried(tmp_path):
    ports = {"tensors": PORT, "arrays": OF_ARRAYS, "wrong": PORT.replace("self.fc(x),", "-self.fc(x),")}
    model = {None: ("Shared", [Code("numpy.tri(8, dtype=numpy.float32)")], {"x": "f32[4,8]"})}
    found = verify(tmp_path, NET, ports, model, modes=["train"], steps=0)
    assert {name: status for name, (status, _) in found.items() if name == "wrong"} == {"wrong": FAILED}
    said = {name: "made from tensors" in text for name, (_, text) in found.items()}
    assert said == {"tensors": True, "arrays": False, "wrong": True}, found
    assert FAILED not in (found["arrays"][0], found["tensors"][0]), found
