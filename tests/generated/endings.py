"""What generated programs say in the end, in words that programs of the field use: each a class of defects once."""

FUNCTIONS = """
DEBUG = False


def traced(function):
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


def weighted(x, w=None):
    if w is None:
        return F.sum(x)
    return F.sum(x * w)


def written(template='{}={}', **values):
    return ' '.join(template.format(key, values[key]) for key in sorted(values))


@traced if DEBUG else (lambda function: function)
def scaled(x, by):
    return x / (np.abs(x).sum(axis=tuple(range(1, x.ndim)), keepdims=True) + by)


@contextlib.contextmanager
def recording(*models):
    with chainer.no_backprop_mode():
        yield models[0] if len(models) == 1 else models


def noisy(x):
    return F.dropout(x, ratio=0.4)


def applied(function, x):
    return function(x)


def on_host(x, gpu=-1):
    return chainer.cuda.to_cpu(x) if gpu >= 0 else x


def held(x):
    return x.array if isinstance(x, chainer.Variable) else x


def without_first(function, *inputs):
    kept = inputs[0].array.copy()
    inputs[0].array = kept * 0.5
    inputs[0].array[0] = 0
    y = function(*inputs).array
    inputs[0].array = kept
    return y


class Shrink(object):
    name = 'Shrink'
    call_for_each_param = True

    def __init__(self, rate):
        self.rate = rate

    def __call__(self, rule, param):
        if param.name != 'b':
            param.grad += self.rate * param.array


"""
HOOKS = ("Shrink(0.02)",)
# behind the setup of the optimizer
FREEZING = ("    model.LAST.disable_update()\n", "    model.LAST.W.update_rule.enabled = False\n")
ENDINGS = (
    # arrays that are on the host without a GPU
    """    gpu, y = -1, model(xs[:4]).array
    if gpu >= 0:
        y = chainer.cuda.to_cpu(y)
    said += [float((part * 10).astype(np.int32).sum()) for part in y]
""",
    """    rows = on_host(model(xs[:4]).data)
    said.append(float(rows.astype(np.float64).mean()))
""",
    """    gpu = -1
    if gpu < 0:
        p = F.softmax(model(xs[:6])).data
    else:
        p = chainer.cuda.to_cpu(F.softmax(model(xs[:6])).data)
    said += [float(v) for v in np.sort(p.max(axis=1))[::-1]]
""",
    # a mode that reaches functions
    """    with chainer.using_config('train', False):
        said.append(float(F.sum(noisy(model(xs[:4]))).array))
""",
    """    with chainer.using_config('train', False), chainer.using_config('enable_backprop', False):
        parts = [noisy(model(xs[i:i + 6])).array for i in range(0, 24, 6)]
    said += [float(v) for v in np.concatenate(parts).mean(axis=0)]
""",
    # gradients that are asked for
    """    seen = chainer.Variable(model(xs[:4]).array)
    middle = 0.5 * seen + 0.1
    slope, = chainer.grad([F.sum(F.tanh(middle) ** 2)], [middle], enable_double_backprop=True)
    said += [float(v) for v in slope.array[0]]
""",
    """    made = model(xs[:4])
    made.unchain_backward()
    middle = made * 2
    middle.name = 'middle'
    slope = chainer.grad([F.sum(F.sigmoid(middle))], [middle])[0]
    said.append(float(F.sum(slope).data))
""",
    """    point = chainer.Variable(model(xs[:3]).array)
    F.sum(F.exp(point * 0.1)).backward()
    said.append(float(np.abs(point.grad).sum()))
""",
    # numbers of a model
    """    said += [sum(p.size for p in model.params()), len(list(model.links())), model.count_params()]
""",
    """    said += [float(np.sqrt((p.array ** 2).sum())) for _, p in sorted(model.namedparams())][-2:]
""",
    """    other = copy.deepcopy(model)
    with chainer.using_config('train', False):
        other.LAST.W.array[...] = 0
        said += [float(abs(model(xs[:3]).array).sum()), float(abs(other.LAST.W.array).sum())]
""",
    """    twin = Net()
    with chainer.using_config('train', False):
        twin(xs[:3]), model(xs[:3])
        twin.copyparams(model)
        said.append(float(F.sum(twin.LAST.W).array) - float(F.sum(model.LAST.W).array))
""",
    # containers, and text
    """    log = {'y': [], 'n': 0}
    for i in range(0, 24, 12):
        log['y'].append(F.mean(model(xs[i:i + 12])).array)
        log['n'] += len(xs[i:i + 12])
    said += [float(np.mean(log['y'])), log['n'], float('%.4f' % log['y'][-1])]
""",
    # elements as keys, as numbers of Python, and in containers that are written
    """    best = model(xs).array.argmax(axis=1)
    runs = {k: len(list(group)) for k, group in itertools.groupby(sorted(best))}
    said += [len(runs), sum(runs.values()), len('-' * best.max())]
""",
    """    signs = collections.Counter(tuple(row) for row in (model(xs[:8]).array > 0).astype(np.int32))
    said += sorted(signs.values())
""",
    """    lengths = (model(xs[:4]).array > 0).sum(axis=1)
    padded = [[1] * n + [0] * (9 - n) for n in lengths]
    said += [sum(map(sum, padded)), len(padded[0])]
""",
    """    share = (model(xs).array > 0).mean()
    last = {'best': model(xs[:2]).array.argmax(axis=1), 'n': 2}
    said += [round(share, 2), len(json.dumps({'share': share})) > 5, len(str(last))]
""",
    """    best = F.argmax(model(xs), axis=1).array
    names = {0: 'zero', 1: 'one', 2: 'two', 3: 'three'}
    said += [len(' '.join(names[int(k)] for k in best)), int(np.bincount(best, minlength=4).max())]
""",
    """    y = model(xs).array
    order = np.argsort(y[:, 0], kind='stable')
    said += [float(v) for v in y[order[:2], 0]] + [len(np.unique(y.argmax(axis=1)))]
""",
    """    y = model(xs[:8])
    halves = F.split_axis(y, 2, axis=0)
    said += [float(F.sum(half).data) for half in halves] + [float(y[0, 0].data), float(y.data[-1].max())]
""",
    """    hits = 0
    for x in xs[:6]:
        hits += int(model(x[None]).array[0].argmax()) if not NORMALIZED else 0
    said.append(hits)
""",
    """    total = sum(float(F.sum(model(xs[i:i + 8])).array) for i in range(0, 24, 8))
    said.append(round(total, 3))
""",
    # arrays of one element, and arrays of either kind
    """    with chainer.using_config('train', False):
        one = model(xs[:1]).array
    order, best = np.array([3, 1, 2, 0]), one.argmax(axis=1) % 4
    said += [order[best].ndim, int(order[best].sum()), len(order[:1][one[:, 0] > 0])]
""",
    """    for v in (model(xs[:4]), xs[:4]):
        kept = held(v).copy()
        kept[0] = 0
        said += [float(kept.std()), len(held(v).repeat(2, axis=0)), float(held(v).sum())]
""",
    """    with chainer.using_config('train', False):
        x = chainer.Variable(xs[:4].copy())
        said += [float(without_first(model, x).sum()), float(F.sum(x).array)]
""",
    # values that are numbers here and arrays there, written by their keywords, and functions that are chosen
    """    weights = {'none': None, 'number': 0.5, 'rows': np.array([[1], [0], [2], [1]], 'f')}
    said += [float(weighted(model(xs[:4]), weights[k]).array) for k in sorted(weights)]
""",
    """    y = model(xs[:4])
    text = written(shape=y.shape, kinds=(y.array > 0).sum(axis=1), n=len(y))
    said += [len(text), len(written('{} {}', shape=xs.shape, best=y.array.argmax(axis=1)))]
""",
    """    if xs.dtype == np.float32:
        with chainer.using_config('train', False):
            said += [float(v) for v in model(scaled(xs[:4], 1)).array.max(axis=1).round(3)]
""",
    """    with recording(model) as seen, chainer.using_config('train', False):
        said += [float(v) for v in seen(xs[:5]).array.mean(axis=0).round(3)]
""",
    """    turns = [lambda v: v[:, ::-1], lambda v: v[::-1, 1:], lambda v: v[None, ::-2]]
    y = model(xs[:4])
    said += [float(turn(y).array[0].sum()) for turn in turns] + [len(turns[1](y.array))]
""",
)
