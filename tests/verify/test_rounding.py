"""Where float32 differs and float64 is equal, it is rounding: only of values, and only as much as float32 explains."""

import numpy as np
import pytest

from chainer2torch.verify.judge import rounding
from chainer2torch.verify.judge.compare import Difference, compare_arrays
from chainer2torch.verify.models import model_verdict
from chainer2torch.verify.models.verify_models import ModelEntry, verify_models
from chainer2torch.verify.judge.outcome import FAILED, PASSED, UNVERIFIED, Outcome, Pair
from chainer2torch.verify.judge.verdict import note
from chainer2torch.verify.worker_process import WorkerResult
from tests.support import model_batch

EXACT = np.array([1000.0, 1.0, 1e-3])
OFF = np.array([0.0, 1.0, 0.0], dtype=np.float32)


def _explain(chainer, torch, *, exact=EXACT, double=PASSED, name="pgrad/model/W", more=(), beside=0.0, largest=1.0):
    """The outcome of a float32 case with one array, which float64 (``double``) computes as ``exact``, and a gradient
    of ``largest`` that is equal and as far away from float64 as ``beside`` of that.
    """
    single, other = (
        Outcome(Pair(f"m0-train@{dtype}", "net:Net", f"{dtype}, train", "", "", dtype=dtype))
        for dtype in ("float32", "float64")
    )
    other.status = double
    note(single, compare_arrays(name, np.float32(chainer), np.float32(torch)))
    for difference in more:
        note(single, difference)
    assert single.status == FAILED
    equal = {
        "m0-train@float32": {"pgrad/model/b": np.float32([largest * (1 + beside)])},
        "m0-train@float64": {"pgrad/model/b": np.float64([largest])},
    }
    sides = [
        {
            "m0-train@float32": {name: np.float32(x), **equal["m0-train@float32"]},
            "m0-train@float64": {name: exact, **equal["m0-train@float64"]},
        }
        for x in (chainer, torch)
    ]
    rounding.explain([single, other], sides[0].__getitem__, sides[1].__getitem__)
    assert single.rounded == (single.status == PASSED)
    return single


def test_a_cancelling_entry_is_rounding_if_it_is_small_beside_the_largest():
    outcome = _explain(EXACT, EXACT + OFF * 0.5)
    assert (outcome.status, outcome.reasons) == (PASSED, [])
    assert (
        "1 arrays differ in float32 and not in float64: rounding (PyTorch's float32 is at most 5.0e-04 of an "
        "array's largest value away from float64: pgrad/model/W)" in outcome.notes[0]
    )


@pytest.mark.parametrize(
    "chainer, torch, name",
    [
        (EXACT, EXACT + OFF * 5, "out"),  # more than a thousandth of the largest value
        (EXACT + OFF, EXACT + OFF * 5, "out"),  # and more than four times as much as Chainer's own
        (EXACT, EXACT + OFF * 5, "state/model/bn/avg_mean"),
        (EXACT, EXACT + OFF * 20, "pgrad/model/W"),  # of a gradient, more than a hundredth
        (EXACT + OFF * 4, EXACT + OFF * 20, "grad/x/0"),
        (EXACT, np.array([1000.0, np.nan, 1e-3]), "pgrad/model/W"),
        (EXACT, np.array([1000.0, np.inf, 1e-3]), "pgrad/model/W"),
    ],
)
def test_more_than_float32_explains_stays_failed(chainer, torch, name):
    outcome = _explain(chainer, torch, name=name)
    assert outcome.status == FAILED and "of more than float32 explains" in outcome.reasons[-1]
    # Its layers by themselves may say more; where there was no time for them, it is not known.
    outcome.failures = 2
    rounding.without_layers([outcome])
    assert outcome.status == FAILED, "something else failed beside the values"
    outcome.failures = 1
    rounding.without_layers([outcome])
    assert outcome.status == UNVERIFIED and "the layers by themselves" in outcome.reasons[0]


