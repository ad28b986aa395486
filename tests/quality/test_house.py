"""House rules of the source that ruff does not know."""

from __future__ import annotations

import ast
import re
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
