"""Patterns of arrays.

Plain arrays at which norms, means and softmax are extreme: one-hot, one large column, two-valued, geometric.
Each array of a step takes one of them at some scale; which go together is drawn, or changed one array at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from attention_core.derivation.cases.problem import Site

SCALES = (1.0, 10.0, 0.1, -1.0)


def patterns(site: Site, free: Sequence[int], rng: np.random.Generator, count: int, starts: Any = None) -> Any:
    """Points as columns, a row for each free entry: `count` drawn ones, or `starts` with one symbol replaced each."""
    import numpy as np

    rows: dict[str, list[int]] = {}
    for row, node in enumerate(free):
        rows.setdefault(site.plan.entries[node][0].name, []).append(row)
    tables = {name: np.stack(list(_of(site, [free[r] for r in own])), axis=1) for name, own in rows.items()}
    if starts is None:
        out = np.empty((len(free), count))
        for name, own in rows.items():
            table = tables[name]
            picks = np.arange(count) % table.shape[1] if len(rows) == 1 else rng.integers(0, table.shape[1], count)
            out[own] = table[:, picks]
        if len(rows) == 1 and tables[next(iter(rows))].shape[1] > count:
            return tables[next(iter(rows))]
        return out
    blocks = []
    for start in starts.T:
        for name, own in rows.items():
            table = tables[name]
            block = np.repeat(start[:, None], table.shape[1], axis=1)
            block[own] = table
            blocks.append(block)
    return np.concatenate(blocks, axis=1)


def _of(site: Site, nodes: list[int]) -> Iterator[Any]:
    """The patterns of one symbol's entries."""
    import numpy as np

    symbol = site.plan.entries[nodes[0]][0]
    keys = [site.plan.entries[n][1][1] for n in nodes]
    places: Any = np.array([key[-2:] for key in keys])
    if symbol.values:
        for value in symbol.values[:4]:
            yield np.full(len(nodes), float(value))
        return
    if symbol.kind == "family":  # its members are the rows
        places = np.array([(key[0], key[1] * (places[:, 1].max() + 1) + key[2]) for key in keys])
    i, j = places[:, 0] - places[:, 0].min(), places[:, 1] - places[:, 1].min()
    if len(nodes) == 1:
        for number in (1.0, 0.0, -1.0, 0.5, 2.0, 10.0, 0.1, 1e3):
            yield np.array([number])
        return
    along = i if i.max() else j
    last = int(along.max())
    shapes: list[Any] = [
        (i == 0) & (j == 0), along == last, np.ones(len(nodes)), j == 0, i == 0, i == j,
        np.where(along % 2, -1.0, 1.0), np.where(2 * along > last, -1.0, 1.0), np.where(along == 0, 1.0, -1.0),
        2.0 ** -along.astype(float), along + 1.0,
    ]  # fmt: skip
    for shape in shapes:
        for scale in SCALES:
            yield scale * shape
    yield np.zeros(len(nodes))
    yield np.where(along == 0, 0.0, 1.0 / max(1, last))
    yield np.full(len(nodes), 1.0 / len(nodes))
    yield 1.0 + 9.0 * ((i == 0) & (j == 0))


__all__ = ["patterns"]
