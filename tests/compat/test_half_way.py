"""Two fixtures half way: at every stage the losses of the original, with weights that go both ways."""

import copy
import sys
import types
from pathlib import Path

import chainer
import chainer.functions as F
import numpy as np
import pytest
import torch
from chainer import serializers

from chainer2torch.vendor import compat_file
from chainer2torch.compat.half_way import seams
from chainer2torch.engine import migrate_source

FIXTURES = Path(__file__).parents[2] / "fixtures"
# the file, its class, constructor arguments, the shape of a batch, and the dropout that is taken out: two generators
# do not draw the same masks
CASES = {
    "mlp_trainer": ("net.py", "MLP", (7, 3), (8, 5), ("ratio=.25", "ratio=.0")),
    "cnn_loop": ("models.py", "StripeNet", (), (8, 1, 16, 16), (", .2)", ", .0)")),
}
STEPS = 5


@pytest.fixture(params=sorted(CASES))
def models(request, tmp_path, monkeypatch):
    """The original model and its migration, with the same weights, and batches for both."""
    file, name, arguments, shape, (ratio, none) = CASES[request.param]
    text = (FIXTURES / request.param / file).read_text()
    assert ratio in text
    text = text.replace(ratio, none)
    result = migrate_source(text, file)
    assert result.error is None and not [s for s in result.sites if s.state != "exact"]
    (tmp_path / "chainer_compat.py").write_text(compat_file.build({*result.helpers, "load_npz", "save_npz"}))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "chainer_compat", raising=False)
    original, migrated = types.ModuleType("original"), types.ModuleType("migrated")
    exec(compile(text, "original", "exec"), vars(original))
    exec(compile(result.code, "migrated", "exec"), vars(migrated))
    compat = sys.modules.pop("chainer_compat", None) or __import__("chainer_compat")
    rng = np.random.RandomState(0)
    batches = [(rng.randn(*shape).astype("f"), rng.randint(0, 3, shape[0]).astype("i")) for _ in range(STEPS)]
    link, module = vars(original)[name](*arguments), vars(migrated)[name](*arguments)
    with chainer.using_config("train", False), torch.no_grad():  # both find their shapes
        link(batches[0][0])
        module.eval()(torch.from_numpy(batches[0][0]))
    module.train()
    serializers.save_npz(str(tmp_path / "link.npz"), link)
    compat.load_npz(str(tmp_path / "link.npz"), module)
    return link, module, batches, compat, tmp_path


def in_chainer(model, batches):
    optimizer = chainer.optimizers.MomentumSGD(0.05).setup(model)
    losses = []
    for x, t in batches:
        model.cleargrads()
        loss = F.softmax_cross_entropy(model(x), t)
        loss.backward()
        optimizer.update()
        losses.append(float(loss.array))
    return losses


def in_torch(module, batches):
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for x, t in batches:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(module(torch.from_numpy(x)), torch.from_numpy(t).long())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_every_stage_trains_as_the_original(models):
    link, module, batches, _, _ = models
    stages = {
        "the training script is migrated": lambda: in_torch(seams.link_as_module(link.copy("copy")), batches),
        "the model is migrated": lambda: in_chainer(seams.module_as_link(copy.deepcopy(module)), batches),
        "everything is migrated": lambda: in_torch(copy.deepcopy(module), batches),
    }
    want = in_chainer(link.copy("copy"), batches)
    assert len(set(want)) == STEPS and want[0] != want[-1]
    for stage, losses in stages.items():
        np.testing.assert_allclose(losses(), want, rtol=1e-4, err_msg=stage)


def test_weights_go_both_ways_between_the_stages(models):
    link, module, batches, compat, folder = models
    half = link.copy("copy")
    in_torch(seams.link_as_module(half), batches[:3])  # trained with the script migrated
    serializers.save_npz(str(folder / "half.npz"), half)
    compat.load_npz(str(folder / "half.npz"), module)  # goes on with the model migrated, too
    in_torch(module, batches[3:])
    compat.save_npz(str(folder / "done.npz"), module)
    back = link.copy("copy")
    serializers.load_npz(str(folder / "done.npz"), back)  # and back
    with chainer.using_config("train", False), torch.no_grad():
        x = batches[0][0]
        np.testing.assert_allclose(back(x).array, module.eval()(torch.from_numpy(x)).numpy(), rtol=1e-4, atol=1e-5)
