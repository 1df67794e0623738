"""Classes on a layer of Chainer's: what they hand its constructor is read as the arguments of a call are."""

import pytest

from chainer2torch.engine import Options, migrate_source
from chainer2torch.plan.bound_names import with_names_of_its_own
from chainer2torch.plan.edits import Operand, Replace

HEAD = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\n"
V1 = "\nx = chainer.Variable(w, volatile='on')\n"


def migrated(base: str, arguments: str, *, explicit: bool = False, version: str = V1) -> tuple[str, set[str]]:
    """The line that calls the constructor, and the states of the places it has."""
    call = f"L.{base}.__init__(self, {arguments})" if explicit else f"super(Own, self).__init__({arguments})"
    source = f"{HEAD}\n\nclass Own(L.{base}):\n    def __init__(self, n, w, **kw):\n        {call}\n{version}"
    result = migrate_source(source, options=Options(style="native"))
    line = next(line.strip() for line in result.code.splitlines() if "__init__(" in line and "def " not in line)
    return line, {site.state for site in result.sites if site.symbol == f"chainer.links.{base}.__init__"}


@pytest.mark.parametrize(
    ("base", "before", "after"),
    [
        ("NStepLSTM", "1, n, n, 0.5, True", "1, n, n, 0.5"),
        ("NStepLSTM", "1, n, n, 0.5, use_cudnn=w", "1, n, n, 0.5"),
        ("NStepBiGRU", "1, n, n, dropout=0.5, use_cudnn=w", "1, n, n, dropout=0.5"),
        ("Linear", "n, n, wscale=1, nobias=True", "n, n, nobias=True"),
        ("Linear", "n, n, 1, 0, True", "n, n, initial_bias=0, nobias=True"),
        ("Convolution2D", "n, n, 3, 1, 1, use_cudnn=False", "n, n, 3, 1, 1"),
        ("BatchNormalization", "n, use_cudnn=False", "n"),
    ],
)
@pytest.mark.parametrize("explicit", [False, True])
def test_arguments_of_version_1_without_a_meaning_go(base: str, before: str, after: str, explicit: bool) -> None:
    line, states = migrated(base, before, explicit=explicit)
    assert line.partition("__init__(")[2] == f"{'self, ' if explicit else ''}{after})"
    assert states == {"exact"}


@pytest.mark.parametrize(
    ("base", "arguments"),
    [
        ("NStepLSTM", "1, n, n, 0.5, None, None"),
        ("Linear", "n, n, wscale=0.1"),
        ("Linear", "n, n, unknown=3"),
        ("LSTM", "n, n, None, None, None, None, 3, 4"),
        ("EmbedID", ""),
    ],
)
@pytest.mark.parametrize("version", [V1, ""])
def test_a_call_that_does_not_fit_is_said(base: str, arguments: str, version: str) -> None:
    line, states = migrated(base, arguments, version=version)
    assert line.endswith(f"__init__({arguments})") and states == {"manual"}


@pytest.mark.parametrize(
    ("base", "arguments"),
    [
        ("Linear", "n, n"),
        ("Linear", "n, n, True, initialW=w"),
        ("NStepLSTM", "1, n, n, 0.5, initialW=w"),
        ("Linear", "*w"),
        ("Linear", "n, **kw"),
        ("Convolution2D", "n, n, ksize=3, pad=1"),
    ],
)
def test_what_fits_stays_as_it_is(base: str, arguments: str) -> None:
    line, states = migrated(base, arguments, version="")
    assert line.endswith(f"__init__({arguments})") and not states


def test_names_of_a_template_are_none_of_the_operands() -> None:
    """``[lst[i] for i in indices]`` with an ``i`` of the program's own would take other elements."""
    source = (
        "from chainer.links.rnn.n_step_rnn import argsort_list_descent, permutate_list\n\n\n"
        "def f(batches, order):\n"
        "    out = []\n"
        "    for i in range(len(batches)):\n"
        "        out += permutate_list(batches[i], order, inv=False)\n"
        "        out += permutate_list(batches[i], order, inv=True)\n"
        "        out += permutate_list(list(batches[i]), order, inv=False)\n"
        "    x = [[0], [0, 0]]\n"
        "    return out, argsort_list_descent([x[0], x[1]])\n"
    )
    result = migrate_source(source, options=Options(style="native"))
    namespace: dict[str, object] = {}
    helper = "def permutate_list(lst, indices, inv):\n    return [lst[i] for i in indices]\n"
    code = result.code.replace("import chainer_compat as compat\n", helper).replace(
        "compat.permutate_list", "permutate_list"
    )
    exec(code, namespace)
    found, order = namespace["f"]([["a", "b", "c"], ["d", "e", "f"]], [2, 0, 1])  # type: ignore[operator]
    assert found == ["c", "a", "b", "b", "c", "a", "c", "a", "b", "f", "d", "e", "e", "f", "d", "f", "d", "e"]
    assert list(order) == [1, 0]


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_places_of_version_1_of_the_helpers_for_lists(style: str) -> None:
    source = (
        "from chainer.links.connection.n_step_lstm import argsort_list_descent, permutate_list\n\n\n"
        "def f(xs):\n    return permutate_list(xs, argsort_list_descent(xs), inv=False)\n"
    )
    result = migrate_source(source, options=Options(style=style))
    assert {site.state for site in result.sites} == {"exact"} and "chainer" not in result.code


@pytest.mark.parametrize(("value", "after"), [("'auto'", "True"), ("'never'", "False"), ("mode", "mode != 'never'")])
def test_a_switch_that_is_set_to_what_is_written_down(value: str, after: str) -> None:
    result = migrate_source(f"import chainer\n\n\ndef f(mode):\n    chainer.config.use_cudnn = {value}\n")
    assert f"torch.backends.cudnn.enabled = {after}\n" in result.code


@pytest.mark.parametrize(
    ("arguments", "found"),
    [("config", {"manual"}), ("L.Linear(3, 3), config", {"manual"}), ("L.Linear(3, 3)", set()), ("*links", set())],
)
def test_what_is_no_link_in_a_list_of_links(arguments: str, found: set[str]) -> None:
    """Chainer keeps it beside the links; nn.ModuleList raises."""
    result = migrate_source(
        f"{HEAD}\n\nclass Config(object):\n    pass\n\n\nclass Net(chainer.ChainList):\n"
        f"    def __init__(self, config, *links):\n        super().__init__({arguments})\n\n\nnet = Net(Config())\n",
        options=Options(style="native"),
    )
    assert {s.state for s in result.sites if s.symbol == "chainer.ChainList.__init__"} == found


def test_a_name_that_a_lambda_holds_on_purpose_stays() -> None:
    edit = Replace(
        (0, 0), "step(lambda t, rate=rate: RATE ** t, lambda t: RATE * t)", {"RATE": Operand(code="rate + t")}
    )
    changed = with_names_of_its_own("", edit)
    assert changed.template == "step(lambda t_, rate=rate: RATE ** t_, lambda t_: RATE * t_)"
