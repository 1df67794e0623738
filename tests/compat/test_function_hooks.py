"""Function hooks against Chainer's: which calls they see, with which arrays, forward and backward."""

import io
import re
import sys
import types

import chainer
import chainer.functions as F
import numpy as np
import pytest
import torch

from chainer2torch.compat.hooks import function_hooks, function_reports
from chainer2torch.compat.hooks.function_reports import FunctionTimerHook, PrintHook
from chainer2torch.compat.functions.own_functions import FunctionNode
from chainer2torch.engine import migrate_source
from tests.support.both_sides import both
from tests.support.links import npz_of

HOOK = """
class Seen(chainer.FunctionHook):
    name = 'Seen'

    def __init__(self):
        self.calls = []
        self.depth = 0

    def added(self, function):
        self.calls.append(('added', function is None))

    def deleted(self, function):
        self.calls.append(('deleted', function is None))

    def forward_preprocess(self, function, in_data):
        if self.depth == 0:  # not what a gradient computes
            self.calls.append(('before', [x.shape for x in in_data]))

    def forward_postprocess(self, function, in_data):
        if self.depth == 0:
            self.calls.append(('after', [float((x * x).sum()) for x in in_data]))

    def backward_preprocess(self, function, in_data, out_grad):
        self.depth += 1
        self.calls.append(('backward', [float((g * g).sum()) for g in out_grad]))

    def backward_postprocess(self, function, in_data, out_grad):
        self.depth -= 1
        self.calls.append(('done', [x.shape for x in out_grad]))
"""


def plain(value):
    """Tuples for torch's shapes."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def assert_same_calls(ours, theirs):
    assert [call[0] for call in ours] == [call[0] for call in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        if mine[0] in ("after", "backward"):
            np.testing.assert_allclose(mine[1], other[1], rtol=1e-4, atol=1e-6)
        else:
            assert plain(mine[1:]) == plain(other[1:])


NET = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(3, 4, 3)
            self.bn = L.BatchNormalization(4)
            self.fc = L.Linear(18, 5)

    def forward(self, x):
        h = F.max_pooling_2d(F.relu(self.bn(self.conv(x))), 2)
        h = F.concat([F.tanh(h)[:, :2] * 2], axis=1)
        return F.tanh(self.fc(F.reshape(h, (2, -1))))

def run(net, x, t, hook, backward):
    with hook:
        loss = F.mean_squared_error(net(x), t)
        if backward:
            loss.backward()
    F.relu(loss)
    return hook.calls
"""


def test_a_network_forward_and_backward():
    original, migrated = both(HOOK + NET, left=["chainer.FunctionHook"])
    theirs, ours = original["Net"](), migrated["Net"]()
    from chainer2torch.compat.serializers.serializers import load_npz

    load_npz(npz_of(theirs), ours)
    x, t = np.random.RandomState(0).randn(2, 3, 8, 8).astype("f"), np.random.RandomState(1).randn(2, 5).astype("f")
    for backward in (False, True):
        expected = original["run"](theirs, x, t, original["Seen"](), backward)
        found = migrated["run"](ours, torch.from_numpy(x), torch.from_numpy(t), migrated["Seen"](), backward)
        assert_same_calls(found, expected)
        # 12 functions; for branches, the two choose the order of a backward pass differently
        assert len(found) == 2 + (12 * 4 if backward else 12 * 2)


