"""The worker process: loads one target and answers requests about it until its pipe closes.

Started as `python -m attention_core.conformance.worker.entry IN OUT` with two inherited descriptors, or
`IN OUT SPARE_IN SPARE_OUT` with those of a spare process as well. What the target prints
goes to a pipe of its own, of which the parent keeps the end; it cannot disturb the exchange. Expected values never
come here.
"""

from __future__ import annotations

import os
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attention_core.conformance.worker import wire
from attention_core.conformance.worker.executor import Executor, describe_failure
from attention_core.conformance.worker.interpreted import watch_triton
from attention_core.declaration.implementation import TargetError, Unavailable, summarize_error
from attention_core.worker.child import (
    end_with_the_parent,
    end_with_the_starting_thread,
    inherited_pipes,
    limit_memory,
)
from attention_core.worker.frames import Closed
from attention_core.worker.interpreters import TRITON
from attention_core.worker.target import load_target


def start(options: dict[str, Any]) -> tuple[Executor | None, dict[str, Any]]:
    """Load the target; the second value is the message to the parent."""
    try:
        limit_memory(options.get("memory"))
        if os.environ.get(TRITON.variable) == "1" and not watch_triton() and options.get("runtime") == "triton":
            raise TargetError("runtime=triton: triton is not installed here (pip install triton, on Linux)")
        if options.get("runtime") == "numba" and find_spec("numba") is None:
            raise TargetError("runtime=numba: numba is not installed here (pip install numba numba-cuda)")
        target = load_target(options["target"])
        executor = Executor(
            target, factory=options["factory"], array=options["array"], device=options["device"],
            x64=options.get("x64", False), compiles=options.get("compiles", False),
            convention=options.get("convention"),
        )  # fmt: skip
        return executor, {"status": "ready", **executor.describe()}
    except Unavailable as error:
        return None, {"status": "unavailable", "message": str(error)}
    except TargetError as error:
        failure = describe_failure(error.__cause__ or error)
        return None, {"status": "error", "message": str(error), "traceback": failure.traceback}
    except BaseException as error:
        failure = describe_failure(error)
        message = f"loading {options['target']} raised {summarize_error(error)}"
        return None, {"status": "error", "message": message, "traceback": failure.traceback}


def answer_in_a_child(executor: Executor, requests: list[Any], write: int) -> None:
    """Make some calls in a fork of this process, which itself stays as it is; None is sent where the fork is lost."""
    child = os.fork()
    if child == 0:
        try:
            wire.send(write, [executor.run(request) for request in requests])
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if status:
        wire.send(write, None)


def forks_safely() -> bool:
    """Whether a fork of this process loses no thread but Python's own; false where the system does not say."""
    tasks = Path("/proc/self/task")
    return sys.platform == "linux" and len(list(tasks.iterdir())) <= threading.active_count() <= 2


def fork_spare(executor: Executor, pipes: tuple[int, int], others: tuple[int, int]) -> int:
    """Fork a spare of this process, which has loaded the target but not called it; it makes trials until it is left.

    Args: pipes, the spare's two ends; others, this process's own. Returns: the spare's number, 0 where none is safe.
    """
    child = os.fork() if forks_safely() else -1
    if child:
        for descriptor in pipes:
            os.close(descriptor)
        return max(child, 0)
    try:
        end_with_the_starting_thread()
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (1, 2):  # what it prints is not taken for anybody's last words
            os.dup2(null, descriptor)
        for descriptor in others:
            os.close(descriptor)
        while True:
            answer_in_a_child(executor, wire.receive(pipes[0])["trial"], pipes[1])
    finally:
        os._exit(0)


def serve(read: int, write: int, spare: tuple[int, ...] = ()) -> None:
    """Answer requests until the parent closes the pipe; `spare` are the two ends of the pipes of a spare process."""
    options = wire.receive(read)
    if options.get("main"):  # another thread may end long before its process does
        end_with_the_starting_thread()
    executor, greeting = start(options)
    if executor is not None and len(spare) == 2:
        greeting["spare"] = fork_spare(executor, (spare[0], spare[1]), (read, write))
    wire.send(write, greeting)
    own = os.getpid()
    while executor is not None:
        try:
            request = wire.receive(read)
        except Closed:
            return
        if isinstance(request, dict):
            answer_in_a_child(executor, request["trial"], write)
            continue
        response = executor.run(request)
        if os.getpid() != own:  # the target has forked and come back in the child
            os._exit(1)
        wire.send(write, response)


if __name__ == "__main__":
    incoming, outgoing, *others = inherited_pipes(sys.argv[1:5])
    end_with_the_parent()
    serve(incoming, outgoing, tuple(others))
