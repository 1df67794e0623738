"""A file that still names Chainer at a marked place is read by a second run as by the first one."""

import textwrap

import pytest

from chainer2torch.engine import Options, migrate_source, migrate_sources
from chainer2torch.rules.table import load_rules

RULES = {style: load_rules(style=style, lazy=True) for style in ("faithful", "native")}

HEAD = """\
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.training import extensions


def check(self, types):
    pass


F.SigmoidCrossEntropy.check_type_forward = check


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 4)

    def __call__(self, x, t):
        return F.softmax_cross_entropy(self.l(x), t)


"""
PROGRAMS = {
    # what is made anew in each round, of a loader and for a device that all rounds have in common, shares no graph
    "a loader and a device": """
        def main(gpu, data, kind):
            model = L.Classifier(Net()) if kind else Net()
            optimizer = chainer.optimizers.Adam()
            optimizer.setup(model)
            it = chainer.iterators.SerialIterator(data, 3)
            updater = training.StandardUpdater(it, optimizer, device=gpu)
            trainer = training.Trainer(updater, (2, 'epoch'))
            trainer.extend(extensions.LogReport())
            trainer.run()
        """,
    "an updater that is saved": """
        def main(devices, data):
            optimizer = chainer.optimizers.Adam()
            optimizer.setup(Net())
            it = chainer.iterators.SerialIterator(data, 3)
            if len(devices) > 1:
                updater = training.updaters.MultiprocessParallelUpdater([it], optimizer, devices=devices)
            else:
                updater = training.StandardUpdater(it, optimizer, device=devices[0])
            while updater.iteration < 4:
                updater.update()
                chainer.serializers.save_npz('resume', updater)
        """,
    "a gradient that is given": """
        def main(values):
            x = chainer.Variable(values)
            y = F.tanh(x)
            data = y.data
            y.grad = np.ones_like(data)
            y.backward()
            print(x.grad[0])
        """,
}


TWO_OPTIMIZERS = """
from chainer import optimizers


class Fits:
    def __init__(self):
        self.model = Net()

    def forward(self, x, t, optimizer):
        loss = self.model(chainer.Variable(x), chainer.Variable(t))
        optimizer.zero_grads()
        loss.backward()
        optimizer.clip_grads(3)
        optimizer.update()
        return loss

    def fit(self, x, t):
        optimizer = optimizers.AdaDelta()
        optimizer.setup(self.model)
        return self.forward(x, t, optimizer=optimizer)

    def fit_online(self, x, t):
        optimizer = optimizers.SGD(0.1)
        optimizer.setup(self.model)
        return self.forward(x, t, optimizer=optimizer)


Fits().fit(np.ones((2, 3), 'f'), np.zeros(2, 'i'))
"""


def test_two_optimizers_that_meet_in_a_method_both_become_native() -> None:
    """Each is set up for itself; what the method does is the same for both, and is written once."""
    result = migrate_source(HEAD + TWO_OPTIMIZERS, rules=RULES["native"], options=Options(style="native"))
    assert "torch.optim.SGD(self.model.parameters(), lr=0.1)" in result.code and "Adadelta" in result.code
    assert "C2T011" not in {site.code for site in result.sites}
    again = migrate_source(result.code, rules=RULES["native"], options=Options(style="native"))
    assert again.code == result.code


