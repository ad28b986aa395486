"""Every example (`>>>`) of a docstring is run, in the packages and in what builds the site."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
HOUSES = ("attention_core", "finetune")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def modules() -> list[str]:
    """The modules of the packages whose files have an example."""
    files = [path for house in HOUSES for path in sorted((ROOT / house).rglob("*.py"))]
    named = [path.relative_to(ROOT).with_suffix("") for path in files if ">>> " in path.read_text(encoding="utf-8")]
    return [".".join(path.parts).removesuffix(".__init__") for path in named]


MODULES = modules()


def test_there_are_examples() -> None:
    assert len(MODULES) > 20


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert found.attempted > 0, f"{name} has an example that doctest does not find"
    assert found.failed == 0


@pytest.mark.parametrize("file", ["docs/_ext/links.py", "experiments/bench_grid/tables.py"])
def test_examples_of_programs_are_true(file: str) -> None:
    spec = importlib.util.spec_from_file_location(f"examples_of_{Path(file).stem}", ROOT / file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        found = doctest.testmod(module, optionflags=FLAGS)
    assert found.attempted > 0 and found.failed == 0
