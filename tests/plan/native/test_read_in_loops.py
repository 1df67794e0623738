"""A lambda in the place of an extension reads what a loop has at that moment, not what it has at the end."""

import pytest

from tests.support.native_programs import check

TRAIN = """\
import json
import tempfile

from chainer import training
from chainer.training import extensions


class Updater(training.StandardUpdater):
    def update_core(self):
        batch = self.converter(self.get_iterator('main').next(), self.device)
        for key in ('a', 'b'):
            optimizer = self.get_optimizer(key)
            optimizer.update(lambda x, net=optimizer.target: F.sum(net.l1(x) ** 2), batch)


def train(net):
    out = tempfile.mkdtemp()
    nets = {'a': net, 'b': net.copy('copy')}
    made = {}
    for key, rate in (('a', 0.1), ('b', 0.2)):
        made[key] = optimizers.SGD(rate)
        made[key].setup(nets[key])
    iterator = iterators.SerialIterator(np.arange(36, dtype='f').reshape(12, 3) / 36, 3)
    trainer = training.Trainer(Updater(iterator, made), (2, 'epoch'), out=out)
    LOOP
    trainer.extend(extensions.LogReport(trigger=(1, 'iteration')))
    trainer.run()
    with open(out + '/log') as file:
        return [[entry['a/lr'], entry['b/lr']] for entry in json.load(file)]
"""
LOOPS = {
    "a loop": """
    for key, rate in (('a', 0.5), ('b', 0.9)):
        trainer.extend(extensions.ExponentialShift('lr', rate, optimizer=made[key]), name='s' + key,
                       trigger=(1, 'iteration'))
        trainer.extend(extensions.observe_lr(key, key + '/lr'), name='o' + key, trigger=(1, 'iteration'))""",
    "a name that a loop binds": """
    for number, key in enumerate(made):
        last = (number + 2) / 4
        trainer.extend(extensions.LinearShift('lr', (0.4, last), (0, 4 + number), optimizer=made[key]),
                       name='s' + key, trigger=(1, 'iteration'))
        trainer.extend(extensions.observe_lr(optimizer_name=key, observation_key=key + '/lr'), name='o' + key,
                       trigger=(1, 'iteration'))""",
    "a comprehension": """
    for made_now in [extensions.observe_lr(key, key + '/lr') for key in made]:
        trainer.extend(made_now, name='o%d' % id(made_now), trigger=(1, 'iteration'))""",
}


@pytest.mark.parametrize("name", LOOPS)
def test_each_time_round_has_its_own(name):
    check(TRAIN.replace("    LOOP", LOOPS[name]))
