import numpy

from library import chainer_compat as compat

try:
    from chainer import testing
except Exception:
    testing = compat.not_migrated('chainer.testing')


@testing.inject_backend_tests(None, [{}])
class TestArctan:
    pass
