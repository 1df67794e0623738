"""Functions that give an array or a Variable as they are asked: each call is known by its flags."""

import pytest

from tests.support.native_programs import both, check

PROGRAM = """
LABELS = [0, 1, 1, 0]

class Model:
    def __init__(self, net):
        self.net = net

    def predict(self, x, softmax=False, *, argmax=False, mode=None):
        y = self.net(x)
        with chainer.no_backprop_mode():
            if softmax and not argmax:
                return F.softmax(y).array
            elif mode == 'list':
                return [y, y]
        if argmax:
            return y.array.argmax(axis=1)
        if mode is None:
            return y
        return y.array

def train(net):
    model = Model(net)
    x = chainer.Variable(np.random.RandomState(0).randn(4, 3).astype('f'))
    p, a = model.predict(x, True), model.predict(x, argmax=True)
    y, z, both = model.predict(x), model.predict(x, mode='raw'), model.predict(x, mode='list')
    print(p, a, z)
    return [float((a == LABELS).mean()), float(p.max(axis=1).sum()), float(F.sum(y).array), len(both), float(z.mean())]
"""


def test_each_call_is_known_by_its_flags(capsys: pytest.CaptureFixture[str]) -> None:
    code = check(PROGRAM)
    assert "print(p.cpu().numpy(), a.cpu().numpy(), z.cpu().numpy())" in code
    printed = capsys.readouterr().out
    assert "tensor" not in printed


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("model.predict(x, flag)", "print(compat.shown(a))"),  # nobody knows
        ("model.predict(x, *[True])", "print(compat.shown(a))"),
        ("model.predict(x, mode=None if flag else 'raw')", "print(compat.shown(a))"),  # it may be None
        ("model.predict(x, argmax=True, softmax=True)", "print(a.cpu().numpy())"),
    ],
)
def test_what_is_not_told(call: str, text: str) -> None:
    program = PROGRAM.replace(
        "    print(p, a, z)", f"    for flag in (True, False):\n        a = {call}\n        print(a)"
    ).replace("(a == LABELS).mean()", "0")
    assert text in check(program)


STATES = """
class Model(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.r = L.LSTM(3, 2)
        self.loss = None


def run():
    model = Model()
    x = chainer.Variable(np.ones((2, 3), 'f'))
    before = str(model.r.h), str(model.loss)
    y = model.r(x)
    h = model.r.h
    model.reset = model.r.reset_state()
    kept = model.r.h
    return before, str(kept), str(F.sum(y)).strip('variable()')[:4], '%s' % kept, h.shape
"""


def test_what_may_be_none_is_written_as_it_is() -> None:
    theirs, ours, code = both(STATES.replace("class Model", "np.random.seed(0)\n\n\nclass Model"))
    expected, found = theirs["run"](), ours["run"]()
    assert found[:2] == expected[:2] == (("None", "None"), "None") and found[3:] == expected[3:], code
    assert "torch.sum(y).detach().cpu().numpy()" in code
