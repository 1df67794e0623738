"""Faults that are planted mechanically in migrated models: kinds as data, applied wherever they fit.

    python -m tests.support.planted          every fault, with what was missed and what was not located

A fault is located when the report names its line, the layer that its line makes or calls, or the next call behind it.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from chainer2torch.engine import Options, migrate_source
from chainer2torch.vendor import compat_file
from chainer2torch.verify.judge.outcome import FAILED, PASSED
from tests.support import model_batch

# kind: (what it finds, what stands there then)
KINDS: Mapping[str, tuple[str, str]] = {
    "eps left to the default": (r", eps=[\d.e-]+(?=[,)])", ""),
    "another eps": (r"eps=[\d.e-]+", "eps=0.001"),
    "momentum left to the default": (r", momentum=[\d.]+", ""),
    "momentum turned round": (r"momentum=0\.2\b", "momentum=0.8"),
    "stride": (r"stride=2", "stride=1"),
    "padding left out": (r", padding=\d", ""),
    "padding mode": (r"(nn\.Conv2d\(.*), padding=1\)", r"\1, padding=1, padding_mode='reflect')"),
    "dilation": (r"padding=2, dilation=2", "padding=1"),
    "bias left out": (
        r"(= nn\.(?:Linear|Conv2d)\((?!.*bias).*)\)((?:\n.*)*?)\n +nn\.init\.zeros_.*$",
        r"\1, bias=False)\2",
    ),
    "bias too many": (r",\s*bias=False", ""),
    "relu for tanh": (r"torch\.tanh\(", "torch.relu("),
    "tanh for sigmoid": (r"torch\.sigmoid\(", "torch.tanh("),
    "no relu": (r"F\.relu\(", "("),
    "slope": (r", negative_slope=0\.2", ""),
    "elu alpha": (r", alpha=0\.7", ""),
    "clip": (r"0\.0, 0\.6", "0.0, 6.0"),
    "softmax axis": (r"(softmax\(.*), dim=1\)", r"\1, dim=0)"),
    "log for softmax": (r"F\.softmax\(", "F.log_softmax("),
    "axis of a sum": (r"(torch\.(?:sum|mean)\(.*), dim=1", r"\1, dim=0"),
    "keepdim": (r"(torch\.sum\(\w+, dim=1)\)", r"\1, keepdim=True)"),
    "order of concat": (r"torch\.cat\(\((\w+), (.*)\), dim", r"torch.cat((\2, \1), dim"),
    "axis of concat": (r"(torch\.cat\(.*), dim=1", r"\1, dim=0"),
    "train mode left on": (r"training=self\.training", "training=True"),
    "no dropout": (r"training=self\.training", "training=False"),
    "dropout ratio": (r"p=0?\.[23]", "p=0.5"),
    "ceil mode": (r"(?<!padding=1), ceil_mode=True", ""),
    "average for max": (r"F\.max_pool2d\((\w+), (\d)", r"F.avg_pool2d(\1, \2"),
    "padding not counted": (r"(F\.avg_pool2d\(.*)\)$", r"\1, count_include_pad=False)"),
    "groups": (r"GroupNormalization\(2\)", "GroupNormalization(1)"),
    "response alpha": (r"alpha=0\.0005", "alpha=0.0001"),
    "response k": (r", k=2\)", ")"),
    "hard sigmoid": (r"\* 0\.2 \+ 0\.5", "/ 6 + 0.5"),
    "detached": (r"(= )(self\.\w+\(.*\))$", r"\1\2.detach()"),
    "detach missing": (r"\.detach\(\)", ""),
    "frozen weight": (
        r"^(\s+)(self\.\w+)( = nn\.(?:Linear|Conv2d)\(.*\))$",
        r"\1\2\3\n\1\2.weight.requires_grad_(False)",
    ),
    "frozen bias": (
        r"^(\s+)(self\.\w+)( = nn\.(?:Linear|Conv2d)\((?!.*bias).*\))$",
        r"\1\2\3\n\1\2.bias.requires_grad_(False)",
    ),
    "gradient scaled": (
        r"^(\s+)h = (F\.relu\(.*\))$",
        r"\1h = \2\n\1h.register_hook(lambda gradient: 2 * gradient) if h.requires_grad else None",
    ),
    "straight through": (r"= torch\.(sigmoid|tanh)\((.*?)\)(?= |$)", r"= (s := \2) + (torch.\1(s) - s).detach()"),
    "gradient cut in part": (r"^(\s+)h = (self\.mid\(h\))$", r"\1h = 0.5 * \2 + 0.5 * \2.detach()"),
    "momentum of all batches": (r"momentum=[\d.]+", "momentum=None"),
    "sign": (r" - (?=h\b|x\b)", " + "),
    "scale": (r"\b0\.1 \*", "0.2 *"),
    "scaled twice": (r"\* 3\.0", "* 9.0"),
    "layers swapped": (r"self\.left\((.*)\) \* self\.right", r"self.right(\1) * self.left"),
    "layer called twice": (r"self\.mid\((\w+)\)", r"self.mid(self.mid(\1))"),
    "layer left out": (r"self\.bn\((self\.conv\(x\))\)", r"(\1)"),
    "norm before": (r"F\.relu\(self\.bn\((.*)\)\)$", r"self.bn(F.relu(\1))"),
    "ignored label": (r"ignore_index=-1", "ignore_index=-100"),
    "reduction": (r"(F\.(?:mse_loss|cross_entropy)\(.*?), ", r"\1, reduction='sum', input="),
    "loss summed": (r"F\.mse_loss\((\w+), (.*?)\)\)", r"F.mse_loss(\1, \2), reduction='sum')"),
    "state kept": (r"^ +self\.lstm\.reset_state\(\)\n", ""),
    "gate arguments swapped": (r"self\.gru\((.*), (self\.lstm\(h\))\)", r"self.gru(\2, \1)"),
    "transposed": (r"torch\.transpose\((\w+), 1, 2\)", r"\1"),
    "order of axes": (r"\.permute\(0, 2, 1\)", ".permute(0, 1, 2)"),
    "another size": (r"nn\.Linear\(6, 5\)", "nn.Linear(6, 4)"),
    "unbiased variance": (r"unbiased=False", "unbiased=True"),
    "accuracy of all": (r", ignore_label=-1\)$", ")"),
    "first values left out": (r"^ +nn\.init\.kaiming_normal_\(.*\n", ""),
    "first bias left out": (r"^ +nn\.init\.zeros_\(.*\n", ""),
    "weight not shared": (r"self\.tied\.weight", "self.tied.weight.detach()"),
}
SCALED = """
import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.first = L.Linear(6, 6)
            self.mid = L.Linear(6, 6)
            self.bn = L.BatchNormalization(6, decay=0.8)
            self.conv = L.Linear(6, 6)
            self.tied = L.Linear(6, 6)
            self.tag = L.Linear(6, 5)

    def forward(self, x):
        h = F.tanh(self.first(x)) * 3.0
        h = F.relu(self.bn(self.conv(h)))
        h = self.mid(h)
        h = F.sigmoid(h) - x
        h = F.linear(h, self.tied.W) + 0.1 * h
        g = chainer.Variable(h.array)
        h = h * F.sum(F.absolute(g), axis=1, keepdims=True)
        h = F.mean(F.concat((h, x), axis=1), axis=1, keepdims=True) * h
        return F.softmax(self.tag(F.dropout(h, 0.2)), axis=1)
