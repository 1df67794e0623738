"""Names of a module that come out of a dictionary: the options of a command line among what is imported."""

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules

_SOURCE = """\
import argparse
import chainer
from chainer import cuda, functions as F

rate = 0.5


def loss(x, t):
    return F.sum(F.softmax_cross_entropy(x, t)) + cuda.to_cpu(x.array).sum()


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--rate', type=float)
    args = parser.parse_args()
    globals().update(args.__dict__)
    with chainer.using_config('enable_backprop', False):
        print(loss, rate)
"""


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_options_as_globals_leave_what_is_imported(style):
    """``globals().update(args.__dict__)`` may set ``rate``, and no module of Chainer's."""
    code = migrate_source(_SOURCE, rules=load_rules(style=style, lazy=True)).code
    assert "TODO(chainer2torch" not in code
    assert "import chainer\n" not in code
    assert "cross_entropy" in code and "no_grad" in code
