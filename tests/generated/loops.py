"""How generated programs train, and what they say in the end."""

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
)
# Between two rounds of a loop.
SLOWER = """    optimizer.RATE *= 0.5
    for name, p in sorted(model.namedparams()):
        p.array[...] = p.array * 0.9
"""
