"""Networks that no optimizer trains (a loss network, a fixed teacher) start from the same weights in lockstep, too."""

from pathlib import Path

import pytest

from chainer2torch.verify.script.verify_script import verify_script
from tests.support import command_line, model_batch

SCRIPT = """
import copy

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Features(chainer.Chain):
    def __init__(self):
        super(Features, self).__init__()
        with self.init_scope():
            self.b = L.Linear(6, 8)
            self.a = L.Linear(None, 4)

    def forward(self, x):
        return self.a(F.leaky_relu(self.b(x)))


class Student(chainer.Chain):
    def __init__(self):
        super(Student, self).__init__()
        with self.init_scope():
            self.fc = L.Linear(3, 6)

    def forward(self, x):
        return self.fc(x)


features, student = Features(), Student()
old = copy.deepcopy(student)
optimizer = chainer.optimizers.Adam(0.1).setup(student)
for i in range(6):
    x = np.random.rand(4, 3).astype("f")
    loss = F.mean_squared_error(features(student(x)), features(F.sin(old(x))))
    student.cleargrads()
    loss.backward()
    optimizer.update()
    old.fc.W.array[...] = 0.5 * old.fc.W.array + 0.5 * student.fc.W.array
"""


def _verified(tmp_path):
    return verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=300)


def test_all_networks_start_from_the_same_weights(tmp_path):
    model_batch.migrated(tmp_path, SCRIPT)
    report = _verified(tmp_path)
    text = "\n".join(report.lines())
    assert report.ok and "EQUAL: 6 values" in text and "weights Features, Student" in text, text


def test_a_fault_in_such_a_network_is_found(tmp_path):
    model_batch.migrated(tmp_path, SCRIPT)
    script = Path(tmp_path / "out" / "net.py")
    text = script.read_text()
    assert "negative_slope=0.2" in text
    script.write_text(text.replace("negative_slope=0.2", "negative_slope=0.01"))
    report = _verified(tmp_path)
    assert not report.ok and "first at iteration 1" in "\n".join(report.lines())


TEACHER = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.a = L.Linear(5, 8)
            self.bn = L.BatchNormalization(8)
            self.b = L.Linear(8, 3)

    def forward(self, x):
        return self.b(F.dropout(self.bn(self.a(x)), 0.5))


class Distilled(chainer.Chain):
    def __init__(self, net, teacher):
        super(Distilled, self).__init__()
        with self.init_scope():
            self.net = net
        self.teacher = teacher
        self.drawn = [L.Linear(3, 3)]

    def forward(self, x, t):
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            target = self.teacher(x)
        self.spread = float(target.array.std())
        y = self.net(x)
        return F.softmax_cross_entropy(y, t) + F.mean_squared_error(y, target)


teacher = Net()
teacher(np.ones((2, 5), 'f'))
model = Distilled(Net(), teacher)
optimizer = chainer.optimizers.SGD(0.1).setup(model)
average = model.net.copy('copy')
smooth, plain = L.Classifier(average), L.Classifier(model.net)
reporter = chainer.Reporter()
reporter.add_observer('main', model)
for i in range(6):
    x, t = np.random.randn(8, 5).astype('f'), np.random.randint(0, 3, 8).astype('i')
    optimizer.update(model, x, t)
    for ours, theirs in zip(average.params(), model.net.params()):
        ours.array[...] = 0.5 * ours.array + 0.5 * theirs.array
    with chainer.using_config('train', False):
        losses = smooth(x[:4], t[:4]) + smooth(x, t), plain(x, t)
    with reporter.scope({}):
        chainer.report({'smooth': losses[0], 'plain': losses[1], 'spread': model.spread}, model)
"""


def test_a_teacher_in_test_mode_and_an_average_of_the_weights(tmp_path):
    """Test mode reaches what is kept without being registered; two objects of one class are two networks."""
    model_batch.migrated(tmp_path, TEACHER)
    report = _verified(tmp_path)
    text = "\n".join(report.lines())
    assert report.ok and "6 losses" in text, text
    for name in ("smooth", "plain", "spread"):
        assert f"main/{name}: 6 values" in text, text


HIDDEN = """
import copy

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Part(chainer.Chain):
    def __init__(self):
        super(Part, self).__init__()
        with self.init_scope():
            self.l = L.Linear(None, 4)
            self.bn = L.BatchNormalization(4)

    def forward(self, x):
        return F.leaky_relu(self.bn(self.l(x)))


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.convs = list()
            for width in (2, 3):
                self.convs.append(L.Convolution2D(1, 3, ksize=(width, 5)))
            self.fc = L.Linear(None, 4)
        self.parts = {'last': Part()}
        self.before = []

    def forward(self, x):
        if not self.before:
            self.before.append(copy.deepcopy(self.fc))
        h = F.concat([F.max(conv(x), axis=(2, 3)) for conv in self.convs], axis=1)
        return self.parts['last'](self.fc(h) - self.before[0](h))


np.random.seed(0)
net = Net()
optimizer = chainer.optimizers.Adam(0.1).setup(net)
for i in range(5):
    x = np.random.rand(4, 1, 6, 5).astype("f")
    loss = F.sum(net(x) ** 2) + F.sum(net.fc.W)
    net.cleargrads()
    loss.backward()
    optimizer.update()
