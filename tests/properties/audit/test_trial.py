"""A fate is written into the log, and comes back from it."""

from __future__ import annotations

from attention_core.audit.trial import restore


def test_a_fate_comes_back_from_the_log() -> None:
    fate = restore({"name": "a", "about": "", "subject": "s", "source": ["x/y#1"], "caught_by": ["a"], "other": 3})
    assert fate.source == ("x/y#1",) and fate.caught_by == ("a",) and fate.is_real
