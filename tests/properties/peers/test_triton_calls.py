"""attention_core.peers.triton_calls: one file of a package, without the packages around it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from attention_core.peers.triton_calls import load_alone


def test_what_the_file_imports_stays_and_stand_ins_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton, imported first by such a file, was forgotten with the stand-ins, and cannot be imported twice."""
    package = tmp_path / "some_server"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "one.py").write_text("import imported_once, heavy.part\nmet = imported_once, heavy.part\n")
    (tmp_path / "imported_once.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "heavy.part", known := SimpleNamespace())
    stand_in = SimpleNamespace()
    module = load_alone.__wrapped__("some_server", "one.py", heavy=SimpleNamespace(part=stand_in), heavy__part=stand_in)
    assert module.met == (sys.modules.pop("imported_once"), stand_in)
    assert "heavy" not in sys.modules and sys.modules["heavy.part"] is known
    sys.modules.pop("some_server", None)
