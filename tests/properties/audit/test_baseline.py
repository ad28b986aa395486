"""What stands against an audit before any fault is said in one line, with the way out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from attention_core.audit.baseline import (
    about_calls,
    require_calls,
    require_same,
    require_success,
    single_form,
    too_strict,
)
from attention_core.audit.suite import SuiteRun
from attention_core.audit.trial import Request
from attention_core.declaration.implementation import TargetError

REQUEST = Request("m:f", ("tests",))


def run(status: int = 0, calls: dict[str, int] | None = None, called_by: Any = (), **outcomes: str) -> SuiteRun:
    end = {"imported": True}
    return SuiteRun(outcomes, {"a": "E  assert 1 == 2"}, status, calls=calls or {}, called_by=list(called_by), end=end)


def say(call: Any, *arguments: Any) -> str:
    with pytest.raises(TargetError) as error:
        call(*arguments)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_suite_that_fails_as_it_is() -> None:
    assert "fails on the target as it is, in a and 1 more" in say(require_success, run(1, a="failed", b="error"))
    assert "-- --deselect a` (E assert 1 == 2)" in say(require_success, run(1, a="failed"))


def test_a_suite_that_says_nothing() -> None:
    assert "collects no test" in say(require_success, run(5))
    assert "does not understand its arguments" in say(require_success, run(4))
    assert "no test passes" in say(require_success, run(a="skipped"))
    lost = replace(run(1), died="ended with status 1 in collection")  # by an option that it does not know
    assert say(require_success, lost).endswith("in collection; try the same with `python -m pytest` first")
    require_success(run(a="passed", b="skipped", c="xfailed"))


def test_a_suite_that_is_not_the_same_twice() -> None:
    assert "a was passed, then failed: seed it" in say(require_same, run(a="passed"), run(a="failed"))
    assert "b was not there, then passed" in say(require_same, run(a="passed"), run(a="passed", b="passed"))
    require_same(run(a="passed"), run(a="passed"))


def test_a_suite_that_has_nothing_to_do_with_the_target() -> None:
    never = run(a="passed")
    assert "never calls the target, so every fault would pass: 1 tests" in say(require_calls, "m:f", never)
    never.end["imported"] = False
    assert "never import m" in say(require_calls, "m:f", never)
    never.end["lacks"] = "; did you mean 'g'? it has: g"
    assert "m:f has no such function; did you mean 'g'? it has: g" in say(require_calls, "m:f", never)


def test_results_in_two_forms() -> None:
    assert "several forms (array, tuple)" in say(single_form, "m:f", [{"kind": "array"}, {"kind": "tuple"}])
    assert single_form("m:f", [{"kind": "array"}]) == {"kind": "array"}


def test_tests_that_ask_more_than_attention_are_left_out() -> None:
    watched = run(a="passed", b="passed", called_by=("a", "b"))
    right = run(1, {"all": 2, "in place": 2}, a="failed", b="passed")
    assert too_strict(REQUEST, watched, right) == {"a": "E  assert 1 == 2"}
    watched.called_by = ["a"]
    assert "every test that calls m:f fails with another right" in say(too_strict, REQUEST, watched, right)
    watched.called_by = ["b"]
    right.calls = {"all": 2, "passed on: dtype torch.int64": 2}
    assert "passed on: dtype torch.int64" in say(too_strict, REQUEST, watched, right)


def test_calls_that_are_passed_on_are_told() -> None:
    right = run(0, {"all": 5, "in place": 2, "passed on: no dropout_p": 1, "passed on: refused": 2})
    assert about_calls(right) == [
        "3 of 5 calls of the suite go to the function itself: 2 for refused, 1 for no dropout_p"
    ]
    assert about_calls(run(0, {"all": 2, "in place": 2})) == []
