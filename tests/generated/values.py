"""Composes small programs of one kind each: where a value comes from, how it travels, and what is made of it there.

A class of defects is mostly a pair of a way and an end: an element of an array that reaches a key through a list, a
shape that is written out of a dictionary. All pairs are too many to write by hand, and cheap to run.
"""

from __future__ import annotations

import random
import re

MODULE = """\
import collections
import contextlib
import copy
import dataclasses
import functools
import heapq
import itertools
import json
import math
import operator
import queue
import types
import typing

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import optimizers


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.fc = L.Linear(3, 3)

    def __call__(self, x):
        return self.fc(x)


Pair = collections.namedtuple('Pair', ['first', 'second'])


class Box(object):
    shared = None

    def __init__(self, value=None):
        self.value = value

    @property
    def held(self):
        return self.value

    @classmethod
    def make(cls, value):
        return cls(value)

    def set(self, value):
        self.value = value
        return self

    def get(self):
        return self.value

    def __getitem__(self, i):
        return [self.value][i]

    def __iter__(self):
        yield self.value


class Setter(object):
    def __init__(self):
        self.value = None

    def __call__(self, v):
        self.value = v
        return self.value


class Case(Box):
    def get(self):
        return Box.get(self)


def same(v):
    return v


def named(**kw):
    return kw['v']


def first(*values):
    return values[0]


def each(v):
    for w in [v]:
        yield w


def keeper(v):
    def inner():
        return v
    return inner


def plainly(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)
    return inner


@plainly
def decorated(v):
    return v


def both(v, other=None):
    if other is None:
        return v
    return v, other


def put_into(items, v):
    items.append(v)


def put_under(table, key, v):
    table[key] = v


@contextlib.contextmanager
def holding(v):
    yield v


class Listed(Box):
    table = {}

    def __init_subclass__(cls):
        cls.table[cls.__name__] = cls


class HeldOne(Listed):
    pass


class Own(dict):
    def put(self, key, value):
        self[key] = value
        return self


@dataclasses.dataclass
class Record(object):
    value: object
    other: object = None
    more: list = dataclasses.field(default_factory=list)


class Typed(typing.NamedTuple):
    value: object
    other: int = 1


class Stop(Exception):
    pass


class Held(Exception):
    def __init__(self, value):
        super(Held, self).__init__('held')
        self.value = value


class Memo(object):
    def __init__(self, function):
        self.function, self.last = function, None

    def __call__(self, *args):
        self.last = self.function(*args)
        return self.last


@Memo
def remembered(v):
    return v


class Checked(object):
    def __init__(self):
        self._value = None

    @property
    def value(self):
        return self._value

    @value.setter
    def value(self, v):
        self._value = v

    def __getattr__(self, name):
        if name.startswith('its_'):
            return self._value
        raise AttributeError(name)


class Managed(object):
    def __init__(self, value):
        self.value = value

    def __enter__(self):
        return self.value

    def __exit__(self, *error):
        return False


def noting(name):
    def decorate(function):
        @functools.wraps(function)
        def inner(*args):
            result = function(*args)
            inner.last = result
            decorate.seen.append(result)
            return result
        return inner
    decorate.seen = []
    return decorate


@noting('noted')
def noted(v):
    return v


@functools.lru_cache(maxsize=None)
def cached(box):
    return box.value


def echo():
    got = None
    while True:
        got = yield got


def through(v):
    yield from each(v)
    return v


def result_of(v):
    result = yield from through(v)
    yield result


def failing(v):
    raise Stop(v)


def matched(v):
    match v:
        case {'k': found}:
            return found
        case [found, _]:
            return found
        case Record(value=found):
            return found
        case found:
            return found


class Register(object):
    def __init__(self):
        self.functions = {}

    def __call__(self, function):
        self.functions[function.__name__] = function
        return function


register = Register()


@register
def registered(v):
    return v


class Kept(chainer.Link):
    def __init__(self, v=None, w=0):
        super(Kept, self).__init__()
        self.add_persistent('value', v)
        self.other, self.third = v, w
        for name in ('other', 'third'):
            self.register_persistent(name)


TABLE = {'same': same, 'first': first}
KEPT = []


"""
HEAD = f"""\
{MODULE}def train():
    rng = np.random.RandomState(3)
    model = Net()
    begin(model)
    xs = rng.rand(4, 3).astype('f')
    ts = np.array([0, 2, 1, 2], 'i')
    names = ['zero', 'one', 'two']
    model.cleargrads()
    loss = F.softmax_cross_entropy(model(xs), ts)
    loss.backward()
"""
# a library's view: who calls `work`, and with what, is in another program
LIBRARY = f"""\
{MODULE}def work(model, xs, ts):
    names = ['zero', 'one', 'two']
    loss = F.softmax_cross_entropy(model(xs), ts)
    model.cleargrads()
    loss.backward()
"""
_HANDED = re.compile(r"\b(xs|ts)\b")
# the sort of a value, and where it comes from
SOURCES = (
    ("rows", "model(xs).array"),
    ("rows", "F.softmax(model(xs)).data"),
    ("rows", "chainer.cuda.to_cpu(model(xs).data)"),
    ("rows", "model.fc.W.array"),
    ("rows", "model.fc.W.grad"),
    ("rows", "xs"),
    ("labels", "model(xs).array.argmax(axis=1)"),
    ("labels", "F.argmax(model(xs), axis=1).data"),
    ("labels", "ts"),
    ("labels", "(model(xs).array > 0.1).sum(axis=1)"),
    ("variable", "model(xs)"),
    ("variable", "F.tanh(model.fc(xs))"),
    ("number", "F.mean(model(xs)).array"),
    ("number", "loss.data"),
    ("number", "model(xs).array.max()"),
    ("number", "F.accuracy(model(xs), ts).data"),
    ("number", "model(xs).array[0, 1]"),
    ("index", "model(xs).array[0].argmax()"),
    ("index", "model(xs).array.argmax(axis=1)[1]"),
    ("shape", "model(xs).shape"),
    ("shape", "model.fc.W.array.shape"),
    ("shape", "model(xs).array.shape"),
)
# V is the value, and N the name that it has behind the way
WAYS = (
    "N = V",
    "box = {}\nbox['k'] = V\nN = box['k']",
    "N = {'k': V}.get('k')",
    "box = dict(k=V)\nN = box.pop('k')",
    "box = {}\nbox.update(k=V)\nN = list(box.values())[0]",
    "for _, N in {'k': V}.items():\n    pass",
    "N = dict([('k', V)])['k']",
    "N = {k: w for k, w in [('k', V)]}['k']",
    "box = collections.defaultdict(list)\nbox['k'].append(V)\nN = box['k'][-1]",
    "box = collections.OrderedDict()\nbox.setdefault('k', V)\nN = box['k']",
    "items = []\nitems.append(V)\nN = items[0]",
    "N = [w for w in [V]][0]",
    "N = list(map(same, [V]))[0]",
    "N = list(map(lambda v: v, [V]))[0]",
    "items = collections.deque(maxlen=3)\nitems.append(V)\nN = items[0]",
    "items = [None] * 2\nitems[1] = V\nN = items[-1]",
    "items = [V]\nN = items.pop()",
    "for i, N in enumerate([V]):\n    pass",
    "for N, t in zip([V], ts):\n    pass",
    "firsts, seconds = zip(*[(V, 1)])\nN = firsts[0]",
    "firsts, seconds = map(list, zip(*[(V, 1), (V, 2)]))\nN = firsts[1]",
    "N, rest = V, 2",
    "N, *rest = [V, 1]",
    "N = (V, 1)[0]",
    "N = Pair(V, 1).first",
    "N, _ = Pair(V, 1)",
    "N = Box(V).value",
    "N = Box(V).held",
    "N = Case(V).get()",
    "N = Box(V)[0]",
    "N = Setter()(V)",
    "for N in Box(V):\n    pass",
    "box = Box()\nsetattr(box, 'value', V)\nN = getattr(box, 'value')",
    "Box.shared = V\nN = Box.shared",
    "model.kept = V\nN = model.kept",
    "N = same(V)",
    "same(xs)\nN = same(V)",
    "N = named(v=V)",
    "N = named(**{'v': V})",
    "N = first(V)",
    "N = first(*[V, 1])",
    "N = next(each(V))",
    "for N in each(V):\n    pass",
    "N = keeper(V)()",
    "N = functools.partial(same, V)()",
    "N = decorated(V)",
    "N, _ = both(V, 1)",
    "both(xs, 1)\nN = both(V)",
    "N = TABLE['same'](V)",
    "N = (lambda v: v)(V)",
    "N = V if len(xs) else None",
    "N = None\nfor _ in range(2):\n    if N is None:\n        N = V",
    "try:\n    N = V\nexcept ValueError:\n    N = None",
    "N = copy.copy(V)",
    "N = copy.deepcopy(V)",
    "N = sorted([(0, V)], key=lambda pair: pair[0])[0][1]",
    "N = functools.reduce(lambda a, b: b, [V, V])",
    "def local():\n    return V\nN = local()",
    "items = []\nput_into(items, V)\nN = items[0]",
    "box = {}\nput_under(box, 'k', V)\nN = box['k']",
    "items = []\ndef put(v):\n    items.append(v)\nput(V)\nN = items[-1]",
    "kept = None\ndef keep(v):\n    nonlocal kept\n    kept = v\nkeep(V)\nN = kept",
    "KEPT.append(V)\nN = KEPT[-1]",
    "box = Box([])\nbox.value.append(V)\nN = box.value[0]",
    "with holding(V) as N:\n    pass",
    "N = Box.make(V).value",
    "N = Box().set(V).value",
    "box = Box()\nbox.set(V)\nN = box.value",
    "N = getattr(Box(V), 'get')()",
    "N = vars(Box(V))['value']",
    "N = max([V], key=lambda v: 0)",
    "N = dict(zip(['k'], [V]))['k']",
    "N = {**{'k': V}}['k']",
    "N = [*[V], 1][0]",
    "N = list({'k': V}.items())[0][1]",
    "N = next(iter([V]))",
    "N = list(itertools.chain([V], [V]))[1]",
    "N = list(reversed([V]))[0]",
    "N = sum([[V]], [])[0]",
    "N = ([V] + [V])[1]",
    "items = [(V, 1)]\nN = [w for w, t in items][0]",
    "N = [row for row in [[V]] for row in row][0]",
    "while True:\n    N = V\n    break",
    "items = collections.deque([V])\nN = items.popleft()",
    "box = Box()\nbox.__dict__['value'] = V\nN = box.value",
    "N = copy.copy(Box(V)).value",
    "N = Listed.table['HeldOne'](V).value",
    "N = Listed.__subclasses__()[0](V).get()",
    "N = Own().put('k', V)['k']",
    "N = register.functions['registered'](V)",
    "log = {'a': [], 'b': {}}\nlog['a'].append(V)\nN = log['a'][0]",
    "log = {'a': [], 'b': {}}\nlog['b']['x'] = V\nN = log['b']['x']",
    "def told(e):\n    e['out'].append(V)\nout = []\ntold({'out': out})\nN = out[0]",
    "def told(**kw):\n    kw['out'].append(V)\nout = []\ntold(out=out)\nN = out[0]",
    "def told(*a):\n    a[0].append(V)\nout = []\ntold(out, 1)\nN = out[0]",
    "out = []\nfor told in [lambda o: o.append(V)]:\n    told(out)\nN = out[0]",
    "def told(pair):\n    pair[1].append(V)\nout = []\ntold((1, out))\nN = out[0]",
    "rows = [[] for _ in range(2)]\nrows[1].append(V)\nN = rows[1][0]",
    "grid = [[None] * 2 for _ in range(2)]\ngrid[0][1] = V\nN = grid[0][1]",
    "box = Box({})\nbox.value['k'] = V\nN = box.value['k']",
    "box = Box()\nbox.value = [V]\nN, = box.value",
    "box = Box()\nbox.items = []\nbox.items.append(V)\nN = box.items[-1]",
    "N = {'a': {'b': [V]}}['a']['b'][0]",
    "items = ()\nitems += (V,)\nN = items[0]",
    "items = []\nitems += [V]\nN = items[0]",
    "items = []\nitems.extend([V, V])\nN = items[1]",
    "items = [V, V]\nN = items[:1][0]",
    "items = [0]\nitems[0] = V\nN = items[0]",
    "items = list(range(2))\nitems[1] = V\nN = items[1]",
    "heap = []\nheapq.heappush(heap, (1, V))\nN = heapq.heappop(heap)[1]",
    "line = queue.Queue()\nline.put(V)\nN = line.get()",
    "N = dict(a=V, b=V).popitem()[1]",
    "(N,), _ = [V], 1",
    "N = (lambda *, v: v)(v=V)",
    "def asked(v, *, flag=False):\n    return v if not flag else None\nN = asked(V)",
    "class Local(object):\n    def __call__(self, *a, **k):\n        return a[0]\nN = Local()(V)",
    "class Held(object):\n    def __enter__(self):\n        return V\n    def __exit__(self, *a):\n        pass\n"
    "with Held() as N:\n    pass",
    "N = tuple(w for w in [V])[0]",
    "N = next(w for w in [V] if w is not None)",
    "N = {i: w for i, w in enumerate([V])}[0]",
    "N = ([V] * 2)[1]",
    "N = types.SimpleNamespace(v=V).v",
    "@dataclasses.dataclass\nclass Record:\n    v: object = None\nN = Record(V).v",
    "class Row(typing.NamedTuple):\n    v: object\nN = Row(V).v",
    "N = functools.lru_cache(maxsize=None)(lambda: V)()",
    "class Lazy(object):\n    def __getattr__(self, name):\n        return V\nN = Lazy().anything",
    "N, = map(same, [V])",
    "N = dict(zip('ab', [V, V]))['b']",
    "N = list(itertools.islice(itertools.repeat(V), 1))[0]",
    "N = next(itertools.chain.from_iterable([[V]]))",
    "N = [w for ws in zip([V], [V]) for w in ws][1]",
    "other = N = V",
    "if (held := V) is not None:\n    N = held",
    "model.kept = [V]\nN = model.kept[0]",
    "model.fc.kept = V\nN = model.fc.kept",
    "N = getattr(model, 'nothing', V)",
    "N = {'k': V}.get('k', None)",
    "N = {}.get('k', V)",
    "N = {}.setdefault('k', V)",
    "def grown(items=None):\n    items = items or []\n    items.append(V)\n    return items\nN = grown()[0]",
    "def deep(v, n=2):\n    return deep(v, n - 1) if n else v\nN = deep(V)",
    "class Kid(Box):\n    def __init__(self, *args, **kwargs):\n        super().__init__(*args, **kwargs)\n"
    "N = Kid(value=V).held",
    "class Mixed(Box):\n    @property\n    def held(self):\n        return [super().held]\nN = Mixed(V).held[0]",
    "class Slots(object):\n    __slots__ = ('v',)\nslots = Slots()\nslots.v = V\nN = slots.v",
    "N = sum(([w] for w in [V]), [])[0]",
    "table = {}\nfor key, v in [('k', V)]:\n    table.setdefault(key, []).append(v)\nN = table['k'][0]",
    "table = collections.defaultdict(dict)\ntable['a']['b'] = V\nN = table['a']['b']",
    "table = {name: [] for name in 'ab'}\ntable['b'].append(V)\nN = table['b'][0]",
    "items = [V]\nitems.insert(0, V)\nN = items.pop(0)",
    "N = [{'v': V}][0]['v']",
    "N = [w['v'] for w in [{'v': V}]][0]",
    "N = json.loads('{}').get('k', V)",
    "sender = echo()\nnext(sender)\nN = sender.send(V)",
    "*_, N = result_of(V)",
    "try:\n    failing(V)\nexcept Stop as e:\n    N = e.args[0]",
    "try:\n    raise Held(V)\nexcept Held as e:\n    N = e.value",
    "N = collections.ChainMap({'k': V}, {'j': 1})['k']",
    "N = operator.itemgetter('k')({'k': V})",
    "N = operator.itemgetter(1)((1, V))",
    "N = operator.attrgetter('value')(Box(V))",
    "N = Box(Box(V)).value.value",
    "box = Box(Box())\nbox.value.value = V\nN = box.get().get()",
    "N = Record(V).value",
    "N = dataclasses.replace(Record(1), value=V).value",
    "N = vars(Record(V))['value']",
    "record = Record(1)\nrecord.more.append(V)\nN = record.more[-1]",
    "record = Record(1, other=V)\nN = [getattr(record, f.name) for f in dataclasses.fields(record)][1]",
    "N = Typed(V).value",
    "N = Typed(V)._replace(other=2)[0]",
    "N = Typed(1, V)._asdict()['other']",
    "N = remembered(V)",
    "remembered(V)\nN = remembered.last",
    "checked = Checked()\nchecked.value = V\nN = checked.value",
    "checked = Checked()\nchecked.value = V\nN = checked.its_value",
    "with Managed(V) as N:\n    pass",
    "N = noted(V)",
    "noted(V)\nN = noted.last",
    "N = cached(Box(V))",
    "if (N := V) is None:\n    N = 1",
    "N = matched({'k': V})",
    "N = matched([V, 1])",
    "N = matched(Record(V))",
    "N = matched(V)",
    "match (1, V):\n    case (1, N):\n        pass",
    "same.kept = V\nN = same.kept",
    "(_, *rest), last = (1, V, 2), 3\nN = rest[0]",
    "N = (lambda *a, **k: k.get('v', a[0]))(V)",
    "try:\n    N = None\nfinally:\n    N = V",
    "for _ in range(1):\n    N = V\nelse:\n    pass",
    "N = next((w for w in [V] if w is not None), None)",
    "N = types.SimpleNamespace(k=V).k",
    "N = queue.Queue()\nN.put(V)\nN = N.get()",
    "box = Box([V])\nN, = box.value",
    "N = [V][0] if True else [1][0]",
    "N = {**dict(a=1), 'k': V}.pop('k')",
    "N = list(dict.fromkeys(['k'], V).values())[0]",
    "table = {'k': [V]}\nN = [w for values in table.values() for w in values][0]",
    "N = getattr(types.SimpleNamespace(**{'k': V}), 'k')",
    "history = [(1, V)]\n_, N = min(history, key=lambda pair: pair[0])",
    "N = collections.namedtuple('Local', 'v w')(V, 1).v",
    "best = {}\nbest['v'] = V\nbest = dict(best, w=1)\nN = best['v']",
    "N = itertools.accumulate([V], lambda a, b: b)\nN = list(N)[0]",
    "N = V if V is not None else 0",
    # loops that are left on the way
    "for i in range(4):\n    N = V\n    if i > 1:\n        break\n    N = None",
    "for i in range(4):\n    N = V\n    if i > 1:\n        continue\n    N = None",
    "for i in range(4):\n    if i == 7:\n        N = None\n        break\nelse:\n    N = V",
    "N = 0\nwhile N is not None:\n    N = V\n    if len(xs):\n        break\n    N = None",
    "i = 0\nwhile True:\n    i += 1\n    if i < 3:\n        continue\n    N = V\n    if i > 3:\n"
    "        break\n    else:\n        break",
    "def found(items):\n    for w in items:\n        if w is None:\n            continue\n        return w\n"
    "N = found([None, V])",
    # tables of several kinds of values
    "table = {'a': V, 'n': 1.5, 't': 'text', 'x': None}\n"
    "N = [w for w in table.values() if w is not None and not isinstance(w, (float, str))][0]",
    "table = {'n': 2, 't': 'text'}\ntable.update(a=V, x=None)\nN = table.pop('a')",
    "table = {'n': 2}\ntable.update({'a': V})\nN = table.setdefault('a', None)",
    "table = {'a': V, 'n': 2, 't': 'b'}\nN = {k: w for k, w in table.items() if k != 't'}['a']",
    "table = {'a': V, 'n': 2}\ntable = {k.upper(): w for k, w in table.items()}\nN = table['A']",
    "table = {'a': None, 'v': model(xs), 'n': 3}\ntable['a'] = V\nN = table.get('a', 0)",
    "table = dict(n=1, a=V)\nkeys, values = zip(*sorted(table.items(), key=lambda p: p[0]))\nN = values[0]",
    # None at times
    "def maybe(flag):\n    if flag:\n        return V\nN = maybe(True)",
    "def maybe(flag):\n    return V if flag else None\nmaybe(False)\nN = maybe(True)",
    "def maybe(flag):\n    if not flag:\n        return None, 0\n    return V, 1\nN, _ = maybe(1)",
    # modes in generators
    "def gen():\n    with chainer.using_config('train', False):\n        yield V\nN = next(gen())",
    "def gen():\n    with chainer.no_backprop_mode():\n        yield V\n        yield V\n*_, N = gen()",
)
# what a link saves beside its parameters is an array or a number
_PERSISTENT = (
    "N = Kept(V).value",
    "N = Kept(V, 1).other",
    "Kept(1)\nN = Kept(V).other",
    "Kept()\nN = Kept(V).value",
    "saver = Kept(0)\nsaver.value = V\nN = saver.value",
)
WAYS_OF_SORT = dict.fromkeys(("rows", "labels", "number"), _PERSISTENT)
_WRITTEN = (
    "print(repr(V))",
    "print('%r' % (V,))",
    "print(f'{V!r}')",
    "print('{:}'.format(V))",
    "print('{0!r:>40}'.format(V))",
    "print(format(V))",
    "print('{v!s} {n:02d}'.format(v=V, n=1))",
    "print('%(v)s' % {'v': V})",
    "print('{b.value}'.format(b=Box(V)))",
    "print({'v': V, 'n': 1, 's': 'a', 'z': None})",
    "table = {'v': V, 's': 'a', 'n': None}\nprint(' '.join('%s=%s' % kv for kv in table.items()))",
    "print(V)",
    "print('%s' % (V,))",
    "print('{}'.format(V))",
    "print(str(V))",
    "print('a', V, 'b')",
    "print([V, 1])",
    "print({'v': V})",
    "print(f'{V}')",
)
_OF_ARRAYS = (
    *_WRITTEN,
    "print(V.shape)",
    "print((V.shape, len(V)))",
    "print({'shape': V.shape})",
    "print(V.ndim, V.size)",
    "print(V.sum(), V.mean())",
    "print(V.max(axis=0))",
    "print(V[::-1])",
    "print(V[0])",
    "print(V.tolist())",
    "print(V.reshape(2, -1))",
    "print(V.reshape((-1,)).shape)",
    "print(V.astype(np.float64).sum())",
    "print(V.astype(np.int32))",
    "print(V.copy())",
    "print(V.flatten())",
    "print(V.argmax(axis=0))",
    "print(np.mean(V))",
    "print(np.sort(V, axis=0))",
    "print(np.concatenate([V, V]).shape)",
    "print(np.asarray(V))",
    "print(np.array([V, V]).shape)",
    "print(isinstance(V, np.ndarray))",
    "print([float(e) for e in V.ravel()])",
    "print(V.repeat(2, axis=0).shape)",
    "print((V > 0.3).all(), (V > 0.3).any())",
    "print(np.where(V > 0.3, 1, 0))",
    "print(sum(V))",
    "w = V.copy()\nw += 1\nprint(w)",
    "w = V.copy()\nw[0] = 0\nprint(w)",
    "w = V\nw = w * 2 + 1\nprint(w)",
    "print(V.clip(0, 1))",
    "print(V.transpose().shape, V.T.shape)",
    "print(V.min(), V.max())",
    "print(np.nonzero(V > 0.3)[0])",
    "for row in V:\n    print(row)",
    "print([row.sum() for row in V])",
    "print(np.abs(V).sum())",
    "print(V.squeeze().shape, V.ravel().shape)",
    "print(len(V), list(V)[0])",
    "print(V == V)",
    "print(V.cumsum())",
    "print(json.dumps(V.tolist())[:1])",
    "print(np.unique(V).shape)",
    "print(max(V.ravel()), min(V.ravel()))",
    "print(V[None].shape, V[..., None].shape)",
    "print(np.allclose(V, V))",
    "print(f'{V.shape}', f'{V.shape[0]:03d}', f'{V.size:,}')",
    "print('{0.shape} {0.ndim} {1}'.format(V, 2))",
    "print('{[0]}'.format(V))",
    "print(f'{V.mean():.3f} {V.sum():8.2f}')",
    "print('%5.2f %s' % (V.mean(), V.dtype))",
    "print(', '.join(f'{e:.2f}' for e in V.flatten()))",
    "print(*V)",
    "print(V[::-1].copy(), V[::-2].sum(), V[-1:0:-1])",
    "w = copy.copy(V[::-1])\nprint(w)",
    "print(F.sum(V[::-1].astype('f')).data)",
    "print(np.concatenate([V, V[::-1]]), np.flip(V, 0))",
    "n = len(V) * 2\nprint(np.zeros((n, V.shape[0])).shape, V.reshape(len(V) // 2, 2, -1).shape)",
    "n = int(V.shape[0] * xs.mean())\nprint(np.zeros(n).shape)",
    "n = V.shape[0] + int(ts.max())\nprint(model(np.ones((n, 3), 'f')).shape)",
)
ENDS = {
    "rows": (
        *_OF_ARRAYS,
        "print(V.dtype == np.float32)",
        "print(V.dtype.kind)",
        "print(V.dtype)",
        "print(V[:, 0])",
        "print(V[V > 0.3].shape)",
        "print(V.std(), V.var())",
        "print(V.round(2))",
        "print(np.round(V, 2))",
        "print(V.dot(xs.T).shape if V.shape == xs.shape else V.dot(xs.T).shape)",
        "print(np.dot(V, xs.T))",
        "print((V * xs[0]).sum())",
        "print((xs[0] * V).sum())",
        "print(V / V.sum(axis=1, keepdims=True))",
        "print(np.exp(V))",
        "print(np.linalg.norm(V))",
        "print(F.sum(V).data)",
        "print(F.sum(model(V)).data)",
        "print('%.3f' % V[0, 1])",
        "print('{:.3f} {:.2f}'.format(*V[0, :2]))",
        "print(sorted(V[:, 0]))",
        "print(V.mean(axis=0, dtype=np.float64))",
        "print(np.hstack([V, V]).shape, np.vstack((V, V)).shape)",
        "v = chainer.Variable(V)\nprint(F.sum(v * 2).array)",
        "print(np.argsort(V[0])[::-1])",
        "print(V.swapaxes(0, 1).shape)",
        "a, b = V.shape\nprint(a * b)",
        "print(V.take([0], axis=0))",
        "print(V.prod(), V.nbytes)",
        "print((V @ np.eye(3)).dtype, np.eye(V.shape[0]) @ V, (V @ np.eye(3, dtype='f')).dtype)",
        "print(V.dot(np.eye(3)), np.dot(V, np.ones((3, 2))).dtype, np.matmul(V, np.eye(3)).dtype)",
        "model.fc.W.data[...] = V[:3]\nprint(model.fc.W.data)",
        "model.fc.b.array = V[0]\nprint(model.fc.b.array)",
        "bn = L.BatchNormalization(3)\nbn.avg_mean = V[0]\nprint(bn.avg_mean)",
        "print(F.n_step_rnn(1, 0., V[None, :1], [[V[:3], V[:3]]], [[V[0], V[0]]], [V])[1][0].array)",
        "from PIL import Image\nprint(Image.fromarray(np.uint8(V * 99)).size)",
        "box = Own()\nbox['k'] = V\nprint(box['k'].sum())",
        "link = Kept(V)\nprint(link.value, link.other, [link.third])",
    ),
    "labels": (
        *_OF_ARRAYS,
        "print(V.dtype.kind)",
        "print(sorted(collections.Counter(V.tolist()).items()))",
        "print(sorted(collections.Counter(V).values()))",
        "print(len(set(V)))",
        "print([names[i % 3] for i in V])",
        "print(np.bincount(V, minlength=4))",
        "print(xs[V % 4].shape)",
        "print(np.eye(4)[V])",
        "print(V[0] in (0, 1, 2, 3))",
        "print(','.join(str(e) for e in V))",
        "print('%d' % V[0])",
        "print({e: 1 for e in V})",
        "print('ab' * V[0])",
        "print(list(range(V[1])))",
        "print((V == ts).sum(), (V == ts).mean())",
        "print(np.mean(V == ts))",
        "print({0: 'a', 1: 'b', 2: 'c', 3: 'd'}[V[0]])",
        "print(int(V[0]), float(V[1]))",
        "print([int(e) for e in V])",
        "print(V.max() + 1)",
        "print((V != 0).astype(np.float32))",
        "count = {}\nfor e in V:\n    count[e] = count.get(e, 0) + 1\nprint(sorted(count.items()))",
        "print(F.embed_id(V, model.fc.W).shape)",
        "print([i for i, e in enumerate(V) if e == 2])",
        "print(sorted(zip(V, ts)))",
        "print(V[0] / 2, V[0] // 2, V[0] % 2)",
        "print((V * model(xs).array[:3, :1].sum(axis=1)[0]).shape)",
        "w = V[:3]\nprint((w * model(xs).array[0]).dtype, (model.fc.b.array - w).dtype, (w @ model.fc.W.array).dtype)",
        "model.fc.b.data[...] = V[:3]\nprint(model.fc.b.data)",
        "print(L.Linear(3, 3, initial_bias=V[:3]).b.array)",
        "bn = L.BatchNormalization(3)\nbn.avg_mean[...] = V[:3]\nprint(bn.avg_mean)",
        "print(Kept(V).value, Kept(V).other)",
    ),
    "variable": (
        "print(V.shape)",
        "print((V.shape, len(V)))",
        "print(V.data)",
        "print(V.array.sum())",
        "print(F.sum(V).data)",
        "print(V[0].data)",
        "print(len(V), V.ndim, V.size)",
        "print((V * 2 + 1).data)",
        "print(abs(V).data)",
        "print(V.reshape((2, -1)).shape)",
        "print(V.transpose().data.shape)",
        "print(V.dtype)",
        "print(V.dtype == np.float32)",
        "print(isinstance(V, chainer.Variable))",
        "s = F.sum(V ** 2)\nmodel.cleargrads()\ns.backward()\nprint(model.fc.W.grad)",
        "print(float(F.sum(V).data))",
        "print(F.concat([V, V], axis=0).shape)",
        "print(F.max(V, axis=1).data)",
        "print([float(e.data) for e in V[0]])",
        "print(V.data.argmax(axis=1))",
        "print(chainer.cuda.to_cpu(V.data)[0])",
        "for row in V:\n    print(row.data)",
        "print((V.data * xs).sum())",
        "print((V - xs).data)",
        "print(np.abs(V.data).max())",
        "print(F.softmax(V).data[:, 0])",
        "print(V.data[0, 0] > 0)",
        "w = V\nw.unchain_backward()\nprint(w.data.mean())",
        "print(F.mean_squared_error(V, xs).data)",
        "print(sum(V).data)",
        "print(V.T.shape)",
        "print('{0.shape} {0.ndim}'.format(V), '{.size} {.dtype}'.format(V, V))",
        "print(f'{V.data}', f'{float(F.sum(V).data):.3f}', '%.3f' % F.sum(V).data)",
        "print(V[::-1].data, V[:, ::-1].data, F.sum(V[::-1] * xs).data)",
        "print((V @ V.T).data, F.matmul(V, np.ones((3, 2), 'f')).data)",
        "for v in V:\n    if float(F.sum(v).data) > 9:\n        break\nelse:\n    print(v.data)",
        "print((-V).data, (V / 2).data, (2 - V).data)",
    ),
    "number": (
        *_WRITTEN,
        "print('%.3f' % V)",
        "print(float(V))",
        "print(round(float(V), 3))",
        "print('{:.3f}'.format(V))",
        "print(V + 1)",
        "print(V * 2.0, -V, abs(V))",
        "print(V > 0.1)",
        "print('big' if V > 0.1 else 'small')",
        "print(int(V * 100))",
        "print(sum([V, V]))",
        "print(max(V, 0.01))",
        "print(min(float(V), 0.5))",
        "print(np.mean([V, V]))",
        "print(json.dumps({'v': float(V)}))",
        "print((V, 1))",
        "print(math.exp(V))",
        "print(math.isnan(V))",
        "print(np.exp(V))",
        "print(np.isnan(V))",
        "print(V ** 2)",
        "total = 0\ntotal += V\nprint(total / 2)",
        "total = 0\nfor _ in range(2):\n    total += V * 4\nprint('%s %s' % (total, total / 8))",
        "total = 0\nfor _ in range(2):\n    total += float(V)\nprint(total)",
        "best = 0.0\nif V > best:\n    best = V\nprint(best)",
        "history = []\nhistory.append(V)\nprint(np.mean(history), len(history))",
        "history = [V, V]\nprint(sum(history) / len(history))",
        "print(np.array([V, 1.0]))",
        "print(V.item())",
        "print(V.dtype)",
        "print(V.shape == ())",
        "print(np.asarray(V).ndim)",
        "print(sorted([V, V * 2]))",
        "print('loss: ' + str(V))",
        "print(V == V)",
        "print(not V)",
        "best = float('inf')\nbest = min(best, V)\nprint(best)",
        "print('{0:>8.4f}|{1}'.format(V, type(V).__name__[:0]))",
        "print(xs[0] * V)",
        "print((V * xs).mean())",
        "print(round(V, 3))",
        "print(f'{V:.3f} {V:8.2e}|{V * 2:<8.3f}|{100 * V:.1f}%')",
        "print('{0[v]:.3f} {b.value:.2f}'.format({'v': V}, b=Box(V)))",
        "print('{:{w}.{p}f}'.format(V, w=8, p=2), '%(v).2f' % {'v': V}, format(V, '.3f'))",
        "n = max(1, int(np.ceil(V * 3)))\nprint(model(np.ones((n, 3), 'f')).shape)",
        "table = {'v': V, 'n': 2}\nprint(', '.join(f'{k}: {w:.2f}' for k, w in table.items()), sum(table.values()))",
    ),
    "index": (
        *_WRITTEN,
        "print(names[V])",
        "print(names[int(V)])",
        "print({0: 'a', 1: 'b', 2: 'c'}[V])",
        "print(V in [0, 1, 2])",
        "print(V in {0, 1, 2})",
        "print('%d' % V)",
        "print(list(range(V)))",
        "print('ab' * V)",
        "print(V == 1, V != 1)",
        "print(V + 1, V * 2)",
        "print(xs[V])",
        "print(xs[:V].shape)",
        "print({V: 'x'})",
        "count = collections.Counter()\ncount[V] += 1\nprint(sorted(count.values()), count[0] + count[1] + count[2])",
        "print([0] * (V + 1))",
        "print(int(V))",
        "print(json.dumps(int(V)))",
        "print('{:03d}'.format(V))",
        "print(np.zeros(V + 1))",
        "print(len({V, 0, 1, 2}))",
        "print(hash(V))",
        "print(np.eye(3)[V])",
        "print(V / 2, V // 2, V % 2)",
        "print(names.index(names[V]))",
        "seen = set()\nseen.add(V)\nprint(len(seen), 0 in seen or 1 in seen or 2 in seen)",
    ),
    "shape": (
        *_WRITTEN,
        "print(V[0], len(V))",
        "print(V + (1,))",
        "print(V == (4, 3), V == (3, 3))",
        "print((V, 2))",
        "print(V[:-1])",
        "print(tuple(V), list(V))",
        "print(np.prod(V))",
        "print({V: 1})",
        "print('{}x{}'.format(*V))",
        "print('%d, %d' % V)",
        "print(np.zeros(V).sum())",
        "print(isinstance(V, tuple))",
        "a, b = V\nprint(a, b)",
        "print([n * 2 for n in V])",
        "print(json.dumps(V))",
        "print(V in [(4, 3)])",
        "print(repr(V[1:]))",
        "print('x'.join(map(str, V)))",
        "print(V[-1] * 2, V[0] / 2)",
        "print(np.ones(V[1:]).shape)",
    ),
}


