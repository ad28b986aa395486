"""Who sees whom: tools for laws that change keys and values which some rows must not see.

A law chooses keys, asks which rows are blind to all of them, and gives the chosen keys other contents. The
contents are made to show: keys that the blind rows would love to attend, and values far from all others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attention_core.conformance.budgets.budget import HUGE, round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.subjects.evidence import NotApplicable, require_close
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import Implementation
from attention_core.oracle.masks import allowed

CLEAR = 12.0  # a score by which a leaking key outweighs the others
WINNING = 1500.0  # a score that takes all the weight, also in float64: e^-745 is 0
FAR = 64.0  # a value that no mean of drawn values comes near


@dataclass(frozen=True)
class Planting:
    """A case, the keys that are about to change, and the rows that must not notice.

    keys (B, H_kv, n_kv); rows (B, H, n_q): rows with a key of their own that see none of the chosen ones.
    """

    case: Case
    keys: NDArray
    rows: NDArray

    @property
    def cotangent(self) -> NDArray:
        """The case's cotangent, zero at every row that may notice."""
        return self.case.cotangent() * self.rows[..., None]

    def with_contents(self, key: NDArray | float, value: NDArray | float) -> Case:
        """The case with other contents in the chosen keys and values."""
        chosen, dtype = self.keys[..., None], self.case.dtype
        new_key = np.where(chosen, round_to(np.broadcast_to(key, self.case.key.shape), dtype), self.case.key)
        new_value = np.where(chosen, round_to(np.broadcast_to(value, self.case.value.shape), dtype), self.case.value)
        return self.case.with_(key=new_key, value=new_value)


def find_visible_pairs(subject: Subject, case: Case) -> NDArray:
    """Which row may attend which key, by mask and causality together: bool (B, H, n_q, n_kv)."""
    n_q, n_kv = case.sizes[:2]
    pairs = allowed(n_q, n_kv, case.mask, case.is_causal, subject.implementation.causal)
    return np.broadcast_to(pairs, (*case.query.shape[:-1], n_kv))


