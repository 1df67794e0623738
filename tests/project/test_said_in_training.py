"""What a text says of updaters, evaluators, converters and devices: a word that is missing would cut what it needs."""

import numpy as np
import pytest
import torch

from chainer2torch.vendor import compat_file
from chainer2torch.vendor.said import words

NUMBERS, CONVERTERS, SAVED, COPIED = "device_numbers", "own_converters", "training_saved", "objects_copied"
NAMES, EVALUATES, STEPS = "device_names", "evaluates", "own_steps"
CPU = "torch.device('cpu')"
OWN = """class Mine(compat.Updater):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
"""


@pytest.mark.parametrize(
    ("text", "word", "said"),
    [
        ("compat.StandardUpdater(it, opt, device=args.gpu)", NUMBERS, True),
        (f"compat.StandardUpdater(it, opt, device={CPU})", NUMBERS, False),
        (f"compat.Evaluator(it, m, device=torch.device('cuda', g) if g >= 0 else {CPU})", NUMBERS, False),
        (f"device = {CPU}\ncompat.Evaluator(it, m, device=device)", NUMBERS, False),
        (f"def f(device):\n    return compat.Evaluator(it, m, device=device)\ndevice = {CPU}", NUMBERS, True),
        (f"device = {CPU}\ndevice = 0\ncompat.Evaluator(it, m, device=device)", NUMBERS, True),
        ("compat.Evaluator(it, m, device=None)", NUMBERS, False),
        ("compat.Evaluator(it, m, device=x.device)", NUMBERS, True),
        ("compat.Evaluator(it, m, device=next(m.parameters()).device)", NUMBERS, False),
        ("compat.Evaluator(it, m, convert, args.gpu)", NUMBERS, True),
        ("options = {'device': 0}\nMyUpdater(**options)", NUMBERS, True),
        (f"options = {{}}\noptions['device'] = {CPU}\nMyUpdater(**options)", NUMBERS, False),
        ("options = dict(device=-1)\nMyUpdater(**options)", NUMBERS, True),
        ("MyUpdater(**read(path))", NUMBERS, True),
        ("functools.partial(make, device=0)", NUMBERS, True),
        (OWN + f"Mine(device={CPU})", NUMBERS, False),
        (OWN + "Mine(device=args.gpu)", NUMBERS, True),
        (OWN + "    def update_core(self):\n        self.converter(self.it.next(), self.device)", NUMBERS, False),
        (OWN + "    def put(self, n):\n        self.device = n\n        convert(b, self.device)", NUMBERS, True),
        ("def convert(batch, device):\n    return compat.collate(batch, device)", NUMBERS, True),
        ("compat.to_device(gpu, x)", NUMBERS, True),
        (f"f = lambda *batch, device={CPU}: model(*compat.to_device(device, batch))", NUMBERS, False),
        ("f = lambda *batch, device=0: model(*compat.to_device(device, batch))", NUMBERS, True),
        ("GANUpdater(it, gen, dis, 100)", NUMBERS, True),
        ("GANUpdater(it, gen, dis, zdim)", NUMBERS, False),
        ("gan_updater(it, gen, dis, opt_gen, opt_dis, args.gpu, n)", NUMBERS, True),
        ("GANUpdater(-1, it, gen, dis)", NUMBERS, True),
        (f"device = {CPU}\nGANUpdater(it, gen, dis, opt_dis, device)", NUMBERS, False),
        ("GANUpdater(it, gen, dis, zdim, 5, margin)", NUMBERS, False),
        ("GANUpdater(it, gen, dis)", CONVERTERS, False),
        ("MyUpdater(it, opt, convert)", CONVERTERS, True),
        ("convert_file(source, target)", NUMBERS, False),
        ("x.to(0)\ntorch.zeros(3, device=device)", NUMBERS, False),
        ("StandardUpdater(it, opt, converter=convert)", CONVERTERS, True),
        ("StandardUpdater(it, opt, convert)", CONVERTERS, True),
        ("StandardUpdater(it, opt)", CONVERTERS, False),
        ("Mine(**{'converter': convert})", CONVERTERS, True),
        ("updater.converter = convert", CONVERTERS, True),
        ("self.converter(batch)", CONVERTERS, False),
        ("class A(B):\n    def update(self, lossfun=None, *args): pass", STEPS, True),
        ("class A(compat.GradientMethod):\n    def update(self, *args): pass", STEPS, True),
        ("class A(compat.GradientMethod):\n    def update(self): pass", STEPS, False),
        ("class A(dict):\n    def update(self, *args): pass", STEPS, False),
        ("trainer.load_state_dict(torch.load(path))", SAVED, True),
        ("torch.save(self.updater.state_dict(), path)", SAVED, True),
        ("model.load_state_dict(torch.load(path))", SAVED, False),
        ("class A(compat.Evaluator):\n    def evaluate(self): pass", EVALUATES, False),
        ("class A(compat.Evaluator):\n    default_name = 'a'", EVALUATES, True),
        ("class A(compat.Evaluator):\n    def __call__(self, trainer): pass", EVALUATES, False),
        ("class A(Evaluator):\n    def __call__(self, t):\n        super().__call__(t)", EVALUATES, True),
        ("class A(Evaluator):\n    def evaluate(self):\n        return super().evaluate()", EVALUATES, True),
        ("class A(B):\n    def evaluate(self):\n        return compat.Evaluator.evaluate(self)", EVALUATES, True),
        ("trainer.extend(compat.Evaluator(it, m))", EVALUATES, True),
        ("Base = compat.Evaluator\nclass A(Base):\n    def evaluate(self): pass", EVALUATES, True),
        ("getattr(compat, 'Evaluator')", EVALUATES, True),
        ("trainer.extend(extensions.Evaluator(it, m))\nmodel.evaluate(x)", EVALUATES, False),
        ("def f(:", EVALUATES, True),
        ("copy.copy(it)", COPIED, True),
        ("from copy import deepcopy", COPIED, True),
        ("x.copy()", COPIED, False),
        ("no python", NUMBERS, True),
        ("compat.to_device(gpu, x)\ntorch.device('cuda', gpu)", NAMES, False),
        ("compat.to_device('@numpy', x)", NAMES, True),
        ("parser.add_argument('--device', default='-1')", NAMES, True),
        ("compat.Evaluator(it, m, device=f'cuda:{n}')\nplace = 'cuda:0'", NAMES, True),
        ("compat.get_device(args.device)", NAMES, True),
        ("parser.add_argument('--devices', nargs='*', default=['0', '1'])", NAMES, True),
        ("labels = ['0', '1']", NAMES, False),
    ],
)
def test_words(text, word, said):
    assert (word in words(text)) is said


