"""attention_core.registry.load: a row of the table with what is said of it beside."""

from __future__ import annotations

from attention_core.registry.load import implementation_for


def test_failures_known_on_a_processor_are_none_of_a_gpu() -> None:
    here, there = (implementation_for("torch:flash", fields)[0] for fields in ({}, {"device": "cuda"}))
    assert here.known_failures and not there.known_failures and there.device == "cuda"
    assert implementation_for("torch:flash", {"device": "cpu"})[0].known_failures == here.known_failures
