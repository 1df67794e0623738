"""Rule packs: what they claim, and what becomes of code that uses the libraries."""

import re

import numpy
import pytest
import torch

from chainer2torch.engine import Options, migrate_source
from chainer2torch.rules.table import load_rules

RULES = load_rules()
ROWS = [row for library in sorted(RULES.packs) for _, row in sorted(RULES.packs[library].items())]
COUNTERPARTS = {"chainerrl": "pfrl", "chainercv": "torchvision", "onnx_chainer": "torch"}
EXECUTED = {
    "chainerrl": ("tests/compat/test_pfrl_counterparts.py", "pfrl."),
    "chainercv": ("tests/compat/test_chainercv_helpers.py", "compat."),
}


def test_there_are_packs_and_no_row_of_theirs_is_loaded_without_the_library():
    assert set(RULES.packs) == set(COUNTERPARTS) and len(ROWS) > 300
    assert not [name for name in RULES.rows if name.split(".")[0] in COUNTERPARTS]
    assert set(RULES.packs) <= set(RULES.libraries)
    everything = RULES.with_packs(frozenset(RULES.packs))
    assert len(everything.rows) == len(RULES.rows) + len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_claims_no_more_than_was_seen(row):
    library = row.name.split(".")[0]
    assert row.code == "C2T091"
    if row.alias:
        assert RULES.packs[library][row.alias].alias is None
        return
    if row.state == "exact":  # a helper of ours, or PFRL's counterpart, compared with the library itself
        proof, head = EXECUTED[library]
        assert row.proof == proof
        assert all(str(template).startswith(head) for template in row.templates)
        return
    assert row.state in ("review", "manual"), "what the tests do not execute is not exact"
    assert row.note and row.next
    assert row.state == "review" or not list(row.templates), "a manual row writes nothing"
    if row.state == "review" and not row.attribute:
        names = re.findall(r"\b(?:pfrl|torchvision)\b", " ".join(row.templates))
        assert set(names) <= {COUNTERPARTS[library]}


def migrate(text):
    return migrate_source(f"import chainer\nimport chainerrl\nfrom chainercv import utils\n\n{text}")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("chainerrl.explorers.Boltzmann()", "pfrl.explorers.Boltzmann()"),
        ("chainerrl.q_function.DuelingDQN(4)", "pfrl.q_functions.DuelingDQN(4)"),
        (
            "chainerrl.replay_buffers.PriorityWeightError(1, 2, 3, 4, 5, 6, 7)",
            "pfrl.replay_buffers.PriorityWeightError(1, 2, 3, 4, 5, 6, 7)",
        ),
        ("chainerrl.agents.DQN(q, opt, rb, 0.9, ex, phi=phi)", "pfrl.agents.DQN(q, opt, rb, 0.9, ex, phi=phi)"),
    ],
)
def test_a_call_becomes_the_counterparts_and_is_to_be_looked_at(before, after):
    result = migrate(before + "\n")
    assert result.code.rstrip().endswith(after), result.code
    assert [site.state for site in result.sites] == ["review"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("utils.bbox_iou(a, b)", "compat.bbox_iou(a, b)"),
        ("utils.non_maximum_suppression(a, 0.5, score=s)", "compat.non_maximum_suppression(a, 0.5, score=s)"),
        ("utils.non_maximum_suppression(a, 0.5)", "compat.non_maximum_suppression(a, 0.5)"),
        (
            "from chainercv import transforms as T\nT.random_flip(a, x_random=True, return_param=True)",
            "compat.random_flip_image(a, x_random=True, return_param=True)",
        ),
    ],
)
def test_what_works_on_arrays_becomes_a_helper(before, after):
    result = migrate(before + "\n")
    assert result.code.rstrip().endswith(after), result.code
    assert [site.state for site in result.sites] == ["exact"]


@pytest.mark.parametrize(
    ("text", "symbol", "word"),
    [
        ("chainerrl.agents.DQN(q, opt, rb, 0.9, ex, average_q_decay=0.9)", "chainerrl.agents.DQN", "no counterpart"),
        ("chainerrl.links.EmpiricalNormalization(3)", "chainerrl.links.EmpiricalNormalization", "before it normalizes"),
        ("chainerrl.agents.PCL(m, o)", "chainerrl.agents.PCL", "PFRL has no PCL"),
        (
            "a = chainerrl.agents.DQN(q, opt, rb, 0.9, ex)\na.act_and_train(x, 0)",
            "chainerrl.agent.Agent.act_and_train",
            "splits it",
        ),
        ("chainerrl.agents.Unheard()", "chainerrl.agents.Unheard", "PFRL (pfrl)"),
    ],
)
def test_what_has_no_counterpart_stays_and_says_why(text, symbol, word):
    result = migrate(text + "\n")
    site = next(site for site in result.sites if site.symbol == symbol)
    assert site.state == "manual" and word in site.message
    assert text.splitlines()[-1] in result.code
    assert result.left or ".Agent." in symbol, "a method names no library"


ONNX = """\
import chainer
import numpy as np
import onnx_chainer


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = chainer.links.Linear(3, 4)

    def forward(self, x):
        return chainer.functions.dropout(self.l(x))


net = Net()
x = np.ones((2, 3), np.float32)
"""


@pytest.mark.parametrize(
    ("call", "after"),
    [
        ("(net, x, filename='a.onnx')", "(net.eval(), (torch.as_tensor(x),), 'a.onnx')"),
        ("(net, (x, x), 'a.onnx')", "(net.eval(), tuple(map(torch.as_tensor, (x, x))), 'a.onnx')"),
        ("(net, x, 'a.onnx', input_names=n)", "(net.eval(), (torch.as_tensor(x),), 'a.onnx', input_names=n)"),
    ],
)
def test_a_model_is_exported_in_evaluation_mode(call, after):
    result = migrate_source(f"{ONNX}onnx_chainer.export{call}\n")
    assert result.code.rstrip().endswith(f"torch.onnx.export{after}"), result.code
    assert "import onnx_chainer" not in result.code
    assert [site.state for site in result.sites if site.symbol == "onnx_chainer.export"] == ["review"]


@pytest.mark.parametrize("call", ["(net, x, train=True)", "(net, unknown)", "(net, x, external_converters={})"])
def test_an_export_that_pytorch_does_otherwise_stays(call):
    result = migrate_source(f"{ONNX}onnx_chainer.export{call}\n")
    assert f"\nonnx_chainer.export{call}" in result.code
    assert [site.state for site in result.sites if site.symbol == "onnx_chainer.export"] == ["manual"]


def test_an_exported_model_gives_the_same_values(tmp_path):
    pytest.importorskip("onnxscript")
    onnxruntime = pytest.importorskip("onnxruntime")
    text = f"{ONNX}onnx_chainer.export(net, x, {str(tmp_path / 'a.onnx')!r})\n"
    names = {}
    exec(migrate_source(text, options=Options(style="native")).code, names)
    session = onnxruntime.InferenceSession(tmp_path / "a.onnx")
    (found,) = session.run(None, {session.get_inputs()[0].name: names["x"]})
    wanted = names["net"](torch.as_tensor(names["x"])).detach().numpy()
    numpy.testing.assert_allclose(found, wanted, rtol=1e-5)
