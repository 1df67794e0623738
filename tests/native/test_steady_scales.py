"""First values whose scale is a name: a lambda reads it when a layer without a shape gets its first batch."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
import chainer.links as L
from chainer.initializers import {kind}


def made(scale, weight, sizes):
    layers = []
{body}
    return layers


def run(xs):
    return [float((layer(np.ones((1, 400), 'f')).array ** 2).mean()) for layer in made(3, 3, [(2000, 3)])]
"""
HANDED = "    layers.append(L.Linear(None, 2000, initialW={kind}({name})))"
STEADY = {
    HANDED.replace("{name}", "scale"): True,
    "    half = scale * 1.0\n" + HANDED.replace("{name}", "half"): True,
    HANDED.replace("{name}", "weight"): False,  # the parameter of the lambda has this name
    HANDED.replace("{name}", "scale") + "\n    scale = 100": False,
    "    for n, own in sizes:\n        layers.append(L.Linear(None, n, initialW={kind}(own)))": False,
    "    for n, _ in sizes:\n        own = scale\n"
    "        layers.append(L.Linear(None, n, initialW={kind}(own)))": False,
}


@pytest.mark.parametrize("kind", ["LeCunNormal", "HeNormal"])
@pytest.mark.parametrize("body", STEADY)
def test_a_name_that_keeps_its_value_is_read_by_a_lambda(body: str, kind: str) -> None:
    program = PROGRAM.replace("{kind}", "{0}").replace("{body}", body.replace("{kind}", "{0}")).replace("{0}", kind)
    theirs, ours, code = run(program)
    np.testing.assert_allclose(ours, theirs, rtol=0.25)  # the mean square of 2,000 values
    assert ("lambda weight: nn.init.normal_(" in code) == STEADY[body], code
    assert ("lecun_normal_" in code) == (not STEADY[body]), code


def test_a_name_of_the_file_may_get_another_value() -> None:
    code = migrated(
        "SCALE = len('ab')\nlayer = chainer.links.Linear(None, 3, initialW=chainer.initializers.HeNormal(SCALE))"
    )
    assert "lecun_normal_" in code.code, code.code
