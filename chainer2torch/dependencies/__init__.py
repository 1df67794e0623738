"""What a project asks to be installed: Chainer and CuPy become the packages that the migrated code imports.

``places`` and ``python_places`` find requirements in a file, ``editing`` replaces them and leaves every other
character, ``moving`` decides for a project what goes, what comes and what has to stay.
"""
from chainer2torch.dependencies.moving import Moved, move

__all__ = ["Moved", "move"]
