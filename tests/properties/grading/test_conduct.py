"""What a submission leaves behind: files of the grader, processes; and the copy that is graded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attention_core.declaration.implementation import TargetError
from attention_core.grading.conduct import Files, check_conduct, copy_submission
from attention_core.grading.rules import Refused


class Quiet:
    left: tuple[str, ...] = ()

    def others(self) -> list[str]:
        return list(self.left)


@pytest.mark.parametrize("change", ["another text", "a new file", "one is gone"])
def test_files_that_change_are_seen(tmp_path: Path, change: str) -> None:
    (tmp_path / "rooms").mkdir()
    (tmp_path / "rooms/a.py").write_text("x = 1")
    files, player = Files([tmp_path]), Quiet()
    check_conduct(_as_player(player), files)
    if change == "another text":
        (tmp_path / "rooms/a.py").write_text("x = 2")
    elif change == "a new file":
        (tmp_path / "rooms/b.json").write_text("{}")
    else:
        (tmp_path / "rooms/a.py").unlink()
    with pytest.raises(Refused, match="changed while it ran") as found:
        check_conduct(_as_player(player), files)
    assert found.value.rule == "changes_grader"


def test_processes_that_are_left_are_seen(tmp_path: Path) -> None:
    player = Quiet()
    player.left = ("sleep (7)",)
    with pytest.raises(Refused, match="sleep") as found:
        check_conduct(_as_player(player), Files([tmp_path]))
    assert found.value.rule == "leaves_processes"


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


def _as_player(quiet: Quiet) -> Any:
    return quiet
