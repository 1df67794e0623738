"""Which modules a switched block names: those that its calls reach, however they are reached."""

import textwrap

import pytest

from chainer2torch.engine import migrate_source

HEAD = """\
import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(3, 2)

    def forward(self, x):
        return F.dropout(self.l1(x))

    def loss(self):
        def function(x):
            return F.sum(self.forward(x))
        return function

"""
CASES = {
    "a call": (
        """
        def f(net, x):
            with chainer.using_config('train', False):
                return net(x)
        f(Net(), 0)
        """,
        "net",
    ),
    "a closure": (
        """
        def make(net):
            def f(x):
                with chainer.using_config('train', False):
                    return net(x)
            return f
        make(Net())
        """,
        "net",
    ),
    "a loop over children that are named": (
        """
        class Two(chainer.Chain):
            def __init__(self):
                super().__init__(a=Net(), b=Net())
            def forward(self, x):
                for child in (self.a, self.b):
                    x = child(x)
                return x
        class User(object):
            def __init__(self, n):
                self.two = Two()
            def test(self, x):
                with chainer.using_config('train', False):
                    return self.two(x)
        """,
        "self.two",
    ),
    "a function that is called": (
        """
        def g(model, x):
            return model(x)
        def f(x):
            net = Net()
            with chainer.using_config('train', False):
                return g(net, x)
        """,
        "net",
    ),
    "a method of the same object": (
        """
        class Solver(object):
            def __init__(self):
                self.net, self.other = Net(), L.Linear(3, 3)
            def loss(self, x):
                return F.sum(self.net(x))
            def test(self, x):
                with chainer.using_config('train', False):
                    return self.loss(x)
        """,
        "self.net",
    ),
    "a method of another object": (
        """
        class Agent(object):
            def __init__(self):
                self.net = Net()
            def act(self, x):
                return self.net(x)
        def f(x):
            agent = Agent()
            with chainer.using_config('train', False):
                return agent.act(x)
        """,
        "agent.net",
    ),
    "a function of a model's": (
        """
        def f(x):
            net = Net()
            loss = net.loss()
            with chainer.using_config('train', False):
                return loss(x)
        """,
        "net",
    ),
    "a dictionary of models": (
        """
        class Solver(object):
            def __init__(self):
                self.models = {}
                self.models['a'] = Net()
                self.models['b'] = L.Linear(2, 2)
            def loss(self, x):
                return self.models['b'](self.models['a'](x))
            def test(self, x):
                with chainer.using_config('train', False):
                    return self.loss(x)
        """,
        "self.models['b'], self.models['a']",
    ),
    "a loop": (
        """
        def f(nets, x):
            with chainer.using_config('train', False):
                return [net(x) for net in nets]
        f([Net(), Net()], 0)
        """,
        "*nets",
    ),
    "the values of a dictionary": (
        """
        def f(x):
            nets = {'a': Net()}
            with chainer.using_config('train', False):
                for net in nets.values():
                    x = net(x)
        """,
        "*nets.values()",
    ),
    "another name for it in a method": (
        """
        class Test(object):
            def __init__(self, net):
                self._targets = {'main': net}
            def __call__(self, batches):
                with chainer.using_config('train', False):
                    return self.evaluate(batches)
            def evaluate(self, batches):
                target = self._targets['main']
                return [target.loss() for batch in batches]
        Test(Net())([])
        """,
        "self._targets['main']",
    ),
    "another name for something unknown": (
        """
        class Test(object):
            def __init__(self, net, convert):
                self.targets = {'main': net}
                self.convert = convert
            def __call__(self, batches):
                with chainer.using_config('train', False):
                    return self.evaluate(batches)
            def evaluate(self, batches):
                target = self.targets['main']
                return [target.predict(self.convert(batch)) for batch in batches]
        """,
        "self.targets['main'], self.convert",
    ),
    "another name inside the block": (
        """
        class Test(object):
            def __init__(self):
                self.net = Net()
            def __call__(self, x):
                with chainer.using_config('train', False):
                    net = self.net
                    return net(x)
        """,
        "self.net",
    ),
    "a part of a model": (
        """
        def f(x):
            net = Net()
            with chainer.using_config('train', False):
                return net.l1(net(x))
        """,
        "net",
    ),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_modules_are_named(name):
    text, expected = CASES[name]
    result = migrate_source(HEAD + textwrap.dedent(text))
    assert f"with compat.eval_mode({expected}):" in result.code, result.code
    assert {site.state for site in result.sites if site.symbol == "chainer.using_config"} == {"exact"}


def test_a_module_without_a_name_around_the_block_is_said():
    result = migrate_source(
        HEAD
        + textwrap.dedent("""
        def g(x):
            return Net()(x)
        def f(x):
            with chainer.using_config('train', False):
                return g(x)
        """)
    )
    assert "with compat.eval_mode(called=True):" in result.code
    assert {site.state for site in result.sites if site.symbol == "chainer.using_config"} == {"review"}


def test_an_unknown_object_that_may_be_the_only_module_is_said():
    """The converter is handed to the helper, which finds no module in it; what `make` gives is not looked into."""
    result = migrate_source(
        HEAD
        + textwrap.dedent("""
        class Test(object):
            def __init__(self, convert):
                self.convert = convert
            def __call__(self, make, batch):
                with chainer.using_config('train', False):
                    model = make(1, 2)
                    return model.predict(self.convert(batch))
        """)
    )
    assert {site.state for site in result.sites if site.symbol == "chainer.using_config"} == {"review"}, result.code


def test_the_global_switch_names_what_is_there():
    result = migrate_source(
        HEAD
        + textwrap.dedent("""
        net = Net()
        chainer.config.train = False
        later = Net()
        net(0), later(0)
        """)
    )
    assert "compat.set_train(False, net)\n" in result.code
    assert {site.state for site in result.sites if site.symbol == "chainer.config.train"} == {"review"}
    nothing = migrate_source(HEAD + "chainer.config.train = False\nnet = Net()\nnet(0)\n")
    assert "compat.set_train(False)\n" in nothing.code
    assert {site.state for site in nothing.sites if site.symbol == "chainer.config.train"} == {"review"}
    twice = migrate_source(HEAD + "chainer.config.train = train = False\n")
    assert {site.state for site in twice.sites if site.symbol == "chainer.config.train"} == {"manual"}


@pytest.mark.parametrize(
    "value, mode",
    [
        ("False", "eval_mode("),
        ("True", "train_mode("),
        ("flag", "using_train(flag, "),
    ],
)
def test_modules_without_a_name_are_switched_when_they_are_called(value, mode):
    result = migrate_source(
        HEAD
        + textwrap.dedent(f"""
        def run(nets, x, flag):
            with chainer.using_config('train', {value}):
                return [net(x) for net in nets.values()][0], make()(x)
        """)
    )
    assert f"with compat.{mode}make, *nets.values(), called=True):" in result.code
    assert {site.state for site in result.sites if site.symbol == "chainer.using_config"} == {"review"}


def test_an_attribute_called_train_hides_nothing_of_a_module():
    code = migrate_source(
        HEAD
        + textwrap.dedent("""
        from chainer.training import extensions
        class Old(chainer.Chain):
            def __init__(self):
                super().__init__()
                self.train = True
        class Test(extensions.Evaluator):
            def evaluate(self):
                model = self.get_target('main')
                model.train = False
                return super().evaluate()
        """)
    ).code
    assert "        self.train_ = True\n" in code and "        model.train_ = False\n" in code
    alone = migrate_source(HEAD + "net = chainer.Chain()\nnet.train = False\n").code
    assert "net.train_ = False\n" in alone


def test_a_function_that_a_constructor_makes_goes_along_when_the_module_is_copied():
    """It would still ask the module that it was made for, which test mode does not reach."""
    code = migrate_source(
        HEAD
        + """
class Block(chainer.Chain):
    def __init__(self):
        super().__init__()
        self.drop = lambda x: F.dropout(x, 0.3)

        def noise(x):
            return F.dropout(x, 0.2)
        self.noise = noise

    def forward(self, x):
        again = lambda h: F.dropout(h, 0.1)
        return again(self.noise(self.drop(x)))
"""
    ).code
    for ratio, asked in (("0.3", "compat.is_training()"), ("0.2", "compat.is_training()"), ("0.1", "self.training")):
        assert f"p={ratio}, training={asked})" in code


def test_a_property_that_hides_a_method_of_modules_is_renamed_with_its_setter():
    code = migrate_source(
        HEAD
        + """
class Switched(Net):
    @property
    def train(self):
        return self._train

    @train.setter
    def train(self, value):
        self._train = value

net = Switched()
net.train = False
"""
    ).code
    assert "def train(" not in code and code.count("def train_(self") == 2
    assert "@train_.setter" in code and "net.train_ = False" in code


@pytest.mark.parametrize(
    "line, modules, state",
    [
        ("make()(x)", "make, called=True", "review"),
        ("make(3).predict(x)", "make, called=True", "review"),
        ("net(x), make()(x)", "net, make, called=True", "review"),
        ("net(x), nets[i](x)", "net, nets", "exact"),
        ("net(x), make(x).mean()", "net, make, called=True", "exact"),
        ("net(x), load()[i](x)", "net, load, called=True", "review"),
    ],
)
def test_what_is_computed_and_then_called_may_be_a_module(line, modules, state):
    result = migrate_source(
        HEAD
        + textwrap.dedent(f"""
        def run(make, nets, x, i):
            net = Net()
            with chainer.using_config('train', False):
                return {line}
        """)
    )
    assert f"with compat.eval_mode({modules}):" in result.code
    assert {site.state for site in result.sites if site.symbol == "chainer.using_config"} == {state}
