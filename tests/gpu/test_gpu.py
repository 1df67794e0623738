"""What needs a GPU: moving, device contexts, xp on the GPU, training there, and both sides of verify with it.

``python -m pytest tests/gpu -m gpu`` on a machine with a CUDA device, PyTorch for it, and CuPy.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from chainer2torch.compat.functions import normalization
from chainer2torch.compat.links import n_step_links, normalization_links
from chainer2torch.compat.optimizers import adam
from chainer2torch.engine import migrate_source
from chainer2torch.native import array_module, layers, n_step
from chainer2torch.verify.worker import compat_module
from chainer2torch.verify.judge import pairs
from chainer2torch.verify.models.verify_models import verify_models
from chainer2torch.verify.judge.outcome import FAILED, PASSED, UNVERIFIED, Pair
from chainer2torch.verify.judge.pairs import run_pairs
from chainer2torch.verify.rules.verify_rules import verify_rules
from chainer2torch.verify.script.verify_script import verify_script

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    "chainer.functions.leaky_relu",
    "chainer.functions.softmax_cross_entropy",
    "chainer.functions.max_pooling_2d",
    "chainer.functions.average_pooling_2d",
    "chainer.functions.dropout",
    "chainer.functions.concat",
    "chainer.links.Linear",
    "chainer.links.Convolution2D",
    "chainer.links.BatchNormalization",
    "chainer.links.EmbedID",
    "chainer.links.LSTM",
]


@pytest.fixture
def compat(monkeypatch):
    """The helpers under the name that emitted code uses."""
    for name in ("chainer_compat",):
        monkeypatch.delitem(sys.modules, name, raising=False)
    compat_module.install(str(pairs.COMPAT_DIR))
    yield sys.modules["chainer_compat"]
    del sys.modules["chainer_compat"]


@pytest.fixture(scope="module")
def cuda():
    """Chainer's module of GPU tools; its side of the comparison needs CuPy."""
    pytest.importorskip("cupy")
    from chainer.backends import cuda

    assert cuda.available, cuda._resolution_error
    return cuda


def _float32_only():
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False


# Moving


def test_arrays_go_to_the_gpu_and_back(compat, cuda):
    x, y = np.arange(6, dtype="f").reshape(2, 3), np.array([True, False])
    for value in (x, [x, y], (x, None), x[:, ::2], x[::-1], np.float32(2)):
        moved, expected = compat.to_gpu(value), cuda.to_gpu(value)
        back, again = compat.to_cpu(moved), cuda.to_cpu(expected)
        assert type(back) is type(again)
        for a, b in zip(
            back if isinstance(value, (list, tuple)) else [back],
            again if isinstance(value, (list, tuple)) else [again],
            strict=True,
        ):
            assert (a is None and b is None) or (a.dtype == b.dtype and np.array_equal(a, b))
    tensor = compat.to_gpu(x, 0)
    assert tensor.is_cuda and tensor.device.index == 0
    assert compat.to_gpu(tensor) is tensor


def test_a_variable_moves_itself(compat):
    x = compat.variable(np.ones((2, 3), "f"))
    compat.move_variable(x, "cuda")
    assert x.is_cuda and x.is_leaf
    x.requires_grad_()
    (x * 3).sum().backward()
    assert x.grad.is_cuda and torch.equal(x.grad.cpu(), torch.full((2, 3), 3.0))


def test_a_module_keeps_its_parameters_when_it_moves():
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    before = [id(p) for p in module.parameters()]
    assert module.cuda() is module  # as Link.to_gpu, which returns the link
    assert [id(p) for p in module.parameters()] == before  # an optimizer made before still updates them
    assert all(value.is_cuda for value in module.state_dict().values())


def test_device_contexts(compat):
    assert compat.get_device(0) == torch.device("cuda", 0) == compat.get_device("@cupy:0")
    with compat.using_device(0):
        assert torch.cuda.current_device() == 0
    assert compat.use_device(0) == torch.device("cuda", 0)
    tensor = torch.zeros(2, device="cuda")
    assert compat.find_device(np.zeros(2), tensor) == tensor.device
    compat.check_cuda_available()


