"""Which cases a law wants, and what the target allows: the two halves that the generators combine.

`Space` is a law's wish (masks, causality, dead rows, regimes, ...); `Profile` is what the implementation declares
and claims. Both generators (`draw`, `small`) read nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attention_core.conformance.cases.shape_pool import Member, pool_for
from attention_core.declaration.scales import DEFAULT

REGIMES = ("normal", "peaked", "one_hot", "near_ties", "offset", "tiny", "mixed", "integers")
"""Value regimes of large cases; see `draw.values`."""


@dataclass(frozen=True)
class Space:
    """What a law wants to see.

    Args:
        masks: kinds among "none", "bool", "float" (finite biases and -inf), "finite" (finite biases alone).
        causal: values of is_causal to draw from.
        dead: share of cases in which some rows lose every key (needs a mask or bottom-right causal).
        regimes: value regimes.
        scales: whether scales other than the default are drawn.
        grouped: whether H_kv < H is drawn.
        dtypes: restrict to these (intersected with the declared ones), or None.
        min_q, min_kv, min_heads, min_batch: smallest sizes.
        max_n: largest length.
        square: n_q == n_kv always.
        small: whether the Hypothesis source is used as well.
        pool: the shapes that cases are drawn from; none, and all sizes are free.
        floor: whether min_q and min_kv hold for shrunk cases, too; else they are for drawing alone.
    """

    masks: tuple[str, ...] = ("none", "bool", "float")
    causal: tuple[bool, ...] = (False, True)
    dead: float = 0.0
    regimes: tuple[str, ...] = REGIMES
    scales: bool = True
    grouped: bool = True
    dtypes: tuple[str, ...] | None = None
    min_q: int = 1
    min_kv: int = 1
    min_heads: int = 1
    min_batch: int = 1
    max_n: int = 2049
    square: bool = False
    small: bool = True
    floor: bool = True
    pool: tuple[Member, ...] = ()

    def contains(self, case: Any) -> bool:
        """Whether a case (shrunk, or drawn for another law) is one that this law could draw."""
        if case.given:  # drawn by the law itself, beyond its wish
            return case.is_causal or False in self.causal
        n_q, n_kv, _, _, heads, _ = case.sizes
        small = (self.floor and (n_q < self.min_q or n_kv < self.min_kv)) or heads < self.min_heads
        small = small or case.query.shape[0] < self.min_batch or (self.square and n_q != n_kv)
        plain = (self.scales or case.scale is None) and (self.grouped or case.group == 1)
        fits = case.is_causal in self.causal and case.dtype in (self.dtypes or (case.dtype,))
        return not small and plain and fits and bool(mask_kinds(case.mask) & set(self.masks))

    def for_small(self) -> Space:
        """The wish without what small cases do not heed, so that laws with like wishes share their small cases."""
        return replace(self, regimes=(), max_n=0, dead=float(self.dead > 0))

    def with_(self, **changes: Any) -> Space:
        """A copy with some wishes changed."""
        return replace(self, **changes)


def mask_kinds(mask: Any) -> set[str]:
    """The kinds of `Space.masks` that a mask can stand for."""
    if mask is None:
        return {"none"}
    if mask.dtype == bool:
        return {"bool"}
    return {"float", "finite"} if np.isfinite(mask).all() else {"float"}


@dataclass(frozen=True)
class Profile:
    """What cases of the target may contain: declared dtypes, sizes, axes and masks, claimed parameters, causality.

    `pool`: their shapes are those of a pool, since the target is compiled for each.
    """

    dtypes: tuple[str, ...]
    claims: frozenset[str]
    alignment: str
    dead_rows: str
    sizes: Callable[..., bool] | None = None
    axes: int = 4
    masks: str = "any"
    always_causal: bool = False
    default_scale: str = DEFAULT
    pool: bool = False

    def allows(self, sizes: tuple[int, ...]) -> bool:
        """Whether (n_q, n_kv, d, d_v, H, H_kv) are declared sizes."""
        if (self.axes < 4 and sizes[4] != sizes[5]) or (self.axes == 2 and sizes[4] != 1):
            return False
        return self.sizes is None or bool(self.sizes(*sizes))

    def restrict(self, space: Space, family: str = "") -> Space | None:
        """The wish cut down to what is claimed, with a family's share of the pool; None if nothing is left of it."""
        masks = space.masks if "attn_mask" in self.claims else tuple(m for m in space.masks if m == "none")
        if self.masks in ("bool", "binary"):
            masks = tuple(m for m in masks if m in ("none", "bool"))
        causal = space.causal if "is_causal" in self.claims else tuple(c for c in space.causal if not c)
        if self.always_causal:
            causal = tuple(c for c in space.causal if c)
        if self.axes == 2 and max(space.min_batch, space.min_heads) > 1:
            return None
        dtypes = tuple(d for d in space.dtypes or self.dtypes if d in self.dtypes)
        if not (masks and causal and dtypes):
            return None
        cut = space.with_(
            masks=masks,
            causal=causal,
            dtypes=dtypes,
            scales=space.scales and "scale" in self.claims,
            grouped=space.grouped and "enable_gqa" in self.claims and self.axes == 4,
        )
        return cut.with_(pool=pool_for(cut, self, family)) if self.pool else cut
