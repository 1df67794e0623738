"""What an iterator becomes that an evaluator of the project's own takes: a loader only where a walk is all it needs."""

import numpy as np
import pytest

from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import both

PROGRAM = """
import copy
import chainer
import numpy as np
from chainer import iterators
from chainer.training import extensions


def batches(iterator):
    while True:
        try:
            yield next(iterator)
        except StopIteration:
            return


class Sums(extensions.Evaluator):
    def evaluate(self):
        iterator = self._iterators['main']
        BODY


class Net(chainer.Chain):
    pass


def run(data):
    evaluator = Sums(iterators.SerialIterator(data, 5, repeat=False, shuffle=False), Net())
    return [evaluator.evaluate() for _ in range(TIMES)]
"""
COPIED = "it = copy.copy(iterator)\n        return "
READ = [
    (COPIED + "[sum(batch) for batch in batches(it)]", 2),
    (COPIED + "[sum(it.next()), sum(it.next()), sum(it.next())]", 2),
    ("return [sum(batch) for batch in batches(copy.copy(iterator))]", 2),
    ("iterator.reset()\n        return [sum(batch) for batch in iterator]", 2),
    ("return [sum(batch) + iterator.epoch for batch in iterator][:2] + [21]", 1),
    ("return [sum(batch) for batch in batches(self.get_iterator('main'))]", 1),
]
WALKED = [
    (
        "if hasattr(iterator, 'reset'):\n            iterator.reset()\n            it = iterator\n"
        "        else:\n            it = copy.copy(iterator)\n        return [sum(batch) for batch in it]",
        2,
    ),
    (COPIED + "[sum(batch) for batch in it]", 2),
    (COPIED + "[i + sum(batch) for i, batch in enumerate(it)]", 2),
]


@pytest.mark.parametrize(("body", "times"), READ + WALKED)
def test_both_sides_get_the_same_batches(body, times):
    theirs, ours, code = both(PROGRAM.replace("BODY", body).replace("TIMES", str(times)), head="")
    assert ("(DataLoader(" in code and "Batches(" in code) is ((body, times) in READ)
    data = np.arange(12)
    assert ours["run"](data) == theirs["run"](data)
    assert theirs["run"](data)[0] == ([10, 35, 21] if "enumerate" not in body else [10, 36, 23])


KEPT = """
    def __init__(self, iterator, target):
        if isinstance(iterator, chainer.dataset.Iterator):
            iterator = {'main': iterator}
        self._iterators, self._targets = iterator, {'main': target}

    def evaluate(self):
"""


def test_an_evaluator_that_asks_for_the_class_gets_a_loader():
    program = PROGRAM.replace("    def evaluate(self):\n", KEPT.lstrip("\n"), 1)
    theirs, ours, code = both(program.replace("BODY", WALKED[0][0]).replace("TIMES", "2"), head="")
    assert "isinstance(iterator, DataLoader)" in code and "Batches" not in code
    assert ours["run"](np.arange(12)) == theirs["run"](np.arange(12)) == [[10, 35, 21]] * 2


LIBRARY = """
from chainer import iterators
from chainercv.utils import apply_prediction_to_iterator


def run(predict, data):
    it = iterators.SerialIterator(data, 5, repeat=False, shuffle=False)
    return apply_prediction_to_iterator(predict, it)
"""


def test_what_a_person_is_to_write_a_loop_for_is_a_loader():
    code = migrate_source(LIBRARY, options=Options(style="native")).code
    assert "it = DataLoader(data, 5, collate_fn=list)" in code and "TODO(chainer2torch" in code


UNTRAINED = """
import chainer
import numpy as np
import chainer.links as L
from chainer import iterators, optimizers, training
from chainer.training import extensions


def run(data, net, gpu, name):
    model = L.Classifier(net)
    optimizer = CHOSEN
    optimizer.setup(model)
    updater = training.StandardUpdater(iterators.SerialIterator(data, 2, shuffle=False), optimizer, device=gpu)
    trainer = training.Trainer(updater, (3, 'iteration'))
    trainer.extend(extensions.LogReport())
    evaluator = extensions.Evaluator(
        iterators.SerialIterator(data, 2, repeat=False, shuffle=False), model, device=gpu)
    return evaluator()


def net():
    return L.Linear(3, 2, initialW=np.arange(6, dtype='f').reshape(2, 3))
"""


@pytest.mark.parametrize("chosen", ["{'sgd': optimizers.SGD, 'adam': optimizers.Adam}[name]()", "optimizers.SGD()"])
def test_an_evaluator_that_no_trainer_gets_knows_its_device(chosen):
    """The device of an evaluator is made where the training stands, if that takes it."""
    theirs, ours, _ = both(UNTRAINED.replace("CHOSEN", chosen), head="")
    data = [(np.full(3, i, "f"), np.int32(i % 2)) for i in range(5)]
    found, expected = (side["run"](data, side["net"](), -1, "sgd") for side in (ours, theirs))
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        np.testing.assert_allclose(float(found[key]), float(value), rtol=1e-6)


PLAIN = """
import chainer
import numpy as np
from chainer import iterators
from chainer.training import extensions


class Detector:
    def __init__(self, net):
        self.net = net

    def __call__(self, x):
        return float(self.net(chainer.Variable(x[None])).array.sum())


class Report(extensions.Evaluator):
    def __init__(self, iterator, target, shape):
        super(Report, self).__init__(iterator, target)
        self.shape = shape

    def __call__(self, trainer):
        iterator, target = self._iterators['main'], self._targets
        iterator.reset()
        return [target(x) for batch in iterator for x in batch][:self.shape]


def run(data):
    net = chainer.links.Linear(2, 1, initialW=2)
    report = Report(iterators.SerialIterator(data, 2, repeat=False, shuffle=False), Detector(net), 3)
    return [report(None), report(None)]
"""


