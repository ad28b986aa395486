"""The worker of two revisions: imports torch once, and forks both processes of every round.

Started as `python -m attention_core.bench.worker.pair_entry IN OUT` with three pairs of pipes: one for rounds and how
their processes ended, one for each revision. Processes that come from one have the same code at the same addresses, so
that what differs between them is what they load.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from attention_core.bench.worker.entry import run_job
from attention_core.worker.child import end_with_the_starting_thread, inherited_pipes
from attention_core.worker.frames import FrameError, receive, send


def serve(ends: list[int]) -> None:
    """Say that everything is imported, then run rounds until the pipe closes."""
    end_with_the_starting_thread()
    incoming, outgoing = ends[:2]
    seats = [(ends[2], ends[3]), (ends[4], ends[5])]
    send(outgoing, {"event": "ready"})
    while True:
        try:
            jobs = receive(incoming)["jobs"]
        except FrameError:
            return
        children = {}
        for seat in (0, 1):
            child = os.fork()
            if child == 0:
                mine = seats[seat]
                sit_down([end for end in ends if end not in mine], {**jobs[seat], "incoming": mine[0]}, mine[1])
            children[child] = seat
        send(outgoing, {"event": "started", "processes": list(children)})
        while children:
            child, how = os.wait()
            if child in children:
                status = os.waitstatus_to_exitcode(how)
                send(outgoing, {"event": "ended", "seat": children.pop(child), "status": status})


def sit_down(others: list[int], job: dict[str, Any], outgoing: int) -> None:
    """Run one job in this process, which has just been forked, and end it."""
    status = 1
    try:
        for end in others:
            os.close(end)
        end_with_the_starting_thread()
        run_job(job, lambda message: send(outgoing, message))
        status = 0
    finally:
        sys.stdout.flush()
        os._exit(status)


if __name__ == "__main__":
    serve(inherited_pipes(sys.argv[1:]))
