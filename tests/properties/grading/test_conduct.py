"""What a submission leaves behind: files of the grader, processes; and the copy that is graded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attention_core.declaration.implementation import TargetError
from attention_core.grading.conduct import Files, Machine, check_files, copy_submission
from attention_core.grading.render_text import details
from attention_core.grading.results import Grade
from attention_core.grading.rules import Refused
from attention_core.grading.run import refuse


class Quiet:
    left: tuple[str, ...] = ()
    closed, pid, now = False, 7, (0, (0, 1))

    def others(self) -> list[str]:
        return list(self.left)

    def scheduling(self) -> tuple[Any, ...]:
        return self.now


@pytest.mark.parametrize("change", ["another text", "a new file", "one is gone"])
def test_files_that_change_are_seen(tmp_path: Path, change: str) -> None:
    (tmp_path / "rooms").mkdir()
    (tmp_path / "rooms/a.py").write_text("x = 1")
    files = Files([tmp_path])
    check_files(files)
    if change == "another text":
        (tmp_path / "rooms/a.py").write_text("x = 2")
    elif change == "a new file":
        (tmp_path / "rooms/b.json").write_text("{}")
    else:
        (tmp_path / "rooms/a.py").unlink()
    name = f"{tmp_path.name}/rooms/{'b.json' if change == 'a new file' else 'a.py'}"
    with pytest.raises(Refused, match=f"^{name} changed on disk while it was graded$") as found:
        check_files(files)
    assert found.value.rule == "changes_grader"
    refused = Grade("s.py", "t", "accepted")
    refuse(refused, found.value)
    words = " ".join(details(refused))
    assert "says nothing of the submission: grade it again" in words and "known from" not in words


def test_processes_that_are_left_are_seen() -> None:
    player: Any = Quiet()
    machine = Machine(player)
    machine.check()
    player.left = ("sleep (7)",)
    with pytest.raises(Refused, match="sleep") as found:
        machine.check()
    assert found.value.rule == "leaves_processes"


@pytest.mark.parametrize("which", [0, 1])
def test_priorities_that_change_are_seen_of_the_reference_too(which: int) -> None:
    players: list[Any] = [Quiet(), Quiet()]
    machine = Machine(*players)
    machine.check()
    players[which].now = (19, (0, 1))
    with pytest.raises(Refused, match="19") as found:
        machine.check()
    assert found.value.rule == "changes_scheduling"
    players[which].closed = True
    machine.check()


def test_somebody_who_changes_the_grader_too_is_not_taken_for_the_submission(monkeypatch: pytest.MonkeyPatch) -> None:
    player: Any = Quiet()
    machine = Machine(player)
    player.now = (10, (0, 1))
    changed = (machine.own[0] + 1, *machine.own[1:])
    monkeypatch.setattr("attention_core.grading.conduct.scheduling", lambda pid: changed)
    with pytest.raises(TargetError, match="grade it again"):
        machine.check()


def test_a_submission_is_copied(tmp_path: Path) -> None:
    source = tmp_path / "in"
    (source / "__pycache__").mkdir(parents=True)
    (source / "sub").mkdir()
    for name in ("a.py", "sub/b.py", "__pycache__/c.py"):
        (source / name).write_text(name)
    (source / "link.py").symlink_to(source / "a.py")
    copied = copy_submission(source, tmp_path / "out")
    assert [path.relative_to(tmp_path / "out").as_posix() for path in copied] == ["a.py", "sub/b.py"]
    assert copy_submission(source / "a.py", tmp_path / "one") == [tmp_path / "one/a.py"]
    with pytest.raises(TargetError, match="no such submission"):
        copy_submission(tmp_path / "nothing", tmp_path / "three")
