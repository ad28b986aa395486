"""A page of figures in two parts: what a person reads, and every row as CSV.

The benchmark writes a table for each workload, with a row for each kernel. A page has one row for each workload.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

COLUMNS = ("section", "workload", "limit", "kernel", "time", "ratio", "verdict", "of limit", "memory", "error", "ran")
CELL = re.compile(r"^\*\*(.+?)\*\*(?: \(limit (.*)\))?\n\n((?:\|.*\n?)+)", re.MULTILINE)
BASELINE, OURS = "torch:default", "auto"


@dataclass(frozen=True)
class Table:
    """One workload: its name, the limit of the machine, and a row a kernel by the heads of the table."""

    workload: str
    limit: str
    rows: tuple[Mapping[str, str], ...]

    def of(self, kernel: str) -> Mapping[str, str]:
        """The row of a kernel; empty where it is not in the table."""
        return next((row for row in self.rows if row["kernel"] == kernel), {})


def split(markdown: str) -> tuple[list[Table], str]:
    """The tables of a section, and what is left of it (doubts, exponents of growth).

    >>> cell = "**n=8 fwd** (limit 1 µs, matmul)\\n\\n| kernel | time |\\n| --- | --- |\\n| auto | 2 µs |\\n"
    >>> tables, left = split(cell + "\\nA doubt.\\n")
    >>> tables[0].workload, tables[0].of("auto")["time"], left
    ('n=8 fwd', '2 µs', 'A doubt.')
    """
    found = [Table(name, limit, tuple(rows(text))) for name, limit, text in CELL.findall(markdown)]
    return found, re.sub(r"\n{3,}", "\n\n", CELL.sub("", markdown)).strip()


def rows(table: str) -> Iterator[Mapping[str, str]]:
    """The rows of a Markdown table, by its heads."""
    lines = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
             for line in table.strip().splitlines()]  # fmt: skip
    for line in lines[2:]:
        yield dict(zip(lines[0], line, strict=True))


def summary(tables: Sequence[Table]) -> str:
    """One row a workload: torch's default, `auto` with its ratio, the fastest kernel, and the share of the limit."""
    lines = [
        f"| workload | {BASELINE} | {OURS} | time / {BASELINE} | fastest | its share of the limit |",
        "|---|--:|--:|---|---|--:|",
    ]
    for table in tables:
        ours, theirs = table.of(OURS), table.of(BASELINE)
        timed = [row for row in table.rows if row["time"]]
        fastest = timed[0] if timed else {}  # tables are ordered by time
        ratio = " ".join(word for word in (ours.get("ratio", ""), verdict(ours)) if word)
        cells = (
            table.workload, theirs.get("time", ""), ours.get("time", ""), ratio,
            f"`{fastest['kernel']}` {fastest['time']}" if fastest else "none", fastest.get("of limit", ""),
        )  # fmt: skip
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def verdict(row: Mapping[str, str]) -> str:
    """The verdict of a row, where it compares."""
    return "" if row.get("verdict", "baseline") == "baseline" else row["verdict"]


def write(path: Path, sections: Mapping[str, Sequence[Table]]) -> None:
    """Every row of every table as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for section, tables in sections.items():
            for table in tables:
                writer.writerows(
                    (section, table.workload, table.limit, *(row[name] for name in COLUMNS[3:])) for row in table.rows
                )
