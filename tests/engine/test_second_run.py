"""A second run over files of which something is left: what is known through leftovers is decided once."""

import pytest

from chainer2torch.engine import migrate_source, migrate_sources
from chainer2torch.plan.options import Options
from chainer2torch.rules.table import load_rules

MODULE_OF_A_LEFTOVER = """
import numpy
import chainer
from chainer import cuda


class Softmax(chainer.Function):
    def kind(self, x):
        if cuda.cudnn_enabled:
            cudnn = cuda.cudnn
            handle = cudnn.get_handle()
            return 'd' if x.dtype == 'd' else 'f'

    def forward(self, inputs):
        return self.kind(inputs[0]),
"""

CLASS_ON_A_FUNCTION = """
import numpy as np
from chainer import cuda
from chainer.functions.connection import linear


class LinearFunction(linear.LinearFunction):
    def forward(self, inputs):
        x, V, g = inputs
        xp = cuda.get_array_module(V)
        self.norm = xp.sqrt(xp.sum(V ** 2, axis=1)).reshape((-1, 1))
        self.W = g * V / self.norm
        return x.dot(self.W.T).astype(x.dtype, copy=False),

    def backward(self, inputs, grad_outputs):
        x, V, g = inputs
        xp = cuda.get_array_module(x)
        gy = grad_outputs[0]
        gx = gy.dot(self.W).astype(x.dtype, copy=False)
        gW = gy.T.dot(x).astype(V.dtype, copy=False)
        gg = xp.sum(gW * V, axis=1, keepdims=True).astype(g.dtype, copy=False)
        gV = g * (gW - gg * V) / self.norm
        gV = gV.astype(V.dtype, copy=False)
        return gx, gV, gg
"""


# the second place of what has no rule has no marker of its own, and nothing else needs a helper
WITHOUT_HELPERS = """
import chainer
import chainer.functions as F
import numpy as np


def perturbed(forward, x, xi):
    xp = chainer.backends.cuda.get_array_module(x.data)
    d = xp.random.normal(size=x.shape).astype(np.float32)
    d /= xp.sum(d) + 1
    difference = F.divergence(forward(x + xi * chainer.Variable(d)), forward(x))
    difference.backward()
    d = x.grad
    d /= xp.sum(d) + 1
    return d


def regularized(forward, x, d):
    # between the two
    return F.sum(F.divergence(forward(x + d), forward(x)))
"""


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_a_file_that_needs_no_helper_counts_as_migrated_where_something_is_left(style):
    first = migrate_source(WITHOUT_HELPERS, options=Options(style=style))
    assert any(site.state == "manual" for site in first.sites)
    assert migrate_source(first.code, options=Options(style=style)).code == first.code


@pytest.mark.parametrize("text", [MODULE_OF_A_LEFTOVER, CLASS_ON_A_FUNCTION])
def test_what_is_left_changes_nothing_in_a_second_run(text):
    first = migrate_source(text)
    assert any(site.state == "manual" for site in first.sites)
    assert migrate_source(first.code).code == first.code


def test_a_backward_of_version_1_on_a_function_of_chainers_gets_arrays():
    """A FunctionNode's gets indexes and Variables, which have no ``astype``; the class is left, its arrays are not."""
    code = migrate_source(CLASS_ON_A_FUNCTION).code
    assert ".astype(" not in code.replace("compat.astype(", "") and ".dot(" not in code


NAMES_OF_MODULES = {
    "nets.py": """
import chainer
import chainer.links as L


class Plain(chainer.Chain):
    def __init__(self):
        super().__init__(l=L.Linear(2, 2))
        self.train = True


class Kept(L.caffe.CaffeFunction):
    train = True


class Weighed(L.Convolution2D):
    def __init__(self):
        super().__init__(2, 3, 3)
        self.u = 1
""",
    "main.py": """
from chainer import training
from nets import Weighed


def evaluate(holder):
    model = holder.copy()
    model.predictor.train = False


def watch(dis):
    @training.make_extension()
    def largest(trainer=None):
        xp = dis.xp
        for name, link in [[n, link] for n, link in sorted(dis.namedlinks())]:
            if isinstance(link, Weighed):
                W, u = link.W, link.u
                print(name, xp.sum(W.data), u)
    return largest
""",
}


