"""What is asked of values of unknown kind and of Chainer's own objects without a rule: at run time, or marked."""

import inspect

import chainer
import chainer.training
import numpy as np
import pytest
import torch
from pytorch_pfn_extras.training import ExtensionsManager
from chainermn.optimizers import _MultiNodeOptimizer

from chainer2torch.compat.backend import dispatch
from chainer2torch.compat.distributed.distributed_optimizers import MultiNodeOptimizer
from chainer2torch.compat.optimizers.optimizer_base import GradientMethod
from chainer2torch.engine import migrate_source, migrate_sources
from chainer2torch.plan.options import Options
from chainer2torch.rules.table import load_rules
from tests.engine.test_arrays import _HEAD, both
from tests.support.row_examples import compat_namespace

RULES = load_rules()


def migrate(body):
    return migrate_source(_HEAD + body)


def states(result, start=""):
    return {s.symbol: s.state for s in result.sites if s.symbol.startswith(start)}


@pytest.mark.parametrize(
    "expression",
    [
        "z.dtype == np.float32",
        "z.dtype != 'float32'",
        "z.dtype in (np.float32, x.dtype)",
        "z.dtype.kind == 'f'",
        "x.dtype == z.dtype == np.float32",
        "z.size == 6",
        "bool(z.size)",
    ],
)
def test_dtypes_and_sizes_of_unknown_values(expression):
    """`x.dtype == np.float32` is false for every tensor, and a bound method `size` is always true."""
    body = f"""
class Net(chainer.Chain):
    def forward(self, x):
        z = globals()['hold'](x)
        return np.array({expression})


def hold(x):
    return chainer.as_variable(x)


def run(x):
    return Net()(chainer.Variable(np.ones((2, 3), 'f')))
"""
    both(body)


@pytest.mark.parametrize(
    "call",
    [
        "z.std()",
        "z.std(axis=0)",
        "z.var(0, ddof=1)",
        "z.repeat(2)",
        "z.repeat(2, axis=1)",
        "z.max(axis=1)",
        "z.min(0, keepdims=True)",
        "z.nonzero()[1]",
        "(z.sort(), z)[1]",
        "z.max()",
    ],
)
@pytest.mark.parametrize("held", ["x.array.copy()", "np.array(x.array)"])
def test_methods_that_tensors_have_with_another_meaning(call, held):
    """std with another divisor, repeat that tiles, sort that is not in place: no error would tell."""
    body = f"""
class Net(chainer.Chain):
    def forward(self, x):
        z = globals()['made'](x)
        return np.asarray({call})


def made(x):
    return {held}


def run(x):
    return Net()(chainer.Variable(np.array([[3., 1., 0.], [2., 0., 5.]], 'f')))
"""
    assert "numpy_methods(z)" in both(body) or call == "z.max()"


@pytest.mark.parametrize("statement", ["a = p.data.copy()", "p.data.fill(2)\n    a = p.data", "a = p.grad.copy()"])
def test_methods_of_arrays_in_unknown_values(statement):
    both(f"""
def first(p):
    {statement}
    return a


def run(x):
    link = L.Linear(3, 2, initialW=np.ones((2, 3), 'f'))
    link.cleargrads()
    F.sum(link(x)).backward()
    return globals()['first'](link.W)
""")


def test_other_objects_keep_their_own():
    class Other:
        size, dtype = 7, "mine"
        std = repeat = max = staticmethod(lambda *args: args)

    other = Other()
    assert dispatch.numpy_methods(other) is other and dispatch.size_of(other) == 7
    assert dispatch.dtype_of(other) == "mine" and dispatch.dtype_of(np.zeros(2, "i")) == np.int32
    assert dispatch.dtype_of(torch.zeros(2)) == np.float32 and dispatch.size_of(np.zeros((2, 3))) == 6


