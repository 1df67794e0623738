"""Migrates Chainer's own examples, runs both versions, and writes what came out as a table.

    python benchmarks/chainer_examples.py EXAMPLES [NAME...] [--work DIR] [--results FILE] [--table FILE]
        [--device cuda] [--release 5.4] [--chainer-python PATH]

EXAMPLES is the folder `examples` of a Chainer 7.8.1 checkout; it is read only. For each example: the sites by state,
the imports of the migrated files where Chainer cannot be imported, its scripts in lockstep (`verify script`) and its
models (`verify models`). What is run stands in chainer_examples.toml; the data are synthetic. The results of
an earlier run are kept for the examples that are not named.

`--release` says that EXAMPLES are those of an older release: what their scripts take otherwise stands in
chainer_examples_old.toml. `--chainer-python` runs the original side with an interpreter and a Chainer of its time.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SUPPORT = HERE.parent / "tests" / "support"
sys.path[:0] = [str(HERE.parent), str(SUPPORT)]

from chainer2torch.verify.script import synthetic_data  # noqa: E402
import synthetic_media  # noqa: E402
import synthetic_old  # noqa: E402
import synthetic_texts  # noqa: E402

from chainer2torch.verify.models.verify_models import ModelEntry, verify_models  # noqa: E402
from chainer2torch.verify.script.script_report import ScriptReport  # noqa: E402
from chainer2torch.verify.script.verify_script import verify_script  # noqa: E402

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Runs the imports of migrated files (and what says where they look), wherever they stand in them, where Chainer cannot
# be imported: each file in a process of its own, made when the libraries are there.
_IMPORTS = """
import ast, json, os, sys
import pytorch_pfn_extras, torch
for name in ("chainer", "chainerx", "chainermn", "cupy"):
    sys.modules[name] = None

def imports(path):
    folders = [os.path.dirname(path)]
    while os.path.exists(os.path.join(folders[-1], "__init__.py")):
        folders.append(os.path.dirname(folders[-1]))
    sys.path[:0] = folders
    os.chdir(folders[0])
    tree = ast.parse(open(path, encoding="utf-8").read())
    tried = {id(node) for block in ast.walk(tree) if isinstance(block, ast.Try) for node in ast.walk(block)}
    tree.body = [node for node in ast.walk(tree)
                 if (isinstance(node, (ast.Import, ast.ImportFrom)) or ast.unparse(node).startswith("sys.path.append"))
                 and isinstance(node, ast.stmt) and id(node) not in tried]
    exec(compile(ast.fix_missing_locations(tree), path, "exec"), {"__name__": "imported", "__file__": path})

paths, sys.argv[1:] = sys.argv[1:], []
for path in paths:
    reader, writer = os.pipe()
    if os.fork() == 0:
        said = ""
        try:
            imports(path)
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    os.wait()
    print(json.dumps([path, os.read(reader, 10000).decode()]))