def by_key_head(case: Case, rows: NDArray) -> NDArray:
    """(B, H, n_q, ...) -> (B, H_kv, G n_q, ...): the rows that share a key head."""
    batch, heads, n_q = rows.shape[:3]
    kv_heads = case.key.shape[1]
    return rows.reshape(batch, kv_heads, heads // max(kv_heads, 1) * n_q, *rows.shape[3:])


def blind_rows(subject: Subject, case: Case, keys: NDArray) -> NDArray:
    """Live rows that see none of `keys` (B, H_kv, n_kv): bool (B, H, n_q)."""
    pairs = find_visible_pairs(subject, case)
    chosen = np.repeat(keys, case.group, axis=1)[:, :, None, :]
    return np.asarray(pairs.any(-1) & ~(pairs & chosen).any(-1))


def judged_rows(subject: Subject, case: Case) -> NDArray:
    """Rows about which something is declared, (B, H, n_q, 1): all, or live ones if dead rows are open."""
    dead = subject.truth(case).dead
    open_question = subject.implementation.dead_rows == "unspecified"
    return np.asarray((~dead if open_question else np.ones_like(dead))[..., None])


def require_truth(subject: Subject, case: Case, what: str, *, where: NDArray | None = None) -> None:
    """Raise unless output and log-sum-exp are the truth within their budgets (where `where` is true)."""
    bounds, found, truth = subject.bounds(case), subject.forward(case), subject.truth(case)
    assert bounds.out is not None
    require_close(found.out, truth.out, bounds.out, what, where=where)
    if found.lse is not None and bounds.lse is not None:
        rows = ~truth.dead if where is None else ~truth.dead & np.broadcast_to(where, truth.out.shape).all(-1)
        require_close(found.lse, truth.lse, bounds.lse, f"log-sum-exp beside the {what}", where=rows)


def plant_by_row(subject: Subject, case: Case) -> Planting:
    """Choose, in every slice, keys that one drawn row does not see: all of them, or a single one.

    Raises: NotApplicable where no row is blind to any key.
    """
    rng = case.rng("plant")
    pairs = by_key_head(case, find_visible_pairs(subject, case))
    candidates = pairs.any(-1) & ~pairs.all(-1)
    drawn = np.argmax(rng.random(candidates.shape) * candidates, axis=-1)
    keys = ~np.take_along_axis(pairs, drawn[..., None, None], axis=-2)[..., 0, :]
    keys = keys & candidates.any(-1, keepdims=True)
    one = np.argmax(rng.random(keys.shape) * keys, axis=-1)
    single = (np.arange(keys.shape[-1]) == one[..., None]) & keys
    keys = np.where(rng.random((*keys.shape[:2], 1)) < 0.5, keys, single)
    return require_hidden_keys(Planting(case, keys, blind_rows(subject, case, keys)))


def plant_for_all(subject: Subject, case: Case) -> Planting:
    """Choose keys per batch row and mask them for every query, beside what the case's own mask says.

    Raises: NotApplicable where that leaves no row a key.
    """
    rng = case.rng("plant")
    n_kv = case.sizes[1]
    hidden = rng.random((case.query.shape[0], 1, 1, n_kv)) < rng.choice([0.2, 0.5, 0.8])
    hidden |= np.arange(n_kv) == rng.integers(n_kv, size=(len(hidden), 1, 1, 1))
    hidden &= np.arange(n_kv) != rng.integers(n_kv, size=(len(hidden), 1, 1, 1))
    additive = bool(rng.random() < 0.5)
    masked = case.with_(mask=hide(case.mask, hidden, additive=additive))
    if (
        subject.implementation.dead_rows in ("nan", "unspecified")
        and not find_visible_pairs(subject, masked).any(-1).all()
    ):
        masked = case.with_(mask=hide(None, hidden, additive=additive))  # a dead row may spoil gradients
    keys = np.broadcast_to(hidden[:, 0], case.key.shape[:-1])
    return require_hidden_keys(Planting(masked, keys, blind_rows(subject, masked, keys)))


def require_hidden_keys(planting: Planting) -> Planting:
    """The planting, if it hides anything from anyone."""
    if not (by_key_head(planting.case, planting.rows).any(-1) & planting.keys.any(-1)).any():
        raise NotApplicable("no row with a key is blind to another key")
    return planting


def hide(mask: NDArray | None, hidden: NDArray, *, additive: bool = False) -> NDArray:
    """The mask with the `hidden` pairs masked too; without a mask a new one, bool or additive."""
    if mask is None:
        return np.where(hidden, -np.inf, 0.0) if additive else ~hidden
    return mask & ~hidden if mask.dtype == bool else np.where(hidden, -np.inf, mask)


def room(case: Case) -> tuple[float, float]:
    """Powers of two up to which keys and values may grow while every product and sum stays finite.

    Sums are over d, d_v or n_kv terms; cotangents are below 8 (normal numbers of a case); 16 is to spare.
    """
    _, n_kv, d, d_v, _, _ = case.sizes
    scale = max(1.0, abs(case.factor))
    largest = max(1.0, float(np.abs(case.query).max(initial=0.0)))
    key = HUGE[case.dtype] / (16 * max(d, 1) * largest * scale)
    value = HUGE[case.dtype] / (16 * 8 * max(d_v, 1) * max(n_kv, 1))
    return 2.0 ** np.floor(np.log2(key)), 2.0 ** np.floor(np.log2(value))


def attractive_keys(planting: Planting, purpose: str, strength: float) -> NDArray:
    """Keys (B, H_kv, n_kv, d) with a score up to `strength` for a blind row of their slice, within `room`."""
    case, rng = planting.case, planting.case.rng(purpose)
    rows, blind = by_key_head(case, case.query), by_key_head(case, planting.rows)
    drawn = np.argmax(rng.random(blind.shape) * blind, axis=-1)
    query = np.take_along_axis(rows, drawn[..., None, None], axis=-2)
    scale = case.factor
    square = scale * np.sum(query * query, axis=-1, keepdims=True)
    usable = np.abs(square) > 1e-30
    factor = np.where(usable, strength / np.where(usable, square, 1.0), 0.0)
    noise = rng.standard_normal(case.key.shape)
    share = rng.uniform(0.5, 1.0, (*case.key.shape[:-1], 1))
    key = np.where(usable, factor * query * (1.0 if case.is_plain else share), noise)
    if case.is_plain:  # round numbers, for those who read the counterexample
        key = np.copysign(np.ceil(np.abs(key)), key)
    largest = np.abs(key).max(axis=(-2, -1), keepdims=True, initial=0.0)
    return np.asarray(key * np.minimum(1.0, room(case)[0] / np.maximum(largest, 1e-30)))


def far_values(planting: Planting, purpose: str) -> NDArray:
    """Values (B, H_kv, n_kv, d_v) far from drawn ones, of either sign; beside plain inputs all as far."""
    rng = planting.case.rng(purpose)
    shape = planting.case.value.shape
    far = rng.choice([-FAR, FAR], size=shape)
    return np.asarray(far if planting.case.is_plain else far + rng.integers(-8, 9, size=shape))


def added_fill(implementation: Implementation) -> float | None:
    """The finite number that is declared to be added to masked scores; None where none is."""
    return float(implementation.mask_fill) if implementation.mask_added else None


def huge_contents(planting: Planting, purpose: str, added: float | None = None) -> tuple[NDArray, NDArray]:
    """Keys and values as large as `room` allows, the keys' scores with their batch row positive.

    Where a finite number is `added` to masked scores, these grow to half of it at most.
    """
    case, rng = planting.case, planting.case.rng(purpose)
    key_room, value_room = room(case)
    if added is not None:  # a masked score has to stay far below the others when this number is added
        per_unit = abs(case.factor) * np.abs(case.query).sum(axis=-1).max(initial=0.0)
        key_room = min(key_room, -added / 2 / max(per_unit, 1.0))
    towards = np.sign(attractive_keys(planting, purpose, CLEAR))
    key = key_room * np.where(towards == 0, 1.0, towards)
    return key, value_room * rng.choice([-1.0, 1.0], size=case.value.shape)


def nonfinite_contents(planting: Planting, purpose: str) -> tuple[NDArray, NDArray]:
    """Keys and values of NaN and infinities of both signs."""
    rng, case = planting.case.rng(purpose), planting.case
    kinds = [np.nan, np.inf, -np.inf]
    return rng.choice(kinds, size=case.key.shape), rng.choice(kinds, size=case.value.shape)
