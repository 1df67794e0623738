"""What `wscale` of version 1 did: up to 1.8 it scaled the first weights, since 1.9 its square root does.

From the sources of Chainer 1.8.2, 1.9.1 and 1.24.0 (chainer/links/connection/linear.py, convolution_2d.py,
deconvolution_2d.py): up to 1.8 the spread is ``wscale * sqrt(1 / fan_in)``, where a deconvolution took its input
channels for the fan, and an array given as ``initialW`` is taken as it is; since 1.9 all of them are multiplied with
``sqrt(wscale)``.
"""

from __future__ import annotations


from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.questions.reading import Reading

_NAME = "wscale"
_SQUARE_ROOT_SINCE = 9


@dataclass(frozen=True)
class Scaled:
    """Whether the version answers the question that a row of version 1 asks, and what changes in its template."""

    settled: bool = False
    old: str = f"scale={_NAME}"
    new: str = ""


def scaled_by_version(minor: int | None, reading: Reading) -> Scaled:
    """How first values were scaled in version ``1.minor``."""
    row, given = reading.row, reading.bound.given
    if minor is None or row.signature is None or _NAME not in row.signature.names or row.state != "review":
        return Scaled()
    if minor < _SQUARE_ROOT_SINCE:
        return Scaled(settled=not row.differs_without or row.differs_without in given)
    if _NAME not in given:
        return Scaled(settled=True)
    return Scaled(settled="initialW" not in given, new=f"scale=math.sqrt({_NAME})")
