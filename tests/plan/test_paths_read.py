"""The paths that a file reads, sorted out once for all blocks that ask: the same as asking of each name."""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import Source
from chainer2torch.plan.questions.functions_around import paths_read
from chainer2torch.plan.questions.paths import FUNCTIONS, is_path, root_name

_TEXT = """
import model
net = model.make()
class Net(object):
    base = net.part
    def forward(self, x, other=net.other):
        run = lambda y: self.layers[0].run(y, net)
        def inner(z):
            return [self.l1(part.x) for part in z if run]
        del x.y
        return inner(self.items['a']).result + x()
print(net.forward(Net().base))
"""


def test_paths_are_those_of_each_name_with_its_ancestors() -> None:
    source = Source(_TEXT, ast.parse(_TEXT))
    expected = [
        (node, root_name(node), frozenset(above for above in source.ancestors(node) if isinstance(above, FUNCTIONS)))
        for node in source.nodes
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load) and is_path(node)
    ]
    found = paths_read(source)
    assert found == expected
    assert {root for _, root, _ in found} >= {"net", "self", "part", "run", "model"}
    assert {len(functions) for _, _, functions in found} == {0, 1, 2}
