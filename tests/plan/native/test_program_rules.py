"""Short helpers take the place of long ones in a program as a whole, or not at all."""

import pytest

from tests.support.native_programs import check, migrated

PROGRAM = """
import chainermn

comm = chainermn.create_communicator('naive')
model = L.Classifier(L.Linear(3, 2))
optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.Adam(), comm)
optimizer.setup(model)
train = chainermn.scatter_dataset(data if comm.rank == 0 else None, comm, shuffle=True)
"""


def test_data_parallel_programs_get_the_short_helpers():
    text = migrated(PROGRAM).code
    assert "optimizer = compat.create_multi_node_optimizer(compat.Adam(model.parameters()), comm)" in text
    assert "compat.create_communicator('naive')" in text and "setup" not in text


def test_data_parallel_trainers_are_native():
    """A hook sees the mean of the gradients: it is no line before the step."""
    text = migrated(
        PROGRAM
        + """
optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(0.1))
train_iter = chainer.iterators.SerialIterator(train, 4)
updater = chainer.training.updaters.StandardUpdater(train_iter, optimizer)
trainer = chainer.training.Trainer(updater, (2, 'epoch'))
test_iter = chainer.iterators.SerialIterator(data, 4, repeat=False, shuffle=False)
evaluator = chainer.training.extensions.Evaluator(test_iter, model)
trainer.extend(chainermn.create_multi_node_evaluator(evaluator, comm))
trainer.run()
"""
    ).code
    assert "compat.before_step(optimizer, nn.utils.clip_grad_norm_, 0.1)" in text
    assert "evaluator = extensions.Evaluator(test_iter, model)" in text
    assert "trainer.extend(compat.create_multi_node_evaluator(evaluator, comm))" in text
    assert "loss.backward()" in text and "optimizer.step()" in text and "Updater" not in text


def test_hand_written_data_parallel_steps():
    text = migrated(PROGRAM + "\nmodel.cleargrads()\nmodel(x, t).backward()\noptimizer.update()\n").code
    assert "optimizer.zero_grad()" in text and "optimizer.step()" in text


@pytest.mark.parametrize(
    "more",
    [
        "comm.allreduce(x)",
        "chainermn.functions.bcast(comm, x)",
        "comm.split(0, 1).rank",
        "comm.send_obj(1, 0)",  # who sends to each other would wait forever
        "if comm.rank == 0:\n    comm.send_obj(1, 1, tag=3)",
        "first = comm.recv_obj",
        "chainermn.create_multi_node_optimizer(chainer.optimizers.Adam(), comm, zero_fill=False)",
    ],
)
def test_programs_that_exchange_more_get_the_long_ones(more):
    text = migrated(PROGRAM + more + "\n").code
    assert "compat.faithful_create_multi_node_optimizer(compat.LateAdam(), comm" in text


def test_objects_that_the_first_process_hands_out_are_short():
    text = migrated(
        PROGRAM
        + """
if comm.rank == 0:
    for i in range(comm.inter_size, comm.size):
        comm.send_obj((0, i), dest=i)
else:
    part = comm.recv_obj(source=0)
"""
    ).code
    assert "faithful" not in text and "TODO" not in text


OPTIMIZERS = """
def make():
    return {"adam": optimizers.Adam, "sgd": optimizers.SGD}

def use(opt, model):
    opt.setup(model)
    opt.add_hook(chainer.optimizer_hooks.WeightDecay(0.1))
"""


def test_optimizers_whose_class_is_a_value_are_short():
    code = migrated(OPTIMIZERS).code
    assert '{"adam": compat.LateAdam, "sgd": compat.LateSGD}' in code
    assert "opt.add_hook(compat.WeightDecay(0.1))" in code


@pytest.mark.parametrize(
    "more",
    [
        "def f(p):\n    p.update_rule.hyperparam.lr = 0.1",
        "def f(link):\n    return link.enable_update",
        "class Own(optimizers.Adam):\n    pass",
        "def f(opt):\n    opt.eta = 0.5",
        "def f(opt):\n    setattr(opt, 'weight_decay_rate', 0.5)",
        "def f(opt):\n    opt.loss_scaling()",
    ],
)
def test_a_program_that_looks_into_optimizers_gets_the_long_ones(more):
    code = migrated(OPTIMIZERS + more + "\n").code
    assert "Late" not in code
    assert '{"adam": compat.faithful_Adam, "sgd": compat.SGD}' in code
    assert "opt.add_hook(compat.faithful_WeightDecay(0.1))" in code


MADE = """
def train(model):
    optimizer = optimizers.SGD(lr=0.1)
    optimizer.setup(model)
    model.l1.disable_update()
    optimizer.update(model, 1)
"""


def test_an_optimizer_some_of_whose_parameters_stand_still_is_one_of_torch():
    code = migrated(MADE).code
    assert "torch.optim.SGD(model.parameters(), lr=0.1)" in code and "model.l1.requires_grad_(False)" in code


def test_methods_of_version_1_call_the_short_hooks():
    code = migrated(
        """
def step(optimizer):
    optimizer.zero_grads()
    optimizer.clip_grads(5)
    optimizer.weight_decay(0.1)
    optimizer.update()

def main(chosen):
    optimizer = chosen[0] if chosen else optimizers.SGD()
    step(optimizers.SGD())
"""
    ).code
    assert "optimizer.call_hook(compat.GradientClipping(5))" in code
    assert "optimizer.call_hook(compat.WeightDecay(0.1))" in code


def test_an_update_with_a_loss_function_ends_at_cuts():
    program = """
def train(model):
    both = [optimizers.AdaGrad(0.01), optimizers.SGD(0.1)]
    first, second = both
    first.setup(model.l1)
    second.setup(model.l2)
    rng, sums = np.random.RandomState(0), []
    for i in range(20):
        h = F.tanh(model.l1(chainer.Variable(rng.randn(5, 3).astype('f'))))
        y = model.l2(h)
        first.update(lambda y: F.sum(y ** 2), y)
        h.unchain_backward()
        second.update(lambda y: F.sum((y - 1) ** 2), y)
        sums.append(float(F.sum(chainer.Variable(model.l1.W.grad)).array))
    return sums
"""
    code = check(program, rtol=1e-4)
    assert "compat.LateAdaGrad" in code and "compat.backward(" in code


def test_settings_that_come_as_a_dictionary_go_to_the_short_optimizer():
    code = migrated("def make(config):\n    return optimizers.Adam(**config)\n").code
    assert "return compat.LateAdam(**config)" in code and "TODO" not in code


@pytest.mark.parametrize(
    ("more", "short"),
    [
        ("", True),
        ("one = images[3]\nname = images._paths[1:]", True),
        ("some = images[:3]", False),
        ("class Own(chainer.datasets.LabeledImageDataset):\n    pass", False),
        ("known = isinstance(images, chainer.datasets.ImageDataset)", False),
    ],
)
def test_data_sets_of_image_files(more, short):
    result = migrated(f"images = chainer.datasets.ImageDataset('list.txt', root='images')\n{more}\n")
    name = "ImageDataset" if short else "faithful_ImageDataset"
    assert f"images = compat.{name}('list.txt', root='images')" in result.code
    assert ("ImageDataset" in result.helpers) is short
