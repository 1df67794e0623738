"""Functions of Python's own that the output calls, in files that have other things of their names."""

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules

RULES = load_rules(lazy=True, style="native")
SOURCE = """
import chainer
{above}

def apply(model, x, train{parameter}):
    with chainer.using_config('enable_backprop', train):
        return model(x)
"""


def migrated(above="", parameter=""):
    return migrate_source(SOURCE.format(above=above, parameter=parameter), rules=RULES).code


def test_what_the_file_leaves_alone_has_its_own_name():
    assert "torch.set_grad_enabled(bool(train))" in migrated()
    assert "torch.set_grad_enabled(bool(train))" in migrated("class Flags:\n    def bool(self):\n        return 1")
    assert "torch.set_grad_enabled(bool(train))" in migrated("def other(bool):\n    return bool")


def test_another_thing_of_that_name_is_not_called():
    for above, parameter in (("", ", bool=None"), ("bool = print", ""), ("from numpy import array as bool", "")):
        code = migrated(above, parameter)
        assert "torch.set_grad_enabled(builtins.bool(train))" in code and "import builtins\n" in code


def test_a_second_run_leaves_it():
    code = migrated("bool = print")
    assert migrate_source(code, rules=RULES).code == code
