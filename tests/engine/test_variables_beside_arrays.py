"""A Variable, a number or an array beside an array of NumPy, where nothing says which of them comes."""

import pytest

from tests.generated import judge, printed_judge, values

_PROGRAMS = {
    "from one caller": """
def combine(v, x):
    return (v - x).data
def train():
    model = Net(); begin(model)
    x = np.random.RandomState(3).rand(4, 3).astype('f')
    box = Box()
    setattr(box, 'held', model(x)) if False else None
    print(combine(model(x), x))
""",
    "out of a container": """
def train():
    model = Net(); begin(model)
    x = np.random.RandomState(3).rand(4, 3).astype('f')
    box = Box([])
    box.value.append(model(x))
    v = box.value[0]
    w = v - x
    print(w.data.sum())
    print((x * v).data.sum())
    print(F.sum(v * x).data)
""",
    "persistents by name": """
class A(chainer.Link):
    def __init__(self):
        super().__init__()
        self.a = np.zeros(2, 'f')
        self.register_persistent('a')
class B(chainer.Link):
    def __init__(self):
        super().__init__()
        self.b = np.ones(3, 'f')
        self.register_persistent('b')
def train():
    model = Net(); begin(model)
    for link in (A(), B()):
        for name in link._persistent:
            print(name, getattr(link, name))
""",
    "persistents of plain links": """
def train():
    model = Net(); begin(model)
    for n, s in (('a', 2), ('b', 3)):
        link = chainer.Link()
        link.add_persistent(n, np.ones(s, 'f'))
        print(getattr(link, n).sum(), sorted(link._persistent))
    ls = [chainer.Link(), chainer.Link()]
    ls[0].add_persistent('u', np.ones(2, 'f'))
    ls[1].add_persistent('w', np.ones(3, 'f'))
    for l, n in zip(ls, 'uw'):
        print(getattr(l, n).shape)
    print(ls[0].u.sum(), ls[1].w.sum())
""",
    "a summary of Variables": """
def train():
    model = Net(); begin(model)
    x = np.random.RandomState(3).rand(4, 3).astype('f')
    s = chainer.reporter.Summary()
    for i in range(3):
        s.add(F.sum(model(x) * i))
    print(s.compute_mean().array)
""",
    "keys from three callers": """
def train():
    model = Net(); begin(model)
    x = np.random.RandomState(3).rand(4, 3).astype('f')
    def ks(v):
        return {e: 1 for e in v}
    print(sorted(ks(model(x).array.argmax(axis=1))))
    print(sorted(ks([3, 4])))
    t = np.array([1, 2, 1])
    print(sorted(ks(t)))
""",
    "from three callers": """
def scale(v, x):
    return v * x
def train():
    model = Net(); begin(model)
    x = np.random.RandomState(3).rand(4, 3).astype('f')
    print(scale(2.0, x).sum())
    print(F.sum(scale(model(x), x)).data)
    print(scale(x, x).sum())
""",
    "a persistent that was a number": """
def train():
    model = Net(); begin(model)
    xs = np.random.RandomState(3).rand(4, 3).astype('f')
    v0 = chainer.cuda.to_cpu(model(xs).data)
    v1 = [*[v0], 1][0]
    saver = Kept(0)
    saver.value = v1
    v2 = saver.value
    items = [v2]
    v3 = items.pop()
    w = v3.copy()
    print(w)
""",
    "arrays that a class keeps": """
def train():
    model = Net(); begin(model)
    xs = np.random.RandomState(3).rand(4, 3).astype('f')
    v3 = Box(xs).value
    print(F.sum(v3).data)
    v0 = chainer.cuda.to_cpu(model(xs).data)
    v1 = copy.copy(Box(v0)).value
    print(F.sum(model(v1)).data)
    print(F.softmax_cross_entropy(model(v1), np.array([0,1,1,2],'i')).data)
    box = Box(xs)
    print(F.concat([box.value, model(xs)], axis=0).shape)
    print((model(xs) * box.value).shape)
""",
    "Variables that a class keeps": """
def train():
    model = Net(); begin(model)
    xs = np.random.RandomState(3).rand(4, 3).astype('f')
    box = Box([])
    box.value.append(model(xs))
    v = box.value[0]
    print((v - xs).data.sum())
    print(v.data.max(), v.shape, v.array[0])
    print(F.sum(v).data)
    for row in v.data:
        print(row)
    print(float(v.data.sum()))
""",
    "a key that is written": """
def train():
    model = Net(); begin(model)
    xs = np.random.RandomState(3).rand(4, 3).astype('f')
    v7 = model(xs).array.argmax(axis=1)[1]
    same(xs)
    v8 = same(v7)
    print({v8: 'x'})
    print(len({v8, 0, 1, 2}))
""",
}


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize("name", _PROGRAMS)
def test_both_say_the_same(name, style):
    verdict, detail, text = printed_judge.judged(f"{values.MODULE}{_PROGRAMS[name]}", style)
    allowed = (judge.SAME,) if style == "native" else (judge.SAME, judge.LEFT)
    assert verdict in allowed, f"{detail}\n{text}"
