"""Entries that a program adds to Chainer's configuration may be objects: what they hold is read from them."""

import sys
import types
from unittest import mock

import chainer
import pytest

from chainer2torch.engine import Options, migrate_source
from chainer2torch.vendor import compat_file

PROGRAM = """
import chainer
from chainer import config, global_config


class Params(object):
    size = 3
    rates = {'first': [0.1, 0.2]}

    def scaled(self, by):
        return self.size * by


def run():
    global_config.my_params = Params()
    config.my_params.size = 5
    config.my_params.inner = Params()
    config.my_params.inner.size += 1
    return [config.my_params.size, chainer.config.my_params.inner.size, chainer.config.my_params.scaled(2),
            config.my_params.rates['first'][1], [config.my_params.inner.rates], config.train,
            hasattr(config.my_params, 'other'), global_config.my_params.size]
"""


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_what_an_entry_holds(style):
    result = migrate_source(PROGRAM, options=Options(style=style))
    assert {s.state for s in result.sites} == {"exact"} and "TODO" not in result.code
    compat = types.ModuleType("chainer_compat")
    exec(compile(compat_file.build(result.helpers, style=style), "<helpers>", "exec"), compat.__dict__)
    ours: dict = {}
    with mock.patch.dict(sys.modules, chainer_compat=compat):
        exec(compile(result.code, "<migrated>", "exec"), ours)
    theirs: dict = {}
    try:
        exec(PROGRAM, theirs)
        assert ours["run"]() == theirs["run"]()
    finally:
        del chainer.global_config.my_params


def test_a_name_that_chainer_has_is_no_entry():
    result = migrate_source("import chainer\nx = chainer.config.dtype.kind\ny = chainer.configuration.own\n")
    assert "own_config" not in result.code
