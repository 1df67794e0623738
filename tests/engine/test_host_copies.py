"""`if gpu >= 0: y = cuda.to_cpu(y)` leaves an array of NumPy in both cases: the copy is made without a condition."""

import numpy as np
import pytest

from chainer2torch.engine import migrate_source
from tests.support.both_sides import both

HEAD = """\
import chainer
import chainer.functions as F
import numpy as np
from chainer import cuda


class Options:
    gpu = -1
    ids = (-1,)


args, use_gpu, device = Options(), False, 'cpu'
x = chainer.Variable(np.arange(6, dtype=np.float32).reshape(2, 3))
xp = cuda.get_array_module(x.array)
y = F.relu(x - 2)
"""
GUARDED = [
    "z = y.data\nif args.gpu >= 0:\n    z = cuda.to_cpu(z)",
    "if -1 < args.gpu:\n    z = cuda.to_cpu(y.data)\nelse:\n    z = y.data",
    "if args.gpu < 0:\n    z = y.data\nelse:\n    z = cuda.to_cpu(y.data)",
    "z = cuda.to_cpu(y.array) if use_gpu else y.array",
    "z = y.array if not use_gpu else cuda.to_cpu(y.array)",
    "z = y.array if xp is np else xp.asnumpy(y.array)",
    "z = y.array\nif device != 'cpu':\n    z = cuda.to_cpu(z)",
    "if xp is not np and use_gpu:\n    z = chainer.backends.cuda.to_cpu(y.data)\nelse:\n    z = y.data",
]


@pytest.mark.parametrize("guarded", GUARDED)
def test_the_copy_is_made_in_both_cases(guarded):
    tail = "\nparts = [(part * 10).astype(np.uint8) for part in z]\nis_array = isinstance(z, np.ndarray)\n"
    original, migrated = both(guarded + tail, head=HEAD)
    assert original["is_array"] and migrated["is_array"]
    for one, other in zip(original["parts"], migrated["parts"], strict=True):
        assert one.dtype == other.dtype and np.array_equal(one, other)
    assert "if args" not in migrated["__code__"] and " if " not in migrated["__code__"].split("parts")[0]


@pytest.mark.parametrize(
    "other",
    [
        "if args.gpu > 0:\n    z = cuda.to_cpu(z)",  # the first GPU is a GPU, too
        "if args.save:\n    z = cuda.to_cpu(z)",  # says nothing of where it is
        "if args.gpu >= 0 and args.save:\n    z = cuda.to_cpu(z)",
        "if args.gpu >= 0 or args.save:\n    z = cuda.to_cpu(z)",
        "if args.gpu < 0:\n    z = cuda.to_cpu(z)",
        "if args.gpu != 1:\n    z = cuda.to_cpu(z)",
        "if args.device != 'cuda:0':\n    z = cuda.to_cpu(z)",
        "if args.gpu >= 0:\n    z = cuda.to_cpu(z)\n    print(z)",
        "if args.gpu >= 0:\n    z = cuda.to_cpu(y.grad)",
        "if args.gpu >= 0:\n    w = cuda.to_cpu(z)",
        "if args.gpu >= 0:\n    z = cuda.to_cpu(z)\nelse:\n    w = z",
    ],
)
def test_other_conditions_stay(other):
    result = migrate_source(HEAD + "z = y.data\n" + other + "\n")
    assert "\nif args." in result.code


def test_what_chainer_refuses_to_copy_stays_under_its_condition():
    guarded = "if args.gpu >= 0:\n    y = cuda.to_cpu(y)\nz = y.data.transpose(1, 0) * 2\n"
    original, migrated = both(guarded, head=HEAD)
    assert np.array_equal(original["z"], migrated["z"])
    assert "if args.gpu >= 0:\n    y = " in migrated["__code__"]


def test_after_elif_it_is_one_of_several_cases():
    code = migrate_source(
        HEAD + "if args.ids:\n    z = y.data\nelif args.gpu >= 0:\n    z = cuda.to_cpu(y.data)\nelse:\n    z = y.data\n"
    ).code
    assert "elif args.gpu >= 0:" in code
