"""Measure the mend that `derive` names for planted errors: is it the step as it was before it was broken?

A sample of the breaks of derivations/ is decided with advice. A mend is right if it gives back the step that was
broken, brackets and the order of what commutes aside, or if it names the factor or the hypothesis that was taken away.

python experiments/planted_errors/mends.py --sample 300
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from breaks import Break
from pieces import broken, documents, steps

from attention_core.derivation.decision.mends import mends_of
from attention_core.derivation.effort import Effort
from attention_core.derivation.judge import decide_step
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.reading.step import Step

MEND = re.compile(r"^(?:the step holds|no counterexample was found) (with .* in place of .*): is that meant\?$")
SHAPELESS = re.compile(r"[(){}\s\\]|cdot|left|right")
EFFORT = Effort(seconds=4.0)


def canonical(step: Step) -> tuple[str, str, Counter[str]]:
    """A step without brackets and the order of its letters."""
    sides = sorted(SHAPELESS.sub("", to_latex(side)) for side in (step.left, step.right))
    return step.op, str(len("".join(sides))), Counter("".join(sides))


def judge(name: str, right: Step, one: Break) -> str:
    """What became of one break: not refuted, no advice, right, or other."""
    found = decide_step(one.step, EFFORT, advise=True)
    if str(found.verdict) != "REFUTED":
        return "not refuted"
    advice = found.evidence.advice
    if not advice:
        return "no advice"
    mend = MEND.match(advice)
    if mend is None:
        kinds = ("hypothesis",) if "further hypothesis" in advice else ("factor", "bound")
        return "right" if one.kind in kinds else "other"
    new = next((m.step for m in mends_of(one.step) if m.words == mend[1]), None)
    return "right" if new is not None and canonical(new) == canonical(right) else "other"


def main() -> None:
    """Judge a sample and print it by kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    places = [(d, s) for d in documents() for s in steps(d)]
    chosen = random.Random(given.seed).sample(places, min(given.sample, len(places)))
    table: Counter[tuple[str, str]] = Counter()
    for document, name in chosen:
        own = [one for one in broken(document, name) if one.kind != "hypothesis"]
        if not own:
            continue
        one = random.Random(f"{given.seed} {document} {name}").choice(own)
        verdict = judge(name, steps(document)[name], one)
        table[one.kind, verdict] += 1
        if given.show and verdict in ("other", "no advice"):
            print(f"{document}:{name} [{one.kind}, {one.what}] {verdict}: {one.step.text[:100]}", flush=True)
    for kind in sorted({kind for kind, _ in table}):
        print(f"{kind:12} {dict(sorted((v, n) for (k, v), n in table.items() if k == kind))}")
    total = Counter[str]()
    for (_, verdict), count in table.items():
        total[verdict] += count
    refuted = sum(total.values()) - total["not refuted"]
    share = total["right"] / max(1, refuted)
    print(f"{refuted} refuted, of these {total['right']} with the right mend ({share:.0%}): {dict(total)}")


if __name__ == "__main__":
    main()
