"""Elements of arrays as keys and members: equal numbers are one key, as they are in NumPy."""

import chainer
import numpy as np
import pytest
import torch

from tests.support.both_sides import both

HEAD = (
    "import collections\nimport heapq\nimport itertools\n\nimport chainer\nimport chainer.functions as F\n"
    "import numpy as np\n\n"
)
# what a function makes of p and q, arrays of whole numbers, and of y, an array of floating ones
PLACES = {
    "a set": "sorted(set(p))",
    "a frozen set": "len(frozenset(p))",
    "a counter": "sorted(collections.Counter(p).items())",
    "a counter of pairs": "sorted(collections.Counter(zip(p, q)).items())",
    "a dictionary of pairs": "sorted(dict(zip(p, q)).items())",
    "a dictionary of what is counted": "dict(enumerate(p))[1] + 0",
    "keys from an array": "sorted(dict.fromkeys(p))",
    "a set comprehension": "sorted({v for v in p})",
    "a dictionary comprehension": "sorted({v: 1 for v in p}.items())",
    "keys of a display": "len({p[0]: 1, p[1]: 2, p[2]: 3})",
    "members of a display": "len({p[0], p[1], p[2]})",
    "a pair as a key": "len({(p[0], q[0]): 1, (p[0], q[0]): 2})",
    "an index of a dictionary": "[NAMES[v] for v in p]",
    "get": "[NAMES.get(v, '?') for v in p]",
    "a test of membership": "[v in {0, 2} for v in p]",
    "a test of membership in a tuple": "[v in (0, 2) for v in p]",
    "no member": "[v not in set(q) for v in p]",
    "the largest of a set": "max(set(p), key=list(p).count) + 0",
    "a set of a list": "len(set([p[0], p[1], p[2]])), len(frozenset((p[0], p[2])))",
    "lists that a loop fills": "len({k for h in filled(p) for k in h})",
    "lists by number": "len({k for h in numbered(p) for k in h})",
    "lists of a table": "len({k for h in tabled(p).values() for k in h}), len(set(tabled(p)[0]))",
    "lists of a default": "[len(set(w)) for _, w in sorted(by_default(p).items())]",
    "lists that are added to": "len({k for h in added(p) for k in h})",
    "numbers and elements": "len({k for h in begun(p) for k in h}), len(set(begun(p)[0] + [2]))",
    "members of lists of both": "[v in NAMES and v not in (7,) for h in begun(p) for v in h]",
    "keys of lists of both": "[1 if v in {0: 1} else NAMES[v] for h in begun(p) for v in h]",
    "parts of lists of both": "len(collections.Counter(tuple(s[i:i + 2]) for s in begun(p) for i in range(2)))",
    "classes of elements": "isinstance(p[0], np.integer), isinstance(p[0], (int, np.integer)), np.isscalar(p[0])",
    "classes of floating elements": "isinstance(y[0], np.floating), isinstance(y.sum(), float)",
    "the type of an array": "type(y) is np.ndarray, type(p) == np.ndarray, type(p) != np.ndarray",
    "arrays among lists": "nested([p, [q, (p, 3)]])",
    "a table by dtypes": "BY_DTYPE.get(p.dtype), BY_DTYPE.get(y.dtype, 3), BY_DTYPE[p.dtype]",
    "a hash": "hash(p[0]) == hash(p[2])",
    "add": "len(collect(p))",
    "counting by hand": "sorted(count(p).items())",
    "floating numbers": "len(set(y)), len({v for v in y})",
    "the whole array of another rank": "sorted(set(F.argmax(x, axis=1).array.ravel()))",
    "union": "sorted({1}.union(p))",
    "rows as keys": "sorted(collections.Counter(map(tuple, x.array)).values())",
    "rows of a comprehension": "len(set(tuple(v) for v in x.array))",
    "a row in a variable": "len(rows(x.array))",
    "a pair in a variable": "len(two(p, q))",
    "sorted elements": "sorted(collections.Counter(sorted(p)).items())",
    "a list of elements": "len(set([v for v in p] + []))",
    "keys of groups": "[k in {0: 1} for k, _ in itertools.groupby(sorted(p))]",
    "groups counted": "{k: len(list(g)) for k, g in itertools.groupby(sorted(p))}",
    "chained elements": "len({v for v in itertools.chain(p, q)})",
    "chained lists": "len(set(itertools.chain.from_iterable([p, q])))",
    "products": "len({v: 1 for v in itertools.product(p, q)})",
    "largest": "sorted(set(heapq.nlargest(2, p)))",
    "a counter that is updated": "sorted(counted(p, q).items())",
    "rows as values": "[(k, v.sum()) for k, v in sorted(dict(zip(p, x.array)).items())]",
    "rows by number": "dict((i, v) for i, v in enumerate(x.array))[1].sum()",
    "rows by name": "dict(zip('abcd', x.array))['b'].sum()",
}
HELPERS = """
NAMES = {0: 'none', 1: 'one', 2: 'two'}


def collect(p):
    seen = set()
    for v in p:
        seen.add(v)
    return seen


BY_DTYPE = {np.dtype("int64"): 1, np.dtype("int32"): 1}


def nested(x):
    if isinstance(x, (list, tuple)):
        return [nested(v) for v in x]
    return "array" if len(getattr(x, 'shape', ())) else x


def filled(p):
    found = [[] for _ in p]
    for h, k in zip(found, p):
        h.append(k)
    return found


def numbered(p):
    found = [[], [], [], []]
    for i, k in enumerate(p):
        found[i].append(k)
    return found


def tabled(p):
    found = {}
    for i, k in enumerate(p):
        found.setdefault(i % 2, []).append(k)
    return found


def by_default(p):
    found = collections.defaultdict(list)
    for i, k in enumerate(p):
        found[i % 2].append(k)
    return found


def added(p):
    found = [list() for _ in p]
    for i, h in enumerate(found):
        h += [p[i]]
    return found


def begun(p):
    return [h + [k] for h, k in zip([[0]] * 4, p)]


def count(p):
    found = {}
    for v in p:
        found[v] = found.get(v, 0) + 1
    return found


def rows(y):
    found = {}
    for row in y:
        key = tuple(row)
        found[key] = found.get(key, 0) + 1
    return found


def two(p, q):
    found = {}
    for i in range(len(p)):
        key = p[i], 'x', q[i]
        if key not in found:
            found[key] = i
    return found


def counted(p, q):
    c = collections.Counter()
    c.update(p)
    c.subtract(q)
    c.update((v for v in q))
    for v in p:
        c[v] += 1
    return c


"""


