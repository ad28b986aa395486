"""The process of one revision: where it looks for modules, and what it notices of those from elsewhere."""

from __future__ import annotations

import os
import sys
import time
from itertools import count
from pathlib import Path
from types import ModuleType

import pytest

from attention_core.bench.worker import turns
from attention_core.bench.worker.turns import enter, find_stray, keeps_its_core, move_paths


@pytest.fixture
def place(tmp_path: Path) -> dict[str, str]:
    for folder in ("root/lib", "root/.venv/site-packages", "checkout/lib", "checkout/src"):
        (tmp_path / folder).mkdir(parents=True)
    root, checkout = (tmp_path.resolve() / name for name in ("root", "checkout"))
    return {"root": str(root), "checkout": str(checkout), "folder": str(checkout / "lib")}


def test_folders_of_the_repository_become_those_of_the_checkout(place: dict[str, str]) -> None:
    root, checkout = Path(place["root"]), Path(place["checkout"])
    venv = str(root / ".venv" / "site-packages")
    paths = ["", str(root), str(root / "lib"), venv, "/usr/lib/python3"]
    assert move_paths(paths, root, checkout) == ["", str(checkout), str(checkout / "lib"), venv, "/usr/lib/python3"]
    assert move_paths(paths, root, root) == paths


def test_a_process_enters_its_revision(place: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [place["root"], "/usr/lib/python3"])
    monkeypatch.setattr(os, "environ", {"PYTHONPATH": place["root"]})
    monkeypatch.chdir(place["root"])
    enter({**place, "variables": {"TRITON_CACHE_DIR": "t"}})
    assert str(Path.cwd()) == place["folder"]
    assert sys.path == [f"{place['checkout']}/src", place["checkout"], "/usr/lib/python3"]
    assert os.environ["PYTHONPATH"] == place["checkout"] and os.environ["TRITON_CACHE_DIR"] == "t"


@pytest.mark.parametrize(
    ("file", "target", "words"),
    [
        ("checkout/lib/m.py", "stray_m:f", ""),
        ("checkout/lib/m.py", "f.py:f", ""),
        ("root/.venv/site-packages/m.py", "f.py:f", ""),  # of the environment, not of the repository
        ("root/.venv/site-packages/m.py", "stray_m:f", "an installed copy hides it"),
        ("root/lib/m.py", "f.py:f", "it imports stray_m from"),
        ("root/lib/m.so", "stray_m:f@layout=bnhd", "is not of this revision"),
    ],
)
def test_modules_from_elsewhere_are_noticed(
    place: dict[str, str], monkeypatch: pytest.MonkeyPatch, file: str, target: str, words: str
) -> None:
    module = ModuleType("stray_m")
    module.__file__ = str(Path(place["root"]).parent / file)
    monkeypatch.setitem(sys.modules, "stray_m", module)
    found = find_stray(place, target)
    assert words in found and bool(found) == bool(words)


def test_what_sleeps_does_not_keep_its_core() -> None:
    assert not keeps_its_core(lambda: time.sleep(1e-4))


def test_what_computes_on_other_threads_does_not_keep_its_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seconds of processor time in one by the clock."""
    computed, now = count(0.0, 2.0), count(0.0, 1.0)
    monkeypatch.setattr(turns.time, "process_time", lambda: next(computed))
    monkeypatch.setattr(turns, "NOW", lambda: next(now))
    monkeypatch.setattr(turns, "count_waits", lambda: 0)
    assert not keeps_its_core(lambda: None)
    monkeypatch.setattr(turns.time, "process_time", lambda: 0.0)
    assert keeps_its_core(lambda: None)
