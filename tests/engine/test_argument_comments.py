"""Comments beside the arguments of ``super().__init__(l1=...)`` stay beside the layers that they are about."""

from __future__ import annotations

import textwrap

import pytest

from chainer2torch.engine import migrate_source

NET = """
import chainer
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(
            # small ones
            c1=L.Convolution2D(1, 4, 3),  # 511
            c2=L.Convolution2D(4, 8, 3),#255
            # the head
            c3=L.Convolution2D(8, 2, 1){end}
#            c4=L.Convolution2D(2, 1, 1)
        )
"""


@pytest.mark.parametrize("end", ["", ",", "  # last", ",  # last"])
def test_each_comment_stays_with_its_layer(end: str) -> None:
    code = migrate_source(NET.replace("{end}", end)).code
    lines = [line.strip() for line in code.splitlines()]
    first = lines.index("# small ones")
    assert lines[first + 1] == "self.c1 = nn.Conv2d(1, 4, 3)  # 511"
    assert lines[first + 2] == "self.c2 = nn.Conv2d(4, 8, 3)#255"
    assert lines[first + 3] == "# the head"
    assert lines[first + 4] == "self.c3 = nn.Conv2d(8, 2, 1)" + ("  # last" if "last" in end else "")
    assert lines[first + 5].endswith("c4=L.Convolution2D(2, 1, 1)")


def test_no_comment_is_lost_where_the_arguments_stay_together() -> None:
    code = migrate_source(
        textwrap.dedent(
            """
            import chainer
            import chainer.links as L

            class Net(chainer.Chain):
                def __init__(self, **more):
                    super().__init__(
                        l1=L.Convolution2D(1, 4, 3),  # first
                        **more  # others
                    )
            """
        )
    ).code
    assert code.count("# first") == 1
    assert code.count("# others") == 1
