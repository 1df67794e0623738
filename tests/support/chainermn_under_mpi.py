"""mpirun -n N python chainermn_under_mpi.py OUT: runs the ChainerMN programs and writes what each rank got to OUT.RANK.

Needs Chainer, mpi4py and an MPI, and neither PyTorch nor pytest.
"""

import importlib.util
import pickle
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def plain(value):
    """The value with arrays in place of Variables, and lists in place of tuples."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.array if type(value).__name__ in ("Variable", "Parameter") else value


def main(out):
    sys.path.insert(0, str(ROOT))
    from chainer2torch.verify.worker import chainer_patches

    warnings.simplefilter("ignore")
    chainer_patches.import_chainer()
    import chainermn
    from tests.support.thread_mpi import accept_arrays_of_one

    accept_arrays_of_one()
    spec = importlib.util.spec_from_file_location("programs", ROOT / "tests" / "support" / "chainermn_programs.py")
    programs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(programs)
    comm = chainermn.create_communicator("naive")
    names = [
        name
        for name, value in vars(programs).items()
        if callable(value)
        and getattr(value, "__module__", "") == "programs"
        and getattr(value, "__code__", None) is not None
        and value.__code__.co_varnames[: value.__code__.co_argcount] == ("comm",)
    ]
    results = {name: plain(getattr(programs, name)(comm)) for name in names}
    Path(f"{out}.{comm.rank}").write_bytes(pickle.dumps(results))


main(sys.argv[1])
