"""Writes the record of emitted texts anew: `python -m tests.support.emitted` (docs/mutation.md says what it is for).

Read the difference before you commit it: each changed line is code that users get.
"""

from pathlib import Path

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
from chainer2torch.verify.rules import emitted

FOLDER = Path(__file__).resolve().parents[1] / "rules" / "emitted"


def main() -> None:
    texts, tables = {}, {}
    for style in emitted.STYLES:
        rules = load_rules(strict=False, style=style)
        texts[style] = {
            name: emitted.of_row(row, rules, migrate_source) for name, row in rules.every.items() if row.examples
        }
        tables.update((name, row.home) for name, row in rules.every.items())
    emitted.write(FOLDER, texts, tables)


if __name__ == "__main__":
    main()
