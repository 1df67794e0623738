"""What the uses of a value tell: children that ``super()`` adds, links that are asked for what only links have,
arrays that are computed with themselves, and layers in lists of functions.
"""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

ADDED = """
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        super(Net, self).add_link('a/fc', L.Linear(8, 4, initialW=0.5))
        super().add_link('b', L.Linear(4, 3, initialW=0.25))
        ADD

    def forward(self, x):
        h = F.average_pooling_2d(x, 2)
        return self['b'](F.relu(self['a/fc'](h)))

def run(xs):
    x = F.reshape(F.concat([F.concat(xs, axis=1)] * 4, axis=1), (1, 8, 2, 2))
    return [F.sum(Net()(x)).array]
"""


def test_children_that_super_adds_are_known():
    theirs, ours, code = run(ADDED.replace("ADD", "pass"))
    assert "nn.Linear(8, 4)" in code and "compat.Linear" not in code
    assert "(torch.flatten(h, 1))" in code
    np.testing.assert_allclose(np.array(ours[0]), theirs[0], rtol=1e-6)


def test_a_child_of_another_name_keeps_its_own_layer():
    code = migrated(ADDED.replace("ADD", "self.add_link('c', L.Linear(8, 4)); list(map(self['c'], []))")).code
    assert code.count("compat.Linear(8, 4)") == 1


CLIPPED = """
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(None, 2, initialW=np.array([[3, -3], [0.5, -0.5]], 'f'))

def run(xs):
    net = Net()
    net(xs[0]) if hasattr(net, 'nothing') else net.a(xs[0])
    for p in net.params():
        p.data = VALUE
    return [np.array(p.data) for _, p in sorted(net.namedparams())]
"""


@pytest.mark.parametrize("value", ["np.clip(p.data, -1, 1)", "p.data * 2", "p.array.copy()", "-p.data[...] + 1"])
def test_an_array_that_is_computed_with_itself_needs_no_shape(value):
    theirs, ours, code = run(CLIPPED.replace("VALUE", value))
    assert "compat.set_array" not in code
    for one, other in zip(theirs, ours):
        np.testing.assert_array_equal(one, other)


def test_an_array_from_elsewhere_gives_a_parameter_that_waits_its_shape():
    assert "compat.set_array(p, " in migrated(CLIPPED.replace("VALUE", "np.zeros(2, 'f')")).code


DEMANDED = """
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(2, 2, initialW=0.5)

class Holder:
    def __init__(self, **models):
        self.gen = models.pop('gen')

    def clip(self):
        for p in self.gen.params():
            p.data = np.clip(p.data, -0.25, 0.25)

def run(xs):
    models = {'gen': Net()}
    holder = globals()['Holder'](**models)
    holder.clip()
    gen = models[str('gen')]
    F.sum(gen.a(xs[0])).backward()
    gen.cleargrads()
    return [gen.a.W.grad is None, np.array(gen.a.W.data)]
"""


def test_what_is_asked_for_parameters_is_a_link():
    theirs, ours, code = run(DEMANDED)
    assert "in self.gen.parameters():" in code and "params_of" not in code
    assert theirs[0] is True and ours[0] is True
    np.testing.assert_array_equal(theirs[1], ours[1])


def test_a_class_of_the_project_with_such_a_method_may_be_meant():
    own = "class Agent:\n    def params(self):\n        return []\n\n"
    assert "compat.faithful_params_of(self.gen)" in migrated(own + DEMANDED).code


def test_what_is_tested_for_its_kind_is_not_taken_for_a_link():
    tested = DEMANDED.replace("        for p in", "        hasattr(self.gen, 'params')\n        for p in")
    assert "compat.params_of(self.gen)" in migrated(tested).code


def test_a_name_that_is_bound_twice_may_be_something_else():
    once = "def run(models):\n    g = models['a']\n    for p in g.params():\n        p.data[...] = 1\n"
    assert "in g.parameters():" in migrated(once).code
    assert "in compat.params_of(g):" in migrated(once + "    g = models['b']\n    return g\n").code


BLOCKS = """
import chainer.links as L

class Block(chainer.Chain):
    def __init__(self, n, activation=F.relu):
        super().__init__()
        self.activation = activation
        with self.init_scope():
            self.l = L.Linear(2, n, initialW=0.5)

    def forward(self, x):
        return self.activation(self.l(x))

class Net(chainer.Chain):
    def __init__(self, activation=F.relu, BLOCK_KEYWORDS):
        super().__init__(KEYWORDS)
        self.activation = activation
        with self.init_scope():
            self.b = Block(2, activation=activation)

    def forward(self, x):
        return self.activation(self.b(x))

def run(xs):
    net = globals()['Net'](activation=L.Linear(2, 2, initialW=1))
    return [sorted(path for path, _ in net.namedparams()), np.array(net(xs[0]).array)]
"""


