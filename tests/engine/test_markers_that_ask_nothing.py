"""Places that were marked although the program answers the question itself."""

import chainer
import numpy as np
import pytest
import torch

from chainer2torch.engine import Options, migrate_source, migrate_sources
from tests.support import both_sides


def native(text: str) -> str:
    return migrate_source(text, options=Options(style="native")).code


LOGGED = "import chainer\nfrom somelib.common import logs\n\nlogger = {}\nshow = logger.debug_print\n"


@pytest.mark.parametrize("made", ["logs.make(__name__)", "logs.make('x', level=[1, 2])"])
def test_what_another_library_makes_of_literals_has_members_of_its_own(made):
    result = migrate_source(LOGGED.format(made), options=Options(style="native"))
    assert "TODO" not in result.code and "show = logger.debug_print\n" in result.code
    assert [site.state for site in result.sites if site.symbol == "?.debug_print"] == ["review"]


@pytest.mark.parametrize("made", ["logs.make(chainer.Variable(x))", "logs.make(net)", "make()", "chainerlib.f()"])
def test_what_may_be_chainers_is_asked(made):
    text = LOGGED.format(made).replace("import chainer\n", "import chainer\nimport chainerlib\nfrom net import make\n")
    files = {"a.py": text, "net.py": "def helper():\n    pass\n"}
    assert "C2T390" in migrate_sources(files, options=Options(style="native"))["a.py"].code


def test_a_name_that_is_bound_again_is_asked():
    text = LOGGED.format("logs.make('x')") + "logger = other()\nlogger.debug_print\n"
    assert "C2T390" in native(text)


SHIFT = """
import numpy
import chainer

class Shift(chainer.training.extension.Extension):
    def __init__(self, t):
        self.t = t

    def serialize(self, serializer):
        {}
        if isinstance(self.t, numpy.ndarray):
            self.t = self.t.item()
"""


def test_what_a_serializer_gave_just_before_is_no_variable():
    assert "TODO" not in native(SHIFT.format("self.t = serializer('t', self.t)"))


@pytest.mark.parametrize("before", ["self.u = serializer('t', self.t)", "self.t = self.load('t')"])
def test_what_something_else_gave_may_be_one(before):
    assert "C2T320" in native(SHIFT.format(before))


DROPOUT = """
import chainer.functions as F

class Dropout:
    def __init__(self, ratio):
        self.ratio = ratio

    def __call__(self, x, train=True):
        return F.dropout(x, {})
"""


@pytest.mark.parametrize("given", ["self.ratio, train", "self.ratio, train=train", "0.2, train and x.ndim > 1"])
def test_a_call_of_version_1_says_the_mode_by_place_too(given):
    assert "does not reach" not in native(DROPOUT.format(given))


WRAPPED = """
import chainer
from chainer import Variable

class Net(chainer.Chain):
    gpu = False

    def to_variable(self, x):
        if {}:
            x = Variable(x)
            if self.gpu:
                x.to_gpu()
        return x

def f(x):
    return Net().to_variable(x)
"""


@pytest.mark.parametrize("test", ["isinstance(x, Variable) == False", "not isinstance(x, Variable)"])
def test_a_variable_that_is_made_and_moved_is_the_same_tensor(test):
    code = native(WRAPPED.format(test))
    assert "TODO" not in code


def test_so_it_computes_the_same():
    original, migrated = both_sides.both(
        WRAPPED.format("isinstance(x, Variable) == False"), left=["chainer.Variable.to_gpu"]
    )
    x = np.float32([[1, -2], [3, 4]])
    for array, tensor in ((x, torch.from_numpy(x)), (chainer.Variable(x), torch.from_numpy(x).requires_grad_())):
        old, new = original["f"](array), migrated["f"](tensor)
        assert new.dtype == torch.float32
        np.testing.assert_array_equal(old.array, new.detach().numpy())


@pytest.mark.parametrize(
    "shown",
    [
        "print({})",
        "print('Chainer', {})",
        "print('Chainer: {{}}'.format({}))",
        "print('Chainer: %s' % {})",
        "print(f'Chainer: {{{}}}')",
        "logging.info('Chainer: ' + {})",
    ],
)
@pytest.mark.parametrize("name", ["chainer.__version__", "chainermn.__version__", "chainer.cuda.cupy.__version__"])
def test_a_version_that_is_only_shown_is_that_of_pytorch(shown, name):
    code = native(f"import logging\nimport chainer\nimport chainermn\n\n{shown.format(name)}\n")
    assert code == f"import logging\nimport torch\n\n{shown.format('torch.__version__')}\n"


@pytest.mark.parametrize("use", ["v = {}", "print(parse({}))", "save({})", "print({}, file=open('v', 'w')).x"])
def test_a_version_that_something_is_done_with_is_asked(use):
    assert "TODO" in native(f"import chainer\n\n{use.format('chainer.__version__')}\n")


def test_words_of_version_1_in_one_dictionary_are_one_question():
    text = """
import chainer

class Layer(object):
    def __init__(self, in_size, out_size, bias=0):
        self.in_size, self.out_size, self.bias = in_size, out_size, bias

    def arguments(self):
        return dict(self.__dict__.items())

    def linear(self):
        return chainer.links.Linear(**self.arguments())

    def maxout(self):
        return chainer.links.Convolution2D(**self.arguments())
"""
    result = migrate_source(text, options=Options(style="native"))
    asked = [site.symbol for site in result.sites if "of version 1 of Chainer may be" in site.message]
    assert len(asked) == 2 and result.code.count("may be among the arguments") == 1
