import numpy

from library import chainer_compat as compat

try:
    from chainer import testing
except Exception:
    testing = compat.not_migrated('chainer.testing')


@testing.unary_math_function_unittest(numpy.arctan)
class TestArctan:
    pass
