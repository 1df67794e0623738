"""What the README shows is what the program does."""

import re
import textwrap
from pathlib import Path

from chainer2torch import migrate_source
from chainer2torch.engine import Options

ROOT = Path(__file__).parents[2]
IMPORTS = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\n\n\n"


def test_before_and_after():
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    column = block.splitlines()[0].index("class Net(nn.Module)")
    before = "\n".join(line[:column].rstrip() for line in block.splitlines())
    after = [line[column:].rstrip() for line in block.splitlines() if line[column:].strip()]
    result = migrate_source(IMPORTS + textwrap.dedent(before) + "\n", "net.py", options=Options(style="native"))
    made = [line for line in result.code[result.code.index("class Net") :].splitlines() if line.strip()]
    assert made == after


def test_every_command_of_the_readme_exists():
    from chainer2torch.cli.app import cli

    named = set(re.findall(r"^    chainer2torch (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert named == set(cli.commands)
