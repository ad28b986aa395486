"""House rules of the source that ruff does not know."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("attention_core", "finetune", "tests", "benchmarks", "experiments", "derivations")


def test_the_docstring_is_a_modules_only_header() -> None:
    """Comments above the docstring say the same again, and nothing shows them: not `help`, not the documentation."""
    modules = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(modules) > 100
    headed = [path for path in modules if path.read_text(encoding="utf-8").startswith(("# ", "#\n"))]
    assert not headed, f"comments above the docstring: {[str(path.relative_to(ROOT)) for path in headed]}"


def test_what_is_imported_for_types_stands_in_one_block() -> None:
    """Files that became one have one head."""
    modules = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    twice = [path for path in modules if path.read_text(encoding="utf-8").count("\nif TYPE_CHECKING:\n") > 1]
    assert not twice, f"a second head of imports: {[str(path.relative_to(ROOT)) for path in twice]}"


PROGRAMS = ("attention_core/kernels/triton/paged_programs.py", "attention_core/kernels/triton/flash_programs.py")
"""Programs in Triton's language: one function each, since it has no calls of parts that share so many names."""


def test_functions_are_short() -> None:
    """Forty lines without the docstring; a function inside another counts with it."""
    long = []
    for path in (path for folder in FOLDERS[:2] for path in sorted((ROOT / folder).rglob("*.py"))):
        if str(path.relative_to(ROOT)) in PROGRAMS:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and lines_of(node) > 40:
                long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {lines_of(node)} lines")
    assert not long, "more than 40 lines, without the docstring:\n" + "\n".join(long)


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function without those of its docstring."""
    text, first = ast.get_docstring(function, clean=False), function.body[0]
    documented = 0 if text is None else (first.end_lineno or 0) - first.lineno + 1
    return (function.end_lineno or 0) - function.lineno + 1 - documented


def test_modules_are_not_long() -> None:
    """600 lines: what is longer holds two concepts."""
    modules = [path for folder in FOLDERS[:2] for path in (ROOT / folder).rglob("*.py")]
    long = [str(path.relative_to(ROOT)) for path in modules if path.read_text(encoding="utf-8").count("\n") > 600]
    assert not long


def unknown_modules(package: str, text: str) -> list[str]:
    """Return the names in backticks of a package's docstring that look like modules of it and are not."""
    folder = ROOT / package
    names = re.findall(r"`([a-z_]+(?:\.[a-z_]+)*)`", text)
    return [
        name for name in names
        if not any((ROOT / name.replace(".", "/")).with_suffix(end).exists() for end in ("", ".py"))
        and not any((folder / name.replace(".", "/")).with_suffix(end).exists() for end in ("", ".py"))
    ]  # fmt: skip


@pytest.mark.parametrize("package", ["attention_core/bench", "finetune"])
def test_the_docstring_of_a_package_names_modules_that_exist(package: str) -> None:
    """Where the rooms are described in words, the words move with the files."""
    text = ast.get_docstring(ast.parse((ROOT / package / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert unknown_modules(package, text) == []
    assert unknown_modules(package, "`cli` and `train_config`, `data.no_words`") == ["train_config", "data.no_words"]


TOP = frozenset({
    ".ci", ".github", ".gitignore", ".pre-commit-hooks.yaml", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md",
    "GLOSSARY.md", "LICENSE", "README.md", "SECURITY.md", "action.yml", "attention_core", "benchmarks", "changelog.d",
    "constraints-lowest.txt", "constraints.txt", "course", "derivations", "docs", "experiments", "finetune",
    "pyproject.toml", "templates", "tests", "tox.ini",
})  # fmt: skip
"""What belongs at the top level of the repository."""


def list_top(root: Path) -> set[str]:
    """Return the names at the top level that git tracks or does not ignore; all of them where git keeps nothing."""
    if not (root / ".git").exists():
        return {path.name for path in root.iterdir()}
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    paths = [path for path in listed.split("\0") if path and (root / path).exists()]
    return {path.split("/")[0] for path in paths}


def test_no_stray_files_lie_at_the_top_level() -> None:
    """What a command leaves where it was run is committed by accident, and what a reader sees first grows."""
    names = list_top(ROOT)
    packed = {"PKG-INFO", "setup.cfg", "attention_core.egg-info"} if "PKG-INFO" in names else set()  # a source archive
    assert names <= TOP | packed, f"move them, delete them, or add them to TOP: {sorted(names - TOP - packed)}"


def test_every_name_of_the_top_level_is_there() -> None:
    missing = {name for name in TOP if not name.startswith(".") and not (ROOT / name).exists()}
    assert not missing, f"take them out of TOP: {sorted(missing)}"


def test_a_stray_file_is_found(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("*.log\n")
    for name in ("report.json", "run.log"):
        (tmp_path / name).write_text("")
    (tmp_path / "empty").mkdir()
    assert list_top(tmp_path) == {".gitignore", "report.json"}
