"""The device of a number has a name where it stands in a long line or more than once."""

import ast
import re

import pytest

from chainer2torch.rewrite.named_devices import with_named_devices

DEVICE = "torch.device('cuda', {0}) if {0} >= 0 else torch.device('cpu')"
GPU = DEVICE.format("args.gpu")
LONG = "a_rather_long_name_of_a_function_of_the_project"


WORDS = {
    "GPU": GPU,
    "LONG": LONG,
    "A": DEVICE.format("self.gpu1"),
    "B": DEVICE.format("self.gpu0"),
    "C": DEVICE.format("args.other"),
    "D": DEVICE.format("args.third"),
}


def named(text: str) -> str:
    text = re.sub(r"\b(GPU|LONG|A(?!:)|B|C(?!2)|D)\b", lambda word: WORDS[word[0]], text)
    code = with_named_devices(text)
    ast.parse(code)
    assert with_named_devices(code) == code
    for word, meaning in WORDS.items():
        code = code.replace(meaning, word)
    return code


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # a short line stays, and what has a name
        ("f(GPU)\n", "f(GPU)\n"),
        ("dev = GPU\ng(dev)\n", "dev = GPU\ng(dev)\n"),
        # a long line, and two places
        ("LONG(x, device=GPU)\n", "device = GPU\nLONG(x, device=device)\n"),
        ("f(GPU)\nif x:\n    g(GPU)\n", "device = GPU\nf(device)\nif x:\n    g(device)\n"),
        # each block for itself: nothing is decided earlier than it was
        (
            "if x:\n    f(GPU)\n    f(GPU)\nelse:\n    f(GPU)\n",
            "if x:\n    device = GPU\n    f(device)\n    f(device)\nelse:\n    f(GPU)\n",
        ),
        # the name has another meaning, in the scope or in a function in it
        (
            "def f(device):\n    f(GPU, GPU)\n",
            "def f(device):\n    torch_device = GPU\n    f(torch_device, torch_device)\n",
        ),
        (
            "def f():\n    f(GPU, GPU)\n    lambda: device\n",
            "def f():\n    torch_device = GPU\n    f(torch_device, torch_device)\n    lambda: device\n",
        ),
        ("device = torch_device = 1\nf(GPU, GPU)\n", "device = torch_device = 1\nf(GPU, GPU)\n"),
        # two devices in one scope
        (
            "x = f(A)\ny = f(B, B)\nz = g(A)\n",
            "device1 = A\nx = f(device1)\ndevice0 = B\ny = f(device0, device0)\nz = g(device1)\n",
        ),
        (
            "f(GPU, GPU)\nf(C, C)\nf(D, D)\n",
            "device = GPU\nf(device, device)\ntorch_device = C\nf(torch_device, torch_device)\nf(D, D)\n",
        ),
        (
            "f(GPU, GPU)\ndef f():\n    f(C, C)\n",
            "device = GPU\nf(device, device)\ndef f():\n    device = C\n    f(device, device)\n",
        ),
        # what the number is may change
        ("f(GPU)\nargs.gpu = 1\nf(GPU)\n", "f(GPU)\nargs.gpu = 1\nf(GPU)\n"),
        ("for args in each:\n    f(GPU, GPU)\n", "for args in each:\n    f(GPU, GPU)\n"),
        ("args = p()\nf(GPU, GPU)\n", "args = p()\ndevice = GPU\nf(device, device)\n"),
        # places before which no line can stand
        ("while f(GPU, GPU):\n    pass\n", "while f(GPU, GPU):\n    pass\n"),
        ("if x: f(GPU, GPU)\n", "if x: f(GPU, GPU)\n"),
        ("if x:\n    pass\nelif f(GPU, GPU):\n    pass\n", "if x:\n    pass\nelif f(GPU, GPU):\n    pass\n"),
        ("class A:\n    a = f(GPU, GPU)\n", "class A:\n    a = f(GPU, GPU)\n"),
        # a place that is not always reached
        ("LONG(None if x is None else GPU)\n", "LONG(None if x is None else GPU)\n"),
        ("f(x and GPU, x and GPU)\n", "f(x and GPU, x and GPU)\n"),
        # markers stay above their statement
        (
            "# TODO(chainer2torch C2T100): x\nf(GPU, GPU)\n",
            "device = GPU\n# TODO(chainer2torch C2T100): x\nf(device, device)\n",
        ),
        # a parameter that holds it for later is not needed
        (
            "f(device=GPU)\nLONG(lambda x, t, *, device=GPU: m(x.to(device), t))\n",
            "device = GPU\nf(device=device)\nLONG(lambda x, t: m(x.to(device), t))\n",
        ),
        ("f(GPU)\ng(lambda *b, device=GPU: m(b, device))\n", "device = GPU\nf(device)\ng(lambda *b: m(b, device))\n"),
        ("with f(GPU, GPU) as y:\r\n\tpass\r\n", "device = GPU\r\nwith f(device, device) as y:\r\n\tpass\r\n"),
    ],
)
def test_devices_get_a_name(before: str, after: str) -> None:
    assert named(before) == after


def test_numbers_in_texts_and_plain_names() -> None:
    text = f"f({DEVICE.format('int(a.device)')}, {DEVICE.format('gpu')}, {DEVICE.format('gpu')})\n"
    assert with_named_devices(text).count("torch.device('cuda', gpu)") == 1
    both = DEVICE.format("int(a.device)")
    assert with_named_devices(f"f({both}, {both})\n") == f"device = {both}\nf(device, device)\n"
    called = DEVICE.format("number()")
    assert with_named_devices(f"f({called}, {called})\n") == f"f({called}, {called})\n"
