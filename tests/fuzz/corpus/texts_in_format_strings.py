import chainer.functions as F


def show(x, d):
    print(f'{F.resize_images(x, (2, 3))} {d}', f"{F.relu(x)!r:>{d}} {F.resize_images(x, (2, 3))}")
