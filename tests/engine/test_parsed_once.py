"""Texts of a small project are parsed once, whoever asks for their trees; of a large one no tree is kept for later."""

from __future__ import annotations

import ast
from collections import Counter
from typing import Any

import pytest

from chainer2torch.analysis.parsing import parse, parser
from chainer2torch.engine import migrate_sources

_MODEL = """
import chainer
import chainer.functions as F
import numpy as np

class Net{number}(chainer.Chain):
    def forward(self, x, gpu):
        device = chainer.get_device(gpu)
        return F.relu(x).array.astype(np.int32).astype(np.float32)
"""


def test_what_is_written_is_parsed_once_for_all_who_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: Counter[str] = Counter()
    real = ast.parse

    def counted(source: Any, *args: Any, **options: Any) -> Any:
        if "class Net" in str(source):
            parsed[str(source)] += 1
        return real(source, *args, **options)

    monkeypatch.setattr(ast, "parse", counted)
    texts = {f"net{number}.py": _MODEL.format(number=f"{number}_of_parsed_once") for number in range(3)}
    written = {path: result.code for path, result in migrate_sources(texts).items()}
    again = {path: result.code for path, result in migrate_sources(written).items()}
    assert again == written and all(written[path] != texts[path] for path in texts)
    assert parsed and max(parsed.values()) == 1


def test_the_trees_of_a_large_project_are_not_kept() -> None:
    assert parser(10_000) is parse
    text = "value = 1\n"
    assert parser(3)(text) is parser(3)(text) and parse(text) is not parse(text)


def test_an_error_is_raised_each_time() -> None:
    for _ in range(2):
        with pytest.raises(SyntaxError):
            parser(3)("def f(:\n")
