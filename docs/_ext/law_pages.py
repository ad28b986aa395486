"""A page for every law: what it says, a fault that breaks it, when correct code is refuted, its source."""

from __future__ import annotations

import csv
import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from textwrap import wrap
from typing import Any

import heat_maps
from product import ROOT, Contract, Law, contracts, laws, named, source_of

DATA = ROOT / "docs" / "data" / "law_faults.json"
RIGHT = ROOT / "docs" / "data" / "when_right.toml"
POWER = ROOT / "docs" / "data" / "power_laws.csv"
MADE = "This page is made from the law's record when the site is built (`tox run -e docs`)."


def pages() -> Iterator[tuple[str, str]]:
    """The index, the pages, and their pictures, by their places on the site."""
    faults = json.loads(DATA.read_text(encoding="utf-8"))["laws"]
    notes = tomllib.loads(RIGHT.read_text(encoding="utf-8"))
    yield "reference/laws/index.md", index()
    for name, rows in laws().items():
        fault = faults.get(name)
        svg = heat_maps.picture(named(fault["fault"])) if fault and known(fault["fault"]) else ""
        if svg:
            yield f"made/laws/{name}.svg", svg
        yield f"reference/laws/{name}.md", page(rows, fault, notes, bool(svg))


def known(name: str) -> bool:
    """Whether the catalogue still has a fault."""
    try:
        named(name)
    except KeyError:
        return False
    return True


def index() -> str:
    """All laws by contract, one line each."""
    count = len(laws())
    lines = [
        "# Laws",
        "",
        f"{count} laws, by contract. Each has a page: what it says, a fault that breaks it with the",
        "smallest input that shows it, when correct code may be refuted, and where the law comes from.",
        "See also [what these laws do not see](../../explanation/not_covered.md).",
        "",
    ]
    for contract in contracts().values():
        lines += [f"## {contract.name}", ""]
        lines += [f"- [{breakable(law.name)}]({law.name}.md): {law.sentence}" for law in contract.laws]
        lines.append("")
    return "\n".join(lines)


def breakable(name: str) -> str:
    """A name that a narrow screen breaks only after its underscores."""
    return name.replace("_", "_<wbr>")


def page(rows: list[tuple[Contract, Law]], fault: dict[str, Any] | None, notes: dict[str, Any], pictured: bool) -> str:
    """The page of one law."""
    law = rows[0][1]
    lines = ["---", "orphan: true", "---", "", f"# {law.name.replace('_', ' ')}", "", f"**{law.sentence}**", ""]
    if law.formula:
        lines += [f"{literal(law.formula)}", ""]
    names = ", ".join(f"[{c.name}](../contracts/{c.name}.md)" for c, _ in rows)
    lines += [
        f"- Name: `{law.name}`",
        f"- Contracts: {names}",
        f"- Applies: {applies(law)}",
        f"- Source: {source(law)}",
        "",
    ]
    lines += ["## A fault that breaks it", "", *broken(law, fault, pictured)]
    lines += list(uses(law.name))
    lines += ["## When correct code is refuted", "", *correct_code(law, notes)]
    contract = rows[0][0].name
    option = "" if contract == "attention" else f" --contract {contract}"
    lines += ["## Run it alone", "", "```", f"attention-core verify mine.py:target{option} --law {law.name}", "```", ""]
    lines += [
        "One law can refute a target, but cannot alone say that it conforms: see [verdicts](../../verify.md).",
        "",
        f"*{MADE}*",
        "",
    ]
    return "\n".join(lines)


def applies(law: Law) -> str:
    """When the law applies."""
    parts = [f"where `{claim}` is claimed" for claim in sorted(law.needs)]
    if law.because:
        parts.append(f"not where {law.because}")
    return "; ".join(parts) or "always"


def source(law: Law) -> str:
    """The source, its derivation as a link."""
    link = re.sub(r"derivations/(\w+)\.md", r"[\1](../../derivations/\1.md)", law.source)
    return link or "the definition"


def broken(law: Law, fault: dict[str, Any] | None, pictured: bool) -> Iterator[str]:
    """The fault, its picture, its smallest case and its snippet."""
    if fault is None:
        yield f"The suite's own tests check that the law refutes `{law.fault}`. No snippet of it is kept: it needs a"
        yield from ("process of its own, or more calls than fit on a page.", "")
        return
    yield from (fault["about"], "")
    if known(fault["fault"]) and (code := source_of(fault["fault"])):
        yield from (f"The fault `{fault['fault']}` of the catalogue:", "", *code_block(code))
    if pictured:
        yield from (f"![The weights of correct code, and those of the fault](../../made/laws/{law.name}.svg)", "")
    yield from (
        "The smallest case that was found:",
        "",
        "```text",
        fault["case"] or "(the law makes a call of its own)",
    )
    yield from (*message(fault["message"]), "```", "")
    if fault["snippet"]:
        yield from ("The counterexample as a program, which needs neither this project nor a seed:", "")
        yield from code_block(fault["snippet"])
    else:
        yield from ("Its snippet would hold a whole model; `attention-core verify` prints the one for yours.", "")
    if fault["declared"]:
        words = ", ".join(f"`{name}={value}`" for name, value in fault["declared"].items() if value)
        yield from ((f"The fault is declared with {words}.", "") if words else ())


@cache
def power_by_law() -> tuple[dict[str, str], ...]:
    """The rows of the measurement."""
    with POWER.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def uses(name: str) -> Iterator[str]:
    """How many faults of the catalogue the law refutes, as measured."""
    rows = [row for row in power_by_law() if row["law"] == name and int(row["refutes"])]
    for row in rows:
        alone = len(row["alone"].split())
        places = [("first", int(row["first"])), ("only law", alone)]
        words = " and ".join(f"the {place} to refute {count} of them" for place, count in places if count)
        yield (
            f"At quick effort it refutes {row['refutes']} of the `{row['contract']}` faults in the "
            f"[catalogue](../../power.md){'; it is ' if words else ''}{words}."
        )
        yield ""


def code_block(code: str) -> Iterator[str]:
    """Python, in a fence that no line of it ends."""
    yield from ("````python", *code.rstrip().splitlines(), "````", "")


def literal(text: str) -> str:
    """Text as code within a line, which wraps on a narrow screen."""
    fence = "``" if "`" in text else "`"
    space = " " if "`" in text else ""
    return f"{fence}{space}{text}{space}{fence}"


def message(text: str) -> list[str]:
    """A message, cut where it goes on for long."""
    return wrap(text if len(text) <= 400 else text[:400] + " ...", 80, break_long_words=False)


def correct_code(law: Law, notes: dict[str, Any]) -> Iterator[str]:
    """When correct code breaks a law, and what it then has to declare: the text of this law, or of its family."""
    note = notes["law"].get(law.name) or notes["family"].get(law.family.replace("-", "_"))
    if note is None:
        raise KeyError(f"{RIGHT.name} says nothing of the family {law.family!r} of the law {law.name}")
    yield from (note.strip(), "")
