"""What ``verify script`` compared, value by value, and how it is shown."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

from chainer2torch.verify.judge import sensitivity, tolerances


@dataclasses.dataclass(frozen=True)
class Step:
    """One compared value: what Chainer and PyTorch had, at which update of which optimizer."""

    iteration: int
    optimizer: int
    name: str
    chainer: float | None
    torch: float | None

    @property
    def relative(self) -> float:
        """The relative difference; inf where one side has no value."""
        if self.chainer is None or self.torch is None:
            return math.inf
        if self.chainer == self.torch or (math.isnan(self.chainer) and math.isnan(self.torch)):
            return 0.0
        difference = abs(self.chainer - self.torch) / max(abs(self.chainer), 1e-30)
        return math.inf if math.isnan(difference) else difference


@dataclasses.dataclass
class ScriptReport:
    """The outcome of ``verify script``. ``problems`` are errors; ``unverified`` is what could not be compared."""

    script: str
    steps: list[Step]
    iterations: int
    problems: list[str]
    unverified: list[str]
    facts: dict[str, str]
    rtol: float = tolerances.SCRIPT_RTOL
    atol: float = tolerances.SCRIPT_ATOL
    double: ScriptReport | None = None
    # what rounding decides: PyTorch's largest difference and Chainer's from itself, by name
    undecided: Mapping[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    # the declared differences that were applied to the original side (docs/differences.md)
    differences: Sequence[str] = ()
    # packages that are not installed, and that both sides did without
    left_out: Sequence[str] = ()
    # whether it updates something; of a script that does not, what it prints and writes is compared
    trains: bool = True

    def differs(self, step: Step) -> bool:
        """Whether a compared value is outside the tolerance."""
        if step.chainer is None or step.torch is None:
            return True
        if step.name in self.undecided:
            return False
        if step.relative <= self.rtol:
            return False
        return not abs(step.chainer - step.torch) <= self.atol

    @property
    def first_difference(self) -> Step | None:
        """The first value, in the order of the run, that differs."""
        return next(filter(self.differs, self.steps), None)

    @property
    def ok(self) -> bool:
        """Whether losses were compared and they and all other values were equal: in float64, if not in float32.

        A script amplifies rounding from iteration to iteration. What is equal in float64 means the same.
        """
        compared = any(step.name not in self.undecided for step in self._deciding())
        if not compared or self.problems:
            return False
        return self.first_difference is None or (self.double is not None and self.double.ok)

    def _deciding(self) -> list[Step]:
        """The values without which nothing was compared: losses, or all of a script that trains nothing."""
        return [step for step in self.steps if not self.trains or step.name.startswith("loss")]

    @property
    def exit_code(self) -> int:
        """0 only if something was compared and all of it was equal."""
        return 0 if self.ok else 1

    def lines(self) -> list[str]:
        """The report as text."""
        out = [f"verify script {self.script}: {self.iterations} iterations"]
        losses = [step for step in self.steps if step.name.startswith("loss")]
        if losses:
            out.append(f"{'iteration':>9}  {'value':<28} {'Chainer':>14} {'PyTorch':>14} {'rel. diff.':>11}")
            for step in _shown(losses, self):
                mark = "  <- differs" if self.differs(step) else ""
                out.append(
                    f"{step.iteration:>9}  {_named(step):<28} {_figure(step.chainer):>14} "
                    f"{_figure(step.torch):>14} {step.relative:>11.2e}{mark}"
                )
        others = sorted({step.name for step in self.steps} - {step.name for step in losses})
        for name in others:
            worst = max((step for step in self.steps if step.name == name), key=lambda step: step.relative)
            count = sum(step.name == name for step in self.steps)
            out.append(f"reported  {name}: {count} values, largest relative difference {worst.relative:.2e}")
        first = self.first_difference
        if first is not None:
            out.append(
                f"DIFFERENT: first at iteration {first.iteration}, {_named(first)}: "
                f"Chainer {_figure(first.chainer)}, PyTorch {_figure(first.torch)}"
            )
        out += [f"ERROR: {problem}" for problem in self.problems]
        out += [f"not verified: {what}" for what in self.unverified]
        if not self._deciding():
            out.append("FAILED: nothing was compared")
        elif self.double is not None:
            out += self._double_lines(self.double)
        elif self.ok:
            worst_value = max(step.relative for step in self._deciding())
            out.append(
                f"EQUAL: {len(self.steps)} values, {self._said(losses)}; "
                f"largest relative difference of a {'loss' if self.trains else 'value'} {worst_value:.2e}"
            )
        if self.left_out:
            out.append(
                "not installed, and left out on both sides: " + ", ".join(self.left_out) + " (their calls did nothing; "
                "a value of one would have stopped the script)"
            )
        if self.differences:
            out.append("declared differences, made on both sides: " + ", ".join(self.differences))
        out.append(f"tolerance: rtol {self.rtol:g}, atol {self.atol:g}")
        out.append("; ".join(f"{name} {value}" for name, value in self.facts.items()))
        return out

    def _said(self, losses: Sequence[Step]) -> str:
        return f"of which {len(losses)} losses" if self.trains else "which it printed or wrote: it trains nothing"

    def _double_lines(self, double: ScriptReport) -> list[str]:
        """What the float64 pass says about a difference in float32."""
        losses = [step for step in double._deciding() if step.name not in double.undecided]
        first = double.first_difference
        undecided = [f"not verified: {line}" for line in sensitivity.lines(double.undecided)]
        if double.ok:
            worst = max(step.relative for step in losses)
            count = sum(step.name not in double.undecided for step in double.steps)
            return [
                *undecided,
                f"EQUAL in float64: {count} values, {self._said(losses)}; largest relative "
                f"difference of a {'loss' if self.trains else 'value'} {worst:.2e} (rtol {double.rtol:g}). "
                "The difference in float32 is rounding, which training amplifies.",
                *self._whose_rounding(double, losses),
            ]
        if first is None and undecided:
            return [*undecided, "FAILED: rounding decides all losses; compare fewer iterations"]
        if first is None:
            return ["the float64 pass could not be made: " + "; ".join(double.problems or ["no loss was compared"])]
        return [
            *undecided,
            f"float64 differs too, first at iteration {first.iteration}, {_named(first)}: Chainer "
            f"{_figure(first.chainer)}, PyTorch {_figure(first.torch)}: the difference is one of meaning",
        ]

    def _whose_rounding(self, double: ScriptReport, losses: Sequence[Step]) -> list[str]:
        """How far each framework's float32 is from float64, where both runs made the same updates."""
        single = [step for step in self.steps if step.name.startswith("loss")]
        if not single or [(s.iteration, s.optimizer) for s in single] != [(s.iteration, s.optimizer) for s in losses]:
            return []
        chainer, torch = (
            max(
                Step(d.iteration, d.optimizer, d.name, d.chainer, value).relative
                for d, value in zip(losses, values, strict=True)
            )
            for values in ([s.chainer for s in single], [s.torch for s in single])
        )
        return [
            f"largest relative difference of a loss in float32 from Chainer's float64: Chainer {chainer:.2e}, "
            f"PyTorch {torch:.2e}"
        ]


def _shown(losses: list[Step], report: ScriptReport) -> list[Step]:
    """At most some 40 rows: the first ones, the first difference with its neighbours, the last."""
    if len(losses) <= 40:
        return losses
    first = next((i for i, step in enumerate(losses) if report.differs(step)), None)
    keep = {*range(20), len(losses) - 1}
    if first is not None:
        keep |= set(range(max(0, first - 2), min(len(losses), first + 3)))
    return [losses[i] for i in sorted(keep)]


def _named(step: Step) -> str:
    return step.name if step.optimizer == 0 else f"{step.name} (optimizer {step.optimizer})"


def _figure(value: float | None) -> str:
    return "none" if value is None else f"{value:.8g}"
