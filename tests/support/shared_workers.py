"""Workers that serve all tests of a session: importing PyTorch and Chainer takes longer than most of what tests ask.

Each job is a process of its own here as well, forked from one that has imported its framework: `verify` itself works so
within one call, and this only makes one such process do for many calls.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from chainer2torch.verify import warm_workers, worker_process

# What pytest sets anew for each test.
_OF_PYTEST = "PYTEST_CURRENT_TEST"
# Scripts need it, and it imports the whole compiler of PyTorch.
_IMPORTS = {str(worker_process.CHAINER_WORKER): (), str(worker_process.TORCH_WORKER): ("pytorch_pfn_extras",)}


def _variables(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name != _OF_PYTEST}


class _Shared(warm_workers._Server):
    """Stays when a call is done with it; ends when it has failed, or with the session."""

    def begin(self, *args):
        try:
            return super().begin(*args)
        except BaseException:
            super().close()
            raise

    def close(self):
        pass

    def end(self):
        super().close()


@contextlib.contextmanager
def shared() -> Iterator[None]:
    """Calls of ``verify`` within share their serving processes."""
    servers: dict[tuple[str, ...], _Shared] = {}
    alone, home = warm_workers.start, _variables(worker_process.environment())

    def start(command: Sequence[str], env: Mapping[str, str]) -> warm_workers._Server | None:
        python, _, worker, serve = command[:4]
        if worker not in _IMPORTS or _variables(env) != home:
            return alone(command, env)
        server = servers.get((python, worker))
        if server is None or not server.is_alive():
            new = alone([python, "-u", worker, serve, *_IMPORTS[worker]], env)
            if new is None:
                return None
            server = servers[python, worker] = _Shared(new._process)
        return server

    warm_workers.start = start
    try:
        yield
    finally:
        warm_workers.start = alone
        for server in servers.values():
            server.end()
