"""Options of a command line that are None when they are left out: behind a question they are what is given."""

import pytest

from tests.support.native_snippets import migrated

PROGRAM = """
import argparse
from chainer import cuda

parser = argparse.ArgumentParser()
parser.add_argument('--gpu', type=int, default=None)
args = parser.parse_args([])
{lines}
"""
PLAIN, ASKED = "torch.cuda.set_device(args.gpu)", "find_device(args.gpu)"


@pytest.mark.parametrize(
    ("lines", "form"),
    [
        ("if args.gpu is not None:\n    cuda.get_device(args.gpu).use()", PLAIN),
        ("if args.gpu is not None and args.gpu >= 0:\n    cuda.get_device(args.gpu).use()", PLAIN),
        ("if args.gpu:\n    cuda.get_device(args.gpu).use()", PLAIN),
        ("cuda.get_device(args.gpu).use()", ASKED),
        ("if args.gpu is None:\n    cuda.get_device(args.gpu).use()", ASKED),
        ("if args.gpu is not None:\n    pass\nelse:\n    cuda.get_device(args.gpu).use()", ASKED),
        ("if args.gpu is not None or args:\n    cuda.get_device(args.gpu).use()", ASKED),
        ("args.gpu = object()\nif args.gpu is not None:\n    cuda.get_device(args.gpu).use()", ASKED),
    ],
)
def test_a_number_behind_the_question_alone(lines, form):
    code = migrated(PROGRAM.format(lines=lines)).code
    assert form in code and ({PLAIN, ASKED} - {form}).pop() not in code, code
