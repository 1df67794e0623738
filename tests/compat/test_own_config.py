"""Entries of a program's own in the configuration, beside Chainer's."""

import threading
from typing import Any

import chainer
import pytest

from chainer2torch.compat.utils.own_config import own_config, own_global_config, using_own_config

SIDES = [
    pytest.param(chainer.config, chainer.global_config, chainer.using_config, id="chainer"),
    pytest.param(own_config, own_global_config, using_own_config, id="torch"),
]


def in_thread(function: Any) -> Any:
    """What a function gives in another thread."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize("config, shared, using", SIDES)
def test_threads_and_blocks(config: Any, shared: Any, using: Any) -> None:
    shared.own_a = 1
    assert config.own_a == 1
    config.own_a = 2
    assert (config.own_a, shared.own_a, in_thread(lambda: config.own_a)) == (2, 1, 1)
    with using("own_a", 3):
        assert (config.own_a, in_thread(lambda: config.own_a)) == (3, 1)
        with using("own_a", 4):
            assert config.own_a == 4
        assert config.own_a == 3
    assert config.own_a == 2
    del config.own_a
    assert config.own_a == 1
    with pytest.raises(ValueError), using("own_a", 5):
        raise ValueError
    assert config.own_a == 1
    del shared.own_a
    assert not hasattr(config, "own_a") and not hasattr(shared, "own_a")
