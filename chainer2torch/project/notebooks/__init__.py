"""Notebooks (.ipynb): their code cells as one Python text, and back, without touching anything else of the file."""

from chainer2torch.project.notebooks.notebook import MAGIC, Notebook, is_notebook, plain, read

__all__ = ["MAGIC", "Notebook", "is_notebook", "plain", "read"]
