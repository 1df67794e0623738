"""Own evaluators with a loop of their own: on pytorch-pfn-extras' evaluator, with the mode set there."""

import json

import numpy as np
import pytest

from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import both

PROGRAM = '''
import copy
import json
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import reporter, training
from chainer.training import extensions


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(3, 4, initialW=0.5)
            self.l2 = L.Linear(4, 2, initialW=np.arange(8, dtype='f').reshape(2, 4) / 8)

    def forward(self, x):
        h = F.tanh(self.l1(x))
        return self.l2(h if chainer.config.train else h * 2)

    def __call__(self, x, t):
        loss = F.softmax_cross_entropy(self.forward(x), t)
        chainer.report({'loss': loss}, self)
        return loss

    def predict(self, xs):
        return self.forward(np.stack(xs)).array


class Sums(extensions.Evaluator):
    """As those of ChainerCV."""

    trigger = 1, 'epoch'
    default_name = 'val'
    priority = chainer.training.PRIORITY_WRITER

    def __init__(self, iterator, target, scale=2.0, names=None):
        super(Sums, self).__init__(iterator, target)
        self.scale = scale
        self.names = names

    def evaluate(self):
        iterator = self._iterators['main']
        target = self._targets['main']

        if hasattr(iterator, 'reset'):
            iterator.reset()
            it = iterator
        else:
            it = copy.copy(iterator)

        sums = []
        for batch in it:
            y = target.predict([x for x, t in batch])
            sums.append(float(y.sum()) * self.scale)
        report = {'sum': sum(sums), 'count': len(sums)}
        if self.names is not None:
            for i, name in enumerate(self.names):
                report['of/' + name] = sums[i]
        observation = {}
        with reporter.report_scope(observation):
            reporter.report(report, target)
        return observation


def data(n, seed):
    rng = np.random.RandomState(seed)
    return chainer.datasets.TupleDataset(rng.randn(n, 3).astype('f'), rng.randint(0, 2, n).astype('i'))


def run(out):
    model = Net()
    optimizer = chainer.optimizers.SGD(0.1)
    optimizer.setup(model)
    train_iter = chainer.iterators.SerialIterator(data(12, 0), 4, shuffle=False)
    test_iter = chainer.iterators.SerialIterator(data(7, 1), 4, repeat=False, shuffle=False)
    updater = training.StandardUpdater(train_iter, optimizer, device=-1)
    trainer = training.Trainer(updater, (2, 'epoch'), out=out)
    trainer.extend(Sums(test_iter, model, names=['a', 'b']))
    trainer.extend(extensions.LogReport())
    trainer.run()
    with open(out + '/log') as log:
        entries = [{k: v for k, v in entry.items() if 'time' not in k} for entry in json.load(log)]
    alone = Sums(test_iter, model)()
    with chainer.no_backprop_mode():
        return entries, {k: float(v) for k, v in alone.items()}, model.forward(data(3, 2)[:][0][0][None]).array.tolist()
'''


BLOCK = "            reporter.report(report, target)\n    "
CAUGHT = "            try:\n                pass\n            except ValueError:\n                pass\n"


def compare(source, tmp_path):
    theirs, ours, code = both(source, head="")
    expected, found = theirs["run"](str(tmp_path / "a")), ours["run"](str(tmp_path / "b"))
    assert [entry.keys() for entry in found[0]] == [entry.keys() for entry in expected[0]]
    assert found[1].keys() == expected[1].keys()
    for one, other in zip([*expected[0], expected[1]], [*found[0], found[1]]):
        np.testing.assert_allclose(list(other.values()), list(one.values()), rtol=2e-5)
    np.testing.assert_allclose(found[2], expected[2], rtol=2e-5)  # in the mode that stood before
    return code, found


