"""Names that a program gives its models: ``if model.name is None: model.name = 'generator'``."""

from tests.support import native_programs

ASKED = """
class Trained(object):
    def __init__(self, optimizer):
        self.optimizer = optimizer
        if optimizer.target.name is None:
            optimizer.target.name = 'net'

    def named(self):
        return 'model ' + self.optimizer.target.name


def train(model):
    optimizer = optimizers.SGD(0.1)
    optimizer.setup(model)
    given = len(Trained(optimizer).named())
    x = np.arange(6, dtype='f').reshape(2, 3) / 5
    model.cleargrads()
    loss = F.sum(model(x) ** 2)
    loss.backward()
    optimizer.update()
    return [given, float(loss.array), float(model.name == 'net')]
"""

HELD = """
class Outer(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.inner = Net()


def named(model):
    if model.inner.name is None:
        model.inner.name = 'net'
    return model.inner.name


def first():
    return named(Outer())
"""


def test_a_model_that_nothing_holds_has_no_name_until_it_is_given_one():
    code = native_programs.check(ASKED)
    assert "getattr(optimizer.target, 'name', None)" in code and "TODO" not in code


def test_a_class_that_names_itself_is_a_question():
    """Chainer hides what the class says: each link begins with None."""
    head = native_programs.HEAD.replace("class Net(chainer.Chain):", "class Net(chainer.Chain):\n    name = 'own'\n")
    code = native_programs.migrated(ASKED, head=head).code
    assert "C2T200" in code and "getattr(optimizer.target" not in code


def test_the_name_of_a_child_is_a_question():
    code = native_programs.migrated(HELD).code
    assert "C2T200" in code


WALKED = """
def walked(net):
    found = [child.name for child in net.children()]
    for child in net.children():
        found.append(child.name)
    found += [child.name for child in sorted(net.children(), key=lambda child: child.name)]
    return found + [child.name for child in net.links(skipself=True)]


def train(model):
    net = Net()
    net.name = 'x'
    names = walked(net) + [next(net.children()).name]
    return [len(names), names.count('l1'), names.count('l2'), float(net.name == 'x')]
"""


def test_a_walk_over_children_finds_the_names_under_which_they_are_registered():
    code = native_programs.check(WALKED)
    assert code.count("getattr(") == 1, "of the net itself"


def test_a_walk_that_begins_with_the_link_itself_is_a_question():
    code = native_programs.migrated(WALKED.replace("net.links(skipself=True)", "net.links()")).code
    assert code.count("TODO") == 1
