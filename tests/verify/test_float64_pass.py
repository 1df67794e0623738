"""The float64 pass of a script: where its own float32 arrays meet float64, both sides promote them."""

import subprocess
import sys
from pathlib import Path

import chainer
import chainer.functions as F
import numpy as np
import pytest

from chainer2torch.engine import Options, migrate_source
from chainer2torch.vendor import compat_file
from chainer2torch.verify.worker import chainer_double
from chainer2torch.verify.models.verify_models import verify_models
from chainer2torch.verify.judge.outcome import PASSED
from chainer2torch.verify.script import synthetic_data
from tests.support import model_batch

HERE = Path(__file__).resolve().parents[2]


def test_chainer_promotes_a_mixture_and_nothing_else():
    single, double = chainer.Variable(np.ones(3, "f")), chainer.Variable(np.ones(3))
    labels = np.zeros(3, "i")
    mixed = chainer_double._promoted([double, single, single.array, labels])
    assert [x.dtype for x in mixed] == [np.float64, np.float64, np.float64, np.int32]
    assert float(F.mean_absolute_error(*mixed[:2]).array) == 0
    for inputs in ([single, single.array, labels], [double, labels]):
        assert chainer_double._promoted(inputs) is inputs


def test_a_variable_of_the_scripts_is_made_in_float64(monkeypatch):
    """A batch that is divided before the first link was rounded on one side only: a difference of meaning, it said."""
    monkeypatch.setattr(chainer.Variable, "__init__", chainer.Variable.__init__)
    chainer_double._variables_in_float64()
    single = np.ones(3, "f")
    made = [chainer.Variable(single), chainer.as_variable(single), chainer.Variable(np.zeros(3, "i"))]
    assert [x.dtype for x in made] == [np.float64, np.float64, np.int32]
    assert F.cast(made[0], "f").dtype == np.float32  # as the script asks for
    assert chainer.Parameter(single).dtype == np.float32  # the first values of weights are another matter


def test_an_initializer_of_float32_fills_in_float64(monkeypatch):
    """One layer stayed in float32 in Chainer's float64 pass alone: a difference of meaning, it said."""
    base = chainer.initializer.Initializer
    monkeypatch.setattr(base, "__init__", base.__init__)
    chainer_double._initializers_in_float64()
    initializers = chainer.initializers
    made = [initializers.Zero(dtype=np.float32), initializers.HeNormal(dtype="f"), initializers.Uniform(1, np.float16)]
    filled = [initializers.generate_array(one, (2, 3), np) for one in (*made, initializers.One())]
    assert [array.dtype for array in filled] == [np.float64, np.float64, np.float16, np.float32]