def test_its_base_is_that_of_the_library(tmp_path):
    code, found = compare(PROGRAM, tmp_path)
    assert "class Sums(extensions.Evaluator):" in code and "compat.Evaluator" not in code, code
    assert "        was_training = target.training\n        target.eval()\n" in code
    assert "        target.train(was_training)\n        return observation" in code
    assert "val/main/of/b" in found[0][0]
    json.dumps(found)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("            reporter.report(report, target)\n        return", BLOCK + "        return"),
        ("            sums.append(", CAUGHT + "            sums.append("),
        (
            "chainer.report({'loss': loss}, self)",
            "chainer.report({'loss': loss}, self)\n        chainer.report({}, self.l1)",
        ),
        (
            "(iterator, target)\n        self.s",
            "(iterator, target, chainer.dataset.concat_examples, -1)\n        self.s",
        ),
        (
            "(iterator, target)\n        self.s",
            "(iterator, target, device=-1)\n        self.device = -1\n        self.s",
        ),
        ("self._iterators['main']", "self.get_iterator('main')"),
        ("self._targets['main']", "self.get_target('main')"),
    ],
)
def test_other_ways_to_make_and_to_ask_it(old, new, tmp_path):
    assert old in PROGRAM
    code, _ = compare(PROGRAM.replace(old, new), tmp_path)
    assert "class Sums(extensions.Evaluator):" in code and "(iterator, target)\n" in code, code


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        report = {", "        if not sums:\n            return {}\n        report = {"),  # left elsewhere
        ("        report = {", "        print(self.device)\n        report = {"),  # what the other base lacks
        ("        report = {", "        use(self)\n        report = {"),
        ("        report = {", "        other = self._targets['main'].l1\n        report = {"),
        ("self.scale = scale", "self.scale = scale\n        self.eval_hook = scale"),
        ("self.scale = scale", "self.scale = scale\n        self.name = 'mine'"),
        ("(iterator, target)\n", "iterator=dict(main=iterator), target=target)\n".replace("iterator=d", "(iterator=d")),
        ("def data(", "class Other(Sums):\n    pass\n\n\ndef data("),
        ("def data(", "TABLE = {'sums': Sums}\n\n\ndef data("),
        ("Sums(test_iter, model)()", "Sums({'main': test_iter}, model)()"),
        ("Sums(test_iter, model)()", "Sums(test_iter, {'main': model})()"),
        ("Sums(test_iter, model)()", "Sums(*[test_iter, model])()"),
        ("Sums(test_iter, model)()", "Sums(test_iter, model, Net())()"),  # a second model that has a mode
        (
            "    def evaluate",
            "    def __call__(self, trainer=None):\n        return super().__call__(trainer)\n\n    def evaluate",
        ),
        (
            "            reporter.report(report, target)",
            "            chainer.report({}, target.l1)",
        ),
        ("        iterator = self._it", "        y = self.get_target('main').predict([])\n        iterator = self._it"),
        ("        iterator = self._it", "        warm_up(self._it)\n        iterator = self._it"),
    ],
)
def test_one_that_needs_more_keeps_its_base(old, new):
    assert old in PROGRAM
    code = migrate_source(PROGRAM.replace(old, new), options=Options(style="native")).code
    assert "class Sums(compat.Evaluator):" in code, code


def test_a_class_that_nobody_names_where_it_is_defined():
    """As in a library. One that is named is made somewhere, of an iterator that nobody sees."""
    library = PROGRAM[: PROGRAM.index("def data(")]

    def base(source):
        code = migrate_source(source, options=Options(style="native")).code
        assert "class Sums(extensions.Evaluator):" in code or "class Sums(compat.Evaluator):" in code, code
        return "class Sums(extensions.Evaluator):" in code

    assert base(library) and base(library + "__all__ = ['Sums']\n")
    assert not base(library.replace("reporter.report(report, target)", "use(target)"))  # a part of it may report there
    for naming in ("class Below(Sums):\n    pass\n", "made = eval('Sums')\n", "classes = {'sums': Sums}\n"):
        assert not base(library + naming), naming


@pytest.mark.parametrize("scope", ["", "            use(target)\n"])
def test_what_a_part_of_the_model_reports_where_it_is_observed(scope):
    """Its name is another one there; what is reported outside of a scope is seen by nobody."""
    part = (
        "class Part(chainer.Chain):\n    def forward(self):\n        chainer.report({'one': 1}, self)\n\n\nclass Net("
    )
    source = PROGRAM.replace("init_scope():\n", "init_scope():\n            self.part = Part()\n", 1)
    source = source.replace("class Net(", part).replace(
        "report_scope(observation):\n", "report_scope(observation):\n" + scope
    )
    code = migrate_source(source, options=Options(style="native")).code
    assert ("class Sums(compat.Evaluator):" in code) == ("use" in scope), code


@pytest.mark.parametrize("keeps", ["", "        print(self.converter is None)\n"])
def test_a_block_of_its_own_in_the_model_goes_back_to_the_mode_of_the_evaluation(keeps, tmp_path):
    inner = "with chainer.using_config('train', False):\n            return self.forward(np.stack(xs)).array"
    source = PROGRAM.replace("return self.forward(np.stack(xs)).array", inner)
    source = source.replace("        sums = []\n", f"{keeps}        sums = []\n")
    after = (
        "            sums.append(float(y.sum()) * self.scale)\n            sums.append(float(target(*MORE).array))\n"
    )
    more = "chainer.dataset.concat_examples(batch)"
    source = source.replace("            sums.append(float(y.sum()) * self.scale)\n", after.replace("MORE", more))
    code, _ = compare(source, tmp_path)
    assert ("compat.Evaluator" in code) == bool(keeps), code
