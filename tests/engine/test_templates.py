"""Calls become templates: binding, macros, parentheses, layout."""

import pytest

CALLS = [
    ("F.relu(x)", "F.relu(x)"),
    ("F.relu(x=x)", "F.relu(x)"),
    ("F.tanh(x)", "torch.tanh(x)"),
    ("F.leaky_relu(x)", "F.leaky_relu(x, negative_slope=0.2)"),
    ("F.leaky_relu(x, .1)", "F.leaky_relu(x, negative_slope=.1)"),
    ("F.leaky_relu(slope=.1, x=x)", "F.leaky_relu(x, negative_slope=.1)"),
    # the order of the arguments and a dropped default
    ("F.swapped(1, 2)", "compat.swapped(2, 1)"),
    ("F.swapped(b=2, a=1)", "compat.swapped(2, 1)"),
    ("F.swapped(1, 2, None)", "compat.swapped(2, 1)"),
    ("F.swapped(1, 2, c=3)", "compat.swapped(2, 1, third=3)"),
    ("F.dropout(x)", "F.dropout(x, training=compat.is_training())"),
    ("F.dropout(x, 0.5)", "F.dropout(x, training=compat.is_training())"),
    ("F.dropout(x, ratio=r)", "F.dropout(x, p=r, training=compat.is_training())"),
    # CONST
    ("F.scale(x)", "compat.scale(x, 0.1)"),
    ("F.scale(x, 0.75)", "compat.scale(x, 0.25)"),
    ("F.scale(x, decay=d)", "compat.scale(x, 1 - d)"),
    ("F.scale(x, a + b)", "compat.scale(x, 1 - (a + b))"),
    # LONG
    ("F.pick(x, t)", "compat.pick(x, t.long())"),
    ("F.pick(x, a + b)", "compat.pick(x, (a + b).long())"),
    ("F.pick(x, F.labels(x))", "compat.pick(x, compat.labels(x))"),
    # * and ** of a signature
    ("F.stack()", "compat.stack()"),
    ("F.stack(x, y, z)", "compat.stack(x, y, z)"),
    ("F.configured(x)", "compat.configured(x)"),
    ("F.configured(x, a=1, b=2)", "compat.configured(x, a=1, b=2)"),
    # operators bind as before
    ("F.divide(a + b, c)", "(a + b) / c"),
    ("F.divide(a, b * c)", "a / (b * c)"),
    ("F.divide(a, b) ** 2", "(a / b) ** 2"),
    ("-F.divide(a, b)", "-(a / b)"),
    ("F.divide(a, b).sum()", "(a / b).sum()"),
    ("F.divide(a, b)[0]", "(a / b)[0]"),
    ("f(F.divide(a, b), k=F.divide(a, b))", "f(a / b, k=a / b)"),
    ("[F.divide(a, b), F.divide(a, b)]", "[a / b, a / b]"),
    ("F.divide(lambda: 1, x if y else z)", "(lambda: 1) / (x if y else z)"),
    ("F.centre(a + b)", "(a + b).mean()"),
    ("F.centre(-a)", "(-a).mean()"),
    ("F.centre(a if b else c)", "(a if b else c).mean()"),
    ("F.centre(await_)", "await_.mean()"),
    ("F.centre(a[0])", "a[0].mean()"),
    ("F.centre(F.divide(a, b))", "(a / b).mean()"),
    # nested and chained
    ("F.relu(F.tanh(F.relu(x)))", "F.relu(torch.tanh(F.relu(x)))"),
    ("F.relu(net.l1(F.dropout(x)))", "F.relu(net.l1(F.dropout(x, training=compat.is_training())))"),
    ("F.relu(x).foo(F.tanh(y)).bar", "F.relu(x).foo(torch.tanh(y)).bar"),
    ("F.relu(F.tanh)", "F.relu(torch.tanh)"),
    # * and ** of a call
    ("F.relu(*x)", "F.relu(*x)"),
    ("F.leaky_relu(*x)", "compat.leaky_relu(*x)"),
    ("F.leaky_relu(x, **k)", "compat.leaky_relu(x, **k)"),
    # values
    ("map(F.relu, xs)", "map(F.relu, xs)"),
    ("f(activation=F.leaky_relu)", "f(activation=compat.leaky_relu)"),
    ("functools.partial(F.leaky_relu, slope=.1)", "functools.partial(compat.leaky_relu, slope=.1)"),
    # spelled with the whole path, old modules included
    ("chainer.functions.relu(x)", "F.relu(x)"),
    ("chainer.functions.activation.relu.relu(x)", "F.relu(x)"),
    # parentheses and line breaks around the callee
    ("(F.relu)(x)", "F.relu(x)"),
    ("((F.tanh(x)))", "((torch.tanh(x)))"),
    ("F .tanh (x)", "torch.tanh(x)"),
    ("F.\\\n    tanh(x)", "torch.tanh(x)"),
    ("(F\n    .tanh(x))", "(torch.tanh(x))"),
    # f-strings
    (
        "f'{F.tanh(x).ndim!r} {F.leaky_relu(x).ndim:>{F.tanh(y).ndim}}'",
        "f'{torch.tanh(x).ndim!r} {F.leaky_relu(x, negative_slope=0.2).ndim:>{torch.tanh(y).ndim}}'",
    ),
    # everywhere that expressions stand
    ("lambda y=F.tanh(x): F.tanh(y)", "lambda y=torch.tanh(x): torch.tanh(y)"),
    ("[F.tanh(a) for a in F.tanh(x) if F.tanh(a)]", "[torch.tanh(a) for a in torch.tanh(x) if torch.tanh(a)]"),
    ("{F.tanh(k): F.tanh(v) for k, v in x}", "{torch.tanh(k): torch.tanh(v) for k, v in x}"),
    ("(F.tanh(a) for a in x)", "(torch.tanh(a) for a in x)"),
    ("F.tanh(a for a in x)", "torch.tanh(a for a in x)"),
    ("{**F.tanh(x), 'a': F.tanh(y)}", "{**torch.tanh(x), 'a': torch.tanh(y)}"),
    ("x[F.tanh(a):F.tanh(b), F.tanh(c)]", "x[torch.tanh(a):torch.tanh(b), torch.tanh(c)]"),
    ("F.tanh(a) if F.tanh(b) else F.tanh(c)", "torch.tanh(a) if torch.tanh(b) else torch.tanh(c)"),
    ("F.tanh(a) < F.tanh(b) < 3 and not F.tanh(c)", "torch.tanh(a) < torch.tanh(b) < 3 and not torch.tanh(c)"),
    ("f(*F.tanh(a), **F.tanh(b))", "f(*torch.tanh(a), **torch.tanh(b))"),
    ("(y := F.tanh(x))", "(y := torch.tanh(x))"),
    ("F.tanh((1, 2))", "torch.tanh((1, 2))"),
    ("F.tanh(((1, 2)))", "torch.tanh(((1, 2)))"),
    ("(F.tanh(a), (F.tanh(b),))", "(torch.tanh(a), (torch.tanh(b),))"),
    # offsets count characters where ast counts bytes
    ("'äöü€😀' + F.tanh(x) + 'é' + F.tanh(y)", "'äöü€😀' + torch.tanh(x) + 'é' + torch.tanh(y)"),
    ("'''\nä\n''' + F.tanh(x)", "'''\nä\n''' + torch.tanh(x)"),
]


