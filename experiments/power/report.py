"""Write docs/power.md, its picture and its data from the kept results of run.py, compare.py and alarms.py.

The page has what a person reads; every law and every fault is a row of docs/data/power_laws.csv and power_faults.csv.

python experiments/power/report.py

Where faults were left at their first refutation at quick (`run.py --first`), the picture and the table of laws stay as
they are, and the page says of which commit. So does a section whose runs are not kept.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import figures
import ledger
import peers
import picture
import run
import store

from attention_core.audit import first_laws
from attention_core.audit.choice import CONTRACTS
from attention_core.conformance.contracts import find_contract
from attention_core.faults.known import NOT_REDUCIBLE
from finetune.faults.catalogue import CORRECT, FAULTS

ROWS = {row.name: row for row in (*FAULTS, *CORRECT)}
Line = Mapping[str, Any]


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=run.RESULTS)
    parser.add_argument("--ledger", type=Path, default=ledger.LEDGER, help="the runs of correct targets")
    parser.add_argument("--any-code", action="store_true", help="take results of other versions of the code, too")
    parser.add_argument("--busy", action="store_true", help="say that the machine had other work when it was measured")
    parser.add_argument("--docs", type=Path, default=store.ROOT / "docs")
    chosen = parser.parse_args(argv)
    trials, compared = (
        list(store.Store(chosen.results / f"{kind}.jsonl").known().values()) for kind in ("trials", "peers")
    )
    compared = current_rules(compared, chosen.any_code)
    alarms = ledger.read(chosen.ledger)
    quick, standard = (current(trials, effort, chosen.any_code) for effort in ("quick", "standard"))
    whole, page = all(line["whole"] for line in quick.values()), chosen.docs / "power.md"
    old = page.read_text() if page.exists() else ""
    decided = standard if whole else {n: line for n, line in quick.items() if line["refuting"]} | dict(standard)
    lines = [
        *opening(quick, decided, "" if whole else measured_at(old), busy=chosen.busy),
        *summary(quick, decided, standard),
        *first_sight(),
        *survivors(quick, decided),
        *no_faults(),
    ]
    lines += others(compared, quick, decided, alarms) if compared else kept_section(old, PEERS)
    lines += false_alarms(alarms) if alarms else kept_section(old, ALARMS)
    page.write_text("\n".join([*lines, *data()]).rstrip() + "\n")
    faults = chosen.docs / "data" / "power_faults.csv"
    before = {} if whole or not faults.exists() else {row["fault"]: row for row in read_table(faults)}
    write_table(faults, FAULT_COLUMNS, matrix(quick, standard, before))
    if chosen.docs == store.ROOT / "docs":
        write_first_laws(faults)
    if whole:
        write_table(chosen.docs / "data" / "power_laws.csv", LAW_COLUMNS, laws(quick))
        picture.draw(quick, ROWS, chosen.docs / "pictures" / "power.png")
    if chosen.docs == store.ROOT / "docs":  # the page that quotes these numbers
        command = ["experiments/tests_of_attention/run.py", "--write", "docs/tests_of_attention.md"]
        subprocess.run([sys.executable, *command], cwd=store.ROOT, check=True)


PEERS, ALARMS = "## Other suites' rules on the same targets", "## False alarms"
MEASURED = re.compile(r"measured at commit\s`(\w+)`")


def measured_at(page: str) -> str:
    """The commit of which a page's picture and sections are, unless they say another.

    >>> measured_at("hash `d9b4`, commit `2ad31be3`; torch"), measured_at("commit `new`, measured at commit `old`")
    ('2ad31be3', 'old')
    """
    found = MEASURED.search(page) or re.search(r"commit `(\w+)`", page)
    return found[1] if found else "unknown"


def kept_section(page: str, title: str) -> list[str]:
    """A section of the page as it stands, with the commit that it was measured at."""
    _, there, rest = page.partition(f"{title}\n\n")
    body = rest.partition("\n## ")[0].rstrip("\n")
    if not there:
        return [title, "", "Not run.", ""]
    said = [] if MEASURED.search(body) else [f"This section was measured at commit `{measured_at(page)}`.", ""]
    return [title, "", *said, *body.split("\n"), ""]


def current(trials: Sequence[Line], effort: str, any_code: bool) -> dict[str, Line]:
    """Name -> its trial at an effort and seed 0, on this code; whole runs before those that stopped."""
    found: dict[str, Line] = {}
    for line in sorted(trials, key=lambda t: bool(t["whole"])):
        row = ROWS.get(line["name"])
        if row is None or (line["effort"], line["seed"]) != (effort, 0):
            continue
        if any_code or line["key"] == store.key(row.file, row.name, effort, 0, line["whole"]):
            found[row.name] = line
    return found


def current_rules(compared: Sequence[Line], any_code: bool) -> list[Line]:
    """The verdicts of other suites' rules on this code; of several on one row, as of older code, the newest."""
    found: dict[tuple[str, str], Line] = {}
    for line in compared:
        row = ROWS.get(line["name"])
        if row is not None and (any_code or line["key"] == store.key(row.file, row.name, line["rule"])):
            found[row.name, line["rule"]] = line
    return list(found.values())


