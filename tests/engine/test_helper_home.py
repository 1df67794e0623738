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
    assert homes(sources) == {
        **dict.fromkeys(sources.keys() - {"tools/plot.py"}, ("", PLAIN)),
        "tools/plot.py": ("tools", PLAIN),
    }


def test_packages_that_do_not_need_each_other_stay_apart() -> None:
    other = {"other/__init__.py": "", "other/net.py": USES}
    users = {"tests/test_a.py": "import lib\n", "tests/test_b.py": "import other\n", "apps/a.py": "import lib\n"}
    found = homes({**LIBRARY, **other, **users})
    assert found["other/net.py"] == ("other", IN_LIBRARY.replace("lib", "other"))
    assert found["lib/net.py"] == ("lib", IN_LIBRARY)


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


def test_a_file_that_changes_its_path_has_its_own() -> None:
    """At the place of its import the library may not be found yet."""
    sources = {**LIBRARY, "scripts/show.py": USES + "import sys\nsys.path.append('..')\nimport lib\n"}
    assert homes(sources) == {"lib/net.py": ("", PLAIN), "scripts/show.py": ("scripts", PLAIN)}


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


def test_a_script_that_uses_chainer_before_it_knows_the_folder_has_its_own() -> None:
    early = "import sys\nimport chainer.functions as F\nprint(F.accuracy)\nsys.path.append('..')\nimport net\n"
    assert homes({"net.py": USES, "run/train.py": early})["run/train.py"] == ("run", PLAIN)


def test_a_module_that_others_import_without_the_folder_has_its_own(tmp_path: Path) -> None:
    sources = {**SCRIPTS, "run/alone.py": "import part\n"}
    assert homes(sources)["run/part.py"] == ("run", PLAIN)
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
