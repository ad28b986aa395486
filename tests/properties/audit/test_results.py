"""Scores, intervals, verdicts and JSON of audits."""

from __future__ import annotations

import json

from attention_core.audit.results import Audit, Fate, as_test, fewest_tests, wilson


def fates(**numbers: int) -> list[Fate]:
    return [Fate(f"{status}.{i}", "wrong", "tiles", status=status) for status, n in numbers.items() for i in range(n)]


def test_wilsons_interval_is_the_published_one() -> None:
    """R. G. Newcombe, Statist. Med. 17 (1998), table I: 81 of 263, and 0 of 20."""
    assert [round(end, 4) for end in wilson(81, 263)] == [0.2553, 0.3662]
    assert [round(end, 4) for end in wilson(0, 20)] == [0.0, 0.1611]
    assert [round(end, 4) for end in wilson(20, 20)] == [0.8389, 1.0]


def test_what_is_left_out_does_not_count_and_a_hang_is_seen() -> None:
    audit = Audit("m:f", ("tests",), fates=fates(killed=3, hung=1, died=1, survived=5, left_out=7), floor=0.5)
    assert (audit.score, audit.verdict, audit.exit_status) == (0.5, "passes", 0)
    assert audit.subjects() == [("tiles", 5, 10)]
    audit.floor = 0.6
    assert (audit.verdict, audit.exit_status) == ("survivors", 1)


def test_nothing_judged_is_2() -> None:
    assert Audit("m:f", ("tests",), fates=fates(left_out=3)).exit_status == 2
    assert Audit("m:f", ("tests",), fates=fates(killed=3), problem="no").exit_status == 2


def test_survivors_are_ranked_and_json_has_their_names() -> None:
    own, real = Fate("b.own", "", "b", status="survived", confirmed=True), Fate("a.not", "", "a", status="survived")
    thread = Fate("c.real", "", "c", ("a/b#1",), "survived", confirmed=True, caught_by=("b.own", "c.real"))
    audit = Audit("m:f", ("tests",), fates=[real, own, thread])
    found = json.loads(audit.to_json())
    assert found["survivors"] == ["c.real", "b.own", "a.not"]
    assert found["few"] == ["b.own"] and found["schema_version"] == 1
    assert {"score", "interval", "counted", "killed", "survived", "left_out", "faults", "verdict"} <= found.keys()


def test_a_snippet_becomes_a_function_that_fails_where_it_failed() -> None:
    snippet = "# why\nfrom math import inf\nimport math\nx = math.sqrt(4)\nprint('got', x)\nassert x == inf, 'x'\n"
    text = as_test(snippet, "test_one")
    assert "print" not in text
    names: dict[str, object] = {}
    exec(text, names)
    try:
        names["test_one"]()  # type: ignore[operator]
    except AssertionError as error:
        assert "x" in str(error)
    else:
        raise AssertionError("the test passed")


def test_few_tests_catch_what_all_catch() -> None:
    caught = {"a": ["1", "2"], "b": ["2", "3", "4"], "c": ["1"], "d": ["4"]}
    chosen = fewest_tests(caught)
    assert {fault for test in chosen for fault in caught[test]} == {"1", "2", "3", "4"} and len(chosen) == 2
