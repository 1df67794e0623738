"""Members of values that nobody knows, in the native style."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

CLEAR = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.w = chainer.Parameter(np.ones((1, 2), 'f'))


def run(xs):
    net = eval('Net()')
    F.sum(net.w * xs[0]).backward()
    net.cleargrads()
    before = net.w.grad is None
    F.sum(net.w * xs[1]).backward()
    return [before, np.array(net.w.grad)]
"""


def test_clearing_the_gradients_of_what_may_be_a_link():
    theirs, ours, code = run(CLEAR)
    assert "net.zero_grad()" in code
    assert ours[0] is True and theirs[0] is True
    assert (ours[1] == theirs[1]).all()


def test_a_program_with_a_method_of_this_name_keeps_the_helper():
    own = "class Agent:\n    def cleargrads(self):\n        pass\n\n\ndef f(x):\n    F.relu(x.a)\n    x.cleargrads()\n"
    assert "compat.cleargrads_of(x)" in migrated(own).code


@pytest.mark.parametrize("member", ["shape", "ndim", "data"])
def test_what_is_read_alike_of_all_asks_nobody(member):
    box = "class Box:\n    shape = ndim = data = 1\n\n\n"
    text = f"def f(flag):\n    x = Box() if flag else chainer.Variable(np.zeros(2, 'f'))\n    return x.{member}\n"
    result = migrated(box + text)
    assert f"return x.{member}" in result.code and "TODO" not in result.code
    assert all(site.state == "exact" for site in result.sites)


@pytest.mark.parametrize(("value", "member"), [("[1]", "cleargrad()"), ("(1, 'a')", "creator"), ("{}", "array")])
def test_what_a_container_does_not_have_is_asked_of_the_tensor(value, member):
    text = f"def f(flag):\n    x = {value} if flag else chainer.Variable(np.zeros(2, 'f'))\n    return x.{member}\n"
    alone = f"def f(flag):\n    x = chainer.Variable(np.zeros(2, 'f'))\n    return x.{member}\n"
    assert migrated(text).code.splitlines()[-1] == migrated(alone).code.splitlines()[-1]


COPY = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.w = chainer.Parameter(np.zeros((1, 2), 'f'))


def run(xs):
    net, other = eval('Net()'), eval('Net()')
    net.w.data[:] = 3
    other.copyparams(net)
    F.sum(other.w * xs[0]).backward()
    other.zerograds()
    F.sum(other.w * xs[1]).backward()
    return [np.array(other.w.data), np.array(other.w.grad), [path for path, _ in other.namedparams()]]
"""


def test_what_may_be_a_link_is_copied_and_walked():
    theirs, ours, code = run(COPY)
    assert "other.load_state_dict(net.state_dict())" in code and "other.zero_grad(set_to_none=False)" in code
    assert "compat.namedparams(other)" in code
    assert (ours[0] == 3).all() and (theirs[0] == 3).all()
    assert (ours[1] == theirs[1]).all()
    assert ours[2] == theirs[2] == ["/w"]


@pytest.mark.parametrize("member", ["copyparams(y)", "zerograds()", "namedparams()", "namedlinks()"])
def test_methods_of_this_name_keep_the_helper(member):
    name = member.partition("(")[0]
    own = f"class Agent:\n    def {name}(self, *a):\n        pass\n\n\ndef f(x, y):\n    F.relu(x.a)\n    x.{member}\n"
    assert f"compat.{name}_of(x" in migrated(own).code


def test_a_model_that_is_not_known_is_moved_plainly():
    text = "def run(model, gpu):\n    model.to_gpu()\n    model.to_gpu(gpu)\n"
    assert "    model.cuda()\n    model.cuda(gpu)\n" in migrated(text).code
    own = "class Own(object):\n    def to_gpu(self, device=None):\n        return device\n\n\n"
    assert "compat.move_to_gpu(model, gpu)" in migrated(own + text).code


def test_an_array_module_that_goes_elsewhere_is_compared_with_numpy():
    text = "def run(x, f):\n    xp = chainer.backend.get_array_module(x)\n    return f(xp) if xp is np else xp\n"
    code = migrated(text).code
    assert "compat.array_module(x)" in code and "if xp == np else xp" in code


COMPARED = """
def run(xs, gpu=-1):
    high = np.full(2, 0.1, 'f')
    low = np.full(2, -0.1, 'f')
    if gpu >= 0:
        high = chainer.backends.cuda.to_gpu(high)
    y = F.relu(xs[0]) - 1
    a = eval('y')
    return [bool((a.array <= high).all()), bool((low <= a.array).all()), int((a.data > low).sum())]
