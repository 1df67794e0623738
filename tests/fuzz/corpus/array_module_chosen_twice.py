"""One name is given NumPy and CuPy in two functions, and CuPy twice in one of them: each place is decided once."""
import argparse

import chainer
import numpy as np
from chainer import cuda

parser = argparse.ArgumentParser()
parser.add_argument('--gpu', type=int, default=-1)
args = parser.parse_args()
xp = np
if args.gpu >= 0:
    cuda.get_device(args.gpu).use()
    xp = cuda.cupy
if args.gpu > 1:
    xp = cuda.cupy


def begin(gpu):
    xp = np
    if gpu >= 0:
        xp = cuda.cupy
    return keep(xp)


def keep(module):
    return [module, xp]


chainer.print_runtime_info()
