"""Measure how close right kernels come to the budgets of features, and write the second half of docs/budget_figures.md.

From the root of the repository: python experiments/feature_budgets/run.py [--feature NAME] [--seeds N] [--rewrite]
Each feature's laws are put to every kernel of the table that has it, at quick. What is measured is kept in
docs/data/feature_budgets.json, so that features can be measured one by one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from attention_core.conformance.engine.session import Session
from attention_core.conformance.laws import (
    alibi,
    linear_attention,
    linear_gradients,
    linear_texts,
    merge,
    packed_features,
    quantised,
    sinks,
    softcap,
    window,
)
from attention_core.conformance.search.search import run_law
from attention_core.declaration.implementation import Unavailable
from attention_core.declaration.kernel import Kernel
from attention_core.registry.table import KERNELS, implementation

ROOT = Path(__file__).resolve().parents[2]
DATA, PAGE = ROOT / "docs" / "data" / "feature_budgets.json", ROOT / "docs" / "budget_figures.md"
BEGIN = "## Features"
Measured = dict[str, dict[str, dict[str, float]]]
"""Feature -> kernel -> "dtype, out" or "dtype, gradients" -> the largest ratio."""
DTYPES = ("float64", "float32", "bfloat16", "float16")
TEXT = """The same of features: the laws of each, at quick, put to the kernels of the table that have it
(`python experiments/feature_budgets/run.py`; decays, merged parts and quantised numbers with two seeds, the others with
one). Medians are over the kernels' largest ratios, in each dtype by itself; a dash: not declared, or no law of the
feature asks for it.

{summary}

No ratio reached 1. In bfloat16 and float16 every median is above 0.05, merged parts apart: there the rounding of the
result to two bytes is most of the budget, so that these say less about its other terms. In float32, medians of
outputs, and of gradients of decays, are above 0.05. Those of gradients with sinks, caps and windows are not, at 0.02 to
0.03, and stay there for a reason. What a score's gradient may be off by (`E_dS`,
in `derivations/error_budget.md`) is, for 2 to 64 random keys in float32, to 42 to 53 % the error of the row's mean
`D`, to 16 to 27 % that of the weights, to 19 to 27 % that of parts of the keys that are merged, 4 to 6 % that of
`dP`. The first is the loosest: it adds the errors of an output channel by channel. Weights are the same in all
channels, so that (identity) holds for `dP_j` in the place of `v_j`, and `sum_j A_j |dP_j - D| / L` could take the
place of `sum_c |x_c| sum_j A_j |v_jc - o_c| / L`. That is a proof, if no kernel computes a weight anew for each group
of channels; it takes a quarter off the whole at 64 keys, 8 % at 8, and nothing at 2. If every case had 64 keys, the
medians would become 0.036, 0.027 and 0.028, still below 0.05, and a kernel that does compute weights anew for a group
of channels would no longer be admitted: it was left. We know of no proof that takes half off: a budget admits sums in
any order, weights from a stored log-sum-exp, `D` from the output or from the weights and keys that are split and
merged, each at its worst, and a right kernel does one of these with signs that cancel.

Merged parts of two-byte numbers come back in float32,
far within a budget that has room for a stored log-sum-exp. Decays were sharpened some fourfold by counting how old a
term is (older, in `derivations/linear_attention.md`): a term that has passed few tokens has few roundings. The delta
rule stays near 0.05, since its budget allows any method of solving for the new values, an inverse merged from blocks
among them.

