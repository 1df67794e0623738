"""Loops: what names are behind them, whichever way the program leaves them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import Kind
from chainer2torch.analysis.lattice import join

Names = dict[str, Kind]


def joined(ways: Sequence[Mapping[str, Kind]]) -> Names:
    """What each name may be where several ways meet."""
    result = dict(ways[0])
    for way in ways[1:]:
        for name, kind in way.items():
            known = result.get(name)
            if known is not kind:
                result[name] = join(known, kind)
    return result


class Loops(Interpreter):
    """The part of the analysis that runs loops.

    What a name is where a ``break`` or ``continue`` stands is what it may be behind the loop: the statements below
    them do not run then.
    """

    def _loop(self, body: list[ast.stmt], orelse: list[ast.stmt], test: ast.expr | None = None) -> None:
        left, again = list[Names](), list[Names]()
        self.loops.append((left, again))
        for _ in range(2):  # the second time with what the first has assigned
            start = dict(self.scopes[0])
            if test is not None:
                self.narrow(test, True)
            self.block(body)
            after = joined([start, dict(self.scopes[0]), *again])
            self._restore(after)
            if after == start:
                break
        self.loops.pop()
        self.block(orelse)
        self._restore(joined([dict(self.scopes[0]), *left]))

    def _stmt_For(self, node: ast.For | ast.AsyncFor) -> None:
        kind = self.iterated(self.expr(node.iter))
        self.assign(node.target, kind)
        self._loop(node.body, node.orelse)

    _stmt_AsyncFor = _stmt_For

    def _stmt_While(self, node: ast.While) -> None:
        self.expr(node.test)
        self._loop(node.body, node.orelse, node.test)
        self.expr(node.test)

    def _stmt_Break(self, node: ast.Break) -> bool:
        return self._leaves(0)

    def _stmt_Continue(self, node: ast.Continue) -> bool:
        return self._leaves(1)

    def _leaves(self, way: int) -> bool:
        if self.loops and not self.unreachable:
            self.loops[-1][way].append(dict(self.scopes[0]))
        return True

    def _restore(self, env: Names) -> None:
        # Functions hold a reference to their enclosing scopes, so the dictionary stays and its contents change.
        self.scopes[0].clear()
        self.scopes[0].update(env)