"""
_MARKS = "<!-- made by benchmarks/chainer_examples.py -->", "<!-- end -->"


def specs_of(release: str | None) -> dict[str, Any]:
    """What is run, by example: of 7.8.1, or of an older ``release``, whose example is what the next newer one names.

    Raises:
        KeyError: chainer_examples_old.toml does not know the release.
    """
    specs = tomllib.loads((HERE / "chainer_examples.toml").read_text(encoding="utf-8"))
    if release is None:
        return specs
    old = tomllib.loads((HERE / "chainer_examples_old.toml").read_text(encoding="utf-8"))
    for name, changed in old.items():  # from new to old
        specs.update(changed)
        if name == release:
            return specs
    raise KeyError(f"{release}: not one of {', '.join(old)}")


def run_example(
    name: str,
    spec: Mapping[str, Any],
    examples: Path,
    work: Path,
    device: str = "cpu",
    chainer_python: str | None = None,
) -> dict[str, Any]:
    """Everything about one example; ``work`` holds the synthetic data and gets the trees."""
    src, out = work / "src" / name, work / "out" / name
    for tree in (src, out):
        shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(examples / name, src)
    result: dict[str, Any] = {"sites": _migrate(src, out)}
    for tree in (src, out):
        for module in spec.get("stand_in", []):
            for folder in {path.parent for path in tree.rglob("*.py")}:
                shutil.copy(SUPPORT / "stand_ins" / f"{module}.py", folder)
        for there, here in spec.get("files", {}).items():
            source = work / "data" / here
            (shutil.copytree if source.is_dir() else shutil.copy)(source, tree / there)
    result["imports"] = _imports(out, set(spec.get("stand_in", [])))
    missing = [module for module in spec.get("needs", []) if importlib.util.find_spec(module) is None]
    result["missing"] = missing
    result["scripts"] = (
        []
        if missing
        else [_script(script, src, out, work, device, chainer_python) for script in spec.get("scripts", [])]
    )
    if "factories" in spec:
        made, migrated = work / "models" / name, work / "models-out" / name
        for tree in (made, migrated):
            shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(src, made)
        (made / "factories.py").write_text(spec["factories"], encoding="utf-8")
        migrated.parent.mkdir(exist_ok=True)
        _migrate(made, migrated)
        src, out = made, migrated
    result["models"] = [] if missing else _models(spec.get("models", []), src, out, device)
    return result


def _migrate(src: Path, out: Path) -> dict[str, int]:
    report = out.parent / f"{out.name}.json"
    done = subprocess.run(
        [sys.executable, "-m", "chainer2torch", "migrate", str(src), "-o", str(out), "--report", str(report), "-q"],
        capture_output=True,
        text=True,
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"migrate {src}: {done.stderr}")
    return json.loads(report.read_text(encoding="utf-8"))["totals"]


def _imports(out: Path, own: set[str]) -> dict[str, str]:
    """By file: empty where the imports succeed, else the error."""
    paths = [path for path in sorted(out.rglob("*.py")) if path.name != "chainer_compat.py" and path.stem not in own]
    done = subprocess.run([sys.executable, "-c", _IMPORTS, *map(str, paths)], capture_output=True, text=True)
    found = dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith('["'))
    return {path.relative_to(out).as_posix(): found.get(str(path), "the process ended") for path in paths}


def _script(
    script: Mapping[str, Any], src: Path, out: Path, work: Path, device: str, chainer_python: str | None
) -> dict[str, Any]:
    argv = [word.replace("{data}", str(work / "data")) for word in script["argv"]]
    if device != "cpu":
        argv += ["-d", "0"]  # all of Chainer's examples have this option
    start = time.monotonic()
    report = verify_script(
        src, out, argv, iterations=script["iterations"], timeout=900, device=device, chainer_python=chainer_python
    )
    print("\n".join(report.lines()), flush=True)
    return {
        "argv": script["argv"],
        "ok": report.ok,
        "float32": _figures(report),
        "float64": _figures(report.double) if report.double else None,
        "facts": report.facts,
        "unverified": report.unverified,
        "seconds": round(time.monotonic() - start),
    }


def _figures(report: ScriptReport) -> dict[str, Any]:
    first = report.first_difference
    losses = [step for step in report.steps if step.name.startswith("loss")]
    equal = losses if first is None else [step for step in losses if step.iteration < first.iteration]
    return {
        "iterations": report.iterations,
        "values": len(report.steps),
        "problems": report.problems,
        "largest": max((step.relative for step in losses), default=None),
        "equal_for": max((step.iteration for step in equal), default=0),
        "first": None if first is None else [first.iteration, first.name, first.relative],
    }


def _models(specs: Sequence[Mapping[str, Any]], src: Path, out: Path, device: str) -> list[dict[str, Any]]:
    found = []
    for spec in specs:
        start = time.monotonic()
        inputs = spec["inputs"]
        named = dict(inputs) if isinstance(inputs, dict) else {f"x{i}": text for i, text in enumerate(inputs)}
        entry = ModelEntry(
            spec["target"], spec.get("args", []), spec.get("kwargs", {}), named, spec.get("modes", ["train", "eval"])
        )
        root = Path(spec.get("root", "."))
        report = verify_models(
            src / root, out / root, entries=[entry], steps=spec.get("steps", 3), timeout=900, device=device
        )
        print("\n".join(report.lines()), flush=True)
        found.append(
            {
                "target": spec["target"],
                "args": entry.args,
                "ok": report.ok,
                "passed": report.compared,
                "cases": len(report.outcomes),
                "problems": report.problems,
                "rounded": sum(outcome.rounded for outcome in report.outcomes),
                "reasons": [reason for outcome in report.outcomes for reason in outcome.reasons],
                "seconds": round(time.monotonic() - start),
            }
        )
    return found


def table(results: Mapping[str, Any]) -> str:
    """The results as Markdown."""
    lines = ["| example | exact | close | review | manual | files whose imports succeed |", "|---|---|---|---|---|---|"]
    for name, result in results.items():
        sites, imports = result["sites"], result["imports"]
        bad = [f"{file}: {error}" for file, error in imports.items() if error]
        good = f"{len(imports) - len(bad)} of {len(imports)}" + "".join(f"<br>{text}" for text in bad)
        counts = " | ".join(str(sites[state]) for state in ("exact", "close", "review", "manual"))
        lines.append(f"| {name} | {counts} | {good} |")
    lines += ["", "| script | iterations | float32 | float64 |", "|---|---|---|---|"]
    for name, result in results.items():
        if result["missing"]:
            lines.append(f"| {name} | not run: {', '.join(result['missing'])} is not installed | | |")
        for script in result["scripts"]:
            words = " ".join(Path(word).name if "{data}" in word else word for word in script["argv"])
            single, double = script["float32"], script["float64"]
            lines.append(
                f"| {name}: `{words}` | {single['iterations']} | {_cell(single)} | {_cell(double) if double else ''} |"
            )
    lines += ["", *_models_table(results)]
    return "\n".join(lines) + "\n"


_MODELS_HEAD = "| model | cases equal | of them but for rounding | |"


def _models_table(results: Mapping[str, Any]) -> list[str]:
    lines = [_MODELS_HEAD, "|---|---|---|---|"]
    for name, result in results.items():
        for model in result["models"]:
            why = "" if model["ok"] else "; ".join([*model["problems"], *model["reasons"]])[:200]
            made = f"{model['target']}({', '.join(map(repr, model['args']))})"
            lines.append(
                f"| {name}: `{made}` | {model['passed']} of {model['cases']} | {model.get('rounded', 0)} | {why} |"
            )
    return lines


def _cell(figures: Mapping[str, Any]) -> str:
    """Equal, with the largest relative difference of a loss; or where it differs first."""
    if figures["problems"]:
        return "fails: " + figures["problems"][0].split("\n")[0][:120]
    if figures["largest"] is None:
        return "nothing compared"
    if figures["first"] is None:
        return f"equal, {figures['largest']:.1e}"
    iteration, value, relative = figures["first"]
    return f"differs at {iteration} ({value}, {relative:.1e})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("examples", type=Path)
    parser.add_argument("names", nargs="*", help="default: all of chainer_examples.toml")
    parser.add_argument("--only", choices=("scripts", "models"), help="leave out the other")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--release", help="an older one, e.g. 5.4: chainer_examples_old.toml")
    parser.add_argument("--chainer-python", help="an interpreter with the Chainer of that release")
    parser.add_argument("--work", type=Path, default=Path("out/chainer-examples"))
    parser.add_argument("--results", type=Path, help="default: results.json in the work folder")
    parser.add_argument("--table", type=Path, help="a Markdown file with the marks between which the table goes")
    args = parser.parse_args()
    specs = specs_of(args.release)
    work = args.work.absolute()
    _write_data(work)
    path = args.results or work / "results.json"
    results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    left_out = {"scripts": "models", "models": "scripts"}.get(args.only)
    for name in args.names or [name for name in specs if (args.examples / name).exists()]:
        print(f"== {name}", flush=True)
        spec = {key: value for key, value in specs[name].items() if key != left_out}
        made = run_example(name, spec, args.examples, work, args.device, args.chainer_python)
        if left_out:
            made[left_out] = results.get(name, {}).get(left_out, [])
        results[name] = {**made, "date": datetime.date.today().isoformat()}
        path.write_text(json.dumps({key: results[key] for key in specs if key in results}, indent=1), encoding="utf-8")
    text = table({key: results[key] for key in specs if key in results})
    print(text)
    if args.table and args.only == "models":  # the other tables stay as they are
        page = args.table.read_text(encoding="utf-8")
        head, rest = page.split("| model | cases equal |", 1)
        made = "\n".join(_models_table({key: results[key] for key in specs if key in results}))
        args.table.write_text(f"{head}{made}\n{_MARKS[1]}{rest.split(_MARKS[1], 1)[1]}", encoding="utf-8")
    elif args.table:
        page = args.table.read_text(encoding="utf-8")
        head, rest = page.split(_MARKS[0], 1)
        args.table.write_text(f"{head}{_MARKS[0]}\n{text}{_MARKS[1]}{rest.split(_MARKS[1], 1)[1]}", encoding="utf-8")


def _write_data(work: Path) -> None:
    """The synthetic data, once a work folder; the examples find them through the environment."""
    root, folder = work / "root", work / "data"
    if not (work / "data-is-complete").exists():
        synthetic_data.write_all(root)
        synthetic_texts.write_all(root, folder)
        synthetic_media.write_all(root, folder)
        synthetic_old.write_all(root, folder)
        (work / "data-is-complete").touch()
    os.environ["CHAINER_DATASET_ROOT"] = str(root)
    os.environ["NLTK_DATA"] = str(folder / "nltk_data")
    os.environ.setdefault("MPLBACKEND", "agg")


if __name__ == "__main__":
    main()
