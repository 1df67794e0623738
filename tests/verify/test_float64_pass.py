"""The float64 pass of a script: where its own float32 arrays meet float64, both sides promote them."""
import subprocess
import sys
from pathlib import Path

import chainer
import chainer.functions as F
import numpy as np

from chainer2torch.verify import chainer_double

HERE = Path(__file__).resolve().parents[2]


def test_chainer_promotes_a_mixture_and_nothing_else():
    single, double = chainer.Variable(np.ones(3, "f")), chainer.Variable(np.ones(3))
    labels = np.zeros(3, "i")
    mixed = chainer_double._promoted([double, single, single.array, labels])
    assert [x.dtype for x in mixed] == [np.float64, np.float64, np.float64, np.int32]
    assert float(F.mean_absolute_error(*mixed[:2]).array) == 0
    for inputs in ([single, single.array, labels], [double, labels]):
        assert chainer_double._promoted(inputs) is inputs


def test_the_helpers_of_a_migrated_project_promote_a_mixture(tmp_path):
    (tmp_path / "chainer_compat.py").write_text((HERE / "chainer2torch" / "compat" / "checks.py").read_text())
    (tmp_path / "run.py").write_text(
        "import torch\n"
        "from chainer2torch.verify import torch_double\n"
        "torch_double.install()\n"
        "import chainer_compat\n"
        "one, other = torch.ones(3), torch.ones(3, dtype=torch.float32)\n"
        "chainer_compat._check_same('f', one, other)\n"
        "for wrong, error in ((torch.ones(4), ValueError), (torch.ones(3, dtype=torch.float16), TypeError)):\n"
        "    try:\n"
        "        chainer_compat._check_same('f', one, wrong)\n"
        "    except error as found:\n"
        "        print(type(found).__name__)\n")
    done = subprocess.run([sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          env={"PYTHONPATH": str(HERE), "OMP_NUM_THREADS": "1"})
    assert done.stdout.split() == ["ValueError", "TypeError"], done.stderr
