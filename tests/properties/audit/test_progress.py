"""What an audit says while it runs."""

from __future__ import annotations

from attention_core.audit.progress import Lines, Pace


def test_lines_say_each_stage_and_the_time_that_is_left() -> None:
    seconds, lines = [0.0], list[str]()
    tell = Lines(lines.append, lambda: seconds[0]).tell
    tell("the suite as it is", 0, 0)
    seconds[0] = 100.0  # what came before says nothing of the faults
    tell("up to 40 of 512 faults", 0, 40)
    for done in range(1, 41):
        seconds[0] += 6.0
        tell("faults that count", done, 40)
    assert lines[:3] == [
        "the suite as it is", "up to 40 of 512 faults", "faults that count: 4 of 40, about 4 minutes left",
    ]  # fmt: skip
    assert lines[-1] == "faults that count: 39 of 40, about 6 seconds left"
    assert len(lines) == 10


def test_another_stage_has_a_pace_of_its_own() -> None:
    seconds = [0.0]
    pace = Pace(lambda: seconds[0])
    pace.describe(0, 8)
    seconds[0] = 40.0
    assert pace.describe(4, 8) == "about 40 seconds left"
    assert pace.describe(1, 5) == ""
    seconds[0] = 44.0
    assert pace.describe(4, 5) == "about 1 seconds left"
