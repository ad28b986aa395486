"""What an audit has found so far, line by line in a file, so that a run that was ended goes on."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from attention_core import __version__

SOURCES = ("audit", "faults", "conformance", "oracle", "declaration")
"""Rooms of this package that decide what an audit finds."""


class Log:
    """Lines of JSON by name: the first says what the audit is of, and a file about something else is begun anew.

    Args: path, of the file; None keeps nothing. key, of the audit.
    """

    def __init__(self, path: Path | None, key: str) -> None:
        self.path, self.known = path, dict[str, dict[str, Any]]()
        if path is None:
            return
        lines = read_lines(path)
        if lines and lines[0] == {"audit": key}:
            self.known = {str(line["name"]): line for line in lines[1:] if "name" in line}
            if not path.read_bytes().endswith(b"\n"):  # a line was cut off: the next one begins below it
                self._append(b"\n")
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.{os.getpid()}")
        new.write_text(json.dumps({"audit": key}) + "\n", encoding="utf-8")
        new.replace(path)

    def add(self, name: str, found: Mapping[str, Any]) -> None:
        """Keep what was found under a name: one write, which is there whole or not at all for who reads it later."""
        line = {"name": name, **found}
        self.known[name] = line
        self._append((json.dumps(line) + "\n").encode())

    def _append(self, line: bytes) -> None:
        if self.path is None:
            return
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a log; what was cut off in writing is left out."""
    if not path.is_file():
        return []
    found = []
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict):
            found.append(line)
    return found


def open_logs(
    target: str, file: str, tests: Sequence[str], of_target: Any, of_suite: Any, path: Path | None = None,
    laws: Path | None = None,
) -> tuple[Log, Log]:  # fmt: skip
    """The log of an audit, and that of what the laws answer about faults in the target's place, whatever the suite.

    Args:
        target, file: what is audited, and the file that defines it. tests: of the audit.
        of_target: further settings that decide what the laws answer; of_suite: what becomes of faults.
        path: of the log; None for one in the user's cache, outside the tree that is audited.
        laws: of the second one; None for one beside the first.
    """
    around = [Path(file).parent] if file else []
    of_laws = fingerprint(around, [target, of_target])
    key = fingerprint(
        [*around, *(Path(test.partition("::")[0]) for test in tests)], [target, of_target, of_suite, tests]
    )
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attention-core" / "audit"
    beside = cache / f"{of_laws[:16]}.jsonl" if path is None else path.with_name(f"{path.name}.laws")
    return Log(path or cache / f"{key[:16]}.jsonl", key), Log(laws or beside, of_laws)


def fingerprint(places: Iterable[Path], settings: Any) -> str:
    """What decides results: some files and folders, the settings, the catalogue, the laws, and versions."""
    own = Path(__file__).resolve().parents[1]
    versions = [__version__, version("torch"), sys.version, platform.machine()]
    digest = hashlib.sha256(json.dumps([settings, versions], default=str).encode())
    for path in sorted({*(p for room in SOURCES for p in (own / room).rglob("*.py")), *sources(places)}):
        digest.update(str(path).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def sources(places: Iterable[Path]) -> list[Path]:
    """The Python files of some files and folders, and the conftest files above them."""
    found: set[Path] = set()
    for place in (place.resolve() for place in places):
        found |= {place} if place.is_file() else set(place.rglob("*.py"))
        found |= {above / "conftest.py" for above in place.parents if (above / "conftest.py").is_file()}
    return sorted(found)
