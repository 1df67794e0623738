"""Where the module of helpers lies: once for a library with its tests and examples."""

import subprocess
import sys
from pathlib import Path

import pytest

from chainer2torch.engine import migrate_sources

USES = "import chainer.functions as F\n\ndef f(x):\n    return F.accuracy(x, x)\n"
PLAIN, IN_LIBRARY = "import chainer_compat as compat", "from lib import chainer_compat as compat"


def homes(sources: dict[str, str]) -> dict[str, tuple[str, str]]:
    """For each file that uses a helper, the folder of the helpers and its import statement."""
    found = {}
    for path, result in migrate_sources(sources).items():
        assert result.error is None
        lines = [line for line in result.code.splitlines() if "chainer_compat" in line]
        if lines:
            found[path] = (result.root, lines[0])
    return found


LIBRARY = {"lib/__init__.py": "from lib import net\n", "lib/net.py": USES}


def test_a_library_holds_the_helpers_of_all_that_imports_it() -> None:
    sources = {
        **LIBRARY,
        "tests/test_net.py": "import lib\n" + USES,
        "tests/sub/test_more.py": "from lib.net import f\n" + USES,
        "examples/train.py": "import lib\n" + USES,
        "examples/other.py": USES,
    }
    assert homes(sources) == dict.fromkeys(sources.keys() - {"lib/__init__.py"}, ("lib", IN_LIBRARY))


def test_what_does_not_import_it_has_its_own() -> None:
    sources = {**LIBRARY, "tests/test_net.py": "import lib\n", "tools/plot.py": USES}
    assert homes(sources) == {"lib/net.py": ("lib", IN_LIBRARY), "tools/plot.py": ("tools", PLAIN)}


def test_beside_scripts_of_the_same_root_they_lie_at_the_root() -> None:
    sources = {**LIBRARY, "train.py": "import lib\n" + USES}
    assert homes(sources) == {"lib/net.py": ("", PLAIN), "train.py": ("", PLAIN)}


def test_folders_without_init_that_relative_imports_connect_have_one_root() -> None:
    sources = {
        "train.py": "from net.chain import f\n" + USES,
        "net/chain.py": "from .parts.head import f\n" + USES,
        "net/parts/head.py": "from .neck import f\n" + USES,
        "net/parts/neck.py": USES,
        "tools/plot.py": USES,
    }
    assert homes(sources) == dict.fromkeys(sources, ("", PLAIN))
    codes = {path: result.code for path, result in migrate_sources(sources).items()}
    assert [path for path, code in codes.items() if "sys.path" in code] == ["tools/plot.py"]


PACKAGES = {
    **LIBRARY,
    "other/__init__.py": "",
    "other/net.py": USES,
    "tests/test_a.py": "import lib\n",
    "tests/test_b.py": "import other\n",
    "apps/a.py": "import lib\n" + USES,
}


def test_packages_that_do_not_need_each_other_stay_apart() -> None:
    """Who knows what happens when one imports the other."""
    found = homes({**PACKAGES, "other/__init__.py": "from other import net\n"})
    assert found["other/net.py"] == ("other", IN_LIBRARY.replace("lib", "other"))
    assert found["lib/net.py"] == found["apps/a.py"] == ("lib", IN_LIBRARY)


def test_packages_of_one_root_have_one_module_where_nothing_happens(tmp_path: Path) -> None:
    sources = {**PACKAGES, "apps/b.py": "import sys\nsys.path.append('..')\nimport lib\n" + USES}
    assert set(homes(sources).values()) == {("other", IN_LIBRARY.replace("lib", "other"))}
    written(sources, tmp_path)
    (tmp_path / "other/chainer_compat.py").write_text("def accuracy(y, t):\n    return y\n")
    for folder, script in (("apps", "b.py"), ("apps", "../tests/test_a.py"), ("", "lib/net.py")):
        code = f"import runpy, sys; sys.path[:0] = ['{tmp_path}']; runpy.run_path({script!r})"
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path / folder, check=True, env={})
    subprocess.run([sys.executable, "b.py"], cwd=tmp_path / "apps", check=True, env={})
    once = {path: result.code for path, result in migrate_sources(sources).items()}
    assert {path: result.code for path, result in migrate_sources(once).items()} == once


def test_a_second_run_keeps_the_import() -> None:
    sources = {**LIBRARY, "tests/test_net.py": "import lib\n" + USES}
    once = {path: result.code for path, result in migrate_sources(sources).items()}
    once["lib/net.py"] += USES.replace("accuracy(x, x)", "leaky_relu(x, [])")
    twice = migrate_sources(once)["lib/net.py"].code
    assert twice.count("chainer_compat") == 1 and "compat.accuracy" in twice


