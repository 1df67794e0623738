"""Version 1 of Chainer gives one section as it is; several are a tuple there, too."""

import numpy as np
import pytest
import torch

from chainer2torch.engine import Options, migrate_source

TEXT = """
import chainer
import chainer.functions as F

def f(x, n):
    h = F.dropout(x, train=False)
    return F.split_axis(h, SECTIONS, axis=1)
"""


def code_of(sections, style="native"):
    return migrate_source(
        TEXT.replace("SECTIONS", sections), options=Options(style=style, chainer_version=1, chainer_minor=20)
    ).code


@pytest.mark.parametrize("sections", ["3", "2", "[n]", "(1, 4)", "[1, n + 2, 5]"])
def test_several_sections_are_plain(sections):
    code = code_of(sections)
    assert f"torch.tensor_split(h, {sections}, dim=1)" in code
    space: dict = {}
    exec(compile(code, "<migrated>", "exec"), space)
    x = np.arange(12, dtype="f").reshape(2, 6)
    ours = space["f"](torch.from_numpy(x), 2)
    theirs = np.split(x, eval(sections, {"n": 2}), axis=1)
    assert isinstance(ours, tuple) and [part.tolist() for part in ours] == [part.tolist() for part in theirs]


@pytest.mark.parametrize("sections", ["1", "n", "[]", "list(n)", "[*n]"])
def test_what_may_be_one_section_keeps_the_helper(sections):
    assert "compat.split_axis(h, " in code_of(sections) and "force_tuple=False" in code_of(sections)
