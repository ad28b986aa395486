"""A process under the grader's hand: it stands between its calls, and nothing of it goes on meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from attention_core.grading.arena import Field
from attention_core.grading.player import Player
from attention_core.grading.rules import Refused

TEXT = """
import os, subprocess, threading, time
state = {"x": 0}
def count():
    while True:
        state["x"] += 1
        time.sleep(0.001)
threading.Thread(target=count, daemon=True).start()
def run(what):
    number = int(what[0])
    if number == 1:
        subprocess.Popen(["sleep", "600"], start_new_session=True)
    if number == 2:
        os._exit(0)
    if number == 3:
        raise ValueError("no such thing")
    return what * 0 + state["x"]
"""
FIELDS = [Field("what", "float32", (2,)), Field("out", "float32", (2,), is_output=True)]


@pytest.fixture(scope="module")
def player(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Player]:
    path = tmp_path_factory.mktemp("player") / "sub.py"
    path.write_text(TEXT)
    problem = {"path": str(path), "name": "run", "scalars": {}, "outputs": ["out"]}
    made = Player({"kind": "function", "threads": 1, "forbid": [], "problem": problem}, 60, Path(path.parent))
    try:
        made.greet()
        made.bind(FIELDS)
        yield made
    finally:
        made.close()


def call(player: Player, number: float) -> float:
    player.stop()
    assert player.arena is not None
    player.arena.write({"what": np.full(2, number, "<f4")})
    seconds, answer = player.call()
    assert seconds > 0 and answer["event"] == "done", answer
    if "raised" in answer:
        raise ValueError(answer["raised"])
    return float(player.arena.read()["out"][0])


@pytest.mark.skipif(sys.platform != "linux", reason="states of threads are read as Linux shows them")
def test_threads_of_a_stopped_process_stand(player: Player) -> None:
    call(player, 0)
    tasks = list(Path(f"/proc/{player.pid}/task").iterdir())
    states = {(task / "stat").read_text().rpartition(")")[2].split()[0] for task in tasks}
    assert len(tasks) >= 2 and states == {"T"}
    assert player.ask("report")["threads"] >= 1  # it goes on where it is asked


def test_what_a_call_raises_is_told(player: Player) -> None:
    with pytest.raises(ValueError, match="no such thing"):
        call(player, 3)
    assert call(player, 0) > 0


def test_its_scheduling_is_seen(player: Player) -> None:
    before = player.scheduling()
    os.setpriority(os.PRIO_PROCESS, player.pid, os.getpriority(os.PRIO_PROCESS, player.pid) + 1)
    assert player.scheduling() != before


PROGRAM = """
import subprocess, sys
from attention_core.grading.player import adopt_orphans, find_strangers
if len(sys.argv) > 1:
    adopt_orphans()
subprocess.run(["sh", "-c", "sleep 9 >/dev/null 2>&1 &"], env={}, start_new_session=True)
found = find_strangers()
print(len(found), *found)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux")
def test_a_process_that_hides_from_its_parent_and_its_mark_is_found() -> None:
    found = subprocess.run([sys.executable, "-c", PROGRAM, "adopt"], capture_output=True, text=True, timeout=60)
    assert found.stdout.startswith(("1 sleep", "1 sh")), found  # the shell's child is `sh` until it becomes `sleep`


def test_processes_that_it_starts_are_found_and_ended_with_it(player: Player) -> None:
    assert player.others() == []
    call(player, 1)
    assert len(player.others()) == 1 and "sleep" in player.others()[0]
    with pytest.raises(Refused) as found:
        call(player, 2)
    assert found.value.rule == "died" and "ended with status 0" in found.value.message
    assert player.closed and player.others() == []
