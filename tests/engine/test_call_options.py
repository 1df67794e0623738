"""Arguments that hard cases must not lose: a configuration object of the program's own, the options of astype."""

import pytest

from chainer2torch.engine import migrate_source

_CONFIG = """import chainer
import chainer.links as L

net = L.BatchNormalization(3)


def run(x, own):
    with chainer.using_config('train', False{argument}):
        return net(x)
"""


@pytest.mark.parametrize("argument", ["", ", chainer.config", ", config=chainer.config"])
def test_the_configuration_of_the_thread(argument):
    result = migrate_source(_CONFIG.format(argument=argument))
    assert "with compat.eval_mode(net):" in result.code and "import chainer\n" not in result.code
    assert {site.state for site in result.sites} == {"exact"}


@pytest.mark.parametrize("argument", [", own", ", config=own", ", chainer.global_config"])
def test_another_configuration_is_left(argument):
    result = migrate_source(_CONFIG.format(argument=argument))
    assert f"chainer.using_config('train', False{argument})" in result.code
    assert [site.state for site in result.sites if site.symbol == "chainer.using_config"] == ["manual"]


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ("'i', 'K'", "y.to(torch.int32)"),
        ("dtype='i', casting='unsafe', subok=True", "y.to(torch.int32)"),
        ("np.float32, 'K', 'unsafe', True, False", "y.to(torch.float32)"),
        ("np.float32, order='K'", "y.to(torch.float32, copy=True)"),
        ("'i', 'C'", None),
        ("'i', casting='safe'", None),
        ("'i', subok=False", None),
        ("*options", None),
    ],
)
def test_options_of_astype(arguments, expected):
    text = (
        f"import numpy as np\nimport chainer.functions as F\n\n\ndef f(x, options):\n    y = F.relu(x).array\n"
        f"    return y.astype({arguments})\n"
    )
    result = migrate_source(text, hints={"f.x": "tensor rank 2 dtype float32"})
    states = [site.state for site in result.sites if site.symbol.endswith("astype")]
    assert states == ["exact" if expected else "manual"]
    assert f"return {expected or f'y.astype({arguments})'}\n" in result.code


@pytest.mark.parametrize(
    "before, after",
    [
        ("net.add_link(*pair)", "compat.add_link(net, *pair)"),
        ("net.add_link(*('a', L.Linear(2, 3)))", "compat.add_link(net, *('a', compat.Linear(2, 3)))"),
        ("net.add_param('p', *pair)", "compat.add_param(net, 'p', *pair)"),
        ("net.add_param(*pair, **options)", "compat.add_param(net, *pair, **options)"),
        ("net.copyparams(*pair)", "compat.copyparams(net, *pair)"),
        ("net.namedparams(**options)", "compat.namedparams(net, **options)"),
        ("net.copy(*pair)", "compat.copy_link(net, *pair)"),
        ("y.reshape(*pair)", "y.reshape(*pair)"),
    ],
)
def test_methods_that_hand_on_their_arguments_take_starred_ones(before, after):
    result = migrate_source(_STARRED.format(before))
    assert result.code.rstrip().endswith(f"return {after}")
    assert {site.state for site in result.sites} == {"exact"}


@pytest.mark.parametrize("call", ["y.transpose(*pair)", "y.backward(**options)"])
def test_methods_that_look_at_their_arguments_are_left(call):
    result = migrate_source(_STARRED.format(call))
    assert result.code.rstrip().endswith(f"return {call}")
    assert [site.message for site in result.sites if site.state == "manual"] == [
        "called with * or **: the arguments are not known here"
    ]


_STARRED = """import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    pass


def f(x, pair, options):
    net = Net()
    y = F.relu(x)
    return {}
"""
