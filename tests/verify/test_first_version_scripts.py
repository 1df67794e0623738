"""A script of version 1 runs beside Chainer 7, which refuses arguments of then: they get their meaning of then."""

import importlib
import sys

import chainer
import pytest

from chainer2torch.verify.script.verify_script import verify_script
from chainer2torch.verify.worker import first_version
from tests.support import model_batch

SCRIPT = """
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L
from chainer import Variable


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(fc=L.Linear(5, 8), bn=L.BatchNormalization(8, use_cudnn=False), out=L.Linear(8, 3))

    def __call__(self, x, train=True):
        h = F.dropout(F.relu(self.bn(self.fc(x), test=not train)), 0.3, train=train)
        return self.out(h)


model = L.Classifier(Net())
optimizer = chainer.optimizers.SGD(0.1)
optimizer.setup(model)
for i in range(4):
    x, t = np.random.randn(6, 5).astype('f'), np.random.randint(0, 3, 6).astype('i')
    model.zerograds()
    loss = model(Variable(x, volatile='off'), Variable(t))
    loss.backward()
    optimizer.update()
"""


def test_arguments_that_chainer_refuses_today(tmp_path):
    code = model_batch.migrated(tmp_path, SCRIPT)
    (tmp_path / "out" / "net.py").write_text(code)
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=100)
    assert report.exit_code == 0 and report.iterations == 4, "\n".join(report.lines())


PICKLED = """
import pickle
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

model = L.Classifier(L.Linear(5, 3), lossfun=F.softmax_cross_entropy)
optimizer = chainer.optimizers.SGD(0.1)
optimizer.setup(model)
x, t = np.random.randn(6, 5).astype('f'), np.random.randint(0, 3, 6).astype('i')
optimizer.update(model, x, t)
with open('model.pickle', 'wb') as file:
    pickle.dump(model, file)
with open('model.pickle', 'rb') as file:
    loss = pickle.load(file)(x, t)
print(float(loss.data))
"""


def test_a_model_that_holds_a_function_is_pickled(tmp_path):
    code = model_batch.migrated(tmp_path, PICKLED)
    (tmp_path / "out" / "net.py").write_text(code)
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=100)
    assert report.exit_code == 0 and report.iterations == 1, "\n".join(report.lines())


NAMES = """
import chainer
import numpy as np
from chainer import FunctionSet, Variable, optimizers
from chainer.functions.pooling.max_pooling_2d import max_pooling_2d
from chainer.links.connection.n_step_rnn import argsort_list_descent
import chainer.functions as F

model = FunctionSet(conv=F.Convolution2D(2, 3, 3), out=F.Linear(3, 2))
optimizer = optimizers.SGD(0.1)
optimizer.setup(model.collect_parameters())


def forward(x, t):
    h = F.relu(max_pooling_2d(model.conv(x), 2))
    return F.softmax_cross_entropy(model.out(h), t)


for i in range(3):
    x, t = np.random.randn(4, 2, 4, 4).astype('f'), np.random.randint(0, 2, 4).astype('i')
    optimizer.zero_grads()
    loss = forward(Variable(x), Variable(t))
    loss.backward()
    optimizer.weight_decay(0.01)
    optimizer.clip_grads(0.5)
    optimizer.update()
"""


def test_names_that_chainer_has_no_longer(tmp_path):
    code = model_batch.migrated(tmp_path, NAMES)
    (tmp_path / "out" / "net.py").write_text(code)
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=100)
    assert report.exit_code == 0 and report.iterations == 3, "\n".join(report.lines())


ARRAYS = """
import chainer
import numpy as np
from chainer import FunctionSet, Variable
import chainer.functions as F

model = FunctionSet(l1=F.Linear(3, 4), l2=F.Linear(4, 2))
optimizer = chainer.optimizers.SGD(0.1)
optimizer.setup(model.collect_parameters())
for param in model.parameters:
    param[:] = np.linspace(-0.5, 0.5, param.size).reshape(param.shape)
x = Variable(np.arange(6, dtype='f').reshape(2, 3) / 6)
for i in range(3):
    optimizer.zero_grads()
    loss = F.softmax_cross_entropy(model.l2(F.tanh(model.l1(x))), Variable(np.array([0, 1], 'i')))
    loss.backward()
    for param, gradient in zip(model.parameters, model.gradients):
        gradient += 0.1 * param
    optimizer.update()
    norm = np.sqrt(sum([(g ** 2).sum() for g in model.gradients]))
    print('%.4f %.4f %d' % (loss.data, norm, len(model.parameters)))
print('%.4f' % sum(p.sum() for p in model.parameters), max(p.size for p in model.parameters))
"""


