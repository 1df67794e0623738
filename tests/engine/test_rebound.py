"""`x += y` where a Variable meets arrays, `unchain()`, arrays that run backwards: the same values, dtypes, owners."""

import numpy as np
import pytest
import torch

from chainer2torch.compat.variable import rebinding
from chainer2torch.engine import Options, migrate_source
from tests.support.both_sides import both


def test_one_broadcast_value_is_a_variable_and_no_tuple():
    """`h += noise` behind it makes a new Variable: the array that came in stays as it is."""
    original, migrated = both("""
    def noisy(x):
        h = F.broadcast(x)
        h += np.ones(x.shape)
        return h
    x = np.zeros((2, 3), 'f')
    y = noisy(x)
    a, b = F.broadcast(chainer.Variable(x), np.ones((1, 3), 'f'))
    """)
    assert not migrated["x"].any() and not original["x"].any()
    np.testing.assert_array_equal(migrated["y"].numpy(), original["y"].array)
    assert migrated["y"].dtype == torch.float32 and original["y"].dtype == np.float32
    np.testing.assert_array_equal(migrated["b"].detach().numpy(), original["b"].array)


@pytest.mark.parametrize(
    "lines",
    [
        "h = chainer.Variable(x)\n    h += np.array([0.5, 1, 2])",
        "h = chainer.Variable(x)\n    h -= np.ones((2, 3))[:, ::-1]",
        "h = np.zeros((2, 3))\n    h += chainer.Variable(x)",
        "h = np.zeros((3,), 'f')\n    v = chainer.Variable(x)\n    h -= v",
        "h = np.zeros(())\n    for i in range(2):\n        h += F.sum(chainer.Variable(x))",
        "hs = [chainer.Variable(x)]\n    hs[0] *= np.eye(3)[0]\n    h = hs[0]",
        "h = np.ones((2, 3), 'f')\n    h += 2\n    h = chainer.Variable(h)",
    ],
)
def test_a_variable_and_an_array_that_are_added_in_place(lines):
    original, migrated = both(f"""
def f(x):
    {lines}
    return h
x = np.arange(6).reshape(2, 3).astype('f')
h = f(x)
""")
    np.testing.assert_array_equal(migrated["h"].detach().numpy(), original["h"].array)
    assert migrated["h"].detach().numpy().dtype == original["h"].dtype
    np.testing.assert_array_equal(migrated["x"], original["x"])


def test_unchain_leaves_parameters_trained_and_keeps_the_gradient():
    original, migrated = both("""
    net = L.Linear(3, 2, initialW=np.arange(6).reshape(2, 3))
    def own(net, x):
        for p in net.params():
            p.unchain()
        net.cleargrads()
        F.sum(net(x) ** 2).backward()
        return net.W.grad
    def between(net, x):
        h = net(x)
        h.unchain()
        net.cleargrads()
        F.sum(h * h).backward()
        return h.grad
    def of(x):
        x.unchain()
    x = np.arange(6).reshape(2, 3).astype('f')
    first, second = own(net, x), between(net, x)
    none = net.W.grad is None
    """)
    np.testing.assert_array_equal(migrated["first"].numpy(), original["first"])
    np.testing.assert_array_equal(migrated["second"].numpy(), original["second"])
    assert migrated["none"] and original["none"]


def test_arrays_that_run_backwards():
    original, migrated = both("""
    class Reverse(chainer.Function):
        def forward_cpu(self, inputs):
            return np.exp(inputs[0])[::-1],
        def backward_cpu(self, inputs, grads):
            return (grads[0][::-1] * np.exp(inputs[0])),
    def mirrored(image):
        image = image[:, ::-1]
        return image
    x = np.arange(6).reshape(2, 3).astype('f')
    v = chainer.Variable(x)
    a = F.relu(mirrored(x))
    b = F.concat([v, x[::-1]], axis=0)
    c = F.concat((v, x * 2), axis=0)
    flipped = x[::-1]
    d = F.sigmoid(flipped)
    e = Reverse()(v)
    F.sum(e * np.arange(3, dtype='f')).backward()
    """)
    for name in "abcde":
        np.testing.assert_allclose(migrated[name].detach().numpy(), original[name].array, rtol=1e-6)
    np.testing.assert_allclose(migrated["v"].grad.numpy(), original["v"].grad, rtol=1e-6)