def test_an_element_is_a_number_of_its_own_and_a_part_is_none():
    x, rows = torch.zeros(2), torch.zeros(2, 2)
    element, row = dispatch.own_number(x[0]), dispatch.own_number(rows[0])
    x[0] = rows[0, 0] = 3
    assert element == 0 and row[0] == 3 and dispatch.own_number("x") == "x"


def test_what_has_no_method_of_chainers_hands_it_on():
    class Wrapper:
        def __init__(self, module):
            self.module = module

        def __getattr__(self, name):
            return getattr(self.module, name)

    layer = torch.nn.Linear(2, 1)
    layer(torch.ones(1, 2)).sum().backward()
    dispatch.cleargrads_of(Wrapper(layer))
    assert layer.weight.grad is None


def test_methods_of_lists_and_of_host_code_stay():
    code = migrate(
        "class Net(chainer.Chain):\n    def forward(self, x):\n        names.sort(key=len)\n"
        "        return x\n\n\n"
        "def load(z):\n    return z.std(), z.repeat(2), z.size\n"
    ).code
    assert "names.sort(key=len)" in code and "z.std(), z.repeat(2), z.size" in code


@pytest.mark.parametrize("kind", ["x.array", "np.zeros(3)"])
def test_dtype_of_a_tensor_or_an_array(kind):
    both(
        f"def run(x):\n    w = {kind} if len(x) else np.zeros(3)\n"
        "    return np.array([w.dtype == np.float32, w.dtype.kind == 'f'])\n"
    )


@pytest.mark.parametrize(
    "expression",
    [
        "x.dtype in table",
        "table[x.dtype]",
        "str(x.dtype) == 'float32'",
        "isinstance(x.dtype, np.dtype)",
    ],
)
def test_dtypes_as_keys_and_words(expression):
    both(f"table = {{np.dtype('f'): 3.0}}\n\n\ndef run(x):\n    return np.array(float({expression}))\n")


def test_members_without_a_rule_are_marked():
    result = migrate("""
class Mine(chainer.training.StandardUpdater):
    own = 3

    def update_core(self):
        self._iterators['main'].next(), self._nothing, self.own, self.later


updater = Mine()
updater.later = 3
optimizer = chainer.optimizers.Adam()
optimizer.check_nan_in_grads()
optimizer.amsgrad, optimizer.tag, optimizer.alpha
optimizer.tag = 4
""")
    assert {name for name, state in states(result).items() if state == "manual"} == {
        "chainer.optimizers.Adam.check_nan_in_grads",
    }


def test_other_bases_may_give_any_member():
    result = migrate(
        "from elsewhere import Mixin\n\n\nclass Mine(Mixin, chainer.training.StandardUpdater):\n"
        "    def update_core(self):\n        self.anything\n"
    )
    assert not [s for s in result.sites if s.state == "manual"]


def test_methods_that_nothing_calls_any_more():
    result = migrate(
        "class Mine(chainer.GradientMethod):\n    def update_one_cpu(self, param, state):\n        param -= state\n"
    )
    assert states(result, "chainer.GradientMethod.")["chainer.GradientMethod.update_one_cpu"] == "manual"
    assert "# TODO(chainer2torch C2T500): chainer.GradientMethod.update_one_cpu" in result.code


def own_members(cls):
    """Methods, properties and the attributes that the class and its bases assign to ``self``."""
    texts = [inspect.getsource(base) for base in cls.__mro__ if base.__module__.startswith("chainer")]
    return {name for name in dir(cls) if not hasattr(object, name)} | {
        word.split("self.", 1)[1].split(None, 1)[0].rstrip(",")
        for text in texts
        for word in text.splitlines()
        if word.strip().startswith("self.") and " = " in word
    }


# what create_multi_node_optimizer gives is of the kind of the optimizer in it, with these attributes besides
# what an earlier run wrote of a manager of pytorch-pfn-extras, where a decorator keeps Chainer's name
OF_MANAGERS = {
    ("chainer.training.Trainer", name) for name in ("epoch", "epoch_detail", "iteration", "models", "optimizers")
}
_MANAGER = ExtensionsManager({}, [], 1, iters_per_epoch=1)
AROUND = {("chainer.GradientMethod", name) for name in ("actual_optimizer", "communicator")}


