"""What a shell offers for a word that was begun: rules, codes, stages."""

from __future__ import annotations

import click


def rules(context: click.Context, option: click.Parameter, begun: str) -> list[str]:
    """What can be meant by the beginning of a rule's name, of its last part, or of one behind ``F.`` or ``L.``."""
    from chainer2torch.cli.reference import USUAL_NAMES
    from chainer2torch.rules.table import load_rules

    names = load_rules(context.params.get("rule_dirs") or (), lazy=True).rows
    prefix, dot, rest = begun.partition(".")
    if not dot:
        return sorted({last for name in names if (last := name.rpartition(".")[2]).startswith(begun)})
    full = USUAL_NAMES.get(prefix, prefix)
    return [prefix + name[len(full) :] for name in sorted(names) if name.startswith(f"{full}.{rest}")]


def codes(context: click.Context, option: click.Parameter, begun: str) -> list[str]:
    """The codes of reports that begin so."""
    from chainer2torch.rules import codes as room

    return [code for code in sorted(room.table()) if code.startswith(begun.upper())]


def stages(context: click.Context, option: click.Parameter, begun: str) -> list[str]:
    """The stages for ``--only``, the last of several with commas."""
    from chainer2torch.rules.stage_names import STAGES

    before, comma, last = begun.rpartition(",")
    return [before + comma + stage for stage in STAGES if stage.startswith(last) and stage not in before.split(",")]
