"""A record of all that a migration says and writes, to show that a change of the code changes nothing for users.

    python benchmarks/golden.py record RECORD.json TREE... [-- OPTION...]
    python benchmarks/golden.py compare BEFORE.json AFTER.json

``record`` runs ``chainer2torch migrate TREE -o`` on each tree, with the options behind ``--``, and keeps the exit
status, the messages, every site (place, symbol, state, code, message) and a hash of every file. Of a file of helpers
it hashes the syntax tree without docstrings and annotations: these may be improved. ``compare`` prints what differs and
exits with 1 if anything does, with 2 if a tree is missing on one side.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chainer2torch.vendor.compat_file import FILE_NAME

ROOT = Path(__file__).resolve().parents[1]
# of each tree, so many differing files and sites are printed
MOST = 10


class _WithoutWords(ast.NodeTransformer):
    """Removes annotations; docstrings go in :func:`digest`."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.returns = None
        arguments = node.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            argument.annotation = None
        for variadic in (arguments.vararg, arguments.kwarg):
            if variadic is not None:
                variadic.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | None:
        self.generic_visit(node)
        return ast.Assign([node.target], node.value, lineno=node.lineno) if node.value is not None else None


def digest(path: Path) -> str:
    """The hash of a file; of a file of helpers, that of its code alone."""
    data = path.read_bytes()
    if path.name == FILE_NAME:
        tree = _WithoutWords().visit(ast.parse(data))
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and _is_docstring(body[0]):
                del body[0]
        data = ast.dump(tree).encode()
    return hashlib.sha256(data).hexdigest()


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def migrated(tree: Path, options: Sequence[str]) -> dict[str, Any]:
    """What one run says and writes; temporary paths are taken out of its messages."""
    with tempfile.TemporaryDirectory() as folder:
        out, report = Path(folder, "out"), Path(folder, "report.json")
        command = [
            sys.executable,
            "-m",
            "chainer2torch",
            "migrate",
            str(tree.resolve()),
            "-o",
            str(out),
            "-q",
            "-j",
            "1",
        ]
        done = subprocess.run(
            [*command, "--report", str(report), *options], capture_output=True, text=True, cwd=ROOT, check=False
        )
        files = sorted(path for path in out.rglob("*") if path.is_file() and not path.is_symlink())
        return {
            "status": done.returncode,
            "messages": done.stderr.replace(folder, ""),
            "files": {path.relative_to(out).as_posix(): digest(path) for path in files},
            "report": json.loads(report.read_text().replace(folder, "")) if report.exists() else None,
        }


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """What differs between two records of one tree, a line each."""
    for key in ("status", "messages"):
        if before[key] != after[key]:
            yield f"{key}: {before[key]!r} became {after[key]!r}"
    for path in sorted(before["files"].keys() | after["files"].keys()):
        if before["files"].get(path) != after["files"].get(path):
            yield f"file {path}"
    old, new = (_sites(record["report"]) for record in (before, after))
    yield from (f"site - {site}" for site in old if site not in new)
    yield from (f"site + {site}" for site in new if site not in old)


def _sites(report: Mapping[str, Any] | None) -> dict[str, None]:
    """The sites of a report as texts, in order; keys that a record lacks count as a difference, too."""
    files = report["files"] if report is not None else []
    return {f"{file['path']} {json.dumps(site, sort_keys=True)}": None for file in files for site in file["sites"]}


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """Prints what differs; gives the exit status."""
    missing = before.keys() ^ after.keys()
    for name in sorted(missing):
        print(f"{name}: only in one record")
    different = 0
    for name in sorted(before.keys() & after.keys()):
        found = list(differences(before[name], after[name]))
        different += bool(found)
        for line in found[:MOST]:
            print(f"{name}: {line}")
        if len(found) > MOST:
            print(f"{name}: and {len(found) - MOST} more")
    print(f"{len(before.keys() & after.keys()) - different} trees equal, {different} different, {len(missing)} missing")
    return 2 if missing else int(bool(different))


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record", help="migrate trees and write down the result")
    record.add_argument("record", type=Path)
    record.add_argument("trees", type=Path, nargs="+")
    two = commands.add_parser("compare", help="compare two records")
    two.add_argument("before", type=Path)
    two.add_argument("after", type=Path)
    own, options = (
        (list(arguments[: arguments.index("--")]), list(arguments[arguments.index("--") + 1 :]))
        if "--" in arguments
        else (list(arguments), [])
    )
    chosen = parser.parse_args(own)
    if chosen.command == "record":
        found = {" ".join([tree.name, *options]): migrated(tree, options) for tree in chosen.trees}
        chosen.record.write_text(json.dumps(found, indent=1, sort_keys=True))
        return 0
    return compare(json.loads(chosen.before.read_text()), json.loads(chosen.after.read_text()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