def test_gradients_jump_where_a_unit_switches():
    assert _explain(EXACT, EXACT + OFF * 5).status == PASSED
    assert _explain(EXACT + OFF * 6, EXACT + OFF * 20, name="grad/x/0").status == PASSED
    # Chainer's own float32 says how far the pass as a whole is from float64, up to a tenth.
    assert _explain(EXACT, EXACT + OFF * 50, beside=0.02).status == PASSED
    assert _explain(EXACT, EXACT + OFF * 50, beside=0.01).status == FAILED
    assert _explain(EXACT, EXACT + OFF * 150, beside=0.09).status == FAILED
    assert _explain(EXACT, EXACT + OFF * 50, beside=5.0).status == FAILED  # one that cancels measures nothing
    assert _explain(EXACT, EXACT + OFF * 50, beside=0.02, name="out").status == FAILED


def test_what_is_zero_but_for_rounding_is_measured_by_chainers_own():
    """As the gradient of a bias before a batch normalization."""
    noise = np.array([3e-4, -1e-4, 2e-4])
    outcome = _explain(noise, -noise, exact=noise * 1e-12)
    assert outcome.status == PASSED and "(1 are sums that cancel, as far away under Chainer)" in outcome.notes[0]
    assert _explain(noise * 1e-3, -noise, exact=noise * 1e-12).status == FAILED
    # Or by the largest gradient of the case.
    noise = np.array([300.0, -100.0, 200.0])  # beside a gradient of 1e8
    assert _explain(noise * 1e-3, -noise, exact=noise * 1e-12, largest=1e8).status == PASSED
    assert _explain(noise * 1e-3, -noise, exact=noise * 1e-12, largest=1e7).status == PASSED
    assert _explain(noise * 1e-3, -noise, exact=noise * 1e-12, largest=1e6).status == FAILED
    # Ten times less where float64 is not zero.
    assert _explain(noise * 1e-3, -noise, exact=noise * 1e-4, largest=1e7).status == FAILED
    assert _explain(noise * 1e-3, -noise, exact=noise * 1e-12, largest=1e8, name="out").status == FAILED


@pytest.mark.parametrize(
    "double, words",
    [
        (FAILED, "float64 shows the same difference: it is one of meaning"),
        (UNVERIFIED, "float64 was not compared"),
    ],
)
def test_without_an_equal_float64_pass_nothing_is_rounding(double, words):
    outcome = _explain(EXACT, EXACT + OFF * 0.5, double=double)
    assert outcome.status == FAILED and words in outcome.reasons[-1]


@pytest.mark.parametrize(
    "more",
    [
        compare_arrays("out", np.zeros(3, np.float32), np.zeros(4, np.float32)),
        compare_arrays("out", np.zeros(3, np.float32), np.zeros(3, np.float64)),
        compare_arrays("out", np.zeros(3, np.int32), np.ones(3, np.int64)),
        Difference("elsewhere", "float32", 1.0, 1.0, "1 of 3 values differ"),  # float64 has no such value
    ],
)
def test_another_failure_beside_it_is_not_excused(more):
    assert _explain(EXACT, EXACT + OFF * 0.5, more=[more]).status == FAILED


def test_steps_of_training_amplify_rounding_without_a_limit():
    outcome = _explain(EXACT, EXACT * 2, name="step/2/out")
    assert outcome.status == PASSED and "rounding, which training amplifies (step/2/out: " in outcome.notes[0]
    assert _explain(EXACT, EXACT * 2, name="step/2/out", double=FAILED).status == FAILED


