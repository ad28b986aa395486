"""Stated calls on which a fault shows: what makes a row of the catalogue a fault, beside every law.

`excess(row, name)` is the largest error over the derived budget of one call, in the output and, where the call asks for
them, in the gradients; above 1 no rounding explains it.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_core import oracle
from attention_core.conformance.budgets import budget
from attention_core.faults.row import Row


@dataclass(frozen=True)
class Call:
    """One call; values are normal from a seed, `rise` sorts the keys so that scores grow along them (-1: fall).

    `before`: so many calls with other values come first; `between`: one comes between the call and its backward; `backwards`:
    so many through one graph; `quiet`: the first sequence has a zero cotangent; `kept`: a longer call came before; `positive`:
    positive values;
    `flat`: without a batch axis.
    """

    B: int = 2
    H: int = 2
    H_kv: int = 2
    n_q: int = 5
    n_kv: int = 7
    d: int = 4
    d_v: int = 4
    dtype: str = "float32"
    mask: str = "none"
    causal: bool = False
    scale: float | None = None
    size: float = 1.0
    rise: int = 0
    view: str = "packed"
    wrt: tuple[str, ...] = ()
    before: int = 0
    between: bool = False
    backwards: int = 1
    quiet: bool = False
    positive: bool = False
    kept: bool = False
    flat: bool = False


ALL = ("query", "key", "value")
CALLS: dict[str, Call] = {
    "plain": Call(),
    "long": Call(n_q=40, n_kv=100, d=8, d_v=8),
    "rising scores": Call(n_q=9, n_kv=100, d=8, d_v=8, size=2, rise=1),
    "slowly rising scores": Call(n_q=9, n_kv=100, d=8, d_v=8, size=0.05, rise=1),
    "falling far": Call(n_q=9, n_kv=120, d=8, d_v=8, size=3),
    "falling scores": Call(n_q=9, n_kv=100, d=8, d_v=8, size=12, rise=-1),
    "bfloat16": Call(n_q=9, n_kv=100, d=8, d_v=8, dtype="bfloat16", size=4),
    "more heads than rows": Call(H=8, H_kv=8, n_q=5, n_kv=5),
    "no batch axis": Call(B=1, causal=True, flat=True),
    "an empty sequence": Call(B=3, n_q=1, mask="empty"),
    "an empty sequence, gradients": Call(B=3, mask="empty", wrt=("query", "key", "value")),
    "low scores": Call(n_q=3, n_kv=9, d=8, mask="low"),
    "very low scores": Call(n_q=3, n_kv=9, d=8, mask="lowest"),
    "one key beyond the block": Call(n_kv=17),
    "fifteen keys": Call(n_kv=15),
    "wide values": Call(n_q=9, n_kv=40, d_v=80, size=2, rise=1),
    "narrow values": Call(n_kv=9, d=8, d_v=4),
    "wide head": Call(n_kv=9, d=80),
    "head of six": Call(d=6),
    "long causal": Call(n_q=140, n_kv=140, causal=True, H=1, H_kv=1),
    "causal, more keys": Call(n_q=30, n_kv=49, causal=True),
    "one query, causal": Call(n_q=1, n_kv=6, causal=True),
    "groups of three": Call(H=6, H_kv=2),
    "groups of two": Call(B=3, H=4, H_kv=2),
    "scale of one": Call(scale=1.0),
    "negative scale": Call(scale=-0.5),
    "bias": Call(mask="bias"),
    "falling bias": Call(mask="alibi"),
    "matrix mask": Call(B=5, n_q=5, mask="matrix"),
    "long mask": Call(n_q=100, n_kv=20, mask="bool"),
    "heads last": Call(d=4, d_v=4, n_q=7, view="heads last"),
    "sliced": Call(view="sliced"),
    "twice": Call(n_kv=20, before=1),
    "other mask before": Call(mask="three", before=1),
    "another call before the backward": Call(mask="three", between=True, wrt=ALL),
    "two hundred calls": Call(n_kv=20, before=200),
    "small weights": Call(n_q=6, n_kv=200, d=8, size=2.2),
    "odd blocks, masked": Call(n_kv=70, mask="bool"),
    "bfloat16, positive values": Call(
        B=1, H=1, H_kv=1, n_q=2, n_kv=2000, d_v=16, dtype="bfloat16", size=0.25, positive=True
    ),
    "whole causal blocks": Call(n_q=32, n_kv=32, causal=True),
    "head of 128": Call(d=128),
    "decoding": Call(n_q=1, n_kv=70),
    "square bias": Call(n_q=6, n_kv=6, mask="bias"),
    "mask of one column": Call(mask="column"),
    "very long mask": Call(n_q=100, n_kv=100, mask="bool"),
    "one key head, causal": Call(H=4, H_kv=1, n_q=6, n_kv=9, causal=True),
    "two backwards": Call(wrt=ALL, backwards=2),
    "first sequence without cotangent": Call(wrt=ALL, quiet=True),
    "float64 gradients": Call(dtype="float64", wrt=ALL),
    "causal gradients": Call(n_q=40, n_kv=40, causal=True, wrt=ALL),
    "gradients, bias of the keys": Call(n_q=40, mask="key bias", wrt=(*ALL, "mask")),
    "shorter than the call before": Call(kept=True),
    "gradients": Call(n_q=9, n_kv=40, d=8, d_v=8, wrt=ALL),
    "gradients, long": Call(n_q=20, n_kv=100, d=8, d_v=8, wrt=ALL),
    "gradients, scale": Call(scale=1.5, wrt=ALL),
    "gradients, groups of three": Call(H=6, H_kv=2, wrt=ALL),
    "gradients, query alone": Call(wrt=("query",)),
    "gradients, more causal queries": Call(n_q=12, n_kv=5, causal=True, wrt=ALL),
    "gradients, wide values": Call(n_kv=20, d_v=80, wrt=ALL),
    "gradients, peaked": Call(n_q=20, n_kv=60, d=8, size=2.2, wrt=ALL),
    "gradients, shared bias": Call(B=3, mask="shared bias", wrt=(*ALL, "mask")),
}  # fmt: skip


def arguments(call: Call, seed: int = 0) -> dict[str, Any]:
    """float64 arrays that the dtype holds exactly: query, key, value, mask, and the output's cotangent."""
    rng = np.random.default_rng([seed, call.n_q, call.n_kv, call.d])
    normal = lambda *shape: budget.round_to(rng.standard_normal(shape), call.dtype)  # noqa: E731
    query, key = normal(call.B, call.H, call.n_q, call.d), normal(call.B, call.H_kv, call.n_kv, call.d)
    query, key = (budget.round_to(call.size * x, call.dtype) for x in (query, key))
    if call.rise:
        query = np.abs(query)
        key = np.sort(key, axis=-2)[..., :: call.rise, :]
    masks = {
        "none": None, "low": np.full((call.n_q, call.n_kv), -150.0), "lowest": np.full((call.n_q, call.n_kv), -20000.0),
        "bias": normal(call.B, call.H, call.n_q, call.n_kv), "shared bias": normal(1, call.H, call.n_q, call.n_kv),
        "alibi": -0.25 * np.arange(call.n_kv)[::-1] * np.ones((call.n_q, 1)),
        "matrix": rng.random((call.n_q, call.n_kv)) < 0.6,
        "bool": rng.random((call.B, 1, call.n_q, call.n_kv)) < 0.6,
        "column": np.ones((call.B, 1, call.n_q, 1), dtype=bool), "key bias": normal(call.B, 1, 1, call.n_kv),
        "three": np.argsort(rng.random((call.B, 1, call.n_q, call.n_kv)), -1) < 3,
        "empty": np.arange(call.B)[:, None, None, None] * np.ones((1, 1, call.n_q, call.n_kv)) > 0,
    }  # fmt: skip
    mask = masks[call.mask]
    if call.mask in ("matrix", "bool"):
        mask[..., 0] = True
    value = normal(call.B, call.H_kv, call.n_kv, call.d_v)
    return {
        "query": query, "key": key, "value": np.abs(value) if call.positive else value, "mask": mask,
        "cotangent": normal(call.B, call.H, call.n_q, call.d_v)
        * (np.arange(call.B) >= call.quiet)[:, None, None, None],
    }  # fmt: skip


