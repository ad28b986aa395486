"""What is timed for tasks that have a reference in the place of a truth: KernelBench's and flashinfer-bench's.

The reference's process draws KernelBench's inputs, and computes what is right, in float64 where it can, only once the
submission's answer is in. It is the task's own code, and is trusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from attention_core.grading.arena import Field
from attention_core.grading.flashinfer import Definition
from attention_core.grading.forbidden import mentions_compiler
from attention_core.grading.fresh_inputs import generator
from attention_core.grading.measure import ReferenceFailed
from attention_core.grading.player import Player
from attention_core.grading.rules import Refused
from attention_core.grading.task import Task
from attention_core.grading.truth import Judged, ReferenceTruth

Stored = npt.NDArray[Any]
SEEDS = 2**31


def side_fields(outputs: Sequence[Field]) -> list[Field]:
    """What the reference says of each output beside its answer: its float64 value, and how far that moves."""
    return [
        Field(f"{kind}_{field.name}", "float64", field.shape, is_output=True)
        for field in outputs
        for kind in ("exact", "moved")
    ]


class ReferenceStage:
    """A task with a reference.

    Args:
        task: of the submission. secret: whence the inputs come.
        reference, submission: their first messages; place: working directory of the submission.
    """

    def __init__(self, task: Task, secret: str, reference: dict[str, Any], place: Path) -> None:
        self.task, self.secret, self.place, self.threads, self.flops = task, secret, place, task.threads, 0.0
        self.reference = Player({"threads": task.threads, "forbid": [], **reference}, task.timeout)
        self.submission: Player = self.reference  # until `open`, which may need to ask the reference first
        self.calls, self.deals = 0, 0

    def open(self) -> None:
        """Load both sides, and give each its arena.

        Raises: Refused: the submission cannot be loaded. ReferenceFailed: the reference cannot.
        """
        try:
            self.reference.greet()
            fields, others, hello = self.plan()
            outputs = [field for field in fields if field.is_output]
            self.reference.bind([*fields, *side_fields(outputs)], **others)
        except Refused as error:
            raise ReferenceFailed(error.message) from None
        self.fields = fields
        self.truth = ReferenceTruth({field.name: field.dtype for field in outputs})
        common = {
            "threads": self.task.threads, "forbid": list(self.task.forbid),
            "compiles": mentions_compiler(self.place.rglob("*.py")),
        }  # fmt: skip
        self.submission = Player({**common, **hello}, self.task.timeout, self.place)
        self.submission.greet()
        self.submission.bind(fields, **others)

    def plan(self) -> tuple[list[Field], dict[str, Any], dict[str, Any]]:
        """The arrays of a call, what else both sides bind, and the submission's first message."""
        raise NotImplementedError

    def draw(self, seed: int) -> None:
        """Put fresh inputs into the arena of the reference."""
        raise NotImplementedError

    def deal(self, player: Player) -> Mapping[str, Stored]:
        """Put fresh inputs into a process's arena; the reference keeps a copy of the submission's for the truth."""
        self.deals += 1
        rng = generator(self.secret, "inputs", self.deals)
        theirs = self.reference.arena
        assert theirs is not None
        self.reference.stop()
        theirs.write({})
        self.draw(int(rng.integers(SEEDS)))
        self.reference.stop()
        inputs = {field.name: np.array(theirs.view(field.name)) for field in self.fields if not field.is_output}
        if player is not self.reference:
            player.stop()
            assert player.arena is not None
            player.arena.write(inputs)
        return inputs

    def judge(self, inputs: Mapping[str, Stored], outputs: Mapping[str, Stored]) -> Judged:
        """Judge an answer by what the reference computes now."""
        self.calls += 1
        arena = self.reference.arena
        assert arena is not None
        arena.write(dict(inputs))
        try:
            self.reference.ask("exact", seed=int(generator(self.secret, "exact", self.calls).integers(SEEDS)))
        except Refused as error:
            raise ReferenceFailed(error.message) from None
        self.reference.stop()
        exact, moved = (
            {name: np.array(arena.view(f"{kind}_{name}"), dtype=np.float64) for name in self.truth.dtypes}
            for kind in ("exact", "moved")
        )
        return self.truth.judge(outputs, exact, moved)

    def close(self) -> None:
        """End both processes."""
        self.submission.close()
        self.reference.close()


class ModuleStage(ReferenceStage):
    """A problem of KernelBench: `Model`, `get_inputs` and `get_init_inputs` beside a submission's `ModelNew`.

    Args:
        path: of the submission's file.
    """

    def __init__(self, task: Task, path: Path, place: Path, secret: str) -> None:
        self.path, self.seed = path, int(generator(secret, "parameters").integers(SEEDS))
        super().__init__(task, secret, self._hello(task, task.problem, task.reference, None), place)

    def _hello(self, task: Task, path: Path, name: str, init: Any) -> dict[str, Any]:
        problem = {"path": str(path.resolve()), "name": name, "init": init, "seed": self.seed, "dtype": task.dtype}
        return {"kind": "module", "problem": problem}

    def plan(self) -> tuple[list[Field], dict[str, Any], dict[str, Any]]:
        """Ask the reference for its arrays, and what it was built with."""
        answer = self.reference.ask("fields", seed=int(generator(self.secret, "fields").integers(SEEDS)))
        fields = [Field.from_json(field) for field in answer["fields"]]
        hello = self._hello(self.task, self.path, self.task.function, answer["init"])
        return fields, {"others": answer["others"]}, hello

    def draw(self, seed: int) -> None:
        """Let the problem's own `get_inputs` draw."""
        self.reference.ask("draw", seed=seed)


class DefinitionStage(ReferenceStage):
    """A definition of flashinfer-bench beside a solution.

    Args:
        definition: with all sizes. path: of the file of the solution's entry point. function: its name.
    """

    def __init__(self, task: Task, definition: Definition, path: Path, function: str, place: Path, secret: str) -> None:
        self.definition = definition
        reference = place / "reference" / "reference.py"
        reference.parent.mkdir(exist_ok=True)
        reference.write_text(definition.reference, encoding="utf-8")
        self.hello = self._hello(path, function)
        super().__init__(task, secret, self._hello(reference, task.reference), place)

    def _hello(self, path: Path, function: str) -> dict[str, Any]:
        problem = {
            "path": str(path.resolve()), "name": function, "scalars": dict(self.definition.scalars),
            "outputs": list(self.definition.outputs),
        }  # fmt: skip
        return {"kind": "function", "problem": problem}

    def plan(self) -> tuple[list[Field], dict[str, Any], dict[str, Any]]:
        """The definition says all."""
        return self.definition.fields, {}, self.hello

    def draw(self, seed: int) -> None:
        """Draw the definition's inputs."""
        assert self.reference.arena is not None
        self.reference.arena.write(self.definition.draw(np.random.default_rng(seed)))
