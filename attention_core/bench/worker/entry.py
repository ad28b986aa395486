"""The worker: imports torch once, and forks a fresh process for every job, so that a crash costs one job.

Started as `python -m attention_core.bench.worker.entry IN OUT`. A job is JSON; its process answers with messages, and
the last one, from the parent of that process, says how it ended. What kernels print goes elsewhere (see `client`).
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import torch  # what jobs need is imported before the fork, which then costs milliseconds
import torch.autograd.profiler

from attention_core.bench.messages import Ended, Tell, receive, send
from attention_core.bench.targets import NoTensor
from attention_core.bench.timing.roofline import measure_limits
from attention_core.bench.worker.measure import measure
from attention_core.bench.worker.probe import check_loads, probe
from attention_core.conformance.worker.entry import limit_memory
from attention_core.declaration.implementation import TargetError, Unavailable, summarize_error

JOBS: dict[str, Callable[[dict[str, Any], Tell], None]] = {
    "probe": probe, "measure": measure, "limits": measure_limits, "load": check_loads,
}  # fmt: skip
PR_SET_PDEATHSIG = 1


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


def end_with_the_parent() -> None:
    """On Linux, let the system end this process with the one that started it, however that one ends.

    No thread watches, as one does in conformance/worker/entry.py: here times are taken. Elsewhere a job ends when it
    next says something.
    """
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it was gone before it could be asked for
            os._exit(1)


def serve(incoming: int, outgoing: int) -> None:
    """Say that everything is imported, then answer jobs until the pipe closes."""
    end_with_the_parent()
    send(outgoing, {"event": "ready"})
    while True:
        try:
            job = receive(incoming)
        except Ended:
            return
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.close(incoming)
                end_with_the_parent()
                run_job(job, lambda message: send(outgoing, message))
                status = 0
            finally:
                sys.stdout.flush()
                os._exit(status)
        _, how = os.waitpid(child, 0)
        send(outgoing, {"event": "ended", "status": os.waitstatus_to_exitcode(how)})


if __name__ == "__main__":
    ends = [int(a) for a in sys.argv[1:3]]
    for end in ends:
        os.set_inheritable(end, False)
    serve(*ends)