def test_a_target_that_is_no_link_is_kept_as_it_is():
    theirs, ours, code = both(PLAIN, "")
    data = [np.full(2, i, "f") for i in range(4)]
    assert ours["run"](data) == theirs["run"](data) == [[0.0, 4.0, 8.0]] * 2, code


AROUND = '''
import json
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training
from chainer.training import extensions


class Net(chainer.Chain):
    flag = 1

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(3, 4, initialW=0.5)
            self.l2 = L.Linear(4, 2, initialW=np.arange(8, dtype='f').reshape(2, 4) / 8)

    def __call__(self, x, t):
        h = F.tanh(self.l1(x)) * self.flag
        loss = F.softmax_cross_entropy(self.l2(h if chainer.config.train else h * 2), t)
        chainer.report({'loss': loss}, self)
        return loss


class TestModeEvaluator(extensions.Evaluator):
    """As Chainer's own example of ImageNet had it."""

    default_name = 'val'

    def evaluate(self):
        model = self.get_target('main')
        model.flag = 0.5
        result = super(TestModeEvaluator, self).evaluate()
        model.flag = 1
        return result


def data(n, seed):
    rng = np.random.RandomState(seed)
    return chainer.datasets.TupleDataset(rng.randn(n, 3).astype('f'), rng.randint(0, 2, n).astype('i'))


def run(out):
    model = Net()
    optimizer = chainer.optimizers.SGD(0.1)
    optimizer.setup(model)
    train_iter = chainer.iterators.SerialIterator(data(12, 0), 4, shuffle=False)
    test_iter = chainer.iterators.SerialIterator(data(8, 1), 4, repeat=False, shuffle=False)
    updater = training.StandardUpdater(train_iter, optimizer, device=-1)
    trainer = training.Trainer(updater, (2, 'epoch'), out=out)
    trainer.extend(TestModeEvaluator(test_iter, model, device=-1))
    trainer.extend(extensions.LogReport())
    trainer.run()
    with open(out + '/log') as log:
        return [{k: v for k, v in entry.items() if 'time' not in k} for entry in json.load(log)]
'''


def test_what_goes_around_the_evaluation_stands_on_that_of_the_library(tmp_path):
    theirs, ours, code = both(AROUND, head="")
    assert "class TestModeEvaluator(extensions.Evaluator):" in code and "compat.Evaluator" not in code, code
    assert "test_iter = DataLoader(data(8, 1), 4)" in code
    expected, found = theirs["run"](str(tmp_path / "a")), ours["run"](str(tmp_path / "b"))
    assert [entry.keys() for entry in found] == [entry.keys() for entry in expected]
    assert "val/main/loss" in found[0]
    for one, other in zip(expected, found):
        np.testing.assert_allclose(list(other.values()), list(one.values()), rtol=2e-5)


def test_one_that_has_another_name_only(tmp_path):
    start, end = AROUND.index("    def evaluate"), AROUND.index("def data(")
    theirs, ours, code = both(AROUND[:start] + "\n\n" + AROUND[end:], head="")
    assert "class TestModeEvaluator(extensions.Evaluator):" in code and "compat.Evaluator" not in code, code
    expected, found = theirs["run"](str(tmp_path / "a")), ours["run"](str(tmp_path / "b"))
    assert [entry.keys() for entry in found] == [entry.keys() for entry in expected] and "val/main/loss" in found[0]
    for one, other in zip(expected, found):
        np.testing.assert_allclose(list(other.values()), list(one.values()), rtol=2e-5)


HOOK = """def ask(evaluator):
    return evaluator.converter


def hook(evaluator):
    hook.seen = evaluator.converter([(np.ones(2, 'f'), 1)], evaluator.device)[0].shape


def data("""


@pytest.mark.parametrize("base", ["TestModeEvaluator", "extensions.Evaluator"])
@pytest.mark.parametrize("asked", ["hook", "ask", "lambda evaluator: hook(evaluator)"])
def test_a_hook_that_asks_the_evaluator_for_more_keeps_its_base(base, asked, tmp_path):
    start, end = AROUND.index("    def evaluate"), AROUND.index("def data(")
    source = AROUND[:start] + "\n\n" + AROUND[end:].replace("def data(", HOOK, 1)
    source = source.replace("TestModeEvaluator(test_iter, model, d", f"{base}(test_iter, model, eval_hook={asked}, d")
    theirs, ours, code = both(source, head="")
    assert "compat.Evaluator(" in code or "(compat.Evaluator):" in code, code
    assert theirs["run"](str(tmp_path / "a"))[0].keys() == ours["run"](str(tmp_path / "b"))[0].keys()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        model.flag = 1\n        return", "        model.flag = len(self._iterators)\n        return"),
        ("        model.flag = 1\n        return", "        self.done = 1\n        return"),
        (
            "    default_name = 'val'\n",
            "    def __init__(self, *args, **options):\n        super().__init__(*args, **options)\n",
        ),
        (
            "evaluator).evaluate()".replace("evaluator", "TestModeEvaluator, self"),
            "TestModeEvaluator, self).evaluate() or super().evaluate()",
        ),
        ("def data(", "class Other(TestModeEvaluator):\n    pass\n\n\ndef data("),
        ("def data(", "TABLE = {'test': TestModeEvaluator}\n\n\ndef data("),
        ("model, device=-1))", "model, device=-1, converter=globals()['convert']))"),
    ],
)
def test_one_that_does_more_keeps_its_base(old, new):
    assert old in AROUND
    code = migrate_source(AROUND.replace(old, new), options=Options(style="native")).code
    assert "class TestModeEvaluator(compat.Evaluator):" in code, code
