"""Which cases a law wants, what the target allows, and the pool of shapes for targets that are compiled.

`Space` is a law's wish (masks, causality, dead rows, regimes, ...); `Profile` is what the implementation declares
and claims. Both generators (`draw`, `small`) read nothing else.

A compiler may build a target anew for every shape, so its cases come from a pool: each of a dozen shapes is compiled
once. They are chosen for what hides behind sizes: one row, odd and prime lengths, tails around 64 and 128, fewer and
more queries than keys, decoding, heads that share keys, head sizes that differ. A case of the pool has the sizes, the
dtype, the form of the mask, the flags and the seed of its member, so that whatever a law derives from it has one shape,
too; only the numbers are drawn. Every family of laws meets a few members, the comparison with the truth all of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import lcm
from typing import Any, TypeVar

import numpy as np

from attention_core.conformance.cases.near import Near
from attention_core.declaration.scales import DEFAULT

T = TypeVar("T")
Sizes = tuple[int, int, int, int, int, int]


@dataclass(frozen=True)
class Member:
    """One shape of the pool: sizes (n_q, n_kv, d, d_v, H, H_kv), and the dtype of its cases.

    `variant`: a number for the choice of the scale. `turn`: which kind and form of mask and which causality it has.
    """

    batch: int
    sizes: Sizes
    dtype: str = "float32"
    variant: int = 0
    turn: int = 0

    @property
    def is_small(self) -> bool:
        """Whether a person can read a case of it."""
        return max(self.sizes) <= SMALL

    def fits(self, space: Space, profile: Profile) -> bool:
        """Whether a law wants such cases and the target declares them."""
        n_q, n_kv, _, _, heads, kv_heads = self.sizes
        enough = n_q >= space.min_q and n_kv >= space.min_kv and max(n_q, n_kv) <= space.max_n
        enough = enough and self.batch >= space.min_batch and heads >= space.min_heads
        plain = (n_q == n_kv or not space.square) and (space.grouped or heads == kv_heads)
        return enough and plain and (profile.axes > 2 or self.batch == 1) and profile.allows(self.sizes)

    def choices(self, space: Space) -> np.random.Generator:
        """What the member's scale is chosen by: the same for all cases that a law like this draws."""
        return np.random.default_rng([self.number, wish_of(space)])

    def flags(self, space: Space) -> tuple[str, bool, int]:
        """The kind of mask, the causality and the number of the mask's form that are the member's in this turn.

        Members that follow each other have every kind of mask, then every kind with the other causality; the form
        goes on when all kinds have had one.

        Example:
            >>> from attention_core.conformance.cases.space import Space
            >>> wish = Space(masks=("bool", "float"), causal=(False, True))
            >>> sorted(Member(1, (1, 1, 1, 1, 1, 1), turn=turn).flags(wish) for turn in range(4))
            [('bool', False, 1), ('bool', True, 0), ('float', False, 1), ('float', True, 0)]
        """
        kinds, flags = len(space.masks), len(space.causal)
        place = self.turn + wish_of(space) % kinds
        causal = (place + place // lcm(kinds, flags)) % flags
        return space.masks[place % kinds], space.causal[causal], self.turn // kinds

    @property
    def number(self) -> int:
        """A number that stands for the member: the seed of its cases."""
        return zlib.crc32(repr((self.batch, self.sizes, self.dtype, self.variant)).encode()) >> 1


def wish_of(space: Space) -> int:
    """A number that stands for what a law wants beside sizes."""
    return zlib.crc32(f"{space.masks} {space.causal} {space.scales} {space.dead > 0}".encode())


SMALL = 4
"""The largest size of a case that a person can read."""
VARIANTS = 3
"""So many choices of mask, flags and scale are made of one member where a law meets all of them; else one.

In families of calls, which meet one member, there is one for each kind of mask.
"""
SHARE = 2
"""So many members, small and large ones each, the laws of one family meet."""
OF_CALLS = ("state", "sharing", "process_state")
"""Families of laws about what calls leave behind. A compiled program leaves nothing: their calls are not compiled as a
whole, so that every operation is, and one member has to do."""
SOME = 3
"""So many of the problems that a law draws for a case of the pool are judged."""
FALLBACK = 3000
"""So many draws look for other sizes where the pool has none that are wanted and declared."""

POOL = (
    Member(2, (65, 65, 16, 16, 2, 2)),
    Member(2, (1, 129, 64, 64, 3, 3)),
    Member(3, (33, 17, 5, 7, 3, 3)),
    Member(2, (16, 64, 32, 32, 4, 4)),
    Member(2, (7, 13, 12, 12, 6, 2)),
    Member(1, (127, 63, 8, 8, 2, 2), "bfloat16"),
    Member(2, (17, 128, 9, 9, 2, 2), "float16"),
    Member(2, (31, 257, 3, 3, 1, 1), "float64"),
    Member(2, (1, 3, 2, 2, 1, 1)),
    Member(1, (3, 3, 2, 2, 2, 2)),
    Member(2, (4, 2, 3, 1, 4, 2)),
    Member(2, (2, 4, 1, 1, 3, 3), "bfloat16"),
    Member(2, (2, 3, 4, 3, 2, 2), "float16"),
    Member(2, (3, 4, 3, 3, 2, 2), "float64"),
)
"""The pool. Dtypes that are not declared give way to the first that is."""


def near(sizes: Sizes) -> Iterator[Sizes]:
    """The sizes, then like ones for targets that decline some: equal head sizes, no shared heads, usual widths."""
    n_q, n_kv, d, d_v, heads, kv_heads = sizes
    for width, width_v in dict.fromkeys([(d, d_v), (d, d), *((-(-d // w) * w,) * 2 for w in (2, 4, 8, 16, 32, 64))]):
        for shared in dict.fromkeys((kv_heads, heads)):
            yield n_q, n_kv, width, width_v, heads, shared
            yield n_q, n_q, width, width_v, heads, shared


@lru_cache
def members(space: Space, profile: Profile) -> tuple[Member, ...]:
    """The members of the pool that a law wants and the target declares, in sizes and dtypes; small ones last."""
    dtypes = space.dtypes or profile.dtypes
    found = []
    for number, member in enumerate(POOL):
        other = dtypes[number % len(dtypes) if member.dtype in profile.dtypes else 0]
        dtype = member.dtype if member.dtype in dtypes else other
        like = (replace(member, sizes=sizes, dtype=dtype) for sizes in near(member.sizes))
        found.append(next((one for one in like if one.fits(space, profile)), None))
    return tuple(dict.fromkeys(member for member in found if member is not None))


def pool_for(space: Space, profile: Profile, family: str) -> tuple[Member, ...]:
    """The members that the laws of a family meet, of one wish; all of them, in variants, where no family is named.

    Example:
        >>> from attention_core.conformance.cases.space import Profile, Space
        >>> profile = Profile(("float32",), frozenset(), "top_left", "zeros", pool=True)
        >>> len(pool_for(profile.restrict(Space()), profile, "masking"))
        4
    """
    fit = members(space, profile)
    kinds = [[one for one in fit if not one.is_small], [one for one in fit if one.is_small]]
    if family in OF_CALLS:
        one = (kinds[1] or kinds[0])[:1]
        kinds = [[replace(member, variant=i) for member in one for i in range(len(space.masks))]]
    elif not family:
        kinds = [[replace(one, variant=i) for one in kind for i in range(VARIANTS)] for kind in kinds]
    else:
        start = zlib.crc32(family.encode())
        kinds = [
            [kind[(start + i * len(kind) // SHARE) % len(kind)] for i in range(min(SHARE, len(kind)))] for kind in kinds
        ]
    return tuple(replace(one, turn=turn) for turn, one in enumerate(one for kind in kinds for one in kind))


def some(problems: Sequence[T], case: Any, profile: Profile) -> Sequence[T]:
    """Problems of other sizes that a law draws for a case: all of them, or a few where sizes are those of a pool."""
    if not profile.pool or len(problems) <= SOME:
        return problems
    step = len(problems) // SOME
    return problems[case.seed % step :: step][:SOME]


def large_member(space: Space, rng: np.random.Generator) -> Member | None:
    """A large member of a law's share, or else a small one."""
    large = [one for one in space.pool if not one.is_small] or list(space.pool)
    return large[int(rng.integers(len(large)))] if large else None


def small_members(space: Any) -> tuple[Member, ...]:
    """The small members of a law's share."""
    return tuple(one for one in space.pool if one.is_small)


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
        near: the written size around which a case is drawn, or None.
        floor: whether min_q and min_kv hold for shrunk cases, too; else they are for drawing alone.
        shrinks: whether a smaller case is another problem; else the law makes its problem of the dtype alone.
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
    shrinks: bool = True
    pool: tuple[Member, ...] = ()
    near: Near | None = None

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
