"""The page of figures, from the results that are kept: every number is counted here, none is typed."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import displays
import pieces
from pieces import Piece, broken, documents, reached
from store import Store

JUDGED = Path(__file__).parent / "left_true.txt"
FEW = Path(__file__).parent / "fewer_than_three.txt"
SPEED = Path(__file__).parent / "speed.md"  # what speed.py printed, of old and new code in turn
KINDS = ("factor", "sign", "index", "transpose", "exponent", "bound", "hypothesis", "off by one")
FATES = ("refuted", "missed", "proved", "judged", "unreadable")
INTRODUCTION = """# Derivations: measured figures

What `attention-core derive` makes of the documents of [derivations/](../derivations/README.md), of errors planted in
them, of other seeds, and what other tools make of the same formulas. This page is generated:
`python experiments/planted_errors/run.py` (or `tox run -e derivations`) measures, and its `--page` writes it.

"""


def page(chosen: Sequence[str], kept: Store, seeds: int, sample: int = 0) -> str:
    """The whole page."""
    import run

    right = list(reached(run.right(chosen), kept))
    breaks = list(reached(run.breaks(chosen), kept))
    numbers = list(reached(run.numbers(chosen, kept, sample), kept))
    sections = [
        displays.section(), times(right), SPEED.read_text(encoding="utf-8"), planted(breaks, numbers),
        opinions(breaks, numbers, sample),
        reseeded(list(reached(run.seeds(chosen, max(seeds, 200)), kept)), len(right)),
        beside(right, breaks, list(reached(run.tools(chosen, kept, sample), kept))),
    ]  # fmt: skip
    return INTRODUCTION + f"The checker's code has the hash {pieces.code('right')[:12]}.\n\n" + "\n".join(sections)


def name_of(piece: Piece) -> str:
    """The line that stands for a break in the lists."""
    _, document, step, number, *_ = piece
    one = broken(document, step)[number]
    return f"{document} {step} | {one.kind} | {one.what}"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(c) for c in line) + " |" for line in lines) + "\n"


def listed(title: str, lines: Sequence[str]) -> str:
    """A list with its title, nothing where it is empty."""
    return f"\n{title}\n\n" + "".join(f"- {line}\n" for line in lines) if lines else ""


def times(right: Sequence[tuple[Piece, Any]]) -> str:
    """How long the documents take."""
    from attention_core.derivation.reading.steps import steps_of

    seconds: dict[str, float] = defaultdict(float)
    for piece, result in right:
        seconds[piece[1]] += result["seconds"]
    each = sorted(result["seconds"] for _, result in right) or [0.0]
    verdicts = Counter(result["verdict"] for _, result in right)
    lines, parsing = 0, 0.0
    import time

    for document in documents():
        text = pieces.text_of(document)
        start = time.process_time()
        steps_of(text)
        parsing, lines = parsing + time.process_time() - start, lines + text.count("\n")
    slowest = max(seconds, key=lambda d: seconds[d], default="")
    return (
        "## Right steps and their time\n\n"
        f"{len(right)} right steps in {len(seconds)} documents: "
        + ", ".join(f"{n} {v}" for v, n in verdicts.most_common()) + ". "
        f"All of them take {sum(each):.0f} s of processor time, the slowest document ({slowest}) "
        f"{seconds.get(slowest, 0.0):.1f} s; a step takes {statistics.median(each) * 1000:.0f} ms in the median, "
        f"{each[int(0.99 * (len(each) - 1))]:.2f} s at 99 % and {each[-1]:.1f} s at most. "
        f"Reading takes {1000 * parsing / max(lines, 1):.2f} ms a line ({lines} lines).\n"
    )  # fmt: skip


def fates_of(breaks: Sequence[tuple[Piece, Any]], numbers: Sequence[tuple[Piece, Any]]) -> dict[Piece, str]:
    """refuted, proved, judged, unreadable or missed."""
    judged = set(JUDGED.read_text(encoding="utf-8").splitlines())
    false = {p[1:4] for p, r in numbers if p[3] >= 0 and r["says"] == "false"}
    out = {}
    for piece, result in breaks:
        verdict = result["verdict"]
        if verdict == "REFUTED":
            out[piece] = "refuted"
        elif verdict == "UNREADABLE":
            out[piece] = "unreadable"
        elif piece[1:4] in false:
            out[piece] = "missed"
        elif verdict in ("PROVED", "EXACT"):
            out[piece] = "proved"
        else:
            out[piece] = "judged" if name_of(piece) in judged else "missed"
    return out


def planted(breaks: Sequence[tuple[Piece, Any]], numbers: Sequence[tuple[Piece, Any]]) -> str:
    """The section on planted errors."""
    fates = fates_of(breaks, numbers)
    by_kind = Counter((broken(p[1], p[2])[p[3]].kind, fate) for p, fate in fates.items())
    total = Counter(fates.values())
    false = total["refuted"] + total["missed"]
    per_step = Counter(p[1:3] for p, fate in fates.items() if fate in ("refuted", "missed"))
    asked = {p[1:3] for p in fates}
    reasons = dict(line.split(": ", 1) for line in FEW.read_text(encoding="utf-8").splitlines() if line)
    few = [f"{d} {s}, {per_step[d, s]}: {reasons.get(f'{d} {s}', 'no reason is known')}"
           for d, s in sorted(asked) if per_step[d, s] < 3]  # fmt: skip
    found = [r["extent"] for _, r in breaks if "extent" in r]
    sizes, entries = (sorted(column) for column in zip(*found, strict=True)) if found else ([0], [0])
    text = (
        "## Planted errors\n\n"
        f"Every right step is broken in several ways: {len(breaks)} breaks of {len(asked)} steps. {false} make their "
        f"step false; of these {total['refuted']} are refuted, {100 * total['refuted'] / max(false, 1):.2f} %. A break "
        "that leaves its step true does not count: it is proved (PROVED or EXACT), or was judged by reading "
        "(experiments/planted_errors/left_true.txt) while the second opinion below found no point against it. "
        "A break that is no formula any more is unreadable.\n\n"
    )
    rows = [[kind, *(by_kind[kind, fate] for fate in FATES)] for kind in KINDS]
    head = ["break", "refuted", "missed", "left true, proved", "left true, judged", "unreadable"]
    text += table(head, [*rows, ["all", *(total[fate] for fate in FATES)]])
    text += (
        f"\nCounterexamples: the largest size is {statistics.median(sizes):g} in the median and "
        f"{sizes[int(0.99 * (len(sizes) - 1))]} at 99 %; the largest whole number in an entry is "
        f"{statistics.median(entries):g} in the median and {entries[int(0.9 * (len(entries) - 1))]} at 90 %.\n"
    )
    text += listed("Missed:", [name_of(p) for p, fate in fates.items() if fate == "missed"])
    text += listed("Unreadable:", [name_of(p) for p, fate in fates.items() if fate == "unreadable"])
    return text + listed("Steps with fewer than three breaks that make them false:", few)


def opinions(breaks: Sequence[tuple[Piece, Any]], numbers: Sequence[tuple[Piece, Any]], sample: int) -> str:
    """The section on the second opinion and on float64."""
    verdict = {p[1:4]: r["verdict"] for p, r in breaks}
    right, left = Counter(), Counter()
    points, lies, lying = 0, 0, set()
    wrong, others = [], Counter()
    for piece, result in numbers:
        if piece[3] < 0:
            right[result["says"]] += 1
            points, lies = points + result["points"], lies + result["float"]
            lying |= {piece[1:3]} if result["float"] else set()
            wrong += [f"{piece[1]} {piece[2]}"] if result["says"] == "false" else []
        elif verdict.get(piece[1:4]) in ("REFUTED", "UNREADABLE"):
            others[result["says"]] += 1
        else:
            left[result["says"]] += 1
            if result["says"] == "false" and verdict.get(piece[1:4]) in ("PROVED", "EXACT"):
                wrong.append(f"{name_of(piece)}: {verdict[piece[1:4]]}, but false")
    text = (
        "## A second opinion in numbers\n\n"
        "experiments/planted_errors/numeric.py computes both sides with 60, 120 and more digits at drawn points, by "
        "other code than the checker's (it shares the reading of the formula and the drawing of points, and checks "
        "every hypothesis again): at sizes up to 3, and at sizes up to 8 with magnitudes from 1e-7 to 1e8. Limits "
        "are followed to 1e12, expectations of polynomials are Gauss-Hermite sums; other laws and infinite limits it "
        "cannot compute.\n\n"
    )
    drawn = ", drawn at random" if sample else ""
    rows = {
        f"right steps{drawn}, both ways": right, "breaks that are not refuted, both ways": left,
        f"refuted breaks of equations{drawn}": others,
    }  # fmt: skip
    text += table(
        ["what", "no point against it", "false at a point", "cannot compute"],
        [[what, *(counts[says] for says in ("holds", "false", "cannot"))] for what, counts in rows.items()],
    )
    text += (
        f"\nAt {lies} of the {points} points of right steps, in {len(lying)} steps, the same formulas in float64 "
        "(compared as `numpy.allclose` does, inequalities as they are) would have called the step false.\n"
    )
    return text + listed("Verdicts that the numbers contradict:", wrong)


def reseeded(done: Sequence[tuple[Piece, Any]], count: int) -> str:
    """The section on false refutations."""
    decisions = sum(r["count"] for _, r in done)
    per_step: Counter[tuple[str, str]] = Counter()
    for piece, result in done:
        per_step[piece[1:3]] += result["count"]
    verdicts = Counter(v for _, r in done for v in r["bad"].values())
    bound = -math.log(0.05) / decisions if decisions else 1.0
    least = min(per_step.values()) if len(per_step) == count and count else 0
    text = (
        "## Right steps under other seeds\n\n"
        "A decision is the search of cases, which alone may refute by what a seed draws: proofs are left out, and "
        f"sizes far up are tried at every {pieces.LADDER}th seed.\n\n"
        f"{decisions} decisions about right steps with other seeds (of the {200 * count} that 200 seeds make): "
        f"{verdicts['REFUTED']} refuted, {sum(verdicts.values()) - verdicts['REFUTED']} not decided. With "
        f"{verdicts['REFUTED']} refuted in so many, the rate of false refutations is below {bound:.1e} (95 %)"
        + ("" if not verdicts["REFUTED"] else ", were there none") + f". Every step had {least} seeds at least.\n"
    )  # fmt: skip
    bad = [f"{p[1]} {p[2]}, seed {seed}: {v}" for p, r in done for seed, v in r["bad"].items()]
    return text + listed("Not as they should be:", bad)


def beside(right: Sequence[tuple[Piece, Any]], breaks: Sequence[tuple[Piece, Any]],
           tools: Sequence[tuple[Piece, Any]]) -> str:  # fmt: skip
    """The section on other tools."""
    if not tools:
        return "## Beside other tools\n\nNot measured: math-verify is not installed (tox run -e derivations has it).\n"
    asked = sorted({p[1:4] for p, _ in tools})
    answer = {p[1:4]: r for p, r in (*right, *breaks)}
    says = {"REFUTED": "rejects", "UNREADABLE": "cannot tell", "UNDECIDED": "cannot tell", "VACUOUS": "cannot tell"}
    found: dict[str, list[tuple[bool, str, float]]] = defaultdict(list)
    for at in asked:
        if at in answer:
            mine = says.get(answer[at]["verdict"], "accepts")
            found["attention-core derive"].append((at[2] < 0, mine, answer[at]["seconds"]))
    for piece, result in tools:
        found[piece[4]].append((piece[3] < 0, result["says"], result["seconds"]))
    names = {"SymPy": "SymPy parse_latex, simplify, equals"}
    rows = []
    for name, answers in found.items():
        counts = Counter((good, said) for good, said, _ in answers)
        cells = [counts[good, said] for good in (True, False) for said in ("accepts", "rejects", "cannot tell")]
        rows.append([names.get(name, name), *cells, f"{sum(s for *_, s in answers) / len(answers):.2f}"])
    return (
        "## Beside other tools\n\n"
        f"{sum(at[2] < 0 for at in asked)} right equations and {sum(at[2] >= 0 for at in asked)} broken ones of all "
        "documents, the same LaTeX for all, 5 s of processor time at most. A broken one is taken where the second "
        "opinion above finds it false in numbers, whatever the checker says. The other tools read no declarations, so "
        "they are asked whether the two sides are the same expression; accepting a broken one is a false accept, "
        "rejecting a right one a false reject.\n\n"
    ) + table([
        "tool", "right: accepted", "right: rejected", "right: cannot tell", "broken: accepted", "broken: rejected",
        "broken: cannot tell", "seconds a step",
    ], rows)  # fmt: skip
