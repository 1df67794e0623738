"""Writes the record of emitted texts anew: `python -m tests.support.emitted [NAMES...]` (docs/mutation.md says why).

Read the difference before you commit it: each changed line is code that users get.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
from chainer2torch.verify.rules import emitted
from chainer2torch.verify.rules.verify_rules import select

FOLDER = Path(__file__).resolve().parents[1] / "rules" / "emitted"


def main(names: Sequence[str]) -> None:
    """Writes the texts of the named rows anew, or of all."""
    texts, tables = {}, {}
    for style in emitted.STYLES:
        rules = load_rules(strict=False, style=style)
        chosen = {row.name for row in select(rules, names)}
        before = emitted.Record.read(FOLDER, style).rows if names else {}
        texts[style] = {
            name: emitted.of_row(row, rules, migrate_source) if name in chosen else before.get(name, {})
            for name, row in rules.every.items()
            if row.examples
        }
        tables.update((name, row.home) for name, row in rules.every.items())
    emitted.write(FOLDER, texts, tables)


if __name__ == "__main__":
    main(sys.argv[1:])
