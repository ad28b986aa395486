"""The figures of docs/power.md, from the kept results: rates with intervals, medians, what each law does."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from scipy.stats import beta

from attention_core.faults.row import Row

Line = Mapping[str, Any]


def interval(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Clopper and Pearson's interval of a rate k/n."""
    tail = (1 - level) / 2
    low = 0.0 if k == 0 else float(beta.ppf(tail, k, n - k + 1))
    high = 1.0 if k == n else float(beta.ppf(1 - tail, k + 1, n - k))
    return low, high


def rate(lines: Iterable[Line]) -> str:
    """Refuted of all, in words and per cent."""
    found = list(lines)
    k = sum(bool(line["refuting"]) for line in found)
    return f"{k}/{len(found)} ({100 * k / len(found):.1f} %)" if found else "-"


@dataclass
class LawUse:
    """What one law does: how many faults it refutes, of how many it is the first, and of how many the only one."""

    kills: int = 0
    first: int = 0
    alone: list[str] = field(default_factory=list)


def law_uses(quick: Iterable[Line], rows: Mapping[str, Row]) -> dict[tuple[str, str], LawUse]:
    """(contract, law) -> its use, over whole runs at quick."""
    uses: dict[tuple[str, str], LawUse] = defaultdict(LawUse)
    for line in quick:
        contract = rows[line["name"]].contract
        for place, law in enumerate(line["refuting"]):
            use = uses[contract, law]
            use.kills += 1
            use.first += place == 0
            if len(line["refuting"]) == 1:
                use.alone.append(line["name"])
    return uses


def seconds(lines: Iterable[Line]) -> str:
    """Median and largest seconds to refutation."""
    found = [line["seconds"] for line in lines if line["refuting"]]
    return f"{median(found):.2f} / {max(found):.1f}" if found else "-"


def by_contract(names: Iterable[str], rows: Mapping[str, Row]) -> dict[str, list[str]]:
    """Contract -> names of its rows, attention first."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in names:
        found[rows[name].contract].append(name)
    count = Counter({contract: len(own) for contract, own in found.items()})
    return {contract: found[contract] for contract, _ in count.most_common()}
