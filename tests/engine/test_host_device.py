"""`get_device('@numpy').send(x)`, written out, is the way to an array of NumPy; another device's `send` to a tensor."""

from chainer2torch.engine import migrate_source


def _migrated(body):
    head = "import chainer\nimport numpy as np\n\n\ndef f(x, device):\n"
    return migrate_source(head + "".join(f"    {line}\n" for line in body), hints={"f.x": "tensor rank 2"})


def test_numpys_device_is_the_host():
    result = _migrated(["for row in chainer.get_device('@numpy').send(x):", "    print(np.argwhere(row == 0))"])
    assert "for row in compat.to_cpu(x):" in result.code and "np.argwhere(row == 0)" in result.code
    assert {site.symbol: site.state for site in result.sites} == {
        "chainer.get_device": "exact",
        "chainer.backend.Device.send": "exact",
    }


def test_a_device_that_is_given_is_not():
    assert "compat.to_device(device, x)" in _migrated(["device = chainer.get_device(device)", "device.send(x)"]).code
    assert (
        "compat.to_device(compat.get_device('@cupy:0'), x)" in _migrated(["chainer.get_device('@cupy:0').send(x)"]).code
    )


def test_a_device_in_a_variable_may_feed_a_model():
    code = _migrated(["device = chainer.get_device('@numpy')", "device.send(x)"]).code
    assert "compat.to_device(device, x)" in code


def test_how_chainer_computes_is_no_matter_to_torch():
    result = _migrated(["with chainer.using_config('use_static_graph', False):", "    print(x)"])
    assert "import contextlib" in result.code and "with contextlib.nullcontext():" in result.code
    result = _migrated(["with chainer.using_config('compute_mode', 'cudnn_fast'):", "    x = x + 1"])
    assert [site.state for site in result.sites] == ["exact"]
    assert "with contextlib.nullcontext():" in result.code


def test_a_table_of_many_classes():
    head = "import chainer\nimport chainer.links as L\n\n\n"
    classes = "".join(f"class M{i}(chainer.Chain):\n    pass\n\n\n" for i in range(9))
    table = "{" + ", ".join(f"'m{i}': M{i}" for i in range(9)) + "}"
    code = migrate_source(
        f"{head}{classes}def main(name, device):\n    model = {table}[name]()\n    model.to_device(device)\n"
    ).code
    assert "model.to(compat.get_device(device))" in code


def test_nobody_knows_what_is_sent():
    result = _migrated(["chainer.get_device(device).use()", "make(x).to_device(device)"])
    assert "compat.to_device_of(make(x), device)" in result.code