@pytest.mark.parametrize("given", [-1, None, torch.device("cpu"), "@numpy"])
@pytest.mark.parametrize("said", [[NUMBERS], [NUMBERS, NAMES], [NAMES], []])
def test_a_device_of_which_the_text_does_not_speak_raises(given: object, said: list[str]) -> None:
    helpers: dict[str, object] = {}
    exec(compat_file.build(["collate", "to_device"], style="native", said=said), helpers)
    spoken = isinstance(given, int) and bool(said) or isinstance(given, str) and NAMES in said  # names may be numbers
    calls = {"collate": "collate([np.ones(2)], given)", "to_device": "to_device(given, np.ones(2))"}
    for call in calls.values():
        if spoken or given is None or isinstance(given, torch.device):
            assert eval(call, {**helpers, "np": np, "given": given}).device == torch.device("cpu")
        else:
            with pytest.raises((RuntimeError, TypeError, AssertionError)):
                eval(call, {**helpers, "np": np, "given": given})


@pytest.mark.parametrize("said", ["args.output_data", "self.retain_outputs((0,))", "f.inputs", ""])
def test_an_own_function_runs_whatever_words_the_project_says(said: str) -> None:
    helpers: dict[str, object] = {}
    exec(compat_file.build(["Function"], style="native", said=words(f"{said}\nx.backward()")), helpers)
    program = (
        "class Twice(Function):\n"
        "    def forward(self, inputs): return (inputs[0] * 2,)\n"
        "    def backward(self, inputs, gradients): return (gradients[0] * 2,)\n"
    )
    exec(program, helpers)
    x = torch.ones(2, requires_grad=True)
    eval("Twice()(x).sum()", {**helpers, "x": x}).backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2]


ITERATOR = """class Mine(compat.Iterator):
    def serialize(self, serializer):
        self.place = serializer('place', self.place)
"""


@pytest.mark.parametrize(
    ("more", "saved"),
    [
        ("", False),
        ("it.serialize(serializer)", True),
        ("trainer.extend(extensions.snapshot())", True),
        ("trainer.load_state_dict(torch.load(path))", True),
        ("model.load_state_dict(torch.load(path))", False),
        ("compat.save_npz(path, it)", True),
    ],
)
def test_that_an_iterator_says_what_is_saved_of_it_saves_nothing(more, saved):
    """Only a program that may save a training has the states of its parts."""
    names = {"Iterator", "IteratorUpdater", "LinearShift", *(["save_npz"] if "npz" in more else [])}
    text = compat_file.build(names, style="native", said=words(ITERATOR + more))
    assert (text.count("def state_dict(self)") >= 3) == saved and ("class Serializer" in text) == saved, text
