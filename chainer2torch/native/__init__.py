"""Short helpers for ``--style native``: plain torch objects, with what Chainer does differently put right.

They are vendored as those of ``chainer2torch/compat/`` are, but independent of them: each is at most some twenty lines
and knows nothing of snapshots, lazy links, or Chainer's names.
"""
