"""What is decided beside the calls of Chainer: one concern a file."""
