"""Calls inside the braces of f-strings: what they become has to stand there in every Python from 3.10 on."""

import ast

import pytest

from chainer2torch.engine import Options, migrate_source
from chainer2torch.rules.table import load_rules

RULES = load_rules(lazy=True, style="native")
HEAD = "import chainer\nimport chainer.functions as F\n\n\ndef f(x, d):\n    return "


def body(expression):
    result = migrate_source(HEAD + expression + "\n", rules=RULES)
    assert result.error is None
    ast.parse(result.code)
    assert migrate_source(result.code, rules=RULES).code == result.code
    return result.code.rpartition("    return ")[2].strip(), result


@pytest.mark.parametrize(
    "before, inside",
    [
        ("f'{F.resize_images(x, (2, 3))}'", 'mode="bilinear"'),
        ('f"{F.resize_images(x, (2, 3))}"', "mode='bilinear'"),
        ("f'a{F.relu(x)!r:>{d}} {F.resize_images(x, (2, 3))}'", 'mode="bilinear"'),
        ("f'''{F.resize_images(x, (2, 3))}'''", "mode='bilinear'"),
    ],
)
def test_texts_of_a_template_take_the_other_quotes(before, inside):
    after, result = body(before)
    assert inside in after and "F.resize_images" not in after
    quote = after[1:].partition("{")[0][:1]
    if not after.startswith("f'''"):
        assert quote not in after[2:-1]


def test_what_fits_in_no_quotes_stays_and_the_rest_of_the_file_is_done():
    after, result = body("[F.relu(x), f'{d[\"a\"]} {F.resize_images(x, (2, 3))}']")
    assert 'mode="bilinear"' in after
    before = "[F.relu(x), f\"{F.resize_images(x, (2, 3))} {d['a']}\", f'''{d['a']} {d[\"b\"]} {F.relu(x)}''']"
    after, result = body(before)
    assert "F.resize" not in after and "chainer" not in result.code


def test_where_no_quotes_are_left_the_call_stays_and_is_marked():
    after, result = body("[F.relu(x), f'{f\"{F.resize_images(x, (2, 3)).ndim}\"}']")
    assert "F.resize_images(x, (2, 3))" in after and after.startswith("[")
    states = {site.symbol: (site.state, site.code) for site in result.sites}
    assert states["chainer.functions.resize_images"] == ("manual", "C2T011")
    assert states["chainer.functions.relu"][0] == "exact" and "F.relu" not in after.partition("f'")[0].replace(
        "nn.f", ""
    )


_WRITES = """import chainer
import chainer.links as L


class Box(object):
    def __init__(self, value, name='b'):
        self.value, self.name = value, name

    @property
    def held(self):
        return self.value


def f(xs):
    y = L.Linear(3, 3)(xs)
    h, box = y, Box(y.array)
    return WRITTEN
"""


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize(
    "before, after",
    [
        ("'{0.shape} {0.ndim}'.format(h)", "'{0.shape} {0.ndim}'.format(h.detach().cpu().numpy())"),
        ("'{n.dtype} {n.size}'.format(n=h)", "'{n.dtype} {n.size}'.format(n=h.detach().cpu().numpy())"),
        ("format(h.array)", "format(h.detach().cpu().numpy())"),
        ("'{:}'.format(h.array)", "'{:}'.format(h.detach().cpu().numpy())"),
        ("'{!r:>40}'.format(h.array)", "'{!r:>40}'.format(h.detach().cpu().numpy())"),
        ("'{1.name} {0:d}'.format(3, box)", "'{1.name} {0:d}'.format(3, box)"),
        ("format(h.array[0, 0], '.2f')", "format(h.detach()[0, 0], '.2f')"),
    ],
)
def test_what_a_format_writes_of_tensors_is_an_arrays(before, after, style):
    result = migrate_source(_WRITES.replace("WRITTEN", before), options=Options(style=style))
    assert f"return {after}\n" in result.code
    assert not any(site.state in ("review", "manual") for site in result.sites)


@pytest.mark.parametrize(
    "before",
    [
        "'{0.value}'.format(box)",
        "'{.name} {.held}'.format(box, box)",
        "'{b.value.shape}'.format(b=box)",
        "'{.grad}'.format(h)",
    ],
)
def test_a_member_that_a_format_writes_and_that_is_a_tensor_is_asked_about(before):
    once = migrate_source(_WRITES.replace("WRITTEN", before), options=Options(style="native"))
    assert [s.state for s in once.sites if "writes a member" in s.message] == ["review"], once.code
    assert migrate_source(once.code, options=Options(style="native")).code == once.code