def test_attributes_that_an_earlier_run_decided_on():
    """The models of the project have other bases and names after a run: what was marked or left for them stays."""
    first = {name: result.code for name, result in migrate_sources(NAMES_OF_MODULES).items()}
    assert "`train` of Kept, Plain is now `train_`" in first["main.py"] and " = link.weight, link.u" in first["main.py"]
    assert {name: result.code for name, result in migrate_sources(first).items()} == first


def test_what_is_asked_of_a_method_is_not_marked():
    """`settings.train.size`: the `train` of this project's models is a method, which has no `size`."""
    text = """
import chainer


class Net(chainer.Chain):
    def train(self, data):
        pass


def read(settings):
    {}
    return settings
"""
    assert "TODO" not in migrate_source(text.format("settings.train.size = settings.train.rate + 1")).code
    assert "C2T202): ?.train:" in migrate_source(text.format("settings.train = None")).code


@pytest.mark.parametrize(
    "imports",
    [
        "from chainer import testing\nfrom chainer.testing import testing\n",
        "from chainer.testing import testing\nfrom chainer import testing\n",
    ],
)
def test_a_name_that_two_imports_bind_is_the_later_ones_in_a_second_run_too(imports):
    """There the import is in a ``try``, because Chainer may be missing; the one that the next hides has gone."""
    first = migrate_source(imports + "\n\n@testing.parameterize({})\nclass T:\n    pass\n\n\ntesting.no_such_name()\n")
    kept = imports.splitlines()[1]
    assert first.code.count("except Exception") == 1 and f"    {kept}\n" in first.code
    assert "different things" not in first.code
    assert migrate_source(first.code).code == first.code


def test_an_import_that_may_fail_does_not_hide_what_another_library_has_bound():
    code = migrate_source(
        "from other import functions as F\ntry:\n    import chainer.functions as F\n"
        "except ImportError:\n    pass\ny = F.relu(x)\n"
    ).code
    assert "different things" in code and "y = F.relu(x)" in code


SCALED = """import chainer
import chainer.links as L
from chainer import initializer


class Scaled(initializer.Initializer):
    def __call__(self, array):
        assert array.dtype == self.dtype


class Net(chainer.Chain):
    def __init__(self, link):
        super().__init__()
        with self.init_scope():
            self.sigma = L.Linear(link._device_id, 3, initialW=Scaled())
"""


def test_a_dtype_that_was_made_torchs_is_not_made_so_again():
    """The second run knows more than the first: what a helper calls an initializer of the program with."""
    first = migrate_source(SCALED)
    assert first.code.count("compat.torch_dtype(self.dtype)") == 1
    assert migrate_source(first.code).code == first.code


@pytest.mark.parametrize("library", [{}, {"library/__init__.py": "", "library/nets.py": "import chainer\n"}])
def test_helpers_are_known_wherever_they_are_imported_from(library):
    """Alone, or with the library in which they lie."""
    text = """import numpy

from library import chainer_compat as compat

try:
    from chainer import testing
except Exception:  # only what is marked below needs it
    testing = compat.not_migrated('chainer.testing')


# TODO(chainer2torch C2T090): chainer.testing.inject_backend_tests: the reason.
@testing.inject_backend_tests(None, [{}])
class TestArctan:
    pass
"""
    first = migrate_sources({"tests/test_a.py": text, **library})["tests/test_a.py"].code
    result = migrate_sources({"tests/test_a.py": first, **library})["tests/test_a.py"]
    assert result.code == first and "different things" not in first
    assert [site.symbol for site in result.sites] == ["chainer.testing.inject_backend_tests"]


@pytest.mark.parametrize(("word", "marked"), [("dim", False), ("axes", True)])
def test_a_method_in_torchs_words_is_not_numpys(word, marked):
    text = f"""
from chainer.links import caffe

func = caffe.CaffeFunction('a.caffemodel')


def forward(x):
    y, = func(inputs={{'data': x}}, outputs=['fc8'])
    return y.argmax({word}=1)
"""
    result = migrate_source(text, rules=load_rules(lazy=True, style="native"))
    assert any(site.code == "C2T010" for site in result.sites) is marked
    assert f"y.argmax({word}=1)" in result.code