def commit() -> str:
    """The commit of this checkout, where git knows it."""
    asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=store.ROOT, capture_output=True, text=True)
    return asked.stdout.strip() or "unknown"


def opening(
    quick: Mapping[str, Line], standard: Mapping[str, Line], older: str, *, busy: bool = False
) -> Iterator[str]:  # fmt: skip
    """What this page is, its figures in short, and what they do not speak of.

    Args: older: the commit of kept parts. busy: whether the machine had other work.
    """
    later = json.loads(FIRST_SIGHT.read_text())["later"]
    unknown, seen = (sum(one[what] for one in later) for what in ("faults", "quick"))
    low, high = figures.interval(seen, unknown)
    faulty = [row.name for row in FAULTS if row.faulty]
    rates = (figures.rate(found[n] for n in faulty if n in found) for found in (quick, standard))
    yield from (
        "# Detection power", "",
        f"**Of {unknown} faults that were unknown when the laws were written (the last {len(later)} sets),",
        f"{seen} were refuted at first sight at quick ({100 * seen / unknown:.0f} %; 95 % interval: {100 * low:.0f} to",
        f"{100 * high:.0f} %).**",
        "Expect this rate for your next fault.", *hunt_lines(),
        "The laws have since been extended to catch most faults of the catalogue: of all of them,",
        f"{' are refuted today at quick, and '.join(rates)} at standard. In the tables, a dash means: not run.", "",
        "What this does not cover: every target ran on a CPU, in torch, NumPy or JAX. Faults that show only on a",
        "GPU, at lengths above about 2000, or within a dtype's derived rounding budget are not among them.", "",
        "Every fault of the catalogue (`attention_core/faults/catalogue.py`) was run against all laws of its contract,",
        "in one run. `tox run -e power` writes this page; nothing is typed by hand. Seconds are CPU seconds on one",
        "thread, from the start of a session to the first refutation, before the counterexample is shrunk.",
        *([BUSY] if busy else []),
        *(PARTIAL.format(older=older).split("\n") if older else WHOLE.split("\n")),
        f"Laws and oracle: hash `{store.suite()[:12]}`, commit `{commit()}`, {date.today()}; torch {version('torch')},",
        f"NumPy {version('numpy')}, Hypothesis {version('hypothesis')}. Seed 0, except for the false alarms.", "",
        "![Which laws refute which faults](pictures/power.png)", "",
    )  # fmt: skip


def hunt_lines() -> Iterator[str]:
    """What the laws made of faults that were written to find their holes."""
    for one in json.loads(FIRST_SIGHT.read_text())["hunts"]:
        found = f"{one['quick']} were refuted ({100 * one['quick'] / one['faults']:.0f} %)"
        yield f"Of {one['faults']} that an author wrote to find gaps in the laws, {found}."


BUSY = "The machine was busy at the time, so they are higher than on a quiet one."
WHOLE = """At quick all laws are run on every fault. At standard, which begins with the cases of quick, a fault is
dropped at its first refutation."""
PARTIAL = """A fault is dropped at its first refutation. Standard begins with the cases of quick, so only faults that
quick did not refute were run at standard. Which other laws refute a fault (the picture, data/power_laws.csv,
laws_at_quick in data/power_faults.csv), and the smallest cases, were measured at commit `{older}`."""


