"""Makes Chainer importable beside a current NumPy for every test (see chainer2torch.verify.worker.chainer_patches)."""

import gc
import os
import random
import sys
import warnings
from collections.abc import Iterator

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
# what one test has found is not what another one finds, and nothing is kept in the folders of who runs the tests
os.environ["CHAINER2TORCH_CACHE_DIR"] = ""

from chainer2torch.verify.worker import chainer_patches  # noqa: E402

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        chainer_patches.import_chainer()
    except ImportError:  # the tests of the core alone need no Chainer
        pass


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What collecting makes stays until the end: looking for garbage among it takes a fifth of its time, and longer
    with each search later on.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True, scope="session")
def _conflicts_are_errors() -> None:
    """Two passes that decide on one place, and neither gives way, fail the test in which they do."""
    from chainer2torch.plan.ledger import Ledger

    Ledger.strict = True


@pytest.fixture(autouse=True, scope="session")
def _workers_import_once() -> Iterator[None]:
    """The processes of ``verify`` that fork for their jobs serve all tests: see tests/support/shared_workers.py."""
    from tests.support import shared_workers

    with shared_workers.shared():
        yield


@pytest.fixture(autouse=True)
def _drawn_from_one_seed() -> None:
    """What a test draws (first values, orders) is the same in every run and beside every other test."""
    random.seed(1)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(1)
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        # `torch.manual_seed` formats the stack for each kind of device that has not been used: longer than most tests
        (torch if torch.cuda.is_available() else torch.default_generator).manual_seed(1)


@pytest.fixture(autouse=True)
def _no_reporter_is_left() -> Iterator[None]:
    """A training that a test breaks off on an engine of Ignite leaves its reporter; later tests would report to it.

    The scope of such a training ends now, while its reporter is there. It would fail when the garbage collector came to
    it later, and the report of that parses code: in the middle of another ``ast.parse``, which Python 3.11 answers with
    a SystemError.
    """
    yield
    reporting = sys.modules.get("pytorch_pfn_extras.reporting")
    if reporting is not None and reporting._get_reporters():
        gc.collect()
        reporting._get_reporters().clear()


@pytest.fixture(autouse=True)
def _no_helpers_are_left() -> Iterator[None]:
    """A migrated program that a test imports leaves its own ``chainer_compat``, which the next one would be given.

    The module over all helpers, which ``compat_module.install`` makes, may stay: it has them all.
    """
    before = sys.modules.get("chainer_compat")
    yield
    left = sys.modules.get("chainer_compat")
    if left is not before and "__getattr__" not in vars(left or sys):
        sys.modules.pop("chainer_compat", None)
        if before is not None:
            sys.modules["chainer_compat"] = before
