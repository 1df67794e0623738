"""Runs a generated program on both sides."""

from __future__ import annotations

import copy
import io
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import torch

from chainer2torch.verify.worker import chainer_patches, shared_parameters

chainer = chainer_patches.import_chainer()  # before anything else imports it

from chainer2torch.compat.serializers.serializers import load_npz  # noqa: E402
from chainer2torch.engine import Options, migrate_source  # noqa: E402
from tests.generated.grammar import Program  # noqa: E402
from tests.support import native_programs  # noqa: E402

SAME, REFUSED, LEFT, LOUD, DIFFERENT = (
    "the same",
    "refused by Chainer",
    "left to a person",
    "only PyTorch raises",
    "different",
)
ROUNDING = "decided by rounding"
MARKED, BROKEN = "different, under a comment", "the migration fails"
WRONG = (LOUD, DIFFERENT, BROKEN)
_ADAPTIVE = re.compile(r"optimizers\.(Adam|AdaGrad|AdaDelta|RMSprop)\([^)]*\)")
_RTOL, _ATOL = 2e-3, 2e-4
# So many times as far as Chainer's own result moves, when the weights change in their last bits.
_RATIO = 30


def of(seed: int) -> tuple[str, str, str]:
    """The verdict on a program, what is to say about it, and both texts."""
    text = Program(seed).text()
    return judge(text)


def judge(text: str) -> tuple[str, str, str]:
    """The same for a text."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _judge(text)


def _judge(text: str, once: bool = False) -> tuple[str, str, str]:
    """``once``: Chainer's optimizers take a shared parameter once, as the migrated text declares that its own do."""
    weights: list[io.BytesIO] = []
    given: dict[str, Any] = {}
    np.random.seed(0)
    try:
        theirs: dict[str, Any] = {"__name__": "original"}
        exec(compile(text, "<original>", "exec"), theirs)
        warm = _trained(theirs, lambda model: None)[1]
        with _FirstInput(given):
            expected, model = _trained(theirs, lambda model: weights.append(_begun(model, warm)))
    except Exception as error:
        return REFUSED, f"{type(error).__name__}: {error}", text
    if not np.isfinite(expected).all() or np.abs(expected).max(initial=0) > 1e4:
        return REFUSED, "it explodes", text
    try:
        result = migrate_source(text, options=Options(style="native"))
        helpers = native_programs.helpers(result)
    except Exception as error:
        return BROKEN, f"{type(error).__name__}: {error}", text
    both = f"{text}\n# ---- migrated\n{result.code}"
    if result.error is not None:
        return BROKEN, result.error, both
    if any(site.state == "manual" for site in result.sites):
        return LEFT, "", both
    try:
        with mock.patch.dict(sys.modules, chainer_compat=helpers):
            ours: dict[str, Any] = {"__name__": "migrated"}
            exec(compile(result.code, "<migrated>", "exec"), ours)
            found, module = _trained(ours, lambda module: (load_npz(weights[0], module), _watched(module, given)))
    except Exception as error:
        if any(site.state == "review" for site in result.sites):
            return LEFT, f"{type(error).__name__}: {error}", both
        return LOUD, f"{type(error).__name__}: {error}", both
    have = dict(module.state_dict())
    fresh = ours["Net"]()
    load_npz(_saved(model), fresh)
    silent = _in_test_mode(model, fresh, given.get("theirs"), given.get("ours"))
    pairs = [("what it says", found, expected)]
    pairs += [
        (name, have[name].numpy(), want.numpy())
        for name, want in fresh.state_dict().items()
        if want.is_floating_point()
    ]
    pairs += [("test mode", silent[1], silent[0])] if silent is not None else []
    wrong = [(name, far) for name, got, want in pairs if (far := _distance(got, want)) > 1]
    if wrong and not once and any(site.difference == "shared-parameters" for site in result.sites):
        every, _ = shared_parameters.stepped_once()
        try:
            return _judge(text, once=True)
        finally:
            every()
    if wrong:
        if max(far for _, far in wrong) < _RATIO * _own_distance(text, weights[0], expected, model):
            return ROUNDING, "", both
        plain = _ADAPTIVE.sub("optimizers.SGD(0.05)", text)
        if "Normalization(" in text and plain != text and _judge(plain)[0] == SAME:
            # a bias before a normalization: its gradient is zero but for rounding, and its optimizer divides by that
            return ROUNDING, "", both
        marked = any(site.state == "review" for site in result.sites)
        return MARKED if marked else DIFFERENT, f"{wrong}; {found} instead of {expected}", both
    return SAME, "", both


