"""When a distribution of Chainer's becomes torch's own: where nothing of the project asks it for more."""

import textwrap

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options

HEAD = """
import numpy as np
import chainer
import chainer.functions as F
import chainer.distributions as D

def given():
    return chainer.Variable(np.ones((2, 3), 'f'))

"""


def body(statements: str, style: str = "native") -> str:
    source = HEAD + "def f(unknown):\n" + textwrap.indent(textwrap.dedent(statements).strip(), "    ") + "\n"
    result = migrate_source(source, options=Options(style=style))
    assert result.error is None
    return textwrap.dedent(result.code.split("def f(unknown):\n")[1]).strip()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("D.Normal(loc=x, log_scale=x).sample()", "torch.distributions.Normal(x, torch.exp(x)).rsample()"),
        ("D.Normal(x, x).sample(3)", "torch.distributions.Normal(x, x).rsample((3,))"),
        ("D.Normal(x, x).sample((3, 2))", "torch.distributions.Normal(x, x).rsample((3, 2))"),
        ("D.Normal(x, x).sample_n(len(x))", "torch.distributions.Normal(x, x).rsample((len(x),))"),
        ("D.Normal(x, x).entropy * 2", "torch.distributions.Normal(x, x).entropy() * 2"),
        (
            "D.Bernoulli(logit=x, binary_check=unknown).mean",
            "torch.distributions.Bernoulli(logits=x, validate_args=unknown).mean",
        ),
        ("isinstance(unknown, D.Normal)", "isinstance(unknown, torch.distributions.Normal)"),
        (
            "D.Independent(D.Normal(x, x)).log_prob(x)",
            "torch.distributions.Independent(torch.distributions.Normal(x, x), 1).log_prob(x)",
        ),
    ],
)
def test_torchs_own(before: str, after: str) -> None:
    assert body(f"x = given()\nreturn {before}").splitlines()[-1] == f"return {after}"


@pytest.mark.parametrize(
    "more",
    [
        "unknown.sample()",
        "unknown.entropy",
        "D.Normal(unknown, unknown).cdf(unknown)",
        "D.Normal(unknown, unknown).sample(unknown)",
        "D.Normal(unknown, unknown).params",
        "D.Normal(unknown, unknown).log_prob",
        "getattr(D.Normal(unknown, unknown), 'log_prob')",
        "D.Normal(*unknown)",
        "D.Normal(unknown)",
        "unknown(D.Normal)",
        "getattr(D, unknown)",
        "chainer.cross_entropy(unknown, unknown)",
        "isinstance(unknown, chainer.Distribution)",
        "chainer.kl_divergence(unknown, D.Normal(unknown, unknown))",
        "D.Independent(unknown)",
        "D.Independent(D.Normal(unknown, unknown))",
        "D.Independent(D.Laplace(unknown, unknown), 1)",
    ],
)
def test_one_use_that_torchs_have_not_keeps_them(more: str) -> None:
    found = body(f"x = given()\nother = {more}\nreturn D.Normal(x, x).sample(), other")
    assert "compat.NormalDistribution(x, x).sample()" in found
    assert "rsample" not in found


def test_a_class_on_one_keeps_it() -> None:
    found = body("""
        class Own(D.Normal):
            pass
        x = given()
        return D.Normal(x, x).sample()
    """)
    assert "compat.NormalDistribution(x, x).sample()" in found


def test_samples_of_a_bernoulli_are_whole_numbers() -> None:
    found = body("x = given()\nreturn D.Bernoulli(logit=x).sample(), D.Normal(x, x).sample()")
    assert "compat.BernoulliDistribution(logit=x).sample()" in found
    assert "torch.distributions.Normal(x, x).rsample()" in found


def test_a_value_gets_no_gradient_by_a_bernoulli() -> None:
    """Chainer's gives none; torch's does."""
    found = body("""
        x = given()
        p = D.Independent(D.Bernoulli(logit=x), 1)
        q = D.Independent(D.Normal(x, x), 1)
        return p.log_prob(F.exp(x)), q.log_prob(x), D.Bernoulli(logit=x).log_prob(x)
    """)
    assert "return p.log_prob(torch.exp(x).detach()), q.log_prob(x), " in found
    assert "validate_args=False).log_prob(x.detach())" in found


def test_which_is_wrapped_has_to_be_known() -> None:
    found = body("""
        x = given()
        p = D.Independent(D.Bernoulli(logit=x) if unknown else D.Normal(x, x), 1)
        return p.log_prob(x)
    """)
    assert "compat.IndependentDistribution(" in found and "detach" not in found


def test_the_faithful_style_keeps_the_helper() -> None:
    assert "compat.NormalDistribution(x, x).sample()" in body("x = given()\nreturn D.Normal(x, x).sample()", "faithful")


@pytest.mark.parametrize(
    "kept",
    [
        "return D.Normal(x, x)",
        "return x, D.Independent(D.Normal(x, x))",
        "q = D.Normal(x, x)\n    return q, q.mean",
        "unknown.q = D.Normal(x, x)",
        "return lambda: D.Normal(x, x)",
        "unknown(D.Normal(x, x))",
    ],
)
def test_what_others_get_may_be_asked_for_samples(kept: str) -> None:
    """Nobody calls the function here: who does may call ``sample``, which has no gradient in torch."""
    assert "torch.distributions" not in body(f"x = given()\n{textwrap.dedent(kept)}".replace("\n    ", "\n"))


def test_what_a_caller_here_gets() -> None:
    found = body("""
        def made(x):
            return D.Normal(x, x)
        return made(given()).sample()
    """)
    assert "return torch.distributions.Normal(x, x)" in found and "made(given()).rsample()" in found
