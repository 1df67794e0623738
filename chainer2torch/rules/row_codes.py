"""The code of a row that names none."""

from __future__ import annotations

# The hundreds of a code tell the room: C2T1xx functions, 2xx links, ... (docs/codes.md).
_CODES = (
    ("?", "C2T390"),
    ("chainer.functions", "C2T100"),
    ("chainer.links", "C2T200"),
    ("chainer.Link", "C2T200"),
    ("chainer.Chain", "C2T200"),
    ("chainer.Sequential", "C2T200"),
    ("chainer.initializers", "C2T210"),
    ("chainer.link_hooks", "C2T220"),
    ("chainer.Parameter", "C2T310"),
    ("chainer.Variable", "C2T300"),
    ("chainer.backends", "C2T330"),
    ("chainer.backend", "C2T330"),
    ("chainer.get_device", "C2T330"),
    ("numpy", "C2T320"),
    ("cupy", "C2T320"),
    ("chainer.config", "C2T400"),
    ("chainer.using_config", "C2T400"),
    ("chainer.no_backprop_mode", "C2T400"),
    ("chainer.optimizer", "C2T500"),
    ("chainer.optimizers", "C2T500"),
    ("chainer.Optimizer", "C2T500"),
    ("chainer.GradientMethod", "C2T500"),
    ("chainer.dataset", "C2T610"),
    ("chainer.iterators", "C2T620"),
    ("chainer.training", "C2T600"),
    ("chainer.report", "C2T630"),
    ("chainermn", "C2T700"),
    ("chainer.serializers", "C2T800"),
)
_LIBRARY_CODE = "C2T091"


def default_code(name: str, table: str) -> str:
    """The code of a row that names none, by its dotted name and the table it stands in."""
    if table.startswith("packs/"):
        return _LIBRARY_CODE
    best = max((entry for entry in _CODES if name.startswith(entry[0])), key=lambda e: len(e[0]), default=None)
    return best[1] if best else "C2T090"
