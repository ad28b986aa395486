"""Training steps in a process of their own, which may run out of memory, be ended by the system, or break on the way.

Under a limit, torch's libraries do not always recover from an allocation that fails: after one, the process is given up
and the next step gets a fresh one. What is asked and answered goes through its standard streams, a line each.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from dataclasses import asdict
from types import TracebackType

from finetune.classification.config import ClassifyConfig
from finetune.errors import BadInput

UNTOLD = ("could not create a primitive", "could not create a memory object", "bad_alloc")
"""What oneDNN and C++ say under a limit where they mean that there is no memory."""


class StepsElsewhere:
    """Steps of training for `largest_batch`, each in a process that can use so many bytes more than at its start.

    Args: config, whose model is a folder or a name on the hub; n, tokens of a text; bytes_more; threads.
    Example: with StepsElsewhere(config, 128, 2**30) as steps: largest_batch(steps.step).size.
    """

    def __init__(self, config: ClassifyConfig, n: int, bytes_more: int, threads: int | None = None) -> None:
        self.told = json.dumps({"config": asdict(config), "n": n, "bytes": bytes_more, "threads": threads})
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> StepsElsewhere:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Give the process up."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                assert stream is not None
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
            self.process = None

    def step(self, size: int) -> None:
        """A step with so many examples. Raises: MemoryError where there is none; BadInput for what a user can mend."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "finetune.memory.worker", self.told],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
            kind, words = self._answer()
            if kind == "bad":
                raise BadInput(words)
            if kind != "ready":
                raise MemoryError(f"there is no memory for the model and one text: {words}")
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # one that has ended says so by what it does not answer
            self.process.stdin.write(f"{size}\n")
            self.process.stdin.flush()
        kind, words = self._answer()
        if kind != "fits":
            self.end()
            if kind == "defect":
                raise RuntimeError(words)
            raise MemoryError(words)

    def _answer(self) -> tuple[str, str]:
        """The next line of ours; where the process has ended, that, and how."""
        process = self.process
        assert process is not None and process.stdout is not None
        for line in process.stdout:
            if line.startswith("finetune:"):
                kind, _, words = line.removeprefix("finetune:").strip().partition(" ")
                return kind, words
        code = process.wait()
        return "ended", "ended by the system" if code < 0 else f"ended with status {code}"


def serve(settings: str) -> None:
    """Prepare, say `ready`, and answer a line for each size that is read, until one does not fit."""
    import torch

    from finetune.classification.pretrained import load_pretrained
    from finetune.memory.measure import training_step
    from finetune.memory.out_of_memory import attempt, limit_memory

    data = json.loads(settings)
    if data["threads"]:
        torch.set_num_threads(data["threads"])
    config = ClassifyConfig(**data["config"])
    try:
        step = training_step(lambda: load_pretrained(config.model, config.backend).encoder, config, data["n"])
    except BadInput as error:
        answer(f"bad {error}")
        return
    step(1)  # what is made once, such as the optimizer's states, is there before the limit
    answer("ready")
    with limit_memory(data["bytes"]):
        for line in sys.stdin:
            size = int(line)
            try:
                _, words = attempt(lambda size=size: step(size))  # type: ignore[misc]  # bound here
            except RuntimeError as error:
                text = (str(error).strip().splitlines() or [""])[0]
                answer(f"{'out' if any(word in text for word in UNTOLD) else 'defect'} {text}")
                return
            answer("fits" if words is None else f"out {words}")
            if words is not None:
                return


def answer(text: str) -> None:
    """A line of ours among whatever libraries print."""
    print(f"finetune:{text}", flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