@pytest.mark.parametrize(("before", "after"), CALLS, ids=[c[0] for c in CALLS])
def test_expression(body, before, after):
    assert body(f"result = {before}\n").split("result = ", 1)[1] == after + "\n"


LAYOUT = [
    # arguments keep their lines and comments
    (
        """
    y = F.leaky_relu(  # open
        x,
        # about the slope
        0.3)  # end
    """,
        """
    y = F.leaky_relu(  # open
        x,
        # about the slope
        negative_slope=0.3)  # end
    """,
    ),
    (
        """
    y = F.leaky_relu(
        x,  # the input
        slope=0.3,  # the slope
    )
    """,
        """
    y = F.leaky_relu(
        x,  # the input
        negative_slope=0.3,  # the slope
    )
    """,
    ),
    (
        """
    y = F.relu(
        x,  # the only one
    )
    """,
        """
    y = F.relu(
        x,  # the only one
    )
    """,
    ),
    (
        """
    y = F.tanh(F.leaky_relu(
        x, slope=0.3
    ))
    """,
        """
    y = torch.tanh(F.leaky_relu(
        x, negative_slope=0.3
    ))
    """,
    ),
    # a comment whose place disappears moves above the statement
    (
        """
    y = F.swapped(1,  # one
                  2,  # two
                  None,  # nothing
                  )
    """,
        """
    # nothing
    y = compat.swapped(2,  # two
                       1,  # one
                       )
    """,
    ),
    (
        """
    if F.centre(  # why
            x):
        pass
    """,
        """
    if x.mean(  # why
            ):
        pass
    """,
    ),
]


