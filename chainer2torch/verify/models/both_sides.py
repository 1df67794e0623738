"""Runs cases of models under Chainer and then under PyTorch, whose models begin with Chainer's weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chainer2torch.verify import worker_process
from chainer2torch.verify.models import kept_cases
from chainer2torch.verify.models.setting import Setting


@dataclasses.dataclass(frozen=True)
class Sides:
    """What both workers have left, and the cases of PyTorch's."""

    left: worker_process.WorkerResult
    right: worker_process.WorkerResult
    ready: list[dict[str, Any]]

    def joined(self, later: Sides) -> Sides:
        """Both of this and what other cases have left in the same folders."""
        left, right = _joined(self.left, later.left), _joined(self.right, later.right)
        return Sides(left, right, [*self.ready, *later.ready])


def _joined(one: worker_process.WorkerResult, other: worker_process.WorkerResult) -> worker_process.WorkerResult:
    problems = [problem for problem in (one.problem, other.problem) if problem]
    return dataclasses.replace(
        other,
        records={**one.records, **other.records},
        versions={**one.versions, **other.versions},
        problem="\n".join(problems) or None,
    )


def both(
    cases: Sequence[dict[str, Any]],
    inputs: dict[str, np.ndarray],
    ports: Mapping[str, Mapping[str, Any]],
    job: Mapping[str, Any],
    folders: Mapping[str, Path],
    setting: Setting,
) -> Sides:
    """Runs cases under Chainer, and those that it took under PyTorch, whose text and place ``ports`` has by case."""
    left = kept_cases.run(
        setting.kept,
        folders["chainer"],
        {**job, "cases": cases, "tree": str(setting.src)},
        inputs,
        python=setting.chainer_python,
        timeout=setting.left(),
        stop=setting.stop,
        warm=setting.warm,
    )
    ready = [
        {
            **case,
            "weights": record["weights"],
            "held": record.get("held", {}),
            "late": record.get("late", []),
            "differentiated": record.get("differentiated", []),
            "steps": record.get("steps", case["steps"]),
            "promoted": record.get("promoted", False),
            "called": [call["path"] for call in record["calls"]],
            **ports[case["id"]],
        }
        for case in cases
        if (record := left.records.get(case["id"], {})).get("status") == "ok"
    ]
    right = worker_process.run_cases(
        worker_process.TORCH_WORKER,
        folders["torch"],
        {**job, "cases": ready, "tree": str(setting.out), "reference": str(folders["chainer"])},
        python=setting.torch_python,
        timeout=setting.left(),
        stop=setting.stop,
        warm=setting.warm,
    )
    return Sides(left, right, ready)
