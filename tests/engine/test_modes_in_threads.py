"""Chainer's mode is of each thread, that of a module one for all: what a thread may run has a mark."""

import pytest

from chainer2torch.engine import Options, migrate_source

HEAD = """\
import concurrent.futures
import threading

import chainer
import chainer.links as L
import numpy as np

net = L.BatchNormalization(2)
x = np.ones((2, 2), 'f')


def predict(i):
    with chainer.using_config('train', False):
        return net(x)


def work(i):
    return predict(i)


"""


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize(
    ("lines", "marked"),
    [
        ("predict(0)", False),
        ("threading.Thread(target=print).start()\npredict(0)", False),
        ("threading.Thread(target=predict, args=(0,)).start()", True),
        ("threading.Thread(target=work, args=(0,)).start()", True),
        ("threading.Thread(None, work, args=(0,)).start()", True),
        ("class Worker(threading.Thread):\n    def run(self):\n        work(0)\n\n\nWorker().start()", True),
        ("with concurrent.futures.ThreadPoolExecutor() as pool:\n    pool.submit(work, 0)", True),
        ("with concurrent.futures.ThreadPoolExecutor() as pool:\n    list(pool.map(predict, [0, 1]))", True),
    ],
)
def test_what_a_thread_runs_in_a_mode(lines, marked, style):
    result = migrate_source(HEAD + lines + "\n", options=Options(style=style))
    reasons = [s.message for s in result.sites if s.symbol == "chainer.using_config" and s.state == "review"]
    assert any("of each thread" in reason for reason in reasons) is marked, result.sites