@pytest.mark.parametrize(("before", "after"), LAYOUT)
def test_layout(body, before, after):
    import textwrap

    assert body(before) == textwrap.dedent(after)


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("F.blocked(x)", "PyTorch has no such function.; write it by hand"),
        ("F.no_such_name(x)", "no rule for this name"),
        ("F.relu(x, 1)", "does not fit Chainer's signature: takes 1 positional arguments, 2 were given"),
        ("F.relu(y=1)", "has no argument `y`"),
        ("F.relu(x, x=1)", "argument `x` is given twice"),
        ("F.pick(x)", "argument `t` is missing"),
        ("F.relu(**x)", "called with * or **"),
        ("F.swapped(*x)", "called with * or **"),
        ("F.narrow(x, 2)", "have no counterpart"),
        ("F.narrow(x, axis)", "depends on arguments that are not known here"),
        ("map(F.dropout, x)", "passed as a value"),
        ("print(chainer.links)", "no rule for this name"),
        ("importlib.import_module('chainer.functions')", "imported by name"),
        ("__import__('chainer')", "imported by name"),
    ],
)
def test_what_cannot_be_converted_is_left_under_a_marker(migrate, before, words):
    result = migrate(f"import chainer.links\nimport chainer.functions as F\nresult = {before}\n")
    assert f"\nresult = {before}\n" in result.code
    marker = result.code.splitlines()[-2]
    assert marker.startswith("# TODO(chainer2torch C2T") and words.split(";")[0].rstrip(".") in marker
    assert [s.state for s in result.sites] == ["manual"]
    assert result.left >= 1


def test_review_is_rewritten_under_a_marker(body):
    assert (
        body("y = F.checked(x)\n")
        == "# TODO(chainer2torch C2T100): chainer.functions.checked: The default differs.\ny = compat.checked(x)\n"
    )


@pytest.mark.parametrize(
    ("call", "after"),
    [
        ("F.ranked(x)", "compat.all_of(x)"),
        ("F.ranked(x, None)", "compat.all_of(x)"),
        ("F.ranked(x, 0)", "compat.general(x, 0)"),  # false whatever the rank is
        ("F.ranked(x, 1)", "compat.undecided(x, 1)"),  # the rank is not known
        ("F.ranked(x, axis)", "compat.undecided(x, axis)"),
        ("F.ranked(F.labels(x), 1)", "compat.general(compat.labels(x), 1)"),  # rank 1
        ("F.ranked(np.zeros((2, 3)), 1)", "compat.rows(torch.as_tensor(np.zeros((2, 3))))"),
    ],
)
def test_guards_have_three_values(body, call, after):
    assert body(f"y = {call}\n") == f"y = {after}\n"


def test_training_is_the_modules_own_mode_in_its_methods(body):
    code = body("""
    class Net(chainer.Chain):
        def forward(me, x):
            def inner():
                return F.dropout(x)
            return F.dropout(x), inner, lambda: F.dropout(x)

        @staticmethod
        def helper(x):
            return F.dropout(x)

    class Other:
        def forward(self, x):
            return F.dropout(x)
    """)
    assert code.count("training=me.training") == 3
    assert code.count("training=compat.is_training()") == 2
