"""Runs variations of the rules' own examples in both frameworks, through the real rewriter, and says how they compare.

A variation changes the inputs (shapes, dtypes, layout, special values) or one argument of the call: see variations.py
beside this file. Most are calls that no example shows, many are calls that Chainer refuses. What must never come of one
is another result.

    python -m tests.support.adversary NAME...      every variation of the rows whose names begin so, with what differs
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import chainer
import numpy as np
import torch

import chainer2torch
from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import Row, load_rules
from chainer2torch.verify.worker import compat_module, wire
from chainer2torch.verify.rules import snippets
from chainer2torch.verify.judge import tolerances
from chainer2torch.verify.rules import given as given_specs
from chainer2torch.verify.rules.callmatrix import Variant
from chainer2torch.verify.judge.compare import compare_arrays, compare_trees
from tests.support import variations

RULES = load_rules(strict=False)


class Verdict(enum.Enum):
    """How the two sides compare."""

    SAME = "the same result"
    REFUSED = "both raise"
    MALFORMED = "Chainer's gradient has not the shape and dtype of its input"
    LEFT = "left to a person"
    LOUD = "only PyTorch raises"
    SILENT = "only Chainer raises"
    DIFFERENT = "another result"


@dataclasses.dataclass(frozen=True)
class Finding:
    """The verdict on one variation of one example."""

    row: str
    example: int
    variation: str
    verdict: Verdict
    detail: str
    before: str
    after: str

    def __str__(self) -> str:
        return (
            f"{self.row}, example {self.example + 1}, {self.variation}: {self.verdict.value}\n"
            f"    {self.before.strip()}  ->  {self.after.strip()}\n    {self.detail}"
        )


@dataclasses.dataclass(frozen=True)
class Case:
    """One variation of one example of a row."""

    row: Row
    example: int
    label: str
    before: str
    change: Callable[[str, np.ndarray], np.ndarray]

    def judge(self) -> Finding:
        """Runs it in both frameworks."""
        program = _program(self, "float32")
        if program.left is not None:
            return self._finding(program, Verdict.LEFT, program.left)
        chainers, ours = _outcome(_chainer_side, program, False), _outcome(_torch_side, program, None)
        if isinstance(chainers, Exception) or isinstance(ours, Exception):
            verdict = (
                Verdict.LOUD
                if not isinstance(chainers, Exception)
                else Verdict.REFUSED
                if isinstance(ours, Exception)
                else Verdict.SILENT
            )
            return self._finding(
                program,
                verdict,
                " / ".join(f"{type(e).__name__}: {str(e)[:200]}" for e in (chainers, ours) if isinstance(e, Exception)),
            )
        if chainers.malformed:
            return self._finding(program, Verdict.MALFORMED, chainers.malformed)
        detail = _difference(chainers, ours, self.row)
        return self._finding(program, Verdict.DIFFERENT if detail else Verdict.SAME, detail)

    def _finding(self, program: _Program, verdict: Verdict, detail: str) -> Finding:
        return Finding(self.row.name, self.example, self.label, verdict, detail, self.before, program.after)


def cases(row: Row) -> Iterator[Case]:
    """Every variation of every example of a row whose result is not random."""
    for index, example in enumerate(row.examples):
        options = example.options
        has_weights = "L." in options.get("setup", "")  # which are random
        if options.get("compare", "allclose") != "allclose" or options.get("raises") or has_weights:
            continue
        for of_input in variations.of_inputs(example.given):
            yield Case(row, index, of_input.label, example.before, of_input.change)
        for of_call in variations.of_call(row.name, row.signature, example.before):
            yield Case(row, index, of_call.label, of_call.before, variations.unchanged)


def second_derivatives(row: Row, index: int) -> str | None:
    """How the second derivatives of an example differ (empty: they do not); None where there are none.

    By the inputs and by the gradients of the outputs, in float64 where the row has it. Raises what Chainer raises.
    """
    example = row.examples[index]
    options = example.options
    if options.get("compare", "allclose") != "allclose" or options.get("raises") or not options.get("grad", True):
        return None
    dtypes = options.get("dtypes", ["float64"])
    program = _program(Case(row, index, "as it stands", example.before, variations.unchanged), dtypes[-1])
    if program.left is not None:
        return None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        chainers = _chainer_side(program, True)
        if not chainers.second:
            return None
        return _difference(chainers, _torch_side(program, chainers), row)


@dataclasses.dataclass(frozen=True)
class _Program:
    """Both texts with their inputs."""

    source: str
    code: str
    after: str
    left: str | None
    spec: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]
    plain: frozenset[str]
    variables: frozenset[str]
    options: Mapping[str, Any]
    dtype: str


def _program(case: Case, dtype: str) -> _Program:
    example = case.row.examples[case.example]
    arrays: dict[str, np.ndarray] = {}
    spec = given_specs.draw(example.given, f"{case.row.name}/{case.example + 1}", dtype, arrays, "in")
    arrays = {name: case.change(name.split("/")[1], array) for name, array in arrays.items()}
    plain = frozenset(example.options.get("arrays", ()))
    source = snippets.build(Variant(case.label, example.options.get("setup", ""), case.before), example.given)
    code, after, left = _migrate(source, tuple(sorted(_hints(spec, arrays, plain).items())))
    # Labels and indices are plain arrays in nearly every program; a method needs a Variable whatever it holds.
    variables = frozenset(
        name
        for name in example.given
        if case.row.name.startswith("chainer.Variable.") and given_specs.is_float(example.given[name])
    )
    return _Program(source, code, after, left, spec, arrays, plain, variables, example.options, dtype)


@functools.cache
def _migrate(source: str, hints: tuple[tuple[str, str], ...]) -> tuple[str, str, str | None]:
    migrated = snippets.migrate(source, migrate_source, RULES, dict(hints))
    return migrated.code, migrated.after, migrated.left


def _hints(spec: Mapping[str, Any], arrays: Mapping[str, np.ndarray], plain: frozenset[str]) -> dict[str, str]:
    found = {}
    for name, node in spec.items():
        place = "device" if name in plain else "tensor"
        if isinstance(node, dict) and "array" in node:
            array = arrays[node["array"]]
            dtype = "" if array.dtype.kind == "f" else f" dtype {array.dtype}"
            found[f"run.{name}"] = f"{place} rank {array.ndim}{dtype}"
        elif isinstance(node, list) and node and all(isinstance(n, dict) and "array" in n for n in node):
            found[f"run.{name}"] = f"list of {place}"
    return found


@dataclasses.dataclass(frozen=True)
class _Result:
    """What one side computed; gradients are by input, ``second`` also by output."""

    tree: Any
    arrays: Mapping[str, np.ndarray]
    gradients: Mapping[str, np.ndarray]
    inputs: Mapping[str, np.ndarray]
    second: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)

    @property
    def malformed(self) -> str:
        """The first gradient that does not fit its input."""
        return next(
            (
                name
                for name, g in self.gradients.items()
                if (g.shape, g.dtype) != (self.inputs[name].shape, self.inputs[name].dtype)
            ),
            "",
        )


def _outcome(side: Callable[..., _Result], *args: Any) -> _Result | Exception:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return side(*args)
        except Exception as error:  # noqa: BLE001 - every refusal counts
            return error


def _chainer_side(program: _Program, second: bool) -> _Result:
    leaves: dict[str, chainer.Variable] = {}

    def wrap(name: str, array: np.ndarray) -> Any:
        if name in program.plain or array.dtype.kind != "f" and name not in program.variables:
            return array
        leaves[f"{name}/{len(leaves)}"] = variable = chainer.Variable(array)
        return variable

    with (
        chainer.using_config("train", program.options.get("mode", "train") == "train"),
        chainer.using_config("dtype", np.dtype(program.dtype)),
    ):
        tree = wire.Tree(
            "out", lambda v: v.array if isinstance(v, chainer.Variable) else v if isinstance(v, np.ndarray) else None
        )
        encoded = tree.encode(_run(program.source, program, wrap))
        roots = {key: y for key, y in tree.leaves.items() if isinstance(y, chainer.Variable) and y.dtype.kind == "f"}
        inputs = {name: x.array for name, x in leaves.items()}
        if not (program.options.get("grad", True) and roots and leaves):
            return _Result(encoded, dict(tree.arrays), {}, inputs)
        weights = {key: chainer.Variable(wire.cotangent("", key, y.array)) for key, y in roots.items()}
        found = dict(
            zip(
                leaves,
                chainer.grad(
                    list(roots.values()), list(leaves.values()), list(weights.values()), enable_double_backprop=second
                ),
                strict=True,
            )
        )
        gradients = {name: g.array for name, g in found.items() if g is not None}
        again: dict[str, np.ndarray] = {}
        if second and gradients:
            total = sum(
                chainer.functions.sum(g * wire.cotangent("second", name, g.array))
                for name, g in found.items()
                if g is not None
            )
            by = {**leaves, **weights}
            # Chainer gives None where nothing leads there: zero.
            again = {
                name: np.zeros(x.shape, x.dtype) if g is None else g.array
                for (name, x), g in zip(by.items(), chainer.grad([total], list(by.values())), strict=True)
            }
    return _Result(encoded, dict(tree.arrays), gradients, inputs, again)


def _torch_side(program: _Program, chainers: _Result | None) -> _Result:
    """With Chainer's result: second derivatives, too."""
    _install()
    leaves: dict[str, torch.Tensor] = {}

    def wrap(name: str, array: np.ndarray) -> torch.Tensor:
        tensor = torch.from_numpy(array)
        if name in program.plain or not tensor.is_floating_point() and name not in program.variables:
            return tensor
        leaves[f"{name}/{len(leaves)}"] = tensor.requires_grad_() if tensor.is_floating_point() else tensor
        return tensor

    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, program.dtype))
    try:
        with compat_module.mode(program.options.get("mode", "train") == "train"):
            torch.manual_seed(0)
            tree = wire.Tree(
                "out",
                lambda v: (
                    np.array(v.detach().resolve_conj().resolve_neg().numpy())
                    if isinstance(v, torch.Tensor)
                    else v
                    if isinstance(v, np.ndarray)
                    else None
                ),
            )
            encoded = tree.encode(_run(program.code, program, wrap))
            roots = {key: y for key, y in tree.leaves.items() if isinstance(y, torch.Tensor) and y.requires_grad}
            if not (program.options.get("grad", True) and roots):
                return _Result(encoded, dict(tree.arrays), {}, {})
            weights = {
                key: torch.from_numpy(wire.cotangent("", key, tree.arrays[key])).requires_grad_(chainers is not None)
                for key in roots
            }
            xs = {name: x for name, x in leaves.items() if x.requires_grad}
            found = dict(
                zip(
                    xs,
                    torch.autograd.grad(
                        list(roots.values()),
                        list(xs.values()),
                        list(weights.values()),
                        allow_unused=True,
                        create_graph=chainers is not None,
                    ),
                    strict=True,
                )
            )
            again: dict[str, np.ndarray] = {}
            if chainers is not None:
                total = sum(
                    (g * torch.from_numpy(wire.cotangent("second", name, chainers.gradients[name]))).sum()
                    for name, g in found.items()
                    if g is not None and name in chainers.gradients
                )
                by = {**xs, **weights}
                seconds = (
                    torch.autograd.grad(total, list(by.values()), allow_unused=True)
                    if isinstance(total, torch.Tensor) and total.requires_grad
                    else [None] * len(by)
                )
                again = {
                    name: _array(torch.zeros_like(x) if g is None else g)
                    for (name, x), g in zip(by.items(), seconds, strict=True)
                }
    finally:
        torch.set_default_dtype(before)
    return _Result(encoded, dict(tree.arrays), {n: _array(g) for n, g in found.items() if g is not None}, {}, again)