def tensor(array: Any, call: Call) -> Tensor:
    """An array in the memory layout of the call."""
    dtype = torch.bool if array.dtype == bool else getattr(torch, call.dtype)
    x = torch.from_numpy(np.array(array)).to(dtype)
    if call.view == "heads last":
        return x.transpose(-2, -3).contiguous().transpose(-2, -3)
    if call.view == "sliced":
        wide = torch.full((*x.shape[:-2], x.shape[-2] + 3, x.shape[-1]), torch.nan, dtype=torch.float32).to(dtype)
        wide[..., 2:-1, :] = x
        return wide[..., 2:-1, :]
    return x


def options(row: Row, target: Any, call: Call) -> dict[str, Any]:
    """The keyword arguments of a call.

    Raises: LookupError where the target does not take one of them.
    """
    takes = inspect.signature(target).parameters
    wanted = {"is_causal": call.causal, "scale": call.scale, "enable_gqa": call.H_kv != call.H}
    asked = {name: given for name, given in wanted.items() if given not in (False, None)}
    if not asked.keys() <= takes.keys() or (call.mask != "none" and "attn_mask" not in takes):
        raise LookupError(f"{row.name} does not take {sorted(asked)} or a mask")
    return asked


def run(row: Row, target: Any, call: Call, seed: int = 0) -> tuple[Tensor, dict[str, Tensor]]:
    """The output and the gradients asked for, in (B, H, n, d)."""
    given = arguments(call, seed)
    swap = (lambda x: x.transpose(-2, -3)) if row.record.get("layout") == "bnhd" else (lambda x: x)
    inputs = {name: tensor(given[name][0] if call.flat else given[name], call) for name in ALL}
    extra = options(row, target, call)
    if given["mask"] is not None:
        inputs["mask"] = extra["attn_mask"] = tensor(given["mask"], Call())
    leaves = {name: inputs[name].detach().requires_grad_() for name in call.wrt}
    if "mask" in leaves:
        extra["attn_mask"] = leaves["mask"]
    out = target(*(swap(leaves.get(name, inputs[name])) for name in ALL), **extra)
    out = swap(out[0] if isinstance(out, tuple) else out)
    out = out[None] if call.flat else out
    if call.between:
        run(row, target, replace(call, between=False, wrt=()), seed + 1)
    cotangent = torch.from_numpy(given["cotangent"]).to(out.dtype)
    for _ in range(call.backwards - 1):
        torch.autograd.grad(out, list(leaves.values()), cotangent, retain_graph=True, allow_unused=True)
    found = torch.autograd.grad(out, list(leaves.values()), cotangent, allow_unused=True) if leaves else ()
    pairs = zip(leaves, found, strict=True)
    return out, {name: torch.zeros_like(leaves[name]) if g is None else g for name, g in pairs}


