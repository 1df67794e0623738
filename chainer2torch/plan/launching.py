"""What the report says of updaters that divide a batch over devices, and no longer start processes.

Apart from the passes that say it: who only reads a report imports no planner.
"""

from __future__ import annotations

ONE_PROCESS = "; one process works for all devices"
ON_ONE_DEVICE = (
    "works for all shares on the first device, one after the other: the learning is the same, no time is won"
)

__all__ = ["ONE_PROCESS", "ON_ONE_DEVICE"]
