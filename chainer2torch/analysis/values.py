"""``dataclass`` for values of which many are made, and which nobody changes."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, *, frozen: bool = False, eq: bool = True, **options: Any) -> Any:
        """``dataclasses.dataclass``, but that it is ``frozen`` only the type checker sees.

        A class that checks it at run time, too, makes each of its objects two to three times as dear. Each method that
        a class gets is compiled when its module is imported; how it is shown is one function for all of them.
        """
        make = dataclasses.dataclass(eq=eq, unsafe_hash=frozen and eq, repr=False, **options)

        def finished(made: type) -> type:
            made = make(made)
            if "__repr__" not in vars(made):
                made.__repr__ = _shown
            return made

        return finished if cls is None else finished(cls)

    def _shown(self: Any) -> str:
        """A value as :mod:`dataclasses` shows it."""
        fields = (field for field in dataclasses.fields(self) if field.repr)
        return f"{type(self).__qualname__}({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in fields)})"


__all__ = ["dataclass"]
