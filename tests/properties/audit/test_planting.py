"""The target is replaced under every name that it goes by."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attention_core.audit.planting import Planter

FILES = {
    "planted_core.py": "def f():\n    return 'own'\nclass C:\n    def g(self):\n        return f()\n",
    "planted_user.py": "from planted_core import f as h\nTABLE = {'f': h}\nLIST = [h]\ndef close():\n    inner = h\n"
    "    return lambda: inner()\nCLOSED = close()\n",
    "planted_door/__init__.py": "from planted_door.inside import f\n",
    "planted_door/inside.py": "def f():\n    return 'own'\n",
}


def other() -> str:
    return "other"


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    before = list(sys.meta_path)
    yield tmp_path
    sys.meta_path[:] = before
    for name in [name for name in sys.modules if name.startswith("planted_")]:
        del sys.modules[name]


def answers(user: Any) -> list[str]:
    return [user.h(), user.TABLE["f"](), user.LIST[0](), user.CLOSED()]


def test_names_that_are_imported_later(modules: Path) -> None:
    planter = Planter("planted_core:f", lambda original: other)
    planter.install()
    user = importlib.import_module("planted_user")
    assert answers(user) == ["other"] * 4
    assert sys.modules["planted_core"].C().g() == "other"
    assert planter.original() == "own" and planter.path.endswith("planted_core.py")


def test_names_that_were_bound_before(modules: Path) -> None:
    user = importlib.import_module("planted_user")
    assert answers(user) == ["own"] * 4
    Planter("planted_core:f", lambda original: other).install()
    assert answers(user) == ["other"] * 4


def test_a_name_that_a_package_hands_on(modules: Path) -> None:
    Planter("planted_door:f", lambda original: other).install()
    door = importlib.import_module("planted_door")
    assert (door.f(), door.inside.f()) == ("other", "other")


def test_a_file_is_known_by_its_path(modules: Path) -> None:
    Planter(f"{modules / 'planted_core.py'}:f", lambda original: other).install()
    assert importlib.import_module("planted_core").f() == "other"


def test_a_name_that_is_not_there(modules: Path) -> None:
    planter = Planter("planted_core:nothing", lambda original: other)
    planter.install()
    importlib.import_module("planted_core")
    assert planter.lacks == "; it has: f, C" and planter.original is None


def test_nothing_is_found_where_the_planter_is_gone(modules: Path) -> None:
    planter = Planter("planted_core:f", lambda original: other)
    planter.install()
    planter.uninstall()
    assert importlib.import_module("planted_core").f() == "own"