{table}
"""
INPUTS = ("query", "key", "value", "mask")
"""Quantities that are gradients, beside those "of" something."""


def names(*families: Any, of: str = "") -> tuple[str, ...]:
    """The names of the laws of some files, of a feature of packed texts those that name it."""
    return tuple(law.name for family in families for law in family.LAWS if of in law.name)


FEATURES: Mapping[str, tuple[str, ...]] = {
    "sinks": (*names(sinks), *names(packed_features, of="sinks")),
    "soft cap": (*names(softcap), *names(packed_features, of="capped")),
    "window": (*names(window), *names(packed_features, of="window")),
    "slopes": (*names(alibi), *names(packed_features, of="fall_with_distance")),
    "merged parts": names(merge),
    "quantised": names(quantised),
    "decays": names(linear_attention, linear_texts, linear_gradients),
}  # fmt: skip
"""Feature -> the laws that are about it."""
CONTRACTS = {"merged parts": "merge", "quantised": "quantised", "decays": "linear-attention"}
"""Features that are a contract of their own."""


def measure(feature: str, seeds: int) -> dict[str, dict[str, float]]:
    """Kernel -> {"dtype, out" or "dtype, gradients": the largest ratio}, of every kernel that has a feature."""
    found: dict[str, dict[str, float]] = {}
    for row in KERNELS:
        contract = str(row.record.get("contract", "attention"))
        if row.expected != "conforms" or CONTRACTS.get(feature, contract) != contract or "triton" in row.name:
            continue
        largest: dict[str, float] = {}
        try:
            for seed in range(seeds):
                for (dtype, quantity), ratio in ratios_of(row, FEATURES[feature], seed).items():
                    key = f"{dtype}, {'gradients' if ' of ' in quantity or quantity in INPUTS else 'out'}"
                    largest[key] = max(largest.get(key, 0.0), round(ratio, 4))
        except Unavailable:
            continue
        if largest:
            found[row.name] = largest
            print(feature, row.name, largest, flush=True)
    return found


def ratios_of(row: Kernel, laws: tuple[str, ...], seed: int) -> dict[tuple[str, str], float]:
    """The largest ratios that some laws see on a kernel."""
    with Session(implementation(row.name), row.origin, effort="quick", seed=seed) as session:
        subject: Any = session.subject
        for law in session.laws:
            if law.name in laws:
                run_law(law, session.contract, subject, "quick", shrink=0)
        return dict(subject.ratios)


def table(found: Measured) -> str:
    """The page's table."""
    cells = [f"{dtype}, {what}" for dtype in DTYPES for what in ("out", "gradients")]
    rows = [f"| feature | kernel | {' | '.join(cells)} |", "|---|---|" + "---|" * len(cells)]
    for feature in FEATURES:
        for kernel, largest in found.get(feature, {}).items():
            values = ["-" if cell not in largest else f"{largest[cell]:.3f}" for cell in cells]
            rows.append(f"| {feature} | `{kernel}` | {' | '.join(values)} |")
    return "\n".join(rows)


def summary(found: Measured) -> str:
    """The median over kernels of the largest ratios in each dtype of four and two bytes, by feature."""
    kinds = [(dtype, what) for what in ("out", "gradients") for dtype in DTYPES[1:]]
    heads = [f"{'outputs' if what == 'out' else what}, {dtype}" for dtype, what in kinds]
    rows = [f"| feature | kernels | {' | '.join(heads)} | largest of all |", "|---" * (len(heads) + 3) + "|"]
    for feature in FEATURES:
        of = list(found.get(feature, {}).values())
        if not of:
            continue
        medians = [[x[key] for x in of if key in x] for key in (f"{dtype}, {what}" for dtype, what in kinds)]
        cells = [f"{median(x):.3f}" if x else "-" for x in medians]
        most = max((ratio for x in of for ratio in x.values()), default=0.0)
        rows.append(f"| {feature} | {len(of)} | {' | '.join(cells)} | {most:.3f} |")
    return "\n".join(rows)


def main() -> None:
    """Measure, and write the data and the page's section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--feature", action="append", choices=FEATURES, default=[])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--rewrite", action="store_true", help="write the page again, from what was measured before")
    options = parser.parse_args()
    found: Measured = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    for feature in () if options.rewrite else options.feature or FEATURES:
        found[feature] = measure(feature, options.seeds)
        DATA.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8").split(BEGIN)[0].rstrip()
    text = TEXT.format(summary=summary(found), table=table(found))
    PAGE.write_text(f"{page}\n\n{BEGIN}\n\n{text}", encoding="utf-8")


if __name__ == "__main__":
    main()
