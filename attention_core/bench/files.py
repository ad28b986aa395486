"""Files that a run writes: whole or not at all, through links, and refused at the door where that could not be done.

Neither the mode of a file that is there nor the link that leads to it is changed.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from attention_core.declaration.implementation import TargetError


def beside(path: Path) -> Path:
    """Where a file is written before it takes its name.

    Example:
        >>> beside(Path("r.json")).name.startswith(".r.json.")
        True
    """
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def check_writable(path: str | Path, option: str) -> None:
    """Refuse a file that could not be written at the end of a long run: it is tried beside it.

    Args: path; option, how messages begin, e.g. "--json r.json".
    Raises: TargetError.
    """
    why = f"{option} cannot be written"
    if not str(path):
        raise TargetError(f"{why}: it names no file")
    try:
        mode = mode_of(path)
        target = Path(os.path.realpath(path))
        if not target.parent.is_dir():
            raise TargetError(f"{why}: there is no folder {Path(path).parent}")
        if mode is not None and not os.access(target, os.W_OK):
            raise TargetError(f"{why}: no permission")
        beside(target).touch()  # the file that is written before it takes the name
        beside(target).unlink()
    except OSError as error:
        raise TargetError(f"{why}: {error.strerror}") from None
    except ValueError as error:  # a name that no system takes
        raise TargetError(f"{why}: {error}") from None


def mode_of(path: str | Path) -> int | None:
    """The permissions of a file, None where there is none. Raises: OSError if it is not a regular file."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise OSError(0, "it is a folder" if stat.S_ISDIR(mode) else "it is not a regular file")
    return stat.S_IMODE(mode)


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all, so that an interruption leaves the last complete one.

    Raises: TargetError: it cannot be written.
    """
    target = Path(os.path.realpath(path))  # of a link: what it leads to
    part = beside(target)
    data = text.encode()
    try:
        mode = mode_of(target)
        part.write_bytes(data)
        if mode is not None:
            part.chmod(mode)
        part.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise TargetError(f"{path} cannot be written: {error.strerror}") from error
