"""Functions of the project that Chainer or a thread calls: what they get is known, so their bodies are converted."""

import numpy as np
import pytest
import torch

from tests.support.both_sides import both


def test_initializers_of_the_project_fill_arrays():
    original, migrated = both("""
        class Ramp(chainer.initializer.Initializer):
            def __init__(self, scale, dtype=None):
                self.scale = scale
                super().__init__(dtype)

            def __call__(self, array):
                xp = chainer.backend.get_array_module(array)
                array[...] = self.scale * xp.arange(array.size, dtype=array.dtype).reshape(array.shape) / array.size
                array[0] *= -1

        def line(array):
            array[...] = np.linspace(-1, 1, array.size).reshape(array.shape)

        class Net(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.fc = L.Linear(4, 6, initialW=Ramp(0.7), initial_bias=line)
                    self.conv = L.Convolution2D(1, 2, (2, 3), initialW=line)
                    self.scale = chainer.Parameter(line, (5,))

        values = {name: np.array(p.array) for name, p in Net().namedparams()}
    """)
    for name, value in original["values"].items():
        np.testing.assert_allclose(migrated["values"][name], value, rtol=1e-6, err_msg=name)


def test_a_thread_calls_its_target_with_what_it_is_given():
    original, migrated = both("""
        import threading

        def work(link, x, results):
            results.append(F.sum(link(x)).array)

        link = L.Linear(3, 2, initialW=0.5)
        x = np.ones((2, 3), 'f')
        results = []
        thread = threading.Thread(target=work, args=(link, x, results))
        thread.start()
        thread.join()
        answer = float(results[0])
    """)
    assert migrated["answer"] == original["answer"] == 6.0


RUNNING = """
    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.fc = L.Linear(4, 3, initialW=0.25)
            self.average = np.zeros(3, 'f')
            self.add_persistent('spread', np.ones(3, 'f'))

        def forward(self, x):
            y = self.fc(x)
            self.average = 0.9 * self.average + 0.1 * y.array.mean(0)
            self.spread = 0.5 * self.spread + 0.5 * y.array.std(axis=0)
            return (y - self.average) / self.spread

    net = Net()
    x = np.random.RandomState(0).rand(5, 4).astype('f')
    values = [net(x).array for _ in range(3)]
    print(net.average, net.average.dtype)
    print(net.spread, net.spread.dtype)
"""


def test_running_values_may_start_as_arrays_of_numpy(capsys):
    original, migrated = both(RUNNING)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("]")[1] for line in lines[2:]] == [line.split("]")[1] for line in lines[:2]]
    assert len(lines) == 4 and "tensor" not in lines[2] + lines[3]
    for one, other in zip(original["values"], migrated["values"], strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5)
    np.testing.assert_allclose(migrated["net"].average, original["net"].average, rtol=1e-5)
    np.testing.assert_allclose(migrated["net"].spread, original["net"].spread, rtol=1e-5)


@pytest.mark.parametrize("use", ["return y + h", "z = y + h\n                return z"])
def test_what_was_cut_is_let_go_of_where_it_is_returned(use):
    original, migrated = both(
        f"""
        class Net(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.a = L.Linear(3, 3, initialW=0.5)
                    self.b = L.Linear(3, 3, initialW=0.25)

            def forward(self, x):
                h = self.a(x)
                h.unchain_backward()
                y = self.b(x)
                {use}

        net = Net()
        loss = F.sum(net(np.ones((2, 3), 'f')) ** 2)
        net.cleargrads()
        loss.backward()
        grads = [None if p.grad is None else np.array(p.grad) for p in (net.a.W, net.b.W)]
    """,
        left=["chainer.Variable.unchain_backward"],
    )
    assert original["grads"][0] is migrated["grads"][0] is None
    np.testing.assert_allclose(migrated["grads"][1], original["grads"][1])


