"""Lists of known failures.

The list of known failures: what it may say, and every mistake in it told with its place.
How a session keeps the list strict is in conformance/engine/test_check.py.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from attention_core.declaration.implementation import TargetError
from attention_core.declaration.known_failures import KnownFailure, as_known_failure, load_known_failures

ENTRY = '[[known_failure]]\ntarget = "a:f"\nlaw = "agrees_with_truth"\nreason = "see there"\n'


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "known.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_entries_are_kept_by_target_and_law(tmp_path: Path) -> None:
    text = ENTRY + ENTRY.replace("agrees_with_truth", "other") + ENTRY.replace("a:f", "b.py:g")
    assert load_known_failures(written(tmp_path, text)) == {
        "a:f": {"agrees_with_truth": KnownFailure("see there"), "other": KnownFailure("see there")},
        "b.py:g": {"agrees_with_truth": KnownFailure("see there")},
    }


def test_an_empty_list_is_a_list(tmp_path: Path) -> None:
    assert load_known_failures(written(tmp_path, "")) == {}


def test_a_case_is_found_beside_the_list(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "one.json").write_text(json.dumps({"case": {"dtype": "float32"}, "law": "x"}))
    found = load_known_failures(str(written(tmp_path, ENTRY + 'case = "cases/one.json"\n')))
    assert found["a:f"]["agrees_with_truth"].case == {"dtype": "float32"}


WRONG = [
    ("x = ", "known.toml is not valid TOML"),
    (b"\xff\xfe", "known.toml is not valid TOML"),
    ("x = " + "[" * 200_000, "known.toml is not valid TOML"),
    ('[[known_failure]]\ntarget = "a:f"\n', "entry 1 lacks law, reason"),
    (ENTRY + ENTRY.replace('reason = "see there"', "reason = 3"), "entry 2 lacks reason"),
    (ENTRY.replace("[[known_failure]]", "[known_failure]"), "write every entry under [[known_failure]]"),
    (ENTRY.replace("known_failure", "known_failures"), "write every entry under [[known_failure]]"),
    ("known_failure = 3", "write every entry under [[known_failure]]"),
    ("known_failure = [3]", "write every entry under [[known_failure]]"),
    (ENTRY + 'cases = "one.json"\n', "entry 1: 'cases' is not understood"),
    (ENTRY + "case = 3\n", "entry 1: 'case' is not understood"),
    (ENTRY + 'case = "none.json"\n', "none.json cannot be read"),
    (ENTRY + 'case = "known.toml"\n', "known.toml is not a saved case"),
    (ENTRY + 'case = "list.json"\n', "list.json is not a saved case"),
    (ENTRY + 'case = "empty.json"\n', "empty.json is not a saved case"),
]


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_mistakes_are_told_with_their_place(tmp_path: Path, text: str | bytes, words: str) -> None:
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "empty.json").write_text("{}")
    with pytest.raises(TargetError, match=re.escape(words)) as caught:
        load_known_failures(written(tmp_path, text))
    assert str(caught.value).startswith("known failures: ")


@pytest.mark.parametrize("name", ["none.toml", "."])
def test_a_list_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(TargetError, match="cannot be read"):
        load_known_failures(tmp_path / name)


def test_a_reason_alone_is_a_known_failure() -> None:
    assert as_known_failure("why") == KnownFailure("why")
    assert as_known_failure(KnownFailure("why", {})) == KnownFailure("why", {})