@pytest.mark.parametrize("name", sorted(name for _, name in AROUND))
def test_a_multi_node_optimizer_has_what_is_around_it(name):
    actual = GradientMethod()
    assert hasattr(MultiNodeOptimizer(actual, None, zero_fill=False), name)
    assert hasattr(_MultiNodeOptimizer(actual, None, False), name)
    assert not hasattr(actual, name)


def test_members_that_are_kept_are_there():
    """`keeps` of a row: the member is Chainer's, and what the class became has it under the same name."""
    helpers = vars(compat_namespace())
    gone = {"chainer.functions.MaxPooling2D"}  # of version 6: tests/compat/test_function_objects.py asks for each
    kept = {name: row for name, row in RULES.rows.items() if row.keeps and name not in gone}
    assert len(kept) >= 30
    for name, row in kept.items():
        theirs: object = chainer
        for part in name.split(".")[1:]:
            theirs = getattr(theirs, part, None) or getattr(chainer.training.updater, part)
        ours = helpers[(row.value or row.cases[-1].torch.partition("(")[0]).partition(".")[2]]
        text = "".join(
            inspect.getsource(base)
            for base in ours.__mro__
            if base.__module__.startswith(("chainer2torch", "pytorch_pfn"))
        )
        for member in row.keeps:
            if (name, member) in AROUND:
                continue
            if (name, member) in OF_MANAGERS:
                assert hasattr(ExtensionsManager, member) or member in vars(_MANAGER), member
                continue
            assert member in own_members(theirs), (name, member)
            assert hasattr(ours, member) or f"self.{member}" in text, (name, member)
            assert RULES.member(name, member) is None, f"{name}.{member} has a row"


@pytest.mark.parametrize(
    "call, state",
    [
        ("eval(word)", "review"),
        ("exec(read())", "review"),
        ("eval('F.' + word)", "manual"),
        ("eval('1 + 2')", None),
    ],
)
def test_texts_that_run(call, state):
    result = migrate(f"def f(word):\n    return {call}, F.relu(word)\n")
    found = [s.state for s in result.sites if s.symbol in ("builtins.eval", "builtins.exec", "chainer.functions")]
    assert found == ([state] if state else [])


def test_texts_beside_a_star_import():
    result = migrate_source("from chainer.functions import *\n\n\ndef f(x):\n    return eval('relu(x)')\n")
    assert [s.state for s in result.sites if s.symbol == "builtins.eval"] == ["review"]


def test_arrays_of_version_1_are_float32():
    code = migrate("def f(x):\n    return cuda.zeros((2, 3)), cuda.full(4, 7), cuda.ones(3, dtype=np.int32)\n").code
    assert "compat.array_module('cuda').zeros((2, 3), 'float32')" in code and ".full(4, 7, 'float32')" in code
    assert ".ones(3, np.int32)" in code


def test_a_second_run_asks_nothing_new():
    """Kinds are lost with Chainer's names: what a first run knew and left must stay as it is."""
    text = (
        _HEAD
        + """
class Graph(object):
    def to_device(self, device):
        return self


class Net(chainer.Chain):
    def forward(self, x):
        graph = Graph()
        items = chainer.iterators.SerialIterator([graph], 1).next()
        F.blocked(x), z().std(), items[0].to_device(-1)
        return F.relu(x)
"""
    )
    first = migrate_sources({"a.py": text})["a.py"]
    assert migrate_sources({"a.py": first.code})["a.py"].code == first.code


