"""The commands that run programs: ``weights``, ``trace`` and ``verify``. What they need is imported when they run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from chainer2torch.cli import completion, options, progress, verifying
from chainer2torch.cli.command import Command, Group
from chainer2torch.cli.errors import DONE, Failure
from chainer2torch.cli.options import PATH
from chainer2torch.project import files
from chainer2torch.rules.stage_names import STYLES


@click.command(
    cls=Command,
    short_help="Turn Chainer's weights into PyTorch's, or back.",
    examples=[
        ("chainer2torch weights mlp.npz --model net:MLP --args '[1000, 10]' -o mlp.pt", "For the migrated model."),
        ("chainer2torch weights mlp.pt --model net:MLP --args '[1000, 10]' -o mlp.npz", "Back, for Chainer."),
    ],
)
@click.argument("source", metavar="IN", type=PATH)
@click.option(
    "--model",
    required=True,
    metavar="MODULE:CLASS",
    help="The migrated model, or a function that makes it; importable from here.",
)
@click.option("--args", default="[]", metavar="JSON", help="Its constructor arguments: a list or an object.")
@click.option(
    "-o",
    "--output",
    "out",
    required=True,
    type=PATH,
    metavar="OUT",
    help="What to write: a state_dict (.pt, .pth), .safetensors, or a file for Chainer (.npz).",
)
@click.option(
    "--prefix",
    default="",
    metavar="PATH",
    help="The part of IN to load, such as updater/model:main/ of a trainer's snapshot.",
)
@click.option("--allow-extra", is_flag=True, help="Leave out what IN has and the model has no place for.")
@click.option(
    "--limit",
    type=click.FloatRange(min=0),
    default=16,
    show_default=True,
    metavar="GIB",
    help="Refuse a file that holds more than this when it is unpacked.",
)
def weights(source: Path, model: str, args: str, out: Path, prefix: str, allow_extra: bool, limit: float) -> int:
    """Turn Chainer's weights (IN: .npz, .h5) into PyTorch's, or back (IN: .pt). Imports and runs the model's module."""
    return _convert(source, model, args, out, prefix, allow_extra, int(limit * 2**30))


@click.command(
    "trace",
    cls=Command,
    short_help="Run a script under Chainer and record what it does.",
    examples=[("chainer2torch trace --iterations 3 -- train.py --gpu -1", "Writes trace.json.")],
)
@click.argument("script", nargs=-1, required=True, metavar="-- SCRIPT [ARGS]...")
@click.option("-o", "--output", "out", type=PATH, default="trace.json", show_default=True, metavar="FILE")
@click.option("--iterations", default=0, metavar="N", help="Stop after N updates of an optimizer (0: run to the end).")
@click.option("--chainer-python", metavar="PATH", help="An interpreter with Chainer (default: this one).")
@click.option("--timeout", type=float, default=3600, show_default=True, help="Seconds.")
def trace_command(script: tuple[str, ...], out: Path, **chosen: Any) -> int:
    """Run a script under Chainer and record kinds and shapes for `migrate --trace` and `verify models --trace`."""
    return record(script, out, **chosen)


@click.group(
    cls=Group,
    short_help="Run both versions, under Chainer and PyTorch, and compare.",
    examples=[
        ("chainer2torch verify script src out -- train.py --epoch 1", "The losses of both versions, step by step."),
        ("chainer2torch verify script src out -- train.ipynb", "A notebook, cell after cell."),
        ("chainer2torch verify models src out", "Values and gradients of models."),
    ],
)
def verify() -> None:
    """Run the original under Chainer and the result under PyTorch, and compare. This runs the code."""


verify.add_command(verifying.verify_all)


@verify.command(
    "rules",
    examples=[("chainer2torch verify rules F.relu L.Linear", "The examples of two rules.")],
)
@click.argument("names", nargs=-1, shell_complete=completion.rules)
@click.option("--no-matrix", is_flag=True, help="Only the examples as written.")
@click.option("--junit", type=PATH, metavar="FILE", help="Write the result as JUnit XML.")
@click.option("-v", "--verbose", is_flag=True, help="List what was not verified.")
@click.option("--rules", "rule_dirs", multiple=True, type=PATH, metavar="DIR", help="Rule tables of your own.")
@click.option("--style", type=click.Choice(STYLES), default="faithful", show_default=True, help="Whose rules.")
@click.option(
    "--mutants", metavar="ROWS[,HELPERS]", help="Change so many rows (and helpers) at random: do the examples notice?"
)
@click.option("--seed", default=0, show_default=True, help="For --mutants.")
@click.option("--survivors", type=PATH, metavar="FILE", help="Mutants that may survive, each with a reason (TOML).")
@click.option("--record", type=PATH, metavar="DIR", help="For --mutants: the record of the texts that examples become.")
@options.both_sides
def verify_rules(
    names: tuple[str, ...],
    no_matrix: bool,
    junit: Path | None,
    verbose: bool,
    rule_dirs: tuple[Path, ...],
    mutants: str | None,
    seed: int,
    survivors: Path | None,
    record: Path | None,
    style: str,
    report_file: Path | None,
    **chosen: Any,
) -> int:
    """Run every rule's examples in both frameworks: values and gradients."""
    from chainer2torch import verify as room
    from chainer2torch.rules.table import load_rules

    try:
        if mutants is not None:
            from chainer2torch.verify.rules.mutation_report import run

            report = run(load_rules(rule_dirs, style=style), names, mutants, seed, survivors, record)
            click.echo("\n".join(report.lines(verbose)))
            return report.exit_code
        result = room.verify_rules(
            names, rules=load_rules(rule_dirs, style=style), matrix=not no_matrix, junit=junit, **chosen
        )
    except LookupError as error:
        raise Failure(str(error.args[0] if error.args else error)) from None
    return _verified(result, result.lines(verbose), report_file)