def test_a_tensor_of_the_scripts_arrays_is_made_in_float64():
    """With a dtype of the script's, too, as its Variables are; what is a tensor already stays as it is."""
    code = (
        "import numpy as np, torch\n"
        "from chainer2torch.verify.worker import torch_double\n"
        "torch_double.install()\n"
        "a = np.ones(3, 'f')\n"
        "made = [torch.as_tensor(a), torch.from_numpy(a), torch.as_tensor(a, dtype=torch.float32)]\n"
        "made += [torch.as_tensor(made[2].float()), torch.as_tensor(np.ones(3, 'i'))]\n"
        "print(*[x.dtype for x in made])\n"
    )
    environment = {"PYTHONPATH": str(HERE), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    expected = "torch.float64 torch.float64 torch.float64 torch.float32 torch.int32"
    assert done.stdout.strip() == expected, done.stderr


def test_chainers_data_sets_are_scaled_in_float32(monkeypatch, tmp_path):
    synthetic_data.write_cifar(tmp_path, 10, 4, 2)
    monkeypatch.setattr(chainer.dataset.download, "_dataset_root", str(tmp_path))
    monkeypatch.setattr(chainer, "get_dtype", chainer.get_dtype)
    monkeypatch.setattr(chainer.global_config, "dtype", np.dtype("float64"))
    images, _ = chainer.datasets.get_cifar10(withlabel=False)
    assert images.dtype == np.float64  # what the default dtype makes of it
    chainer_double._data_sets_in_float32()
    images, _ = chainer.datasets.get_cifar10(withlabel=False)
    assert images.dtype == np.float32
    assert chainer.get_dtype() == np.float64 and chainer.get_dtype(np.float16) == np.float16


def test_the_helpers_of_a_migrated_project_promote_a_mixture(tmp_path):
    (tmp_path / "chainer_compat.py").write_text(
        (HERE / "chainer2torch" / "compat" / "functions" / "checks.py").read_text()
        + "\n\ndef _image_dtype(dtype):\n    return dtype or 'the default'\n"
    )
    (tmp_path / "run.py").write_text(
        "import torch\n"
        "from chainer2torch.verify.worker import torch_double\n"
        "torch_double.install()\n"
        "import chainer_compat\n"
        "one, other = torch.ones(3), torch.ones(3, dtype=torch.float32)\n"
        "chainer_compat._check_same('f', one, other)\n"
        "for wrong, error in ((torch.ones(4), ValueError), (torch.ones(3, dtype=torch.float16), TypeError)):\n"
        "    try:\n"
        "        chainer_compat._check_same('f', one, wrong)\n"
        "    except error as found:\n"
        "        print(type(found).__name__)\n"
        "print(chainer_compat._image_dtype(None), chainer_compat._image_dtype('float16'))\n"
    )
    done = subprocess.run(
        [sys.executable, "run.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env={"PYTHONPATH": str(HERE), "OMP_NUM_THREADS": "1"},
    )
    assert done.stdout.split() == ["ValueError", "TypeError", "float32", "float16"], done.stderr


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_pictures_of_a_migrated_project_are_read_in_float32(style, tmp_path):
    """As on Chainer's side; by the helpers that a project gets, whatever they are called."""
    from PIL import Image

    Image.fromarray(np.arange(48, dtype=np.uint8).reshape(4, 4, 3)).save(tmp_path / "one.png")
    (tmp_path / "list.txt").write_text("one.png 2\n")
    source = (
        "import chainer\n\n"
        "labelled = chainer.datasets.LabeledImageDataset('list.txt', '.')\n"
        "for data in (labelled, chainer.datasets.ImageDataset(['one.png'])):\n"
        "    picture = data[0][0] if len(data[0]) == 2 else data[0]\n"
        "    print(picture.dtype, float(picture.sum()))\n"
    )
    result = migrate_source(source, options=Options(style=style))
    (tmp_path / "chainer_compat.py").write_text(compat_file.build(result.helpers, style=style))
    install = "from chainer2torch.verify.worker import torch_double\n\ntorch_double.install()\n"
    (tmp_path / "run.py").write_text(install + result.code)
    done = subprocess.run(
        [sys.executable, "run.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env={"PYTHONPATH": str(HERE), "OMP_NUM_THREADS": "1"},
    )
    assert done.stdout.split() == ["float32", "1128.0"] * 2, done.stderr


NET = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Scaled(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(4, 3, initial_bias=np.ones(3, dtype='float32'))
            self.scale = chainer.Parameter(np.zeros((1, 3), dtype='float32'))

    def forward(self, x):
        h = self.l(x)
        return h * F.broadcast_to(F.exp(self.scale * 3.0), h.shape)
"""


def test_parameters_of_float32_arrays_are_float64_on_both_sides(tmp_path):
    """In such a model nothing else would tell rounding from a difference."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "net.py").write_text(NET)
    out = model_batch.migrated_tree(tmp_path / "src", tmp_path / "out")
    outcomes = verify_models(tmp_path / "src", out, timeout=100).outcomes
    assert sorted(o.pair.dtype for o in outcomes) == ["float32", "float32", "float64", "float64"]
    assert {o.status for o in outcomes} == {PASSED}, [o.reasons for o in outcomes]
