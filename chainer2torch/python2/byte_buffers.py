"""Buffers that Python 2 fills with bytes: ``Image.open(StringIO(data))`` wants a ``BytesIO`` in Python 3."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.source import Source

_OLD, _NEW = "StringIO", "BytesIO"
_MODULES = ("io", "StringIO", "cStringIO")  # `import io as StringIO` stands for Python 2's module
# what reads a file of bytes, by the end of its name
_READERS = ("Image.open", "np.load", "numpy.load", "zipfile.ZipFile", "tarfile.open", "gzip.GzipFile", "imageio.imread")


def of_bytes(text: str) -> str:
    """The text with ``BytesIO`` where every buffer of the file is given bytes, or to what reads bytes."""
    if _OLD not in text or "io" not in text:
        return text
    source = Source(text, ast.parse(text))
    names = [name for name in source.of(ast.Name, ast.Attribute) if _is_buffer(name)]
    names = [name for name in names if not isinstance(source.parents.get(name), ast.Attribute)]  # the module's name
    imports = [alias for node in source.of(ast.ImportFrom) if node.module == "io" for alias in node.names]
    imports = [alias for alias in imports if alias.name == _OLD]
    bound = any(isinstance(name, ast.Name) for name in names)  # by just such an import: not `BytesIO as StringIO`
    others = [a for node in source.of(ast.Import, ast.ImportFrom) for a in node.names if a.asname == _OLD]
    if bound and (not imports or others):
        return text
    if not names or any(alias.asname for alias in imports) or not all(_holds_bytes(source, name) for name in names):
        return text
    for node in sorted([*names, *imports], key=lambda node: source.span(node)[1], reverse=True):
        end = source.span(node)[1]
        text = text[: end - len(_OLD)] + _NEW + text[end:]
    return text


def _is_buffer(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id == _OLD and isinstance(node.ctx, ast.Load)
    return isinstance(node, ast.Attribute) and node.attr == _OLD and ast.unparse(node.value) in _MODULES


def _holds_bytes(source: Source, name: ast.AST) -> bool:
    call = source.parents.get(name)
    if not isinstance(call, ast.Call) or call.func is not name or len(call.args) != 1 or call.keywords:
        return False
    outer = source.parents.get(call)
    read = isinstance(outer, ast.Call) and call in outer.args and ast.unparse(outer.func).endswith(_READERS)
    return read or _is_bytes(source, call.args[0])


def _is_bytes(source: Source, value: ast.expr) -> bool:
    """Whether it is what a file gives that is opened for bytes."""
    if isinstance(value, ast.Name):
        given = list(_given(source, value))
        return bool(given) and all(_is_bytes(source, one) for one in given)
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    return value.func.attr == "read" and _is_binary(source, value.func.value)


def _is_binary(source: Source, file: ast.expr) -> bool:
    if isinstance(file, ast.Name):
        given = list(_given(source, file))
        return bool(given) and all(_is_binary(source, one) for one in given)
    if not isinstance(file, ast.Call) or ast.unparse(file.func) != "open":
        return False
    modes = [*file.args[1:2], *(k.value for k in file.keywords if k.arg == "mode")]
    return any(isinstance(mode, ast.Constant) and "b" in str(mode.value) for mode in modes)


def _given(source: Source, name: ast.Name) -> Iterator[ast.expr]:
    """What the file assigns to a name, wherever: a buffer of texts under it keeps all others as they are."""
    for node in source.of(ast.Assign):
        if any(isinstance(target, ast.Name) and target.id == name.id for target in node.targets):
            yield node.value
    for item in (item for node in source.of(ast.With) for item in node.items):
        if isinstance(item.optional_vars, ast.Name) and item.optional_vars.id == name.id:
            yield item.context_expr


__all__ = ["of_bytes"]
