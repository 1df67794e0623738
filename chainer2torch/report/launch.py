"""How to start the programs that ran under MPI, or that started processes themselves."""

from __future__ import annotations

from chainer2torch.plan.launching import ON_ONE_DEVICE, ONE_PROCESS
from chainer2torch.report.model import Report

_STARTED_BY_TORCHRUN = (
    "chainermn.create_communicator",
    "chainer.training.updaters.MultiprocessParallelUpdater",
    "chainer.training.updaters.ParallelUpdater",
)
_NAMED = 5


def launch_command(report: Report) -> str:
    """The command that starts N processes of the scripts that need it; empty when there are none."""
    sites = [(row.path, site) for row in report.files for site in row.sites if site.symbol in _STARTED_BY_TORCHRUN]
    if not sites:
        return ""
    alone = (ON_ONE_DEVICE, ONE_PROCESS)
    scripts = sorted({path for path, site in sites if not site.message.endswith(alone)})
    if not scripts:
        return ""
    command = "torchrun --nproc_per_node N "
    if len(scripts) == 1:
        return command + scripts[0]
    more = ", ..." if len(scripts) > _NAMED else ""
    return f"{command}SCRIPT ({', '.join(scripts[:_NAMED])}{more})"
