"""A block in test mode that calls methods of objects of which nothing is known: environments, agents, vocabularies."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

AGENT = """
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(2, 2, initialW=np.array([[0.5, -1.0], [2.0, 0.25]], 'f'))

    def forward(self, x):
        return F.dropout(self.fc(x), 0.9)


class Environment:
    def __init__(self, scale):
        self.scale, self.seen = scale, []

    def step(self, action):
        self.render()
        return action * self.scale

    def render(self):
        self.seen.append(self.scale)


class Player:
    def __init__(self, env):
        self.net = Net()

    def act(self, env, x):
        with chainer.using_config('train', False), chainer.using_config('enable_backprop', False):
            y = self.net(x)
            return USE


def made(name, *args):
    return globals()[name](*args)


def run(xs):
    player = made('Player', None)
    given = made('GIVEN', *ARGS)
    return [chainer.as_variable(player.act(given, chainer.as_variable(x))).array for x in xs[:2]]
"""


def _program(use, given, args="[]"):
    return AGENT.replace("USE", use).replace("GIVEN", given).replace("ARGS", args)


def test_an_environment_is_not_switched():
    theirs, ours, code = run(_program("env.step(y)", "Environment", "[2.0]"))
    assert "self.net.eval()" in code and "env.eval" not in code and "env.env" not in code, code
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_one_that_the_program_does_not_define_is_not_switched():
    source = _program("env.step(y)", "Net").replace("def step(self", "def go(self")
    assert "env.eval" not in migrated(source).code


def test_a_model_whose_step_is_asked_is_switched():
    own = "    def step(self, x):\n        return self(x)\n\n    def forward"
    source = _program("env.step(y)", "Net").replace("    def forward", own)
    source = source.replace("def step(self, action", "def go(self, action")
    theirs, ours, code = run(source)
    assert "env.eval()" in code, code
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


HOLDER = """

class Holder:
    def __init__(self):
        self.inner = Net()

    def judge(self, y):
        return self.inner(y)


def made"""


def test_the_model_that_a_plain_object_holds_is_switched():
    source = _program("env.judge(y)", "Holder").replace("\n\ndef made", HOLDER)
    theirs, ours, code = run(source)
    assert "env.inner.eval()" in code and "env.eval()" not in code, code
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("plain", [False, True])
def test_what_may_be_a_model_or_not_is_asked_as_the_program_runs(plain):
    """The method stands in no class that is seen here: it is given to the object by its name."""
    source = _program("env.judge(y)", "Net").replace("made('Net'", "judging('Net'")
    bare = "type('Plain', (), {})()" if plain else "made(name)"
    judging = f"""
def judging(name):
    found = {bare}
    inner = Net()
    if {plain}:
        found.inner = inner
    setattr(found, 'judge', found.inner if {plain} else found)
    return found


def run"""
    theirs, ours, code = run(source.replace("\ndef run", judging))
    assert "compat.eval_mode(self.net, env)" in code and "env.eval()" not in code, code
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def _with_two(use):
    source = (
        _program(use, "Holder").replace("\n\ndef made", HOLDER).replace("act(self, env, x)", "act(self, env, x, other)")
    )
    return source.replace(
        "player.act(given, chainer.as_variable(x))", "player.act(given, chainer.as_variable(x), made('Holder'))"
    )


@pytest.mark.parametrize("known", [False, True])
def test_each_of_several_objects_is_looked_into(known):
    source = _with_two("env.judge(y) + other.judge(y)")
    if known:
        source = source.replace("made('Holder', *[])", "Holder()").replace("made('Holder')", "Holder()")
    theirs, ours, code = run(source)
    assert "env.inner.eval()" in code and "other.inner.eval()" in code, code
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_plain_object_of_the_program_whose_step_runs_a_model_is_looked_into():
    source = _program("env.step(y)", "Holder").replace("\n\ndef made", HOLDER.replace("judge", "step"))
    theirs, ours, code = run(source)
    assert "env.inner.eval()" in code, code
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_that_an_object_is_known_by_a_name_alone_stands_in_the_report():
    result = migrated(_program("env.judge(y)", "Holder").replace("\n\ndef made", HOLDER))
    site = next(site for site in result.sites if site.symbol == "chainer.using_config")
    assert site.state == "review" and "by the name of the method" in site.message and "TODO" not in result.code