@pytest.mark.parametrize("folder", ["", "src/"])
def test_the_package_has_its_own_name_wherever_it_lies(folder: str) -> None:
    sources = {folder + path: text for path, text in LIBRARY.items()}
    sources[folder + "tests/test_net.py"] = "import lib\n" + USES
    assert set(homes(sources).values()) == {(folder + "lib", IN_LIBRARY)}


def test_a_file_that_changes_its_path_finds_the_library_where_it_imports_it(tmp_path: Path) -> None:
    sources = {
        **LIBRARY,
        "examples/common.py": "import lib\n" + USES,
        "examples/first/train.py": "import sys\nimport lib\nsys.path.insert(0, '..')\nimport common\n" + USES,
        "examples/first/late.py": "import sys\nsys.path.insert(0, '../..')\nimport lib\n" + USES,
    }
    found = dict.fromkeys(sources.keys() - {"lib/__init__.py"}, ("lib", IN_LIBRARY))
    assert homes(sources) == found
    written(sources, tmp_path)
    (tmp_path / "lib/chainer_compat.py").write_text("def accuracy(y, t):\n    return y\n")
    subprocess.run([sys.executable, "late.py"], cwd=tmp_path / "examples/first", check=True, env={})
    again = {path: result.code for path, result in migrate_sources(sources).items()}
    assert {path: result.code for path, result in migrate_sources(again).items()} == again


def test_a_file_that_changes_its_path_late_adds_the_folder_itself(tmp_path: Path) -> None:
    """At the place of its import the library is not found yet."""
    sources = {**LIBRARY, "scripts/show.py": USES + "import sys\nsys.path.append('..')\nimport lib\n"}
    assert homes(sources) == {"lib/net.py": ("", PLAIN), "scripts/show.py": ("", PLAIN)}
    written(sources, tmp_path)
    subprocess.run([sys.executable, "show.py"], cwd=tmp_path / "scripts", check=True, env={})


# A repository of scripts: each folder adds the one above to sys.path, by itself or through a module beside it.
SCRIPTS = {
    "net.py": USES,
    "run/train.py": "import sys\n"
    + USES.replace("\n\n", "\nsys.path.append('..')\nimport net\nimport part\nimport own\n\n", 1),
    "run/part.py": USES,  # only scripts that know the folder above import it
    "run/own.py": "import sys\nsys.path.append('..')\nimport net\n" + USES,
    "run/through.py": USES.replace("\n\n", "\nimport own\n\n", 1),  # own.py adds the folder
}


def written(sources: dict[str, str], folder: Path) -> None:
    """Writes what a migration gives, helpers included."""
    results = migrate_sources(sources)
    for path, result in results.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(result.code)
    for root in {result.root for result in results.values() if "chainer_compat" in result.code}:
        (folder / root / "chainer_compat.py").write_text("def accuracy(y, t):\n    return y\n")


@pytest.mark.parametrize("script", ["train", "through", "own"])
def test_a_script_finds_the_helpers_of_the_folder_that_it_adds(script: str, tmp_path: Path) -> None:
    assert {root for root, _ in homes(SCRIPTS).values()} == {""}
    written(SCRIPTS, tmp_path)
    subprocess.run([sys.executable, f"{script}.py"], cwd=tmp_path / "run", check=True, env={})


def test_a_script_that_uses_chainer_before_it_knows_the_folder_adds_it_above(tmp_path: Path) -> None:
    early = "import sys\nimport chainer.functions as F\nprint(F.accuracy)\nsys.path.append('..')\nimport net\n"
    written({"net.py": USES, "run/train.py": early}, tmp_path)
    subprocess.run([sys.executable, "train.py"], cwd=tmp_path / "run", check=True, env={})


def test_a_module_that_others_import_without_the_folder_adds_it(tmp_path: Path) -> None:
    sources = {**SCRIPTS, "run/alone.py": "import part\n"}
    assert homes(sources)["run/part.py"] == ("", PLAIN)
    written(sources, tmp_path)
    for script in ("alone", "train"):
        subprocess.run([sys.executable, f"{script}.py"], cwd=tmp_path / "run", check=True, env={})


def test_a_second_run_of_scripts_changes_nothing() -> None:
    once = {path: result.code for path, result in migrate_sources(SCRIPTS).items()}
    assert {path: result.code for path, result in migrate_sources(once).items()} == once


