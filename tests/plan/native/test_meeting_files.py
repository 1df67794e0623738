"""Scripts that share a library are programs of their own: what one does to its optimizers tells nothing of others."""

import textwrap

from chainer2torch.engine import Options, migrate_sources

SCRIPT = """
import chainer
import lib
from chainer import training
from chainer.training import extensions

model = lib.Net()
optimizer = chainer.optimizers.MomentumSGD(0.1)
optimizer.setup(model)
{more}
train_iter = chainer.iterators.SerialIterator(lib.DATA, 4)
updater = training.updaters.StandardUpdater(train_iter, optimizer)
trainer = training.Trainer(updater, (2, 'epoch'))
{extend}
trainer.run()
"""
LIBRARY = """
import chainer
import chainer.links as L

DATA = []


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(3, 4)

    def forward(self, x, t):
        return ((self.l1(x) - t) ** 2).sum()

    def freeze_body(self):
        self.l1.W.update_rule.enabled = False


def peek(what):
    return what.get_optimizer('main')
"""


def both(first, second, library=LIBRARY):
    """The migrated second script, with the first beside it."""
    files = {"first.py": first, "second.py": second, "lib.py": textwrap.dedent(library)}
    return migrate_sources(files, options=Options(style="native"))["second.py"].code


def script(more="", extend=""):
    return SCRIPT.format(more=more, extend=extend)


def test_clipping_in_one_script_leaves_the_other_without_marks():
    clips = "optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(1))\nmodel.l1.disable_update()"
    code = both(script(clips), script("model.l1.disable_update()"))
    assert "model.l1.requires_grad_(False)" in code and "heed_marks" not in code
    code = both(script(), script(clips))
    assert "compat.freeze(model.l1.parameters())" in code and "compat.heed_marks(optimizer)" in code


def test_an_extension_that_nobody_knows_in_the_other_script():
    hidden = script(extend="import other\ntrainer.extend(other.schedule(optimizer))")
    assert "Late" not in both(hidden, script())
    assert "Late" in both(script(), hidden)


def test_a_function_that_no_file_of_the_run_names():
    asks = script(extend="print(lib.peek)\ntrainer.extend(print)")
    assert "Late" not in both(asks, script(extend="trainer.extend(print)"))
    assert "Late" in both(script(), asks)


def test_optimizers_that_a_trainer_hands_out_in_the_other_script():
    asks = script(extend="print(trainer.updater.get_optimizer('main').anything)")
    assert "Late" in both(script(), asks) and "Late" not in both(asks, script())


def test_files_that_are_imported_by_a_computed_name_may_meet_all():
    clips = "optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(1))"
    loads = "import importlib\nimportlib.import_module('sec' + 'ond')\n" + script(clips)
    plain = LIBRARY.replace("self.l1.W.update_rule.enabled = False", "pass")
    assert "heed_marks" in both(loads, script("model.l1.disable_update()"), plain)
    comment = "# not by importlib\n" + script(clips)
    assert "heed_marks" not in both(comment, script("model.l1.disable_update()"))


def test_a_method_that_freezes_is_called_behind_setup():
    option = "parser.add_argument('--freeze_body', dest='freeze_body', type=int, help='freeze_body')\n"
    head = "import argparse\n\nparser = argparse.ArgumentParser()\n" + option + "args = parser.parse_args()\n"
    clips = (
        "optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(1))\nif args.freeze_body:\n    model.freeze_body()"
    )
    main = "def main():\n" + textwrap.indent(script(clips).split("\n\n", 1)[1], "    ") + "\n\nmain()\n"
    imports = "import chainer\nimport lib\nfrom chainer import training\n\n"
    code = both(script(), head + imports + main)
    assert "compat.heed_marks(optimizer)" in code and "Late" not in code


OWN = """

class Rprop(chainer.optimizer.GradientMethod):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def setup(self, model):
        super().setup(model)
        self.begin = self.size
        return self
"""


def test_the_self_of_an_optimizer_of_the_programs_own_is_no_other_one():
    code = both(
        script(),
        script(extend="trainer.extend(lambda trainer: None)"),
        LIBRARY.replace("self.l1.W.update_rule.enabled = False", "pass") + OWN,
    )
    assert "compat.MomentumSGD(model.parameters()" in code and "Late" not in code


def test_a_function_that_a_computed_name_may_be():
    asks = "print(getattr(lib, 'pe' + 'ek'))\n"
    assert "Late" in both(script(), script(extend=asks + "trainer.extend(print)"))
