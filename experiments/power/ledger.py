"""What is kept of the runs of correct targets, in a file of the project: `alarms.json`, a line a target and effort.

A hundred seeds take hours; each run of alarms.py adds the seeds that it did, so that many machines share the work.
Entries are keyed by the code that a result depends on: those of older code are left out when the file is next written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import store

from finetune.faults.catalogue import CORRECT

LEDGER = Path(__file__).with_name("alarms.json")
EFFORTS = ("quick", "standard")
Line = Mapping[str, Any]


@dataclass
class Entry:
    """The runs of one target at one effort.

    Args:
        name, effort: of the target and its runs. key: of the code, without the seed.
        seeds: those that were run, rising. laws: how many judged, over all of them.
        seconds: of a run, the median on the machine that was first. processors: where they were run.
        refuting, odd: of the seeds where a law refuted, or did what it should not, which laws.
    """

    name: str
    effort: str
    key: str
    seeds: list[int] = field(default_factory=list)
    laws: int = 0
    seconds: float = 0.0
    processors: list[str] = field(default_factory=list)
    refuting: dict[str, list[str]] = field(default_factory=dict)
    odd: dict[str, list[str]] = field(default_factory=dict)

    def add(self, lines: Iterable[Line], processor: str) -> None:
        """Take the runs of seeds that are not there yet."""
        new = {line["seed"]: line for line in lines if line["seed"] not in self.seeds}
        if not new:
            return
        self.seconds = self.seconds or round(median(line["seconds"] for line in new.values()), 2)
        self.seeds = sorted({*self.seeds, *new})
        self.laws += sum(line["laws"] for line in new.values())
        self.processors = sorted({*self.processors, processor})
        for kind in ("refuting", "odd"):
            getattr(self, kind).update({str(seed): list(line[kind]) for seed, line in new.items() if line[kind]})


def code_key(file: str, name: str, effort: str) -> str:
    """A short name of the code that a target's runs depend on."""
    return store.key(file, name, effort, "alarms")


def read(path: Path = LEDGER) -> list[Entry]:
    """The entries of the file that are of this code."""
    files = {row.name: row.file for row in CORRECT}
    entries = [Entry(**entry) for entry in json.loads(path.read_text())] if path.exists() else []
    known = [entry for entry in entries if entry.name in files and entry.effort in EFFORTS]
    return [entry for entry in known if code_key(files[entry.name], entry.name, entry.effort) == entry.key]


def take(lines: Sequence[Line], processor: str, path: Path = LEDGER) -> list[Entry]:
    """Add kept lines, of this code, to the file; what it then holds."""
    entries = {(e.name, e.effort): e for e in read(path)}
    files = {row.name: row.file for row in CORRECT}
    for name, effort in dict.fromkeys((line["name"], line["effort"]) for line in lines):
        new = Entry(name, effort, code_key(files[name], name, effort))
        mine = [line for line in lines if (line["name"], line["effort"]) == (name, effort)]
        entries.setdefault((name, effort), new).add(mine, processor)
    found = sorted(entries.values(), key=lambda e: (EFFORTS.index(e.effort), e.name))
    path.write_text("[\n" + ",\n".join(json.dumps(written(e)) for e in found) + "\n]\n" if found else "[]\n")
    return found


def written(entry: Entry) -> dict[str, Any]:
    """An entry as it is written, without what is empty."""
    return {key: value for key, value in asdict(entry).items() if value}


def runs(entries: Iterable[Entry]) -> Iterator[tuple[str, str, int]]:
    """(name, effort, seed) of every run."""
    return ((e.name, e.effort, seed) for e in entries for seed in e.seeds)
