"""Dependency files on the command line: Chainer becomes what the migrated code imports, everything else is kept."""

import configparser
import json
import tomllib

import pytest
import yaml

from chainer2torch.project.dependencies.editing import parse
from tests.support import command_line

CODE = {
    "train.py": "import numpy as np\nimport chainer\nimport chainer.functions as F\n\n\ndef f(x):\n"
    "    return F.relu(np.abs(x))\n"
}
TRAINER = {
    "train.py": "import chainer.functions as F\nfrom chainer import training\n\n\ndef f(updater):\n"
    "    return training.Trainer(updater, (1, 'epoch'))\n\n\ndef g(x):\n    return F.relu(x)\n"
}
HARD = {"train.py": "import chainer\nimport chainer.functions as F\n\nF.relu(chainer.no_such_thing())\n"}


def run(*arguments, cwd):
    return command_line.run(*arguments, cwd=cwd, env=command_line.PLAIN)


def migrated(folder, files):
    """The files after --write; a second run changes nothing."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    done = run("migrate", ".", "--write", "--force", cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    out = {name: (folder / name).read_bytes().decode() for name in files}
    again = run("migrate", ".", cwd=folder)
    assert again.stdout == "", again.stdout
    return out


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("chainer\n", "torch\n"),
        (
            "# deep learning\nchainer>=5.0,<8  # the framework\nnumpy>=1.9\nmatplotlib==2.0\n",
            "# deep learning\ntorch>=2.13  # the framework\nnumpy>=1.9\nmatplotlib==2.0\n",
        ),
        (
            "chainer==7.8.1; python_version >= '3.6'\nCupy_CUDA101==7.0 # GPU\nchainermn\nscipy",
            "torch>=2.13 ; python_version >= '3.6'\n# GPU\nscipy",
        ),
        ("-r base.txt\r\nchainer\r\n", "-r base.txt\r\ntorch\r\n"),
        ("git+https://github.com/chainer/chainer.git@v7#egg=chainer\n", "torch>=2.13\n"),
        ("chainer @ https://example.org/chainer.tar.gz\ntorch\n", "torch\n"),
        ("chainer[docs] >= 5\nchainer-helper-of-mine\n", "torch>=2.13\nchainer-helper-of-mine\n"),
        ("cupy-cuda92\n", "torch\n"),
    ],
)
def test_requirements_txt(tmp_path, before, after):
    files = {**CODE, "train.py": CODE["train.py"].replace("np.abs(x)", "x").replace("import numpy as np\n", "")}
    assert migrated(tmp_path, {**files, "requirements.txt": before})["requirements.txt"] == after


def test_what_the_code_imports_is_added(tmp_path):
    out = migrated(tmp_path, {**CODE, "requirements.txt": "chainer>=7\nscipy\n"})
    assert out["requirements.txt"] == "torch>=2.13\nnumpy>=1.26\nscipy\n", "numpy came with Chainer"
    out = migrated(tmp_path, {**TRAINER, "requirements.txt": "scipy\nchainer\n"})
    assert out["requirements.txt"] == "scipy\ntorch\npytorch-pfn-extras\n"


def test_chainer_stays_while_the_code_needs_it(tmp_path):
    out = migrated(tmp_path, {**HARD, "requirements.txt": "chainer==7.8.1\ncupy\nsix\n"})
    assert out["requirements.txt"] == "chainer==7.8.1\ncupy\ntorch\nsix\n"
    text = run("report", ".", cwd=tmp_path).stdout
    assert "requirements.txt:1:1: C2T016 manual chainer: stays: the migrated code still needs it" in text
    # once it is gone from the code it goes from the requirements, too
    (tmp_path / "train.py").write_text("import torch\n\ntorch.relu\n")
    assert run("migrate", ".", "--write", "--force", cwd=tmp_path).returncode == 0
    assert (tmp_path / "requirements.txt").read_text() == "torch\nsix\n"


def test_files_that_could_not_be_migrated_need_chainer(tmp_path):
    broken = {"old.py": "import chainer\nprint(chainer\n"}
    for name, text in {**CODE, **broken, "requirements.txt": "chainer\n"}.items():
        (tmp_path / name).write_text(text)
    assert run("migrate", ".", "--write", "--force", cwd=tmp_path).returncode == 2
    assert (tmp_path / "requirements.txt").read_text() == "chainer\ntorch\nnumpy\n"


SETUP_PY = """from setuptools import find_packages, setup

requires = [
    'numpy>=1.9',
    'chainer>=4.0.0',  # the framework
    "cupy>=4.0.0",
]

