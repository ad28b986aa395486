"""The worker: imports torch once, and forks a fresh process for every job, so that a crash costs one job.

Started as `python -m attention_core.bench.worker.entry IN OUT`. A job is JSON; its process answers with messages, and
the last one, from the parent of that process, says how it ended. What kernels print goes elsewhere (see `client`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import torch  # what jobs need is imported before the fork, which then costs milliseconds
import torch.autograd.profiler

from attention_core.bench.targets import NoTensor
from attention_core.bench.timing.roofline import measure_limits
from attention_core.bench.worker.measure import measure
from attention_core.bench.worker.probe import check_loads, probe
from attention_core.bench.worker.turns import take_turns
from attention_core.declaration.implementation import TargetError, Unavailable, summarize_error
from attention_core.worker.child import end_with_the_starting_thread, inherited_pipes, limit_memory
from attention_core.worker.frames import FrameError, Tell, receive, send

JOBS: dict[str, Callable[[dict[str, Any], Tell], None]] = {
    "probe": probe, "measure": measure, "limits": measure_limits, "load": check_loads,
    "turns": take_turns,
}  # fmt: skip


def run_job(job: dict[str, Any], tell: Tell) -> None:
    """One job in this process; what it raises becomes a message."""
    try:
        torch.set_num_threads(job["threads"])
        limit_memory(job.get("memory"))
        JOBS[job["kind"]](job, tell)
        tell({"event": "done"})
    except (TargetError, Unavailable, NoTensor) as error:
        tell({"event": "refused", "message": str(error)})
    except BaseException as error:  # also SystemExit: this process has nothing else to do
        tell({"event": "failed", "message": summarize_error(error)})


def serve(incoming: int, outgoing: int) -> None:
    """Say that everything is imported, then answer jobs until the pipe closes.

    No thread watches whether the parent is there, as times are taken here: on Linux the system ends this process with
    it; elsewhere a job ends when it next says something.
    """
    end_with_the_starting_thread()
    send(outgoing, {"event": "ready"})
    while True:
        try:
            job = receive(incoming)
        except FrameError:
            return
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.close(incoming)
                end_with_the_starting_thread()
                run_job(job, lambda message: send(outgoing, message))
                status = 0
            finally:
                sys.stdout.flush()
                os._exit(status)
        _, how = os.waitpid(child, 0)
        send(outgoing, {"event": "ended", "status": os.waitstatus_to_exitcode(how)})


if __name__ == "__main__":
    serve(*inherited_pipes(sys.argv[1:3]))