# Calls that are one function on both sides, with the same inputs.
ONE_EACH = {
    "F.relu(x)": 1,
    "F.leaky_relu(x)": 1,
    "F.elu(x)": 1,
    "F.sigmoid(x)": 1,
    "F.tanh(x)": 1,
    "F.softplus(x)": 1,
    "F.softmax(x)": 1,
    "F.log_softmax(x)": 1,
    "F.exp(x)": 1,
    "F.log(x * x)": 2,
    "F.sqrt(x * x)": 2,
    "F.square(x)": 1,
    "F.sum(x)": 1,
    "F.sum(x, axis=1)": 1,
    "F.transpose(x)": 1,
    "x.T": 1,
    "F.reshape(x, (6,))": 1,
    "x[0]": 1,
    "x[:, 1:]": 1,
    "F.concat([x, x], axis=0)": 1,
    "F.stack([x, x])": 1,
    "F.expand_dims(x, 0)": 1,
    "F.squeeze(x[:1])": 2,
    "x + x": 1,
    "x - 1": 1,
    "1 - x": 1,
    "x * 2": 1,
    "x / 2": 1,
    "2 / x": 1,
    "x ** 2": 1,
    "-x": 1,
    "abs(x)": 1,
    "F.dropout(x, 0.5)": 1,
    "F.linear(x, x)": 1,
    "F.mean_squared_error(x, x)": 1,
    "F.split_axis(x, 3, axis=1)": 1,
    "F.clip(x, -1.0, 1.0)": 1,
    "F.max_pooling_2d(x[None, None], 2)": 2,
    "F.convolution_2d(x[None, None], x[None, None])": 3,
    "F.swapaxes(x, 0, 1)": 1,
    "F.sin(x) + F.cos(x)": 3,
    "F.cast(x, 'float64')": 1,
    "F.where(c, x, x)": 1,
}


@pytest.mark.parametrize("expression", ONE_EACH)
def test_functions_that_are_one_call(expression):
    source = f"def run(x, t, c, hook):\n    with hook:\n        {expression}\n    return hook.calls\n"
    result = both(HOOK + source, left=["chainer.FunctionHook"])
    x, t, c = np.random.RandomState(0).rand(2, 3).astype("f") + 1, np.array([0, 2], "i"), np.ones((2, 3), bool)
    theirs = result[0]["run"](chainer.Variable(x), t, c, result[0]["Seen"]())
    hints = {"run.x": "tensor rank 2", "run.t": "tensor rank 1 dtype int32", "run.c": "tensor rank 2 dtype bool"}
    again = migrate_source("import chainer\nimport chainer.functions as F\n" + HOOK + source, hints=hints)
    namespace = {"__name__": "migrated"}
    exec(compile(again.code, "<migrated>", "exec"), namespace)
    ours = namespace["run"](
        torch.from_numpy(x).requires_grad_(), torch.from_numpy(t), torch.from_numpy(c), namespace["Seen"]()
    )
    drop = [[call for call in calls if call[0] == "before"] for calls in (ours, theirs)]
    assert plain(drop[0]) == plain(drop[1]) and len(drop[0]) == ONE_EACH[expression]


class Noting:
    """Notes its name at every event."""

    def __init__(self, name, events):
        self.name, self.events = name, events

    def forward_preprocess(self, function, in_data):
        self.events.append(self.name + " before")

    def forward_postprocess(self, function, in_data):
        self.events.append(self.name + " after")

    def backward_preprocess(self, function, in_data, out_grad):
        self.events.append(self.name + " backward")

    def backward_postprocess(self, function, in_data, out_grad):
        self.events.append(self.name + " done")


class Order(Noting, function_hooks.FunctionHook):
    """Our side."""


class ChainerOrder(Noting, chainer.FunctionHook):
    """The other side."""


def test_order_of_several_hooks_and_names_that_are_taken():
    def run(make, hooks, x, relu):
        events = []
        with make("one", events), make("two", events):
            y = relu(x)
            with pytest.raises(KeyError, match="one already exists"), make("one", events):
                pass
            assert list(hooks()) == ["one", "two"]
            y.backward()
        relu(x)
        assert list(hooks()) == []
        return events

    ours = run(Order, function_hooks.get_function_hooks, torch.ones((), requires_grad=True), torch.neg)
    theirs = run(ChainerOrder, chainer.get_function_hooks, chainer.Variable(np.ones((), "f")), lambda x: -x)
    # Chainer's gradient of `-x` is a function itself: four events between the first two and the last two
    assert ours[:6] + ours[6:] == theirs[:6] + theirs[-2:] and len(ours) == 8 and len(theirs) == 12
    with pytest.raises(TypeError):
        function_hooks.get_function_hooks()["x"] = Order("x", [])
    assert not torch.overrides._get_current_function_mode_stack()


