"""Kinds of which nothing is sure keep what may come, and there is no end to what they are joined with."""

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Inst, Perhaps, Tensor, options
from chainer2torch.analysis.lattice import join, unsure
from chainer2torch.analysis.module_index import Project
from chainer2torch.analysis.source import Source
from chainer2torch.rules.table import load_rules


def test_many_objects_and_a_tensor():
    text = "\n".join(f"class C{at}:\n    pass" for at in range(40))
    analysis = Analysis(Project({"main.py": Source(text, ast.parse(text))}), load_rules()).run()
    objects = [Inst(info) for info in analysis.classes.values()]
    assert len(objects) == 40
    found = unsure(UNKNOWN, *objects, Tensor())
    assert isinstance(found, Perhaps) and Tensor() in options(found.known)
    assert join(found, objects[-1]).known == found.known  # what comes later changes nothing
