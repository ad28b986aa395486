"""What a change can reach: the closure of imports, and whatever cannot be ruled out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_core.changes import Changes, changes_since, reach_of, why_judge
from attention_core.declaration.implementation import TargetError


def write(root: Path, name: str, text: str = "") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path.resolve()


def why(root: Path, origin: str, *names: str) -> str:
    return why_judge(origin, Changes(root.resolve(), frozenset((root / name).resolve() for name in names), "main"))


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "src/pack/__init__.py")
    write(tmp_path, "src/pack/kernel.py", "from . import scale\nfrom .deep.core import f\nimport torch\n")
    write(tmp_path, "src/pack/scale.py", "def late():\n    import pack.other\n")
    write(tmp_path, "src/pack/other.py")
    write(tmp_path, "src/pack/unused.py")
    write(tmp_path, "src/pack/deep/__init__.py")
    write(tmp_path, "src/pack/deep/core.py", "from ..table import TABLE as T\n")
    write(tmp_path, "src/pack/table.py")
    return tmp_path


@pytest.mark.parametrize(
    "name", ["kernel.py", "__init__.py", "scale.py", "other.py", "deep/core.py", "deep/__init__.py", "table.py"]
)
def test_what_is_imported_is_reached(package: Path, name: str) -> None:
    for origin in ("pack.kernel:f", str(package / "src/pack/kernel.py:f")):
        assert why(package, origin, f"src/pack/{name}", "src/pack/unused.py") == f"src/pack/{name} has changed"
        assert why(package, origin, "src/pack/unused.py", "docs/a.md") == ""


@pytest.mark.parametrize("name", ["pyproject.toml", "requirements-dev.txt", "poetry.lock", "tests/conftest.py"])
def test_what_says_what_is_installed_reaches_everything(package: Path, name: str) -> None:
    assert (
        why(package, "pack.kernel:f", name) == why(package, "torch.nn.functional:relu", name) == f"{name} has changed"
    )


def test_what_is_installed_elsewhere_is_not_reached_by_a_source(package: Path) -> None:
    assert why(package, "torch.nn.functional:relu", "src/pack/kernel.py") == ""


def test_an_extension_beside_the_source_is_reached(package: Path) -> None:
    assert why(package, "pack.kernel:f", "src/pack/kernel.cu") == "src/pack/kernel.cu has changed"
    assert why(package, "pack.kernel:f", "src/pack/deep/csrc/a.cpp") == "src/pack/deep/csrc/a.cpp has changed"
    assert why(package, "pack.kernel:f", "other/a.cu") == why(package, "pack.kernel:f", "src/pack/found.json") == ""


@pytest.mark.parametrize(
    "text, words",
    [("import importlib\nimportlib.import_module(input())\n", "calls import_module (line 2)"),
     ("def f(:\n", "cannot be read as Python"), ("X = open('a.json').read()\n", "calls open (line 1)")],
)  # fmt: skip
def test_what_cannot_be_ruled_out_is_judged(package: Path, text: str, words: str) -> None:
    write(package, "src/pack/other.py", text)
    assert words in why(package, "pack.kernel:f", "src/pack/unused.py")
    assert why(package, "pack.kernel:f", "docs/a.md") == "" and why(package, "pack.kernel:f") == ""


def test_a_module_that_is_gone_is_reached(package: Path) -> None:
    (package / "src/pack/other.py").unlink()
    assert why(package, "pack.kernel:f", "src/pack/other.py") == "src/pack/other.py has changed"
    (package / "src/pack/kernel.py").unlink()
    assert why(package, "pack.kernel:f", "src/pack/kernel.py") == "src/pack/kernel.py has changed"


def test_a_link_reaches_where_it_leads(package: Path) -> None:
    (package / "src/pack/other.py").unlink()
    (package / "src/pack/other.py").symlink_to("unused.py")
    assert why(package, "pack.kernel:f", "src/pack/unused.py") == "src/pack/unused.py has changed"


def test_a_package_in_the_place_of_a_module_is_reached(package: Path) -> None:
    write(package, "src/pack/other/__init__.py")
    assert why(package, "pack.kernel:f", "src/pack/other/__init__.py") == "src/pack/other/__init__.py has changed"


def test_an_import_circle_ends(tmp_path: Path) -> None:
    first = write(tmp_path, "a.py", "import b\n")
    second = write(tmp_path, "b.py", "import a\n")
    assert reach_of(first, tmp_path.resolve()).files == {first, second}


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=14))
def test_the_reach_is_the_closure_of_imports(
    tmp_path_factory: pytest.TempPathFactory, edges: set[tuple[int, int]]
) -> None:
    root = tmp_path_factory.mktemp("graph").resolve()
    for k in range(7):
        write(root, f"m{k}.py", "".join(f"import m{j}\n" for i, j in sorted(edges) if i == k))
    closure = {0}
    for _ in range(7):
        closure |= {j for i, j in edges if i in closure}
    assert {int(path.stem[1:]) for path in reach_of(root / "m0.py", root).files} == closure


def git(folder: Path, *words: str) -> None:
    own = ("-c", "user.email=a@example.org", "-c", "user.name=n", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *own, *words], check=True, capture_output=True)


def test_changed_new_and_lost_files_are_found(tmp_path: Path) -> None:
    for name in ("kept.py", "changed.py", "lost.py", "a name.py"):
        write(tmp_path, name, "x = 1\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "first")
    write(tmp_path, "changed.py", "x = 2\n")
    write(tmp_path, "a name.py", "x = 2\n")
    write(tmp_path, "sub/new.py")
    (tmp_path / "lost.py").unlink()
    found = changes_since("HEAD", tmp_path)
    assert {path.name for path in found.files} == {"changed.py", "lost.py", "a name.py", "new.py"}
    for revision in ("nothing", "--help", ""):
        with pytest.raises(TargetError, match="--changed-since"):
            changes_since(revision, tmp_path)


def test_a_folder_outside_of_a_repository_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="git says of") as caught:
        changes_since("HEAD", tmp_path)
    assert "\n" not in str(caught.value)
