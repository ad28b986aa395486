"""Libraries that take seconds to import, for tests that need them: imported at the first use, not at collection."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

import pytest

ASKED_OF_ALL = {"hypothesis", "is_hypothesis_test", "pytestmark"}
"""What the collection asks every object for; libraries have none of these names."""


class Lazy:
    """A module that is imported when its first attribute is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_") or attribute in ASKED_OF_ALL:
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)


def lazily(name: str) -> Any:
    """A library by its name; without it the test file that asks is skipped."""
    if find_spec(name) is None:
        pytest.skip(f"could not import {name!r}", allow_module_level=True)
    return Lazy(name)