def test_a_parameter_that_is_replaced_behind_the_back_of_its_link_is_marked():
    left = ["chainer.Link.__setattr__"]
    _, migrated = both(
        """
    def put(link, name, value):
        super(chainer.Link, link).__setattr__(name, value)
    def put_too(link, name, value):
        object.__setattr__(link, name, value)
    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            object.__setattr__(self, 'teacher', L.Linear(2, 2))
    """,
        left=left,
    )
    assert migrated["__code__"].count("TODO") == 2


def test_the_result_of_an_own_function_is_a_variable():
    original, migrated = both("""
    class Double(chainer.Function):
        def forward(self, inputs):
            x, = inputs
            return x * 2,
        def backward(self, inputs, grads):
            return grads[0] * 2,
    class Both(chainer.Function):
        def forward(self, inputs):
            x, y = inputs
            return x * 1, y * 1
    def run(x):
        y = Double()(x)
        z = y
        z += np.ones(x.shape)
        a, b = Both()(x, x)
        a += b
        return y, z * np.eye(3)[:2], a, b
    v = chainer.Variable(np.arange(6).reshape(2, 3).astype('f'))
    made = run(v)
    """)
    for ours, theirs in zip(migrated["made"], original["made"], strict=True):
        np.testing.assert_array_equal(ours.detach().numpy(), theirs.array)
        assert ours.detach().numpy().dtype == theirs.dtype
    np.testing.assert_array_equal(migrated["v"].detach().numpy(), original["v"].array)


def test_a_clipping_hook_of_ones_own_counts_by_the_number_of_the_device():
    """As in Chainer's own hooks of old: `int(device)` is -1 for the CPU."""
    original, migrated = both("""
    import collections
    from chainer import cuda
    class Clip(object):
        name = 'Clip'
        def __call__(self, opt):
            squares = collections.defaultdict(float)
            for x in [p.grad for p in opt.target.params()]:
                with cuda.get_device_from_array(x) as dev:
                    x = x.ravel()
                    squares[int(dev)] += x.dot(x)
            self.keys = list(squares), dev.id
            rate = 1 / np.sqrt(sum([float(i) for i in squares.values()]))
            for param in opt.target.params():
                grad = param.grad
                with cuda.get_device_from_array(grad):
                    grad *= rate
    net = L.Linear(3, 2, initialW=np.arange(6).reshape(2, 3))
    optimizer = chainer.optimizers.SGD(0.1)
    optimizer.setup(net)
    clip = Clip()
    optimizer.add_hook(clip)
    optimizer.update(lambda x: F.sum(net(x)), np.arange(6).reshape(2, 3).astype('f'))
    W = net.W.array
    """)
    np.testing.assert_allclose(migrated["W"], original["W"], rtol=1e-6)
    assert migrated["clip"].keys == original["clip"].keys == ([-1], -1)


def test_the_parameters_of_some_model():
    """Nothing tells what `model` is: its parameters are counted, and filled from arrays."""
    original, migrated = both("""
    def count(model):
        return sum([p.data.size for p in model.params()]), sum(p.size for p in model.params())
    def fill(model):
        for p in model.params():
            p.data = np.full(p.data.shape, 3, 'f')
    def put(model, first):
        model[first].conv.W.data = np.arange(6).reshape(2, 3).astype('f')
        model[first].conv.b.grad = np.ones(2, 'f')
    class Own(chainer.Chain):
        def __init__(self, **links):
            super().__init__(**links)
    net = Own(conv=L.Linear(3, 2))
    anything = {'count': count, 'fill': fill, 'put': put}
    """)
    for names in original, migrated:
        names["counted"] = names["anything"]["count"](names["net"])
        names["anything"]["fill"](names["net"])
        names["anything"]["put"]([names["net"]], 0)
    assert migrated["counted"] == original["counted"] == (8, 8)
    np.testing.assert_array_equal(migrated["net"].conv.weight.detach().numpy(), original["net"].conv.W.array)
    np.testing.assert_array_equal(migrated["net"].conv.bias.detach().numpy(), [3, 3])
    np.testing.assert_array_equal(migrated["net"].conv.bias.grad.numpy(), original["net"].conv.b.grad)


