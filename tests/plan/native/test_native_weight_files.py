"""Programs that save and load, in native style, beside Chainer: what comes back is what was saved."""

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options
from tests.support.native_programs import check, migrated

_NATIVE = Options(style="native")
RESUMED = """
def train(model):
    import os
    import tempfile

    folder = tempfile.mkdtemp()
    optimizer = optimizers.{make}
    optimizer.setup(model)
    other = Net()
    again = optimizers.{make}
    again.setup(other)
    losses = []
    rng = np.random.RandomState(0)
    for i in range(4):
        x = chainer.Variable(rng.randn(5, 3).astype('f'))
        loss = F.mean(model(x) ** 2)
        model.cleargrads()
        loss.backward()
        optimizer.update()
    serializers.save_{kind}(os.path.join(folder, 'model'), model)
    serializers.save_{kind}(os.path.join(folder, 'state'), optimizer)
    serializers.load_{kind}(os.path.join(folder, 'model'), other)
    serializers.load_{kind}(os.path.join(folder, 'state'), again)
    for i in range(4):
        x = chainer.Variable(rng.randn(5, 3).astype('f'))
        loss = F.mean(other(x) ** 2)
        other.cleargrads()
        loss.backward()
        again.update()
        losses.append(float(loss.array))
    return losses
"""


@pytest.mark.parametrize("kind", ["npz", "hdf5"])
@pytest.mark.parametrize("make", ["Adam(alpha=0.1)", "MomentumSGD(0.1)", "AdaGrad(0.1)", "SMORMS3(0.1)"])
def test_training_goes_on(kind: str, make: str) -> None:
    code = check(RESUMED.format(kind=kind, make=make))
    assert "torch.save(optimizer.state_dict(), os.path.join(folder, 'state'))" in code
    assert "other.load_state_dict(torch.load(os.path.join(folder, 'model'), map_location='cpu'))" in code


def test_the_difference_is_declared() -> None:
    result = migrated("serializers.save_npz('x', Net())")
    site = next(s for s in result.sites if s.symbol.endswith("save_npz"))
    assert (site.state, site.difference) == ("close", "weight-files")
    assert "torch.save(Net().state_dict(), 'x')" in result.code


COUNTED = """
def train(model):
    import os
    import tempfile

    path = os.path.join(tempfile.mkdtemp(), 'state')
    optimizer = optimizers.{make}
    optimizer.setup(model)
    for i in range(2):
        x = chainer.Variable(np.ones((5, 3), 'f'))
        loss = F.mean(model(x) ** 2)
        model.cleargrads()
        loss.backward()
        optimizer.update()
    serializers.save_npz(path, optimizer)
    again = optimizers.{make}
    again.setup(Net())
    serializers.load_npz(path, again)
    return [float(loss.array), again.t, again.epoch]
"""


@pytest.mark.parametrize("make", ["Adam(alpha=0.1)", "MomentumSGD(0.1)", "SGD(0.1)"])
def test_an_optimizer_that_is_asked_for_its_counters_finds_them_in_the_file_of_another(make: str) -> None:
    assert "Late" in check(COUNTED.format(make=make))


@pytest.mark.parametrize("what", ["optimizer", "trainer"])
def test_what_is_loaded_brings_its_settings(what: str) -> None:
    """Chainer saves no rate: a program that resumes with another one goes on with that."""
    made = "optimizer = chainer.optimizers.SGD(0.1)\noptimizer.setup(Net())\n"
    if what == "trainer":
        made += (
            "it = chainer.iterators.SerialIterator([(1, 2)], 1)\n"
            "trainer = chainer.training.Trainer(chainer.training.StandardUpdater(it, optimizer), (1, 'epoch'))\n"
        )
    result = migrated(made + f"serializers.load_npz('x', {what})")
    site = next(s for s in result.sites if s.symbol.endswith("load_npz"))
    assert (site.state, site.difference) == ("close", "loaded-settings")


