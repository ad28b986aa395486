"""Reading a file of JSON: whatever cannot be read is one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attention_core.declaration.errors import TargetError


def read_json(path: Path) -> Any:
    """Return the value that a file holds.

    Args:
        path: JSON in UTF-8.

    Raises:
        TargetError: the file cannot be read or is not JSON; deep nesting, which Python's parser gives up on, is not.

    Example:
        >>> _ = Path("one.json").write_text('{"a": 1}')
        >>> read_json(Path("one.json"))
        {'a': 1}
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TargetError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise TargetError(f"{path} is not JSON: {error}") from error