def test_a_normalization_of_ones_own_that_derives_from_chainers():
    """It asks for `gamma` by name, and assigns the statistics of its base class."""
    original, migrated = both("""
    class Instance(L.BatchNormalization):
        def __call__(self, x):
            B, C = x.shape[:2]
            h = F.reshape(x, (1, B * C) + x.shape[2:])
            if hasattr(self, 'gamma'):
                gamma = self.gamma
            else:
                gamma = chainer.Variable(self.xp.ones(self.avg_mean.shape, dtype=x.dtype))
            gamma = F.tile(gamma, (B,))
            beta = F.tile(getattr(self, 'beta'), (B,))
            mean, var = self.xp.tile(self.avg_mean, (B,)), self.xp.tile(self.avg_var, (B,))
            h = F.batch_normalization(h, gamma, beta, eps=self.eps, running_mean=mean, running_var=var,
                                      decay=self.decay)
            self.avg_mean = mean.reshape(B, C).mean(axis=0)
            self.avg_var = var.reshape(B, C).mean(axis=0)
            return F.reshape(h, x.shape)
    x = np.random.RandomState(0).randn(2, 3, 4, 4).astype('f')
    link = Instance(3)
    link.gamma.data[:] = np.array([1, 2, 3], 'f')
    link.cleargrads()
    y = link(link(x))
    F.sum(y ** 3).backward()
    """)
    ours, theirs = migrated["link"], original["link"]
    np.testing.assert_allclose(migrated["y"].detach().numpy(), original["y"].array, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours.running_mean.numpy(), theirs.avg_mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(ours.running_var.numpy(), theirs.avg_var, rtol=1e-4)
    np.testing.assert_allclose(ours.weight.grad.numpy(), theirs.gamma.grad, rtol=1e-3, atol=1e-2)


def test_what_is_used_as_a_variable_is_not_changed_in_place():
    """Nothing tells what `state` holds, but `lengths.data` is the array of a Variable: `-=` makes a new one."""
    original, migrated = both("""
    def step(states, count):
        lengths = states.pop()
        lengths -= count
        lengths -= 1
        return lengths, lengths.data >= 0
    def host(states, count):
        rest = states.pop()
        rest -= count
        return rest
    anything = {'step': step, 'host': host}
    v = chainer.Variable(np.array([[3], [0]], 'i'))
    a = np.array([3, 0], 'i')
    """)
    for names in original, migrated:
        names["out"], names["more"] = names["anything"]["step"]([names["v"]], 1)
        names["rest"] = names["anything"]["host"]([names["a"]], 1)
    np.testing.assert_array_equal(migrated["v"].numpy(), original["v"].array)
    np.testing.assert_array_equal(migrated["out"].numpy(), original["out"].array)
    np.testing.assert_array_equal(migrated["more"].numpy(), original["more"])
    assert migrated["rest"] is migrated["a"] and migrated["a"].tolist() == original["a"].tolist() == [2, -1]


def test_a_value_of_a_network_that_nobody_knows_is_bound_anew():
    """The first output is held by a list, the input by the caller: in place they would change without a word."""
    original, migrated = both("""
    def layers(n):
        return {name: L.Linear(3, 3, initialW=np.eye(3) * 2) for name in n.split()}
    class Net(chainer.Chain):
        def __init__(self, parts):
            super(Net, self).__init__()
            for name in parts:
                self.add_link(name, parts[name])
            self.names = sorted(parts)
        def __call__(self, x):
            h, outs = x, []
            for name in self.names:
                h = getattr(self, name)(h)
                outs.append(h)
                h += outs[0]
                h -= getattr(self, name)(x)
            return outs, h
        def residual(self, start, name):
            y = self.parts(start, name)
            y *= self.parts(start, name)
            return start, y
        def parts(self, x, name):
            return self.find(name)(x) if name else x
        def find(self, name):
            return dict(self.namedlinks())['/' + name]
    def run(net, x):
        outs, h = net(chainer.Variable(x))
        with chainer.no_backprop_mode():
            first, y = net.residual(chainer.Variable(x), '')
        return [v.array.copy() for v in (*outs, h, first, y)]
    net = Net(layers('a b c'))
    x = np.arange(6).reshape(2, 3).astype('f')
    values = run(net, x)
    """)
    assert "compat.iadd(h, outs[0])" in migrated["__code__"]
    for ours, theirs in zip(migrated["values"], original["values"], strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs)
    np.testing.assert_array_equal(migrated["x"], original["x"])


@pytest.mark.parametrize(
    "lines, becomes",
    [
        ("y = self.make(x)\n        y += self.make(x)\n        return y", "y = compat.iadd(y, self.make(x))"),
        ("h = self.make(x)\n        h /= 2\n        return F.relu(h)", "h = compat.itruediv(h, 2)"),
        ("total = 0\n        for v in self.make(x):\n            total += v\n        return total", "total += v"),
        ("i = self.make(x)\n        i += 1\n        return i", "i += 1"),
        ("i = self.make(x)\n        i += self.make(x)\n        return x[:i]", "i += self.make(x)"),
        ("s = self.make(x)\n        s += 'a'\n        return s", "s += 'a'"),
        ("s = self.make(x)\n        s += [x]\n        return s", "s += [x]"),
        ("self.count += self.make(x)", "self.count += self.make(x)"),
    ],
)
def test_what_is_bound_anew_and_what_only_counts(lines, becomes, migrate):
    code = migrate(f"""
import chainer
import chainer.functions as F
class Net(chainer.Chain):
    def forward(self, x):
        {lines}
""").code
    assert f"{becomes}\n" in code


def test_running_statistics_under_another_name_change_in_place():
    """The attribute comes from elsewhere, so nothing is known of it; a Variable that it holds is not changed."""
    original, migrated = both("""
    def fill(link, values):
        for name in values:
            setattr(link, name, values[name])
    class Net(chainer.Chain):
        def __call__(self, x):
            mean = self.mean
            mean *= 0.5
            mean += self.pick(x).array.sum(axis=0)
            h = self.last
            h += self.pick(x)
            return h
        def pick(self, x):
            return dict(x=x)['x']
    def run(x):
        net = Net()
        last = F.relu(x)
        fill(net, {'mean': net.xp.ones(3, 'f'), 'last': last})
        net(x)
        return net(x).array, net.mean, last.array
    values = run(chainer.Variable(np.arange(6).reshape(2, 3).astype('f')))
    """)
    assert "may_be_array=True" in migrated["__code__"]
    for ours, theirs in zip(migrated["values"], original["values"], strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs)


def test_what_is_no_network_changes_in_place(migrate):
    source = "import chainer\ndef f(m, grad):\n    v = m['v']\n    v *= grad\n    v += grad\n"
    assert "    v *= grad\n    v += grad\n" in migrate(source).code


@pytest.mark.parametrize("name, sign", [("iadd", "+"), ("isub", "-"), ("imul", "*"), ("itruediv", "/")])
def test_only_tensors_are_left_alone(name, sign):
    update = getattr(rebinding, name)
    expected = {"__builtins__": {}}
    for make in (lambda: np.array([2.0, 4.0]), lambda: 4.0, lambda: torch.tensor([2.0, 4.0])):
        target, held = make(), make()
        got = update(target, 2)
        exec(f"h {sign}= 2", expected, scope := {"h": held})
        np.testing.assert_array_equal(got, scope["h"])
        if isinstance(target, torch.Tensor):
            assert got is not target and torch.equal(target, make())
        elif isinstance(target, np.ndarray):
            assert got is target
    a = [1]
    assert rebinding.iadd(a, (2,)) is a and a == [1, 2]


def test_the_dtype_of_what_is_bound_anew():
    x, w = torch.ones(2), torch.ones(2, requires_grad=True)
    assert rebinding.iadd(x, torch.ones(2, dtype=torch.float64)).dtype == torch.float32
    assert rebinding.iadd(x.double(), w).dtype == torch.float32  # an array beside a Variable
    assert rebinding.iadd(w, x.double()).dtype == torch.float32
    assert rebinding.isub(torch.ones(2, dtype=torch.int32), 1).dtype == torch.int32
    with pytest.raises(TypeError, match="float32"):
        rebinding.itruediv(torch.ones(2, dtype=torch.int32), 2)


def test_values_of_unknown_kind_in_functions_that_work_with_variables():
    """What `reduce` and `map` give is in a graph here, so it is a Variable; the array of the other is changed."""
    original, migrated = both("""
    import functools
    def total(xs):
        y = functools.reduce(lambda a, b: a + b, xs)
        first = y
        y /= len(xs)
        zs = list(map(F.relu, xs))
        z = zs[0]
        z += y
        w = F.identity(xs[0])
        w += 1
        return [v.array for v in (first, y, zs[0], z, w, F.sum(y))]
    def update(array, x, make):
        stored = make(array)
        stored *= make(0.5)
        return F.sum(x * stored)
    x = chainer.Variable(np.arange(6).reshape(2, 3).astype('f'))
    values = total([x, F.exp(x)])
    """)
    for ours, theirs in zip(migrated["values"], original["values"], strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-6)
    for names in original, migrated:
        names["a"] = np.ones(3, "f") if names is original else torch.ones(3)
        names["update"](names["a"], names["x"], lambda v: v)
    np.testing.assert_array_equal(migrated["a"].numpy(), original["a"])
    assert "stored = compat.imul(stored, make(0.5), may_be_array=True)" in migrated["__code__"]


NAMED = """
import chainer
import chainer.functions as F


class Net(chainer.Chain):
    def forward(self, x, name):
        name = name.lower()
        name += '_' + self.kind
        name += f'{x}'
        return F.relu(x)
"""


def test_a_text_is_added_as_it_is(migrate):
    code = migrate(NAMED).code
    assert "name += '_' + self.kind" in code and "name += f'{x}'" in code


@pytest.mark.parametrize(
    ("lines", "calls", "state"),
    [
        ("y = x; y += 3", "", "review"),
        ("x *= 3", "", "review"),
        ("y = x[0]; y -= 3", "", "review"),
        ("y = x if x.ndim else x; y /= 3", "", "review"),
        ("y = x + 0; y += 3", "", "exact"),
        ("y = x; y += self.l(x)", "", "exact"),
        ("y = x; y += 3", "Net()(chainer.Variable(np.ones((2, 3), 'f')))", "exact"),
        ("y = x; y += 3", "net = Net(); net(np.ones((2, 3), 'f')); net(net(np.ones((2, 3), 'f')))", "review"),
        ("y = x; y += 3; y += 2", "", "review"),
        ("h = self.l(x); y = h.array if x.ndim else h; y += 1", "", "review"),
        ("h = self.l(x); y = h.array * 2 if x.ndim else h; y += 1", "", "exact"),
    ],
)
@pytest.mark.parametrize("style", ["native", "faithful"])
def test_a_parameter_that_may_be_an_array_of_the_caller_is_asked_about(lines, calls, state, style):
    """Chainer changes an array that comes in, and no Variable: where no call says which it is, the marker does."""
    source = f"""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 3)
    def forward(self, x):
        {lines}
        return self.l(y) if 'y' in dir() else self.l(x)
{calls}
"""
    sites = migrate_source(source, options=Options(style=style)).sites
    found = [s.state for s in sites if "__i" in s.symbol or s.symbol.startswith("chainer.Variable.__")]
    assert found[0] == state and found.count("review") == (state == "review"), found


def test_a_parameter_of_a_function_that_may_be_an_array_of_the_caller_is_asked_about():
    source = "import chainer.functions as F\ndef free(x):\n    y = x\n    y -= 3\n    return F.relu(y)\n"
    result = migrate_source(source, options=Options(style="native"))
    assert [s.state for s in result.sites if s.symbol == "?.__isub__"] == ["review"]


@pytest.mark.parametrize("helper", ["iadd", "isub", "imul", "itruediv"])
def test_an_array_of_the_host_takes_a_tensor_and_a_tensor_takes_one(helper):
    run, numpys = getattr(rebinding, helper), np.arange(1.0, 4.0, dtype="f")
    for target, value in ((numpys, torch.full((3,), 2.0)), (torch.arange(1.0, 4.0), np.full(3, 2.0, "f"))):
        before = target.copy() if isinstance(target, np.ndarray) else target.clone()
        held = target
        result = run(target, value, may_be_array=True)
        assert result is held and type(result) is type(before)
        expected = run(np.asarray(before).copy(), np.full(3, 2.0, "f"))
        np.testing.assert_allclose(np.asarray(result), expected)
    in_graph = torch.full((3,), 2.0, requires_grad=True)
    assert run(np.ones(3, "f"), in_graph, may_be_array=True).requires_grad
