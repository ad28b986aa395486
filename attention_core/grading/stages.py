"""What is timed, by format: the two processes, the fresh inputs of each, and the judge of the submission's answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from attention_core.bench.workloads.workload import Workload
from attention_core.conformance.subjects.axes import LAYOUTS
from attention_core.declaration.implementation import Implementation
from attention_core.declaration.options import fields_from_text
from attention_core.grading.arena import Field
from attention_core.grading.forbidden import mentions_compiler
from attention_core.grading.fresh_inputs import Draw, generator
from attention_core.grading.player import Player
from attention_core.grading.task import Task
from attention_core.grading.truth import AttentionTruth, Judged

Stored = npt.NDArray[Any]
PLAIN = (0, 1, 2, 3)


def attention_fields(
    w: Workload, order: Sequence[int] = PLAIN, out_order: Sequence[int] = PLAIN
) -> list[Field]:  # fmt: skip
    """The arrays of a call of attention, in the order of axes in which they lie."""
    shapes = {
        "query": (w.B, w.H, w.n_q, w.d), "key": (w.B, w.H_kv, w.n_kv, w.d), "value": (w.B, w.H_kv, w.n_kv, w.d_v),
    }  # fmt: skip
    out = (w.B, w.H, w.n_q, w.d_v)
    found = [Field(name, w.dtype, shape, tuple(order)) for name, shape in shapes.items()]
    if w.direction == "bwd":
        found.append(Field("cotangent", w.dtype, out, tuple(out_order)))
    found.append(Field("out", w.dtype, out, is_output=True))
    if w.direction == "bwd":
        found += [Field(f"d_{name}", w.dtype, shape, is_output=True) for name, shape in shapes.items()]
    return found


class AttentionStage:
    """Attention on one workload.

    Args:
        task: of the submission. workload: what is timed. target: path/to/file.py:name, from `place`.
        secret: whence the inputs come.
    """

    def __init__(self, task: Task, workload: Workload, target: str, place: Path, secret: str) -> None:
        self.task, self.workload, self.threads, self.secret = task, workload, task.threads, secret
        self.flops = float(workload.flops)
        implementation = Implementation(None, **fields_from_text(task.fields))
        self.truth = AttentionTruth(workload, implementation.accumulate, implementation.merges)
        self.orders = (LAYOUTS[implementation.layout], LAYOUTS[implementation.out_layout or implementation.layout])
        common = {"kind": "attention", "threads": task.threads}
        self.reference = Player({**common, "forbid": [], "problem": self._problem(task.reference, {})}, task.timeout)
        self.submission = Player(
            {
                **common, "forbid": list(task.forbid), "compiles": mentions_compiler(place.rglob("*.py")),
                "problem": self._problem(target, dict(task.fields)),
            },
            task.timeout, place,
        )  # fmt: skip
        self.draws: dict[int, Draw] = {}
        self.calls = 0

    def _problem(self, target: str, fields: dict[str, Any]) -> dict[str, Any]:
        texts = {k: list(v) if isinstance(v, tuple) else v for k, v in fields.items()}
        return {"target": target, "fields": texts, "workload": self.workload.to_json()}

    def open(self) -> None:
        """Load both sides, and give each its arena and inputs of its own.

        Raises: Refused: the submission cannot be loaded, or called so. ReferenceFailed: the reference cannot.
        """
        from attention_core.grading.measure import ReferenceFailed
        from attention_core.grading.rules import Refused

        try:
            self.reference.greet()
            self.reference.bind(attention_fields(self.workload))
        except Refused as error:
            raise ReferenceFailed(error.message) from None
        self.submission.greet()
        self.submission.bind(attention_fields(self.workload, *self.orders))
        shapes = {f.name: f.shape for f in attention_fields(self.workload, *self.orders) if not f.is_output}
        for who, player in (("submission", self.submission), ("reference", self.reference)):
            secret = f"{self.workload.key()} {who}"
            self.draws[player.pid] = Draw(shapes, self.workload.dtype, self.secret, secret)

    def deal(self, player: Player) -> Mapping[str, Stored]:
        """Put fresh inputs into a process's arena, which stands."""
        player.stop()
        inputs = self.draws[player.pid].next()
        assert player.arena is not None
        player.arena.write(inputs)
        return inputs

    def judge(self, inputs: Mapping[str, Stored], outputs: Mapping[str, Stored]) -> Judged:
        """Judge an answer; which part of it, is drawn now."""
        self.calls += 1
        rng: np.random.Generator = generator(self.secret, "judge", self.workload.key(), self.calls)
        return self.truth.judge(inputs, outputs, rng)

    def close(self) -> None:
        """End both processes."""
        self.submission.close()
        self.reference.close()