setup(
    name='mine',
    keywords=['chainer', 'gan'],
    install_requires=requires,
    extras_require={'gpu': ["cupy-cuda100"], 'test': ['pytest']},
)
"""


def test_setup_py(tmp_path):
    out = migrated(tmp_path, {**CODE, "setup.py": SETUP_PY})["setup.py"]
    assert out == SETUP_PY.replace("'chainer>=4.0.0',", "'torch>=2.13',").replace('    "cupy>=4.0.0",\n', "").replace(
        '"cupy-cuda100"', '"torch"'
    )
    sites = json.loads(run("report", ".", "--format", "json", cwd=tmp_path).stdout)["files"]
    assert next(row for row in sites if row["path"] == "setup.py")["status"] in ("clean", "no chainer")


def test_setup_py_in_other_forms(tmp_path):
    text = (
        "from setuptools import setup\nrequires = ['six']\nrequires.append('chainer')\n"
        "setup(install_requires=requires)\n"
    )
    out = migrated(
        tmp_path,
        {
            **CODE,
            "setup.py": text,
            "sub/setup.py": "from setuptools import setup\nsetup("
            "install_requires=('chainer', 'scipy'), extras_require=dict(a=['chainer']))\n",
        },
    )
    assert out["setup.py"] == text
    assert out["sub/setup.py"] == (
        "from setuptools import setup\nsetup(install_requires=('torch', 'numpy', 'scipy'), "
        "extras_require=dict(a=['torch', 'numpy']))\n"
    )
    text = run("report", ".", cwd=tmp_path).stdout
    assert "setup.py:3:1: C2T016 manual chainer: asks for it in a form that is not understood" in text


def test_setup_cfg(tmp_path):
    text = (
        "[metadata]\nname = mine\ndescription = chainer models\n\n[options]\npackages = find:\ninstall_requires =\n"
        "    chainer>=5 ; python_version>'3'\n    # for plots\n    matplotlib\ntests_require = chainer\n\n"
        "[options.extras_require]\ngpu =\n    cupy\n    pynvml\n\n[tool:pytest]\naddopts = -k chainer\n"
    )
    out = migrated(tmp_path, {**CODE, "setup.cfg": text})["setup.cfg"]
    assert out == text.replace(
        "    chainer>=5 ; python_version>'3'\n",
        "    torch>=2.13 ; python_version>'3'\n    numpy>=1.26 ; python_version>'3'\n",
    ).replace("tests_require = chainer\n", "tests_require = torch\n    numpy\n").replace("    cupy\n", "    torch\n")
    parser = configparser.ConfigParser()
    parser.read_string(out)
    assert parser["options"]["tests_require"].split() == ["torch", "numpy"]


PYPROJECT = """[build-system]
requires = ["setuptools", 'chainer']

[project]
name = "mine"  # uses chainer
keywords = ["chainer"]
dependencies = [
  "scipy",
  # the framework
  "chainer>=5",   # and no other
  "cupy",
  "tqdm",
]

[project.optional-dependencies]
gpu = ["cupy-cuda11x"]
all = [ "six", "cupy", "chainercv" ]

[tool.poetry.dependencies]
python = ">=3.10"
chainer = "^7.0"
cupy = { version = "*", optional = true }
numpy = "*"

[tool.mypy]
module = "chainer.*"
"""


def test_pyproject_toml(tmp_path):
    out = migrated(tmp_path, {**CODE, "pyproject.toml": PYPROJECT})["pyproject.toml"]
    assert out == PYPROJECT.replace("'chainer']", "'torch', 'numpy']").replace(
        '"chainer>=5",   #', '"torch>=2.13",\n  "numpy>=1.26",   #'
    ).replace('  "cupy",\n', "").replace('["cupy-cuda11x"]', '["torch"]').replace(
        '"six", "cupy", "chainercv" ]', '"six", "torch", "numpy" ]'
    ).replace('chainer = "^7.0"\ncupy = { version = "*", optional = true }\n', 'torch = ">=2.13"\n')
    assert tomllib.loads(out)["project"]["dependencies"] == ["scipy", "torch>=2.13", "numpy>=1.26", "tqdm"]


def test_pipfile(tmp_path):
    text = '[packages]\nchainer = "==7.8.1"\n\n[dev-packages]\npytest = "*"\n'
    out = migrated(tmp_path, {**CODE, "Pipfile": text})["Pipfile"]
    assert out == text.replace('chainer = "==7.8.1"', 'torch = ">=2.13"\nnumpy = ">=1.26"')


ENVIRONMENT = """name: mine
channels:
  - conda-forge
dependencies:
  - python=3.8   # chainer wants it
  - conda-forge::chainer=7.8
  - cupy
  - pip:
    - -e .
    - chainermn
