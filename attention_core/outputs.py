"""Files that commands write: whether one can be written is known at the door, not at the end of a long run."""

from __future__ import annotations

import os
from pathlib import Path


def why_not_writable(path: str | Path) -> str:
    """Say why a file could not be written; "" where it could.

    Example:
        >>> why_not_writable("found/x.json")
        'there is no folder found'
        >>> why_not_writable("x.json")
        ''
    """
    if not str(path):
        return "it names no file"
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        return f"there is no folder {Path(path).parent}"
    if os.path.isdir(path):
        return "it is a folder"
    try:
        os.stat(path)
    except FileNotFoundError:
        return "" if os.access(folder, os.W_OK) else "no permission"
    except OSError as error:  # a name that is too long
        return str(error.strerror)
    return "" if os.access(path, os.W_OK) else "no permission"
