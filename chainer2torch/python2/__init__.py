"""Sources of Python 2, made Python 3 in memory before they are migrated.

fissix, which keeps lib2to3 alive, does the work. ``engine.py`` is the way in; ``convert.py`` runs the fixers,
``tabs.py`` indents anew, ``names.py`` replaces names that only Python 2 has in files that Python 3 can parse. What
means something else in Python 3 and parses all the same is either decided by what is known of the values
(``division.py``) or marked for a person (``questions.py``).
"""
