"""``backward()`` calls that share a graph, as Chainer allows: the earlier one keeps it for the later one."""

import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import chainer2torch
from chainer2torch.engine import migrate_source
from chainer2torch.verify.worker import compat_module

HEAD = """
import chainer
import chainer.functions as F
import chainer.links as L


"""


def _backwards(text):
    code = migrate_source(HEAD + textwrap.dedent(text)).code
    return [line.strip() for line in code.splitlines() if "backward(" in line and "unchain" not in line]


@pytest.mark.parametrize(
    "text, expected",
    [
        # one graph, two losses
        (
            """
     def f(x, w):
         h = F.tanh(x * w)
         a = F.sum(h)
         b = F.sum(h * h)
         a.backward()
         b.backward()
     """,
            ["a.backward(retain_graph=True)", "b.backward()"],
        ),
        # two graphs
        (
            """
     def f(x, w):
         a = F.sum(F.tanh(x * w))
         a.backward()
         b = F.sum(F.sin(x * w))
         b.backward()
     """,
            ["a.backward()", "b.backward()"],
        ),
        # the same loss twice
        (
            """
     def f(x, w):
         a = F.sum(x * w)
         a.backward()
         a.backward()
     """,
            ["a.backward(retain_graph=True)", "a.backward()"],
        ),
        # gradients asked for behind it, in a loop; of another graph
        (
            """
     def f(x, w, c):
         losses = F.sum(F.tanh(x * w), axis=0)
         F.mean(losses).backward()
         norms = [F.sum(chainer.grad([losses[i]], [w])[0]) for i in range(2)]
         for i in range(2):
             norms.append(chainer.grad([losses[i]], [w])[0])
     """,
            ["torch.mean(losses).backward(retain_graph=True)"],
        ),
        (
            """
     def f(x, w):
         a = F.sum(F.tanh(x * w))
         a.backward()
         b = F.sum(F.tanh(x * w))
         g, = chainer.grad([b], [w])
     """,
            ["a.backward()"],
        ),
        # of two branches one runs
        (
            """
     def f(x, w, c):
         a = F.sum(F.tanh(x * w))
         if c:
             a.backward()
         else:
             (a * 2).backward()
     """,
            ["a.backward()", "(a * 2).backward()"],
        ),
        # what one round of a loop leaves to the next
        (
            """
     def f(xs, w):
         a = F.sum(w)
         for x in xs:
             a += F.sum(x * w)
             a.backward()
     """,
            ["a.backward(retain_graph=True)"],
        ),
        (
            """
     def f(xs, w):
         for x in xs:
             a = F.sum(x * w)
             a.backward()
     """,
            ["a.backward()"],
        ),
        # truncated backpropagation starts a new sum behind the backward
        (
            """
     def f(xs, w, model, optimizer):
         total = 0
         for i, x in enumerate(xs):
             total += F.sum(x * w)
             if i % 3 == 0:
                 total.backward()
                 total.unchain_backward()
                 total = 0
     """,
            ["total.backward()"],
        ),
        # losses in a list
        (
            """
     def f(x, w):
         h = F.tanh(x * w)
         losses = []
         losses.append(F.sum(h))
         losses[0].backward()
         sum(losses).backward()
     """,
            ["losses[0].backward(retain_graph=True)", "sum(losses).backward()"],
        ),
        # what a loop goes over has no graph, or its own
        (
            """
     def f(model, x):
         with chainer.no_backprop_mode():
             targets = [F.tanh(x), F.sin(x)]
         fixed = F.exp(x).array
         for i in range(3):
             loss = 0
             for n, (t, y) in enumerate(zip(targets, [F.cos(x), F.exp(x)])):
                 loss += F.sum((t - y) * fixed)
             loss.backward()
     """,
            ["loss.backward()"],
        ),
        # what is detached has no graph
        (
            """
     def f(x, w):
         h = chainer.Variable(F.tanh(x * w).array)
         a = F.sum(h)
         b = F.sum(h * h)
         a.backward()
         b.backward()
     """,
            ["a.backward()", "b.backward()"],
        ),
        # a Variable that is passed through keeps its graph
        (
            """
     def f(x, w):
         h = chainer.as_variable(F.tanh(x * w))
         g = chainer.as_variable(h)
         F.sum(h).backward()
         F.sum(g * g).backward()
     """,
            ["torch.sum(h).backward(retain_graph=True)", "torch.sum(g * g).backward()"],
        ),
        # cut in between: the second backward ends there
        (
            """
     def f(x, w, v):
         h = F.tanh(x * w)
         y = h * v
         a = F.sum(y)
         b = F.sum(y * y)
         a.backward()
         h.unchain_backward()
         b.backward()
     """,
            ["a.backward(retain_graph=True)", "compat.backward(b)"],
        ),
        # the optimizer's own backward, and attributes
        (
            """
     class Updater(chainer.training.StandardUpdater):
         def update_core(self):
             optimizer = self.get_optimizer('main')
             self.y = F.tanh(self.model(self.converter(self.get_iterator('main').next())))
             loss = F.sum(self.y)
             loss.backward()
             optimizer.update(self.loss, self.y)
     """,
            ["loss.backward(retain_graph=True)"],
        ),
        # chosen arguments stay
        (
            """
     def f(x, w):
         h = F.tanh(x * w)
         F.sum(h).backward(enable_double_backprop=True)
         F.sum(h * h).backward(retain_grad=True)
     """,
            [
                "torch.sum(h).backward(retain_graph=True, create_graph=True)",
                "compat.backward(torch.sum(h * h), retain_grad=True)",
            ],
        ),
    ],
)
def test_shared_graphs(text, expected):
    assert _backwards(text) == expected


