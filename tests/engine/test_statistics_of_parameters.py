"""Functions that ParameterStatistics calls: they got arrays, and get tensors."""

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules

HEAD = """
import numpy as np
import chainer
from chainer import backend
from chainer.training import extensions


def spread(x):
    return x.std()


def widest(x):
    xp = backend.get_array_module(x)
    return xp.max(xp.abs(x))


"""
RULES = load_rules(style="native", lazy=True)


@pytest.mark.parametrize(
    "body, expected",
    [
        ("{'s': lambda x: x.std()}", "lambda x: x.std(correction=0)"),
        ("{'s': spread}", "return x.std(correction=0)"),
        ("{'w': widest}", "torch.amax(torch.abs(x))"),
        ("{'m': np.mean}", "lambda x: np.mean(x.cpu().numpy())"),
        ("dict(m=np.mean)", "lambda x: np.mean(x.cpu().numpy())"),
        ("{'p': lambda x: np.percentile(x, 5)}", "np.percentile(x.cpu().numpy(), 5)"),
    ],
)
def test_statistics_of_the_users_own(body: str, expected: str) -> None:
    for text in (
        f"extensions.ParameterStatistics(model, {body})",
        f"extensions.ParameterStatistics(model, statistics={body})",
    ):
        code = migrate_source(f"{HEAD}def f(model, trainer):\n    trainer.extend({text})\n", rules=RULES).code
        assert expected in code, code
    text = f"def f(model):\n    s = {body}\n    return extensions.ParameterStatistics(model, s)\n"
    code = migrate_source(HEAD + text, rules=RULES).code
    assert expected in code, code


def test_a_function_of_numpy_that_comes_from_elsewhere() -> None:
    text = "def g():\n    return {'m': np.mean}\n\n\ndef f(m):\n    return extensions.ParameterStatistics(m, g())\n"
    result = migrate_source(HEAD + text, rules=RULES)
    assert "is a function of NumPy gets a tensor now" in result.code