def test_words_for_a_class_of_ones_own_register_nothing():
    theirs, ours, code = run(BLOCKS.replace("BLOCK_KEYWORDS", "n=1").replace("KEYWORDS", ""))
    assert "object.__setattr__(self, 'activation', activation)" in code and "set_unregistered" not in code
    assert theirs[0] == ours[0] == ["/b/l/W", "/b/l/b"]
    np.testing.assert_allclose(theirs[1], ours[1])


def test_words_that_a_class_hands_on_may_register_something():
    code = migrated(BLOCKS.replace("BLOCK_KEYWORDS", "**links").replace("KEYWORDS", "**links")).code
    assert "compat.set_unregistered(self, 'activation', activation)" in code


LISTS = """
import collections
import chainer.links as L

def pooled(x):
    n, c, h, w = x.shape
    return F.reshape(F.average_pooling_2d(x, (h, w), stride=1), (n, c))

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(1, 4, 1, initialW=0.5)
            self.bn = L.BatchNormalization(4)
            self.fc5 = L.Linear(4, 3, initialW=0.25)
            self.fc6 = L.Linear(3, 2, initialW=np.arange(6, dtype='f').reshape(2, 3))
        self.functions = FUNCTIONS

    def forward(self, x):
        h = x
        for key, funcs in self.functions.items():
            for func in funcs:
                h = func(h)
        return h

def run(xs):
    x = F.reshape(F.concat(xs, axis=1), (2, 1, 2, 2))
    with chainer.using_config('train', False):
        return [np.array(Net()(x).array)]
"""
PAIRS = (
    "collections.OrderedDict([('c', [self.conv, self.bn]), ('p', [POOL]), ('5', [self.fc5, F.relu]), "
    "('6', [self.fc6])])"
)
DICT = "{'c': [self.conv, self.bn], 'p': [POOL], '5': [self.fc5, F.relu], '6': [self.fc6]}"


@pytest.mark.parametrize("functions", [PAIRS, DICT])
@pytest.mark.parametrize("pool", ["pooled", "lambda x: F.average(x, axis=(2, 3))", "lambda x: F.sum(x, (2, 3))"])
def test_layers_in_lists_of_functions_behind_rows(functions, pool):
    theirs, ours, code = run(LISTS.replace("FUNCTIONS", functions.replace("POOL", pool)))
    assert "nn.Linear(4, 3)" in code and "nn.Linear(3, 2)" in code and "compat.Linear" not in code
    np.testing.assert_allclose(theirs[0], ours[0], rtol=1e-5)


@pytest.mark.parametrize(
    "pool",
    [
        "lambda x: F.average(x, axis=(2, 3), keepdims=True)",
        "F.relu",
        "lambda x: F.average(x, axis=(2, 3)), lambda x: F.expand_dims(x, 2)",
        "lambda x: F.average(x, axis=(1, 2))",
    ],
)
def test_layers_in_lists_of_functions_behind_something_else(pool):
    assert "compat.Linear(4, 3)" in migrated(LISTS.replace("FUNCTIONS", PAIRS.replace("POOL", pool))).code


def test_layers_that_the_constructor_of_chain_gets():
    functions = PAIRS.replace("POOL", "pooled")
    start = LISTS.index("        super().__init__()")
    program = LISTS[:start] + LISTS[start:].replace(
        LISTS[start : LISTS.index("        self.functions")],
        "        super().__init__(conv=L.Convolution2D(1, 4, 1, initialW=0.5), bn=L.BatchNormalization(4),\n"
        "            fc5=L.Linear(4, 3, initialW=0.25), fc6=L.Linear(3, 2, initialW=0.5))\n",
    )
    theirs, ours, code = run(program.replace("FUNCTIONS", functions))
    assert "nn.Linear(4, 3)" in code and "nn.Linear(3, 2)" in code and "compat.Linear" not in code
    np.testing.assert_allclose(theirs[0], ours[0], rtol=1e-5)


@pytest.mark.parametrize("sizes", ["4, 3|4, 2", "4, 4|4, 4", "4, n|m, 2"])
def test_linear_layers_side_by_side_may_get_the_same_input(sizes):
    first, second = sizes.split("|")
    text = (
        "import chainer.links as L\n\nclass Net(chainer.Chain):\n    def __init__(self, n, m):\n"
        f"        super().__init__()\n        with self.init_scope():\n            self.a = L.Linear({first})\n"
        f"            self.b = L.Linear({second})\n        self.heads = {{'a': self.a, 'b': self.b}}\n\n"
        "    def forward(self, x):\n        return [f(x) for f in self.heads.values()]\n"
    )
    code = migrated(text).code
    assert code.count("compat.Linear(") == 2 or "f(torch.flatten(x, 1))" in code


