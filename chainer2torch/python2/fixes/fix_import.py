"""Imports that Python 2 looked up beside the file: ``import net`` in a package becomes ``from . import net``."""

from __future__ import annotations

from fissix.fixes import fix_import


class FixImport(fix_import.FixImport):  # type: ignore[misc]
    """As fissix's, but the files of the project are asked for, not those of the disk.

    The option ``siblings`` names the modules that lie beside the file, when its folder is a package.
    """

    def probably_a_local_import(self, imp_name: str) -> bool:
        """Whether a module of this name lies beside the file."""
        return imp_name.split(".", 1)[0] in self.options.get("siblings", ())