def test_a_module_that_adds_the_folder_itself_does_not_count_on_those_that_import_it(tmp_path: Path) -> None:
    own = "import sys\n" + USES.replace("\n\n", "\nsys.path.append('..')\nimport net\n\n", 1)
    known = {path: text for path, text in SCRIPTS.items() if path != "run/through.py"}
    written({**known, "run/own.py": own}, tmp_path)
    subprocess.run([sys.executable, "own.py"], cwd=tmp_path / "run", check=True, env={})


def test_a_script_below_its_root_finds_the_helpers_there_behind_its_line(tmp_path: Path) -> None:
    """Others import it as ``tools.show``, so its root is the folder above; run as a script, it does not know that."""
    show = "import sys\n" + USES.replace("\n\n", "\nsys.path.append('..')\nimport net\n\n", 1)
    sources = {"net.py": USES, "tools/show.py": show, "all.py": "from tools import show\n"}
    assert {root for root, _ in homes(sources).values()} == {""}
    written(sources, tmp_path)
    subprocess.run([sys.executable, "show.py"], cwd=tmp_path / "tools", check=True, env={})
    subprocess.run([sys.executable, "all.py"], cwd=tmp_path, check=True, env={})


def test_what_stands_in_for_a_left_import_comes_behind_the_helpers() -> None:
    """The guard of an import that stays calls a helper, which is found only below the script's own line."""
    left = USES.replace("\n\n", "\nfrom chainer.functions import no_such as vars\n\n", 1) + "\nprint(vars)\n"
    show = "import sys\n" + left.replace("\n\n", "\nsys.path.append('..')\nimport net\n\n", 1)
    code = migrate_sources({"net.py": USES, "tools/show.py": show, "all.py": "from tools import show\n"})[
        "tools/show.py"
    ].code
    assert 0 < code.index("import chainer_compat") < code.index("compat.not_migrated(")
    assert code.index("sys.path.append") < code.index("import chainer_compat")


def test_a_guard_inside_of_another_try_comes_behind_the_helpers_too() -> None:
    """Two places where versions of Chainer had a name, which a program tries one after the other."""
    tried = "try:\n    from chainer.functions.old import _lstm\nexcept ImportError:\n    # newer\n"
    tried += "    from chainer.functions.rnn.n_step_lstm import _lstm\n"
    test = USES.replace("\n\n", f"\n{tried}import lib\n\nKNOWN = [_lstm]\n\n", 1)
    sources = {**LIBRARY, "tests/test_net.py": test}
    code = migrate_sources(sources)["tests/test_net.py"].code
    assert 0 < code.index("import chainer_compat") < code.index("compat.not_migrated(")


# A repository whose scripts start at the top and name folders from there; one of them is run in a folder below.
FROM_THE_TOP = {
    "train.py": "import sys\nsys.path.insert(0, 'models')\n" + USES.replace("\n\n", "\nimport net\nimport head\n\n", 1),
    "models/__init__.py": "",
    "models/net.py": USES + "if __name__ == '__main__':\n    import head\n",
    "models/head.py": USES,
    "tools/show.py": "import sys\nsys.path.insert(0, '.')\n" + USES.replace("\n\n", "\nimport train\n\n", 1),
    "tools/alone.py": "import os\n" + USES.replace("\n\n", "\nimport beside\n\n", 1) + "import sys\n",
    "tools/beside.py": USES,
}


@pytest.mark.parametrize(
    "folder, script",
    [
        ("", "train.py"),
        ("", "models/net.py"),
        ("models", "net.py"),
        ("", "tools/show.py"),
        ("", "tools/alone.py"),
        ("tools", "alone.py"),
        ("tools", "beside.py"),
    ],
)
def test_programs_that_start_at_the_top_and_below_share_one_module(folder: str, script: str, tmp_path: Path) -> None:
    assert {root for root, _ in homes(FROM_THE_TOP).values()} == {""}
    written(FROM_THE_TOP, tmp_path)
    subprocess.run([sys.executable, script], cwd=tmp_path / folder, check=True, env={})


def test_what_is_imported_behind_a_named_folder_needs_no_line_of_its_own() -> None:
    """Only scripts at the top import it, so it knows the top."""
    codes = {path: result.code for path, result in migrate_sources(FROM_THE_TOP).items()}
    assert "sys.path" not in codes["models/head.py"].replace("import sys", "") or "__main__" in codes["models/net.py"]
    without = {path: text for path, text in FROM_THE_TOP.items() if path != "models/net.py"}
    without["models/net.py"] = USES
    codes = {path: result.code for path, result in migrate_sources(without).items()}
    assert "sys.path" not in codes["models/head.py"] + codes["models/net.py"]


