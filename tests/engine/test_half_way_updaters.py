"""Updaters of one's own, loss functions and reports at every stage of ``migrate --only``, run in both frameworks."""

import sys
from pathlib import Path

import numpy as np
import pytest

import chainer2torch
from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options
from chainer2torch.vendor.compat_file import build
from chainer2torch.verify.worker import chainer_patches, compat_module

PROGRAM = """\
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training
from chainer.training import extensions


def weights(n, m, k):
    return (np.sin(np.arange(n * m) + k) * 0.5).reshape(n, m).astype('f')


class Forger(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(2, 5, initialW=weights(5, 2, 1))
            self.bn = L.BatchNormalization(5)
            self.l2 = L.Linear(5, 3, initialW=weights(3, 5, 2))

    def __call__(self, z):
        return self.l2(F.relu(self.bn(self.l1(z))))


class Critic(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(3, 4, initialW=weights(4, 3, 3))
            self.l2 = L.Linear(4, 1, initialW=weights(1, 4, 4))

    def __call__(self, x):
        return self.l2(F.leaky_relu(self.l1(x)))


class Updater(training.updaters.StandardUpdater):
    def __init__(self, *args, **kwargs):
        self.forger, self.critic = kwargs.pop('models')
        super().__init__(*args, **kwargs)

    def critic_loss(self, critic, fake, real):
        loss = F.mean(F.softplus(-real)) + F.mean(F.softplus(fake))
        chainer.report({'loss': loss, 'half': float(loss.array) / 2}, critic)
        return loss

    def forger_loss(self, forger, fake):
        loss = F.mean(F.softplus(-fake))
        chainer.report({'loss': loss}, forger)
        chainer.report({'free': loss})
        return loss

    def update_core(self):
        batch = self.get_iterator('main').next()
        x = chainer.Variable(self.converter(batch, self.device))
        z = np.sin(np.arange(2 * len(batch)) + self.iteration).reshape(-1, 2).astype('f')
        fake = self.forger(chainer.Variable(z))
        on_real, on_fake = self.critic(x), self.critic(fake)
        self.get_optimizer('forger').update(self.forger_loss, self.forger, on_fake)
        self.get_optimizer('critic').update(self.critic_loss, self.critic, on_fake, on_real)


def optimizer_of(link):
    optimizer = chainer.optimizers.Adam(0.02, eps=1e-3)
    optimizer.setup(link)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.001))
    return optimizer


def adversaries(out):
    forger, critic = Forger(), Critic()
    data = [row for row in np.cos(np.arange(36)).reshape(12, 3).astype('f')]
    updater = Updater(models=(forger, critic), iterator=chainer.iterators.SerialIterator(data, 4, shuffle=False),
                      optimizer={'forger': optimizer_of(forger), 'critic': optimizer_of(critic)}, device=-1)
    trainer = training.Trainer(updater, (8, 'iteration'), out=out)
    log = extensions.LogReport(trigger=(2, 'iteration'))
    trainer.extend(log)
    trainer.run()
    chainer.serializers.save_npz(out + '/forger.npz', forger)
    chainer.serializers.save_npz(out + '/critic.npz', critic)
    return log.log


def loss_function(out):
    model = Critic()

    def loss(x, t):
        value = F.mean((model(x) - t) ** 2)
        chainer.report({'squares': value}, model)
        return value

    x = np.cos(np.arange(24)).reshape(8, 3).astype('f')
    data = chainer.datasets.TupleDataset(x, x[:, :1])
    iterator = chainer.iterators.SerialIterator(data, 3, shuffle=False)
    updater = training.updaters.StandardUpdater(iterator, optimizer_of(model), loss_func=loss)
    trainer = training.Trainer(updater, (6, 'iteration'), out=out)
    log = extensions.LogReport(trigger=(3, 'iteration'))
    trainer.extend(log)
    trainer.run()
    chainer.serializers.save_npz(out + '/model.npz', model)
    return log.log
"""
STAGES = {
    "models": [("models",)],
    "training": [("training",)],
    "models, training": [("models",), ("training",)],
    "models, training, data": [("models",), ("training",), ("data",)],
    "models, rest": [("models",), ()],
    "all": [()],
}


def migrated(steps):
    code = PROGRAM
    for only in steps:
        result = migrate_source(code, options=Options(only=frozenset(only)))
        assert result.error is None
        assert not [site for site in result.sites if site.state == "manual"], result.code
        again = migrate_source(result.code, options=Options(only=frozenset(only)))
        assert again.code == result.code, "a second run changes nothing"
        compile(build(result.helpers), "chainer_compat.py", "exec")  # the rooms of both sides in one module
        code = result.code
    return code


def run(code, name, out):
    if "chainer_compat" not in sys.modules:
        compat_module.install(str(Path(chainer2torch.__file__).parent / "compat"))
    scope = {"__name__": "program"}
    exec(compile(code, "<program>", "exec"), scope)
    out.mkdir()
    log = scope[name](str(out))
    values = {path.name: dict(np.load(path)) for path in out.glob("*.npz")}
    return [{key: float(value) for key, value in entry.items() if key != "elapsed_time"} for entry in log], values


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    chainer_patches.import_chainer()
    folder = tmp_path_factory.mktemp("original")
    return {name: run(PROGRAM, name, folder / name) for name in ("adversaries", "loss_function")}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", ["adversaries", "loss_function"])
def test_every_stage_learns_as_the_original(name, stage, originals, tmp_path):
    log, values = run(migrated(STAGES[stage]), name, tmp_path / "out")
    expected_log, expected = originals[name]
    assert len(log) == len(expected_log) and [set(entry) for entry in log] == [set(entry) for entry in expected_log]
    for entry, wanted in zip(log, expected_log):
        assert entry == pytest.approx(wanted, rel=1e-4, abs=1e-6)
    for file, arrays in expected.items():
        assert set(values[file]) == set(arrays)
        for key, array in arrays.items():
            np.testing.assert_allclose(values[file][key], array, rtol=1e-3, atol=1e-5, err_msg=f"{file} {key}")


def test_the_adapters_come_and_go():
    first = migrated(STAGES["models"])
    assert "compat.as_torch_converter(self.converter)(batch, self.device)" in first
    assert "update(compat.as_chainer_loss(self.forger_loss), self.forger, on_fake)" in first
    assert "compat.as_chainer_report(chainer.report)({'loss': loss}, forger)" in first
    assert "loss_func=compat.as_chainer_loss(loss, arrays=True)" in first
    rest = migrated(STAGES["models, rest"])
    assert not [name for name in ("as_chainer", "as_torch", "import chainer\n") if name in rest], rest
    assert "compat.report({'loss': loss}, forger)" in rest or "ppe.reporting.report" in rest


def test_arrays_that_a_loss_function_gets_are_for_a_person():
    code = (
        "import chainer\nimport chainer.links as L\nimport numpy as np\n\nmodel = L.Linear(2, 1)\n"
        "optimizer = chainer.optimizers.SGD()\noptimizer.setup(model)\n"
        "optimizer.update(lambda x: model(x)[0, 0], np.zeros((1, 2), 'f'))\n"
    )
    result = migrate_source(code, options=Options(only=frozenset({"models"})))
    assert [site.code for site in result.sites if site.state == "manual"] == ["C2T017"]
