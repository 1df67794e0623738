"""The programs of test_distributed.py under ChainerMN and a real MPI, against the migrated ones over gloo.

CHAINERMN_PYTHON names the interpreter that has Chainer and mpi4py, when it is not this one.
"""

import functools
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compat.test_distributed import NAMES, compare, ours_of

PYTHON = os.environ.get("CHAINERMN_PYTHON", sys.executable)
SCRIPT = Path(__file__).parent.parent / "support" / "chainermn_under_mpi.py"


@functools.cache
def missing():
    """What is not installed; empty when an MPI, mpi4py and Chainer are."""
    if shutil.which("mpirun") is None:
        return "mpirun"
    imports = "from chainer2torch.verify.worker import chainer_patches as p; p.import_chainer(); from mpi4py import MPI"
    asked = subprocess.run([PYTHON, "-c", imports], capture_output=True, text=True, timeout=60, cwd=SCRIPT.parents[2])
    return asked.stderr.strip().splitlines()[-1] if asked.returncode else ""


@pytest.fixture(scope="module")
def under_mpi(tmp_path_factory):
    """Function of the number of processes: ChainerMN's results."""
    if missing():
        pytest.skip(f"needs mpirun, and Chainer and mpi4py in {PYTHON}; missing: {missing()}")
    folder = tmp_path_factory.mktemp("mpi")

    @functools.cache
    def run(size):
        out = folder / f"results{size}"
        options = ["--allow-run-as-root", "--oversubscribe"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
        done = subprocess.run(
            ["mpirun", *options, "-n", str(size), PYTHON, str(SCRIPT), str(out)],
            capture_output=True,
            text=True,
            timeout=120,
            env=environment,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return [pickle.loads(Path(f"{out}.{rank}").read_bytes()) for rank in range(size)]

    return run


@pytest.mark.mpi
@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_program_under_mpi(name, size, under_mpi):
    compare(name, under_mpi(size), ours_of(size))
