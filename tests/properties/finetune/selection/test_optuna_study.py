"""Trials in a database.

finetune.selection.optuna_study: each combination once among all who ask, broken-off trials again, a database that cannot be used told.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from finetune.errors import BadInput
from finetune.selection.optuna_study import DONE, FAILED, Space, Study, shown_url

GRID = Space(("m",), ("head", "lora"), (0.1, 0.2), (1,), (4,))
SEARCH = Space(("m",), ("head",), (1e-4, 1e-1), (1, 2), (4,), trials=6, is_range=True)


def study(folder: Path, space: Space = GRID, identity: Mapping[str, Any] | None = None) -> Study:
    return Study(folder, None, identity or {"of": 1}, space)


def lock_of(folder: Path) -> Any:
    return lambda params: folder / "locks" / "-".join(str(value) for value in params.values())


def test_every_combination_is_taken_once_by_whoever_asks(tmp_path: Path) -> None:
    workers = [study(tmp_path), study(tmp_path)]
    seen = []
    for turn in range(4):
        taken = workers[turn % 2].take(lock_of(tmp_path))
        assert taken is not None
        seen.append((taken[1]["method"], taken[1]["learning_rate"]))
        assert workers[turn % 2].open() == (3 - turn, turn + 1)
    assert sorted(seen) == [("head", 0.1), ("head", 0.2), ("lora", 0.1), ("lora", 0.2)]
    assert workers[0].take(lock_of(tmp_path)) is None and workers[1].count_remaining() == 0


def test_what_trials_come_to_is_there_for_others(tmp_path: Path) -> None:
    one = study(tmp_path)
    for value in (0.5, None):
        taken = one.take(lock_of(tmp_path))
        assert taken is not None
        with taken[2]:
            if value is None:
                one.record_failure(taken[0], "no memory")
            else:
                one.record_result(taken[0], value, {"parameters": (3, 4)})
    told = [(t["state"], t["value"], t["reason"], t["found"]) for t in study(tmp_path).trials()]
    assert told == [(DONE, 0.5, None, {"parameters": [3, 4]}), (FAILED, None, "no memory", None)]


def test_a_trial_that_was_broken_off_comes_again(tmp_path: Path) -> None:
    """Its lock is free: whoever held it is no more."""
    one = study(tmp_path)
    first, second = one.take(lock_of(tmp_path)), one.take(lock_of(tmp_path))
    assert first is not None and second is not None
    first[2].__exit__(None, None, None)
    other = study(tmp_path)
    taken = [other.take(lock_of(tmp_path)) for _ in range(4)]
    params = [t[1] for t in taken if t is not None]
    assert taken[3] is None and params[-1] == first[1] and second[1] not in params
    assert [t["state"] for t in other.trials()] == ["running"] * 4, "the one that was broken off is no trial any more"


def test_a_search_draws_in_its_ranges_and_goes_on_with_other_draws(tmp_path: Path) -> None:
    rates = []
    for turn in range(6):
        one = study(tmp_path, SEARCH)
        taken = one.take(lock_of(tmp_path))
        assert taken is not None
        rates.append(taken[1]["learning_rate"])
        with taken[2]:
            one.record_result(taken[0], 0.1 * turn, {})
    assert all(1e-4 <= rate <= 1e-1 for rate in rates) and len(set(rates)) == 6
    assert study(tmp_path, SEARCH).take(lock_of(tmp_path)) is None


def test_a_small_space_is_left_to_those_who_try_it(tmp_path: Path) -> None:
    small = Space(("m",), ("head",), (0.1,), (1,), (4,), trials=3)
    one, other = study(tmp_path, small), study(tmp_path, small)
    taken = one.take(lock_of(tmp_path))
    assert taken is not None
    assert other.take(lock_of(tmp_path)) is None, "the only point is being tried"
    assert len(other.trials()) == 1


def test_a_database_of_another_selection_or_none(tmp_path: Path) -> None:
    study(tmp_path)
    with pytest.raises(BadInput, match="holds a selection of other data, settings or values"):
        study(tmp_path, GRID, {"of": 2})
    (tmp_path / "study.db").write_bytes(b"not a database at all, but some text that is long enough")
    with pytest.raises(BadInput, match="cannot be used"):
        study(tmp_path)
    with pytest.raises(BadInput, match="cannot be used"):
        Study(tmp_path, "nonsense://x", {}, GRID)


def test_without_optuna_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(BadInput, match=r"attention-core\[select\]"):
        study(tmp_path)


def test_no_message_shows_the_password_of_a_database(tmp_path: Path) -> None:
    """Of a server that is not there, of a URL that cannot be read, and of a database of another selection."""
    secret = "s3cret/pass"
    for url in (
        f"postgresql+psycopg9://me:{secret}@nowhere/db",
        f"sqlite://me:{secret}@/{tmp_path}/none/x.db",
        f"mysql://me:{secret}@h:port/x",
    ):
        with pytest.raises(BadInput) as told:
            Study(tmp_path, url, {"of": 1}, GRID)
        assert "s3cret" not in str(told.value) and "pass@" not in str(told.value)
        assert told.value.__cause__ is None and told.value.__suppress_context__
    assert shown_url("postgresql://me:pw@host/db") == "postgresql://me:***@host/db"
    assert shown_url("sqlite:///folder/a@b.db") == "sqlite:///folder/a@b.db"
    assert shown_url("mysql://host/db?user=me&password=pw&x=1") == "mysql://host/db?user=me&password=***&x=1"