def summary(
    quick: Mapping[str, Line], standard: Mapping[str, Line], timed: Mapping[str, Line]
) -> Iterator[str]:  # fmt: skip
    """Rates per contract, of real faults, hard ones, and those at first sight; `timed`: the runs at standard."""
    yield from ("## Rates", "", "| faults | of | quick | standard | seconds at quick, median / worst | at standard |")
    yield "|---|--:|--:|--:|--:|--:|"
    faulty = [row.name for row in FAULTS if row.faulty]
    groups = dict(figures.by_contract(faulty, ROWS))
    groups |= {f"*{label}*": [n for n in faulty if tag in ROWS[n].tags] for tag, label in TAGS.items()}
    groups["**all**"] = faulty
    for label, names in groups.items():
        q, s, t = ([found[n] for n in names if n in found] for found in (quick, standard, timed))
        times = figures.seconds(q), figures.seconds(t)
        yield f"| {label} | {len(names)} | {figures.rate(q)} | {figures.rate(s)} | {times[0]} | {times[1]} |"
    yield from (
        "", "The groups in italics overlap: a fault may be both real and hard. Hard ones are correct on what tests",
        "usually try: aligned sizes, contiguous inputs, one batch, float32, the first call, two gradients of three.",
        "Those written along with a law are refuted by construction, but still count in the last row.", "",
    )  # fmt: skip


TAGS = {
    "real": "real faults, from public threads",
    "hard": "hard faults of our making",
    "set-1": "of these, written last, laws unseen",
    "set-2": "of these, a second set, laws frozen and unseen",
    "set-3": "of these, a third set, laws unseen",
    "set-4": "of these, a fourth set, laws and faults unseen",
    "set-5": "of these, a fifth set, laws and faults unseen",
    "law": "written beside a law",
}
BLIND = ("set-1", "set-2", "set-3", "set-4", "set-5")
FIRST_SIGHT = Path(__file__).with_name("first_sight.json")


def first_sight() -> Iterator[str]:
    """What the laws refuted of each set written without a look at them, when they met it first: kept figures."""
    yield from (
        "## First sight", "",
        "Each set was written in one go without looking at the laws. These are the rates at the time when the laws",
        "first met them, with Clopper and Pearson's 95 % interval; the rates above are today's. The first five",
        "sets are part of the catalogue, the later ones are not. The hunt is not such a set: its author looked for",
        "holes, and wrote much of it after the first verdicts.", "",
        "| set | faults | laws of commit | quick | standard |", "|---|--:|---|---|---|",
    )  # fmt: skip
    missed, kept = [], json.loads(FIRST_SIGHT.read_text())
    for one in kept["sets"]:
        n, rates = one["faults"], []
        for effort in ("quick", "standard"):
            low, high = figures.interval(one[effort], n)
            rates.append(f"{one[effort]} ({100 * one[effort] / n:.0f} %, {100 * low:.0f} to {100 * high:.0f} %)")
        yield f"| {one['set']} | {n} | {one['laws']} | {' | '.join(rates)} |"
        missed += (
            [f"* {one['set']}: {'; '.join(m['seen_by'].split(';')[0] for m in one['missed'])}"] if one["missed"] else []
        )
    for one in [*kept["later"], *kept["hunts"]]:
        low, high = figures.interval(one["quick"], one["faults"])
        rate = f"{one['quick']} ({100 * one['quick'] / one['faults']:.0f} %, {100 * low:.0f} to {100 * high:.0f} %)"
        yield f"| {one['set']} | {one['faults']} | {one['laws']} | {rate} | {one.get('standard', 'not counted')} |"
        missed += [f"* {one['set']}: {'; '.join(one['missed'])}"] if one["missed"] else []
    yield from (
        "", "What was missed then, described by the inputs that would have shown it. How each set was written and",
        "counted, and the names of the faults, are in `experiments/power/first_sight.json`.", "", *missed, "",
    )  # fmt: skip


def survivors(quick: Mapping[str, Line], standard: Mapping[str, Line]) -> Iterator[str]:
    """Faults that no law refuted."""
    yield from ("## Not refuted", "", "Faults that no law sees today, at the effort named.", "")
    for label, found in (("standard", standard), ("quick", quick)):
        if not found:
            yield f"* {label}: not run on this code"
            continue
        missed = [n for n, line in found.items() if not line["refuting"] and ROWS[n].faulty]
        yield f"* {label}: " + ("none" if not missed else "")
        yield from (f"  * `{name}`: {ROWS[name].about}" for name in sorted(missed))
    yield ""


