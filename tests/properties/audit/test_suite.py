"""How a run of the suite is told, and that pytest is called so that nothing stays in the tree."""

from __future__ import annotations

from attention_core.audit.suite import SuiteRun, pytest_arguments, suite_environment


def told(*messages: tuple[str, str, str]) -> SuiteRun:
    run = SuiteRun()
    for name, when, outcome in messages:
        run.note({"test": name, "when": when, "outcome": outcome, "words": "why"})
    return run


def test_a_failure_outside_the_test_is_an_error() -> None:
    run = told(("a", "setup", "passed"), ("a", "call", "passed"), ("a", "teardown", "failed"), ("b", "setup", "failed"))
    assert run.outcomes == {"a": "error", "b": "error"} and run.bad == ["a", "b"] and run.words["a"] == "why"


def test_a_failure_stays_the_outcome() -> None:
    run = told(
        ("a", "setup", "passed"), ("a", "call", "failed"), ("a", "teardown", "passed"), ("c", "collect", "failed")
    )
    assert run.outcomes == {"a": "failed", "c": "error"}


def test_skipped_and_expected_failures_are_no_failures() -> None:
    run = told(("a", "setup", "skipped"), ("b", "call", "xskipped"), ("c", "setup", "passed"), ("c", "call", "passed"))
    assert run.bad == [] and run.passes == ["c"]


def test_pytest_keeps_nothing_in_the_tree() -> None:
    found = pytest_arguments(["tests"], ["-k", "x"], "/tmp/f", first=True)
    assert found[-3:] == ("-k", "x", "tests") and "cache_dir=/tmp/f" in found and "-x" in found
    environment = suite_environment("/tmp/f")
    assert environment["PYTHONDONTWRITEBYTECODE"] == "1" and environment["HYPOTHESIS_STORAGE_DIRECTORY"] == "/tmp/f"
