"""What ``numpy.load`` gives: an array of the host, or an archive of several by name."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from chainer2torch.analysis.kinds import UNKNOWN, Const, Dct, HostArray, Kind
from chainer2torch.analysis.source import Source

_ARCHIVE = Dct(HostArray())
_OF_ARCHIVES = frozenset({"close", "f", "files", "get", "item", "items", "keys", "values", "zip"})
_TAKING = ("np.", "numpy.", "xp.", "self.xp.", "cupy.", "cuda.", "F.", "functions.", "chainer.Variable")
_OF_ARRAYS = frozenset(
    "T argmax argmin astype copy dtype flatten max mean min ndim ravel reshape shape size std sum transpose".split()
)


def loaded(source: Source, call: ast.Call, args: Sequence[Kind]) -> Kind:
    """The kind of a call of ``numpy.load``: by the end of the path, or by all that is done with the result."""
    if not call.args or any(k.arg == "allow_pickle" for k in call.keywords):
        return UNKNOWN  # what was pickled may be anything
    path = args[0].value if args and isinstance(args[0], Const) else _end_of(call.args[0])
    if isinstance(path, str) and path.endswith((".npy", ".npz")):
        return HostArray() if path.endswith(".npy") else _ARCHIVE
    if _is_archive(source, call):
        return _ARCHIVE
    return HostArray() if _is_used_as_array(source, call) else UNKNOWN


def _end_of(path: ast.expr) -> str | None:
    """How the text of a path ends: ``prefix + '.npy'``, ``'{}.npy'.format(i)``, ``os.path.join(folder, 'x.npy')``."""
    if isinstance(path, ast.Constant):
        return path.value if isinstance(path.value, str) else None
    if isinstance(path, ast.JoinedStr):
        return _end_of(path.values[-1]) if path.values else None
    if isinstance(path, ast.BinOp):
        return _end_of(path.left if isinstance(path.op, ast.Mod) else path.right)
    if isinstance(path, ast.Call) and isinstance(path.func, ast.Attribute):
        if path.func.attr == "format":
            return _end_of(path.func.value)
        if path.func.attr == "join" and path.args:
            return _end_of(path.args[-1])
    return None


def _is_archive(source: Source, call: ast.Call) -> bool:
    """``with np.load(path) as f:``, ``np.load(path)['x']``, and ``f['x']`` of the name that it is assigned to."""
    parent = source.parents.get(call)
    if isinstance(parent, ast.withitem):
        return True
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        name = parent.targets[0].id
        uses = [*source.named.get(name, ())]
        alone = all(n is parent.targets[0] or isinstance(n.ctx, ast.Load) for n in uses)
        return alone and any(_is_named_part(source.parents[n], n) for n in uses)
    return _is_named_part(parent, call)


def _is_named_part(parent: ast.AST | None, value: ast.AST) -> bool:
    index = parent.slice if isinstance(parent, ast.Subscript) and parent.value is value else None
    return isinstance(index, ast.Constant) and isinstance(index.value, str)


def _is_used_as_array(source: Source, call: ast.Call) -> bool:
    """``x = np.load(path)``, where nothing in the file takes parts of an ``x`` by name, or gives it away."""
    parent = source.parents.get(call)
    if isinstance(parent, ast.Attribute):
        return parent.attr not in _OF_ARCHIVES
    if isinstance(parent, ast.BinOp):
        return True
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
        return False
    name = parent.targets[0].id
    uses = [n for n in source.named.get(name, ()) if isinstance(n.ctx, ast.Load)]
    if _is_asked_as_array(source, parent.targets[0]):
        return True
    return bool(uses) and not any(_may_be_archive(source, use) for use in uses)


def _is_asked_as_array(source: Source, target: ast.Name) -> bool:
    """Whether the function asks what it has loaded, and gives the name nothing else, for what only an array has."""
    function = source.enclosing(target, ast.FunctionDef, ast.AsyncFunctionDef)
    names = [
        n
        for n in source.named.get(target.id, ())
        if source.enclosing(n, ast.FunctionDef, ast.AsyncFunctionDef) is function
    ]
    parents = [source.parents[n] for n in names if isinstance(n.ctx, ast.Load)]
    alone = all(n is target or isinstance(n.ctx, ast.Load) for n in names)
    return alone and any(isinstance(p, ast.Attribute) and p.attr in _OF_ARRAYS for p in parents)


def _may_be_archive(source: Source, use: ast.AST) -> bool:
    parent = source.parents[use]
    if isinstance(parent, ast.Subscript) and parent.value is use:
        return isinstance(parent.slice, (ast.Name, ast.Attribute, ast.JoinedStr)) or (
            isinstance(parent.slice, ast.Constant) and isinstance(parent.slice.value, str)
        )
    if isinstance(parent, ast.Attribute):
        return parent.attr in _OF_ARCHIVES
    if isinstance(parent, ast.Call) and use in parent.args and _takes_arrays(parent.func):
        return False
    # whoever else gets it may take it apart
    return not isinstance(parent, (ast.BinOp, ast.Compare, ast.UnaryOp))


def _takes_arrays(function: ast.expr) -> bool:
    """Whether a call by its name is one of an array module or of Chainer's: none of these takes an archive."""
    name = ast.unparse(function)
    return name in ("len", "range") or name.startswith(_TAKING) and not name.endswith(("save", "savez"))


__all__ = ["loaded"]
