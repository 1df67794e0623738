"""What a file does with its names: which it gives a value, and which may be a function or a caller's tensor."""

from __future__ import annotations

import ast
import dataclasses

from chainer2torch.analysis.source import Source


@dataclasses.dataclass(frozen=True)
class NamesInFile:
    """What a file does with its names: which it gives a value, and which may be a function or a caller's tensor."""

    bound: frozenset[str]
    open: frozenset[str]

    @classmethod
    def of(cls, source: Source) -> NamesInFile:
        stored = {n.id for n in source.of(ast.Name) if not isinstance(n.ctx, ast.Load)}
        defined = {n.name for n in source.of(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)}
        called = {n.func.id for n in source.of(ast.Call) if isinstance(n.func, ast.Name)}
        arguments = {n.arg for n in source.of(ast.arg)}
        return cls(frozenset(stored | defined | arguments), frozenset(called | defined | arguments))
