"""``self.x = cuda.to_gpu(self.x)`` in a class: what it moves itself is a tensor from the start, on the CPU as well."""

import numpy as np
import pytest

from chainer2torch.engine import Options, migrate_source, migrate_sources
from tests.support.native_snippets import run

PROGRAM = """
from chainer import cuda
import chainer.links as L

class Coder(BASE):
    def __init__(self, n):
        super().__init__()
        boxes = []
        for i in range(n):
            boxes.append((i, i + 0.5))
        START
        self.weights = None

    MODULE

    def to_cpu(self):
        self._boxes = cuda.to_cpu(self._boxes)
        self.weights = cuda.to_cpu(self.weights) if self.weights is not None else None

    def to_gpu(self, device=None):
        self._boxes = cuda.to_gpu(self._boxes, device)

    def decode(self, x):
        GIVE

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(2, 2, initialW=0.5)
        self.coder = Coder(1)
        self.mean = np.array([[3, 1.5]], 'f')

    def to_cpu(self):
        super().to_cpu()
        self.coder.to_cpu()
        self.mean = cuda.to_cpu(self.mean)

    def to_gpu(self, device=None):
        super().to_gpu(device)
        self.coder.to_gpu(device)
        self.mean = cuda.to_gpu(self.mean, device=device)

    def forward(self, x):
        return self.l(x - self.mean)

def run(xs):
    net = Net()
    first = net.coder.decode(net(xs[0]).array)
    net.to_cpu()
    second = net.coder.decode(net(xs[1]).array)
    return first, second, cuda.to_cpu(net.mean), net.mean.shape, str(net.coder._boxes.dtype), len(net.coder._boxes)
"""
MODULE = "@property\n    def xp(self):\n        return cuda.get_array_module(self._boxes)"
COPIED = """b = self._boxes.copy()
        b[:, :1] += x[:, :1] * 0.1 * self._boxes[:, 1:]
        b[:, 1:] *= self.xp.exp(x[:, 1:])
        return b"""
STARTS = [
    "self._boxes = np.stack(boxes)",
    "self._boxes = np.array(boxes, dtype=np.float32)",
    "self._boxes = np.asarray(boxes)[:, ::-1]",
    "held = np.array(boxes); self._boxes = held; held[0, 0] = 7",
]


def arrays(values):
    return [np.asarray(v.detach() if hasattr(v, "detach") else v) for v in values]


@pytest.mark.parametrize("base", ["object", "chainer.Chain"])
@pytest.mark.parametrize("start", STARTS)
def test_what_a_class_moves_itself_is_a_tensor(start, base):
    program = PROGRAM.replace("START", start).replace("BASE", base).replace("MODULE", MODULE).replace("GIVE", COPIED)
    theirs, ours, code = run(program)
    for one, other in zip(arrays(theirs[:4]), arrays(ours[:4]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
        assert one.dtype == other.dtype
    assert theirs[4:] == (ours[4].removeprefix("torch."), ours[5])
    assert isinstance(ours[2], np.ndarray) and "self._boxes = self._boxes.cpu()" in code, code
    assert "b = self._boxes.clone()" in code and "self.mean = self.mean.cpu()" in code, code


@pytest.mark.parametrize("give", ["return x + self._boxes", "return self.xp.maximum(x, self._boxes) * 2"])
def test_it_meets_tensors(give):
    program = PROGRAM.replace("START", STARTS[1]).replace("BASE", "object").replace("MODULE", MODULE)
    theirs, ours, _ = run(program.replace("GIVE", give))
    for one, other in zip(arrays(theirs[:3]), arrays(ours[:3]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_what_nobody_knows_stays_what_it_was():
    source = """
import chainer
import numpy as np
from chainer import cuda

class Coder:
    def __init__(self, boxes=None):
        self.boxes = boxes
        self.other = np.zeros(3)

    def reset(self, boxes):
        self.boxes = np.array(boxes)

    def to_cpu(self):
        self.boxes = cuda.to_cpu(self.boxes)
        self.other = cuda.to_cpu(self.other)

    def to_gpu(self):
        self.boxes = cuda.to_gpu(self.boxes)
"""
    code = migrate_source(source, options=Options(style="native")).code
    assert "self.boxes = np.array(boxes)" in code and "self.other = np.zeros(3)" in code, code
    assert "self.boxes = torch.as_tensor(self.boxes).detach().cpu().numpy()" in code, code


HANDED = """
from chainer import cuda

def iou(a, b):
    xp = cuda.get_array_module(a)
    return xp.minimum(a[:, None], b[None]).sum(axis=2)

class Coder:
    def __init__(self):
        self._boxes = np.arange(6, dtype='f').reshape(3, 2)

    def to_gpu(self):
        self._boxes = cuda.to_gpu(self._boxes)

    def encode(self, box, label):
        xp = cuda.get_array_module(self._boxes)
        found = iou(self._boxes * 2, box)
        masked = found.copy()
        masked[masked < 1] = 0
        best = masked.argmax(axis=1)
        index = xp.empty(len(self._boxes), dtype=int)
        index[:] = best
        kept = box[index].copy()
        kept = kept - self._boxes
        return found, masked, xp.exp(kept), label[index]

def run(xs):
    coder, box = Coder(), np.array([[1, 2], [3, 0.5]], 'f')
    iou(box, box)
    on_host = coder.encode(box, np.array([4, 7]))
    return [*on_host, *coder.encode(chainer.Variable(box).array, chainer.Variable(np.array([4, 7])).array)]
"""


def test_it_meets_arrays_of_the_host_and_results_that_nobody_knows():
    theirs, ours, code = run(HANDED)
    for one, other in zip(arrays(theirs), arrays(ours), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
        assert one.dtype == other.dtype
    assert "masked = compat.numpy_methods(found).copy()" in code, code


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("(box - self._boxes) / self._boxes[:, 1:]", "torch.as_tensor(box) - self._boxes"),
        ("self._boxes[:, :1] * box[:, :1]", "self._boxes[:, :1] * torch.as_tensor(box[:, :1])"),
        ("box ** self._boxes", "torch.as_tensor(box) ** self._boxes"),
    ],
)
def test_arrays_of_unknown_callers_meet_it(line, written):
    """``encode`` of a data set's transform hands arrays of NumPy, ``decode`` of the model tensors."""
    program = (
        HANDED.partition("    def encode")[0]
        + f"""
    def encode(self, box):
        return {line}

def run(xs):
    coder = eval('Coder()')
    given = eval('[np.ones((3, 2), "f") * 3, np.arange(6.0).reshape(3, 2)]')
    return [coder.encode(one) for one in given]
"""
    )
    theirs, ours, code = run(program)
    for one, other in zip(arrays(theirs), arrays(ours), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
        assert one.dtype == other.dtype
    assert written in code, code


def test_a_file_of_numpy_alone_is_handed_tensors():
    """And what nobody knows: its `copy` is decided when the program runs."""
    texts = {
        "boxes.py": "def resized(box, size):\n    box = box.copy()\n    box[:, 0] *= size\n    return box\n",
        "net.py": """
import chainer
import chainer.functions as F
from boxes import resized

def predict(x, boxes):
    y = F.relu(x).array
    return resized(y, 2), resized(boxes, 3)
""",
    }
    found = migrate_sources(texts, options=Options(style="native"))
    results = {path: one.code for path, one in found.items()}
    assert "box = compat.numpy_methods(box).copy()" in results["boxes.py"], results
    assert "import chainer_compat as compat" in results["boxes.py"]
