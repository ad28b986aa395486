"""The page "How good are the tests of attention?", out of the data of other pages; writes docs/tests_of_attention.md.

python experiments/tests_of_attention/run.py --write docs/tests_of_attention.md

Nothing is run here: each section ends with the command that measures its numbers again. Without `--write` the page is
printed.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "audit"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "power"))
import figures as power_figures
import page as audit_page

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
Figures = Mapping[str, Any]


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="the page; without it, standard output")
    chosen = parser.parse_args(argv)
    text = render(read_figures())
    if chosen.write is None:
        sys.stdout.write(text)
    else:
        chosen.write.write_text(text, encoding="utf-8")


def read_figures() -> dict[str, Any]:
    """Every number of the page, by name."""
    data = {name: json.loads((DOCS / "data" / f"{name}.json").read_text()) for name in ("audit", "grade", "matrix")}
    sights = json.loads((HERE.parent / "power" / "first_sight.json").read_text())
    with (DOCS / "data" / "power_faults.csv").open(encoding="utf-8") as file:
        faults = list(csv.DictReader(file))
    return {
        **audit_figures(data["audit"]["suites"], data["audit"]["cases"]),
        **power_page((DOCS / "power.md").read_text(encoding="utf-8")),
        **sight_figures([*sights["sets"], *sights["later"]]),
        **release_figures(data["matrix"]["rows"], (DOCS / "findings.md").read_text(encoding="utf-8")),
        **grade_figures(data["grade"]),
        "catalogue": len(faults),
        "at_quick": sum(row["first_at_quick"] != "not refuted" for row in faults),
        "contracts": len({row["contract"] for row in faults}),
    }


def audit_figures(suites: Figures, cases: Figures) -> dict[str, Any]:
    """What the suites see, one by one and together."""
    names = sorted(suites, key=lambda name: (-suites[name]["score"], name))
    seers: dict[str, set[str]] = {}
    for name in names:
        for fault, fate in audit_page.fates(suites[name]).items():
            seers.setdefault(fault, set()).update({name} if fate["status"] in audit_page.KILLED else ())
    about = audit_page.fates(suites[names[0]])
    public = [fault for fault in seers if list(about[fault]["source"]) != ["own"]]
    subjects: dict[str, list[set[str]]] = {}
    for fault, found in seers.items():
        subjects.setdefault(about[fault]["subject"], []).append(found)
    return {
        "suites": [(audit_page.NAMES[name], audit_page.rule_and_source(name), suites[name]) for name in names],
        "counted": len(seers),
        "seen": sum(bool(found) for found in seers.values()),
        "audit_public": len(public),
        "audit_public_seen": sum(bool(seers[fault]) for fault in public),
        "subjects": subjects,
        **sizes_of_errors([cases[fault]["message"] for fault, found in seers.items() if not found]),
        "cases": len(cases),
        "confirmed": sum(case["confirmed"] for case in cases.values()),
        "fewest": len(fewest({name: set(case["caught_by"]) for name, case in cases.items()})),
        "caught": len({name for name, case in cases.items() if case["caught_by"]}),
    }


def sizes_of_errors(messages: Sequence[str]) -> dict[str, int]:
    """Of messages about numbers, how many say that one is off by more than the widest tolerance of a suite.

    >>> sizes_of_errors(["got 1 at [0], but should be 0 (allowed", "got nan at [0], but should be 0", "not refused"])
    {'with_numbers': 2, 'far_off': 2}
    """
    pairs = [re.search(r"got (\S+) at \[[^]]*\], but should be (\S+)", message) for message in messages]
    numbers = [(float(found[1]), float(found[2].rstrip(":"))) for found in pairs if found]
    far = [not abs(got - want) <= 2.5e-2 + 2.5e-2 * abs(want) for got, want in numbers]
    return {"with_numbers": len(far), "far_off": sum(far)}


def fewest(caught_by: Mapping[str, set[str]]) -> list[str]:
    """Tests, chosen one by one for how many faults they add, until each fault that some test catches is caught.

    >>> fewest({"a": {"a", "b"}, "b": {"b"}, "c": {"c"}, "d": set()})
    ['b', 'c']
    """
    left = {fault for fault, tests in caught_by.items() if tests}
    chosen = []
    while left:
        counts = Counter(test for fault in left for test in caught_by[fault])
        best = min(counts, key=lambda test: (-counts[test], test))
        chosen.append(best)
        left = {fault for fault in left if best not in caught_by[fault]}
    return chosen


def power_page(text: str) -> dict[str, Any]:
    """What the page of power says, which its own command writes: kinds of faults, and the rules of other suites."""
    _, _, section = text.partition("## Other suites' rules on the same targets")
    section = section.partition("\n## ")[0]
    words = " ".join(section.split())
    counts = look_for(r"on (\d+) faults, (\d+) of them real ones and (\d+) written blind, and (\d+) correct", words)
    cells = [[cell.strip() for cell in line.strip("| ").split("|")] for line in section.splitlines() if "|" in line]
    return {
        "rules": [row[:3] for row in cells if row[1].isdigit()],
        **dict(zip(("rule_faults", "rule_real", "rule_blind", "rule_right"), map(int, counts), strict=True)),
        "rule_passed": int(look_for(r"(\d+) of these faults are accepted by all", words)[0]),
        "rule_count": look_for(r"accepted by all (\w+) rules", words)[0],
        "rule_commit": look_for(r"measured at commit `(\w+)`", words)[0],
        "public": int(look_for(r"\*real faults, from public threads\* \| (\d+) ", text)[0]),
        "hard": int(look_for(r"\*hard faults of our making\* \| (\d+) ", text)[0]),
    }


def look_for(pattern: str, text: str) -> tuple[str, ...]:
    """The groups of a pattern that the page of power has to hold."""
    found = re.search(pattern, text)
    if found is None:
        raise SystemExit(f"docs/power.md says nothing like {pattern!r}: write it with experiments/power/report.py")
    return found.groups()


def sight_figures(sets: Sequence[Figures]) -> dict[str, Any]:
    """Faults whose authors had not seen the laws, as the laws met them first."""
    last = sets[-3:]
    return {
        "sights": [(each["set"], each["faults"], each["quick"]) for each in sets],
        "last_faults": sum(each["faults"] for each in last),
        "last_seen": sum(each["quick"] for each in last),
    }


def release_figures(rows: Sequence[Figures], findings: str) -> dict[str, Any]:
    """What was found in released packages."""
    return {
        "rows": len(rows),
        "packages": len({row["package"] for row in rows}),
        "refuted": sum(row["verdict"] == "refuted" for row in rows),
        "findings": len(re.findall(r"^\| \d+ \|", findings, re.MULTILINE)),
    }


def grade_figures(known: Figures) -> dict[str, Any]:
    """Cheats and honest submissions."""
    kinds: dict[str, list[Figures]] = {"whole": [], "honest": []}
    for name, grade in known.items():
        kinds.get(name.partition(" ")[0], []).append(grade)
    return {
        "cheats": len(kinds["whole"]),
        "refused": sum(grade["verdict"] == "refused" for grade in kinds["whole"]),
        "honest": len(kinds["honest"]),
        "wrongly": sum(grade["verdict"] != "accepted" for grade in kinds["honest"]),
    }


def percent(part: int, whole: int) -> str:
    """A share in whole percent.

    >>> percent(1, 3)
    '33 %'
    """
    return f"{100 * part / whole:.0f} %"


def render(figures: Figures) -> str:
    """The page: the words of page.md, with the figures and tables in their places."""
    (best, _, most), (worst, _, least) = figures["suites"][0], figures["suites"][-1]
    low, high = (round(100 * end) for end in most["interval"])
    unseen = sorted(name for name, faults in figures["subjects"].items() if not any(faults))
    values = {
        **figures,
        "suite_count": len(figures["suites"]),
        "best": best, "best_killed": most["killed"], "best_low": low, "best_high": high, "worst": worst,
        "best_share": percent(most["killed"], figures["counted"]), "worst_killed": least["killed"],
        "seen_share": percent(figures["seen"], figures["counted"]), "passed": figures["counted"] - figures["seen"],
        "passed_share": percent(figures["counted"] - figures["seen"], figures["counted"]),
        "rule_share": percent(figures["rule_passed"], figures["rule_faults"]),
        "last_share": percent(figures["last_seen"], figures["last_faults"]),
        "unseen": ", ".join(unseen), "unseen_count": len(unseen), "subject_count": len(figures["subjects"]),
        "suite_table": "\n".join(suite_table(figures)), "subject_table": "\n".join(subject_table(figures)),
        "rule_table": "\n".join(rule_table(figures)), "sight_table": "\n".join(sight_table(figures)),
        "sources": "\n".join(f"* {name}: {source}" for name, (_, source), _ in figures["suites"]),
    }  # fmt: skip
    return (HERE / "page.md").read_text(encoding="utf-8").format(**values)


def suite_table(figures: Figures) -> Iterator[str]:
    """Suites, best first, and all of them together."""
    yield from ["| suite | its rule | faults seen | share | 95 % interval |", "|---|---|--:|--:|--:|"]
    for name, (rule, _), suite in figures["suites"]:
        low, high = (round(100 * end) for end in suite["interval"])
        share = percent(suite["killed"], suite["counted"])
        yield f"| {name} | {rule} | {suite['killed']} of {suite['counted']} | {share} | {low} to {high} % |"
    share = percent(figures["seen"], figures["counted"])
    yield f"| *any of them* | | {figures['seen']} of {figures['counted']} | {share} | |"


def subject_table(figures: Figures) -> Iterator[str]:
    """Subjects of which not every fault is seen, those that nobody sees first."""
    yield from ["| subject | faults | seen by at least one suite | suites that see at least one |", "|---|--:|--:|--:|"]
    order = sorted(figures["subjects"].items(), key=lambda item: (sum(map(bool, item[1])) / len(item[1]), item[0]))
    for subject, faults in order:
        yield f"| {subject} | {len(faults)} | {sum(map(bool, faults))} | {len(set().union(*faults))} |"


def rule_table(figures: Figures) -> Iterator[str]:
    """Acceptance rules against all faults that they are about."""
    yield from ["| rule | faults refuted | share | right ones refused |", "|---|--:|--:|--:|"]
    for name, refuted, right in figures["rules"]:
        yield f"| {name} | {refuted} | {percent(int(refuted), figures['rule_faults'])} | {right} |"


def sight_table(figures: Figures) -> Iterator[str]:
    """Sets of faults by authors who had not seen the laws, in the order in which they were written."""
    yield from ["| set | faults | refuted at first sight | share | 95 % interval |", "|---|--:|--:|--:|--:|"]
    for name, count, seen in figures["sights"]:
        low, high = power_figures.interval(seen, count)
        yield f"| {name} | {count} | {seen} | {percent(seen, count)} | {100 * low:.0f} to {100 * high:.0f} % |"


if __name__ == "__main__":
    main()
