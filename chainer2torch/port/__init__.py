"""``chainer2torch port``: from an old repository to one that is ready to be merged, in calls that go on.

``look.py`` says what there is; ``writing.py`` writes the migrated copy and keeps what a person has changed in it;
``checks.py`` compares; ``left.py`` finds what is still to do in the copy, and ``summary.py`` says it in ten lines.
What an earlier call did stands in a file of the copy (``state.py``).
"""
