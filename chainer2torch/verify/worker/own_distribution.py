"""A package of the tree that asks for its own version: it need not be installed for a comparison.

Written for Python 3.6 and newer, with the standard library only.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import io
import os
import types

_VERSION = "0"


def install(tree):
    """``pkg_resources.get_distribution('own-name')`` and ``importlib.metadata.version`` know what lies in the tree."""
    packages, asks = _packages(tree)
    if not asks:
        return

    def lenient(function, result):
        def found(name, *args, **kwargs):
            try:
                return function(name, *args, **kwargs)
            except Exception:
                if str(name).replace("-", "_").lower() in packages:
                    return result(name)
                raise

        return found

    try:
        import importlib.metadata as metadata

        metadata.version = lenient(metadata.version, lambda name: _VERSION)
    except ImportError:
        pass
    try:
        import pkg_resources
    except Exception:
        return
    made = lambda name: types.SimpleNamespace(version=_VERSION, project_name=name)  # noqa: E731
    pkg_resources.get_distribution = lenient(pkg_resources.get_distribution, made)
    pkg_resources.require = lenient(pkg_resources.require, lambda name: [made(name)])


def _packages(tree):
    """The names of the packages in a tree, and whether one of them asks for a distribution."""
    found, asks = set(), False
    for folder, _, files in os.walk(tree):
        if "__init__.py" not in files:
            continue
        found.add(os.path.basename(folder).lower())
        for name in ("__init__.py", "version.py", "_version.py"):
            if name in files and not asks:
                with io.open(os.path.join(folder, name), encoding="utf-8", errors="replace") as stream:
                    text = stream.read()
                asks = "get_distribution" in text or "metadata" in text
    return found, asks
