"""Libraries are quiet within, and only those that nobody has imported before; the environment is as it was afterwards."""

from __future__ import annotations

import os

import pytest

from finetune.models.quiet import quiet_libraries


def test_the_environment_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRANSFORMERS_VERBOSITY", raising=False)
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "0")
    before = dict(os.environ)
    with pytest.raises(ValueError, match="x"), quiet_libraries():
        assert os.environ["TRANSFORMERS_VERBOSITY"] == "error"
        assert os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] == "0", "what a user set stays"
        raise ValueError("x")
    assert dict(os.environ) == before
