"""Sparse matrices in coordinate format, as chainer.utils.CooMatrix holds them, and their product with dense ones."""

import numpy as np
import torch


class CooMatrix:
    """A sparse matrix, or a batch of them, as lists of entries. Source: chainer.utils.CooMatrix.

    It is made of tensors or NumPy arrays; arrays become tensors on the CPU.

    Attributes:
        data: Entries: float tensor of shape (entries,) or (batch, entries); it collects gradients if asked for.
        row: Their rows: integer tensor of the same shape. Entries with a negative row are padding at the end.
        col: Their columns: integer tensor of the same shape.
        shape: Number of rows and of columns.
        order: 'C' when rows are sorted, 'F' when columns are, else 'other' (found out when None).
    """

    def __init__(
        self,
        data: torch.Tensor | np.ndarray,
        row: torch.Tensor | np.ndarray,
        col: torch.Tensor | np.ndarray,
        shape: tuple[int, int],
        order: str | None = None,
        requires_grad: bool = False,
    ) -> None:
        data, row, col = torch.as_tensor(data), torch.as_tensor(row), torch.as_tensor(col)
        if data.ndim not in (1, 2) or not data.ndim == row.ndim == col.ndim:
            raise ValueError("data, row and col must all have one axis, or all two")
        if len(shape) != 2 or min(shape) <= 0:
            raise ValueError("shape must be two positive numbers")
        if order not in ("C", "F", "other", None):
            raise ValueError("order must be 'C', 'F', 'other' or None")
        self.data = data.detach().requires_grad_(requires_grad)
        self.row = row
        self.col = col
        self.shape = tuple(shape)
        self.order = get_order(row, col) if order is None else order

    def to_dense(self) -> torch.Tensor:
        """Returns the matrix (or batch of matrices) as a dense tensor without gradient; entries of one place add up."""
        data = self.data.detach()
        dense = torch.zeros((*data.shape[:-1], *self.shape), dtype=data.dtype, device=data.device)
        matrices = (
            [(dense, self.row, self.col, data)] if data.ndim == 1 else zip(dense, self.row, self.col, data, strict=True)
        )
        for matrix, row, col, values in matrices:
            # padding has the value zero, so that it does not matter where it is added
            matrix.index_put_((row.long(), col.long()), values, accumulate=True)
        return dense


def get_order(row: torch.Tensor, col: torch.Tensor) -> str:
    """Returns 'C' when the entries are sorted by row, then column; 'F' when by column, then row; else 'other'."""
    if row.shape != col.shape:
        raise ValueError("row and col must have the same shape")
    if _is_sorted(row, col):
        return "C"
    return "F" if _is_sorted(col, row) else "other"


def _is_sorted(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether the pairs before the padding never fall, in each matrix of the batch."""
    if first.ndim > 1:
        return all(_is_sorted(f, s) for f, s in zip(first, second, strict=True))
    keep = first >= 0
    pairs = list(zip(first[keep].tolist(), second[keep].tolist(), strict=True))
    return all(a <= b for a, b in zip(pairs, pairs[1:], strict=False))


def to_coo(x: torch.Tensor | np.ndarray, ldnz: int | None = None, requires_grad: bool = False) -> CooMatrix:
    """Returns the entries of a dense matrix (or batch of matrices) that are not zero. Source: chainer.utils.to_coo.

    Args:
        x: Float tensor or NumPy array of shape (rows, columns) or (batch, rows, columns).
        ldnz: Smallest number of entries to make room for; what is not needed is padding with row and column -1.
        requires_grad: Whether the entries collect gradients.
    """
    x = torch.as_tensor(x)
    if x.ndim not in (2, 3):
        raise ValueError("x must have two or three axes")
    batch = [x] if x.ndim == 2 else list(x)
    places = [torch.nonzero(m, as_tuple=True) for m in batch]
    size = max([ldnz or 0] + [len(rows) for rows, _ in places])
    data = torch.zeros((len(batch), size), dtype=x.dtype, device=x.device)
    row = torch.full((len(batch), size), -1, dtype=torch.int32, device=x.device)
    col = row.clone()
    for i, (rows, cols) in enumerate(places):
        data[i, : len(rows)] = batch[i][rows, cols].detach()
        row[i, : len(rows)] = rows.int()
        col[i, : len(rows)] = cols.int()
    if x.ndim == 2:
        data, row, col = data[0], row[0], col[0]
    return CooMatrix(data, row, col, (x.shape[-2], x.shape[-1]), requires_grad=requires_grad)


def sparse_matmul(
    a: torch.Tensor | CooMatrix, b: torch.Tensor | CooMatrix, transa: bool = False, transb: bool = False
) -> torch.Tensor:
    """Returns the matrix product of a sparse and a dense matrix, or of batches of them, as a dense tensor.

    Differentiable by the dense tensor and by the sparse matrix's ``data``. Source: chainer.functions.sparse_matmul.

    Args:
        a: A CooMatrix or a float tensor of two axes (three for a batch): exactly one operand is a CooMatrix.
        b: The other kind.
        transa: Swap rows and columns of ``a``.
        transb: Swap rows and columns of ``b``.

    Raises:
        ValueError: Both operands are of one kind, or the shapes do not fit.
    """
    if isinstance(a, CooMatrix) and isinstance(b, torch.Tensor):
        return _sparse_times_dense(a, b.transpose(-1, -2) if transb else b, transa)
    if isinstance(a, torch.Tensor) and isinstance(b, CooMatrix):
        # a @ b is the transpose of b' @ a'
        return _sparse_times_dense(b, a if transa else a.transpose(-1, -2), not transb).transpose(-1, -2)
    raise ValueError(f"one operand must be a CooMatrix and the other a tensor, not {type(a)} and {type(b)}")


def _sparse_times_dense(sparse: CooMatrix, dense: torch.Tensor, transposed: bool) -> torch.Tensor:
    row, col = (sparse.col, sparse.row) if transposed else (sparse.row, sparse.col)
    m, k = reversed(sparse.shape) if transposed else sparse.shape
    if dense.ndim != sparse.data.ndim + 1 or dense.shape[-2] != k or dense.shape[:-2] != row.shape[:-1]:
        raise ValueError(f"a sparse matrix of shape {(m, k)} does not fit a dense one of shape {tuple(dense.shape)}")
    batch = row.shape[0] if row.ndim == 2 else 1
    n = dense.shape[-1]
    # Each entry adds its multiple of a row of the dense matrix to a row of the result; batches lie below each other.
    offset = torch.arange(batch, device=row.device)[:, None]
    valid = (row >= 0).reshape(batch, -1)
    target = (row.reshape(batch, -1).clamp(min=0) + offset * m).reshape(-1)
    source = (col.reshape(batch, -1).clamp(min=0) + offset * k).reshape(-1)
    terms = (sparse.data.reshape(batch, -1) * valid).reshape(-1, 1) * dense.reshape(batch * k, n)[source]
    result = torch.zeros((batch * m, n), dtype=terms.dtype, device=terms.device).index_add(0, target, terms)
    return result.reshape(*dense.shape[:-2], m, n)
