"""What Hypothesis draws in these tests depends on the seed alone."""

from __future__ import annotations

from hypothesis.internal.conjecture import providers


def test_no_constants_of_loaded_modules_are_drawn() -> None:
    """Such constants would depend on which tests a process ran before, and on every edit of a module."""
    found = providers._get_local_constants()
    assert not any(found.set_for_type(kind) for kind in ("integer", "float", "bytes", "string"))