def test_parameters_that_are_called_are_those_of_torch_also_in_a_file_of_version_1() -> None:
    source = """
import chainer
import chainer.functions as F
from chainer import FunctionSet, optimizers

model = FunctionSet(l1=F.Linear(3, 2), l2=F.Linear(2, 1))
opt = optimizers.AdaGrad(lr=0.01)
opt.setup(model.collect_parameters())
loss = model.l2(model.l1(chainer.Variable(x, volatile=False)))
opt.zero_grads()
loss.backward()
opt.clip_grads(5)
opt.update()
"""
    first = migrate_source(source, options=Options(style="native", chainer_version=1))
    assert "model.parameters()" in first.code
    assert migrate_source(first.code, options=Options(style="native", chainer_version=1)).code == first.code


def test_a_dtype_of_torch_in_a_file_that_is_half_migrated_stays() -> None:
    text = (
        "import chainer.functions as F\nimport torch as th\nfrom torch import float16 as half\n\n\n"
        "def f(x, other):\n    y = F.relu(x)\n"
        "    return y.dtype != th.float16 and y.dtype in (half, th.float32) and y.dtype == other.dtype\n"
    )
    code = migrate_source(text).code
    assert "y.dtype != th.float16 and y.dtype in (half, th.float32) and" in code
    assert code.count("torch_dtype") == 1  # the other side is not known
    assert "import chainer_compat as compat" in code


def test_a_marker_that_stands_once_for_all_its_places_is_heeded_at_each():
    """The second `L.GRU(4, 4)` has no marker of its own; the file counts as migrated all the same."""
    text = """
import chainer
import numpy as np
from chainer import Variable, cuda


class Own(chainer.Chain):
    def __init__(self, n):
        super().__init__(a=chainer.links.Linear(n, n))

    def call(self, h, x):
        return self.a(h) + x


def first(n):
    return chainer.links.GRU(n, n)


def train(own, gpu=None):
    unit = Own(4).call if own else chainer.links.GRU(4, 4)
    x = np.zeros((2, 4)).astype(np.float32)
    if gpu is not None:
        x = cuda.to_gpu(x, gpu)
    for _ in range(3):
        x_v = Variable(x)
        h = Variable(x)
        for _ in range(2):
            h = unit(h, x_v)
        loss = chainer.functions.sum(h)
        loss.backward()
"""
    first = migrate_source(text, options=Options(style="native"))
    assert first.code.count("TODO(chainer2torch C2T010)") == 1, first.code
    assert migrate_source(first.code, options=Options(style="native")).code == first.code


LOSSES = """
from lib import *
import numpy as np
import chainer
import chainer.functions as F
from chainer import Variable


class Net(chainer.Chain):
    def __init__(self):
        super().__init__(l=chainer.links.Linear(3, 3))

    def __call__(self, x):
        return self.l(x)


def run(xs):
    return train(Net(), Net(), xs)


def train(dis, gen, xs):
    total = np.float32(0)
    for x in xs:
        y = dis(gen(x))
        l_gen = F.softmax_cross_entropy(y, Variable(np.zeros(4, dtype=np.int32)))
        l_dis = F.softmax_cross_entropy(y, Variable(np.ones(4, dtype=np.int32)))
        l_dis += F.softmax_cross_entropy(dis(x), Variable(np.zeros(4, dtype=np.int32)))
        l_gen.backward()
        l_dis.backward()
        total += l_dis.data.get()
    return total
"""


def test_a_sum_of_losses_that_stayed_in_place_stays_so():
    rules = load_rules(style="native")
    first = migrate_source(LOSSES, rules=rules)
    assert "l_dis += " in first.code
    assert migrate_source(first.code, rules=rules).code == first.code


LOOP = """
import chainer
import chainer_compat as compat


def main(kinds, read, it, optimizer):
    model = kinds['a']()
    converter = read('b') or chainer.dataset.concat_examples
    for batch in it:
        optimizer.zero_grad()
        loss = compat.call_with(model, converter(batch, 0))
        loss.backward()
        optimizer.step()
"""

REPEATED = """
import copy

import chainer
import chainer.links as L
from torch import nn


class Part(chainer.Chain):
    def __init__(self):
        super().__init__(l=L.Linear(3, 3))

    def __call__(self, x):
        self.seen = self.l(x)
        return self.seen


def repeated(x):
    part = Part()
    part(chainer.Variable(x))
    return nn.Sequential(*(copy.deepcopy(part) for _ in range(3)))
"""


