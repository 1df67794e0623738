"""`y.name = 'units'` goes with the drawings of graphs that it was for, unless somebody reads it."""

from chainer2torch.engine import migrate_source

HEAD = """\
import chainer
import chainer.functions as F


def step(x, names):
    y = F.relu(chainer.Variable(x))
"""


def _migrated(*lines):
    return migrate_source(HEAD + "".join(f"    {line}\n" for line in lines))


def test_a_name_that_nobody_reads_goes():
    result = _migrated("y.name = 'units'", "return y")
    assert ".name" not in result.code and "TODO" not in result.code
    assert {site.state for site in result.sites if site.symbol == "chainer.Variable.name"} == {"exact"}


def test_a_block_of_names_goes():
    code = _migrated("z = F.tanh(y)", "if names:", "    y.name = 'units'", "    z.name = 'more'", "return z").code
    assert ".name" not in code
    compile(code, "migrated", "exec")
    code = _migrated("if names:", "    y.name = 'units'", "return y").code
    assert "if names" not in code and code.endswith("return y\n")


def test_where_names_are_read_they_stay():
    for reads in ("return y.name", "return [one.name for one in names]"):
        result = _migrated("y.name = 'units'", reads)
        assert "y.name = 'units'" in result.code and "TODO(chainer2torch C2T300)" in result.code


def test_a_name_that_is_computed_stays():
    assert "y.name = " in _migrated("y.name = names.pop()", "return y").code


HOOK = """

class Decay(object):
    call_for_each_param = True

    def __call__(self, rule, param):
        if param.name != 'b':
            param.grad += param.data


def walk(model):
    return [p.name for p in model.params()]
"""


def test_names_of_parameters_are_no_matter_to_what_is_computed():
    assert ".name = " not in migrate_source(HEAD + "    y.name = 'units'\n    return y\n" + HOOK).code
    held = HEAD + "    w = model.l.W\n    w.name = 'special'\n    return y\n" + HOOK
    code = migrate_source(held.replace("(x, names)", "(x, model)"), hints={"step.model": "chainer.Chain"}).code
    assert ".name = 'special'" in code
