"""``chainer2torch`` and ``python -m chainer2torch``."""

import sys


def main() -> None:
    """Runs the command line and exits with its status."""
    from chainer2torch.cli.app import cli
    from chainer2torch.cli.errors import guarded

    sys.exit(guarded(cli))


if __name__ == "__main__":
    main()
