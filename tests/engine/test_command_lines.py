"""Types of command-line options: of one that must be given, and where scripts with parsers of their own share code."""

import ast

import pytest

from chainer2torch.analysis.kinds import Scalar
from chainer2torch.engine import facts
from chainer2torch.rules.table import load_rules

SHARED = "import chainer\n\n\ndef told(args):\n    return args.gpu, args.rate, args.only\n"
SCRIPT = """import argparse
from shared import told


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--gpu', type=int, {gpu})
    parser.add_argument('--rate', type={rate}, default=1)
    {more}
    args = parser.parse_args()
    told(args)


main()
"""


def kinds(first, second):
    sources = {"shared.py": SHARED, "a.py": SCRIPT.format(**first), "b.py": SCRIPT.format(**second)}
    source, kind = facts(sources, rules=load_rules(style="native"))("shared.py")
    return {node.attr: kind(node) for node in source.of(ast.Attribute)}


def script(gpu="default=-1", rate="float", more="pass"):
    return {"gpu": gpu, "rate": rate, "more": more}


@pytest.mark.parametrize("gpu", ["default=-1", "required=True", "default=0, help='a GPU'"])
def test_an_option_of_all_scripts_is_known(gpu):
    found = kinds(script(gpu), script("required=True"))
    assert found["gpu"] == Scalar("int") and found["rate"] == Scalar("float")
    assert kinds(script(gpu), script("required=True", rate="str"))["rate"] != Scalar("float")


@pytest.mark.parametrize("gpu", ["default=None", "help='a GPU'", "required=False", "required=args"])
def test_an_option_that_may_be_left_out_may_be_none(gpu):
    assert kinds(script(gpu), script())["gpu"] != Scalar("int")


def test_an_option_of_one_script_alone_is_not_known():
    only = "parser.add_argument('--only', type=int, default=3)"
    assert kinds(script(more=only), script(more=only))["only"] == Scalar("int")
    assert kinds(script(more=only), script())["only"] != Scalar("int")
