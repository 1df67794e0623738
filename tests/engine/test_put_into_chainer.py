"""Functions and classes of a program that it puts into a module of Chainer's are called by their own names."""

import pytest

from chainer2torch.engine import migrate_source

HEAD = """
import chainer.functions as F
import chainer.links as L


def loss(x, t):
    return F.sum((x - t) ** 2)


class Twice(L.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


"""


def test_the_assignment_goes_and_the_name_is_the_programs():
    code = migrate_source(
        HEAD + "F.my_loss = loss\nL.Twice = Twice\n\n\ndef run(x, t):\n    return F.my_loss(L.Twice(3, 2)(x), t)\n"
    ).code
    assert "TODO(chainer2torch" not in code and "my_loss" not in code
    assert "return loss(Twice(3, 2)(x), t)" in code


@pytest.mark.parametrize(
    "module", ["iterators", "datasets", "optimizers", "initializers", "training.extensions", "training.updaters"]
)
def test_other_modules_of_chainers(module):
    put = f"chainer.{module}.Mine = Own\n\n\ndef run():\n    return chainer.{module}.Mine()\n"
    code = migrate_source(f"import chainer\n\n\nclass Own:\n    pass\n\n\n{put}").code
    assert "TODO(chainer2torch" not in code and "Mine" not in code and "return Own()" in code


@pytest.mark.parametrize(
    "text",
    [
        # its name means another thing there
        "F.my_loss = loss\n\n\ndef run(x, t, loss):\n    return F.my_loss(x, t) + loss\n",
        "F.my_loss = make()\n\n\ndef run(x, t):\n    return F.my_loss(x, t)\n",
        "F.my_loss = loss\nF.my_loss = other\n\n\ndef run(x, t):\n    return F.my_loss(x, t)\n",
        "def put():\n    F.my_loss = loss\n\n\ndef run(x, t):\n    return F.my_loss(x, t)\n",
        "def run(x, t):\n    return F.my_loss(x, t)\n",
    ],
)
def test_anything_else_is_left_to_a_person(text):
    code = migrate_source(HEAD + text).code
    assert "TODO(chainer2torch C2T090): chainer.functions.my_loss" in code and "F.my_loss(x, t)" in code
