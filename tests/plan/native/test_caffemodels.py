"""A caffemodel that Chainer reads stays Chainer's, and so do its layers: their arrays are NumPy's."""

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options

NATIVE = Options(style="native")
PROGRAM = """
import chainer
import chainer.links as L
from chainer.links.caffe import CaffeFunction

class Small(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(3, 8, 3)
            self.bn = L.BatchNormalization(8)

def copied(path, x):
    src, dst = CaffeFunction(path), Small()
    dst.conv.W.data = src['a/conv'].W.data
    dst.conv.b.data[:] = src.conv.b.array
    dst.bn.avg_mean[:] = src.bn.avg_mean
    dst.bn.gamma.data[...] = getattr(src, 'a/scale').gamma.data[::-1]
    for child in src.children():
        if child.name == 'conv':
            dst.conv.b.data[:] = child.b.data
    y, = src(inputs={'data': x}, outputs=['fc'], train=False)
    return y.data.argmax(1)
"""


def test_layers_of_a_caffemodel_are_left():
    result = migrate_source(PROGRAM, options=NATIVE)
    for line in (
        "dst.conv.weight.data = torch.as_tensor(src['a/conv'].W.data)",
        "dst.conv.bias.detach()[:] = torch.as_tensor(src.conv.b.array)",
        "dst.bn.running_mean[:] = torch.as_tensor(src.bn.avg_mean)",
        "dst.bn.weight.detach()[...] = torch.as_tensor(getattr(src, 'a/scale').gamma.data[::-1].copy())",
        "for child in src.children():",
        "if child.name == 'conv':",
        "y, = src(inputs={'data': x}, outputs=['fc'], train=False)",
    ):
        assert line in result.code, result.code
    assert "compat.link" not in result.code
    assert [site.symbol for site in result.sites if site.state == "manual"] == ["chainer.links.caffe.CaffeFunction"]
    assert migrate_source(result.code, options=NATIVE).code == result.code


def test_a_class_of_the_program_s_own_keeps_its_base():
    code = migrate_source(PROGRAM + "\nclass Own(CaffeFunction):\n    pass\n", options=NATIVE).code
    assert "class Own(CaffeFunction)" in code, code