@pytest.mark.parametrize(
    "init",
    [
        "best = 0",
        """def __init__(self, predictor):
                super().__init__(predictor)
                self.n = 2
""",
    ],
)
def test_extensions_and_subclasses_of_classifier_know_the_model(init):
    original, migrated = both(f"""
        class Net(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.conv = L.Convolution2D(1, 2, 2, initialW=0.5)
                    self.out = L.Linear(8, 3, initialW=0.25)

            def forward(self, x):
                return self.out(F.relu(self.conv(x)))

        class Model(L.Classifier):
            {init}

            def ask(self, x):
                return F.softmax(self.predictor(x)).array

        @chainer.training.make_extension(trigger=(1, 'iteration'))
        def probe(trainer):
            model = trainer.updater.get_optimizer('main').target
            x = np.ones((2, 1, 3, 3), 'f')
            seen.append(float(model.predictor(x).array.sum()))

        seen = []
        model = Model(Net())
        optimizer = chainer.optimizers.SGD(0.1)
        optimizer.setup(model)
        x = np.random.RandomState(0).rand(8, 1, 3, 3).astype('f')
        data = chainer.datasets.TupleDataset(x, np.arange(8, dtype='i') % 3)
        iterator = chainer.iterators.SerialIterator(data, 4, shuffle=False)
        updater = chainer.training.StandardUpdater(iterator, optimizer, loss_scale=2.)
        trainer = chainer.training.Trainer(updater, (3, 'iteration'), out='/nowhere')
        trainer.out = None
        trainer.extend(probe)
        for _ in range(3):
            updater.update()
            probe(trainer)
        answer = model.ask(np.ones((1, 1, 3, 3), 'f'))
    """)
    np.testing.assert_allclose(migrated["seen"], original["seen"], rtol=1e-5)
    np.testing.assert_allclose(migrated["answer"], original["answer"], rtol=1e-5)


def test_a_loss_function_gets_the_batches_of_its_updater():
    original, migrated = both("""
        class Net(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.fc = L.Linear(3, 2, initialW=0.5)

            def encode(self, x):
                return F.tanh(self.fc(x))

            def loss_function(self, k):
                def lossfun(x):
                    noise = np.full((len(x), 2), 0.25, 'f')
                    return F.sum(F.gaussian(self.encode(x), self.encode(x), eps=noise)) / k
                return lossfun

        def f():
            net = Net()
            optimizer = chainer.optimizers.SGD(0.1).setup(net)
            iterator = chainer.iterators.SerialIterator(np.arange(12, dtype='f').reshape(4, 3) / 12, 2, shuffle=False)
            updater = chainer.training.updaters.StandardUpdater(iterator, optimizer, loss_func=net.loss_function(2))
            updater.update()
            return net.fc.W.array.tolist(), float(net.loss_function(1)(np.ones((2, 3), 'f')).array)
        """)
    (weights, loss), (migrated_weights, migrated_loss) = original["f"](), migrated["f"]()
    np.testing.assert_allclose(weights, migrated_weights, rtol=1e-5)
    assert loss == pytest.approx(migrated_loss, rel=1e-5)
    assert "self.fc(torch.as_tensor(x))" in migrated["__code__"]


def test_an_array_of_numpy_meets_a_layer_that_others_give_anything():
    original, migrated = both("""
        class Net(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.fc = L.Linear(3, 2, initialW=0.5)

            def encode(self, x):
                return self.fc(x)

        def whatever(net, x):
            return Net.encode(net, x) if isinstance(net, Net) else None

        def f():
            net = Net()
            return net.encode(np.ones((1, 3), 'f')).array.tolist()

        def g(x):
            return Net().encode(x).array.tolist()
        """)
    assert original["f"]() == migrated["f"]()
    assert original["g"](np.ones((1, 3), "f")[:, ::-1]) == migrated["g"](np.ones((1, 3), "f")[:, ::-1])
    assert "self.fc(compat.from_host(x))" in migrated["__code__"]


