"""Receivers of unknown kind in files of which an earlier run migrated the training alone."""

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options

UPDATER = """\
import chainer
import chainer.functions as F
from chainer import training


class Own(training.updaters.StandardUpdater):
    def __init__(self, *args, **kwargs):
        self.gen = kwargs.pop('models')
        super().__init__(*args, **kwargs)

    def update_core(self):
        gen = self.gen
        z = chainer.Variable(gen.xp.asarray(gen.make_hidden(3)))
        self.get_optimizer('main').update(lambda: F.sum(gen(z)))
"""


def test_the_run_for_the_models_decides():
    first = migrate_source(UPDATER, options=Options(only=frozenset({"training"})))
    assert "gen.xp.asarray" in first.code and "compat.StandardUpdaterOfLinks" in first.code
    for only in (Options(only=frozenset({"models"})), Options()):
        second = migrate_source(first.code, options=only)
        assert "compat.xp_of(gen).asarray" in second.code
        assert migrate_source(second.code, options=only).code == second.code
        assert migrate_source(second.code).code == second.code


def test_what_a_run_left_is_not_decided_anew():
    text = (
        "import chainer\nimport chainer.functions as F\nimport chainer_compat as compat\n\n\ndef f(x, gen):\n"
        "    # TODO(chainer2torch C2T100): chainer.functions.nothing: no rule\n    y = F.nothing(x)\n"
        "    z = F.relu(x)  # chainer2torch: skip\n    return y, gen.xp\n"
    )
    assert "return y, gen.xp\n" in migrate_source(text).code
