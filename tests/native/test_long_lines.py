"""New lines that are longer than 79 columns are broken, and the program stays the same."""

from __future__ import annotations

import ast
import textwrap

import pytest

from chainer2torch.engine import Options, migrate_source
from chainer2torch.rewrite.long_lines import with_short_lines

LONG = {
    "behind a comma": (
        """
        def f():
            u = torch.as_tensor(np.random.normal(size=(1, W.shape[0])), dtype=torch.float32, device=W.device)
        """,
        """
        def f():
            u = torch.as_tensor(np.random.normal(size=(1, W.shape[0])),
                                dtype=torch.float32, device=W.device)
        """,
    ),
    "all that is in a bracket": (
        """
        some_iterator_of_examples = compat.Batches(DataLoader(train, batch, shuffle=True, collate_fn=list))
        """,
        """
        some_iterator_of_examples = compat.Batches(
            DataLoader(train, batch, shuffle=True, collate_fn=list))
        """,
    ),
    "below a line of a suite": (
        """
        if self.is_something_of_value(aaaaaaaaaaaaaaaaaaaa) and self.is_other(bbbbbbbbbbbbbbb, ccccccc):
            pass
        """,
        """
        if self.is_something_of_value(aaaaaaaaaaaaaaaaaaaa) and self.is_other(
                bbbbbbbbbbbbbbb, ccccccc):
            pass
        """,
    ),
    "a pair gets parentheses": (
        """
        def f():
            return F.cross_entropy(y, t.long(), ignore_index=-1), (y.argmax(dim=1) == t).to(y.dtype).mean()
        """,
        """
        def f():
            return (F.cross_entropy(y, t.long(), ignore_index=-1),
                    (y.argmax(dim=1) == t).to(y.dtype).mean())
        """,
    ),
    "a sum gets parentheses": (
        """
        total = the_first_value_of_all(x) + the_second_value_of_all(y) - the_third_value(z) * fourth_value
        """,
        """
        total = (the_first_value_of_all(x) + the_second_value_of_all(y)
                 - the_third_value(z) * fourth_value)
        """,
    ),
    "lines below stay under their bracket": (
        """
        result = function_of_arguments(the_first_argument_of_all, the_second_argument, inner(third_a,
                                                                                             third_b))
        """,
        """
        result = function_of_arguments(the_first_argument_of_all, the_second_argument,
                                       inner(third_a,
                                             third_b))
        """,
    ),
    "a choice gets parentheses": (
        """
        device = torch.device('cuda', arguments.gpu) if arguments.gpu >= 0 else torch.device('cpu')
        """,
        """
        device = (torch.device('cuda', arguments.gpu) if arguments.gpu >= 0
                  else torch.device('cpu'))
        """,
    ),
    "beside lines that stand there": (
        """
        stop = EarlyStoppingTrigger(check_trigger=(frequency, 'iteration'),
                 monitor='validation/main/loss', patience=max(1, args.patience), max_trigger=(args.n, 'iteration'))
        """,
        """
        stop = EarlyStoppingTrigger(check_trigger=(frequency, 'iteration'),
                 monitor='validation/main/loss', patience=max(1, args.patience),
                 max_trigger=(args.n, 'iteration'))
        """,
    ),
    "names of a module": (
        """
        from torchvision.transforms import CenterCropOfImages, ColorJitterOfImages, RandomCropOfImages
        """,
        """
        from torchvision.transforms import (CenterCropOfImages, ColorJitterOfImages,
                                            RandomCropOfImages)
        """,
    ),
    "one item of many": (
        """
        padded = torch.zeros((np.array(image.shape) + np.array([0, 0, pad, pad])).tolist(), dtype=torch.int)
        """,
        """
        padded = torch.zeros(
            (np.array(image.shape) + np.array([0, 0, pad, pad])).tolist(),
            dtype=torch.int)
        """,
    ),
    "tabs": (
        """
        if x:
        \ty = function_of_arguments(the_first_argument, the_second_argument, the_third_argument)
        \tsome_iterator = compat.Batches(DataLoader(train, batch, shuffle=True, collate_fn=list))
        """,
        """
        if x:
        \ty = function_of_arguments(the_first_argument, the_second_argument,
        \t                          the_third_argument)
        \tsome_iterator = compat.Batches(
        \t\tDataLoader(train, batch, shuffle=True, collate_fn=list))
        """,
    ),
}

AS_THEY_ARE = {
    "a comment": "x = function_of_arguments(the_first_argument, the_second, the_third_argument)  # noqa: E501",
    "a text": "x = 'a text of many words, and more of them (with, commas, in, brackets) that nobody can break here'",
    "a lambda": "f = lambda first_argument_of_it, second_argument_of_it: first_argument_of_it + second_argument_of_it",
    "no bracket": "assert the_first_value_of_something == the_second_value_of_something_else, the_message_of_it_all",
    "a text of several lines": 'x = f("""a text of several lines, which begins here and goes on""", """\n""")',
}


@pytest.mark.parametrize("name", LONG)
def test_long_lines_are_broken(name: str) -> None:
    before, after = (textwrap.dedent(text).lstrip() for text in LONG[name])
    assert with_short_lines(before, "", 79) == after
    assert ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))


@pytest.mark.parametrize("name", LONG)
def test_what_is_broken_stays(name: str) -> None:
    after = textwrap.dedent(LONG[name][1]).lstrip()
    assert with_short_lines(after, "", 79) == after


@pytest.mark.parametrize("name", LONG)
def test_ends_of_lines_stay(name: str) -> None:
    before, after = (textwrap.dedent(text).lstrip().replace("\n", "\r\n") for text in LONG[name])
    assert with_short_lines(before, "", 79) == after


@pytest.mark.parametrize("name", AS_THEY_ARE)
def test_what_cannot_be_broken_stays(name: str) -> None:
    code = AS_THEY_ARE[name] + "\n"
    assert with_short_lines(code, "", 79) == code


def test_lines_of_the_source_stay() -> None:
    line = "x = function_of_arguments(the_first_argument, the_second_argument, the_third_argument_of_it)\n"
    assert with_short_lines(line, line, 79) == line
    assert with_short_lines(line, "#" * (len(line) - 1), 79) == line
    assert with_short_lines(line, "", 0) == line
    assert "\n" in with_short_lines(line, "y = 1\n", 79).strip()


def test_texts_with_values_are_whole() -> None:
    text = "f'{a[0], b!r:>{width}} and {d[\"x\"]:.3f} of much more text than that'"
    code = f"result = function({text}, bcd, efg)\n"
    assert with_short_lines(code, "", 79) == f"result = function(\n    {text}, bcd,\n    efg)\n"


def test_a_migration_breaks_what_it_makes_longer() -> None:
    source = textwrap.dedent("""
        import chainer
        import chainer.functions as F

        class Net(chainer.Chain):
            def forward(self, first, second, answer):
                both = F.concat((first, second), axis=1)
                return F.softmax_cross_entropy(both, answer), F.accuracy(both, answer)
        """)
    code = migrate_source(source, options=Options(style="native", width=79)).code
    assert max(map(len, code.splitlines())) <= 79
    assert max(map(len, migrate_source(source, options=Options(style="native")).code.splitlines())) > 79
    again = migrate_source(code, options=Options(style="native", width=79)).code
    assert again == code
