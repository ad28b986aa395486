"""Grade a thousand answers of a language model in one process, as a reward signal would: time, memory, exceptions.

An answer is a section of a document of derivations/ with its declarations and at most four of its displays, as it
stands, with a slip in one formula, or garbled as text of a model is: cut off, a bracket lost, a command misspelt.
Printed are the processor time of a step in the median and at 99 %, the memory of the process after every tenth of the
answers, the verdicts of each sort, and what was raised.

python experiments/graded_answers/run.py --answers 1000
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort

HOME = Path(__file__).resolve().parents[2] / "derivations"
SECTION = re.compile(r"(?m)^#{2,} .*$")
DISPLAY = re.compile(r"(?:^%[^\n]*\n\n?)*^\$\$.*?\$\$$", re.DOTALL | re.MULTILINE)
MOST_DISPLAYS = 4
SORTS = ("as it stands", "with a slip", "garbled")
SLIPS = ((" + ", " - "), (" - ", " + "), (r"\le", r"\ge"), ("^2", "^3"), (r"^\top", ""), ("= ", "= 2 "), ("_i", "_j"))


def sections() -> list[str]:
    """The sections of the documents that have declarations and displays, with few displays each."""
    out = []
    for path in sorted(HOME.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        promise = "All hypotheses are declared as formulas.\n\n" if "declared as formulas" in text else ""
        for part in SECTION.split(text)[1:]:
            displays = list(DISPLAY.finditer(part))
            if displays and "Let $" in part[: displays[0].start()]:
                out.append(promise + part[: displays[min(len(displays), MOST_DISPLAYS) - 1].end()].strip() + "\n")
    return out


def spoil(text: str, sort: str, chance: random.Random) -> str:
    """An answer of a sort."""
    if sort == SORTS[0]:
        return text
    formulas = list(DISPLAY.finditer(text))
    place = chance.choice(formulas)
    body = place.group()
    if sort == SORTS[1]:
        fitting = [slip for slip in SLIPS if slip[0] in body]
        old, new = chance.choice(fitting or [("$$ ", "$$ 1 + ")])
        at = chance.choice([found.start() for found in re.finditer(re.escape(old), body)] or [0])
        return text[: place.start()] + body[:at] + body[at:].replace(old, new, 1) + text[place.end() :]
    cut = chance.randrange(place.start() + 2, place.end())
    ways = (text[:cut], text[:cut] + text[cut + 1 :], text[:cut] + chance.choice("{}()\\$_^&") + text[cut:])
    return chance.choice(ways)


def answers(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Answers with their sort."""
    chance, kept = random.Random(seed), sections()
    for number in range(count):
        sort = SORTS[number % len(SORTS)]
        yield sort, spoil(chance.choice(kept), sort, chance)


def main() -> None:
    """Grade and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1.0, help="processor time of one step")
    given = parser.parse_args()
    times: list[float] = []
    verdicts: Counter[tuple[str, str]] = Counter()
    raised: Counter[str] = Counter()
    memory = []
    for number, (sort, text) in enumerate(answers(given.answers, given.seed), 1):
        start = time.process_time()
        try:
            steps = check_document(text, effort=Effort(seconds=given.seconds), infer=True).steps
        except Exception as error:
            raised[type(error).__name__] += 1
            continue
        times += [(time.process_time() - start) / max(1, len(steps))] * len(steps)
        verdicts.update((sort, str(step.verdict)) for step in steps)
        raised.update("internal error" for step in steps if step.evidence.text.startswith("internal error"))
        if number % max(1, given.answers // 10) == 0:
            memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
            print(f"{number} answers, {len(times)} steps, {memory[-1]} MB", flush=True)
    times.sort()
    print(f"{len(times)} steps; a step takes {statistics.median(times):.3f} s of processor time in the median, "
          f"{times[int(0.99 * (len(times) - 1))]:.2f} s at 99 %")  # fmt: skip
    for sort in SORTS:
        print(f"{sort}: {dict(sorted((v, n) for (s, v), n in verdicts.items() if s == sort))}")
    print(f"raised: {dict(raised) or 'nothing'}")


if __name__ == "__main__":
    main()
