"""Loops over lines of text that cut their graph: the lines hold no part of it, so only the state is detached."""

import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
import chainer.links as L
import words as files

def load():
    return files.load()

class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(h=L.LSTM(2, 2))

    def forward(self, words, xs):
        loss = 0
        for word, x in zip(words, xs):
            loss += len(word) * F.sum(self.h(x))
        return loss

def run(xs):
    lines, others = load()
    losses = []
    net = Net()
    for p in net.params():
        p.array[...] = 0.25
    optimizer = chainer.optimizers.SGD(0.5)
    optimizer.setup(net)
    for epoch in range(2):
        LOOP
            net.cleargrads()
            loss = net(words, xs)
            loss.backward()
            loss.unchain_backward()
            optimizer.update()
            losses.append(float(loss.array))
    return losses
"""
LOOPS = {
    "index": "for i in range(len(lines)):\n            words = lines[i].split()[::-1]",
    "zip": "for words, other in zip(lines, others):\n            words = words.split()\n            other.strip()",
    "enumerate": "for i, line in enumerate(lines):\n            words = line.strip().split(' ')",
}


@pytest.mark.parametrize("loop", sorted(LOOPS))
def test_texts_hold_no_graph(loop, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "words", __import__("types").SimpleNamespace(load=_load))
    theirs, ours, code = run(PROGRAM.replace("LOOP", LOOPS[loop]))
    assert ours == pytest.approx(theirs, rel=1e-4), code
    assert "compat.detach_states(loss, net)" in code and "unchain_backward" not in code and "TODO" not in code, code


def _load():
    return ["a bc", "d ef g", "h"], ["a", "b", "c"]


@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(len(lines)):\n            words = lines[i].split()\n            lines = others(words)",
        "for i in range(len(lines)):\n            words = lines[i].cut()[::-1]",
        "for words, other in zip(lines, others):\n            words = words.cut()",
    ],
)
def test_what_nobody_asks_like_a_text_may_hold_one(loop):
    code = migrated(PROGRAM.replace("LOOP", loop)).code
    assert "compat.unchain_backward(loss)" in code, code
