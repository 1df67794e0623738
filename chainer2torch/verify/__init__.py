"""Runs the original under Chainer and the migrated code under PyTorch, and compares."""