def no_faults() -> Iterator[str]:
    """Rows that look like faults and are none."""
    yield from ("## Not counted", "", "| fault | why | argument |", "|---|---|---|")
    for row in FAULTS:
        if not row.faulty:
            yield f"| `{row.name}` | {row.expected} | {row.argument} |"
    yield from ("", "Real faults that have no row of their own:", "")
    yield from (f"* {bug}: {why}" for bug, why in NOT_REDUCIBLE.items())
    yield ""


def others(
    compared: Sequence[Line],
    quick: Mapping[str, Line],
    standard: Mapping[str, Line],
    alarms: Sequence[ledger.Entry],
) -> Iterator[str]:
    """The table of peers."""
    by_name = Counter(line["name"] for line in compared)
    names = {name for name, rules in by_name.items() if rules == len(peers.RULES)}
    faulty = sorted(n for n in names if n in ROWS and ROWS[n].faulty)
    right = sorted(n for n in names if n in ROWS and ROWS[n].expected == "conforms")
    yield from (
        PEERS, "",
        "The published acceptance rules, re-created (rules, not code) with lengths of up to some hundreds in place of",
        f"thousands (experiments/power/peers.py), on {len(faulty)} faults, {tagged(faulty, 'real')} of them real ones",
        f"and {tagged(faulty, *BLIND)} written blind, and {len(right)} correct targets",
        "that they apply to: attention in torch. These suites never saw these faults; our laws grew alongside them.",
        "Compare theirs with each other, and with ours at first sight.", "",
        "| rule | faults refuted | correct ones refused | seconds on a correct one, median | source |",
        "|---|--:|--:|--:|---|",
    )  # fmt: skip
    for rule in peers.RULES:
        mine = {line["name"]: line for line in compared if line["rule"] == rule.name}
        kills = sum(mine[n]["rejected"] for n in faulty if n in mine)
        refused = [n for n in right if n in mine and mine[n]["rejected"]]
        spent = [mine[n]["seconds"] for n in right if n in mine] or [0.0]
        yield f"| {rule.name} | {kills} | {len(refused)} | {median(spent):.1f} | {rule.source} |"
    for label, found in (("quick", quick), ("standard", standard)):
        if not found:
            continue
        kills = sum(bool(found[n]["refuting"]) for n in faulty if n in found)
        correct = [entry for entry in alarms if entry.name in right and entry.effort == label]
        spent = f"{median(entry.seconds for entry in correct):.1f}" if correct else "-"
        yield f"| **these laws, {label}** | {kills} | {sum(bool(e.refuting) for e in correct)} | {spent} | |"
    ours_alone = [n for n in faulty if not any(line["rejected"] for line in compared if line["name"] == n)]
    yield from ("", f"{len(ours_alone)} of these faults are accepted by all five rules.", "")


def tagged(names: Sequence[str], *tags: str) -> int:
    """How many of some rows have one of these tags."""
    return sum(bool(set(tags) & set(ROWS[n].tags)) for n in names)


def false_alarms(alarms: Sequence[ledger.Entry]) -> Iterator[str]:
    """Runs of correct targets."""
    yield from (
        ALARMS, "",
        "A false alarm is a law that refutes a correct target of the catalogues: correct ones written in unusual ways,",
        "and targets that look like bugs but do what their declaration says.", "",
    )  # fmt: skip
    yield from ("| effort | targets | seeds | runs | laws judged | false alarms | bound on the rate per run |",)
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for effort in ledger.EFFORTS:
        mine = [entry for entry in alarms if entry.effort == effort]
        if mine:
            found = sum(len(entry.refuting) for entry in mine)
            done = sum(len(entry.seeds) for entry in mine)
            seeds = len({seed for entry in mine for seed in entry.seeds})
            bound = f"{3 / done:.1e}" if not found else "-"
            yield f"| {effort} | {len(mine)} | {seeds} | {done} | {sum(e.laws for e in mine)} | {found} | {bound} |"
    yield from ("", *incomplete(alarms))
    told = sorted({processor for entry in alarms for processor in entry.processors})
    yield from (
        "", "The bound is 3/N: the rate that no alarm in N independent runs excludes at 95 %.",
        f"`experiments/power/alarms.json` has every target and seed; they ran on: {', '.join(told)}.", "",
    )  # fmt: skip