@verify.command(
    "models",
    examples=[
        ("chainer2torch verify models src out MLP --steps 5", "One model, five steps of its optimizer."),
        ("chainer2torch verify models src port --map map.toml", "A port by hand, with classes of other names."),
    ],
)
@click.argument("src", type=PATH)
@click.argument("out", type=PATH)
@click.argument("names", nargs=-1)
@click.option("--steps", default=3, show_default=True, help="Optimizer steps to compare.")
@click.option("--seed", default=0, show_default=True, help="For the inputs and weights.")
@click.option("--junit", type=PATH, metavar="FILE", help="Write the result as JUnit XML.")
@click.option("--trace", type=PATH, metavar="FILE", help="Also the models that `chainer2torch trace` saw.")
@click.option(
    "--map",
    "map_file",
    type=PATH,
    metavar="FILE.toml",
    help="What a port by hand calls its classes and layers (default: SRC/pyproject.toml).",
)
@click.option("--budget", type=float, metavar="SECONDS", help="For all: what is not reached then is not verified.")
@click.option(
    "--at-least",
    type=click.FloatRange(0, 100),
    default=0,
    metavar="PERCENT",
    help="Exit 1 unless so many of the classes are proved (default: any number, if nothing differs).",
)
@options.keeping
@options.both_sides
def verify_models(src: Path, out: Path, names: tuple[str, ...], report_file: Path | None, **chosen: Any) -> int:
    """Compare all links of SRC from the same weights. What they are made from is read from the code, searched, or named in SRC/pyproject.toml."""  # noqa: E501
    from chainer2torch import verify as room

    with progress.models() as tell:
        result = room.verify_models(_folder(src), _folder(out), names, tell=tell, **chosen)
    return _verified(result, result.lines(verbose=True), report_file)


@verify.command(
    "script",
    context_settings={"ignore_unknown_options": False},
    examples=[("chainer2torch verify script src out -- train.py --epoch 1", "What stands behind -- is the script's.")],
)
@click.argument("src", type=PATH)
@click.argument("out", type=PATH)
@click.argument("script", nargs=-1, required=True, metavar="-- SCRIPT [ARGS]...")
@click.option("--iterations", default=20, show_default=True, help="Updates of each optimizer to compare.")
@click.option("--seed", default=0, show_default=True, help="For weights, batches and dropout.")
@options.both_sides
def verify_script(src: Path, out: Path, script: tuple[str, ...], report_file: Path | None, **chosen: Any) -> int:
    """Run a training script of SRC and its migration in OUT in lockstep, and compare the losses."""
    from chainer2torch import verify as room

    result = room.verify_script(_folder(src), _folder(out), list(script), **chosen)
    return _verified(result, result.lines(), report_file)


def _verified(result: Any, lines: list[str], report_file: Path | None) -> int:
    click.echo("\n".join(lines))
    if report_file is not None:
        from chainer2torch.report.verification import document_of

        files.write_atomic(report_file, document_of(result).encode())
    return int(result.exit_code)


def _folder(path: Path) -> Path:
    if not path.is_dir():
        raise Failure(f"{path}: no such folder")
    return path


def record(script: tuple[str, ...], out: Path, **chosen: Any) -> int:
    """Runs the script in the current folder and writes what it saw."""
    from chainer2torch.verify import trace as room

    data = room.run_trace(Path(), script, **chosen)
    files.write_atomic(out, (json.dumps(data, indent=1) + "\n").encode())
    click.echo(
        f"{out}: {len(data['functions'])} functions, {len(data['calls'])} calls of Chainer, "
        f"{len(data['classes'])} classes of links",
        err=True,
    )
    if data["problem"]:
        raise Failure(f"the script failed: {data['problem']}; the trace holds what it did until then")
    return DONE


def _convert(source: Path, model: str, args: str, out: Path, prefix: str, allow_extra: bool, limit: int) -> int:
    """Imports the migrated model (this runs its module), loads the file into it, writes its weights."""
    try:
        given = json.loads(args)
    except ValueError as error:
        raise Failure(f"--args {args}: not JSON: {error}") from None
    if not isinstance(given, (list, dict)):
        raise Failure(f"--args {args}: must be a JSON list (positional) or object (by keyword)")
    try:
        from chainer2torch import weights as room
    except ImportError as error:
        raise Failure(f"weights needs PyTorch ({error}): pip install 'chainer2torch[torch]'") from None
    try:
        keys = room.convert(source, model, given, out, prefix=prefix, allow_extra=allow_extra, limit=limit)
    except (room.WeightsError, OSError) as error:
        text = " ".join(str(error).split())
        text = text.replace("pass allow_extra=True", "give --allow-extra")
        raise Failure(text + (" (here: --prefix)" if "path=" in text else "")) from error
    click.echo(f"{out}: {len(keys)} arrays of {model}")
    return DONE