def test_only_the_pass_inside_the_block_counts():
    def run(make, x, relu):
        inside, late = [], []
        with make("hook", inside):
            y = relu(relu(x) * 2)
        y.backward()
        z = relu(relu(x) * 2)
        with make("hook", late):
            z.backward()
        return inside, late

    theirs = run(ChainerOrder, chainer.Variable(np.ones((), "f")), F.relu)
    ours = run(Order, torch.ones((), requires_grad=True), torch.relu)
    assert ours[0] == theirs[0] and len(ours[0]) == 6
    # Chainer's gradient of `* 2` is a function itself
    assert ours[1] == [e for e in theirs[1] if e.split()[1] in ("backward", "done")] and len(ours[1]) == 6


def test_steps_from_outside_of_a_block_have_the_graph_s_names():
    names = []

    class Names(function_hooks.FunctionHook):
        def backward_preprocess(self, function, in_data, out_grad):
            names.append((function.label, type(function).__name__, in_data, len(out_grad)))

    x = torch.ones(3, requires_grad=True)
    y = (torch.relu(x) * 2).sum()
    with Names():
        torch.autograd.grad(y, [x])
    assert names == [(name, name, (), 1) for name in ("Sum", "Mul", "Relu")]


def test_a_function_of_several_steps_is_one_call():
    events = []
    x = torch.randn(4, 3, requires_grad=True)
    w = torch.randn(2, 3, requires_grad=True)
    t = torch.tensor([0, 1, 1, 0])
    with Order("a", events):
        loss = torch.nn.functional.cross_entropy(torch.nn.functional.linear(x, w, torch.zeros(2)), t)
        torch.autograd.grad(loss, [x], retain_graph=True)  # the weight's step is left out
        assert events == ["a before", "a after"] * 2 + ["a backward", "a done"] * 2
        loss.backward()
    assert events == ["a before", "a after"] * 2 + ["a backward", "a done"] * 4


def test_what_is_no_function():
    events = []
    layer = torch.nn.BatchNorm1d(3)
    x = torch.randn(4, 3)
    with Order("a", events):
        x.shape, x.size(), len(x), x.detach(), x.numpy(), x > 0, torch.zeros_like(x), x.new_zeros(2), x.long()  # noqa: B018
        x[0] = 1
        x.add_(1)
        torch.nn.init.normal_(layer.weight)
        torch.zeros(3)
        assert not events
        layer(x)
    assert events == ["a before", "a after"]
    h = layer(x)
    with Order("b", events):
        h += 1  # Chainer makes a function of it
    assert events[2:] == ["b before", "b after"]


OWN = (
    HOOK
    + """
class Mul(chainer.FunctionNode):
    label = 'my product'

    def forward(self, inputs):
        self.retain_inputs((0,))
        x, y = inputs
        return x * y,

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gz, = grad_outputs
        return gz * x, gz * x

class Old(chainer.Function):
    def forward(self, inputs):
        return inputs[0] * 2,

    def backward(self, inputs, grad_outputs):
        return grad_outputs[0] * 2,

class Kept(chainer.FunctionHook):
    def __init__(self):
        self.kept = []

    def backward_preprocess(self, function, in_data, out_grad):
        self.kept.append((function.label, [x is None for x in in_data]))

def run(x, y, hook, local):
    function = Mul()
    function.add_hook(local, name='local')
    kept = Kept()
    with hook, kept:
        z, = function.apply((x, y))
        F.sum(Old()(z)).backward()
    function.delete_hook('local')
    function.apply((x, y))
    return hook.calls, local.calls, kept.kept, list(function.local_function_hooks)
"""
)


