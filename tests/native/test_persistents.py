"""What a link saves beside its parameters may be an array in one object and a number in another."""

import pytest

from tests.generated import judge, printed_judge, values

CLASS = """
class Counting(chainer.Link):
    def __init__(self, v=None, w=0):
        super(Counting, self).__init__()
        {first}

    def step(self, v):
        self.t = v

    def show(self):
        print(self.t, [self.t])
        return {{'t': self.t}}


"""
FIRST = [
    "self.add_persistent('t', v)",
    "self.t = v\n        self.register_persistent('t')",
    "self.t, self.u = v, w\n        for name in ('t', 'u'):\n            self.register_persistent(name)",
    "self.u = w\n        self.t = v if w is not None else w\n        for name in ('t', 'u'):\n"
    "            self.register_persistent(name)",
]
USES = [
    "c = Counting(xs)\n    c.step(xs + 1)\n    print(c.show(), c.t)",
    "print(Counting(1).show())\n    print(Counting(xs).show())",
    "print(Counting().show())\n    print(Counting(np.arange(3)).show())",
    "print(Counting('text').show())\n    print(Counting(np.float32(2)).show(), Counting(xs).show())",
]


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("use", USES)
def test_they_are_written_as_chainer_writes_them(use, first):
    head = values.HEAD.replace("def train():", CLASS.format(first=first) + "def train():")
    verdict, detail, text = printed_judge.judged(f"{head}    {use}\n")
    assert verdict == judge.SAME, f"{detail}\n{text}"


def test_options_that_nobody_gave_are_none():
    use = "for c in (Counting(), Counting(t=xs), Counting(t=np.arange(3))):\n        print(c.t, '%s' % c.t)"
    made = CLASS.replace("v=None, w=0", "**options").format(first="self.add_persistent('t', options.pop('t', None))")
    verdict, detail, text = printed_judge.judged(
        values.HEAD.replace("def train():", made + "def train():") + f"    {use}\n"
    )
    assert verdict == judge.SAME, f"{detail}\n{text}"
