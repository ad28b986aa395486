"""Pages that hold numbers of one byte: keys and values are these times scales, of the whole cache or of parts of it.

A scale belongs to all keys (`tensor`), to a head, to a head of a sequence, to a page of a head or to a token of one.
Those of pages and tokens lie as the pages do, and follow the block table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.subjects.packed_subject import Pack
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.subjects.quantised_subject import ENDS, SPREAD, draw_numbers, draw_scales
from attention_core.conformance.worker.exchange import NDArray

NAMES = ("key", "value")
IN_PAGES = ("page", "token")
"""Granularities whose scales lie in the pages."""


@dataclass(frozen=True)
class Storage:
    """How a target's pages are stored: the format of their numbers, and what has a scale of its own."""

    kind: str
    granularity: str = "tensor"

    def fill(self, case: ParameterCase, pack: Pack) -> Pack:
        """The pack with keys and values that are drawn numbers times drawn scales, in the regime of the case."""
        regime = str(case.options.get("regime", "normal"))
        values, scales = list[NDArray](), list[NDArray]()
        for name, x in zip(NAMES, (pack.key, pack.value), strict=True):
            numbers = draw_numbers(case, name, x.shape, self.kind, regime)
            own = draw_scales(case, name, self._shape(case, pack), self.kind, regime) / SPREAD[self.kind]
            spread = np.broadcast_to(self._spread(case, pack, round_to(own, "float32")), x.shape[:2])
            values.append(numbers * spread[..., None])
            scales.append(spread)
        return replace(pack, key=values[0], value=values[1], scales=(scales[0], scales[1]))

    def _shape(self, case: ParameterCase, pack: Pack) -> tuple[int, ...]:
        """The shape of drawn scales; in pages one for each page, or token, of each text."""
        heads, T_k = pack.key.shape[1], len(pack.key)
        return {
            "tensor": (), "head": (heads,), "sequence": (len(pack.texts), heads), "page": (T_k, heads),
            "token": (T_k, heads),
        }[self.granularity]  # fmt: skip

    def _spread(self, case: ParameterCase, pack: Pack, own: NDArray) -> NDArray:
        """Drawn scales, broadcastable to (T_k, H_kv)."""
        if self.granularity == "sequence":
            return np.repeat(own, [n_kv for _, n_kv in pack.texts], axis=0)
        if self.granularity == "page" and len(own):
            firsts = [
                pack.rows(b, 1).start + j - j % _page(case) for b, (_, n) in enumerate(pack.texts) for j in range(n)
            ]
            return own[firsts]
        return own

    def of_call(self, case: ParameterCase, pack: Pack, places: list[tuple[NDArray, NDArray]], shape: tuple[int, ...],
                unused: float | None) -> tuple[NDArray, NDArray]:  # fmt: skip
        """The scales of keys and of values as a call has them.

        Args: places: (page, place in it) of every text's keys. shape: (pages, page, H_kv). unused: the scale where no
            key lies; None for any.
        """
        assert pack.scales is not None
        found = []
        for name, spread in zip(NAMES, pack.scales, strict=True):
            if self.granularity == "tensor":
                found.append(np.asarray(spread.flat[0] if spread.size else 1.0))
            elif self.granularity == "head":
                found.append(spread[0] if len(spread) else np.ones(shape[2]))
            elif self.granularity == "sequence":
                starts = [pack.rows(b, 1) for b in range(len(pack.texts))]
                found.append(np.stack([spread[at.start] if at.start < at.stop else np.ones(shape[2]) for at in starts]))
            else:
                found.append(self._in_pages(case, name, pack, spread, places, shape, unused))
        return found[0], found[1]

    def _in_pages(
        self, case: ParameterCase, name: str, pack: Pack, spread: NDArray, places: list[tuple[NDArray, NDArray]],
        shape: tuple[int, ...], unused: float | None,
    ) -> NDArray:  # fmt: skip
        """Scales of tokens (pages, page, H_kv), or of pages (pages, H_kv)."""
        rng = case.rng(f"unused scales of {name}")
        scales = 2.0 ** rng.integers(-3, 4, size=shape) if unused is None else np.full(shape, unused)
        for b, at in enumerate(places):
            own = spread[pack.rows(b, 1)]
            scales[at] = own
            if self.granularity == "page":
                scales[at[0]] = own[:, None]
        return scales if self.granularity == "token" else scales[:, 0]

    def fill_pages(self, case: ParameterCase, shape: tuple[int, ...], which: int, *, ends: bool) -> NDArray:
        """Numbers of pages before any key is written: any, or the largest of the format."""
        return (
            np.full(shape, ENDS[self.kind][1])
            if ends
            else draw_numbers(case, f"stale{which}", shape, self.kind, "normal")
        )


@dataclass(frozen=True)
class StoredPages:
    """What a call is given in the place of keys and values: numbers (N, page, H_kv, d), and scales of its form."""

    key: NDArray
    value: NDArray
    scales: tuple[NDArray, NDArray]


def read_storage(parameters: Mapping[str, Any]) -> Storage | None:
    """The storage that is declared (`stored=int8`, `scales=token`); None where pages hold keys and values."""
    kind = parameters.get("stored")
    return None if kind is None else Storage(str(kind), str(parameters.get("scales", "tensor")))


def _page(case: ParameterCase) -> int:
    """Keys of a page."""
    return int(case.sizes.get("page", 4))
