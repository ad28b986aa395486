"""The process of a submission, or of the reference: loads it, and computes once whenever the grader says so.

Started as `python -m attention_core.grading.child IN OUT`. No expected value, no seed and no clock is here: inputs come
and outputs go through the arena, and the grader times from its own process. What this process says of itself is
used to name a reason, never to accept.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

import torch
import torch.utils.benchmark  # what the watch looks at is there before the submission is

from attention_core.declaration.implementation import TargetError, Unavailable, summarize_error
from attention_core.grading.arena import Arena, Field
from attention_core.grading.forbidden import Forbidden
from attention_core.grading.problems import DTYPES, AttentionProblem, FunctionProblem, ModuleProblem, tensor_of
from attention_core.grading.watch import Watch
from attention_core.worker.child import (
    end_with_the_parent,
    end_with_the_starting_thread,
    inherited_pipes,
    limit_memory,
)
from attention_core.worker.frames import Closed, receive, send

LATE = 0.3
"""Seconds that an answer is given to be finished by others, once it has come too early."""
NUDGES = 3
"""Times that inputs are moved by a rounding to see how far results move."""
KINDS: dict[str, Any] = {"attention": AttentionProblem, "module": ModuleProblem, "function": FunctionProblem}
PLAIN = (torch.Tensor, torch.nn.Parameter)
"""Types of results that hold their numbers: any other may compute them only when they are read."""


class Server:
    """Answers the grader's messages.

    Args:
        hello: what is loaded, on how many threads, and which operators are forbidden.
    """

    def __init__(self, hello: Mapping[str, Any]) -> None:
        limit_memory(hello.get("memory"))
        torch.set_num_threads(int(hello["threads"]))
        self.threads = int(hello["threads"])
        self.forbidden = Forbidden(hello["forbid"], bool(hello.get("compiles")))
        self.watch = Watch()
        self.alive = threading.active_count()
        self.problem = KINDS[hello["kind"]](**hello["problem"])
        self.last: list[tuple[str, Any]] = []

    def fields(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of the problem, where only the reference knows them."""
        found, others = self.problem.fields(int(message["seed"]))
        return {"fields": [field.to_json() for field in found], "others": others, "init": plain(self.problem.init)}

    def bind(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Take the arena."""
        self.arena = Arena([Field.from_json(field) for field in message["fields"]], message["path"])
        if "others" in message:
            self.problem.inputs = message["others"]
        self.problem.bind(self.arena)
        self.outputs = {n: tensor_of(self.arena, n) for n, field in self.arena.fields.items()
                        if is_result(n, field)}  # fmt: skip
        self.idle = [(n, torch.zeros(field.shape, dtype=DTYPES[field.dtype])) for n, field in self.arena.fields.items()
                     if is_result(n, field)]  # fmt: skip
        return {}

    def call(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Compute once, and put the results into the arena."""
        self.last = self.problem.call()
        return self.hand_over(self.last)

    def nothing(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """What a call costs that computes nothing: the same way there and back."""
        return self.hand_over(self.idle)

    def hand_over(self, results: list[tuple[str, Any]]) -> dict[str, Any]:
        """Copy results into the arena, and report what cannot be copied."""
        for name, value in results:
            into = self.outputs.get(name)
            if type(value) not in PLAIN:
                kind = type(value)
                return {"not_a_tensor": f"{name} is a {kind.__module__}.{kind.__qualname__}"}
            if into is None or value.shape != into.shape or value.dtype != into.dtype:
                want = "no such result" if into is None else f"{tuple(into.shape)} {into.dtype}"
                return {"wrong_shape": f"{name}: got {tuple(value.shape)} {value.dtype}, but should be {want}"}
            into.copy_(value.detach())
        missing = [name for name in self.outputs if name not in dict(results)]
        return {"wrong_shape": f"{missing[0]} is missing"} if missing else {}

    def again(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Wait a little, and hand the last results over once more."""
        time.sleep(LATE)
        return self.hand_over(self.last)

    def report(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """What the submission has changed in this process so far."""
        storages = {}
        if self.last and isinstance(self.last[0][1], torch.Tensor):
            start = self.arena.bytes.ctypes.data
            storages = {name: value.data_ptr() - start for name, value in self.last if value.numel()}
        return {
            "changes": self.watch.changes()[:20], "traces": self.watch.traces(), "forbidden": self.forbidden.called,
            "torch_threads": torch.get_num_threads(), "threads": threading.active_count() - self.alive,
            "places": storages,
        }  # fmt: skip

    def rate(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Operations a second of a product of matrices in a dtype: the best of some (reference only)."""
        n, best = int(message["size"]), float("inf")
        a = torch.randn(n, n).to(DTYPES[message["dtype"]])
        for _ in range(5):
            start = time.perf_counter()
            a @ a
            best = min(best, time.perf_counter() - start)
        return {"rate": 2 * n**3 / best}

    def draw(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Put fresh inputs into the arena (reference only)."""
        for index, value in enumerate(self.problem.draw(int(message["seed"]))):
            if isinstance(value, torch.Tensor):
                tensor_of(self.arena, f"input_{index}").copy_(value)
        return {}

    def exact(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Put the results in float64, and how far they move if inputs do, into the arena (the reference alone)."""
        exact = dict(self.problem.exact())
        moved = {name: torch.zeros_like(value, dtype=torch.float64) for name, value in exact.items()}
        generator = torch.Generator().manual_seed(int(message["seed"]))
        for _ in range(NUDGES):
            for name, value in self.problem.exact(generator):
                moved[name] = torch.maximum(moved[name], (value.double() - exact[name].double()).abs())
        for name, value in exact.items():
            tensor_of(self.arena, f"exact_{name}").copy_(value)
            tensor_of(self.arena, f"moved_{name}").copy_(moved[name])
        return {}


def is_result(name: str, field: Field) -> bool:
    """Whether a field is what a call returns, and not what the reference alone says of it."""
    return field.is_output and not name.startswith(("exact_", "moved_"))


def plain(value: Any) -> Any:
    """JSON values of what a module is built with.

    Raises: TargetError for what is not plain.
    """
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TargetError(f"get_init_inputs gives a {type(value).__name__}: numbers, texts and lists are understood")


def answer(server: Server, message: Mapping[str, Any]) -> dict[str, Any]:
    """One answer; what the submission raises becomes words."""
    try:
        return {"event": "done", **getattr(server, message["do"])(message)}
    except BaseException as error:
        return {"event": "done", "raised": summarize_error(error)}


def serve(read: int, write: int) -> None:
    """Load, and answer until the grader closes the pipe."""
    own, take, give = os.getpid(), receive, send
    try:
        server = Server(take(read))
        give(write, {"event": "ready"})
    except (TargetError, Unavailable) as error:
        give(write, {"event": "failed", "message": str(error)})
        return
    except BaseException as error:
        give(write, {"event": "failed", "message": f"importing it raised {summarize_error(error)}"})
        return
    while True:
        try:
            message = take(read)
        except Closed:
            os._exit(0)
        found = answer(server, message)
        if os.getpid() != own:  # it has forked and come back in the child
            os._exit(1)
        give(write, found)


if __name__ == "__main__":
    incoming, outgoing = inherited_pipes(sys.argv[1:3])
    end_with_the_parent()
    end_with_the_starting_thread()  # one that stands stopped runs no thread
    serve(incoming, outgoing)
