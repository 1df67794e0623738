"""Sizes and arrays that are None until a layer has seen its first input, or on some ways only."""

from tests.support.native_programs import both

PROGRAM = """
class Copy(chainer.Chain):
    def __init__(self, link):
        super().__init__()
        w = link.W.data
        n = None if w is None else w.shape[1]
        self.sizes = n, w is not None
        with self.init_scope():
            self.inner = L.Linear(n, 3)


def run():
    waiting = L.Linear(None, 3)
    found = [Copy(waiting).sizes[0], Copy(L.Linear(4, 3)).sizes]
    waiting(np.zeros((2, 5), 'f'))
    return found, Copy(waiting).sizes
"""


def test_a_name_for_it_may_be_asked_for_none() -> None:
    theirs, ours, code = both(PROGRAM)
    assert ours["run"]() == theirs["run"]() == ([None, (4, True)], (5, True)), code


SIZES = """
class Sized(chainer.Chain):
    def __init__(self, big, k=None):
        super().__init__()
        n = None
        if big:
            n = 4
        m = None
        if big:
            m = 3
        else:
            m = 5
        k = k if k is not None else 4
        with self.init_scope():
            self.a = L.Linear(n, 3, nobias=True)
            self.b = L.Linear(m, 3)
            if n is not None:
                self.c = L.Linear(n, 3)
            self.d = L.Linear(k, 3)


def run():
    return [[p.array is None for _, p in sorted(Sized(big).namedparams()) if p.name == 'W'] for big in (True, False)]
"""


def test_local_names_that_are_none_on_some_ways() -> None:
    theirs, ours, code = both(SIZES)
    assert ours["run"]() == theirs["run"]() == [[False] * 4, [True, False, False]], code
    assert "compat.linear(n, 3, bias=False)" in code and "self.b = nn.Linear(m, 3)" in code, code


SHORT = """
class Short(chainer.Chain):
    def __init__(self, n_in, n_out, k=None, groups=None, other=None):
        super().__init__()
        if k is None:
            n_out, k, n_in = n_in, n_out, None
        if other is None:
            groups, other = 2, 3
        with self.init_scope():
            self.a = L.Convolution2D(n_in, n_out, k)
            self.b = L.Linear(other, groups)


def run():
    layers = [Short(3, 4, 2), Short(4, 2), Short(4, 2, other=5, groups=1)]
    return [[layer.a(np.ones((1, 3, 4, 4), 'f')).shape, layer.b.W.shape] for layer in layers]
"""


def test_a_tuple_gives_none() -> None:
    theirs, ours, code = both(SHORT)
    expected = theirs["run"]()
    assert [[tuple(shape) for shape in shapes] for shapes in ours["run"]()] == expected, code
    assert "nn.Linear(other, groups)" in code
