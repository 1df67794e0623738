"""What models keep from one call to the next (``self.h = h``): each call of the comparison begins as the first one did.

Kept values hold the graph of the call before, whose weights have moved since: going through it a second time means
something in neither framework. Written for Python 3.6: both workers use it.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors


class Kept(object):
    """The attributes of a model's parts as they are now."""

    def __init__(self, parts, has_graph, tables=()):
        """``parts`` are links or modules, ``has_graph(value)`` says whether a value was computed by one. ``tables`` are
        the names of dicts in a part that hold values as its attributes do (buffers).
        """
        self._has_graph = has_graph
        self._tables = tables
        self._saved = [
            (table, {name: _copied(value) for name, value in table.items()})
            for part in parts
            for table in [vars(part)] + [vars(part)[name] for name in tables]
        ]

    def restore(self):
        """Takes back what calls have left behind."""
        for table, before in self._saved:
            for name in [n for n, value in table.items() if n not in self._tables and self._is_left(value)]:
                if name in before:
                    table[name] = _copied(before[name])
                else:
                    del table[name]

    def _is_left(self, value):
        if isinstance(value, (list, tuple)):
            return any(self._is_left(item) for item in value)
        if isinstance(value, dict):
            return any(self._is_left(item) for item in value.values())
        return self._has_graph(value)


def _copied(value):
    """A list or dict of its own, so that what is appended later is not in it."""
    return type(value)(value) if type(value) in (list, dict) else value
