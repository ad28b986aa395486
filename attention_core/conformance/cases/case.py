"""One attention problem, or a pack of many: a tensor call whose every (batch, head) slice is a problem of its own.

Values are float64 arrays that are exactly representable in the case's dtype. A case knows how to get smaller
and plainer, how to become JSON and back, and draws what laws need beside it (cotangents) from its seed.

"Plainer" is an order: 0 < 1 < -1 < 2 < small integers < halves < the rest; a case takes each step that still fails.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.worker.exchange import FLOATS, NDArray
from attention_core.declaration.scales import DEFAULT, check_scale, scale_of

FEW = 64
"""Numbers of an array that is made plain one by one."""
FEW_CLOSED = 24
"""Masked entries that are opened one by one."""


def halves(values: NDArray) -> bool:
    """Whether all finite numbers are multiples of 1/2 and small: the friendly numbers of small and shrunk cases."""
    finite = values[np.isfinite(values)]
    return bool(np.all(2 * finite == np.rint(2 * finite)) and np.all(np.abs(finite) < 100))


def parts(count: int) -> list[NDArray]:
    """Index sets to try in place of all `count`: halves, then without a part at either end, then all but one.

    The parts are a quarter, an eighth, and so on: one by one, 513 of 2,049 would be reached too late.
    """
    if count <= 1:
        return []
    every, half = np.arange(count), count // 2
    parts = [every[:half], every[half:]] if count > 3 else []
    if count <= 12:
        return parts + [np.delete(every, i) for i in every]
    size = count // 4
    while size > 1:
        parts += [every[size:], every[:-size]]
        size //= 2
    return parts + [np.delete(every, i) for i in (0, count - 1, half)]


def pick(mask: NDArray | None, keep: NDArray, axis: int) -> NDArray | None:
    """The entries `keep` of a mask along an axis counted from the end; one that is broadcast there stays as it is."""
    if mask is None or mask.ndim < -axis or mask.shape[axis] == 1:
        return mask
    return np.take(mask, keep, axis=axis)


def plainer(values: NDArray) -> Iterator[NDArray]:
    """The same array with plainer numbers: whole first, then a large one by halves, a small one by elements."""
    finite = np.isfinite(values)
    rounded = np.rint(np.where(finite, values, 0.0)) + 0.0  # no -0
    for whole in (0.0, rounded, np.clip(rounded, -1, 1), np.abs(np.where(finite, values, 0.0))):
        new = np.where(finite, whole, values)
        if cost(new) < cost(values):
            yield new
    if values.size > FEW:
        yield from emptier(values)
        return
    for index in np.ndindex(values.shape):
        old = float(values[index])
        for plain in (0.0, 1.0, -1.0, 2.0, float(np.rint(old)) if np.isfinite(old) else 0.0):
            if complexity(plain) < complexity(old):
                new = values.copy()
                new[index] = plain
                yield new


def emptier(values: NDArray) -> Iterator[NDArray]:
    """A large array with zeros in half of its rows or columns that have others, so that halving finds what matters."""
    for axis in (-2, -1):
        others = tuple(a for a in range(values.ndim) if a != values.ndim + axis)
        filled = np.flatnonzero((values != 0).any(axis=others))
        if len(filled) < 2:
            continue
        half = len(filled) // 2
        for emptied in (filled[:-1], filled[:half], filled[half:]):
            new = values.copy()
            new.swapaxes(axis, -1)[..., emptied] = 0.0
            yield new


def opener(mask: NDArray) -> Iterator[NDArray]:
    """A bool mask with fewer masked entries: none, half of them, then a smaller part at a time, then one."""
    closed = np.flatnonzero(~mask)
    sizes = [len(closed)]
    while sizes[-1] > FEW_CLOSED:
        sizes.append(sizes[-1] // 2)
    chunks = [part for size in sizes if size > 1 for part in (closed[:size], closed[-size:])]
    for entries in (*chunks, *closed[:FEW_CLOSED, None]):
        opened = mask.copy()
        opened.reshape(-1)[entries] = True
        yield opened


def complexity(x: float) -> float:
    """How hard a number is to read: 0 < 1 < -1 < 2 < small integers < halves < the rest."""
    if x == 0:
        return 0.0
    if not np.isfinite(x):
        return 3.0
    if x == np.rint(x) and abs(x) < 100:
        return 1.0 + abs(x) / 100 + (0.005 if x < 0 else 0.0)
    return 4.0 if 2 * x == np.rint(2 * x) and abs(x) < 100 else 5.0


def cost(values: NDArray) -> float:
    """`complexity`, roughly, summed over an array at once: 0 for zeros, about 1 for small integers, 5 for the rest."""
    zero, finite = values == 0, np.isfinite(values)
    whole = finite & (values == np.rint(values)) & (np.abs(values) < 100)
    cost = np.where(zero, 0.0, np.where(whole, 1.0 + np.abs(np.where(whole, values, 0)) / 100, 5.0))
    return float(np.sum(cost + 0.005 * (values < 0)))


SCALES = (None, 1.0, 2.0, 0.5)
"""Scales from plain to less plain."""


@dataclass(frozen=True, eq=False)
class Case:
    """Arguments of one `attention` call in canonical order and convention (True attends).

    query (B, H, n_q, d), key (B, H_kv, n_kv, d), value (B, H_kv, n_kv, d_v); mask None, bool, or float64 (added to the
    scaled scores), broadcastable to (B, H, n_q, n_kv). `views` names a memory layout per argument;
    `default_scale` is what a scale of None means. A law that draws problems of its own for a case judges one that is
    `given` as it is: such a problem can be made smaller. `near` is the written size around which it was drawn, or 0.
    """

    dtype: str
    query: NDArray
    key: NDArray
    value: NDArray
    mask: NDArray | None = None
    is_causal: bool = False
    scale: float | None = None
    seed: int = 0
    label: str = ""
    views: Mapping[str, str] = field(default_factory=dict)
    default_scale: str = DEFAULT
    given: bool = False
    near: int = 0

    @property
    def factor(self) -> float:
        """The scale that the case means."""
        return scale_of(self.default_scale, self.query.shape[-1]) if self.scale is None else self.scale

    @property
    def sizes(self) -> tuple[int, int, int, int, int, int]:
        """(n_q, n_kv, d, d_v, H, H_kv)."""
        q, k, v = self.query.shape, self.key.shape, self.value.shape
        return q[-2], k[-2], q[-1], v[-1], q[-3], k[-3]

    @property
    def slices(self) -> int:
        """How many independent problems the case packs."""
        return int(math.prod(self.query.shape[:-2]))

    @property
    def group(self) -> int:
        """Query heads per key head."""
        return int(self.query.shape[-3]) // max(int(self.key.shape[-3]), 1)

    def rng(self, purpose: str) -> np.random.Generator:
        """A generator that depends on the case's seed and on what it is for, not on the order of calls."""
        words = [self.seed, *purpose.encode()]
        # the same stream from an array, which takes half the time; an edited case may hold a larger seed
        return np.random.default_rng(np.array(words, np.uint32) if 0 <= self.seed < 1 << 32 else words)

    @property
    def is_plain(self) -> bool:
        """Whether query, key and value hold the friendly numbers of small and shrunk cases."""
        return all(halves(a) for a in (self.query, self.key, self.value))

    def cotangent(self, purpose: str = "cotangent") -> NDArray:
        """A drawn cotangent for the output, exact in the dtype; small whole numbers beside plain inputs.

        It is drawn once, and never written into.
        """
        drawn: dict[str, NDArray] = self.__dict__.setdefault("_cotangents", {})
        if purpose not in drawn:
            drawn[purpose] = self._draw_cotangent(purpose)
            drawn[purpose].flags.writeable = False
        return drawn[purpose]

    def _draw_cotangent(self, purpose: str) -> NDArray:
        """Many plain numbers are seven again and again, which a program writes in a line."""
        shape = (*self.query.shape[:-1], self.value.shape[-1])
        rng = self.rng(purpose)
        if self.is_plain:
            numbers = [-2.0, -1.0, 1.0, 2.0]  # no zeros, which would hide what they multiply
            return rng.choice(numbers, shape) if math.prod(shape) <= FEW else np.resize(rng.choice(numbers, 7), shape)
        return round_to(rng.standard_normal(shape), self.dtype)

    def with_(self, **changes: Any) -> Case:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def describe(self) -> str:
        """The case in one line."""
        n_q, n_kv, d, d_v, heads, kv_heads = self.sizes
        parts = [f"{self.dtype} B={self.query.shape[0]} H={heads}"]
        if kv_heads != heads:
            parts.append(f"H_kv={kv_heads}")
        parts.append(f"n_q={n_q} n_kv={n_kv} d={d}" + (f" d_v={d_v}" if d_v != d else ""))
        if self.mask is not None:
            parts.append(f"{'bool' if self.mask.dtype == bool else 'float'} mask {tuple(self.mask.shape)}")
        if self.is_causal:
            parts.append("causal")
        if self.scale is not None:
            parts.append(f"scale={self.scale:g}")
        return " ".join(parts + ([self.label] if self.label else []))

    # --- getting smaller -------------------------------------------------------------------------------

    def smaller(self) -> Iterator[Case]:
        """Cases of smaller sizes or with fewer options, the boldest first."""
        yield from self._fewer_slices()
        yield from self._fewer_rows()
        yield from self._plainer_options()

    def simpler(self) -> Iterator[Case]:
        """The same cases, those first that say most about the cause: fewer options."""
        yield from self._plainer_options()
        yield from self._fewer_slices()
        yield from self._fewer_rows()

    def _fewer_slices(self) -> Iterator[Case]:
        for axis, count in ((0, self.query.shape[0]), (1, self.key.shape[1])):
            for keep in parts(count):
                yield self._take(axis, keep)
        if self.group > 1:
            # boldest first: one member of every group, then fewer members
            for members in (*np.arange(self.group)[:, None], *(p for p in parts(self.group) if len(p) > 1)):
                yield self._members(members)

    def _members(self, members: NDArray) -> Case:
        """Only these query heads of every group."""
        index = (np.arange(self.key.shape[1])[:, None] * self.group + members).reshape(-1)
        mask = self.mask
        if mask is not None and mask.ndim >= 3 and mask.shape[-3] > 1:
            mask = mask[..., index, :, :]
        return self.with_(query=self.query[:, index], mask=mask)

    def _take(self, axis: int, keep: NDArray) -> Case:
        heads = (keep[:, None] * self.group + np.arange(self.group)).reshape(-1) if axis == 1 else keep
        mask = self.mask
        if mask is not None and mask.ndim >= 4 - axis and mask.shape[axis - 4] > 1:
            mask = np.take(mask, heads, axis=axis - 4)
        return self.with_(
            query=np.take(self.query, heads, axis=axis), key=np.take(self.key, keep, axis=axis),
            value=np.take(self.value, keep, axis=axis), mask=mask,
        )  # fmt: skip

    def _fewer_rows(self) -> Iterator[Case]:
        n_q, n_kv, d, d_v, _, _ = self.sizes
        for keep in parts(n_q):
            yield self.with_(query=self.query[..., keep, :], mask=pick(self.mask, keep, -2))
        for keep in parts(n_kv):
            yield self.with_(key=self.key[..., keep, :], value=self.value[..., keep, :], mask=pick(self.mask, keep, -1))
        if n_q == n_kv:
            for keep in parts(n_q):
                yield self.with_(
                    query=self.query[..., keep, :], key=self.key[..., keep, :], value=self.value[..., keep, :],
                    mask=pick(pick(self.mask, keep, -2), keep, -1),
                )  # fmt: skip
        for keep in parts(d):
            yield self.with_(query=self.query[..., keep], key=self.key[..., keep])
        for keep in parts(d_v):
            yield self.with_(value=self.value[..., keep])
        if d == d_v:
            for keep in parts(d):
                yield self.with_(query=self.query[..., keep], key=self.key[..., keep], value=self.value[..., keep])

    def _plainer_options(self) -> Iterator[Case]:
        if self.mask is not None:
            yield self.with_(mask=None)
            if self.mask.ndim > 2 and math.prod(self.mask.shape[:-2]) == 1:
                yield self.with_(mask=self.mask.reshape(self.mask.shape[-2:]))
        if self.is_causal:
            yield self.with_(is_causal=False)
        if self.scale is not None:
            # Only towards the front of the list, or 1 and 2 would take turns for ever.
            rank = SCALES.index(self.scale) if self.scale in SCALES else len(SCALES)
            for scale in SCALES[:rank]:
                yield self.with_(scale=scale)
        if self.views:
            yield self.with_(views={})
            for name in self.views:
                yield self.with_(views={k: v for k, v in self.views.items() if k != name})
        if self.label:
            yield self.with_(label="")

    def plainer(self) -> Iterator[Case]:
        """Cases of the same sizes with plainer numbers."""
        for name in ("query", "key", "value"):
            old = getattr(self, name)
            for new in plainer(old):
                yield self.with_(**{name: new})
        if self.mask is not None:
            if self.mask.dtype == bool:
                for opened in opener(self.mask):
                    yield self.with_(mask=opened)
            else:
                for new in plainer(self.mask):
                    yield self.with_(mask=new)

    # --- JSON ------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """The case as JSON values (arrays as base64 of float64 or bool)."""
        arrays = {n: _array_to_json(getattr(self, n)) for n in ("query", "key", "value", "mask")}
        plain = {n: getattr(self, n) for n in ("dtype", "is_causal", "scale", "seed", "label", "default_scale")}
        given: dict[str, Any] = {"given": True} if self.given else {}
        given |= {"near": self.near} if self.near else {}
        return {"type": "attention", **plain, **arrays, "views": dict(self.views), **given}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Case:
        """The inverse of `to_json`.

        Raises:
            ValueError, KeyError, TypeError: the data are not a case; such a file may have been edited by hand.
        """
        arrays = {n: _array_from_json(data[n]) for n in ("query", "key", "value", "mask")}
        plain = {n: data[n] for n in ("dtype", "is_causal", "scale", "seed", "label", "views")}
        if plain["dtype"] not in FLOATS:
            raise ValueError(f"dtype {plain['dtype']!r} is not one of {', '.join(FLOATS)}")
        plain["default_scale"] = check_scale(data.get("default_scale", DEFAULT))
        case = Case(**{**plain, **arrays}, given=data.get("given") is True, near=int(data.get("near", 0)))
        case._check_shapes()
        return case

    def _check_shapes(self) -> None:
        for name in ("query", "key", "value"):
            if getattr(self, name) is None or getattr(self, name).ndim != 4:
                raise ValueError(f"{name} is not of shape (B, H, n, d)")
        batch, heads, n_q, d = self.query.shape
        kv_heads, n_kv = self.key.shape[1:3]
        if self.key.shape != (batch, kv_heads, n_kv, d) or heads % max(kv_heads, 1):
            raise ValueError(f"key {self.key.shape} does not fit query {self.query.shape}")
        if self.value.shape[:3] != self.key.shape[:3]:
            raise ValueError(f"value {self.value.shape} does not fit key {self.key.shape}")
        scores = (batch, heads, n_q, n_kv)
        if self.mask is not None and np.broadcast_shapes(self.mask.shape, scores) != scores:
            raise ValueError(f"mask {self.mask.shape} does not fit scores {scores}")


def _array_to_json(values: NDArray | None) -> Any:
    if values is None:
        return None
    kind = "bool" if values.dtype == bool else "float64"
    data = np.ascontiguousarray(values).tobytes()
    return {"dtype": kind, "shape": list(values.shape), "base64": base64.b64encode(data).decode()}


def _array_from_json(data: Any) -> NDArray | None:
    if data is None:
        return None
    if data["dtype"] not in ("bool", "float64"):
        raise ValueError(f"array dtype {data['dtype']!r} is not bool or float64")
    flat = np.frombuffer(base64.b64decode(data["base64"]), dtype=data["dtype"])
    return flat.reshape(data["shape"]).copy()