XP = {
    "zeros": lambda xp, x: xp.zeros((2, 3), dtype=np.float32),
    "arange": lambda xp, x: xp.arange(5),
    "asarray": lambda xp, x: xp.asarray([[1, 2], [3, 4]], dtype=np.int32),
    "full": lambda xp, x: xp.full((2,), 3.5, dtype=np.float32),
    "exp": lambda xp, x: xp.exp(x),
    "maximum": lambda xp, x: xp.maximum(x, 0),
    "where": lambda xp, x: xp.where(x > 0, x, x * 2),
    "sum": lambda xp, x: xp.sum(x, axis=1, keepdims=True),
    "argmax": lambda xp, x: xp.argmax(x, axis=0),
    "concatenate": lambda xp, x: xp.concatenate([x, x], axis=1),
    "dot": lambda xp, x: xp.dot(x, x.T),
    "transpose": lambda xp, x: xp.transpose(x, (1, 0)),
    "clip": lambda xp, x: xp.clip(x, -0.5, 0.5),
    "zeros_like": lambda xp, x: xp.zeros_like(x),
    "sort": lambda xp, x: xp.sort(x, axis=1),
    "mean": lambda xp, x: xp.mean(x),
    "sqrt": lambda xp, x: xp.sqrt(xp.abs(x)),
    "linspace": lambda xp, x: xp.linspace(0, 1, 5),
    "eye": lambda xp, x: xp.eye(3, dtype=np.float32),
    "stack": lambda xp, x: xp.stack([x, x]),
}


@pytest.mark.parametrize("name", XP)
def test_xp_on_the_gpu(compat, cuda, name):
    _float32_only()
    host = np.random.RandomState(0).standard_normal((3, 4)).astype("f")
    x = compat.to_gpu(host)
    xp = compat.array_module(x)
    actual, expected = XP[name](xp, x), XP[name](cuda.cupy, cuda.to_gpu(host))
    assert isinstance(actual, torch.Tensor) and actual.is_cuda
    expected = cuda.to_cpu(expected)
    assert str(actual.dtype) == f"torch.{expected.dtype}" and tuple(actual.shape) == expected.shape
    np.testing.assert_allclose(actual.cpu().numpy(), expected, rtol=1e-5, atol=1e-6)


# What only a GPU showed once


WRITES = ["xp.exp(x, out=x)", "xp.add(x, 2 * x, x)", "xp.sum(y, 0, out=x)", "xp.copyto(x, y[1], where=x > 1)"]


@pytest.mark.parametrize("use", WRITES)
def test_an_array_module_writes_into_an_array_on_the_gpu(use):
    x, y = np.arange(3, dtype="f"), np.arange(9, dtype="f").reshape(3, 3) / 5
    mine, other = torch.from_numpy(x.copy()).cuda(), torch.from_numpy(y.copy()).cuda()
    eval(use, {"xp": np, "x": x, "y": y})
    result = eval(use, {"xp": array_module.array_module(mine), "x": mine, "y": other})
    assert result is None or result is mine
    np.testing.assert_allclose(mine.cpu(), x, rtol=1e-6)


def test_a_copy_to_the_host_waits(compat):
    x = torch.randn(4096, 4096, device="cuda")
    for _ in range(8):
        x = x @ x / 64
    assert np.array_equal(compat.to_device("@numpy", x).numpy().copy(), x.cpu().numpy())


@pytest.mark.parametrize("style", ["faithful", "native"])
@pytest.mark.parametrize("training", [True, False])
def test_a_normalization_with_a_bias_alone_has_gradients(style, training):
    layer = (
        normalization_links.BatchNormalization(3, use_gamma=False)
        if style == "faithful"
        else layers.BatchNorm(3, weight=False)
    ).cuda()
    layer.train(training)
    x = torch.randn(4, 3, 2, 2, device="cuda", requires_grad=True)
    (layer(x) * x.detach()).sum().backward()
    assert x.grad is not None and torch.isfinite(x.grad).all() and layer.bias.grad.abs().sum() > 0
    assert [name for name, _ in layer.named_parameters()] == ["bias"] and "weight" not in layer.state_dict()