# what a caller hands over is an array of NumPy's before the migration and a tensor behind it: it is not written
LIBRARY_SOURCES = tuple((sort, source) for sort, source in SOURCES if source not in ("xs", "ts"))
LIBRARY_ENDS = {sort: tuple(end for end in ends if not _HANDED.search(end)) for sort, ends in ENDS.items()}


class Values:
    """One program, from a seed: three values that travel one to three ways each.

    ``library``: a function that nobody calls is handed the model and what it gets.
    """

    def __init__(self, seed: int, library: bool = False):
        self.draw = random.Random(seed)
        self.count = 0
        self.head = LIBRARY if library else HEAD
        self.sources = LIBRARY_SOURCES if library else SOURCES
        self.ends = LIBRARY_ENDS if library else ENDS

    def text(self) -> str:
        """The whole program."""
        lines = [line for _ in range(3) for line in self.value()]
        return self.head + "".join(f"    {line}\n" for line in lines)

    def value(self) -> list[str]:
        """The statements of one value."""
        sort, source = self.draw.choice(self.sources)
        lines = [f"v{self.count} = {source}"]
        ways = WAYS + WAYS_OF_SORT.get(sort, ())
        for way in self.draw.sample(ways, self.draw.choice([1, 1, 2, 3])):
            lines += named(way, N=f"v{self.count + 1}", V=f"v{self.count}")
            self.count += 1
        for end in self.draw.sample(self.ends[sort], 2):
            lines += named(end, V=f"v{self.count}")
        self.count += 1
        return lines


def named(template: str, **names: str) -> list[str]:
    """The lines of a template with names for its letters."""
    for letter, name in names.items():
        template = re.sub(rf"\b{letter}\b", name, template)
    return template.split("\n")
