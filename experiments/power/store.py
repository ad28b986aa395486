"""Results on disk: one JSON line per finished piece of work, keyed by the code that was run, so that a run goes on.

A key is a hash of all that the result depends on: the suite, the fault, what its row declares, the versions, the seed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SUITE = ("attention_core/conformance", "attention_core/declaration", "attention_core/oracle", "attention_core/worker")
LISTED = ("finetune_contracts", "classifier_contracts")
FINETUNE = (tuple(f"finetune.faults.{name}" for name in LISTED), "finetune/laws")
"""The modules that list the faults of finetune's contracts, and the folder of their laws, which they follow, too."""
ALIKE: dict[str, str] = {}
"""Suites by their hash, and older ones that judge alike, so that their results stand: `alike.py` runs a sample of them
again, law by law. Rows of finetune's contracts have a hash of their own, as their laws are hashed with the suite."""
IMPORTED = re.compile(r"^from ((?:attention_core|finetune)\.faults[.\w]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


@cache
def suite(*more: str) -> str:
    """A hash of the suite's code (and of further folders) and of the versions that matter."""
    digest = hashlib.sha256()
    for folder in (*SUITE, *more):
        for file in sorted((ROOT / folder).rglob("*.py")):
            digest.update(str(file.relative_to(ROOT)).encode())
            digest.update(file.read_bytes())
    for package in ("torch", "numpy", "hypothesis"):
        digest.update(version(package).encode())
    return ALIKE.get(digest.hexdigest(), digest.hexdigest())


def sources(name: str) -> dict[str, str]:
    """The text of one module of the faults, and of those of the faults that it imports, by name."""
    found: dict[str, str] = {}
    todo = [name]
    while todo:
        this = todo.pop()
        path = ROOT / (this.replace(".", "/") + ".py")
        if this in found or not path.exists():
            continue
        found[this] = path.read_text()
        for base, names in IMPORTED.findall(found[this]):
            todo += [base, *(f"{base}.{part.split()[0]}" for part in names.strip("()").split(",") if part.split())]
    return found


@cache
def module(name: str) -> str:
    """A hash of one module of the faults and of those that it imports."""
    return hashlib.sha256(json.dumps(sorted(sources(name).items())).encode()).hexdigest()


@cache
def rows() -> dict[str, Any]:
    """The rows of the catalogue by name; read where a key is asked for, since that imports every fault."""
    from finetune.faults.catalogue import CORRECT, FAULTS

    return {row.name: row for row in (*FAULTS, *CORRECT)}


def declared(name: str) -> list[Any]:
    """What a row declares of its target, which stands in the catalogue and not beside the target; of others nothing."""
    if name not in rows():
        return []
    return [[field, plain(value)] for field, value in sorted(rows()[name].record.items())]


def plain(value: Any) -> Any:
    """A declared value as text: a function by its code."""
    code = getattr(value, "__code__", None)
    return repr(value) if code is None else [code.co_code.hex(), repr(code.co_consts), repr(code.co_names)]


def key(file: str, name: str, *parts: Any) -> str:
    """A short name of one piece of work on the target `name` of module `file`."""
    listed, laws = FINETUNE
    code = suite(laws) if any(file in sources(each) for each in listed) else suite()
    found = [code, module(file), declared(name), name, *parts]
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]


class Store:
    """The lines of one file; writing appends and flushes, so an interrupted run loses nothing but its last piece."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.read_bytes().endswith(b"\n"):  # cut off; what is added starts a line of its own
            with path.open("a") as file:
                file.write("\n")

    def lines(self) -> Iterator[dict[str, Any]]:
        """Every whole line, in the order of writing."""
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                try:
                    yield json.loads(line)
                except json.JSONDecodeError:  # cut off by an interruption; that piece is run again
                    continue

    def known(self) -> dict[str, dict[str, Any]]:
        """Key -> line; of several the last."""
        return {line["key"]: line for line in self.lines()}

    def add(self, line: dict[str, Any]) -> None:
        """Append one line."""
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
