"""What becomes of a device that a number names, and of values that go there and come back."""

import pytest

from tests.support.native_programs import check, migrated

PARSER = """
import argparse
from chainer import cuda

def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument('--gpu', type=int, default=-1)
    parser.add_argument('--gpus', type=int, nargs='*', default=[-1])
    parser.add_argument('--one', type=int, nargs='+', default='-1')
    return parser.parse_args([])

"""
TRAIN = """
def train(model):
    args = arguments()
    x = eval('np.arange(6, dtype="f").reshape(2, 3)')
    ys = eval('[np.ones(2), np.ones(2)]')
    {body}
    return [float(v) for v in log]
"""


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("log = cuda.to_cpu(x).sum(0)", "torch.as_tensor(x).detach().cpu().numpy().sum(0)"),
        ("ys = cuda.to_cpu(ys)\n    log = ys[0] + sum(y for y in ys) + len(ys)", "torch.as_tensor(ys).detach().cpu()"),
        ("ys = cuda.to_cpu(ys)\n    ys.append(ys[0])\n    log = [len(ys)]", "ys = compat.to_cpu(ys)"),
        ("ys = cuda.to_cpu(ys)\n    log = [len(ys + [1])]", "ys = compat.to_cpu(ys)"),
        ("log = [isinstance(cuda.to_cpu(ys), list)]\n    isinstance(ys, list)", "compat.to_cpu(ys)"),
        (
            "device = cuda.get_device_from_id(args.gpu)\n    log = [device.id if False else 1]",
            "device = torch.device('cuda', args.gpu) if args.gpu >= 0 else torch.device('cpu')",
        ),
        ("cuda.get_device_from_id(args.gpus[0]).use()\n    log = []", "    torch.cuda.set_device(args.gpus[0])"),
    ],
)
def test_plain_torch_stands_where_a_number_or_an_array_does(body: str, wanted: str) -> None:
    assert wanted in check(PARSER + TRAIN.format(body=body))


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("cuda.to_gpu(x)", "torch.as_tensor(x, device='cuda')"),
        ("cuda.to_gpu(x, device=args.gpu)", "torch.as_tensor(x, device=args.gpu)"),
        ("cuda.to_gpu(x, g)", "torch.as_tensor(x, device='cuda' if g is None else g)"),
        ("cuda.to_gpu([x, x])", "compat.to_gpu([x, x])"),
        (
            "cuda.get_device_from_id(args.one[0])",
            "torch.device('cuda', args.one[0]) if args.one[0] >= 0 else torch.device('cpu')",
        ),
        ("cuda.get_device_from_id(g)", "compat.get_device(g)"),
        (
            "cuda.get_device_from_id(args.gpu) if args.gpu >= 0 else 0",
            "torch.device('cuda', args.gpu) if args.gpu >= 0 else 0",
        ),
    ],
)
def test_what_needs_a_gpu(call: str, wanted: str) -> None:
    body = PARSER + f"def train(x, g=None):\n    args = arguments()\n    return {call}\n"
    assert f"return {wanted}\n" in migrated(body).code


CONVERTING = """
def convert(batch, device):
    if device is None:
        return batch
    elif device < 0:
        return [chainer.dataset.to_device(device, x) for x in batch]
    else:
        joined = np.concatenate(batch)
        return chainer.dataset.to_device(device, joined)

def train(model):
    batch = eval('[np.arange(3), np.ones(2)]')
    return [float(x.sum()) for device in (-1, -2) for x in convert(batch, device)]
"""


def test_a_condition_says_which_device_a_number_is() -> None:
    code = check(CONVERTING)
    assert "return [torch.as_tensor(x, device=torch.device('cpu')) for x in batch]" in code
    assert "return torch.as_tensor(joined, device=torch.device('cuda', device))" in code


@pytest.mark.parametrize("test", ["device <= 0", "device < 1", "device < 0 and device", "device == -1"])
def test_a_condition_that_says_something_else(test: str) -> None:
    code = migrated(CONVERTING.replace("device < 0", test)).code
    assert code.count("torch.device('cuda', device) if device >= 0 else torch.device('cpu')") >= 1


OPTIONS = """
def train(model):
    parser = argparse.ArgumentParser()
    parser.add_argument('--device', '-d', type=str, default='-1')
    parser.add_argument('--gpu', '-g', dest='device', type=int, nargs='?', const=0)
    args = parser.parse_args({arguments})
    device = chainer.get_device({spec})
    device.use()
    return [float(device.send(np.ones(2, 'f')).sum())]
"""


@pytest.mark.parametrize("arguments", [[], ["--device=-1"], ["-g=-3"]])
def test_a_number_that_an_option_gives_as_text(arguments: list[str]) -> None:
    code = check("import argparse\n" + OPTIONS.format(arguments=arguments, spec="args.device"))
    assert "torch.device('cuda', int(args.device)) if int(args.device) >= 0 else torch.device('cpu')" in code


@pytest.mark.parametrize(("spec", "more"), [("str(args.device)", ""), ("args.device", "\nDEFAULT = '@numpy'\n")])
def test_a_text_that_may_be_a_name(spec: str, more: str) -> None:
    code = check("import argparse\n" + OPTIONS.format(arguments=["--device=@numpy"], spec=spec) + more)
    assert f"compat.get_device({spec})" in code
