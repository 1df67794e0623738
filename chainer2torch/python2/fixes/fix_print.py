"""``print`` as a function: one expression in parentheses keeps them, and gets no second pair."""

from __future__ import annotations

from typing import Any

from fissix.fixes import fix_print
from fissix.pgen2 import token


class FixPrint(fix_print.FixPrint):  # type: ignore[misc]
    """As fissix's, which does that for names and strings alone."""

    def transform(self, node: Any, results: Any) -> Any:
        """Nothing, where the statement reads as a call of the function already."""
        if not results.get("bare") and len(node.children) == 2 and self._is_one_value(node.children[1]):
            return None
        return super().transform(node, results)

    def _is_one_value(self, node: Any) -> bool:
        """Parentheses around one expression: no tuple, which is printed as one, and nothing that needs its own."""
        if node.type != self.syms.atom or len(node.children) != 3 or node.children[0].type != token.LPAR:
            return False
        return node.children[1].type not in (self.syms.testlist_gexp, self.syms.yield_expr)
