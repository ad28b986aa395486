"""Measure how close right kernels come to the budgets of features, and write the second half of docs/budget_figures.md.

From the root of the repository: python experiments/feature_budgets/run.py --write docs/budget_figures.md [--seeds N]
Each feature's laws are put to every kernel of the table that has it, at quick. A few minutes of one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
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
from attention_core.registry.table import KERNELS, implementation

BEGIN = "## Features"
DTYPES = ("float64", "float32", "bfloat16", "float16")
OUTPUTS = ("out", "lse", "varlen", "paged", "merge", "quantised", "linear attention")
"""Quantities that are not gradients."""


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


def measure(seeds: int) -> Iterator[tuple[str, str, dict[tuple[str, bool], float]]]:
    """(feature, kernel, {(dtype, of a gradient): the largest ratio}) of every kernel that has a feature."""
    for feature, laws in FEATURES.items():
        for row in KERNELS:
            record = dict(row.record)
            contract = str(record.get("contract", "attention"))
            if row.expected != "conforms" or CONTRACTS.get(feature, contract) != contract or "triton" in row.name:
                continue
            largest: dict[tuple[str, bool], float] = {}
            try:
                for seed in range(seeds):
                    with Session(implementation(row), effort="quick", seed=seed) as session:
                        subject: Any = session.subject
                        for law in session.laws:
                            if law.name in laws:
                                run_law(law, session.contract, subject, "quick", shrink=0)
                        for (dtype, quantity), ratio in subject.ratios.items():
                            key = (dtype, quantity not in OUTPUTS)
                            largest[key] = max(largest.get(key, 0.0), ratio)
            except Unavailable:
                continue
            if largest:
                yield feature, row.name, largest


def table(found: list[tuple[str, str, dict[tuple[str, bool], float]]]) -> str:
    """The page's section."""
    rows = [
        "| feature | kernel | " + " | ".join(f"{d}, out | gradients" for d in DTYPES) + " |",
        "|---|---|" + "---|---|" * len(DTYPES),
    ]
    for feature, kernel, largest in found:
        cells = [largest.get((dtype, gradient)) for dtype in DTYPES for gradient in (False, True)]
        rows.append(f"| {feature} | `{kernel}` | " + " | ".join("-" if c is None else f"{c:.3f}" for c in cells) + " |")
    return "\n".join(rows)


def summary(found: list[tuple[str, str, dict[tuple[str, bool], float]]]) -> str:
    """The median over kernels of the largest ratios of outputs in float32, by feature."""
    rows = ["| feature | kernels | median of outputs | median of gradients | largest of all |", "|---|---|---|---|---|"]
    for feature in FEATURES:
        of = [largest for name, _, largest in found if name == feature]
        outs, grads = ([x[key] for x in of if (key := ("float32", gradient)) in x] for gradient in (False, True))
        most = max((v for x in of for v in x.values()), default=0.0)
        cells = [f"{median(x):.3f}" if x else "-" for x in (outs, grads)]
        rows.append(f"| {feature} | {len(of)} | {cells[0]} | {cells[1]} | {most:.3f} |")
    return "\n".join(rows)


def main() -> None:
    """Measure, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, required=True, metavar="FILE")
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    found = list(measure(options.seeds))
    page = options.write.read_text(encoding="utf-8").split(BEGIN)[0].rstrip()
    made = f"`python experiments/feature_budgets/run.py --write docs/budget_figures.md --seeds {options.seeds}`"
    text = f"""{BEGIN}

The same of features: the laws of each, at quick, put to the kernels of the table that have it ({made}). Medians are
those of float32, over the kernels' largest ratios.

{summary(found)}

{table(found)}
"""
    options.write.write_text(f"{page}\n\n{text}", encoding="utf-8")


if __name__ == "__main__":
    main()