CHAINER = """
import chainer
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(6, 4)

    def forward(self, x):
        return self.fc(x)
"""
TORCH = """
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 4)

    def forward(self, x):
        return (self.fc(x))
"""
# What the port does with the same numbers, the status, and what is said.
PORTS = {
    "digits lost": ("(self.fc(x) + 3e3) - 3e3", PASSED, "arrays differ in float32 and not in float64: rounding"),
    "most digits lost": ("(self.fc(x) + 3e5) - 3e5", FAILED, "of more than float32 explains"),
    "half precision": ("self.fc(x.half().to(x.dtype))", FAILED, "float64 shows the same difference"),
    "a ten-thousandth": ("self.fc(x) * (1 + 2e-4)", FAILED, "float64 shows the same difference"),
}


@pytest.fixture(scope="module")
def ports(tmp_path_factory):
    variants = {name: TORCH.replace("(self.fc(x))", text) for name, (text, _, _) in PORTS.items()}
    return model_batch.verify(
        tmp_path_factory.mktemp("rounding"), CHAINER, variants, {None: ("Net", [], {"x": "f32[5,6]"})}, steps=0
    )


@pytest.mark.parametrize("name", PORTS)
def test_ports_that_round_in_another_way(ports, name):
    _, status, words = PORTS[name]
    assert ports[name][0] == status, ports[name][1]
    assert words in ports[name][1]


def test_the_summary_counts_them(tmp_path):
    for folder, text in (("src", CHAINER), ("out", TORCH.replace("(self.fc(x))", PORTS["digits lost"][0]))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "net.py").write_text(text)
    report = verify_models(
        tmp_path / "src",
        tmp_path / "out",
        steps=0,
        timeout=100,
        entries=[
            ModelEntry("net:Net", [], {}, {"x": "f32[5,6]"}, ["eval"]),
            ModelEntry("net:Net", [], {}, {"x": "f32[3,6]"}, ["eval"]),
        ],
    )  # of one class, but a case of its own
    assert report.exit_code == 0
    assert "4 cases equal (2 of them but for rounding in float32), 0 failed, 0 not verified" in report.lines()


def _refused(dtype, status, reason, **changes):
    outcome = Outcome(Pair(f"m-train@{dtype}", "net:N", dtype, "", "", dtype=dtype), status, [reason], compared=1)
    for name, value in changes.items():
        setattr(outcome, name, value)
    return outcome


@pytest.mark.parametrize(
    "said",
    [
        "expected m1 and m2 to have the same dtype, but got: float != double",
        "mixed dtype (CPU): all inputs must share same datatype.",
        "bias or scale: dtypes must be equal, not torch.float32 and torch.float64",
    ],
)
@pytest.mark.parametrize("error, rounded", [(3e-6, True), (1.5e-5, True), (3e-4, False)])
def test_a_program_of_float32_is_held_against_chainers_own_float64(error, rounded, said):
    """PyTorch mixes no dtypes: there its float64 pass stops."""
    exact = np.ones(4)
    chainer = {"m-train@float32": {"out": np.float32([1, 1, 1, 1 + 1e-6])}, "m-train@float64": {"out": exact}}
    torch = {"m-train@float32": {"out": np.float32([1, 1, 1, 1 + error])}, "m-train@float64": {}}
    single = _refused("float32", FAILED, "out: differs", failures=1, differing={"out": "differs"})
    double = _refused("float64", FAILED, said)
    double.raised = True
    rounding.explain([single, double], chainer.__getitem__, torch.__getitem__)
    rounding.without_float64([single, double])
    assert (single.status == PASSED) == rounded
    assert (double.status, double.float32_only) == ((UNVERIFIED, True) if rounded else (FAILED, False))


def test_rounding_does_not_hide_what_a_new_model_starts_with():
    drawn = Difference("init/model/W", "float32", 1.0, 1.0, "variance 2 instead of 1 (standard error 0.1)")
    outcome = _explain(EXACT, EXACT + OFF * 0.5, more=[drawn])
    assert outcome.status == FAILED and not outcome.rounded
    assert outcome.reasons == [
        "but for rounding, only what a new model starts with differs: init/model/W",
        "init/model/W: variance 2 instead of 1 (standard error 0.1)",
    ]