def test_arrays_of_a_set_of_functions(tmp_path):
    """`model.parameters` is a tuple of arrays in version 1: loops that do not ask for its order are plain."""
    code = model_batch.migrated(tmp_path, ARRAYS)
    assert "TODO" not in code
    (tmp_path / "out" / "net.py").write_text(code)
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=100)
    assert report.exit_code == 0, "\n".join(report.lines())


def test_arrays_in_an_order_are_left(tmp_path):
    loops = "kept = [p for p in model.parameters]\nfor p in model.parameters:\n    print(p.shape)\n"
    code = model_batch.migrated(tmp_path, ARRAYS + loops)
    assert code.count("TODO(") == 1


def test_the_worker_starts_beside_version_1(monkeypatch):
    """What Chainer 7 has and version 1 lacks is not imported for the patches, which do nothing there."""
    monkeypatch.delattr(chainer.utils, "argument")
    monkeypatch.setitem(sys.modules, "chainer.utils.argument", None)
    assert not hasattr(importlib.reload(first_version), "argument")


SETS = """
import numpy as np
from chainer import FunctionSet, Variable, optimizers
import chainer.functions as F


class Stack(object):
    def __init__(self):
        self.model = FunctionSet(l1=F.Linear(4, 5), l2=F.Linear(5, 3))
        self.optimizer = optimizers.SGD(0.1)
        self.optimizer.setup(self.model)

    def pretrained(self):
        self.model.l1 = F.Linear(4, 5, initialW=np.full((5, 4), 0.3, 'f'))
        self.model.l3 = F.Linear(3, 2)
        self.model.l2.W = np.eye(3, 5, dtype='f')
        self.optimizer = optimizers.SGD(0.1)
        self.optimizer.setup(self.model)

    def forward(self, x, t):
        h = F.tanh(self.model.l2(F.tanh(self.model.l1(x))))
        return F.softmax_cross_entropy(self.model.l3(h), t)


stack = Stack()
stack.pretrained()
for i in range(4):
    x, t = np.random.randn(6, 4).astype('f'), np.random.randint(0, 2, 6).astype('i')
    stack.optimizer.zero_grads()
    loss = stack.forward(Variable(x), Variable(t))
    loss.backward()
    stack.optimizer.update()
"""


def test_a_set_trains_the_links_that_are_assigned_to_it(tmp_path):
    """An optimizer that neither side steps is no difference."""
    code = model_batch.migrated(tmp_path, SETS)
    (tmp_path / "out" / "net.py").write_text(code)
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=100)
    assert report.exit_code == 0 and report.iterations == 4, "\n".join(report.lines())


MODES = """
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L
from chainer import Variable, training
from chainer.training import extensions


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(fc=L.Linear(5, 8), out=L.Linear(8, 3))

    def __call__(self, x):
        return self.out(F.dropout(F.relu(self.fc(x))))


model = L.Classifier(Net())
optimizer = chainer.optimizers.SGD(0.1)
optimizer.setup(model)
x, t = np.random.RandomState(0).randn(8, 5).astype('f'), np.arange(8, dtype='i') % 3
data = [(a, b) for a, b in zip(x, t)]
updater = training.StandardUpdater(chainer.iterators.SerialIterator(data, 4), optimizer)
trainer = training.Trainer(updater, (3, 'epoch'))
test = chainer.iterators.SerialIterator(data, 4, repeat=False, shuffle=False)
trainer.extend(extensions.Evaluator(test, model))
trainer.extend(extensions.LogReport())
trainer.run()
model(Variable(x{old}), Variable(t))
"""


@pytest.mark.parametrize("old", [", volatile='on'", ""])
def test_an_evaluator_sets_a_mode_that_dropout_of_version_1_does_not_ask_for(old, tmp_path):
    """Chainer 7's evaluator would keep it from dropping there; in a file of a later version it does."""
    code = model_batch.migrated(tmp_path, MODES.format(old=old))
    assert ("training=True" in code) is bool(old)
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=100)
    assert report.exit_code == 0 and report.iterations == 6, "\n".join(report.lines())


LAZY = """
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.lstm = L.LSTM(None, 4, lateral_init=chainer.initializers.Normal(1.0))
            self.out = L.Linear(None, 1)

    def forward(self, x):
        self.lstm.reset_state()
        for i in range(3):
            y = self.out(self.lstm(x[:, i]))
        return F.sum(y ** 2)


net = Net()
optimizer = chainer.optimizers.SGD(0.1)
optimizer.setup(net)
for i in range(3):
    optimizer.update(net, np.random.RandomState(i).rand(2, 3, 5).astype('f'))
"""


def test_a_layer_without_a_size_fills_all_its_parts_at_its_first_call(tmp_path):
    """Also those that have a size before: what an LSTM's lateral weights were until then is nobody's first value."""
    model_batch.migrated(tmp_path, LAZY)
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=100)
    assert report.exit_code == 0 and report.iterations == 3, "\n".join(report.lines())