def test_a_layer_in_a_list_that_is_called_by_name_too():
    called = LISTS.replace("        h = x\n", "        h = self.fc5(x) if x.ndim == 9 else x\n")
    code = migrated(called.replace("FUNCTIONS", PAIRS.replace("POOL", "pooled"))).code
    assert "compat.Linear(4, 3)" in code or "self.fc5(torch.flatten(" in code


@pytest.mark.parametrize("axes", ["[0, 2, 1]", "(0, 2, 1)", "[i for i in (0, 2, 1)]", "[0] + [2, 1]"])
def test_a_list_is_never_none(axes):
    text = (
        "def run(xs):\n    x = F.reshape(F.concat(xs, axis=1), (2, 2, 2))\n"
        f"    return [np.array(F.transpose(x, {axes}).array)]\n"
    )
    theirs, ours, code = run(text)
    assert "torch.permute(x, " in code
    np.testing.assert_array_equal(theirs[0], ours[0])


LOOKED_AT = """
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(4, 3, initialW=0.5)
            self.b = L.Linear(3, 2, initialW=0.25)
        own = [self.a, self.b]
        ASK

    def forward(self, x):
        return self.b(F.tanh(self.a(x)))

def run(xs):
    return [np.array(Net()(F.reshape(F.concat(xs, axis=1), (2, 2, 2))).array)]
"""


@pytest.mark.parametrize("ask", ["print(len(own))", "str(own)", "isinstance(own[0] if own else own, L.Linear)"])
def test_layers_that_a_function_of_pythons_looks_at(ask):
    theirs, ours, code = run(LOOKED_AT.replace("ASK", ask))
    assert "nn.Linear(4, 3)" in code and "compat.Linear" not in code
    assert "self.a(torch.flatten(x, 1))" in code
    np.testing.assert_allclose(theirs[0], ours[0], rtol=1e-6)


@pytest.mark.parametrize("ask", ["dict(zip('ab', own))", "self.kept = list(zip(own, own))", "eval('call')(own)"])
def test_layers_that_go_on_from_there_may_be_called(ask):
    assert "compat.Linear(4, 3)" in migrated(LOOKED_AT.replace("ASK", ask)).code


IN_PAIRS = """
import collections
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(4, 3, initialW=0.5)
        self.functions = PAIRS

    def forward(self, x):
        h = x
        for funcs in self.functions.values():
            for func in funcs:
                h = func(h)
        return h

    def alone(self, x):
        return self.fc(x)

def run(xs):
    x = F.reshape(F.concat(xs, axis=1), SHAPE)
    net = Net()
    return [np.array(net(x).array), np.array(net.alone(x).array)]
"""


@pytest.mark.parametrize(
    "pairs", ["collections.OrderedDict([('fc', [self.fc])])", "dict([('fc', (self.fc, F.relu))])", "{'fc': [self.fc]}"]
)
@pytest.mark.parametrize("shape", ["(2, 2, 2)", "(2, 1, 4)", "(2, 4, 1, 1)"])
def test_layers_in_pairs_are_called_there_too(pairs, shape):
    """The calls that are seen flattened, and the one in the loop did not: silently another shape for (2, 1, 4)."""
    theirs, ours, code = run(IN_PAIRS.replace("PAIRS", pairs).replace("SHAPE", shape))
    assert "compat.Linear(4, 3)" in code or "func(torch.flatten(" in code
    for one, other in zip(theirs, ours):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-6)


TRAINED = """
import chainer.links as L

class Gen(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(2, 2, initialW=0.5)

    def make_hidden(self, n):
        for link in self.children():
            link.cleargrads()
        return np.ones((n, 2), 'f')

    def forward(self, z):
        return self.a(z)

def run(xs):
    models = {'gen': Gen(), 'dis': Gen()}
    gen, dis = models[str('gen')], models[str('dis')]
    optimizer = chainer.optimizers.SGD(0.5)
    optimizer.setup(dis)
    x_fake = gen(chainer.Variable(gen.make_hidden(3)))
    loss = F.sum(dis(x_fake) * 2)
    gen.cleargrads()
    x_fake.unchain_backward()
    dis.cleargrads()
    loss.backward()
    optimizer.update()
    return [np.array(dis.a.W.data), gen.a.W.grad is None]
"""


def test_the_methods_of_a_model_are_its_own_business():
    theirs, ours, code = run(TRAINED)
    assert "backward(inputs=list(dis.parameters()))" in code
    np.testing.assert_allclose(theirs[0], ours[0], rtol=1e-6)
    assert bool(theirs[1]) == bool(ours[1])
