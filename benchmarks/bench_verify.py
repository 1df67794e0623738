"""How long `verify rules` takes over all examples, and how much memory a worker of `verify models` takes.

    python benchmarks/bench_verify.py [rules] [memory]

The limits: 3 minutes on two cores, and 2 GB for a model of 25 million parameters.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

from chainer2torch.engine import migrate_source
from chainer2torch.verify.models.verify_models import ModelEntry, verify_models
from chainer2torch.verify.rules.verify_rules import verify_rules

MODEL = """
import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(3, 16, 3, pad=1)
            self.bn = L.BatchNormalization(16)
            self.fc1 = L.Linear(4096, 4096)
            self.fc2 = L.Linear(4096, 2000)
            self.fc3 = L.Linear(2000, 10)

    def forward(self, x):
        h = F.max_pooling_2d(F.relu(self.bn(self.conv(x))), 2, 2)
        return self.fc3(F.relu(self.fc2(F.dropout(F.relu(self.fc1(h))))))
"""


def rules() -> None:
    """All examples with their call matrix."""
    start, used = time.perf_counter(), _processor_time()
    report = verify_rules(timeout=1800)
    print(
        f"verify rules: {report.compared} cases equal, exit {report.exit_code}, {time.perf_counter() - start:.0f} s "
        f"({_processor_time() - used:.0f} s of processor time); load average {os.getloadavg()[0]:.1f}"
    )


def _processor_time() -> float:
    """Of this process and its workers: on a busy machine, what it would take alone."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def memory() -> None:
    """The peak of the larger worker: nothing else is started by this process."""
    from chainer2torch.vendor import compat_file

    with tempfile.TemporaryDirectory() as folder:
        src, out = Path(folder, "src"), Path(folder, "out")
        result = migrate_source(MODEL)
        for tree, text in ((src, MODEL), (out, result.code)):
            tree.mkdir()
            (tree / "net.py").write_text(text)
        (out / "chainer_compat.py").write_text(compat_file.build(result.helpers))
        start = time.perf_counter()
        report = verify_models(
            src, out, entries=[ModelEntry("net:Net", [], {}, {"x": "f32[8,3,32,32]"}, ["train", "eval"])]
        )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024**2
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(
        f"verify models: 25 million parameters, exit {report.exit_code}, {time.perf_counter() - start:.0f} s; "
        f"a worker {peak:.2f} GiB, the process that compares {own:.2f} GiB"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["memory", "rules"], choices=["memory", "rules"])
    for name in parser.parse_args().what:
        {"memory": memory, "rules": rules}[name]()