def test_arguments_behind_a_star_are_counted():
    original, migrated = both("""
        class Net(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.fc = L.Linear(2, 3, initialW=.5)

            def forward(self, x, t=None):
                y = self.fc(x)
                return y if t is None else F.softmax_cross_entropy(y, t)

        class Replay:
            def __init__(self, rows):
                self.rows = rows

            def sample(self):
                a, b = [np.array(v) for v in zip(*self.rows)]
                return a.astype('f'), b.astype('i')

            def update(self, net, s, t):
                return net(s), net(s, t)

        def several(net, first, *others, **more):
            return net(first, *others)

        def f():
            net = Net()
            replay = Replay([([1., 2.], 1), ([0., 1.], 2)])
            y, loss = replay.update(net, *replay.sample())
            batch = chainer.dataset.concat_examples([(np.ones(2, 'f'), np.int32(1))] * 3)
            losses = [net(*replay.sample()), loss, net(*batch), several(net, *batch), F.sum(*[np.ones(3, 'f')]),
                      F.softmax_cross_entropy(*[net(np.ones((2, 2), 'f')), np.zeros(2, 'i')])]
            return y.array.tolist(), [float(one.array) for one in losses]
        """)
    (y, losses), (migrated_y, migrated_losses) = original["f"](), migrated["f"]()
    assert y == migrated_y
    np.testing.assert_allclose(losses, migrated_losses, rtol=1e-5)


def test_what_a_star_hides_may_be_anything():
    """Neither the default of a parameter behind it is sure, nor that it is a tuple."""
    for call in ("net(*batch)", "net(x, **options)", "net(*batch, **options)", "net(x, *batch[1:])"):
        original, migrated = both(f"""
        class Net(chainer.Chain):
            def forward(self, x, scale=None):
                if scale is None:
                    return F.sum(x)
                return F.sum(x) * scale

        def f(net, batch, options):
            x = batch[0]
            return {call}
        """)
        x = np.ones((2, 3), "f")
        given = [((x,), {}), ((x,), {"scale": 2.0})] if "options" in call else [((x,), {}), ((x, 3.0), {})]
        for batch, options in given:
            expected = original["f"](original["Net"](), batch, options)
            got = migrated["f"](
                migrated["Net"](), tuple(torch.as_tensor(b) if isinstance(b, np.ndarray) else b for b in batch), options
            )
            assert float(expected.array) == float(got)


def test_a_gradient_check_calls_its_function_with_variables():
    """A function that only checks call: an array of NumPy's beside its argument is made a tensor."""
    original, migrated = both("""
        from chainer import gradient_check

        def distance(x, t, beta):
            d = x - t
            return F.sum(F.absolute(d)) * beta

        def check(t):
            x = np.ones((2, 3)) * 2
            gradient_check.check_backward(lambda x: distance(x, t.astype('d'), .1), x, None, dtype='d')
            gradient_check.check_backward(
                lambda x, y: distance(x, t, .5) * F.sum(y), (x, np.ones(2)), None, dtype='d'
            )
            return True

        done = check(np.arange(6, dtype='f').reshape(2, 3) / 7)
    """)
    assert original["done"] and migrated["done"]
    assert "x - torch.as_tensor(t).to(x)" in migrated["__code__"], migrated["__code__"]


def test_links_that_are_added_by_an_operator_are_called_with_tensors():
    original, migrated = both("""
        def run(chain, v):
            for link in chain:
                v = link(v)
            return v

        def filled(links):
            for link in links:
                link.W.array[...] = np.arange(link.W.size).reshape(link.W.shape) / 10.
            return links

        links = chainer.ChainList(L.Linear(2, 3), L.Linear(3, 2))
        links += [L.Linear(2, 2)]
        y = run(filled(links), np.ones((1, 2), 'f')).array
    """)
    np.testing.assert_allclose(migrated["y"], original["y"], rtol=1e-6)


def test_every_function_of_a_long_table_is_called():
    functions = ", ".join(f"lambda v: F.sum(np.full((1,), {i}, 'f') * v)" for i in range(30))
    original, migrated = both(f"""
        table = [{functions}]
        x = chainer.Variable(np.ones(3, 'f'))
        y = [float(f(x).array) for f in table]
    """)
    assert migrated["y"] == original["y"]