@pytest.mark.parametrize("module", [n_step_links, n_step])
def test_recurrent_layers_have_gradients_in_eval_mode(module):
    layer = module.NStepLSTM(2, 4, 3, 0.5)
    xs = [torch.randn(n, 4) for n in (3, 2)]
    grads = []
    for device in ("cpu", "cuda"):
        layer.to(device).eval().zero_grad()
        layer(None, None, [x.to(device) for x in xs])[2][0].sum().backward()
        grads.append([p.grad.cpu().numpy() for p in layer.parameters()])
    for cpu, gpu in zip(*grads, strict=True):
        np.testing.assert_allclose(gpu, cpu, rtol=1e-4, atol=1e-6)


def test_adam_is_the_same_when_the_default_is_float64():
    torch.set_default_dtype(torch.float64)
    try:
        found = []
        for device in ("cpu", "cuda"):
            param = torch.nn.Parameter(torch.ones(3, device=device))
            optimizer = adam.Adam(alpha=0.1, params=[param])
            for _ in range(3):
                param.grad = torch.full_like(param, 0.5)
                optimizer.update()
            found.append(param.detach().cpu().numpy())
        np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_response_normalization_has_the_window_of_the_device(cuda, n):
    from chainer import functions

    x = np.random.RandomState(0).standard_normal((2, 7, 3, 2)).astype("f")
    expected = cuda.to_cpu(functions.local_response_normalization(cuda.to_gpu(x), n, alpha=0.3).array)
    actual = normalization.local_response_normalization(torch.from_numpy(x).cuda(), n, alpha=0.3)
    np.testing.assert_allclose(actual.cpu().numpy(), expected, rtol=1e-5)


# Training

TRAIN = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import cuda


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(2, 4, 3, pad=1, initialW=0.1, initial_bias=0.05)
            self.bn = L.BatchNormalization(4)
            self.fc = L.Linear(64, 3, initialW=0.02, initial_bias=0.1)

    def forward(self, x):
        h = F.max_pooling_2d(F.leaky_relu(self.bn(self.conv(x))), 2, 2)
        return self.fc(h)