def test_a_module_that_a_script_loads_by_a_computed_name_is_found_from_there() -> None:
    sources = {
        "train.py": "import importlib\nimport sys\nimportlib.import_module(sys.argv[1])\n" + USES,
        "nets/a.py": USES,
    }
    codes = {path: result.code for path, result in migrate_sources(sources).items()}
    assert homes(sources)["nets/a.py"] == ("", PLAIN) and "sys.path" not in codes["nets/a.py"]


def test_a_package_that_a_script_enters_by_its_folder_has_no_helpers_under_its_name(tmp_path: Path) -> None:
    """One script imports ``lib.net``, the other adds the folder of the package and imports ``net``."""
    inside = (
        "import os\nimport sys\nsys.path.append(os.path.dirname(os.path.abspath(__file__)) + '/../lib')\nimport net\n"
    )
    sources = {"lib/__init__.py": "", "lib/net.py": USES, "a/one.py": inside + USES, "lib/sub/__init__.py": ""}
    sources["lib/sub/two.py"] = "from lib.net import f\n" + USES
    written(sources, tmp_path)
    subprocess.run([sys.executable, "a/one.py"], cwd=tmp_path, check=True, env={})


def test_a_second_run_keeps_the_line() -> None:
    once = {path: result.code for path, result in migrate_sources(FROM_THE_TOP).items()}
    once["tools/beside.py"] += "\nimport chainer.functions as F\n\n\ndef g(x):\n    return F.accuracy(x, x)\n"
    twice = migrate_sources(once)["tools/beside.py"].code
    assert twice.count("sys.path.append") == 1 and twice.count("import chainer_compat") == 1


def test_a_notebook_adds_the_folder_above() -> None:
    code = migrate_sources({"net.py": USES, "notebooks/show.ipynb": USES})["notebooks/show.ipynb"].code
    assert code.index('sys.path.append("..")') < code.index("import chainer_compat")


def test_what_has_no_chainer_does_not_count(tmp_path: Path) -> None:
    """A script names the folder of the modules; what stands beside it and needs no helpers does not know it."""
    script = (
        "import os\nimport sys\nsys.path.append(os.path.join(os.path.dirname(__file__), '..', 'src'))\nimport net\n"
    )
    sources = {
        "src/net.py": USES,
        "run/train.py": script + "import options\nimport chainer.functions as F\nprint(F.accuracy)\n",
        "run/options.py": "import net\n",
    }
    assert homes(sources) == dict.fromkeys(("src/net.py", "run/train.py"), ("src", PLAIN))
    written(sources, tmp_path)
    subprocess.run([sys.executable, "run/train.py"], cwd=tmp_path, check=True, env={})


def test_a_package_that_takes_its_own_modules_from_itself() -> None:
    """``from lib.hooks import watch`` in lib/hooks/__init__.py: the package runs before them."""
    sources = {
        **LIBRARY,
        "lib/hooks/__init__.py": "try:\n    from lib.hooks import watch\nexcept ImportError:\n    pass\n",
        "lib/hooks/watch.py": USES,
        "tests/test_hooks.py": "from lib.hooks import watch\n" + USES,
    }
    assert homes(sources) == dict.fromkeys(
        ("lib/net.py", "lib/hooks/watch.py", "tests/test_hooks.py"), ("lib", IN_LIBRARY)
    )


def test_a_script_that_runs_the_library_through_a_file_beside_it() -> None:
    head = 'import sys\nsys.path.append("../../")\n'
    sources = {
        **LIBRARY,
        "run/a/model.py": "from lib.net import f\n",
        "run/a/train.py": "from lib import net\n" + USES,
        "run/a/test.py": head + "from model import f as g\n" + USES,
    }
    assert homes(sources) == dict.fromkeys(("lib/net.py", "run/a/train.py", "run/a/test.py"), ("lib", IN_LIBRARY))
    alone = {**sources, "run/a/test.py": head + USES}
    assert homes(alone)["run/a/test.py"][0] != "lib"


def test_helpers_that_the_first_statement_needs_are_known_above_it() -> None:
    """What stands in for a name that is left is a helper's: nothing is imported twice for the way to it."""
    sources = {"a/b/first.py": "import chainer\nimport numpy as np\n\nkeep(chainer.__version__)\n", "t.py": USES}
    code = migrate_sources(sources)["a/b/first.py"].code
    assert code.startswith("import os\nimport sys\nsys.path.append(") and code.count("import os") == 1, code
    assert code.index("import chainer_compat") < code.index("not_migrated(")


