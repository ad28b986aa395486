"""The heat map of docs/power.md: faults of each contract as rows, its laws as columns, dark where a law refutes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import figures
import matplotlib as mpl
import numpy as np

from attention_core.conformance.contracts import find_contract
from attention_core.faults.row import Row


def draw(quick: Mapping[str, Mapping[str, Any]], rows: Mapping[str, Row], path: Path) -> None:
    """One panel for attention, smaller ones for the other contracts."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = figures.by_contract((n for n in quick if rows[n].faulty), rows)
    if not names:
        return
    fig = plt.figure(figsize=(15, 16), layout="constrained")
    grid = fig.add_gridspec(max(len(names) - 1, 1), 2, width_ratios=[4, 1])
    for place, (contract, own) in enumerate(names.items()):
        axes = fig.add_subplot(grid[:, 0] if place == 0 else grid[place - 1, 1])
        laws = [law.name for law in find_contract(contract).laws]
        hit = np.zeros((len(own), len(laws)))
        for i, name in enumerate(own):
            for law in quick[name]["refuting"]:
                hit[i, laws.index(law)] = 1.0
            if quick[name]["refuting"]:
                hit[i, laws.index(quick[name]["refuting"][0])] = 2.0
        order = np.lexsort((hit.argmax(1), -(hit > 0).sum(1)))
        axes.imshow(hit[order], aspect="auto", interpolation="nearest", cmap="Blues", vmin=0, vmax=2)
        axes.set_title(f"{contract}: {len(own)} faults, {len(laws)} laws", fontsize=9)
        axes.set_xlabel("laws in their order" if place == 0 else "", fontsize=8)
        axes.set_ylabel("faults, most often refuted first" if place == 0 else "", fontsize=8)
        axes.tick_params(labelsize=6)
    fig.suptitle("Which laws refute which faults at quick (darkest: the first law)", fontsize=11)
    fig.savefig(path, dpi=90, metadata={"Software": None})
    plt.close(fig)