@pytest.mark.parametrize(
    "body",
    [
        "import io\nf = io.BytesIO()\nserializers.save_npz(f, Net())",
        "class Own(Net):\n    def serialize(self, s):\n        pass\nserializers.save_npz('x', Own())",
    ],
)
def test_what_stays_faithful(body: str) -> None:
    assert "state_dict" not in migrated(body).code


@pytest.mark.parametrize("make", ["elsewhere.Net()", "Net() if mol else elsewhere.Net()"])
def test_a_model_of_another_library(make: str) -> None:
    """What is loaded into is a model: nothing else has parameters to load, and it has its library's new form."""
    code = migrated(
        f"import elsewhere\n\ndef f(path, mol):\n    model = {make}\n    serializers.load_npz(path, model)"
    ).code
    assert "model.load_state_dict(torch.load(path, map_location='cpu'))" in code


def test_a_model_of_a_class_that_another_library_began() -> None:
    """Its base is not seen, as that of a value of unknown kind: without a state_dict the line raises."""
    body = "from elsewhere import Detector\nclass Own(Detector):\n    pass\nserializers.load_npz('x', {}, strict=True)"
    assert ".load_state_dict(torch.load('x', map_location='cpu'), strict=True)" in migrated(body.format("Own()")).code
    stays = "from chainer.links.caffe import CaffeFunction\nclass Own(CaffeFunction):\n    pass\n"
    result = migrate_source(f"import chainer\n{stays}chainer.serializers.save_npz('x', Own('y'))\n", options=_NATIVE)
    assert "torch.save(Own('y').state_dict(), 'x')" in result.code
    plain = "class Plain:\n    pass\nserializers.load_npz('x', Plain())"
    assert "load_state_dict" not in migrated(plain).code


CHOSEN = """
def train(model):
    import os
    import tempfile

    folder = tempfile.mkdtemp()
    save, other = serializers.save_{kind}, Net()
    load = serializers.load_npz if '{kind}' == 'npz' else serializers.load_hdf5
    save(os.path.join(folder, 'model'), model)
    load(os.path.join(folder, 'model'), other)
    x = chainer.Variable(np.ones((2, 3), 'f'))
    return [float(F.sum(other(x)).array), float(F.sum(other(x) - model(x)).array)]
"""


@pytest.mark.parametrize("kind", ["npz", "hdf5"])
def test_functions_that_are_chosen_by_the_program(kind: str) -> None:
    code = check(CHOSEN.format(kind=kind))
    assert "save, other = compat.save_state, Net()" in code
    assert "compat.load_state if" in code and "npz(" not in code


@pytest.mark.parametrize(
    "body",
    [
        "class Own(training.Extension):\n    def __init__(self, save=serializers.save_npz):\n        self.save = save",
        "import functools\nload = functools.partial(serializers.load_npz, strict=False)",
        "def f(g):\n    return g(load=serializers.load_npz)",
        "class Own(Net):\n    def serialize(self, s):\n        self.n = s('n', 1)\nsave = serializers.save_npz",
    ],
)
def test_functions_whose_objects_may_have_no_state_stay(body: str) -> None:
    code = migrated(f"from chainer import training\n{body}").code
    assert "compat.save_npz" in code or "compat.load_npz" in code


def test_a_part_of_a_snapshot() -> None:
    code = migrated("serializers.load_npz('x', Net(), path='updater/model:main/')").code
    assert "Net().load_state_dict(compat.state_part('x', 'updater/model:main/'))" in code


IGNORED = """
def train(model):
    import os
    import tempfile

    path = os.path.join(tempfile.mkdtemp(), 'model')
    serializers.save_npz(path, model)
    other = Net()
    for param in other.params():
        param.array[...] = 0.5
    serializers.load_npz(path, other, ignore_names={names})
    return [float(F.sum(p.array * p.array).array) for p in (other.l1.W, other.l1.b, other.l2.W, other.l2.b)]
"""


@pytest.mark.parametrize("names", ["['l2/W', 'l2/b']", "'l1/W'", "('l3/W',)"])
def test_names_that_a_file_is_not_asked_for(names: str) -> None:
    code = check(IGNORED.format(names=names))
    assert f"compat.load_except(path, other, {names})" in code and "npz" not in code