def excess(row: Row, name: str) -> float:
    """The largest error over budget of one stated call on a new target; inf where it is NaN or has another shape."""
    call, target = CALLS[name], row.make()
    target = target.eval() if isinstance(target, torch.nn.Module) else target
    if call.kept:
        run(row, target, replace(call, n_kv=call.n_kv + 5), seed=9)
    for earlier in range(call.before):
        run(row, target, call, seed=1 + earlier)
    out, found = run(row, target, call)
    if changes_its_input(row, target, call):
        return float("inf")
    given = arguments(call)
    q, k, v = (given[n] for n in ALL)
    alignment = row.record.get("causal", "top_left")
    how: dict[str, Any] = {"mask": given["mask"], "scale": call.scale}
    dead = row.record.get("dead_rows", "zeros")
    true = oracle.attention(
        q, k, v, given["mask"], is_causal=call.causal, alignment=alignment, scale=call.scale, dead_rows=dead
    )
    precision: dict[str, Any] = {
        "dtype": call.dtype,
        "accumulate": row.record.get("accumulate", "input"),
        "dead_rows": dead,
    }
    bound = budget.forward_bound(q, k, v, true, **how, **precision).out
    worst = ratio(out, true.out, bound)
    if call.wrt:
        gradients = oracle.gradients(
            q, k, v, given["cotangent"], given["mask"], is_causal=call.causal, alignment=alignment, scale=call.scale,
            want_mask="mask" in call.wrt, truth=true, dead_rows=dead,
        )  # fmt: skip
        bounds = budget.backward_bound(
            q, k, v, given["cotangent"], true, gradients, **how, **precision, want_mask="mask" in call.wrt
        )
        worst = max(worst, *(ratio(found[n], getattr(gradients, n), getattr(bounds, n)) for n in call.wrt))
    return worst


def changes_its_input(row: Row, target: Any, call: Call) -> bool:
    """Whether a further call writes into its query, key or value."""
    given = [tensor(arguments(call)[name], Call(dtype=call.dtype)) for name in ALL]
    before = [x.clone() for x in given]
    if call.mask == "none" and not call.flat and row.record.get("layout") != "bnhd":
        target(*given, **options(row, target, call))
    return not all(map(torch.equal, given, before))


def ratio(got: Tensor, want: Any, bound: Any) -> float:
    """max |got - want| / bound."""
    if got.shape != want.shape or not np.array_equal(np.isfinite(got.detach().double().numpy()), np.isfinite(want)):
        return float("inf")
    error = np.where(np.isfinite(want), np.abs(got.detach().double().numpy() - want), 0.0)
    return float(np.max(error / np.maximum(bound, np.finfo(np.float64).tiny), initial=0.0))
