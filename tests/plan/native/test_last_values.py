"""What a name stands for is what it was given last: a view that runs backwards, and is computed with before its use."""

import pytest

from tests.support import native_programs

SOURCE = """
def batches(images, turned):
    rows = []
    for image in images:
        if turned:
            image = image[:, ::-1]
        LINE
        rows.append(image)
    return np.asarray(rows)


def train(model):
    optimizer = optimizers.SGD(0.1)
    optimizer.setup(model)
    x = batches(list(np.arange(24, dtype='f').reshape(4, 2, 3) / 20), True)[:, 0]
    model.cleargrads()
    loss = F.sum(model(x) ** 2)
    loss.backward()
    optimizer.update()
    return [float(loss.array)]
"""

LOOP = """
def both_ways(image):
    rows = []
    last = image
    for i in range(3):
        rows.append(last)
        last = last[:, ::-1]
    return [F.sum(row) for row in rows]
"""


@pytest.mark.parametrize(
    ("line", "copied"),
    [
        ("image = image / 2 - 1", False),
        ("image = image.transpose(0, 1)\n        image = (image / 255. - 0.5) * 2.", False),
        ("image, size = image * 2, len(image)", False),
        ("image = image.transpose(0, 1)", True),
        ("if len(rows) > 1:\n            image = image * 2", True),
        ("size = len(image)", True),
    ],
)
def test_a_copy_is_made_of_what_still_runs_backwards(line, copied):
    code = native_programs.check(SOURCE.replace("LINE", line))
    assert ("rows.append(image.copy())" in code) == copied


def test_the_end_of_a_loop_comes_before_its_begin():
    code = native_programs.migrated(LOOP + "\n\nboth_ways(np.ones((2, 3), 'f'))\n").code
    assert "rows.append(last.copy())" in code