def test_a_loss_of_unknown_kind_is_said():
    result = migrate_source(
        HEAD
        + textwrap.dedent("""
        def f(model, x):
            y = model(x)
            a, b = model.first(y), model.second(y)
            a.backward()
            b.backward()
    """)
    )
    assert "a.backward(retain_graph=True)" in result.code and "b.backward()\n" in result.code
    assert [(s.symbol, s.state) for s in result.sites if "backward" in s.symbol] == [("?.backward", "review")]


PROGRAM = (
    HEAD
    + """
def gradients(w0, v0, x0):
    w, v = chainer.Parameter(w0), chainer.Parameter(v0)
    x = chainer.Variable(x0)
    h = F.tanh(x * w)
    y = F.tanh(h * v)
    first = F.sum(y)
    second = F.sum(y * y * h)
    first.backward()
    third = F.sum(F.exp(h) * v)
    {between}
    second.backward()
    third.backward()
    return w.grad, v.grad
"""
)


@pytest.mark.parametrize("between", ["pass", "third = third * 2"])
@pytest.mark.parametrize("shape", [(3,), (2, 4)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_add_up_as_in_chainer(between, shape, dtype):
    source = PROGRAM.format(between=between)
    result = migrate_source(source)
    assert [s.state for s in result.sites if s.state != "exact"] == []
    random = np.random.RandomState(0)
    arrays = [random.randn(*shape).astype(dtype) for _ in range(3)]
    expected, actual = {}, {}
    exec(source, expected)
    if "chainer_compat" not in sys.modules:
        compat_module.install(str(Path(chainer2torch.__file__).parent / "compat"))
    exec(result.code, actual)
    for a, b in zip(expected["gradients"](*arrays), actual["gradients"](*arrays), strict=True):
        rtol, atol = (1e-5, 1e-6) if dtype == "float32" else (1e-12, 1e-14)
        np.testing.assert_allclose(b.detach().numpy(), a, rtol=rtol, atol=atol)


def _code(text):
    return migrate_source(HEAD + textwrap.dedent(text)).code


def test_names_that_hold_a_cut_tensor_let_go_of_it():
    code = _code("""
        def f(xs, model):
            h = chainer.Variable(xs[0])
            total = 0
            for i, x in enumerate(xs):
                h = F.tanh(h + x)
                y = F.sum(h)
                total += y
                if i % 3 == 2:
                    total.backward()
                    total.unchain_backward()
                    print(y.array)
                    total = 0
    """)
    assert "compat.unchain_backward(total)\n            h = compat.live(h)\n            print(" in code
    assert code.count("= compat.live(h)\n") == 1 and "total.backward()" in code


def test_what_one_call_computes_is_cut_together():
    """The state that comes with the output, in a dict and behind a star, too; what two expressions compute is apart."""
    code = _code("""
        def f(xs, step, state):
            total = 0
            for x in xs:
                y, state = step(x, state)
                z, (*rest, last) = step(x, y)
                a, b = F.tanh(x), F.tanh(y)
                total += F.sum(y)
                total.backward()
                total.unchain_backward()
                print(rest, a)
                step(b, last)
            return state
    """)
    assert "state = compat.live(state)\n" in code and "y = compat.live(y)" not in code and "a = compat.live" not in code


def test_a_name_that_may_have_no_value_yet_lets_go_where_it_is_used():
    code = _code("""
        def f(x, flag):
            if flag:
                y = F.tanh(x)
                z = F.sum(y)
            else:
                z = F.sum(x)
            z.unchain_backward()
            if flag:
                return F.sum(F.relu(y))
    """)
    assert "    compat.unchain_backward(z)\n    if flag:" in code and "y = compat.live" not in code
    code = _code("""
        def f(x, flag):
            if flag:
                y = F.tanh(x)
                z = F.sum(y)
            else:
                z = F.sum(x)
            z.unchain_backward()
            if flag:
                w = F.relu(y)
                print(w)
    """)
    assert "w = F.relu(compat.live(y))" in code and "y = compat.live" not in code


@pytest.mark.parametrize(
    "later",
    [
        "print(sum(float((p ** 2).sum()) for p in model.params()))",
        "print([F.sum(p) for p in model.params()])",
        "print({n: F.sum(p) for n, p in model.namedparams()})",
        "print(list(map(lambda p: F.sum(p), model.params())))",
    ],
)
def test_a_name_of_a_comprehension_is_not_that_of_the_function(later):
    """The target of a comprehension cannot be wrapped, and what it stands for has nothing to do with the cut."""
    code = _code(f"""
        def f(x, model, flag):
            if flag:
                p = F.tanh(x)
                z = F.sum(p)
            else:
                z = F.sum(x)
            z.unchain_backward()
            {later}
    """)
    assert "compat.unchain_backward(z)" in code and "compat.live(p)" not in code


def test_a_name_that_is_made_behind_the_cut_is_no_part_of_it():
    code = _code("""
        def f(items, x):
            for h in items:
                h.unchain_backward()
            for h in items:
                s = h.shape[2]
                y = F.pad(h, s, 'constant')
                print(s, y)
    """)
    assert "= compat.live(" not in code.replace("`h = compat.live(h)`", "")


STATE = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(2, 2)
        self.h = None

    def forward(self, x):
        h = self.l(x)
        if self.h is not None:
            h += self.h
        self.h = F.tanh(h)
        return self.h


def train(model, loss):
    loss.unchain_backward()
"""


def test_a_state_of_a_link_lets_go_where_the_project_cuts_graphs():
    code = _code(STATE)
    assert "if self.h is not None:" in code and "self.h = torch.tanh(h)" in code
    assert "h = h + compat.live(self.h)" in code
    assert "compat.live" not in _code(STATE.partition("def train")[0])


@pytest.mark.parametrize(
    "computed, read, live",
    [
        ("self.h = F.tanh(h)", "self.h", False),
        ("self.h, z = F.tanh(h), h", "self.h + z", False),
        ("self.h = F.tanh(h)", "[self.h for i in range(2)]", False),
        ("if h.size > 3:\n            self.h = F.tanh(h)", "self.h", True),
        ("for i in range(len(x)):\n            self.h = F.tanh(h)", "self.h", True),
        ("self.h = F.tanh(h)", "lambda: self.h", True),
        ("if c:\n            return self.h\n        self.h = F.tanh(h)", "self.h", True),
        ("self.h = F.tanh(h)\n        h.unchain_backward()", "self.h", True),
    ],
)
def test_a_state_that_the_same_call_has_computed_is_whole(computed, read, live):
    text = STATE.replace("self.h = F.tanh(h)", computed).replace("return self.h", f"return {read}")
    # of two, the first stands before the value is computed
    line = next(line for line in _code(text).splitlines() if line.strip().startswith("return"))
    assert ("compat.live(self.h)" in line) is live and "self.h" in line


def test_what_another_library_has_read_is_no_part_of_a_graph():
    code = _code(
        """
        from reading import *
        import corpus
        ids = pad(load("a.txt"), 3)
        words = corpus.words("a")[1:]
        state = step(Params.net, 3)

        def train(model, seen, reader):
            kept = reader(seen)
            for i in range(3):
                loss = model(ids, words, seen, kept)
                loss.backward()
                loss.unchain_backward()
                print(ids, words, kept)
        model = L.Classifier(None)
        for i in range(3):
            loss = model(ids, words, state)
            loss.backward()
            loss.unchain_backward()
            print(ids, words, state)
        """
    )
    assert (
        "compat.live(ids)" not in code and "compat.live(words)" not in code and "state = compat.live(state)" not in code
    )
    assert "kept = compat.live(kept)" in code  # a function of the caller's: it may have computed it


def test_an_attribute_with_members_that_no_variable_has_is_none():
    text = """
        class Net(chainer.Chain):
            def setup(self, name):
                self.rule = make(name)
            def rate(self, value):
                self.rule.alpha = value
                return self.rule
        def train(model, loss):
            loss.unchain_backward()
        """
    assert "compat.live(self" not in _code(text)
    assert "compat.live(self.rule)" in _code(text.replace("self.rule.alpha = value", "self.other = value"))


def test_an_attribute_that_lives_on_keeps_its_owner():
    """``self`` of the method, not what ``unchain_backward()`` is called on."""
    code = _code(
        """
        class Step(object):
            def __init__(self, net):
                self.net = net
            def run(self, x):
                self.h = F.tanh(x)
                loss = F.sum(self.h)
                loss.unchain_backward()
                return self.h
        Step(None).run(chainer.Variable(np.ones(3, 'f')))
        """
    )
    assert "self.h = compat.live(self.h)" in code and "loss.h" not in code


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("retain_grad=True", "compat.backward(y, retain_grad=True)"),
        ("enable_double_backprop=True", "y.backward(create_graph=True)"),
        ("loss_scale=2.0", "compat.backward(y, loss_scale=2.0)"),
    ],
)
def test_options_of_chainers_backward_of_a_value_that_nobody_knows(options, expected):
    code = migrate_source(f"import chainer\ndef f(y):\n    y.backward({options})\n").code
    assert expected in code and "C2T" in code
    assert migrate_source(code).code == code


@pytest.mark.parametrize(
    "body",
    [
        "        total.backward()\n        total.unchain_backward()\n        total = chainer.Variable(np.zeros(()))\n",
        "        total.backward()\n        print(total.grad)\n",
    ],
)
def test_a_graph_that_an_earlier_run_read_is_read_the_same_in_its_output(body):
    """A file that still names Chainer at a marked place; ``retain_graph`` is no argument that Chainer's lacks."""
    text = (
        HEAD
        + "import numpy as np\n\n\ndef check(self, types):\n    pass\n\n\n"
        + "F.SigmoidCrossEntropy.check_type_forward = check\n\n\ndef f(xs, step):\n"
        + "    total, state = chainer.Variable(np.zeros((), 'f')), None\n    for x in xs:\n"
        + "        state, loss = step(x, state)\n        total += loss\n"
        + body
    )
    first = migrate_source(text).code
    assert migrate_source(first).code == first and ("retain_graph" in first or "unchain" in first)


def test_batches_of_what_was_observed_have_no_graph():
    """Two losses of one batch share nothing; a second run, which reads the steps written out, said they do."""
    text = """
import chainer
from chainerrl.replay_buffer import batch_experiences


class Agent(object):
    def update(self, experiences):
        batch = batch_experiences(experiences, self.xp, self.phi)
        self.opt_a.update(lambda: self.critic_loss(batch))
        self.opt_b.update(lambda: self.actor_loss(batch))
        loss = self.critic_loss(batch)
        loss.backward()
        loss = self.actor_loss(batch)
        loss.backward()
"""
    code = migrate_source(text).code
    assert "retain_graph" not in code, code
    assert migrate_source(code).code == code
