"""Which loaders of a script leave a short last batch out: Chainer's iterators do so, too."""

import pytest

from chainer2torch.verify.script.short_batches import left_out

LOADER = "a = DataLoader(x, 3, shuffle=True{}, collate_fn=list)\nb = DataLoader(x, 3)\n"
SHORT, WHOLE = LOADER.format(""), LOADER.format(", drop_last=True")
ONE, SEVERAL = "updater = StandardUpdater(a, opt)\n", "updater = Updater(\n    {'main': a, 'val': b}, opt)\n"
BY_NAME = "updater = U(iterator={'main': a}, optimizer={'x': o, 'y': p})\nu = Updater(iterator={'main': a, 'val': b})\n"


@pytest.mark.parametrize(
    ("run", "original", "expected"),
    [
        ([SHORT], ONE, False),
        ([SHORT], SEVERAL, False),
        ([WHOLE], ONE, True),  # a loader without a reason to leave one out: its batches are compared as they are
        ([WHOLE, SHORT], SEVERAL, True),
        ([WHOLE], SEVERAL + ONE, "all"),
        ([WHOLE], BY_NAME, "all"),
        ([WHOLE], "u = Updater(iterator={'main': a}, optimizer={'x': o, 'y': p})\n", True),
    ],
)
def test_what_the_texts_say(run, original, expected):
    assert left_out([text.encode() for text in run], [original.encode()]) == expected
