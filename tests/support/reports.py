"""Reports made by hand, to test the formats without a migration."""

from chainer2torch.plan.site import Site
from chainer2torch.project.files import FileError
from chainer2torch.report.extras import Extras
from chainer2torch.report.model import CLEAN, ERROR, MIGRATED, NO_CHAINER, PARTIAL, FileRow, Report

HOSTILE = '<script>alert("x")</script>'
BEFORE = (
    f"import chainer\nimport chainer.links as L\n# {HOSTILE}</script>\nl = L.Linear(3, 4)\nl.to_gpu()\n"
    'é = "é"; chainer.hard(1)\n'
)
AFTER = BEFORE.replace("import chainer.links as L", "import torch.nn as nn").replace("L.Linear", "nn.Linear")
REASON = f"a reason with {HOSTILE}, 100 % and\nlines: two"
LINEAR = Site(4, 5, "chainer.links.Linear", "exact", "C2T200", "")
TO_GPU = Site(5, 1, "chainer.Link.to_gpu", "review", "C2T200", "look")
HARD = Site(6, 14, "chainer.hard", "manual", "C2T090", REASON)  # bytes: two of them are one character each


def report(*more: Site) -> Report:
    """Five files: one of each kind, the interesting one first."""
    return Report(
        [
            FileRow("a & b/net.py", PARTIAL, (LINEAR, TO_GPU, HARD, *more), 1, BEFORE, AFTER),
            FileRow("bad.py", ERROR),
            FileRow("clean.py", NO_CHAINER),
            FileRow("done.py", CLEAN, (), 0, "x\n", "x\n"),
            FileRow(
                "easy.py",
                MIGRATED,
                (Site(2, 1, "chainer.functions.relu", "close", "C2T100", ""),),
                0,
                "import chainer\nF.relu(1)\n",
                "import torch\nF.relu(1)\n",
            ),
        ],
        [FileError("C2T004", "bad.py", "syntax error: <here>", 3)],
    )


def extras(**options) -> Extras:
    """A next step for one symbol."""
    return Extras(lambda symbol: "write it anew" if symbol == "chainer.hard" else "", **options)


def large(count: int, lines: int) -> Report:
    """Many files of many lines, each with sites and changes."""
    rows = []
    for number in range(count):
        before = [f"    h{line} = F.relu(self.layer{line}(h{line}))  # of some length here" for line in range(lines)]
        after = [text.replace("F.relu", "torch.relu") if line % 4 == 0 else text for line, text in enumerate(before)]
        sites = tuple(
            Site(
                line + 1,
                10,
                f"chainer.functions.f{line % 40}",
                ("exact", "close", "review", "manual")[line // 4 % 4],
                "C2T100",
                "a reason " * 8,
            )
            for line in range(0, lines, 4)
        )
        rows.append(
            FileRow(
                f"package/sub_{number % 20}/file_{number:04}.py", PARTIAL, sites, 1, "\n".join(before), "\n".join(after)
            )
        )
    return Report(rows)
