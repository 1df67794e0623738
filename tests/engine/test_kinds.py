"""What is known of values, across functions, classes and files (`describe` is what people see of it)."""

import ast
import textwrap

import pytest

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kind_specs import describe
from chainer2torch.analysis.module_index import Project
from chainer2torch.analysis.source import Source


@pytest.fixture(scope="module")
def kinds(rules):
    """The kinds of the names `a`, `b`, ... where they are read as `show(a, b)`, in the order of the calls."""

    def run(text="", hints=None, **files):
        sources = {"main.py": text, **{path.replace("__", "/") + ".py": code for path, code in files.items()}}
        trees = {}
        for path, code in sources.items():
            code = (
                "import chainer\nimport chainer.functions as F\nimport chainer.links as L\nimport numpy as np\n"
                + textwrap.dedent(code)
            )
            trees[path] = Source(code, ast.parse(code))
        analysis = Analysis(Project(trees), rules, hints).run()
        shown = []
        for source in trees.values():
            calls = [n for n in source.nodes if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "show"]
            for call in sorted(calls, key=lambda n: n.lineno):
                shown += [describe(analysis.kind(a)) for a in call.args]
        return shown

    return run


CASES = {
    "what a block reports itself": (
        """
        from chainer import reporter
        def host(table):
            report = {'mean': np.mean(table), 'part': 0.5}
            report['each'] = np.nan
            observation = {}
            with reporter.report_scope(observation):
                reporter.report(report, None)
            return observation
        def ran(model, x):
            observation, inside = {}, {}
            with reporter.report_scope(observation):
                reporter.report({'loss': F.sum(x)}, None)
            with reporter.report_scope(inside):
                model.report({'part': 0.5})
            return observation, inside
        first, second = ran(L.Linear(2, 2), chainer.Variable(np.ones((2, 2), 'f')))
        show(host(np.ones(3)), first, second)
        """,
        [
            "dict of 0.5 | host array rank 0 dtype float64 | numpy.nan",
            "dict of float | tensor rank 0",
            "dict of float | tensor rank 0",
        ],
    ),
    "numbers that modules hold": (
        """
        import math
        from math import pi
        angle = 0
        for i in range(3):
            angle += 2 * math.pi / 24
        show(angle, -np.inf, 3 * pi, F.relu(np.zeros((2, 3), 'f')) * np.pi, np.zeros(3, 'f') / math.e)
        """,
        [
            "float",
            "float",
            "float",
            "tensor rank 2 dtype float32",
            "host array rank 1 dtype float32",
        ],
    ),
    "examples of data sets that read images": (
        """
        class Own(chainer.datasets.LabeledImageDataset):
            def get_example(self, i):
                return [1]
        pairs = chainer.datasets.LabeledImageDataset('pairs.txt')
        both = chainer.datasets.ConcatenatedDataset(pairs, pairs)
        show(pairs[0], chainer.datasets.ImageDataset('paths.txt', dtype=np.float64)[0], Own('pairs.txt')[0])
        for image, label in both:
            show(image, label, image[:, ::-1].transpose(1, 2, 0))
        """,
        [
            "(host array rank 3 dtype float32, host array rank 0)",
            "host array rank 3 dtype float64",
            "list of 1",
            "host array rank 3 dtype float32",
            "host array rank 0",
            "host array rank 3 dtype float32",
        ],
    ),
    "children that a loop over written names takes": (
        """
        class Net(chainer.Chain):
            def __init__(self):
                super().__init__(b1=L.Linear(3, 4), b2=L.Linear(4, 2), act=3)

            def forward(self, x):
                for name in ('b1', 'b2'):
                    x = getattr(self, name)(x)
                    show(x)
                for name in ('b1', 'nobody'):
                    show(getattr(self, name))
                for name in [str(x)]:
                    show(getattr(self, name))

        Net()(chainer.Variable(np.zeros((2, 3), 'f')))
        """,
        ["tensor rank 2", "unknown", "unknown"],
    ),
    "functions that are handed to map and reduce": (
        """
        import functools
        xs = [chainer.Variable(np.zeros((2, 3), 'f'))]
        link = L.Linear(3, 4)
        show(list(map(F.relu, xs)), [y for y in map(link, xs)], list(map(eval, xs)))

        def longer(total, x):
            show(total)
            return F.concat([total, x], axis=1)

        show(functools.reduce(longer, xs), functools.reduce(longer, xs, link(xs[0])), functools.reduce(eval, xs))
        """,
        [
            *["list of tensor rank 2 dtype float32", "list of tensor rank 2", "list of unknown"],
            *["tensor rank 2", "tensor rank 2", "tensor rank 2", "unknown"],
        ],
    ),
    "methods of a link of which no more is known": (
        """
        class Block(chainer.Chain):
            def pop(self, c):
                show(c)
                return F.relu(c)

        class Other(chainer.Chain):
            def pop(self, c):
                return len(c)

        class Net(chainer.Chain):
            def step(self, x, names):
                for child in self.children():
                    show(child.pop(x), child.nothing(x))

        Net(a=Block(), b=Other()).step(np.zeros((2, 3), 'f'), [])
        """,
        ["host array rank 2 dtype float32", "int | tensor rank 2 dtype float32", "unknown"],
    ),
    "generators of NumPy's": (
        """
        rng = np.random.RandomState(0)
        show(rng.randn(3, 2), rng.rand(2).astype('f'), rng.randint(0, 3, 5), rng.permutation(3), rng.uniform(),
             np.random.default_rng(1).integers(0, 2, size=(2, 3)), rng.choice(3), rng.choice(3, 2))
        """,
        [
            "host array rank 2 dtype float64",
            "host array rank 1 dtype float32",
            "host array rank 1",
            "host array rank 1 dtype int64",
            "float",
            "host array rank 2",
            "unknown",
            "host array rank 1",
        ],
    ),
    "an array of the host beside one of the device": (
        """
        x = F.relu(np.ones((2, 3), 'f'))
        show(np.ones((2, 3), 'f') * x.data, np.ones((2, 3), 'f') * x)
        """,
        ["array rank 2 dtype float32", "tensor rank 2 dtype float32"],
    ),
    "examples of data sets": (
        """
        class Data(chainer.dataset.DatasetMixin):
            def __len__(self):
                return 3
            def get_example(self, i):
                return np.zeros((2, 3), 'f'), np.int32(i)
        class Own(Data):
            def __getitem__(self, i):
                return [1]
        d = Data()
        x, t = d[0]
        xs, ts = zip(*d[:2])
        show(x, xs, [y for y, _ in d], d[1:], [y for y in Own()][0], Own()[1:])
        pairs = chainer.datasets.TupleDataset(np.zeros((3, 3), 'f'), [1, 2, 3])
        show([a for a, _ in pairs], pairs[1][0])
        a, b = chainer.datasets.split_dataset(d, 1)
        show(a[0][0], d[np.array([1])])
        """,
        [
            "host array rank 2 dtype float32",
            "list of host array rank 2 dtype float32",
            "list of host array rank 2 dtype float32",
            "list of (host array rank 2 dtype float32, unknown)",
            "unknown",
            "instance Own",
            "list of host array rank 1 dtype float32",
            "host array rank 1 dtype float32",
            "host array rank 2 dtype float32",
            "unknown",
        ],
    ),
    "children that a constructor hands on are to come": (
        """
        class Net(chainer.Chain):
            def __init__(self, n):
                super().__init__(l1=L.Linear(n + 1, 8))
            def __call__(self, s, a):
                return self.l1(F.concat((s, a), axis=1))
        class Agent:
            def __init__(self):
                self.net = Net(3)
            def act(self, s):
                show(self.net(s, s))
        def main():
            Agent().act(chainer.Variable(np.zeros((2, 2), 'f')))
        """,
        ["tensor rank 2"],
    ),
    "copies": (
        """
        import copy
        a = L.Linear(2, 3)
        show(copy.deepcopy(a), copy.copy([a]))
        """,
        ["instance chainer.links.Linear", "list of instance chainer.links.Linear"],
    ),
    "dictionaries that are filled": (
        """
        from collections import OrderedDict
        d = OrderedDict()
        d['a'] = L.Linear(2, 3)
        d['b'] = 1
        e = {}
        show(d['a'], d['b'], e['c'], list(e.values()))
        """,
        ["instance chainer.links.Linear", "1", "unknown", "list of unknown"],
    ),
    "functions in functions see what is around them": (
        """
        def f(x):
            def g():
                show(x, y)
            y = F.relu(x)
            return g
        f(np.ones((2, 3), 'f'))
        """,
        ["host array rank 2 dtype float32", "tensor rank 2 dtype float32"],
    ),
    "hooks and loss functions of optimizers": (
        """
        opt = chainer.optimizers.SGD()
        opt.setup(L.Linear(3, 2))
        def hook(opt):
            show(opt, opt.target)
        class Each(object):
            call_for_each_param = True
            def __call__(self, rule, param):
                show(rule, param)
        opt.add_hook(hook)
        opt.add_hook(Each())
        def loss(x):
            show(x)
        opt.update(loss, np.ones((2, 3), 'f'))
        """,
        [
            "instance chainer.optimizers.SGD",
            "instance chainer.links.Linear",
            "instance chainer.UpdateRule",
            "tensor",
            "array rank 2 dtype float32",
        ],
    ),
    "named parameters": (
        """
        for name, p in sorted(L.Linear(3, 2).namedparams()):
            show(name, p)
        """,
        ["str", "tensor"],
    ),
    "parameters are fed by calls": (
        """
        def f(x, n, name='a'):
            show(x, n, name)
        f(F.labels(1), 3)
        """,
        ["tensor rank 1 dtype int64", "3", "str"],
    ),
    "two calls join": (
        """
        def f(x):
            show(x)
        f(F.labels(1))
        f(F.labels(np.zeros((2, 3)).sum(axis=0)))
        """,
        ["tensor rank 1 dtype int64"],
    ),
    "calls that disagree": (
        """
        def f(x):
            show(x)
        f(np.zeros((2, 3), dtype=np.float32))
        f(np.zeros(3, dtype=np.float32))
        """,
        ["host array dtype float32"],
    ),
    "returns": (
        """
        def f(x):
            if x:
                return F.labels(x)
            return F.labels(x)
        show(f(1))
        """,
        ["tensor rank 1 dtype int64"],
    ),
    "a loop's second turn": (
        """
        x = np.zeros(3)
        for i in range(3):
            show(x)
            x = F.labels(x)
        """,
        ["host array rank 1 dtype float64 | tensor rank 1 dtype int64"],
    ),
    "branches": (
        """
        if y:
            x = np.zeros((1, 2), dtype='f')
        else:
            x = np.zeros((3, 4), dtype='f')
        show(x)
        """,
        ["host array rank 2 dtype float32"],
    ),
    "tuples": (
        """
        a, (b, c) = 1, (F.labels(2), 'x')
        show(a, b)
        for k, (l, m) in [(1, (F.labels(2), 'x'))]:
            show(k, l, m)
        """,
        ["1", "tensor rank 1 dtype int64", "1", "tensor rank 1 dtype int64", "'x'"],
    ),
    "lists grow": (
        """
        xs = []
        xs.append(F.labels(1))
        for x in xs:
            show(x, xs[0], xs[1:][0])
        """,
        ["tensor rank 1 dtype int64"] * 3,
    ),
    "comprehensions": (
        """
        xs = [F.labels(i) for i in range(3)]
        show(xs, {k: F.labels(k) for k in xs})
        """,
        ["list of tensor rank 1 dtype int64", "dict of tensor rank 1 dtype int64"],
    ),
    "attributes of self": (
        """
        class A:
            def __init__(self, n):
                self.n = n
                self.x = F.labels(n)
            def g(self):
                show(self.n, self.x)
        A(3).g()
        """,
        ["3", "tensor rank 1 dtype int64"],
    ),
    "inheritance and super": (
        """
        class A:
            k = 4
            def f(self):
                return F.labels(1)
        class B(A):
            def f(self):
                show(super().f(), super(B, self).f(), self.k)
                return 1
        B().f()
        """,
        ["tensor rank 1 dtype int64", "tensor rank 1 dtype int64", "4"],
    ),
    "properties": (
        """
        class A:
            @property
            def x(self):
                return F.labels(1)
        show(A().x)
        """,
        ["tensor rank 1 dtype int64"],
    ),
    "functions as values": (
        """
        def f(x):
            return F.labels(x)
        def apply(g, x):
            return g(x)
        show(apply(f, 1), (lambda x: F.labels(x))(1))
        """,
        ["tensor rank 1 dtype int64"] * 2,
    ),
    "recursion ends": (
        """
        def f(n):
            return F.labels(n) if n else f(n - 1)
        def g(n):
            return g(n)
        show(f(3))
        """,
        ["tensor rank 1 dtype int64"],
    ),
    "growing types end": (
        """
        def f(x):
            return f((x, x))
        f(1)
        x = 1
        while x:
            x = (x,)
        """,
        [],
    ),
    "forward of a chain gets tensors": (
        """
        class Net(chainer.Chain):
            def __init__(self):
                super().__init__()
            def forward(self, x, t):
                show(x, t)
        """,
        ["tensor", "tensor"],
    ),
    "defaults of other callers": (
        """
        def f(n=3):
            show(n)
        f()
        """,
        ["int"],
    ),
    "None is what is filled later": (
        """
        class A:
            def __init__(self):
                self.h = None
            def step(self):
                self.h = F.labels(1)
                show(self.h)
        """,
        ["tensor rank 1 dtype int64"],
    ),
    "walrus and conditional expressions": (
        """
        if (y := F.labels(1)) is not None:
            show(y, y if z else F.labels(2))
        """,
        ["tensor rank 1 dtype int64"] * 2,
    ),
    "modules read global names that change later": (
        """
        def f():
            show(limit)
        limit = 3
        limit = 4
        f()
        """,
        ["int"],
    ),
    "generators": (
        """
        def f():
            yield F.labels(1)
        for x in f():
            show(x)
        """,
        ["tensor rank 1 dtype int64"],
    ),
    "nothing is known": (
        """
        import somewhere
        show(somewhere.f(), undefined, somewhere)
        """,
        ["unknown", "unknown", "somewhere"],
    ),
    "caught exceptions, with, match": (
        """
        try:
            x = F.labels(1)
        except E as e:
            show(e)
        with open('f') as f:
            show(f)
        match y:
            case [a, *b]:
                show(a)
        """,
        ["unknown"] * 3,
    ),
    "links by keyword in a class that another makes": (
        """
        import chainer
        import chainer.links as L
        class Net(chainer.Chain):
            def __init__(self, n):
                super().__init__(l=L.Linear(n, 1))
            def __call__(self, x):
                return self.l(x)
        class User(object):
            def __init__(self, n):
                self.net = Net(n)
            def run(self, x):
                show(self.net(chainer.Variable(x)))
        """,
        ["tensor rank 2"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_kind(kinds, name):
    text, expected = CASES[name]
    assert kinds(text) == expected


def test_across_files(kinds):
    assert kinds(
        "from lib import net\nfrom lib.net import Net, K\nm = Net(5)\nshow(m.run(F.labels(1)), K, net.Net(5).n)\n",
        lib__net="K = 7\nclass Net:\n    def __init__(self, n):\n        self.n = n\n    def run(self, x):\n"
        "        show(x, self.n)\n        return x\n",
    ) == ["tensor rank 1 dtype int64", "7", "5", "tensor rank 1 dtype int64", "5"]


def test_hints(kinds):
    assert (
        kinds("def f(x, y):\n    show(x, y)\n", {"f.x": "tensor rank 4 dtype float32"})[0]
        == "tensor rank 4 dtype float32"
    )


def test_the_number_of_visits_is_bounded(rules):
    lines = ["import chainer.functions as F"]
    for i in range(60):  # every function calls every later one with another value
        lines += [f"def f{i}(x):", *(f"    f{j}(({i}, x))" for j in range(60) if j != i), "    return x"]
    code = "\n".join([*lines, "f0(1)", ""])
    analysis = Analysis(Project({"a.py": Source(code, ast.parse(code))}), rules).run()
    assert max(analysis._visits.values()) <= 30