@pytest.mark.parametrize("name", PLACES)
def test_equal_elements_are_one_key(name: str) -> None:
    source = (
        f"{HELPERS}def f(x, t):\n    p = F.argmax(x, axis=1).array\n    q = F.argmin(x, axis=1).array\n"
        f"    y = F.relu(x).array[:, 0]\n    return {PLACES[name]}\n\n\n"
        "def main(x):\n    v = chainer.Variable(x)\n    collect(F.argmax(v, axis=1).array)\n"
        "    count(F.argmax(v, axis=1).array)\n    rows(F.relu(v).array)\n"
        "    two(F.argmax(v, axis=1).array, F.argmin(v, axis=1).array)\n"
        "    counted(F.argmax(v, axis=1).array, F.argmin(v, axis=1).array)\n    return f(v, v)\n"
    )
    original, migrated = both(source, head=HEAD)
    x = np.array([[0, 2, 1], [3, 1, 0], [0, 5, 1], [0, 5, 9]], np.float32)
    expected, found = original["main"](x), migrated["main"](x)
    assert repr(_plain(found)) == repr(_plain(expected))


def _plain(value: object) -> object:
    """Numbers of NumPy and tensors as Python's, so that only what they are is compared."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    return value.item() if isinstance(value, (np.generic, torch.Tensor)) else value


def test_a_variable_has_its_own_hash_in_both() -> None:
    original, migrated = both("def f(x):\n    return len({F.relu(x): 1, F.relu(x): 2})\n", head=HEAD)
    assert "item" not in migrated["__code__"]


def test_an_index_of_an_array_stays_an_array() -> None:
    _, migrated = both(
        "def f(x):\n    p = F.argmax(x, axis=1).array\n    return x.array[p], [1, 2, 3][p[0]]\n", head=HEAD
    )
    assert "item" not in migrated["__code__"]


def test_only_sets_take_elements() -> None:
    """A method `add` of the program's own class, of a module or of an unknown object gets the array as it is."""
    source = """
class Seen:
    def add(self, x):
        self.x = x


def f(x, log, *others):
    seen = Seen()
    seen.add(x.array)
    log.add(x.array, 2)
    log.add(x.array)
    xp = chainer.backend.get_array_module(x)
    return xp.add(x.array, seen.x)
"""
    original, migrated = both(source, head=HEAD)
    assert ".item()" not in migrated["__code__"]


EITHER = """
def f(x):
    kept = []
    kept.append(x.array.argmax(axis=1))
    rows = list(reversed([kept[0]]))[0]
    counts = sorted(collections.Counter(rows).values()), len(set(kept[0]))

    def put(v):
        kept.append(v)

    put(F.tanh(x))
    return counts
"""


def test_an_array_that_may_be_a_variable_elsewhere_is_counted_by_its_numbers():
    original, migrated = both(EITHER, head=HEAD)
    x = np.array([[1, 2, 3], [3, 2, 1], [0, 1, 0], [2, 1, 0]], "f")
    assert migrated["f"](torch.tensor(x)) == original["f"](chainer.Variable(x)) == ([1, 1, 2], 3)