@pytest.mark.parametrize("style", RULES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_second_run_changes_nothing(name, style):
    first = migrate_source(HEAD + textwrap.dedent(PROGRAMS[name]).lstrip(), rules=RULES[style]).code
    assert "TODO" in first and "retain" not in first
    assert migrate_source(first, rules=RULES[style]).code == first


_LEFT_BEHIND = """
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

model = L.Linear(3, 4)
loss_function = F.mean_squared_error
options = dict([])


def decode(x):
    return F.sigmoid(model(x))


def validate(x_data):
    return loss_function(chainer.Variable(x_data), decode(chainer.Variable(x_data)), **options)


def train(x_data):
    order = np.random.permutation(len(x_data))
    for i in range(0, len(x_data), 10):
        x_batch = x_data[order[i:i + 10]]
        x = chainer.Variable(x_batch)
        y = decode(x)
        loss = loss_function(x, y, **options)
"""
_LIBRARY_ONLY = """
import chainer
from chainercv.links import Conv2DBNActiv


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.parts = chainer.ChainList(*[Conv2DBNActiv(3, 3) for _ in range(2)])

    def forward(self, x):
        for part in self.parts.children():
            x = part(x)
        return x
"""


_COPIED_PART = """\
from chainercv.links import Conv2DBNActiv


def dilated(prev):
    new = Conv2DBNActiv(prev.conv.W.shape[1], prev.conv.W.shape[0], 3, 1, 2, 2, nobias=True)
    new.conv.W.data[:] = prev.conv.W.data[:]
    return new
"""
_COPIED_BEFORE = """\
import torch
import chainer_compat as compat
from chainercv.links import Conv2DBNActiv


def dilated(prev):
    new = Conv2DBNActiv(3, 3, 3)
    new.conv.W.data[:] = compat.link_attribute(prev.conv, 'W').data[:]
    return new
"""
_PATCHED = """\
import chainer
import chainer.functions as F
from chainercv.links import SEBlock


class Watch(object):
    def __init__(self):
        self.before = chainer.FunctionNode.apply

    def __enter__(self):
        chainer.FunctionNode.apply = self.seen

    def __exit__(self, *args):
        chainer.FunctionNode.apply = self.before

    def seen(self, function, inputs):
        return self.before(function, inputs)


def names(model):
    return [name for name, _ in model.namedparams()]


def run(x):
    names(SEBlock(8))
    names(chainer.Sequential(F.relu))
    return F.relu(x)
"""


def test_a_part_that_an_earlier_run_reads_with_a_helper_stays():
    """ChainerCV's own layer takes it as it is."""
    code = migrate_source(_COPIED_BEFORE, rules=RULES["native"]).code
    assert "new.conv.W.data[:] = compat.link_attribute(prev.conv, 'W').data[:]" in code


@pytest.mark.parametrize(
    "source",
    [_LEFT_BEHIND, _LIBRARY_ONLY, _COPIED_PART, _PATCHED],
    ids=["a name that is called", "a library", "a part that is copied", "a class of Chainer's that is patched"],
)
def test_what_is_left_with_a_marker_stays_as_it_is(source):
    """Of a file with markers the rest is migrated: a second run knows less of it, and changes nothing."""
    once = migrate_source(source, rules=RULES["native"]).code
    assert "# TODO(chainer2torch" in once
    assert migrate_source(once, rules=RULES["native"]).code == once


def test_pictures_of_a_migrated_data_set_are_arrays_beside_what_is_left_of_chainer():
    source = """from chainer import datasets
from chainer.datasets import ImageDataset, LabeledImageDataset
labelled = LabeledImageDataset('pairs.txt', root='images')
image, label = labelled[0]
print('image', type(image), image.shape, label)
print(ImageDataset('paths.txt')[0].shape, [x.shape for x, _ in labelled[:3]])
datasets.split_dataset_n_random()
"""
    first = migrate_source(source).code
    assert "chainer_compat" in first and "tuple(" not in first
    assert migrate_source(first).code == first


def test_a_number_that_changes_a_tensor_in_place_is_converted_once():
    """``torch.as_tensor`` stood around what it had made, where other files of the part were left with a marker."""
    hook = """
        import chainer


        class Scaling(object):
            name = 'Scaling'
            call_for_each_param = True

            def __init__(self, rate):
                self.rate = rate

            def __call__(self, rule, param):
                g = param.grad
                g *= self.rate
        """
    rest = "import hook\nfrom chainer.functions.unknown import bar\nbar(hook.Scaling)\n"
    first = {p: r.code for p, r in migrate_sources({"hook.py": textwrap.dedent(hook), "rest.py": rest}).items()}
    assert "g *= torch.as_tensor(self.rate)" in first["hook.py"]
    assert {path: result.code for path, result in migrate_sources(first).items()} == first
