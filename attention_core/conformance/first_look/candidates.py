"""The conventions that a function may follow, as changes of the declared record; the fewest changes come first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from attention_core.declaration.implementation import CHOICES, QKV_AXES, Implementation, TargetError
from attention_core.declaration.scales import RULES

Changes = Mapping[str, Any]
DEAD = ("zeros", "nan", "uniform")
"""What rows without a key may hold; "unspecified" would explain everything that is wrong with them."""
LAYOUTS: Mapping[int, Sequence[tuple[str, str | None, str | None]]] = {
    4: [
        *((layout, None, None) for layout in CHOICES["layout"]), ("bhnd", None, "bnhd"), ("bhnd", None, "bne"),
        ("bnhd", None, "bhnd"), ("bnhd", None, "bne"), ("nbhd", None, "nbe"), ("bhdn", None, "bhnd"),
        ("bhnd", "bhdn", None), ("bhnd", "bhdn", "bne"),
    ],
    3: [("bhnd", None, None), ("nbhd", None, None), ("bhdn", None, None), ("bhnd", "bhdn", None)],
    2: [("bhnd", None, None), ("bhdn", None, None), ("bhnd", "bhdn", None)],
}  # fmt: skip
"""Layouts of query and value, of the key and of the output by number of axes; who puts tokens before sequences does so
in all."""
SCALES = ("1/sqrt(d)", "1", "1/d", "sqrt(d)")
assert set(SCALES) <= {*RULES, "1"}


def of_plain_calls(record: Implementation) -> list[Changes]:
    """Ways to call a function without mask and flags: axes, layouts, results, scale, causality of every call."""
    causality: list[dict[str, Any]] = [
        {},
        {"always_causal": True},
        *({"always_causal": True, "causal": "bottom_right", "dead_rows": d} for d in DEAD),
    ]
    ways: list[dict[str, Any]] = []
    packed = record.qkv_axis is not None
    placed: list[dict[str, Any]] = [{"qkv_axis": axis} for axis in QKV_AXES] if packed else [{}]
    counts = (4,) if packed else (4, 3, 2)
    for place, axes, returns, scale, causal in product(placed, counts, CHOICES["returns"], SCALES, causality):
        for layout, key_layout, out_layout in LAYOUTS[axes]:
            way = {"axes": axes, "layout": layout, "key_layout": key_layout, "out_layout": out_layout}
            ways.append({**way, "returns": returns, "scale": scale, **place, **causal})
    return list_changes(record, ways)


def of_masks_and_causality(record: Implementation, claims: Iterable[str]) -> list[Changes]:
    """Ways to take masks, to place the causal diagonal, and to fill rows without a key."""
    masks = CHOICES["masks"] if "attn_mask" in claims else (record.masks,)
    polarities = CHOICES["mask_true"] if "attn_mask" in claims else (record.mask_true,)
    corners = CHOICES["causal"] if "is_causal" in claims else (record.causal,)
    names = ("masks", "mask_true", "causal", "dead_rows")
    return list_changes(record, [dict(zip(names, v, strict=True)) for v in product(masks, polarities, corners, DEAD)])


def list_changes(record: Implementation, ways: Sequence[Changes]) -> list[Changes]:
    """What each way changes of a record, each once, those with the fewest changes first."""
    all_changes: dict[frozenset[tuple[str, Any]], Changes] = {frozenset(): {}}
    for way in ways:
        changes = {name: value for name, value in way.items() if value != getattr(record, name)}
        all_changes.setdefault(frozenset(changes.items()), changes)
    return sorted(all_changes.values(), key=len)


def records(record: Implementation, every: Iterable[Changes]) -> Iterator[tuple[Changes, Implementation]]:
    """The records of some changes; conventions that do not go together are left out."""
    for changes in every:
        try:
            yield changes, record.with_(**changes)
        except TargetError:
            continue