def test_unknown_callables_in_test_mode_are_switched_too():
    """Chainer's switch is one for all: what is called beside a known module may be a module, or hold one."""
    code = both(
        """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.bn = L.BatchNormalization(3)

    def forward(self, x):
        return self.bn(x)


class Agent(object):
    def __init__(self, net):
        self.nets = {'q': net}

    def act(self, x):
        return self.nets['q'](x)


def evaluate(known, other, agent, method, bar, x):
    with chainer.using_config('train', False):
        bar.update()
        return known(x), other(x), agent.act(x), method(x)


def run(x):
    nets = [Net() for _ in range(4)]
    return globals()['evaluate'](nets[0], nets[1], Agent(nets[2]), Agent(nets[3]).act, {}, x)
""",
        **{"evaluate.known": "instance chainer.Chain"},
    )
    assert "compat.eval_mode(known, other, agent, method)" in code


def test_what_is_called_inside_without_a_name_outside_is_marked():
    result = migrate(
        "def f(x):\n    with chainer.using_config('train', False):\n        net = globals()['load']()\n"
        "        return net(x)\n"
    )
    assert states(result, "chainer.using_config") == {"chainer.using_config": "review"}


def test_an_array_that_is_called_array():
    """`array` may be the module of that name, but only where its class of that name is meant."""
    code = migrate_source("""import array
import chainer
import numpy as np
def check(x):
    return x.data.sum(), array.array('f', [1])
def wrong(array):
    xp = chainer.cuda.get_array_module(array)
    return not array.dtype == xp.float32
""").code
    assert "return not compat.dtype_of(array) == xp.float32" in code and "array.array('f', [1])" in code


def test_the_bias_of_some_link():
    """`b`, `gamma` and `beta` are names of many things: of a link where None is asked for, or beside its `W`."""
    code = migrate_source("""import chainer
import chainer.functions as F
def asked(link, norm, other):
    return link.b is not None, norm.gamma is None, other.b
def again(layer, x):
    return F.linear(x, layer.W, layer.b)
""").code
    assert (
        "return compat.link_attribute(link, 'b') is not None, "
        "compat.link_attribute(norm, 'gamma') is None, other.b" in code
    )
    assert "compat.link_attribute(layer, 'W'), compat.link_attribute(layer, 'b')" in code


def test_what_a_class_test_tells():
    """In `if isinstance(x, L.Linear):` an `x` that nothing is known of is such a link."""
    code = migrate_source(
        """import chainer.links as L
def parts(link, x, test):
    if isinstance(link, L.BatchNormalization):
        if link.gamma is None:
            return link(x, test=test)
        return link.gamma.data + link.avg_mean
    elif isinstance(link, L.Linear) and test:
        return link.W, link.b
    return link.gamma
""",
        options=Options(chainer_version=1),
    ).code
    for line in (
        "if link.weight is None:",
        "return compat.call_in_mode(link, not test, x)",
        "return link.weight.detach() + link.running_mean",
        "return link.weight, link.bias",
        "    return compat.link_attribute(link, 'gamma')\n",
    ):
        assert line in code, code


def test_the_update_rule_of_some_link_and_text_of_some_variable():
    code = migrate_source("""import chainer
def quiet(trunk, x):
    trunk.block.disable_update()
    trunk.block.bn.gamma.update_rule.enabled = True
    print(x.data, x.array)
    return trunk.block.enable_update
""").code
    for line in (
        "    compat.set_update_enabled_of(trunk.block, False)\n",
        "    compat.link_attribute(trunk.block.bn, 'gamma').update_rule.enabled = True\n",
        "    print(compat.to_host(x.data), x.detach().cpu().numpy())\n",
    ):
        assert line in code, code


def test_what_only_an_array_has_is_asked_of_an_array():
    """A model may be given arrays, which Chainer passes on as they are: a Variable has no `astype`."""
    from tests.support.both_sides import both as both_sides

    original, migrated = both_sides("""
        class Net(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.l = L.Linear(3, 2, initialW=1)

            def forward(self, x, mask, t):
                y = F.sum(self.l(x), axis=1) / F.sum(mask.astype('f'), axis=1)
                return y * t.clip(0, 2).astype(np.float32), t.argmax(axis=0)
        """)
    x, mask, t = np.ones((4, 3), "f"), np.eye(4, 3) + 1 > 1, np.arange(4, dtype="i") - 1
    mask[3, 0] = True
    theirs, place = original["Net"]()(x, mask, t)
    ours, our_place = migrated["Net"]()(*map(torch.from_numpy, (x, mask, t)))
    np.testing.assert_allclose(ours.detach().numpy(), theirs.array)
    assert int(our_place) == int(place) == 3