prefix: /chainer
"""


def test_environment_yml(tmp_path):
    out = migrated(tmp_path, {**TRAINER, "environment.yml": ENVIRONMENT})["environment.yml"]
    listed = yaml.safe_load(out)["dependencies"]
    assert listed[:2] == ["python=3.8", "pytorch>=2.13"]
    assert listed[2]["pip"] == ["-e .", "torch", "pytorch-pfn-extras"]
    assert "# chainer wants it" in out and out.endswith("prefix: /chainer\n")
    text = run("report", ".", cwd=tmp_path)
    (tmp_path / "two").mkdir()
    plain = migrated(tmp_path / "two", {**TRAINER, "environment.yml": "dependencies:\n- chainer\n- scipy\n"})
    assert yaml.safe_load(plain["environment.yml"])["dependencies"] == [
        "pytorch",
        "scipy",
        "pip",
        {"pip": ["pytorch-pfn-extras"]},
    ], text


def test_hashes_are_left_to_the_one_who_makes_them(tmp_path):
    text = "chainer==7.8.1 \\\n    --hash=sha256:00\nsix==1.0 --hash=sha256:11\n"
    assert migrated(tmp_path, {**CODE, "requirements.txt": text})["requirements.txt"] == text
    assert "C2T016 manual chainer: the file has hashes" in run("report", ".", cwd=tmp_path).stdout


def test_a_pinned_numpy_is_kept_and_told(tmp_path):
    out = migrated(tmp_path, {**CODE, "requirements.txt": "numpy==1.16\nchainer\n"})
    assert out["requirements.txt"] == "numpy==1.16\ntorch\n"


def test_they_are_part_of_diff_output_report_and_check(tmp_path):
    src = tmp_path / "src"
    src.mkdir()
    for name, text in {
        **CODE,
        "requirements.txt": "chainer>=5\nnumpy<1.20\n",
        "docs/requirements.txt": "chainer\n",
        "notes.txt": "chainer\n",
    }.items():
        (src / name).parent.mkdir(exist_ok=True)
        (src / name).write_text(text)
    diff = run("migrate", ".", cwd=src).stdout
    assert "+++ b/requirements.txt\n@@ -1,2 +1,2 @@\n-chainer>=5\n+torch>=2.13\n numpy<1.20\n" in diff
    assert "b/docs/requirements.txt" in diff and "notes" not in diff
    assert run("migrate", "src", "-o", "out", cwd=tmp_path).returncode == 1, "the pinned numpy is to be looked at"
    assert (tmp_path / "out" / "requirements.txt").read_text() == "torch>=2.13\nnumpy<1.20\n"
    rows = json.loads(run("report", ".", "--format", "json", cwd=src).stdout)["files"]
    row = next(row for row in rows if row["path"] == "requirements.txt")
    assert row["status"] == "partial" and [site["state"] for site in row["sites"]] == ["exact", "review"]
    assert "requirements.txt:1:1: C2T016" in run("check", ".", cwd=src).stdout
    assert run("check", "out", cwd=tmp_path).returncode == 0
    excluded = run("migrate", ".", "--exclude", "docs", "--exclude", "requirements.txt", cwd=src).stdout
    assert "requirements" not in excluded


def test_only_where_python_code_is_migrated(tmp_path):
    (tmp_path / "main.py").write_text("import os\n")
    (tmp_path / "requirements.txt").write_text("chainer\n")
    for command in (["migrate", "."], ["check", "."]):
        done = run(*command, cwd=tmp_path)
        assert done.returncode == 0 and done.stdout == "", done.stdout
    (tmp_path / "one.py").write_text(CODE["train.py"])
    assert "requirements" not in run("migrate", "one.py", cwd=tmp_path).stdout, "a file was named, not the project"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("chainer", ("chainer", "", "")),
        ("Cupy_CUDA10.1 >=7,<8", ("cupy-cuda10-1", ">=7,<8", "")),
        ("chainer[a,b]==7.* ; extra=='x'", ("chainer", "==7.*", "; extra=='x'")),
        ("chainer (>=5)", ("chainer", "(>=5)", "")),
        ("-r chainer.txt", None),
        ("./chainer", None),
        ("--pre", None),
        ("two words", None),
        (
            "git+ssh://git@github.com/chainer/chainer-ui.git@v1",
            ("chainer-ui", "git+ssh://git@github.com/chainer/chainer-ui.git@v1", ""),
        ),
    ],
)
def test_requirements_are_parsed(text, expected):
    found = parse(text)
    assert (found and (found.name, found.version, found.marker)) == expected
