"""Whole numbers beside what a network computes are float64, whichever way both came; NumPy says which they are."""

import pytest

from tests.generated import judge, printed_judge, values

_PROGRAMS = {
    "through lists": """
def train():
    model = Net(); begin(model)
    x = np.random.RandomState(3).rand(4, 3).astype('f')
    items = []
    items.append(model(x).array)
    t = model(x).array.argmax(axis=0)
    for y in items:
        r = y * t
        print(r.dtype, r.sum())
""",
    "through dictionaries": """
def train():
    model = Net(); begin(model)
    x = np.random.RandomState(3).rand(4, 3).astype('f')
    items = {}
    items['a'] = model(x).array
    items['b'] = model(x).array.argmax(axis=0)
    r = items['a'] * items['b']
    print(r.dtype, r.sum())
""",
    "through attributes": """
class Box2(object):
    def __init__(self):
        self.y = None
        self.t = None
def train():
    model = Net(); begin(model)
    x = np.random.RandomState(3).rand(4, 3).astype('f')
    b = Box2()
    b.y = model(x).array
    b.t = F.argmax(model(x), axis=0).array
    r = b.y * b.t
    print(r.dtype, r.sum())
    q = b.y - b.t
    print(q.dtype, q.sum())
""",
    "both in one list": """
def train():
    model = Net(); begin(model)
    x = np.random.RandomState(3).rand(4, 3).astype('f')
    items = [model(x).array, model(x).array.argmax(axis=0)]
    a, b = items
    r = a * b
    print(r.dtype, r.sum())
    p = items[0] + items[1]
    print(p.dtype)
""",
    "both from several callers": """
def mul(a, b):
    return a * b
def train():
    model = Net(); begin(model)
    x = np.random.RandomState(3).rand(4, 3).astype('f')
    y = model(x).array
    t = y.argmax(axis=0)
    print(mul(y, t).dtype, mul(t, t).dtype, mul(y, y).dtype)
""",
    "in lists of a dictionary": """
def train():
    model = Net(); begin(model)
    x = np.random.RandomState(3).rand(4, 3).astype('f')
    hist = collections.defaultdict(list)
    y = model(x).array
    hist['p'].append(y)
    hist['t'].append(y.argmax(axis=0))
    for p, t in zip(hist['p'], hist['t']):
        print((p * t).dtype, (p - t).mean().dtype)
    z = sum(hist['p']) * hist['t'][0]
    print(z.dtype)
""",
    "products and quotients of both": """
def prod(a, b):
    return a @ b, a * b, b - a, a / b, (a + 1) * b
def train():
    model = Net(); begin(model)
    x = np.random.RandomState(3).rand(4, 3).astype('f')
    y = model(x).array
    t = np.array([[1, 2, 3], [2, 3, 4], [4, 5, 6]])
    t = (model.fc.W.array * 10).astype('i')
    w = model.fc.W.array
    for a in (t, w):
        for b in (t, w):
            for r in prod(a, b):
                print(r.dtype, r.sum())
""",
    "means of either": """
def m(a):
    return a.mean(), a.std(axis=0), a.sum()
def train():
    model = Net(); begin(model)
    x = np.random.RandomState(3).rand(4, 3).astype('f')
    y = model(x).array
    t = y.argmax(axis=1)
    for r in m(y): print(r.dtype, r)
    for r in m(t): print(r.dtype, r)
    items = [y[0], t]
    for v in items:
        print(v.mean(), v.max(), np.exp(v).dtype, np.concatenate([v, v]).dtype)
    print(np.concatenate(items).dtype)
""",
    "beside a number": """
def train():
    model = Net(); begin(model)
    xs = np.random.RandomState(3).rand(4, 3).astype('f')
    v4 = model(xs).array.argmax(axis=1)
    Kept(1)
    v5 = Kept(v4).other
    print(v5.sum(), v5.mean(), v5.std())
""",
    "from the host or a model": """
def train():
    model = Net(); begin(model)
    xs = np.random.RandomState(3).rand(4, 3).astype('f')
    same(xs)
    v3 = same(model(xs).array.argmax(axis=1))
    w = v3[:3]
    print((w * model(xs).array[0]).dtype, (model.fc.b.array - w).dtype, (w @ model.fc.W.array).dtype)
""",
}


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize("name", _PROGRAMS)
def test_both_say_the_same(name, style):
    verdict, detail, text = printed_judge.judged(f"{values.MODULE}{_PROGRAMS[name]}", style)
    allowed = (judge.SAME,) if style == "native" else (judge.SAME, judge.LEFT)
    assert verdict in allowed, f"{detail}\n{text}"
