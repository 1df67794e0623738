"""The native style: statements that move, objects of Chainer's that become plain PyTorch."""
