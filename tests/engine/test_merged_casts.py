"""A tensor is made with the dtype that it is cast to."""

import ast

import numpy as np
import pytest
import torch

from chainer2torch.rewrite.merged_casts import with_merged_casts

DRAWN = "torch.as_tensor(np.random.normal(0, 1, (2, 3)), device='cpu')"
MADE = "torch.as_tensor(np.random.normal(0, 1, (2, 3)), dtype=torch.float32, device='cpu')"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{DRAWN}.to(torch.float32)", MADE),
        (f"{DRAWN}.to(torch.float32, copy=True)", MADE),
        (f"{DRAWN}.to(torch.float32)[:, None]", f"{MADE}[:, None]"),
        ("torch.as_tensor(x).to(torch.int64)", "torch.as_tensor(x, dtype=torch.int64)"),
        ("torch.tensor(x).to(torch.int64, copy=True)", "torch.tensor(x, dtype=torch.int64)"),
        ("torch.ones(3, dtype=torch.int32, device='cpu').long()", "torch.ones(3, dtype=torch.int64, device='cpu')"),
        ("torch.zeros((2, 3), dtype=torch.int32).to(z.dtype)", "torch.zeros((2, 3), dtype=z.dtype)"),
        ("torch.ones(3, dtype=torch.int32).to(torch.float64)", "torch.ones(3, dtype=torch.float64)"),
        (
            "torch.as_tensor(\n    x,\n    device='cpu').to(torch.bool)",
            "torch.as_tensor(\n    x, dtype=torch.bool,\n    device='cpu')",
        ),
    ],
)
def test_the_pair_is_one_call_that_gives_the_same(before, after):
    merged = with_merged_casts(f"y = {before}\n", "")
    assert merged == f"y = {after}\n" and with_merged_casts(merged, "") == merged
    values = []
    for text in (before, after):
        np.random.seed(0)
        values.append(eval(text, {"torch": torch, "np": np, "x": np.arange(6).reshape(2, 3) - 2, "z": torch.ones(2)}))
    torch.testing.assert_close(*values, rtol=0, atol=0)
    assert values[0].dtype == values[1].dtype


@pytest.mark.parametrize(
    "text",
    [
        "torch.as_tensor(x).to(torch.float32, copy=True)",  # which may share its memory with x
        "torch.as_tensor(x, dtype=torch.int64).to(torch.float32)",  # which rounds
        "torch.as_tensor(x).to(device)",
        "torch.as_tensor(x).to(torch.device('cpu'))",
        "torch.as_tensor(x).to(torch.float32, non_blocking=True)",
        "torch.as_tensor(x).float().to(torch.float64)",
        "(torch.as_tensor(x)).to(torch.float64)",
        "torch.stack(x).to(torch.float64)",
        "torch.full((3,), 0.5, dtype=torch.int32).long()",  # which may raise
        "torch.ones(3, dtype=torch.int32, requires_grad=False).long()",
        "torch.ones(3, dtype=torch.int32).to(device)",
        "torch.ones(3, dtype=torch.int32).to(make().dtype)",
    ],
)
def test_what_stays(text):
    ast.parse(text)
    assert with_merged_casts(text, "") == text


def test_what_the_source_says_stays():
    text = f"a = {DRAWN}.to(torch.float32)\n"
    assert with_merged_casts(text, text) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("float(z[0].detach().cpu().numpy())", "float(z[0].item())"),
        ("int(z.sum().cpu().numpy())", "int(z.sum().item())"),
        ("float(z.detach().cpu().numpy()[0])", "float(z.detach().cpu().numpy()[0])"),
        ("float(z.detach().numpy())", "float(z.detach().numpy())"),
        ("str(z.detach().cpu().numpy())", "str(z.detach().cpu().numpy())"),
    ],
)
def test_a_number_is_taken_out_of_the_tensor(before, after):
    assert with_merged_casts(f"y = {before}\n", "") == f"y = {after}\n"
    assert with_merged_casts(f"y = {before}\n", f"y = {before}\n") == f"y = {before}\n"
    if "float(z" not in before or "[0]" in before:
        values = [eval(text, {"z": torch.tensor([1.5, 2.25])}) for text in (before, after)]
        assert values[0] == values[1] and type(values[0]) is type(values[1])
