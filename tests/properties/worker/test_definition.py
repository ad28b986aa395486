"""A target's definition is found without importing anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from attention_core.worker.definition import find_definition

SOURCE = """\
raise RuntimeError("never imported")
import functools
from elsewhere import kernel as theirs


def attention(q): ...


class Model:
    scale = 1

    def forward(self): ...


if True:
    def attention(q): ...

try:
    pair = one, two = 1, 2
except ImportError:
    fallback: int = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("raise RuntimeError\n")
    (tmp_path / "package" / "inner.py").write_text(SOURCE)
    (tmp_path / "bad.py").write_text("def (:\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


PLACES = [
    ("attention", 16),  # the last definition counts
    ("theirs", 3),
    ("Model", 9),
    ("Model.forward", 12),
    ("Model.scale", 10),
    ("Model.inherited", 9),
    ("two", 19),
    ("fallback", 21),
    ("attention,Model", 16),
    ("absent", 1),
]


@pytest.mark.parametrize("where", ["package/inner.py", "package.inner"])
@pytest.mark.parametrize(("name", "line"), PLACES)
def test_the_line_is_that_of_the_name(folder: Path, where: str, name: str, line: int) -> None:
    found = find_definition(f"{where}:{name}")
    assert found is not None
    assert (found.path, found.line, found.is_below) == ("package/inner.py", line, True)


@pytest.mark.parametrize(
    "target",
    ["bad.py:f", "none.py:f", "package.none:f", "nowhere.inner:f", "math:sqrt", "torch:flash:x", "", ":", ".:f"],
)
def test_what_cannot_be_found_has_no_place(folder: Path, target: str) -> None:
    assert find_definition(target) is None


def test_a_file_elsewhere_has_an_absolute_path(folder: Path) -> None:
    found = find_definition("attention_core.worker.definition:find_definition")
    assert found is not None
    assert not found.is_below
