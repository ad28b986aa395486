"""A test set that is read once.

finetune.classification.sealed_test_set: the test set is measured once, for one choice; the ledger remembers it for every process.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from finetune.classification.sealed_test_set import SealedTest
from finetune.data.examples import Examples
from finetune.errors import BadInput

DATA = Examples(["good", "bad"], None, [1, 0], ("n", "y"), ["f, line 1", "f, line 2"])


def test_it_is_measured_once_and_remembered(tmp_path: Path) -> None:
    asked: list[Examples] = []

    def measure(examples: Examples) -> dict[str, Any]:
        asked.append(examples)
        return {"accuracy": 0.5, "rows": (1, 2)}

    first = SealedTest(DATA, tmp_path / "l").read({"lr": 0.1, "sizes": (1, 2)}, measure)
    again = SealedTest(DATA, tmp_path / "l").read({"lr": 0.1, "sizes": (1, 2)}, measure)
    assert first == again == {"accuracy": 0.5, "rows": [1, 2]}
    assert asked == [DATA] and len(SealedTest(DATA, tmp_path / "l")) == 2


def test_another_choice_or_other_data_are_refused(tmp_path: Path) -> None:
    SealedTest(DATA, tmp_path / "l").read({"lr": 0.1}, lambda _: {"accuracy": 0.5})
    with pytest.raises(BadInput, match="would be a choice on test"):
        SealedTest(DATA, tmp_path / "l").read({"lr": 0.2}, lambda _: {"accuracy": 0.6})
    with pytest.raises(BadInput, match="would be a choice on test"):
        SealedTest(replace(DATA, labels=[0, 0]), tmp_path / "l").read({"lr": 0.1}, lambda _: {"accuracy": 0.6})


def test_the_examples_are_not_to_be_had_by_name(tmp_path: Path) -> None:
    sealed = SealedTest(DATA, tmp_path / "l")
    assert not any(value is DATA for name, value in vars(sealed).items() if not name.startswith("_SealedTest__"))


def test_a_failed_measurement_leaves_no_ledger(tmp_path: Path) -> None:
    def fails(_: Examples) -> dict[str, Any]:
        raise BadInput("no memory")

    with pytest.raises(BadInput, match="no memory"):
        SealedTest(DATA, tmp_path / "l").read({}, fails)
    assert not (tmp_path / "l").exists()


@pytest.mark.parametrize(
    ("text", "words"), [("{", "is not valid JSON"), ("[]", "not the ledger"), ('{"choice": 1}', "not the ledger")]
)
def test_a_damaged_ledger_is_told(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "l").write_text(text)
    with pytest.raises(BadInput, match=words):
        SealedTest(DATA, tmp_path / "l").read({}, lambda _: {})
