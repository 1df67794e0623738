"""What a base class asks of those below it, and other names that get their values out of sight."""

import io
import textwrap
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import torch

from chainer2torch import engine
from chainer2torch.plan.options import Options
from chainer2torch.python2 import engine as python2
from tests.engine.test_native_modes import loaded, native
from tests.support.whole_programs import HEAD, differences

BASE = """
class Base(object):
    def __init__(self, n):
        self.net = self.build(n)

    def build(self, n):
        {body}

    def update(self, x, times=2):
        loss = 0
        for _ in range(times):
            loss += F.sum(self.net(x))
        loss /= times
        return loss.data


class Small(Base):
    def build(self, n):
        return L.Linear(n, 2)


class Big(Base):
    def build(self, n):
        return chainer.Sequential(L.Linear(n, 2), F.relu)
"""


BODIES = ["raise NotImplementedError()", "'''Made below.'''", "print('no')\n        raise Exception()"]
MAIN = """

def main():
    one = Small(3)
    begin(one.net)
    return float(one.update(np.ones((2, 3), 'f')))
"""


@pytest.mark.parametrize("body", BODIES)
def test_what_the_classes_below_give_is_known_in_the_base(body: str, tmp_path: Path) -> None:
    assert differences(HEAD + BASE.format(body=body) + MAIN, "native", tmp_path) == []


def test_division_of_a_loss_is_none_of_whole_numbers() -> None:
    source = HEAD + BASE.format(body="raise NotImplementedError") + "\nprint Small(3).update(np.ones((2, 3), 'f'))\n"
    options = Options(style="native")
    files = {"a.py": source}
    result = python2.migrate(files, lambda some: engine.migrate_sources(some, options=options), engine.facts)["a.py"]
    assert "//" not in result.code and "print(Small(3).update(np.ones((2, 3), 'f')).cpu().numpy())" in result.code


def test_without_a_class_below_nothing_is_known_of_it() -> None:
    result = native(
        """
        class Base(object):
            def build(self, n):
                raise NotImplementedError

            def loss(self, x):
                total = 0
                for one in self.build(3):
                    total += one(x)
                return total / 2
        """
    )
    assert "return total / 2" in result.code


def test_the_mode_is_that_of_the_object_whose_method_is_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = native(
        """
        class Calculator(object):
            def __init__(self, function):
                self.function = function

            def run(self, x, train=False):
                with chainer.using_config('train', train):
                    return self._go(x, self._core)

            def _go(self, x, step):
                return step(x)

            def _core(self, x):
                return self.function(x)
        """
    )
    module = loaded(result, tmp_path, monkeypatch)
    assert "_core.function" not in result.code and module.Calculator(lambda x: x + 1).run(2) == 3


def test_the_mode_of_a_method_that_has_another_name_is_that_of_its_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = native(
        """
        class Net(chainer.Chain):
            def predict(self, x):
                return F.dropout(x)


        def evaluate(x, predict_function):
            with chainer.using_config('train', False):
                return predict_function(x)


        def main(x):
            net = Net()
            return evaluate(x, predict_function=net.predict), net.training
        """
    )
    module = loaded(result, tmp_path, monkeypatch)
    y, training = module.main(torch.ones(50))
    assert y.tolist() == [1.0] * 50 and training


def test_a_size_that_no_caller_gives_may_still_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = native(
        """
        class Head(chainer.ChainList):
            def __init__(self, n, hidden=None):
                super().__init__(L.Linear(n, hidden or 1) if hidden is None else L.Linear(n, hidden))


        with_default = Head(4)
        """
    )
    module = loaded(result, tmp_path, monkeypatch)
    with redirect_stdout(io.StringIO()):
        assert module.Head(4, 7)[0].weight.shape == (7, 4), textwrap.dedent(result.code)


@pytest.mark.parametrize("walk", ["self", "self.children()"])
def test_a_layer_of_a_list_whose_links_are_called_with_more_than_an_input(walk: str) -> None:
    result = native(
        """
        class Repeat(chainer.ChainList):
            def __init__(self, first):
                super().__init__()
                self.add_link(first)

            def forward(self, x, **options):
                for link in self.children():
                    x = link(x, **options)
                return x


        class Net(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.inner = Repeat(L.Linear(3, 4))

            def forward(self, x):
                return self.inner(x, n_batch_axes=2)
        """.replace("self.children()", walk)
    )
    assert "Repeat(compat.LinearLink(3, 4))" in result.code


def test_a_parameter_that_is_added_without_a_shape_is_known() -> None:
    result = native(
        """
        class Net(chainer.Link):
            def __init__(self, first=None):
                super().__init__()
                self.add_param('sigma', initializer=first)

            def forward(self, x):
                self.sigma.initialize(x.shape)
                return F.sum(x * self.sigma)
        """
    )
    assert "compat.initialize_parameter(self.sigma, x.shape)" in result.code


def test_what_is_made_where_nothing_was_given_is_what_a_caller_gives() -> None:
    result = native(
        """
        def masked(x, log_p=None):
            if log_p is None:
                log_p = F.log(x)
            return (log_p.data > 0).astype(log_p.dtype)


        y = masked(chainer.Variable(array))
        """
    )
    assert "return (log_p.detach() > 0).to(log_p.dtype" in result.code


def test_keywords_of_a_chain_that_comes_before_another_one_go_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = native(
        """
        class Warm(chainer.Chain):
            def __init__(self, warm=0.5, **kwargs):
                super(Warm, self).__init__(**kwargs)
                self.warm = warm


        class Net(chainer.Chain):
            def __init__(self, n):
                super(Net, self).__init__(l1=L.EmbedID(n, 2))


        class Both(Warm, Net):
            def __init__(self, n):
                super(Both, self).__init__(warm=0.25, n=n)
        """
    )
    both = loaded(result, tmp_path, monkeypatch).Both(5)
    assert both.l1.weight.shape == (5, 2) and both.warm == 0.25
    assert [site.state for site in result.sites if site.symbol == "chainer.Chain.__init__"][:1] == ["review"]