def test_the_size_of_a_part_is_a_number_wherever_it_is_asked_for():
    code = migrate_source("""import chainer
def sizes(layers, x, f):
    return [f(layer.W.size) for layer in layers], f(x.data.size, x.grad.size), x.array.size // 2, f(x.size)
""").code
    for text in (
        "[f(compat.size_of(compat.link_attribute(layer, 'W'))) for layer in layers]",
        "f(compat.size_of(x.data), compat.size_of(x.grad))",
        "x.detach().numel() // 2",
        "f(x.numel())",
    ):
        assert text in code, code


def test_the_size_of_what_is_used_as_a_variable_is_a_number_in_a_condition() -> None:
    """A method of a tensor, which is true: the branch for nothing was never taken."""
    code = migrate_source("""import chainer
from things import table

for f in table:
    y = f(3)
    if y.size:
        y.cleargrad()
    while not y.size and f.size:
        y = f(y)
""").code
    assert "if compat.size_of(y):" in code and "while not compat.size_of(y) and f.size:" in code, code


def test_what_is_made_of_the_array_of_something_is_cast_as_it_turns_out() -> None:
    text = (
        "import chainer\n\ndef f(y, mnist):\n    a = y.data[0].astype('f')\n    return (y.data > 0).astype('f'), {}\n"
    )
    found = migrate_source(text.format("mnist.data.astype('f')"), options=Options(style="native")).code
    assert "compat.astype(y.data[0], 'f')" in found and "compat.astype((y.data > 0), 'f')" in found
    assert "mnist.data.astype('f')" in found


def test_the_array_of_another_library_stays() -> None:
    """What is asked for members that no Variable has, or said to be something else, is no Variable."""
    text = """
import chainer
from audio.data import Sampling

def cut(one: Sampling, other, v, w: chainer.Variable):
    n = len(one.array) * other.rate
    return n, other.array[1:], v.array[:2], len(w.array), v.shape
"""
    found = migrate_source(text, options=Options(style="native")).code
    assert "len(one.array) * other.rate" in found
    assert "return n, other.array[1:], v.detach()[:2], len(w), v.shape" in found


def test_the_size_of_an_array_that_is_on_a_gpu_at_times_is_asked_at_run_time():
    text = (
        "import numpy\nimport chainer\nfrom chainer import cuda\n"
        "def f(y):\n    return chainer.Variable(y.reshape(y.size // 3, 3))\n"
        "def g(gpu):\n    y = numpy.ones(6, 'f')\n    if gpu >= 0:\n        y = cuda.to_gpu(y)\n    return f(y)\n"
    )
    code = migrate_source(text, options=Options(style="native")).code
    assert "y.reshape(compat.size_of(y) // 3, 3)" in code and "TODO" not in code


def test_a_setting_of_a_layer_or_of_an_own_class_is_set_as_it_is():
    text = (
        "import chainer\nimport chainer.links as L\n"
        "class Own(chainer.Chain):\n    compute_accuracy = True\n"
        "def f(own, net):\n    model = Own() if own else L.Classifier(net)\n    model.compute_accuracy = False\n"
        "    return model\n"
    )
    code = migrate_source(text, options=Options(style="native")).code
    assert "\n    model.compute_accuracy = False\n" in code and "TODO" not in code


@pytest.mark.parametrize("name", ["update_rule", "update_enabled", "creator_node", "debug_print", "compute_grads_norm"])
def test_members_of_chainers_objects_alone_are_marked(name):
    result = migrate(f"def f(v):\n    return v.{name}\n")
    assert states(result)[f"?.{name}"] == "review" and "TODO" in result.code
