"""Training steps in a process of their own, which may run out of memory, be ended by the system, or break on the way.

Under a limit, torch's libraries do not always recover from an allocation that fails: after one, the process is given up
and the next step gets a fresh one.
"""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import asdict
from types import TracebackType
from typing import Any

from attention_core.worker.child import end_with_the_parent, inherited_pipes
from attention_core.worker.frames import Closed, FrameError, receive, send
from attention_core.worker.process import WorkerProcess
from finetune.classification.config import ClassifyConfig
from finetune.errors import BadInput

UNTOLD = ("could not create a primitive", "could not create a memory object", "bad_alloc")
"""What oneDNN and C++ say under a limit where they mean that there is no memory."""


class StepsElsewhere:
    """Steps of training for `largest_batch`, each in a process that can use so many bytes more than at its start.

    Args: config, whose model is a folder or a name on the hub; n, tokens of a text; bytes_more; threads.
    """

    def __init__(self, config: ClassifyConfig, n: int, bytes_more: int, threads: int | None = None) -> None:
        self.settings = {"config": asdict(config), "n": n, "bytes": bytes_more, "threads": threads}
        self.process: WorkerProcess | None = None

    def __enter__(self) -> StepsElsewhere:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Give the process up."""
        if self.process is not None:
            self.process.end()
            self.process = None

    def step(self, size: int) -> None:
        """A step with so many examples. Raises: MemoryError where there is none; BadInput for what a user can mend."""
        if self.process is None:
            self.process = WorkerProcess("finetune.memory.worker", os.environ)
            kind, words = self._answer(self.process, self.settings)
            if kind == "bad":
                raise BadInput(words)
            if kind != "ready":
                raise MemoryError(f"there is no memory for the model and one text: {words}")
        kind, words = self._answer(self.process, {"size": size})
        if kind != "fits":
            self.end()
            if kind == "defect":
                raise RuntimeError(words)
            raise MemoryError(words)

    def _answer(self, process: WorkerProcess, question: dict[str, Any]) -> tuple[str, str]:
        """The kind and the words of an answer; where the process has ended, that, and how."""
        try:
            send(process.write, question)
            answer = receive(process.read)
        except FrameError:
            code = process.popen.wait()
            return "ended", "ended by the system" if code < 0 else f"ended with status {code}"
        return str(answer["kind"]), str(answer["words"])


def serve(read: int, write: int) -> None:
    """Prepare, say `ready`, and answer each size that is read, until one does not fit."""
    import torch

    from finetune.classification.pretrained import load_pretrained
    from finetune.memory.measure import training_step
    from finetune.memory.out_of_memory import attempt, limit_memory

    def answer(kind: str, words: str = "") -> None:
        send(write, {"kind": kind, "words": words})

    data = receive(read)
    if data["threads"]:
        torch.set_num_threads(data["threads"])
    config = ClassifyConfig(**data["config"])
    try:
        step = training_step(lambda: load_pretrained(config.model, config.backend).encoder, config, data["n"])
    except BadInput as error:
        answer("bad", str(error))
        return
    step(1)  # what is made once, such as the optimizer's states, is there before the limit
    answer("ready")
    with limit_memory(data["bytes"]), contextlib.suppress(Closed):
        while True:
            size = int(receive(read)["size"])
            try:
                _, words = attempt(lambda size=size: step(size))  # type: ignore[misc]  # bound here
            except RuntimeError as error:
                text = (str(error).strip().splitlines() or [""])[0]
                answer("out" if any(word in text for word in UNTOLD) else "defect", text)
                return
            answer("fits" if words is None else "out", words or "")
            if words is not None:
                return


if __name__ == "__main__":
    end_with_the_parent()
    serve(*inherited_pipes(sys.argv[1:3]))