@pytest.mark.parametrize(("text", "stays"), [(LOOP, "loss.backward()\n"), (REPEATED, "copy.deepcopy(part) for")])
def test_what_an_earlier_run_has_written_stays(text, stays):
    code = migrate_source(text, rules=load_rules(style="native")).code
    assert stays in code and "compat.deepcopy" not in code, code


def test_a_graph_that_is_known_less_after_the_first_run_is_used_as_it_was_then() -> None:
    """What a helper gives is a loss in the first run, and unknown in the second: it might pass the graph again."""
    source = """
from pdb import *
from random import sample

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Net(chainer.Chain):
    def __init__(self):
        super().__init__(l=L.Linear(4, 3))

    def __call__(self, x):
        return self.l(x)


def check(model, xs, ts):
    ys = model(xs)
    loss = F.softmax_cross_entropy(ys, ts)
    return sum(np.argmax(ys.data, axis=1) == ts) / ts.shape[0], loss


def main():
    model = Net()
    optimizer = chainer.optimizers.Adam()
    optimizer.setup(model)
    train, test = chainer.datasets.get_mnist()
    xs, ts = train._datasets
    for i in range(20):
        for j in range(60):
            model.zerograds()
            t = chainer.Variable(np.array(ts[j : j + 10], "i"))
            loss = F.softmax_cross_entropy(model(xs[j : j + 10]), t)
            loss.backward()
            optimizer.update()
        chosen = sample(range(xs.shape[0]), 10)
        accuracy, loss_train = check(model, xs[chosen], ts[chosen])
        print(accuracy, loss_train.data)
"""
    first = migrate_source(source, options=Options(style="native"))
    assert "loss.backward()" in first.code
    assert migrate_source(first.code, options=Options(style="native")).code == first.code


UPDATER_OF_A_MANAGER = """
import chainer
import chainer.links as L
from chainer import serializers, training
from chainer.training import extensions


def main(rows, file):
    model = L.Classifier(L.Linear(3, 2))
    opt = chainer.optimizers.Adam()
    opt.setup(model)
    updater = training.StandardUpdater(chainer.iterators.SerialIterator(rows, 2), opt)
    trainer = training.Trainer(updater, (2, 'epoch'))
    trainer.updater.device = -1
    trainer.extend(extensions.snapshot())
    try:
        serializers.load_npz(file, trainer)
    except KeyError:
        serializers.{does}
    trainer.run()
"""


@pytest.mark.parametrize(
    "does", ["load_npz(file, trainer.updater, path='updater/')", "save_npz(file, trainer.updater, False)"]
)
def test_the_updater_of_a_manager_that_a_run_has_made_is_still_one(does):
    """The name is one of a helper's object then, whose class nobody follows."""
    options = Options(style="native")
    first = migrate_source(UPDATER_OF_A_MANAGER.format(does=does), options=options)
    assert first.error is None and any(site.state == "manual" for site in first.sites), first.code
    assert migrate_source(first.code, options=options).code == first.code


DTYPE_OF_EITHER = """
import numpy as np
import chainer
from chainer import cuda, function


def product(a, b):
    xp = cuda.get_array_module(a)
    if xp is np:
        ret = np.empty(a.shape[:2] + b.shape[2:], dtype=a.dtype)
        ret += np.zeros(ret.shape, a.dtype) + np.ones(ret.shape, 'f').astype(a.dtype)
        for i in range(len(a)):
            ret[i] = np.dot(a[i], b[i])
        return ret
    return xp.matmul(a, b)


class Product(function.Function):
    def __init__(self, b):
        self.b = b

    def forward(self, x):
        return product(x[0], self.b),

    def backward(self, x, gy):
        return product(self.b, gy[0]),


def use(x):
    return Product(np.ones((1, 2, 2), 'f'))(x)
"""


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_the_dtype_of_what_one_caller_has_as_a_tensor_is_made_one_of_numpys(style):
    """In the first run, too: where the callers say array and tensor, and where a second run no longer knows them."""
    options = Options(style=style)
    first = migrate_source(DTYPE_OF_EITHER, options=options).code
    assert first.count("compat.numpy_dtype(a.dtype)") == 3, first
    assert migrate_source(first, options=options).code == first