def test_functions_of_one_s_own_are_themselves():
    original, migrated = both(OWN, left=["chainer.FunctionHook", "chainer.FunctionNode.label"])
    x, y = np.random.RandomState(0).randn(2, 3).astype("f"), np.random.RandomState(1).randn(2, 3).astype("f")
    theirs = original["run"](chainer.Variable(x), chainer.Variable(y), original["Seen"](), original["Seen"]())
    ours = migrated["run"](
        torch.from_numpy(x).requires_grad_(),
        torch.from_numpy(y).requires_grad_(),
        migrated["Seen"](),
        migrated["Seen"](),
    )
    assert_same_calls(ours[0], theirs[0])
    # the gradient of Mul computes with functions, which its own hook does not see on either side
    assert_same_calls(ours[1], theirs[1])
    assert len(ours[1]) == 6 and ours[3] == theirs[3] == []
    assert ours[2] == [("sum", [False]), *theirs[2][1:]] and ours[2][2] == ("my product", [False, True])
    assert theirs[2][1:] == [("Old", [False]), ("my product", [False, True])]


def test_hooks_of_one_function():
    function, hook = FunctionNode(), Order("a", [])
    function.add_hook(hook)
    with pytest.raises(KeyError, match="a already exists"):
        function.add_hook(hook)
    with pytest.raises(TypeError):
        function.add_hook(lambda *args: None)
    function.add_hook(hook, name="other")
    assert list(function.local_function_hooks) == ["a", "other"]
    function.delete_hook("a")
    with pytest.raises(KeyError, match="a does not exist"):
        function.delete_hook("a")


def _report(hook, relu, x):
    with hook:
        y = relu(relu(x)) + x
        y.backward()
    relu(y)
    file = io.StringIO()
    hook.print_report(file=file)
    return hook.summary(), file.getvalue().splitlines()


def test_timer():
    x = np.ones((), "f")
    theirs, their_lines = _report(chainer.function_hooks.TimerHook(), F.relu, chainer.Variable(x))
    hook = FunctionTimerHook()
    ours, our_lines = _report(hook, torch.relu, torch.from_numpy(x).requires_grad_())
    counts = [[record["occurrence"] for record in summary.values()] for summary in (ours, theirs)]
    # the third addition in Chainer's report adds up the gradients of x, which comes twice
    assert counts == [[4, 2], [4, 3, 2]] and list(ours) == ["relu", "add"]
    assert list(theirs) == ["ReLU", "Add", "ReLUGrad2"]  # the last is what the gradient computes
    assert our_lines[0].split() == their_lines[0].split() and len(our_lines) == 3
    np.testing.assert_allclose(hook.total_time(), sum(seconds for _, seconds in hook.call_history))
    assert all(seconds > 0 for _, seconds in hook.call_history)


def _printed(hook, x, square, total):
    with hook:
        total(square(x)).backward()
    lines = [line for text in hook.file.getvalue().split("|") for line in text.split("\n")]
    return [line for line in lines if not line.startswith(("- backend", "<variable", "- device"))]


def test_print():
    x = np.array([[1, 3, 1], [3, 1, 3]], "f")
    original = chainer.function_hooks.PrintHook(end="|", file=io.StringIO())
    theirs = _printed(original, chainer.Variable(x), F.square, F.sum)
    hook = PrintHook(end="|", file=io.StringIO())
    ours = _printed(hook, torch.from_numpy(x).requires_grad_(), torch.square, torch.sum)
    assert [line for line in ours if line.startswith("function")] == [
        "function\t" + name for name in ("square", "sum", "sum", "square")
    ]
    forward = ours.index("output gradient") - 6  # where the backward pass begins
    assert forward == 12 and [line.replace("function\tS", "function\ts") for line in theirs[:forward]] == ours[:forward]
    blocks = [
        [side[i + 1 : i + 5] for i, line in enumerate(side) if line == "output gradient"] for side in (ours, theirs)
    ]
    assert blocks[0] == blocks[1] and len(blocks[0]) == 2 and blocks[0][0][3].startswith("- grad: mean=1.0")
    assert "(removed)" in theirs and "(removed)" not in ours
    with pytest.warns(DeprecationWarning):
        PrintHook(sep=" ")
    assert PrintHook().file is sys.stdout


