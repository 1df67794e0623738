"""Where the data files of chainer2torch lie: in an installed wheel, in an unpacked sdist and in a checkout."""

from pathlib import Path


def rules_dir() -> Path:
    """The folder of the built-in rule tables (``*.toml``, possibly in sub-folders).

    A wheel carries them inside the package as ``chainer2torch/_rules``; in a checkout, an sdist and an editable install
    they are ``rules/`` beside the package. Raises FileNotFoundError when the installation has neither.
    """
    package = Path(__file__).resolve().parents[1]
    for candidate in (package / "_rules", package.parent / "rules"):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(
        f"the rule tables of chainer2torch are missing: neither {package / '_rules'} nor {package.parent / 'rules'} "
        "exists; install chainer2torch again"
    )
