"""ChainerMN programs, migrated and run by 2 and 3 processes over gloo, against ChainerMN itself.

ChainerMN runs here between threads (tests/support/thread_mpi.py takes the place of mpi4py); where an MPI is
installed, tests/compat/test_distributed_mpi.py runs it under mpirun as well.
"""

import functools
import importlib.util
import re
import sys
import traceback
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import chainer2torch
from chainer2torch.engine import migrate_source
from chainer2torch.verify.worker import compat_module
from tests.support import rank_processes, thread_mpi

PROGRAMS = Path(__file__).parent.parent / "support" / "chainermn_programs.py"
SOURCE = PROGRAMS.read_text(encoding="utf-8")
NAMES = re.findall(r"^def (\w+)\(comm\):", SOURCE, re.MULTILINE)


def plain(value):
    """The value with arrays in place of tensors and Variables, and lists in place of tuples."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "detach"):
        return value.detach().numpy()
    return value.array if hasattr(value, "array") and not isinstance(value, np.ndarray) else value


def migrated_programs():
    """The programs as the migrator leaves them: nothing of Chainer is in them."""
    result = migrate_source(SOURCE)
    assert result.error is None
    assert not [site.symbol for site in result.sites if site.state == "manual"], "nothing is left to do"
    return result.code


def run_migrated(code):
    """In each process: all programs, one after the other."""
    if "chainer_compat" not in sys.modules:
        compat_module.install(str(Path(chainer2torch.__file__).parent / "compat"))
    import chainer_compat as compat

    module = types.ModuleType("migrated")
    sys.modules["migrated"] = module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(code, "<migrated>", "exec"), vars(module))
        comm = compat.create_communicator("naive")
        results = {}
        for name in NAMES:
            try:
                results[name] = plain(getattr(module, name)(comm))
            except Exception:  # the other ranks wait for this one: nothing more can be run
                return {**results, name: traceback.format_exc()}
        return results


def run_original(size):
    """All programs under ChainerMN, one thread a rank."""
    with thread_mpi.chainermn_over_threads(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec = importlib.util.spec_from_file_location("original_programs", PROGRAMS)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        by_program = [
            thread_mpi.run_ranks(size, lambda comm, name=name: plain(getattr(module, name)(comm))) for name in NAMES
        ]
        return [dict(zip(NAMES, results)) for results in zip(*by_program)]


@functools.cache
def theirs_of(size):
    """ChainerMN's results: a list over the ranks of ``{program: result}``."""
    return run_original(size)


@functools.cache
def ours_of(size):
    """The results of the migrated programs."""
    return rank_processes.run_ranks(size, run_migrated, migrated_programs(), timeout=120)


def same(theirs, ours, path):
    """Fails unless the results are equal: types of numbers by value, arrays by shape, dtype and value."""
    if isinstance(theirs, dict):
        assert set(theirs) == set(ours), path
        for key in theirs:
            same(theirs[key], ours[key], f"{path} {key}")
    elif isinstance(theirs, list):
        assert isinstance(ours, list) and len(theirs) == len(ours), f"{path}: {theirs} against {ours}"
        for i, (one, other) in enumerate(zip(theirs, ours)):
            same(one, other, f"{path}[{i}]")
    elif isinstance(theirs, np.ndarray):
        assert ours is not None and ours.shape == theirs.shape and ours.dtype == theirs.dtype, f"{path}: {ours}"
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5, err_msg=path)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-5), path
    else:
        assert ours == theirs, path


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_program(name, size):
    compare(name, theirs_of(size), ours_of(size))


def compare(name, theirs, ours):
    """Fails unless a program gave the same results on every rank."""
    for rank in range(len(theirs)):
        if name not in ours[rank] or isinstance(ours[rank][name], str):
            pytest.fail(f"rank {rank}: {ours[rank].get(name, 'an earlier program failed')}")
        same(theirs[rank][name], ours[rank][name], f"{name} on rank {rank}:")
