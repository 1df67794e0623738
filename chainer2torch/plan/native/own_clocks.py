"""Trainers whose epochs only their updater knows: an iterator of the program's own counts them, or other draws do.

trainer = Trainer(updater, (20, 'epoch'))     trainer = TrainingManager(updater, 20, own_clock=True)

What the manager divides its iterations by asks the updater instead. That needs an updater that counts what it draws:
one on StandardUpdater, whose ``update`` is not the program's own.
"""

from __future__ import annotations

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.batches_drawn import draws_of
from chainer2torch.plan.native.own_inits import first_counts
from chainer2torch.plan.native.programs import TRAINER, UPDATER, Unclear

_ITERATOR = "chainer.dataset.Iterator"
_UPDATER = "chainer.training.updaters.Updater"
_COUNTERS = frozenset({"epoch", "epoch_detail", "is_new_epoch"})  # an updater may say these as it likes
# what an updater of the program's own may say otherwise than Chainer's, so that a manager would not do what it says
_CLOCKWORK = _COUNTERS | frozenset("update finalize connect_trainer get_iterator get_all_optimizers iteration".split())
_SHORT = {TRAINER: "native.Trainer", UPDATER: "native.StandardUpdater"}


def counts_itself(analysis: Analysis, cls: ClassInfo) -> bool:
    """Whether epochs end where a class says, and not after so many batches of a data set. Raises Unclear."""
    owners = [owner for owner in analysis.mro(cls) if isinstance(owner, ClassInfo)]
    own = {name for owner in owners for name in (*owner.methods, *owner.attrs)}
    own -= {"iteration"} if any(map(first_counts, owners)) else set()
    if analysis.derives(cls, TRAINER):
        raise Unclear(f"`{cls.name}` counts by itself")
    if analysis.derives(cls, _ITERATOR):
        if "finalize" in own:  # a manager calls that of no iterator
            raise Unclear(f"`{cls.name}` counts by itself")
        return True
    if not analysis.derives(cls, _UPDATER):
        return False
    if not analysis.derives(cls, UPDATER) or _CLOCKWORK & own - _COUNTERS:
        raise Unclear(f"`{cls.name}` is not seen to draw as many batches for each update")
    return bool(_COUNTERS & own) or draws_of(analysis, cls) is None


def check_helpers(context: Context) -> None:
    """Raises Unclear where the long helpers stand for trainers or updaters: they count for nobody else."""
    rows = context.rules.rows
    if any(symbol not in rows or rows[symbol].value != short for symbol, short in _SHORT.items()):
        raise Unclear("its updater has the long form")


__all__ = ["check_helpers", "counts_itself"]
