"""Parts that the search gives a constructor which takes any.

Written for Python 3.6.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import re

from . import search_values

_NORMS = re.compile(r"norm|^bn|_bn")
# What a constructor is given that takes any number of arguments.
SEVERAL = (("8", "8"), (search_values.LINK, search_values.LINK), ("[8, 8]",))


def parts_for(name, links):
    """Links for a part of this name; ``links`` are some of the project."""
    if _NORMS.search(name.lower()):
        return ["L.BatchNormalization(8)", search_values.LINK]
    return links + [search_values.LINK]
