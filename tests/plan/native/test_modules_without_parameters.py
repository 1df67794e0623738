"""``self.xp`` of a module that has no parameters: its inputs say on which device it works."""

from __future__ import annotations

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options
from tests.support.native_programs import check

TEXT = """
import chainer
import chainer.functions as F


class Noise(chainer.Chain):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def __call__(self, x):
        return F.relu(x) + self.xp.zeros(x.shape, 'f')

    def table(self):
        return self.xp.ones(self.size, 'f')
"""


def test_the_device_is_that_of_the_first_tensor_that_a_method_is_given() -> None:
    code = migrate_source(TEXT, options=Options(style="native")).code
    assert "torch.zeros(x.shape, dtype=torch.float32, device=x.device)" in code
    assert "torch.ones(self.size, dtype=torch.float32, device=compat.device_of(self))" in code


PARTS = """
class Fixed(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(3, 3, initialW=np.arange(9, dtype='f').reshape(3, 3) / 9)

    def __call__(self, x):
        return self.fc(x)

class Stub(chainer.Link):
    def __call__(self, x):
        return chainer.Variable(self.xp.ones((len(x), 3), dtype=np.float32))

class Predictor(chainer.Chain):
    def __init__(self, extractor):
        super().__init__()
        with self.init_scope():
            self.extractor = extractor

    def predict(self, rows):
        x = self.xp.asarray(rows)
        return self.extractor(x).array

class Head(Predictor):
    def __init__(self, extractor, fc):
        super().__init__(extractor)
        with self.init_scope():
            self.fc = fc

    def scores(self, rows):
        x = self.xp.asarray(rows)
        return self.fc(self.extractor(x)).array

class Given(Predictor):
    def __init__(self, size):
        super().__init__(extractor=Stub())
        self.size = size

class Around(chainer.Chain):
    def __init__(self, inner):
        super().__init__()
        with self.init_scope():
            self.inner = inner

    def total(self, rows):
        x = self.xp.asarray(rows)
        return float(self.inner.predict(rows).sum()) + float(x.sum())

def train(net):
    x = np.random.RandomState(0).rand(2, 3).astype('f')
    stub = Predictor(Stub())
    sums = [float(a.sum()) for a in (stub.predict(x), Predictor(Fixed()).predict(x), Head(Stub(), Fixed()).scores(x))]
    around = [Around(part).total(x) for part in (Given(3), stub)]
    return sums + around + [Given(3).predict(x).sum(), Around(Predictor(Fixed())).total(x)]
"""


def test_a_module_of_parts_that_have_none_has_none() -> None:
    code = check(PARTS)
    assert code.count("compat.device_of(self)") == 2
    assert code.count("next(self.parameters()).device") == 1


CONDITIONAL = """
class Scale(chainer.Link):
    def __init__(self, size, use_gamma=True):
        super().__init__()
        with self.init_scope():
            if use_gamma:
                self.gamma = chainer.Parameter(2, size)

    def __call__(self, x):
        gamma = self.gamma if hasattr(self, 'gamma') else self.xp.ones(x.shape[1], dtype=x.dtype)
        return x * F.broadcast_to(gamma, x.shape)

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.with_gamma = Scale(3)
            self.without = Scale(3, use_gamma=False)

    def __call__(self, x):
        return self.without(self.with_gamma(x))

def train(model):
    return model(chainer.Variable(np.arange(6, dtype='f').reshape(2, 3))).array
"""


def test_parameters_behind_conditions_may_all_be_lacking() -> None:
    """`Scale(3, use_gamma=False)` has none to ask for a device."""
    check(CONDITIONAL)


@pytest.mark.parametrize(
    ("body", "bare"),
    [
        ("pass", True),
        ("self.size, self.fc = 3, chainer.links.Linear(2, 3)", False),
        ("self.size = 3\n            self.f = F.relu\n            '''nothing else'''", True),
        ("self.size = 3\n            self.w = chainer.Parameter(1., (3,))", False),
        ("self.size = 3\n            self.held = held(size)", False),
        ("self.held = size", False),
    ],
)
def test_a_scope_that_registers_nothing(body: str, bare: bool) -> None:
    """``next(self.parameters())`` of such a module raises; where it may have some, that is what stands there."""
    text = TEXT.replace("        self.size = size\n", f"        with self.init_scope():\n            {body}\n")
    code = migrate_source(text + "\n\ndef held(size):\n    return size()\n", options=Options(style="native")).code
    found = "device=compat.device_of(self)" if bare else "device=next(self.parameters()).device"
    assert f"torch.ones(self.size, dtype=torch.float32, {found})" in code, code
