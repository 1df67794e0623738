"""What pools of threads give: texts, keys and numbers are those of Chainer's arrays."""

import numpy as np
import pytest

from tests.support.both_sides import both

HEAD = """
import concurrent.futures
import multiprocessing.dummy
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.pool import ThreadPool

def total(v):
    return F.sum(chainer.Variable(v) * 2)

def values(a, b):
    return (F.relu(chainer.Variable(a)) + len(b)).array

def number(v):
    return int(v.sum())

"""
USES = {
    "map": """
    with ThreadPoolExecutor(2) as pool:
        return str([float(y.array) for y in pool.map(total, xs)])""",
    "submit": """
    with ThreadPoolExecutor(2) as pool:
        return '%s' % pool.submit(values, xs[1], xs[2]).result()""",
    "futures": """
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(values, x, x) for x in xs]
        return sorted(str(f.result()) for f in as_completed(jobs))""",
    "a function of its own": """
    def later(pool, x):
        job = pool.submit(values, x, x)
        return job
    with ThreadPoolExecutor(1) as pool:
        return str(later(pool, xs[1]).result())""",
    "of multiprocessing": """
    with ThreadPool(2) as pool:
        return '{}'.format(pool.map(lambda v: values(v, v), xs)[1])""",
    "apply": """
    with multiprocessing.dummy.Pool(2) as pool:
        return str(pool.apply(values, (xs[1], xs[2])))""",
    "apply_async": """
    with ThreadPool(2) as pool:
        return str(pool.apply_async(values, (xs[1], xs[2])).get())""",
    "starmap": """
    with ThreadPool(2) as pool:
        return str(pool.starmap(values, [(xs[1], xs[2])])[0])""",
    "keys": """
    with ThreadPool(2) as pool:
        return {9.0: 'nine'}[pool.apply(values, (xs[0], xs[0])).sum()]""",
    "numbers": """
    with ThreadPoolExecutor(2) as pool:
        return str(list(pool.map(number, xs))), pool.submit(number, xs[1]).result()""",
}


@pytest.mark.parametrize("name", USES)
def test_results_of_pools(name: str) -> None:
    original, migrated = both(f"{HEAD}def main(xs):\n    {USES[name]}\n")
    xs = [np.ones(3, np.float32) * i for i in range(3)]
    assert migrated["main"](xs) == original["main"](xs)