def test_print_where_there_is_no_gradient():
    file = io.StringIO()
    PrintHook(file=file).backward_preprocess(function_hooks.called_function("f"), (None,), (None,))
    expected = io.StringIO()
    hook = chainer.function_hooks.PrintHook(file=expected)
    hook.backward_preprocess(chainer.functions.activation.relu.ReLU(), (None,), (None,))
    found, wanted = (re.sub("<variable.*>", "<variable>", f.getvalue()).splitlines() for f in (file, expected))
    assert found[1:] == wanted[1:] and found[1] == "input data" and found[2] == "(removed)"


def test_without_a_gpu_there_is_an_error_as_in_chainer(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for ours, theirs in (
        (function_reports.CUDAProfileHook, chainer.function_hooks.CUDAProfileHook),
        (function_reports.CudaMemoryProfileHook, chainer.function_hooks.CupyMemoryProfileHook),
    ):
        for hook in (ours, theirs):
            with pytest.raises(RuntimeError, match="CUDA environment is not correctly set up"):
                hook()


def test_ranges_and_bytes_of_a_gpu(monkeypatch):
    """What is asked of torch.cuda; the numbers are made up, a GPU is not needed."""
    events, memory = [], [0, 0]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(
        torch.cuda, "nvtx", types.SimpleNamespace(range_push=events.append, range_pop=lambda: events.append("end"))
    )

    def statistics():
        memory[0] += 1024
        memory[1] += 2**21
        return {"requested_bytes.all.allocated": memory[0], "reserved_bytes.all.allocated": memory[1]}

    monkeypatch.setattr(torch.cuda, "memory_stats", statistics)
    hook = function_reports.CudaMemoryProfileHook()
    with function_reports.CUDAProfileHook(), hook:
        torch.relu(torch.ones((), requires_grad=True)).backward()
    assert events == ["relu.forward", "end", "relu.backward", "end"]
    assert hook.call_history == [("relu", 1024, 2**21, 0)] * 2
    assert (hook.total_used_bytes(), hook.total_acquired_bytes()) == (2048, 2**22)
    assert hook.summary() == {"relu": {"used_bytes": 2048, "acquired_bytes": 2**22, "occurrence": 2}}
    texts = {}
    theirs = chainer.function_hooks.CupyMemoryProfileHook.__new__(chainer.function_hooks.CupyMemoryProfileHook)
    theirs.call_history = hook.call_history + [("add", 5, 0, 0)]
    hook.call_history = theirs.call_history
    for unit in ("auto", "auto_foreach", "B", "KB", "GB"):
        for side in (hook, theirs):
            file = io.StringIO()
            side.print_report(unit, file)
            texts.setdefault(unit, []).append(file.getvalue())
        assert texts[unit][0] == texts[unit][1]
    assert texts["auto"][0].split()[5:7] == ["2.00KB", "4.00MB"]


def test_the_words():
    result = migrate_source("""\
import sys
import chainer
from chainer import function_hooks
from chainer.function_hooks import TimerHook
hook = TimerHook()
with hook, function_hooks.PrintHook(file=sys.stderr), function_hooks.CUDAProfileHook():
    pass
with function_hooks.CupyMemoryProfileHook() as memory:
    pass
hook.print_report()
print(hook.total_time(), memory.total_used_bytes(), len(chainer.get_function_hooks()))
""")
    assert "hook = compat.FunctionTimerHook()" in result.code and "hook.print_report()" in result.code
    assert "compat.PrintHook(file=sys.stderr), compat.CUDAProfileHook():" in result.code
    assert "compat.CudaMemoryProfileHook() as memory" in result.code
    assert {s.state for s in result.sites} == {"review", "exact"}
    assert {s.symbol for s in result.sites if s.state == "exact"} == {"chainer.get_function_hooks"}