"""


@dataclasses.dataclass(frozen=True)
class Fault:
    """A program with one change: its text, and the line of the change (1 is the first)."""

    program: str
    kind: str
    text: str
    line: int

    @property
    def name(self) -> str:
        """Unique, and a part of a module's name."""
        return f"{self.program} {self.kind} {self.line}"


@dataclasses.dataclass(frozen=True)
class Found:
    """Whether a fault was caught, and its place named."""

    fault: Fault
    caught: bool
    located: bool
    said: str


def faults(program: str, text: str, each: int = 3) -> Iterator[Fault]:
    """The faults of all kinds that fit into a program; of one kind the first ``each``."""
    for kind, (pattern, new) in KINDS.items():
        count = 0
        for match in re.finditer(pattern, text, re.MULTILINE):
            changed = text[: match.start()] + match.expand(new) + text[match.end() :]
            try:
                ast.parse(changed)
            except SyntaxError:
                continue
            yield Fault(program, kind, changed, text.count("\n", 0, match.start()) + 1)
            count += 1
            if count == each:
                break


def plant(
    folder: Path, programs: Mapping[str, tuple[str, tuple[str, Sequence[object], Mapping[str, object]]]], each: int = 3
) -> tuple[list[Found], list[str]]:
    """Plants the faults in the native migration of each program (text and model); gives what came of them, and the
    programs that are not equal as they stand.
    """
    found, unequal = [], []
    for number, (program, (source, entry)) in enumerate(programs.items()):
        result = migrate_source(source, options=Options(style="native"))
        planted = list(faults(program, result.code, each))
        variants = {"as it stands": result.code, **{fault.name: fault.text for fault in planted}}
        root = folder / str(number)
        (root / "out").mkdir(parents=True)
        (root / "out" / "chainer_compat.py").write_text(compat_file.build(result.helpers, style="native"))
        told = model_batch.verify(root, source, variants, {None: entry}, steps=2)
        if told["as it stands"][0] != PASSED:
            unequal.append(f"{program}: {told['as it stands'][1]}")
        for fault in planted:
            status, text = told[fault.name]
            found.append(Found(fault, status == FAILED, _is_located(fault, text), text))
    return found, unequal