class _FirstInput(chainer.LinkHook):  # type: ignore[misc]
    """Keeps the first input of a program's own model."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given

    def forward_preprocess(self, args: Any) -> None:
        """Before a call of any link."""
        if type(args.link).__name__ == "Net":
            self.given.setdefault("theirs", copy.deepcopy(args.args))


def _watched(module: Any, given: dict[str, Any]) -> None:
    module.register_forward_pre_hook(lambda _, args: given.setdefault("ours", copy.deepcopy(args)) and None)


def _in_test_mode(model: Any, module: Any, theirs: Any, ours: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """What both models give for the first input in test mode, PyTorch's after ``eval()``; None: nothing was kept."""
    if theirs is None or ours is None:
        return None
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        expected = model(*theirs)
    module.eval()
    with torch.no_grad():
        found = module(*ours)
    return chainer.cuda.to_cpu(expected.array).astype("d"), np.asarray(found.detach(), dtype="d")


def _distance(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, in tolerances."""
    if found.shape != expected.shape:
        return float("inf")
    gap = np.abs(found - expected) / (_ATOL + _RTOL * np.abs(expected))
    return float("inf") if np.isnan(gap).any() else float(gap.max(initial=0))


def _own_distance(text: str, weights: io.BytesIO, expected: np.ndarray, model: chainer.Chain) -> float:
    """How far Chainer is from itself, when the weights that it begins with are changed in their last bits."""

    def begin(other: chainer.Chain) -> None:
        for path, param in sorted(other.namedparams()):
            if param.array is None:
                param.initialize(shapes[path])
        weights.seek(0)
        chainer.serializers.load_npz(weights, other)
        for _, param in sorted(other.namedparams()):
            param.array *= (1 + rng.choice([-1, 1], param.shape) * 2e-7).astype(param.dtype)

    shapes = {path: param.array.shape for path, param in model.namedparams()}
    far = []
    for seed in range(5, 9):  # a sign that rounding decides need not change at the first attempt
        rng = np.random.RandomState(seed)
        theirs: dict[str, Any] = {"__name__": "original"}
        exec(compile(text, "<original>", "exec"), theirs)
        said, again = _trained(theirs, begin)
        values = dict(again.namedparams())
        far += [_distance(said, expected), *(_distance(values[path].array, p.array) for path, p in model.namedparams())]
    return max(far)


def _trained(program: dict[str, Any], begin: Callable[[Any], object]) -> tuple[np.ndarray, Any]:
    """What a program says, and its model. ``begin`` gives the model its weights."""
    models = []
    program["begin"] = lambda model: (begin(model), models.append(model))
    with native_programs.one_order():
        return native_programs._numbers(program["train"]()), models[0]


def _begun(model: chainer.Chain, warm: chainer.Chain) -> io.BytesIO:
    """The first values of a model, whose lazy layers get the shapes that they have in another."""
    shapes = {path: param.array.shape for path, param in warm.namedparams()}
    for path, param in sorted(model.namedparams()):
        if param.array is None:
            param.initialize(shapes[path])
    return _saved(model)


def _saved(model: chainer.Chain) -> io.BytesIO:
    file = io.BytesIO()
    chainer.serializers.save_npz(file, model)
    file.seek(0)
    return file
