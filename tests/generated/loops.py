"""How generated programs train, and what they say in the end."""

OPTIMIZERS = (
    "optimizers.SGD(0.05)",
    "optimizers.SGD(lr=0.1)",
    "optimizers.MomentumSGD(lr=0.02, momentum=0.8)",
    "optimizers.Adam(0.01)",
    "optimizers.Adam(alpha=0.01, beta1=0.8)",
    "optimizers.AdaGrad(0.02)",
    "optimizers.RMSprop(0.01, alpha=0.9)",
    "optimizers.AdaDelta()",
    "optimizers.NesterovAG(0.02)",
)
HOOKS = (
    "chainer.optimizer.WeightDecay(0.01)",
    "chainer.optimizer_hooks.GradientClipping(0.7)",
    "chainer.optimizer.GradientHardClipping(-0.2, 0.3)",
)
FUNCTIONS = """
def bell(x, middle, width=2.0):
    return F.exp(-F.square((x - middle) / width))


def soft_largest(values, omega=1.5, axis=1):
    count = values.shape[axis]
    return (F.logsumexp(omega * values, axis=axis) - np.log(count)) / omega


def hard_largest(values, omega=1.5, axis=1):
    return (np.log(np.sum(np.exp(omega * values), axis=axis)) - np.log(values.shape[axis])) / omega


def stopped(x):
    if len(x) > 0:
        raise ValueError(len(x))
    return x


class Meter(object):
    def __init__(self):
        self.sum = 0
        self.count = 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n

    @property
    def average(self):
        return self.sum / self.count


class Keeping(chainer.training.updaters.StandardUpdater):
    def __init__(self, iterator, opt, lossfun):
        self.opt = opt
        self.model = opt.target
        super().__init__(iterator, opt)
        self.lossfun = lossfun

    def update_core(self):
        batch = self.get_iterator('main').next()
        loss = self.lossfun(self.model, *self.converter(batch, self.device))
        self.opt.target.cleargrads()
        loss.backward()
        self.opt.update()
        self.last = float(loss.array)


class Shaken(chainer.dataset.DatasetMixin):
    def __init__(self, xs, ts):
        self.xs, self.ts = xs, ts

    def __len__(self):
        return len(self.xs)

    def get_example(self, i):
        x = self.xs[i].copy()
        if np.random.rand() < 0.5:
            x = x[..., ::-1]
        if x.dtype == np.float32:
            x += np.random.normal(0, 0.01, x.shape).astype('f')
        return x, self.ts[i]


"""
PLAIN = """    for i in range(0, 24, N):
        x, t = xs[i:i + N], ts[i:i + N]
        model.cleargrads()
        loss = LOSS
        loss.backward()
        optimizer.update()
        said.append(float(loss.array))
"""
UPDATE = """    def lossfun(x, t):
        loss = LOSS
        said.append(float(loss.data))
        return loss

    for i in range(0, 24, N):
        optimizer.update(lossfun, xs[i:i + N], ts[i:i + N])
"""
ITERATOR = """    data = chainer.datasets.TupleDataset(xs, ts)
    iterator = iterators.SerialIterator(data, N, shuffle=False)
    while iterator.epoch < 1:
        x, t = concat_examples(iterator.next())
        loss = LOSS
        model.cleargrads()
        loss.backward()
        optimizer.update()
        said.append(float(loss.array))
"""
PERMUTED = """    order = rng.permutation(24)
    total = 0
    for i in range(0, 24, N):
        x = chainer.Variable(xs[order[i:i + N]])
        t = chainer.Variable(ts[order[i:i + N]])
        loss = LOSS
        model.cleargrads()
        loss.backward()
        optimizer.update()
        total += loss.data * len(x.data)
    said.append(float(total) / 24)
"""
# Two models with an optimizer each.
CRITIC = """    critic = L.Linear(CLASSES, 1, initialW=0.3)
    second = optimizers.RMSprop(0.01)
    second.setup(critic)
    meter = Meter()
    for i in range(0, 24, N):
        x, t = xs[i:i + N], ts[i:i + N]
        loss = LOSS + 0.1 * F.mean(critic(model(x)))
        model.cleargrads()
        loss.backward()
        optimizer.update()
        judged = F.mean(F.square(critic(model(x).array) - 1))
        critic.cleargrads()
        judged.backward()
        second.update()
        meter.update(judged.data, len(x))
        meter.update(loss.data)
        said.append(float('%s' % meter.average))
    said.append(float(abs(critic.W.array).sum()))
"""
# Examples that are changed at random.
SHAKEN = """    np.random.seed(11)
    iterator = iterators.SerialIterator(Shaken(xs, ts), N, repeat=False, shuffle=False)
    for batch in iterator:
        x, t = concat_examples(batch)
        loss = LOSS
        model.cleargrads()
        loss.backward()
        optimizer.update()
        said.append(float(loss.array))
    said.append(float(np.random.rand()))
"""
# An updater that keeps its optimizer under a name of its own.
KEPT = """    def lossfun(model, x, t):
        return LOSS

    data = chainer.datasets.TupleDataset(xs, ts)
    updater = Keeping(iterators.SerialIterator(data, N, shuffle=False), optimizer, lossfun)
    for i in range(24 // N):
        updater.update()
        said.append(updater.last)
"""
# Losses that a loop adds up; labels of a whole step that are padding.
SUMMED = """    for i in range(0, 24, N):
        model.cleargrads()
        loss = 0
        for k in range(i, i + N, N // 2):
            x, t = xs[k:k + N // 2], ts[k:k + N // 2]
            loss += LOSS
        loss.backward()
        optimizer.update()
        said.append(float(loss.array))
"""
LOOPS = (PLAIN, UPDATE, ITERATOR, PERMUTED, KEPT, SUMMED, CRITIC, SHAKEN)
PADDED = """    ts[N // 2:N] = -1
    ts[-1] = -1
"""
EVALUATION = (
    "",
    """    with chainer.using_config('train', False), chainer.no_backprop_mode():
        y = model(xs[:5])
    said.append(float(F.sum(y).array))
    said.append(y.array.shape[1])
""",
    """    with chainer.using_config('train', False):
        y = model(xs[:5]).array
    said += [float(v) for v in y.max(axis=1)]
""",
    """    said += [float('{:.3f}'.format(float(abs(p.array).sum()))) for _, p in sorted(model.namedparams())][:2]
""",
    # functions of the program that get arrays of NumPy
    """    rest = rng.rand(3, 4).astype('f')
    said += [float(v) for v in soft_largest(rest).array] + [float(F.sum(bell(rest, rest.mean())).array)]
    said.append(float(F.sum(soft_largest(model(xs[:4]), 2.0)).array))
""",
    """    meter = Meter()
    for i in range(0, 24, 8):
        meter.update(soft_largest(model(xs[i:i + 8])).data.mean(), 8)
    said.append(float('{}'.format(meter.average)))
""",
    # values as text: what is no number to Python stops at ``float``
    """    total = np.float32(0)
    for i in range(0, 24, 6):
        total += F.sum(model(xs[i:i + 6])).array
    said.append(float('%s' % total))
    said.append(float(str(total / 2)))
""",
    """    total, line = 0.0, 'y {} {}'.format(model(xs[:3]).shape, len(xs))
    for i in range(0, 24, 6):
        total += F.mean(model(xs[i:i + 6])).data
    said += [len(line), float('{0:.5f}'.format(total)), float(f'{total}')]
""",
    # a function of NumPy's that gets arrays of both sides
    """    rest = rng.rand(3, 4)
    said += [float(v) for v in hard_largest(rest)]
    said += [float(v) for v in hard_largest(model(xs[:4]).array, 2.0)]
""",
    # what Python makes of an array, as text
    """    y = model(xs[:4]).array
    said += [float(str(sum(y[:, 0]))), float('%s' % max(y[0])), float(','.join(map(str, y[0])).split(',')[0])]
    shape = y.shape
    said.append(len(str(shape)))
    said += [float(v) for v in (y[:, :2] * [1, 2])[0]]
""",
    # elements of arrays as keys
    """    with chainer.using_config('train', False):
        best = model(xs).array.argmax(axis=1)
    counts = {}
    for k in best:
        counts[k] = counts.get(k, 0) + 1
    said += [counts.get(k, 0) for k in range(4)]
""",
    """    with chainer.using_config('train', False):
        said.append(len(set(F.argmax(model(xs), axis=1).array)))
    said.append(float(abs(model.GRAD.grad).sum()))
""",
    # counts of what elements of arrays say
    """    with chainer.using_config('train', False):
        best = model(xs).array.argmax(axis=1)
    n, k = 0, [0] * 4
    for i in range(1, len(best)):
        n += (best[i] == best[i - 1])
        k[i % 4] = k[i % 4] + (best[i] == best[0])
    said += [float(str(n / len(best))), float('{}'.format(sum(k) / 24)), float(str(n * 0.1))]
""",
)
# Between two rounds of a loop.
SLOWER = """    optimizer.RATE *= 0.5
    for name, p in sorted(model.namedparams()):
        p.array[...] = p.array * 0.9
"""
