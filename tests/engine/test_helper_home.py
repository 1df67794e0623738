"""Where the module of helpers lies: once for a library with its tests and examples."""

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