OWN = """
class State:
    def __init__(self, step):
        self.step, self.best = step, np.zeros(2, 'f')

    def serialize(self, s):
        if isinstance(s, chainer.Serializer):
            s('step', self.step)
        else:
            self.step = s('step', self.step)
        self.best = s('best', self.best)


def train(model):
    import os
    import tempfile

    folder, state, other = tempfile.mkdtemp(), State(3), State(0)
    state.best += 2
    optimizer, model2 = optimizers.MomentumSGD(0.1), Net()
    optimizer.setup(model)
    for name, obj in (('model', model), ('optimizer', optimizer), ('state', state)):
        serializers.save_npz(os.path.join(folder, name), obj)
    for name, obj in (('model', model2), ('state', other)):
        serializers.load_npz(os.path.join(folder, name), obj)
    return [other.step, *other.best, float(F.sum(model2.l1.W - model.l1.W).array)]
"""


def test_an_object_that_says_what_is_saved_of_it() -> None:
    code = check(OWN)
    assert "compat.save_object(os.path.join(folder, name), obj)" in code and "npz" not in code
    assert "if not s.loads:" in code and "StateWriter" not in code


SAVING = """
from chainer import training
from chainer.training import extensions

class Keep(training.Extension):
    priority = -100

    def __init__(self, save=serializers.save_npz, load=serializers.load_npz):
        self.save, self.load, self.calls = save, load, 0

    def __call__(self, trainer):
        path = os.path.join(trainer.out, 'kept')
        self.calls += 1
        if self.calls == 1:
            self.save(path, trainer)
        elif self.calls == 3:
            self.load(path, trainer)


def train(model):
    import tempfile

    data = [(np.array([i, 1, 2], 'f') / 10, np.array(i % 2, 'i')) for i in range(6)]
    optimizer = optimizers.MomentumSGD(0.1)
    classifier = L.Classifier(model)
    optimizer.setup(classifier)
    updater = training.StandardUpdater(iterators.SerialIterator(data, 2, shuffle=False), optimizer)
    trainer = training.Trainer(updater, (4, 'epoch'), out=tempfile.mkdtemp())
    keep = Keep()
    trainer.extend(keep, trigger=(1, 'epoch'))
    trainer.run()
    return [keep.calls, *(float(F.sum(p * p).array) for p in (model.l1.W, model.l2.W, model.l2.b))]
"""


def test_an_extension_saves_a_training_by_functions_that_it_is_given() -> None:
    code = check("import os\n" + SAVING, rtol=1e-4)
    assert "save=compat.save_state, load=compat.load_state" in code
    assert "    needs_model_state = True\n    priority = -100\n" in code


@pytest.mark.parametrize(("read", "plain"), [("np.load('model.npz')", False), ("np.load('data.npz')", True)])
def test_a_program_that_reads_its_own_archive_keeps_them(read, plain):
    program = f"def save(model, name='model.npz'):\n    serializers.save_npz(name, model)\n    return {read}\n"
    program += "save(L.Linear(2, 2))\n"
    assert ("torch.save(model.state_dict(), name)" in migrated(program).code) is plain


def test_functions_as_values_keep_the_form_of_the_calls_beside_them() -> None:
    """A file that one function writes as an archive is not read as a state_dict by the other."""
    text = (
        "import io\nimport chainer.links as L\nfrom chainer import serializers\n"
        "model, other = L.Linear(3, 2), L.Linear(3, 2)\nload = kept = serializers.load_npz\n"
        "f = io.BytesIO()\nserializers.save_npz(f, model)\nf.seek(0)\nload(f, other)\n"
    )
    code = migrate_source(text, options=Options(style="native")).code
    assert "load_state" not in code and "load = kept = compat.load_npz" in code
    asked = text.replace("io.BytesIO()", "'model.npz'").replace("f.seek(0)\n", "")
    assert "load = kept = compat.load_state" in migrate_source(asked, options=Options(style="native")).code
    part = asked.replace("load(f, other)", "load(f, other, path='x/')")
    assert "load_state" not in migrate_source(part, options=Options(style="native")).code
