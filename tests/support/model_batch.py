"""Many variants of one model through ``verify models`` in one pair of processes: each is a module of its own."""

from chainer2torch.verify.models.verify_models import ModelEntry, verify_models
from chainer2torch.verify.judge.outcome import FAILED, PASSED, UNVERIFIED
from tests.support.command_line import run


def module_of(name):
    """The module of a variant."""
    return "m_" + "".join(c if c.isalnum() else "_" for c in name)


def migrated(tmp_path, text):
    """The migrated text of one file; ``chainer_compat.py`` lies in ``tmp_path / "out"``."""
    (tmp_path / "original").mkdir()
    (tmp_path / "original" / "net.py").write_text(text)
    done = run("migrate", "--style", "faithful", tmp_path / "original", "-q", "-o", tmp_path / "out")
    assert (tmp_path / "out" / "net.py").is_file(), done.stderr
    return (tmp_path / "out" / "net.py").read_text()


def verify(tmp_path, original, variants, entries, *, pyproject="", modes=("train", "eval"), steps=1):
    """Compares ``original`` with each of ``variants`` (texts by name).

    ``entries`` has (class, arguments, inputs) by variant, or under None for all. Gives the status and all reasons and
    notes as one text by variant.
    """
    src, out = tmp_path / "src", tmp_path / "out"
    src.mkdir(exist_ok=True)
    out.mkdir(exist_ok=True)
    (src / "pyproject.toml").write_text(pyproject)
    models = []
    for name, text in variants.items():
        (src / f"{module_of(name)}.py").write_text(original)
        (out / f"{module_of(name)}.py").write_text(text)
        cls, args, inputs = entries.get(name, entries.get(None))
        models.append(ModelEntry(f"{module_of(name)}:{cls}", args, {}, inputs, list(modes)))
    report = verify_models(src, out, entries=models, steps=steps, timeout=300)
    assert report.problems == []
    found = {}
    for name, entry in zip(variants, models, strict=True):
        outcomes = [o for o in report.outcomes if o.pair.row == entry.target]
        statuses = {o.status for o in outcomes}
        status = FAILED if FAILED in statuses else UNVERIFIED if UNVERIFIED in statuses else PASSED
        assert outcomes and all(o.compared for o in outcomes if o.status == PASSED)
        found[name] = status, "\n".join(text for o in outcomes for text in (*o.reasons, *o.notes))
    return found


def migrated_tree(src, out, style="faithful"):
    """Migrates a tree; gives ``out``."""
    done = run("migrate", "--style", style, src, "-q", "-o", out)
    assert done.returncode in (0, 1), done.stderr
    return out