def test_an_exception_is_no_difference_of_meaning():
    single = _refused("float32", FAILED, "PyTorch: NameError", raised=True)
    double = _refused("float64", FAILED, "PyTorch: NameError", raised=True)
    rounding.explain([single, double], lambda name: {}, lambda name: {})
    assert single.reasons == ["PyTorch: NameError"]


@pytest.mark.parametrize(
    ("name", "value", "change", "status"),
    [
        ("step/2/out", 3, {"not_reached": True}, UNVERIFIED),  # training amplifies what may be rounding
        ("out", 3, {"not_reached": True}, FAILED),
        ("out", 3, {"not_reached": True, "begins": 1e-5}, UNVERIFIED),  # a deep network makes anything of rounding
        ("out", 3, {"not_reached": True, "begins": 1e-4}, FAILED),
        ("out", 3, {"not_reached": True, "begins": 1e-5, "failures": 2}, FAILED),  # one of them is no value
        ("out", 3, {"begins": 1e-5}, FAILED),
        ("out", 3, {"is_undecided": True}, UNVERIFIED),
        ("step/2/out", 3, {}, FAILED),
        ("pgrad/model/conv/W", 1.1, {"not_reached": True}, UNVERIFIED),  # a unit may have switched
        ("grad/x/0", 1.1, {"not_reached": True}, UNVERIFIED),
        ("pgrad/model/conv/W", 3, {"not_reached": True}, FAILED),
        ("pgrad/model/conv/W", 1.1, {}, FAILED),
        ("state/model/bn/avg_mean", 1.1, {"not_reached": True}, FAILED),  # these are of the forward pass
    ],
)
def test_what_float64_could_not_say_in_time(name, value, change, status):
    single, double = (
        Outcome(Pair(f"m-train@{dtype}", "net:A", dtype, "", "", dtype=dtype)) for dtype in ("float32", "float64")
    )
    single.status, single.differing, single.failures = FAILED, {name: "differs"}, 1
    double.status = UNVERIFIED
    for key, given in change.items():
        setattr(single if key in ("begins", "failures") else double, key, given)
    sides = ({name: np.float32([1, 2])}, {name: np.float32([value, 2])})
    rounding.explain([single, double], lambda _: sides[0], lambda _: sides[1])
    assert single.status == status


@pytest.mark.parametrize(
    ("inner", "begins"),
    [
        ([1, 2], 0.5),  # the inner one is equal, so it begins with the model's own output
        ([1, 2.02], 0.01),
        ([1.5, 2], 0.25),
        ([1, np.nan], None),
        (None, None),  # it was not called
        ([1, 2, 3], None),
    ],
)
def test_how_far_the_first_link_is_away(tmp_path, inner, begins):
    def side(name, arrays):
        folder = tmp_path / name
        folder.mkdir()
        np.savez(folder / "m-train@float32.npz", **{key.replace("/", "|"): np.float32(v) for key, v in arrays.items()})
        calls = [
            {"path": path, "key": key, "line": "net.py:1", "type": "Link", "target": ""}
            for path, key in (("/fc", "call/0"), ("/", "call/1"))
            if key in arrays
        ]
        record = {"status": "ok", "outputs": {"t": "array", "key": "out"}, "calls": calls}
        return WorkerResult(folder, {"m-train@float32": record}, {}, None, "")

    left = side("chainer", {"out": [1, 2], "call/0": [1, 2], "call/1": [1, 2]})
    right = side("torch", {"out": [1, 3], "call/1": [1, 3]} | ({} if inner is None else {"call/0": inner}))
    pair = Pair("m-train@float32", "net:A", "float32", "", "", dtype="float32")
    outcome = model_verdict.outcome_of(pair, left, right, "cpu")
    assert outcome.status == FAILED and outcome.begins == pytest.approx(begins)
