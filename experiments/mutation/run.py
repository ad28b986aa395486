"""Mutation testing of the oracle and the budgets: python experiments/mutation/run.py --write docs/mutation.md

Break what judges others (oracle, rounding, budgets) in a seeded sample of small ways, mutmut's, and see which breaks
their tests miss; every one that is missed stands in survivors.json with the reason, or is told as open.

Wants a checkout of its own with mutmut installed (`tox run -e mutation`): mutmut works in the folder `mutants`. What is
done is kept there, and a run goes on where the last one stopped; `--again` tries those that survived once more.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import binomtest

ROOT = Path(__file__).resolve().parents[2]
REASONS = Path(__file__).parent / "survivors.json"
SAMPLE = {
    "attention_core.oracle.truth": 80, "attention_core.oracle.gradients": 90,
    "attention_core.conformance.budgets.error_rows": 120, "attention_core.conformance.budgets.budget": 100,
    "attention_core.conformance.budgets.error_backward": 90, "attention_core.conformance.contracts": 70,
    "attention_core.conformance.budgets.rounding": 50,
    "attention_core.oracle.masks": 148, "attention_core.oracle.positions": 158,
}  # fmt: skip
"""Mutants tried of each module, all of the small ones."""
KILLED, SURVIVED = (1, -24), 0
"""mutmut's exit codes: a test failed, or the run was stopped for its time; every test passed."""


@dataclass(frozen=True)
class Module:
    """One module: mutants there are, those that were drawn, and those of them that no test noticed."""

    name: str
    of: int
    drawn: tuple[str, ...]
    survived: tuple[str, ...]

    def row(self, reasons: dict[str, str]) -> str:
        """A row of the table."""
        tried, killed = len(self.drawn), len(self.drawn) - len(self.survived)
        ends = binomtest(killed, tried).proportion_ci(0.95) if tried < self.of else None
        interval = f"{ends.low:.0%} to {ends.high:.0%}" if ends else "all were tried"
        explained = sum(name in reasons for name in self.survived)
        rate, counted = killed / tried, (killed + explained) / tried
        told = f"{killed} ({rate:.0%}) | {interval} | {explained} | {counted:.0%}"
        return f"| `{self.name.removeprefix('attention_core.')}` | {self.of} | {tried} | {told} |"


def outcomes(module: str) -> dict[str, int | None]:
    """Every mutant of a module and how its tests ended, None where they have not run."""
    path = ROOT / "mutants" / (module.replace(".", "/") + ".py.meta")
    found: dict[str, int | None] = json.loads(path.read_text())["exit_code_by_key"]
    return found


def mutmut(*names: str) -> None:
    """Run the tests on some mutants; the first run makes all of them."""
    subprocess.run([sys.executable, "-m", "mutmut", "run", "--max-children", "1", *names], cwd=ROOT, check=False)


def page(modules: Sequence[Module], reasons: dict[str, str], seed: int) -> str:
    """The page: rates by module, and every survivor."""
    drawn = sum(len(m.drawn) for m in modules)
    killed = drawn - sum(len(m.survived) for m in modules)
    weighted = sum(m.of * (1 - len(m.survived) / len(m.drawn)) for m in modules) / sum(m.of for m in modules)
    lines = [
        "# Breaking the judge", "",
        "What judges others is broken in small ways, and its own tests run: mutants of mutmut (another operator,",
        "constant, argument or branch), drawn with a seed from each module. Written by `tox run -e mutation`.", "",
        f"**{killed} of {drawn} are noticed; weighted by the sizes of the modules, {weighted:.0%}.** Seed {seed}.", "",
        "| module | mutants | tried | noticed | 95 % interval | no fault, or noticed elsewhere | with these |",
        "|---|--:|--:|--:|---|--:|--:|", *(m.row(reasons) for m in modules), "",
        "## What is not noticed", "",
    ]  # fmt: skip
    for module in modules:
        lines += [f"* `{m.removeprefix('attention_core.')}`: {reasons.get(m, 'open')}" for m in module.survived]
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--only", default="", help="modules whose name contains this")
    parser.add_argument("--again", action="store_true", help="run the tests once more on those that survived")
    parser.add_argument("--write", type=Path, help="the page")
    chosen = parser.parse_args(argv)
    rng, names = random.Random(chosen.seed), {name for name in SAMPLE if chosen.only in name}
    if not (ROOT / "mutants" / "attention_core" / "oracle" / "masks.py.meta").exists():
        mutmut("attention_core.oracle.masks.x_causal_mask__mutmut_1")
    modules = []
    for name in SAMPLE:
        known = outcomes(name)
        drawn = sorted(rng.sample(sorted(known), min(SAMPLE[name], len(known))))
        if name not in names:
            continue
        todo = [m for m in drawn if known[m] is None or (chosen.again and known[m] == SURVIVED)]
        if todo:
            mutmut(*todo)
        known = outcomes(name)
        odd = {m: known[m] for m in drawn if known[m] not in (*KILLED, SURVIVED)}
        if odd:
            raise SystemExit(f"{len(odd)} mutants were not run to an end, e.g. {next(iter(odd.items()))}")
        modules.append(Module(name, len(known), tuple(drawn), tuple(m for m in drawn if known[m] == SURVIVED)))
    reasons: dict[str, str] = json.loads(REASONS.read_text())
    text = page(modules, reasons, chosen.seed)
    if chosen.write:
        chosen.write.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