"""


def test_layers_that_a_trained_model_calls_and_does_not_hold(tmp_path):
    """They are in a plain list or dict: no optimizer trains them, and both sides draw their first values."""
    model_batch.migrated(tmp_path, HIDDEN)
    report = _verified(tmp_path)
    text = "\n".join(report.lines())
    assert report.ok and "EQUAL: 5 values" in text and "Conv2d" in text and "Part" in text, text


def test_a_fault_in_such_a_layer_is_found(tmp_path):
    model_batch.migrated(tmp_path, HIDDEN)
    script = Path(tmp_path / "out" / "net.py")
    text = script.read_text()
    assert "negative_slope=0.2" in text, text
    script.write_text(text.replace("negative_slope=0.2", "negative_slope=0.01"))
    report = _verified(tmp_path)
    assert not report.ok and "first at iteration 1" in "\n".join(report.lines())


GENERATED = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.first = L.Linear(3, 5)
            self.rest = [L.Linear(5, 5) for _ in range(3)]

    def forward(self, x):
        h = self.first(x)
        for layer in self.rest:
            h = F.leaky_relu(layer(h))
        return h


net = Net()
with chainer.using_config('train', False):
    for i in range(4):
        print(net(np.full((2, 3), i, 'f')).array.sum())
"""


def test_layers_that_a_model_does_not_hold_where_nothing_is_trained(tmp_path):
    """A script that only computes was called different: both sides had drawn the layers in a plain list anew."""
    model_batch.migrated(tmp_path, GENERATED)
    report = _verified(tmp_path)
    text = "\n".join(report.lines())
    assert report.ok and "EQUAL" in text, text
    script = Path(tmp_path / "out" / "net.py")
    script.write_text(script.read_text().replace("negative_slope=0.2", "negative_slope=0.01"))
    assert not _verified(tmp_path).ok


TABLE = """
import json

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

model = L.Linear(3, 2)
kinds = {'sgd': chainer.optimizers.SGD(0.5), 'adam': chainer.optimizers.Adam(0.1)}
optimizer = kinds[json.loads('"adam"')]
optimizer.setup(model)
for i in range(4):
    loss = F.sum(model(np.full((2, 3), i, 'f')) ** 2)
    model.cleargrads()
    loss.backward()
    optimizer.update()
"""


def test_of_a_table_of_optimizers_the_one_that_is_set_up_counts(tmp_path):
    """PyTorch's all have parameters as soon as they are made; the first of them was taken for Chainer's."""
    (tmp_path / "original").mkdir()
    (tmp_path / "original" / "net.py").write_text(TABLE)
    assert command_line.run("migrate", tmp_path / "original", "-q", "-o", tmp_path / "out").returncode == 0
    script = Path(tmp_path / "out" / "net.py")
    assert script.read_text().count("(model.parameters()") == 2, script.read_text()
    report = _verified(tmp_path)
    text = "\n".join(report.lines())
    assert report.ok and "EQUAL: 4 values" in text, text
    script.write_text(script.read_text().replace('"adam"', '"sgd"'))
    report = _verified(tmp_path)
    assert not report.ok and "set up that one alone" in "\n".join(report.lines())


MEAN_TEACHER = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(a=L.Linear(3, 8), b=L.Linear(None, 4))

    def __call__(self, x):
        return self.b(F.leaky_relu(self.a(x)))


student, teacher = Net(), Net()
optimizer = chainer.optimizers.SGD(0.1)
optimizer.setup(student)
for i in range(4):
    x = np.random.rand(4, 3).astype("f")
    y = student(x)
    with chainer.no_backprop_mode():
        target = teacher(F.sin(chainer.Variable(x)))
    loss = F.mean_squared_error(y, target.array)
    student.cleargrads()
    loss.backward()
    optimizer.update()
    for average, param in zip(teacher.params(), student.params()):
        average.array = 0.9 * average.array + 0.1 * param.array
"""


@pytest.mark.parametrize("close", [{}, {"rtol": 0.0, "atol": 0.0}])
def test_a_teacher_of_the_class_that_is_trained_was_made_apart(tmp_path, close):
    """Also in the float64 pass, which the second way forces, and where the class has a ``__call__`` of its own."""
    model_batch.migrated(tmp_path, MEAN_TEACHER)
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=300, **close)
    best = report.double or report
    assert best.steps and best.first_difference is None and not best.problems, "\n".join(report.lines())


def test_a_copy_of_what_is_trained_keeps_what_the_script_gave_it(tmp_path):
    """Weights that a faulty copy has are not replaced by the right ones."""
    copied = MEAN_TEACHER.replace(
        "student, teacher = Net(), Net()\n",
        "student = Net()\nstudent(np.ones((1, 3), 'f'))\nteacher = student.copy(mode='copy')\n",
    )
    model_batch.migrated(tmp_path, copied)
    assert _verified(tmp_path).ok
    script = Path(tmp_path / "out" / "net.py")
    text = script.read_text()
    fault = "for average, param in zip("
    assert fault in text
    script.write_text(
        text.replace("for i in range(4):", "for p in teacher.parameters():\n    p.data += 0.5\nfor i in range(4):")
    )
    assert not _verified(tmp_path).ok
