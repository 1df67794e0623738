"""Extensions that draw from the iterator of training: Chainer's epochs end sooner by that, and a comment says so."""

import numpy as np
import pytest

from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import both

PROGRAM = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.c = L.Convolution2D(3, 3, 1)

    def __call__(self, x):
        x = x.transpose(0, 2, 3, 1) * np.array([1, 2, 3], 'f')
        return self.c(x.transpose(0, 3, 1, 2))


class Updater(training.StandardUpdater):
    def __init__(self, *args, **kwargs):
        self.net, self.other = kwargs.pop('models')
        super().__init__(*args, **kwargs)

    def update_core(self):
        x = self.get_iterator('main').next()
        x = self.converter(x, self.device)
        made = self.net(x)
        loss = F.mean_squared_error(self.other(x), self.other(made.array)) + F.sum(made)
        self.net.cleargrads()
        loss.backward()
        self.get_optimizer('main').update()


def run(out, names=('main',)):
    data = [np.full((3, 2, 2), i, 'f') for i in range(12)]
    iterator = chainer.iterators.SerialIterator(data, 2, shuffle=False)
    further = chainer.iterators.SerialIterator(data, 2, shuffle=False)
    optimizer = chainer.optimizers.SGD(0.01)
    net = Net()
    optimizer.setup(net)
    updater = Updater(models=(net, Net()), iterator={'main': iterator, 'other': further}, optimizer=optimizer)
    trainer = training.Trainer(updater, (2, 'epoch'), out=out)

    @training.make_extension()
    def look(trainer):
        DRAW

    trainer.extend(look, trigger=(1, 'iteration'))
    trainer.run()
    return updater.iteration
"""
DRAWS = [
    "trainer.updater.get_iterator('main').next()",
    "next(trainer.updater.get_iterator('main'))",
    "it = trainer.updater.get_iterator(names[0])\n        it.next()",
    "updater.get_iterator('main').next()",
]
OTHERS = [
    "trainer.updater.get_iterator('other').next()",
    "print(trainer.updater.get_iterator('main').batch_size)",
    "it = iter([trainer.updater.get_iterator('main')])\n        next(it)",
]


def migrated(draw):
    result = migrate_source(PROGRAM.replace("DRAW", draw), options=Options(style="native"))
    return [site for site in result.sites if site.state == "review" and "ended sooner" in site.message]


@pytest.mark.parametrize("draw", DRAWS)
def test_a_draw_that_makes_epochs_shorter_is_marked(draw, tmp_path):
    assert migrated(draw)
    theirs, ours, code = both(PROGRAM.replace("DRAW", draw), head="")
    counts = [side["run"](str(tmp_path / side["__name__"])) for side in (theirs, ours)]
    assert counts == [6, 12], code  # what the comment is about


@pytest.mark.parametrize("draw", OTHERS)
def test_other_draws_are_not_marked_and_train_alike(draw, tmp_path):
    assert not migrated(draw)
    theirs, ours, code = both(PROGRAM.replace("DRAW", draw), head="")
    counts = [side["run"](str(tmp_path / side["__name__"])) for side in (theirs, ours)]
    assert counts == [12, 12], code


def test_a_batch_that_is_asked_what_only_arrays_have_is_an_array():
    theirs, ours, code = both(PROGRAM.replace("DRAW", "pass"), head="")
    assert "x.permute(0, 2, 3, 1)" in code and "C2T320" not in code, code
    x = np.arange(24, dtype="f").reshape(2, 3, 2, 2)
    net, module = theirs["Net"](), ours["Net"]()
    module.load_state_dict(
        {f"c.{k}": ours["torch"].tensor(getattr(net.c, p).array) for k, p in (("weight", "W"), ("bias", "b"))}
    )
    np.testing.assert_allclose(module(ours["torch"].tensor(x)).detach().numpy(), net(x).array, rtol=1e-5, err_msg=code)
