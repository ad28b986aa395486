"""The process that grades one submission: a request comes in, the grade goes out, signed.

Run as `python -m attention_core.grading.judge`. The key of the signature comes with the request and is a secret of
this process, so that what a submission writes into its output is not taken for a grade.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def sign(text: str, key: str) -> str:
    """The signature of a text.

    >>> sign("text", "00")[:8]
    '0611b704'
    """
    return hmac.new(bytes.fromhex(key), text.encode(), hashlib.sha256).hexdigest()


def seal(grade: Mapping[str, Any], key: str) -> bytes:
    """A grade as one line: its signature, and its JSON."""
    text = json.dumps(grade, default=str)
    return f"{sign(text, key)} {text}\n".encode()


def unseal(data: bytes, key: str) -> dict[str, Any] | None:
    """The grade of a line that is signed with the key, None where there is none.

    >>> unseal(seal({"a": 1}, "00"), "00"), unseal(seal({"a": 1}, "00"), "01")
    ({'a': 1}, None)
    """
    for line in data.decode(errors="replace").splitlines():
        signature, _, text = line.partition(" ")
        if hmac.compare_digest(signature.encode(), sign(text, key).encode()):
            found = json.loads(text)
            return found if isinstance(found, dict) else None
    return None


@contextmanager
def alone(path: str) -> Iterator[None]:
    """Hold a file's lock: of the submissions of one batch, one is timed at a time."""
    if not path:
        yield
        return
    with open(path, "ab") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(stream, fcntl.LOCK_UN)


def main() -> None:
    """Grade the submission of the request."""
    request = json.load(sys.stdin)
    from attention_core.conformance.engine.verify import be_thrifty
    from attention_core.declaration.implementation import TargetError
    from attention_core.grading.player import adopt_orphans
    from attention_core.grading.results import Grade
    from attention_core.grading.run import grade
    from attention_core.grading.task import read_task

    be_thrifty()
    adopt_orphans()
    submission = Path(request["submission"])
    try:
        task = read_task(Path(request["task"]))
        found = grade(submission, task, secret=request["secret"], alone=lambda: alone(request["lock"]),
                      dedicated=True, shown=Path(request["shown"]))  # fmt: skip
    except TargetError as error:
        found = Grade(submission.name, Path(request["task"]).stem, "error", reason=str(error))
    data = seal(found.to_dict(), request["key"])
    while data:
        data = data[os.write(sys.stdout.fileno(), data) :]


if __name__ == "__main__":
    main()