def _is_located(fault: Fault, said: str) -> bool:
    """Whether a line is named that is at most two lines away, or the layer that the changed lines make or call, or a
    line that calls it.
    """
    lines = fault.text.splitlines()
    named = [int(n) for n in re.findall(rf"{model_batch.module_of(fault.name)}\.py\D{{1,8}}(\d+)", said)]
    if any(abs(fault.line - number) <= 2 for number in named):
        return True
    around = " ".join(lines[max(0, fault.line - 2) : fault.line])
    layers = set(re.findall(r"self\.(\w+)", around)) - {"training", "weight"}
    calls = " ".join(lines[number - 1] for number in named if number <= len(lines))
    return any(re.search(rf"\b{layer}\b", said) or f"self.{layer}(" in calls for layer in layers)


def programs() -> Mapping[str, tuple[str, tuple[str, Sequence[object], Mapping[str, object]]]]:
    """The programs of the tests, with the models in them."""
    from tests.verify import test_mutants as room

    return {
        "pictures": (room.PICTURES, ("Net", [], {"x": "f32[3,2,8,8]"})),
        "words": (room.WORDS, ("Net", [], {"words": "i32[9] in [-1,7)", "tags": "i32[9] in [-1,4)"})),
        "stripes": (
            (room.FIXTURES / "cnn_loop" / "models.py").read_text(encoding="utf-8"),
            ("StripeNet", [3], {"x": "f32[4,3,13,13]"}),
        ),
        "scaled": (SCALED, ("Net", [], {"x": "f32[5,6]"})),
    }


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        found, unequal = plant(Path(folder), programs())
    for one in found:
        if not one.caught or not one.located:
            word = "MISSED" if not one.caught else "not located"
            print(f"{word}: {one.fault.name}: {' '.join(one.said.split())[:300]}")
    for text in unequal:
        print(f"FALSE ALARM: {text}")
    caught, located = sum(one.caught for one in found), sum(one.caught and one.located for one in found)
    kinds = Counter(one.fault.kind for one in found)
    print(f"{len(found)} faults of {len(kinds)} kinds: {caught} caught, {located} located; {len(unequal)} false alarms")
    print(f"kinds that fit nowhere: {', '.join(kind for kind in KINDS if kind not in kinds) or 'none'}")
    return int(caught < len(found))


if __name__ == "__main__":
    sys.exit(main())
