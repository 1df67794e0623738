"""What follows from the finished decisions: imports that go, names that stay, what is left of Chainer."""