def train(gpu):
    model = Net()
    if gpu >= 0:
        cuda.get_device_from_id(gpu).use()
        model.to_gpu()
    xp = model.xp
    optimizer = chainer.optimizers.MomentumSGD(0.05)
    optimizer.setup(model)
    rng = np.random.RandomState(0)
    losses = []
    for i in range(5):
        x = chainer.Variable(xp.asarray(rng.standard_normal((6, 2, 8, 8)).astype('f')))
        t = xp.asarray(rng.randint(0, 3, 6).astype('i'))
        loss = F.softmax_cross_entropy(model(x), t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        losses.append(float(loss.data))
    return losses, cuda.to_cpu(model.conv.W.data), cuda.to_cpu(model.bn.avg_var)
"""


def test_training_on_the_gpu_equals_the_cpu_and_chainer(compat, cuda):
    _float32_only()
    migrated: dict = {}
    exec(migrate_source(TRAIN).code, migrated)
    original: dict = {}
    exec(TRAIN, original)
    runs = [migrated["train"](0), migrated["train"](-1), original["train"](0), original["train"](-1)]
    assert runs[0][0][0] != runs[0][0][-1]
    for run in runs[1:]:
        for a, b in zip(runs[0], run, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5)


# Verify


def _pair(name, before, after, given, **options):
    names = ", ".join(given)
    head = "import chainer.functions as F\n", "import torch\nimport torch.nn.functional as F\n"
    return Pair(
        name,
        name,
        name,
        f"{head[0]}\ndef run({names}):\n    return {before}\n",
        f"{head[1]}\ndef run({names}):\n    return {after}\n",
        given,
        **options,
    )


def test_pairs_on_the_gpu(cuda):
    """Equal and different pairs; an assertion in a kernel fails its own case and no other; results' places count."""
    x = {"x": "f32[3,4]"}
    batch = run_pairs(
        [
            _pair("equal", "F.softmax(x)", "torch.softmax(x, 1)", x),
            _pair("double", "F.matmul(x, x, transb=True)", "x @ x.T", {"x": "f32[40,30]"}, dtype="float64"),
            _pair("tf32", "F.matmul(x, x, transb=True)", "x @ x.T", {"x": "f32[200,300]"}, strided=True),
            _pair("fault", "F.softmax(x)", "torch.softmax(x, 0)", x),
            _pair("assertion", "F.sum(x, axis=0)", "x[torch.tensor([99], device=x.device)].sum(0)", x),
            _pair("after it", "x * 2", "x * 2", x),
            _pair("place", "x * 2", "(x * 2).cpu()", x),
            _pair("mixed", "x * 2", "x * torch.full((4,), 2.0)", x),
            _pair("error", "F.reshape(x, (5,))", "x.reshape(5)", x, raises=True),
            _pair("Chainer's error", "F.reshape(x, (5,))", "x", x),
            _pair("dropout", "F.dropout(x, 0.3)", "F.dropout(x, 0.3)", x, compare="moments"),
        ],
        device="cuda",
        timeout=300,
    )
    assert batch.problems == []
    found = {outcome.pair.id: outcome for outcome in batch.outcomes}
    expected = {
        "fault": FAILED,
        "assertion": FAILED,
        "place": FAILED,
        "mixed": FAILED,
        "error": UNVERIFIED,
        "Chainer's error": UNVERIFIED,
    }
    assert {name: o.status for name, o in found.items()} == {name: expected.get(name, PASSED) for name in found}, {
        name: o.reasons for name, o in found.items()
    }
    assert "on the CPU" in found["place"].reasons[0]


def test_rules_on_the_gpu(cuda):
    report = verify_rules(ROWS, device="cuda", timeout=500)
    assert report.exit_code == 0, "\n".join(report.lines(verbose=True))
    passed = {outcome.pair.row for outcome in report.outcomes if outcome.status == PASSED and outcome.compared}
    assert passed >= set(ROWS), "\n".join(report.lines(verbose=True))
    assert (
        "device cuda" in report.lines()[-1]
        and "cupy" in report.lines()[-1]
        and "TF32 (PyTorch side) off" in (report.lines()[-1])
    )


PYPROJECT = """
[[tool.chainer2torch.verify.model]]
target = "net:Net"
inputs = ["f32[6,2,8,8]"]
"""


@pytest.mark.parametrize("fault", [False, True])
def test_models_on_the_gpu(cuda, tmp_path, fault):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "net.py").write_text(TRAIN)
    (tmp_path / "src" / "pyproject.toml").write_text(PYPROJECT)
    _migrate(tmp_path / "src", tmp_path / "out")
    emitted = tmp_path / "out" / "net.py"
    assert "negative_slope=0.2" in emitted.read_text()
    if fault:
        emitted.write_text(emitted.read_text().replace("negative_slope=0.2", "negative_slope=0.3"))
    report = verify_models(tmp_path / "src", tmp_path / "out", device="cuda", timeout=300)
    assert report.exit_code == (1 if fault else 0), "\n".join(report.lines(verbose=True))
    if fault:
        assert "first diverging link: /fc" in "\n".join(report.lines())


def _migrate(src, out):
    done = subprocess.run(
        [sys.executable, "-m", "chainer2torch", "migrate", str(src), "-o", str(out), "-q"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert out.is_dir(), done.stdout + done.stderr


@pytest.mark.parametrize(
    "fixture, argv",
    [
        ("mlp_trainer", ["train.py", "-g", "0", "-e", "2"]),
    ],
)
def test_scripts_on_the_gpu(cuda, tmp_path, fixture, argv):
    _migrate(ROOT / "fixtures" / fixture, tmp_path / "out")
    report = verify_script(ROOT / "fixtures" / fixture, tmp_path / "out", argv, device="cuda", iterations=10)
    assert report.exit_code == 0, "\n".join(report.lines())
    argv = [part for part in argv if part not in ("-g", "0")]
    report = verify_script(ROOT / "fixtures" / fixture, tmp_path / "out", argv, device="cuda", iterations=2)
    assert "no parameter was on the GPU" in "\n".join(report.lines())
