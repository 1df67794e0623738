"""Programs whose training objects are helpers, cut to what each program says: all compute what Chainer computes."""

import pytest

from chainer2torch.vendor.said import words
from tests.support.native_programs import both, check

PROGRAM = """
import collections

from chainer import training
from chainer.training import extensions


class Model(chainer.Chain):
    def __init__(self, net):
        super().__init__()
        with self.init_scope():
            self.net = net

    def __call__(self, x, t):
        loss = F.mean_squared_error(self.net(x), t)
        chainer.report({'loss': loss}, self)
        return loss

    def twice(self, x, t):
        loss = 2 * F.mean_squared_error(self.net(x), t)
        chainer.report({'twice': loss}, self)
        return loss


class Steps(training.StandardUpdater):
    def update_core(self):
        super().update_core()
        self.done = 1


def note(evaluator):
    seen.append(1)


def tester(rest, model):
    return extensions.Evaluator(rest, model, lambda batch, device: concat_examples(batch, device))


def make():
    return optimizers.Adam(0.01)


seen = []


class PLACES:
    gpu = -1


def train(net):
    rng = np.random.RandomState(0)
    x, t = rng.rand(12, 3).astype('f'), rng.rand(12, 2).astype('f')
    data = chainer.datasets.TupleDataset(x, t)
    model = Model(net)
    optimizer = make()
    held = collections.deque([optimizer])  # a library that holds it may want Chainer's form
    optimizer.setup(model)
    found = []
    iterator = iterators.SerialIterator(data, 4, shuffle=False)
    updater = Steps(iterator, optimizer)
    evaluator = tester(iterators.SerialIterator(data, 4, repeat=False, shuffle=False), model)
    while updater.epoch < 3:
        updater.update()
        if updater.is_new_epoch:
            found += list(evaluator().values())
    # here more
    return found + [updater.iteration, updater.done, len(seen), len(held)]
"""
UPDATER, EVALUATOR, MORE = "Steps(iterator, optimizer)", "batch, device))", "# here more"
CASES = {
    "nothing more": {},
    "a loss": {UPDATER: "Steps(iterator, optimizer, loss_func=model.twice)"},
    "a loss by position": {UPDATER: "Steps(iterator, optimizer, concat_examples, None, model.twice)"},
    "numbers of devices": {
        UPDATER: "Steps(iterator, optimizer, device=PLACES.gpu)",
        EVALUATOR: "batch, device), device=-1)",
    },
    "devices in a dictionary": {
        UPDATER: "Steps(**options)",
        "    updater = ": "    options = {'iterator': iterator, 'optimizer': optimizer}\n"
        "    options['device'] = PLACES.gpu\n    updater = ",
    },
    "devices that a class hands on": {
        UPDATER: "Placed(iterator, optimizer, PLACES.gpu)",
        "def note(": "class Placed(Steps):\n    def __init__(self, iterator, optimizer, place):\n"
        "        super().__init__(iterator, optimizer, device=place)\n\n\ndef note(",
        "class Steps(training.StandardUpdater):\n": "class Steps(training.StandardUpdater):\n"
        "    def __init__(self, iterator, optimizer, device):\n"
        "        super(Steps, self).__init__(iterator, optimizer, device=device)\n\n",
    },
    "no new epochs": {
        UPDATER: "Steps(iterator, optimizer, auto_new_epoch=False)",
        MORE: "found += [optimizer.epoch]",
    },
    "new epochs": {MORE: "found += [optimizer.epoch, optimizer.t]"},
    "another place": {UPDATER: "Steps(iterator, optimizer, input_device=-1)"},
    "a function that evaluates": {EVALUATOR: "batch, device), eval_func=model.twice)"},
    "a hook of the evaluator": {EVALUATOR: "batch, device), eval_hook=note)"},
    "both by position": {EVALUATOR: "batch, device), None, note, model.twice)"},
    "the rate": {MORE: "found += [optimizer.lr, optimizer.alpha]"},
    "the rate by its name": {MORE: "found += [getattr(optimizer, name) for name in ('alpha', 'beta1')]"},
    "the betas": {"    found = []\n": "    found = []\n    optimizer.beta1 = 0.5\n    optimizer.beta2 = 0.9\n"},
    "epochs in parts": {MORE: "found += [updater.epoch_detail, updater.previous_epoch_detail]"},
    "the iterator again": {MORE: "iterator.reset()\n    updater.update()\n    found += [updater.epoch]"},
    "a batch by hand": {
        MORE: "found += [len(iterator.next())]\n    updater.update()\n    found += [updater.epoch_detail]"
    },
}


def changed(case):
    text = PROGRAM
    for old, new in CASES[case].items():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("case", CASES)
def test_what_the_program_asks_for_is_there(case):
    code = check(changed(case), rtol=1e-4)
    for name in ("StandardUpdater", "Evaluator"):
        assert f"compat.{name}" in code
    number = "torch.device('cuda', PLACES.gpu) if PLACES.gpu >= 0 else torch.device('cpu')"
    assert (number in code) is any("PLACES" in text and "Placed" not in text for text in CASES[case].values())


@pytest.mark.parametrize(
    ("base", "said"), [("nn.Module", False), ("Other", False), ("Base", True), ("StandardUpdater", True)]
)
def test_many_arguments_of_a_layer_are_no_options_of_an_updater(base, said):
    text = f"""
class Other(chainer.Chain):
    pass

class Mine({base}):
    def __init__(self):
        super().__init__(1, 2, 3, 4, 5)
"""
    assert ("options_by_position" in words(text)) is said


def test_whole_points_of_a_schedule_need_no_helper():
    *_, code = both(
        """
import chainer
from chainer.training import triggers


def run(text):
    points = [int(part) for part in text.split(',')]
    return [triggers.ManualScheduleTrigger(points, 'iteration'), triggers.ManualScheduleTrigger([0.5], 'iteration')]
""",
        head="",
    )
    assert "[triggers.ManualScheduleTrigger(points," in code and "compat.ManualScheduleTrigger([0.5]," in code
