"""What Chainer's own classes and functions do with the kinds of values."""