# A library in whose __init__.py nothing happens, and programs that do not import it.
QUIET = {
    "nmt/__init__.py": '"""Words."""\nfrom ._version import __version__\n',
    "nmt/_version.py": "__version__ = '1.0'\n",
    "nmt/net.py": USES,
    "nmt/head.py": USES,
    "tests/test_net.py": "from nmt import net\n" + USES,
    "scripts/plot.py": "import os\n" + USES,
}
FROM_QUIET = "from nmt import chainer_compat as compat"


def test_programs_that_do_not_import_a_library_take_its_helpers_where_nothing_happens_then(tmp_path: Path) -> None:
    found = homes(QUIET)
    assert set(found.values()) == {("nmt", FROM_QUIET)} and len(found) == 4
    written(QUIET, tmp_path)
    for folder, script in (("scripts", "plot.py"), ("", "scripts/plot.py")):
        subprocess.run([sys.executable, script], cwd=tmp_path / folder, check=True, env={})
    once = {path: result.code for path, result in migrate_sources(QUIET).items()}
    assert {path: result.code for path, result in migrate_sources(once).items()} == once


@pytest.mark.parametrize(
    "change",
    [
        {"nmt/__init__.py": "import os\n"},  # who knows what that does
        {"nmt/__init__.py": "print('here')\n"},
        {"nmt/_version.py": "__version__ = open('version').read()\n"},
        {"scripts/nmt.py": ""},  # it would be found first
        {f"scripts/plot{i}.py": USES for i in range(3)},  # the library is a small part of the project
    ],
)
def test_they_have_their_own_where_they_might_see_it(change: dict[str, str]) -> None:
    sources = {**QUIET, **change}
    assert homes(sources)["scripts/plot.py"] == ("scripts", PLAIN)


def test_a_package_of_a_common_name_might_not_be_found_first() -> None:
    sources = {path.replace("nmt", "utils"): text.replace("nmt", "utils") for path, text in QUIET.items()}
    assert homes(sources)["scripts/plot.py"] == ("scripts", PLAIN)
    known = {**sources, "plot.py": sources["scripts/plot.py"]}
    del known["scripts/plot.py"]
    assert homes(known)["plot.py"] == ("utils", "from utils import chainer_compat as compat")


def test_a_script_that_a_test_imports_from_above_finds_the_helpers_there_too(tmp_path: Path) -> None:
    """It was taken to know its own folder everywhere, as where it is started, and the test to know it through it."""
    pool = f"{USES}\nif __name__ == '__main__':\n    print(f)\n"
    sources = {
        "src/__init__.py": "",
        "src/pool.py": pool,
        "src/net.py": f"from pool import f\n{USES}",
        "src/train.py": f"from net import f\n{USES}\nif __name__ == '__main__':\n    print(f)\n",
        "tests/__init__.py": "",
        "tests/test_pool.py": f"import sys\nsys.path.append('.')\nfrom src.pool import f\n{USES}",
    }
    written(sources, tmp_path)
    for folder, argv in (("src", ["train.py"]), ("", ["src/train.py"]), ("", ["-m", "tests.test_pool"])):
        subprocess.run([sys.executable, *argv], cwd=tmp_path / folder, check=True, env={})


def test_scripts_in_no_package_are_no_root_of_imports(tmp_path: Path) -> None:
    """Files beside no ``__init__.py`` that import a library further down were taken for files of the first folder."""
    sources = {
        "net.py": USES,
        "examples/parts/__init__.py": "",
        "examples/parts/layers.py": USES,
        "examples/run/train.py": "import sys\nsys.path.append('..')\nimport parts.layers\n" + USES,
        "examples/run/plot.py": "import parts.layers\n" + USES,
    }
    written(sources, tmp_path)
    for folder, module in ((".", "net"), ("examples", "parts.layers"), ("examples/run", "train")):
        subprocess.run([sys.executable, "-c", f"import {module}"], cwd=tmp_path / folder, check=True, env={})


def test_a_library_that_imports_another_takes_the_helpers_of_that_one() -> None:
    """Each had a copy, with a train flag of its own: what the lower one asked for was not what the other had set."""
    busy = "\nNAMES = list('ab')\nNAMES.append('c')\n"  # something happens when they are imported
    sources = {
        "low/__init__.py": USES + busy,
        "high/__init__.py": "from low import f as g\n" + USES + busy,
        "tests/one/test_high.py": "import high\n" + USES,
        "tests/two/test_more.py": "import high\n" + USES,
        "tests/three/test_low.py": "import low\n",
    }
    assert {root for root, _ in homes(sources).values()} == {"low"}
