"""A port by hand with other files, classes, arguments and layers: a short map says what stands for what."""

import pytest

from chainer2torch.verify.models.verify_models import ModelsError, verify_models

NET = """
import chainer
import chainer.functions as F
import chainer.links as L


class Attention(chainer.Chain):
    def __init__(self, n_units, n_layers):
        super(Attention, self).__init__()
        self.n_layers = n_layers
        with self.init_scope():
            for i in range(n_layers):
                setattr(self, 'q%d' % i, L.Linear(n_units, n_units))
                setattr(self, 'k%d' % i, L.Linear(n_units, n_units))
            self.spare = L.Linear(2, 2)

    def encode(self, x):
        batch, length, units = x.shape
        h = x.reshape(batch * length, units)
        for i in range(self.n_layers):
            h = F.tanh(self['q%d' % i](h) * self['k%d' % i](h))
        return F.mean(h.reshape(batch, length, units), axis=1)


class Head(chainer.Chain):
    def __init__(self):
        super(Head, self).__init__()
        with self.init_scope():
            self.fc = L.Linear(4, 3)

    def forward(self, x):
        return self.fc(x)
"""
PORT = """
import torch
import torch.nn as nn


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.both = nn.Linear(width, 2 * width)

    def forward(self, h):
        q, k = self.both(h).chunk(2, dim=-1)
        return torch.tanh(q * k)


class SelfAttention(nn.Module):
    def __init__(self, depth, width):
        super().__init__()
        self.layers = nn.ModuleList(Layer(width) for _ in range(depth))

    def forward(self, h):
        for layer in self.layers:
            h = layer(h)
        return h.mean(dim=0)


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(x)


class Tall(Head):
    def forward(self, x):
        x = x.reshape(1, len(x), 4)
        return 2 * self.fc(x.transpose(0, 1)).reshape(-1, 3)
"""
MAP = """
[[model]]
target = "net:Attention"
args = [4, 2]
inputs = ["f32[3,5,4]"]
call = "model.encode(x0)"
port = "models.attention:SelfAttention"
port_kwargs = { width = 4, depth = 2 }
port_call = "model(x0.transpose(0, 1))"

[names]
"q{i}/W" = "layers.{i}.both.weight[1/2]"
"q{i}/b" = "layers.{i}.both.bias[1/2]"
"k{i}/W" = "layers.{i}.both.weight[2/2]"
"k{i}/b" = "layers.{i}.both.bias[2/2]"
"spare" = ""
"""
HEAD = '[[model]]\ntarget = "net:Head"\ninputs = ["f32[5,4]"]\n'


@pytest.fixture
def trees(tmp_path):
    src, out = tmp_path / "src", tmp_path / "port"
    (out / "models").mkdir(parents=True)
    src.mkdir()
    (src / "net.py").write_text(NET)
    (out / "models" / "attention.py").write_text(PORT)
    return src, out


def _verified(trees, text, *names):
    (trees[0] / "map.toml").write_text(text)
    report = verify_models(*trees, names, steps=1, timeout=200, map_file=trees[0] / "map.toml")
    return report, "\n".join(report.lines(verbose=True))


def test_a_map_names_the_class_its_arguments_its_call_and_parts_of_its_parameters(trees):
    report, text = _verified(trees, MAP, "Attention")
    assert report.exit_code == 0 and report.classes() == {"net:Attention": "proved"}, text
    assert "names: 8 by the table" in text and "names: spare has no counterpart, by the table" in text


@pytest.mark.parametrize(
    "wrong",
    [
        ("both.weight[1/2]", "both.weight[2/2]", "both.weight[2/2]", "both.weight[1/2]"),
        ("model(x0.transpose(0, 1))", "model(x0[:, [1, 0, 2, 3, 4]].transpose(0, 1))[[1, 0, 2]]"),
    ],
)
def test_what_a_map_says_wrongly_differs(trees, wrong):
    swapped = MAP
    if len(wrong) == 2:
        swapped = MAP.replace(*wrong)
    else:  # the weights of q and k change places, the biases do not
        swapped = MAP.replace(wrong[0], "@").replace(wrong[2], wrong[3]).replace("@", wrong[1])
    assert swapped != MAP
    report, text = _verified(trees, swapped, "Attention")
    assert report.classes() == {"net:Attention": "differs"}, text


def test_a_part_that_a_parameter_does_not_have(trees):
    report, text = _verified(trees, MAP.replace("[2/2]", "[3/2]"), "Attention")
    assert report.classes() == {"net:Attention": "raises"} and "has no such part" in text


def test_the_only_class_of_a_name_is_found_wherever_it_is(trees):
    report, text = _verified(trees, "", "Head")
    assert report.classes() == {"net:Head": "proved"}, text
    assert "net:Head: compared with models.attention:Head, the only class of this name" in text


def test_classes_of_other_names_stand_in_a_table(trees):
    report, text = _verified(trees, '[classes]\n"net:Head" = "models.attention:Tall"\n', "Head")
    assert report.classes() == {"net:Head": "differs"}
    # The layer itself is equal, in another layout.
    assert "every link's output is equal, the model's own is not: the difference comes after /fc" not in text
    report, text = _verified(trees, HEAD + 'port = "models.attention:Tall"\n[names]\n"fc/W" = "fc.weight"\n', "Head")
    assert "every link's output is equal, the model's own is not: the difference comes after /fc" in text


def test_several_namesakes_are_named(trees):
    (trees[1] / "other.py").write_text("import torch.nn as nn\nclass Head(nn.Module): pass\n")
    report, text = _verified(trees, "", "Head")
    assert "others have one: models.attention:Head, other:Head; a map names another: [classes]" in text


@pytest.mark.parametrize(
    "text, words",
    [
        ("[[modell]]\n", "did you mean `model`"),
        ('[classes]\n"net:Head" = "Tall"\n', "`classes` has lines such as"),
        (HEAD + "port = 3\n", '`port` is written "module:Class"'),
    ],
)
def test_a_wrong_map_says_what_is_wrong(trees, text, words):
    with pytest.raises(ModelsError, match=words) as error:
        _verified(trees, text)
    assert "map.toml" in str(error.value)
