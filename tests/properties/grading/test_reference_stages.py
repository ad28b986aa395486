"""A task with a reference: the truth comes after the answer, on the inputs of the submission."""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_core.grading.arena import Arena, Field
from attention_core.grading.reference_stages import ReferenceStage, side_fields
from attention_core.grading.truth import ReferenceTruth

FIELDS = [Field("x", "float32", (4,)), Field("out", "float32", (4,), is_output=True)]


class FakePlayer:
    """A process that doubles its input, in float64 where it is asked for what is exact."""

    def __init__(self, fields: list[Field]) -> None:
        self.arena = Arena(fields)
        self.arena.forget()
        self.asked: list[str] = []

    def stop(self) -> None: ...

    def ask(self, do: str, **_: Any) -> dict[str, Any]:
        self.asked.append(do)
        self.arena.view("exact_out")[...] = 2.0 * self.arena.view("x").astype(np.float64)
        self.arena.view("moved_out")[...] = 1e-7
        return {}


class Stage(ReferenceStage):
    def __init__(self) -> None:
        self.secret, self.calls, self.deals, self.fields = "0" * 32, 0, 0, FIELDS
        self.reference: Any = FakePlayer([*FIELDS, *side_fields(FIELDS[1:])])
        self.submission: Any = FakePlayer(FIELDS)
        self.truth = ReferenceTruth({"out": "float32"})

    def draw(self, seed: int) -> None:
        self.reference.arena.write({"x": np.random.default_rng(seed).standard_normal(4).astype("<f4")})


def test_inputs_are_fresh_and_the_truth_is_made_after_the_answer() -> None:
    stage = Stage()
    seen = set()
    for _ in range(3):
        inputs = stage.deal(stage.submission)
        assert np.array_equal(stage.submission.arena.view("x"), inputs["x"])
        assert np.isnan(stage.reference.arena.view("exact_out")).all()
        seen.add(inputs["x"].tobytes())
        stage.deal(stage.reference)  # the reference's own call, on inputs of its own
        asked = len(stage.reference.asked)
        assert not stage.judge(inputs, {"out": 2 * inputs["x"]}).is_wrong
        assert len(stage.reference.asked) == asked + 1
        assert stage.judge(inputs, {"out": 2.01 * inputs["x"]}).is_wrong
    assert len(seen) == 3