def _array(tensor: torch.Tensor) -> np.ndarray:
    return np.array(tensor.detach().to_dense().numpy(force=True))


def _run(text: str, program: _Program, wrap: Callable[[str, np.ndarray], Any]) -> Any:
    np.random.seed(0)
    namespace: dict[str, Any] = {"__name__": "snippet"}
    exec(compile(text, "<snippet>", "exec"), namespace)

    def decode(node: Any, name: str) -> Any:
        if isinstance(node, dict) and "array" in node:
            return wrap(name, program.arrays[node["array"]].copy(order="K"))
        if isinstance(node, dict) and "tuple" in node:
            return tuple(decode(item, name) for item in node["tuple"])
        if isinstance(node, dict) and "dict" in node:
            return {key: decode(item, name) for key, item in node["dict"].items()}
        return [decode(item, name) for item in node] if isinstance(node, list) else node

    return namespace["run"](**{name: decode(node, name) for name, node in program.spec.items()})


def _install() -> None:
    if "chainer_compat" not in sys.modules:
        compat_module.install(str(Path(chainer2torch.__file__).parent / "compat"))


def _difference(chainers: _Result, ours: _Result, row: Row) -> str:
    """What differs first, or an empty text."""
    for reason in compare_trees(chainers.tree, ours.tree):
        return reason
    for what, a, b in (
        ("", chainers.arrays, ours.arrays),
        ("gradient of ", chainers.gradients, ours.gradients),
        ("second derivative by ", chainers.second, ours.second),
    ):
        for name in sorted({*a, *b}):
            expected, actual = a.get(name), b.get(name)
            if expected is None or actual is None:
                # No gradient and a gradient of zeros mean the same.
                known = actual if expected is None else expected
                assert known is not None
                expected, actual = (np.zeros_like(known), known) if expected is None else (known, np.zeros_like(known))
            # nan and the infinities are one outcome, and a derivative at them or by way of them is nobody's
            where = np.isfinite(expected) if expected.dtype.kind == "f" else np.ones(expected.shape, bool)
            if what and name in chainers.inputs and expected.shape == chainers.inputs[name].shape:
                where = where & np.isfinite(chainers.inputs[name])
            if expected.shape == actual.shape and not where.all():
                if what:
                    expected, actual = np.where(where, expected, 0), np.where(where, actual, 0)
                else:
                    actual = np.where(~where & ~np.isfinite(actual), expected, actual)
            tolerance = tolerances.for_dtype(str(expected.dtype), row.bound and max(row.bound, 1e-4))
            difference = compare_arrays(what + name, expected, actual, tolerance)
            if not difference.equal:
                return f"{what}{name}: {difference.reason}"
    return ""


def main(prefixes: list[str]) -> None:
    """Prints every variation that is neither the same nor refused by both."""
    quiet = (Verdict.SAME, Verdict.REFUSED, Verdict.MALFORMED)
    for name in sorted(RULES.rows):
        for case in cases(RULES.rows[name]) if name.startswith(tuple(prefixes)) else ():
            finding = case.judge()
            if finding.verdict not in quiet:
                print(finding, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