def incomplete(alarms: Sequence[ledger.Entry]) -> Iterator[str]:
    """Runs that refuted nothing, and yet could not say that the target conforms."""
    unsure = [(e.name, e.effort, seed, law) for e in alarms for seed, names in e.odd.items() for law in names]
    runs = len({line[:3] for line in unsure})
    if not runs:
        yield "No run was incomplete: every law that held had met as many cases as it asks for."
        return
    yield f"{runs} of these runs were incomplete, which is no alarm: a law held, on fewer cases than it asks for."
    yield "Another seed or a higher effort tells. Which laws, and how often:"
    counts = Counter((effort, law) for _, effort, _, law in unsure)
    yield "; ".join(f"{law} at {effort} {n}" for (effort, law), n in sorted(counts.items())) + "."


LAW_COLUMNS = ("contract", "law", "refutes", "first", "alone")
FAULT_COLUMNS = (
    "contract", "fault", "about", "source", "laws_at_quick", "first_at_quick", "seconds_at_quick", "first_at_standard",
    "seconds_at_standard", "smallest_case",
)  # fmt: skip


def data() -> Iterator[str]:
    """Where the tables are that a page does not hold, and what their columns mean."""
    yield from (
        "## All figures", "",
        "* [data/power_faults.csv](data/power_faults.csv): every fault with its source, how many laws refute it at",
        "  quick, the first of them and after how many seconds, the first at standard, and the smallest case. What was",
        "  not run is empty.",
        "* [data/power_laws.csv](data/power_laws.csv): every law with how many faults it refutes at quick, of how",
        "  many it is the first, and of which it is the only one.",
        "",
    )  # fmt: skip


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a table of CSV."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_table(path: Path, columns: Sequence[str], rows: Iterator[Sequence[object]]) -> None:
    """A table as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def write_first_laws(faults: Path) -> None:
    """The table of `attention_core/audit` that says which law to ask first, from power_faults.csv."""
    rows = ((row["contract"], row["fault"], row["first_at_quick"]) for row in read_table(faults))
    known = ((contract, fault, law) for contract, fault, law in rows if law not in ("", "not refuted"))
    first_laws.TABLE.write_text(first_laws.to_table(line for line in known if line[0] in CONTRACTS))


def laws(quick: Mapping[str, Line]) -> Iterator[Sequence[object]]:
    """What each law does: the rows of power_laws.csv."""
    uses = figures.law_uses((line for n, line in quick.items() if ROWS[n].faulty), ROWS)
    for contract in figures.by_contract((row.name for row in FAULTS), ROWS):
        for law in find_contract(contract).laws:
            use = uses.get((contract, law.name), figures.LawUse())
            yield contract, law.name, use.kills, use.first, " ".join(sorted(use.alone))


def matrix(
    quick: Mapping[str, Line], standard: Mapping[str, Line], before: Mapping[str, Mapping[str, str]]
) -> Iterator[Sequence[object]]:
    """What became of each fault: the rows of power_faults.csv. What was not run is empty, or as it was `before`."""
    for contract, names in figures.by_contract((row.name for row in FAULTS if row.faulty), ROWS).items():
        for name in names:
            row, at_quick, at_standard = ROWS[name], quick.get(name), standard.get(name)
            older = before.get(name, {})
            shrunk = at_standard["shrunk"] if at_standard is not None and at_standard["refuting"] else ""
            yield (
                contract, name, row.about, ", ".join(row.source),
                len(at_quick["refuting"]) if at_quick and at_quick["whole"] else older.get("laws_at_quick", ""),
                *first_of(at_quick), *first_of(at_standard),
                shrunk or older.get("smallest_case", ""),
            )  # fmt: skip


def first_of(line: Line | None) -> tuple[str, str]:
    """The first law that refuted a fault, and after how many seconds."""
    if line is None:
        return "", ""
    return (line["refuting"][0], f"{line['seconds']:.2f}") if line["refuting"] else ("not refuted", "")


if __name__ == "__main__":
    main()
