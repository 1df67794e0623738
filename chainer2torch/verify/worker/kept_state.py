"""What models keep from one call to the next (``self.h = h``): its values stay, its graph is let go.

Kept values hold the graph of the call before, whose weights have moved since: going through it a second time means
something in neither framework. The values themselves belong to the comparison: a state that only one side forgets
shows in the next call. Written for Python 3.6: both workers use it.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import collections


def cut(parts, has_graph, without_graph, tables=()):
    """Replaces what the attributes of a model's parts have kept of a call by the same values without a graph.

    ``parts`` are links or modules, ``has_graph(value)`` says whether a value was computed, ``without_graph(value)``
    gives it as a start of its own. ``tables`` are the names of dicts in a part that hold values as its attributes do
    (buffers).
    """
    for part in parts:
        for table in [vars(part)] + [vars(part)[name] for name in tables]:
            for name, value in list(table.items()):
                if name not in tables:
                    table[name] = _cut(value, has_graph, without_graph)


def _cut(value, has_graph, without_graph):
    if isinstance(value, (list, tuple)):
        items = [_cut(item, has_graph, without_graph) for item in value]
        if all(new is old for new, old in zip(items, value)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, collections.deque):
        items = [_cut(item, has_graph, without_graph) for item in value]
        return value if all(new is old for new, old in zip(items, value)) else collections.deque(items, value.maxlen)
    if type(value) is dict:
        items = [(key, _cut(item, has_graph, without_graph)) for key, item in value.items()]
        return value if all(new is value[key] for key, new in items) else dict(items)
    return without_graph(value) if has_graph(value) else value
