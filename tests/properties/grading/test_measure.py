"""Blocks, and the names of wrong answers, on processes that are none: the clock and the answers are written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from attention_core.grading.arena import Arena, Field
from attention_core.grading.measure import IDLE, LEAST, WARM, ReferenceFailed, Run
from attention_core.grading.rules import Refused
from attention_core.grading.truth import Judged

FIELDS = [Field("query", "float32", (3,)), Field("out", "float32", (3,), is_output=True)]
Answer = Callable[[int, np.ndarray, Arena], dict[str, Any]]


def double(number: int, query: np.ndarray, arena: Arena) -> dict[str, Any]:
    arena.view("out")[...] = 2 * query
    return {}


class FakePlayer:
    """Answers with a function of its inputs, in a time that is given."""

    def __init__(self, answer: Answer, seconds: float) -> None:
        self.answer, self.seconds, self.number = answer, seconds, 0
        self.arena: Any = Arena(FIELDS)
        self.arena.forget()
        self.computed = self.waited = 0.0
        self.again: Answer = answer

    def stop(self) -> None: ...

    def call(self, do: str = "call") -> tuple[float, dict[str, Any]]:
        if do == "nothing":
            return 0.25, {}
        self.number += 1
        self.waited += self.seconds
        self.computed += self.seconds
        return self.seconds + 0.25, self.answer(self.number, np.array(self.arena.view("query")), self.arena)

    def ask(self, do: str, **_: Any) -> dict[str, Any]:
        if do == "rate":
            return {"rate": 100.0}
        return self.again(self.number, np.array(self.arena.view("query")), self.arena)


class FakeStage:
    def __init__(self, answer: Answer = double, seconds: float = 2.0) -> None:
        self.submission: Any = FakePlayer(answer, seconds)
        self.reference: Any = FakePlayer(double, 1.0)
        self.flops, self.threads, self.count, self.order = 0.0, 1, 0, ""

    def deal(self, player: Any) -> Mapping[str, Any]:
        self.count += 1
        self.order += "S" if player is self.submission else "R"
        inputs = {"query": np.arange(3, dtype="<f4") + self.count}
        player.arena.write(inputs)
        return inputs

    def judge(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Judged:
        wrong = not np.array_equal(outputs["out"], 2 * inputs["query"])
        return Judged(2.0 if wrong else 0.5, "out[0] is wrong" if wrong else "", 1.0)


def refusal(answer: Answer, again: Answer | None = None, **more: Any) -> Refused:
    stage = FakeStage(answer, **more)
    stage.submission.again = again or answer
    with pytest.raises(Refused) as found:
        Run(stage, "n=3", 100.0).measure()
    return found.value


def test_times_are_taken_in_turns_and_without_an_empty_call() -> None:
    stage = FakeStage()
    timing = Run(stage, "n=3", 1.0).measure()
    assert (timing.seconds, timing.reference, timing.comparison.ratio) == (2.0, 1.0, 2.0)
    assert (timing.calls, timing.worst, timing.idle) == (WARM + 2 * LEAST, 0.5, 0.25)
    assert stage.order == "R" + "RS" * WARM + "RSSR" * LEAST


def test_every_timed_answer_is_judged() -> None:
    for wrong in range(1, WARM + 2 * LEAST + 1):

        def once(number: int, query: np.ndarray, arena: Arena, wrong: int = wrong) -> dict[str, Any]:
            arena.view("out")[...] = 2 * query + (number == wrong)
            return {}

        found = refusal(once)
        assert found.rule == "wrong_answer" and f"call {wrong}:" in found.message
        assert ("earlier calls were right" in found.message) == (wrong > 1)


def test_names_of_wrong_answers() -> None:
    kept: list[np.ndarray] = []

    def stale(number: int, query: np.ndarray, arena: Arena) -> dict[str, Any]:
        kept.append(2 * query)
        arena.view("out")[...] = kept[min(2, number - 1)]
        return {}

    assert refusal(stale).rule == "stale_answer" and "of call 3" in refusal(stale).message

    def nothing(number: int, query: np.ndarray, arena: Arena) -> dict[str, Any]:
        return {}

    assert refusal(nothing).rule == "nothing_written"
    assert refusal(nothing, again=double).rule == "late_answer"

    def spoils(number: int, query: np.ndarray, arena: Arena) -> dict[str, Any]:
        arena.view("query")[0] = 0.0
        return double(number, query, arena)

    assert refusal(spoils).rule == "writes_inputs"

    def overruns(number: int, query: np.ndarray, arena: Arena) -> dict[str, Any]:
        arena.bytes[arena.start("out") + 12] = 0
        return double(number, query, arena)

    assert refusal(overruns).rule == "writes_outside"


@pytest.mark.parametrize(
    ("answer", "rule"),
    [({"raised": "ValueError: no"}, "raises"), ({"not_a_tensor": "a Future"}, "not_a_tensor"),
     ({"wrong_shape": "out: got (1,)"}, "wrong_shape")],
)  # fmt: skip
def test_what_the_process_says_of_its_answer(answer: dict[str, Any], rule: str) -> None:
    assert refusal(lambda *_: answer).rule == rule


def test_what_no_processor_can_do_is_refused() -> None:
    stage = FakeStage(seconds=0.5)
    stage.flops = 390.0  # 780 a second, and 8 times 100 can be
    assert Run(stage, "n=3", 1.0).measure().seconds == 0.5
    stage = FakeStage(seconds=0.5)
    stage.flops = 410.0
    with pytest.raises(Refused, match="GFLOP/s") as found:
        Run(stage, "n=3", 1.0).measure()
    assert found.value.rule == "too_fast"


def test_a_machine_that_was_busy_at_first_makes_no_submission_too_fast() -> None:
    """Empty calls of 2 s, then of 0.25: calls of 0.75 seemed to take nothing, and a right submission was refused."""
    stage = FakeStage(seconds=0.5)
    stage.flops = 390.0
    real, empty = stage.reference.call, []

    def slow_at_first(do: str = "call") -> tuple[float, dict[str, Any]]:
        seconds, answer = real(do)
        empty.append(do == "nothing")
        return (2.0 if do == "nothing" and sum(empty) <= IDLE else seconds), answer

    stage.reference.call = slow_at_first
    timing = Run(stage, "n=3", 1.0).measure()
    assert (timing.seconds, timing.reference, timing.idle) == (0.5, 1.0, 0.25)


def test_more_processors_than_allowed_are_refused() -> None:
    stage = FakeStage()
    real = stage.submission.call

    def on_two(do: str = "call") -> tuple[float, dict[str, Any]]:
        found: tuple[float, dict[str, Any]] = real(do)
        stage.submission.computed += 2.0
        return found

    stage.submission.call = on_two
    with pytest.raises(Refused) as found:
        Run(stage, "n=3", 1.0).measure()
    assert found.value.rule == "more_processors"


def test_the_machine_is_looked_at_after_every_call() -> None:
    stage, seen = FakeStage(), []
    Run(stage, "n=3", 1.0, watch=lambda: seen.append(stage.submission.number)).measure()
    assert seen == list(range(1, WARM + 2 * LEAST + 1))


def test_a_reference_that_fails_is_not_the_submissions_fault() -> None:
    stage = FakeStage()
    stage.reference.answer = lambda *_: {"raised": "no"}
    with pytest.raises(ReferenceFailed):
        Run(stage, "n=3", 1.0).measure()