"""


def test_the_array_of_what_nobody_knows_is_compared_with_arrays_of_numpy():
    theirs, ours, code = run(COMPARED)
    assert "<= torch.as_tensor(high)" in code and "torch.as_tensor(low) <= a.detach()" in code
    assert theirs == ours


def test_links_that_ask_for_their_scope_keep_it_and_others_do_not():
    made = "class Net(chainer.Chain):\n    def __init__(self):\n        super().__init__()\n"
    made += "        with self.init_scope():\n            self.fc = chainer.links.Linear(3, 2)\n"
    asks = "    def __setattr__(self, name, value):\n        super().__setattr__(name, value)\n"
    asks += "        self.last = name if self.within_init_scope else ''\n"
    assert "init_scope" not in migrated(made).code
    assert "with compat.init_scope(self):" in migrated(made + asks).code


def test_a_result_that_is_longer_if_one_asks_is_taken_apart_by_its_length():
    """``return a, b`` in one branch and ``return (a, b), c`` in another."""
    code = migrated("""def f(x, more):
    pair = F.relu(x), [1]
    if more:
        return pair, {}, 3
    return pair
def g(x):
    y, ones = f(x, False)
    (z, _), table, n = f(x, True)
    y.cleargrad()
    z.backward()
    n += 1
    return y.data, z.data, ones[0] + n
""").code
    assert "return y.detach(), z.detach(), ones[0] + n" in code and "TODO" not in code


def test_what_changes_often_is_unknown_and_what_has_settled_stays_known():
    """Forty functions that call one another: the walk ends, and the result of the first is known all the same."""
    steps = "".join(
        f"def f{i}(x, n):\n    return f{i + 1}(F.relu(x), n + {i}.5) if n < {i} else x\n" for i in range(40)
    )
    code = migrated(
        steps + "def f40(x, n):\n    return x\ndef g(x):\n    y = f0(F.relu(x), 1)\n    return y.data\n"
    ).code
    assert "return y.detach()" in code


def test_the_host_copy_of_a_name_that_holds_what_a_variable_held():
    """CuPy's get(); a queue that has the name somewhere else keeps its own."""
    text = "def f(model, x):\n    F.relu(x)\n    q = model(x).data\n    return np.argmax(q.get())\n"
    assert "return np.argmax(q.cpu().numpy())" in migrated(text).code
    other = "def f(model, x):\n    F.relu(x)\n    q = model.queue\n    if x:\n        q = x.data\n    return q.get()\n"
    assert "return q.get()" in migrated(other).code


ARRAYS = """
def held(x):
    return x.array if isinstance(x, chainer.Variable) else x


def parts(x):
    kept = held(x).copy()
    kept[0] = 5
    return [kept, held(x).repeat(2, axis=1), held(x).std(axis=0)]


def run(xs):
    found = parts(F.relu(xs[0])) + parts(np.ones((2, 3), 'f')) + [xs[0]]
    return [np.asarray(v.array if isinstance(v, chainer.Variable) else v) for v in found]
"""


def test_methods_of_arrays_of_what_is_an_array_or_a_tensor():
    """NumPy's meaning of ``copy``, ``repeat`` and ``std`` in both cases; the copy is one."""
    theirs, ours, code = run(ARRAYS)
    assert "compat.numpy_methods(held(x)).copy()" in code and "TODO" not in code, code
    for expected, value in zip(theirs, ours, strict=True):
        assert np.allclose(np.asarray(value), expected)
