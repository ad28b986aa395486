"""What the grader checks of the machine around a submission: its own files, and processes that were left behind."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import attention_core
from attention_core.declaration.implementation import TargetError
from attention_core.grading.player import Player, find_strangers, scheduling
from attention_core.grading.rules import Refused

LEFT_OUT = ("__pycache__", ".git", "node_modules", "venv", ".venv")
LARGEST = 50 << 20
"""Bytes of the largest submission."""


class Files:
    """Fingerprints of files, as they are when it is made.

    Args:
        paths: files, and folders whose Python and JSON files count.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self.paths = tuple(paths)
        self.kept = self._look()

    def _look(self) -> dict[Path, str]:
        found: dict[Path, str] = {}
        for path in self.paths:
            inside = path.rglob("*") if path.is_dir() else [path]
            for file in inside:
                if file.suffix in (".py", ".json", ".toml") and file.is_file():
                    found[file] = hashlib.sha256(file.read_bytes()).hexdigest()
        return found

    def changes(self) -> list[str]:
        """The names of files that are others now, new or gone."""
        now = self._look()
        return [self._name(path) for path in {**self.kept, **now} if self.kept.get(path) != now.get(path)]

    def _name(self, path: Path) -> str:
        """A file as a person finds it: under the name of the folder that is watched."""
        folder = next((folder for folder in self.paths if folder in path.parents), None)
        return path.name if folder is None else f"{folder.name}/{path.relative_to(folder).as_posix()}"


def grader_files(*more: Path) -> Files:
    """The files of this package, and others that a verdict depends on."""
    return Files([Path(attention_core.__file__).parent, *more])


class Machine:
    """How the processes of a stage are scheduled, as it is when this is made.

    Args:
        players: the submission's process and the reference's.
        dedicated: whether this process grades and does nothing else: all its descendants are then theirs.
    """

    def __init__(self, *players: Player, dedicated: bool = False) -> None:
        self.players, self.dedicated = players, dedicated
        self.kept = [player.scheduling() for player in players]
        self.own = scheduling(os.getpid())

    def check(self) -> None:
        """Refuse what a submission did to the machine.

        Raises: Refused.
        """
        if left := find_strangers(*self.players) if self.dedicated else self.players[0].others():
            raise Refused("leaves_processes", f"running beside its calls: {', '.join(left[:3])}")
        for player, kept in zip(self.players, self.kept, strict=True):
            if not player.closed and (now := player.scheduling()) != kept:
                words = f"priority and processors of process {player.pid} are {now}, not {kept}"
                if scheduling(os.getpid()) != self.own:  # the grader was changed as well: no time of this run counts
                    raise TargetError(f"the grader's own priority or processors changed: grade it again ({words})")
                raise Refused("changes_scheduling", words)


def check_files(files: Files) -> None:
    """Refuse changes of the grader's files.

    Raises: Refused.
    """
    if changed := files.changes():
        names = f"{', '.join(changed[:3])}{f' and {len(changed) - 3} more' if len(changed) > 3 else ''}"
        raise Refused("changes_grader", f"{names} changed on disk while it was graded")


def copy_submission(path: Path, to: Path) -> list[Path]:
    """Copy a file, or a folder of files, so that what was handed in stays as it is.

    Returns: the files that were copied.
    Raises: TargetError: there is nothing, or too much.
    """
    if path.is_file():
        to.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.copyfile(path, to / path.name))]
    if not path.is_dir():
        raise TargetError(f"no such submission: {path}")
    files = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file() and not file.is_symlink() and not set(file.relative_to(path).parts) & set(LEFT_OUT)
    ]
    if (size := sum(file.stat().st_size for file in files)) > LARGEST:
        raise TargetError(f"{path} holds {size >> 20} MiB, and at most {LARGEST >> 20} are graded")
    copied = []
    for file in files:
        place = to / file.relative_to(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        copied.append(Path(shutil.copyfile(file, place)))
    return copied
