"""The acceptance rules of suites in common use, re-created from what is published (rules, not code), sized down.

A rule sees a correct function's arguments in torch's convention and says whether it accepts the target. What a target
does not take (a mask, causality, groups) is left out, as these suites do; what it refuses is skipped.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import hypothesis
import torch
from hypothesis import strategies as st
from torch import Tensor

from attention_core.declaration.implementation import ALIASES
from attention_core.faults.row import Row

REFUSALS = (ValueError, TypeError, NotImplementedError, AssertionError, RuntimeError)
CALLS = {"attention", "attention-lse"}
"""Contracts that these rules are about."""


class Rejected(Exception):
    """The rule does not accept the target."""


@dataclass(frozen=True)
class Rule:
    """One suite's rule: its name, where it is published, and `check(call)`, which raises `Rejected`."""

    name: str
    source: str
    check: Callable[[Callable[..., Tensor | None]], None]


def truth(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, causal: bool = False) -> Tensor:
    """torch's own function, groups allowed; the reference of most suites."""
    gqa = q.shape[-3] != k.shape[-3]
    if causal and mask is not None:
        mask = mask & torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
        causal = False
    found: Tensor = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, 0.0, causal, enable_gqa=gqa)
    return found


def calling(row: Row) -> Callable[..., Tensor | None]:
    """The target behind torch's convention; None for what it does not take or refuses."""
    record = row.implementation()
    target: Any = record.function
    target = target.eval() if isinstance(target, torch.nn.Module) else target
    names = list(inspect.signature(target.forward if isinstance(target, torch.nn.Module) else target).parameters)
    place = {ALIASES.get(name, name): name for name in names}

    def call(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, causal: bool = False) -> Tensor | None:
        wanted: dict[str, Any] = {}
        if mask is not None:
            wanted["attn_mask"] = ~mask if record.mask_true == "ignore" and mask.dtype == torch.bool else mask
        if causal:
            wanted["is_causal"] = True
            if record.causal == "bottom_right" and q.shape[-2] != k.shape[-2]:
                return None
        if q.shape[-3] != k.shape[-3]:
            wanted["enable_gqa"] = True
        if not wanted.keys() <= place.keys():
            return None
        swap = (lambda x: x.transpose(-2, -3)) if record.layout == "bnhd" else (lambda x: x)
        try:
            out = target(swap(q), swap(k), swap(v), **{place[name]: given for name, given in wanted.items()})
        except REFUSALS:
            return None
        except Exception as error:
            raise Rejected(f"{type(error).__name__}: {error}") from error
        out = out[0] if isinstance(out, tuple) else out
        return swap(out) if (record.out_layout or record.layout) == "bnhd" else out

    return call


def gradients(out: Tensor, inputs: list[Tensor], cotangent: Tensor) -> list[Tensor]:
    """Gradients, zeros where there are none."""
    found = torch.autograd.grad(out, inputs, cotangent, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, found, strict=True)]


def close(got: Tensor, want: Tensor, what: str, **tolerance: float) -> None:
    """`torch.testing.assert_close`, or `Rejected`."""
    try:
        torch.testing.assert_close(got, want, **tolerance)
    except AssertionError as error:
        raise Rejected(f"{what}: {str(error).splitlines()[0]}") from error


# --- flash attention -------------------------------------------------------------------------------


def flash_attention(call: Callable[..., Tensor | None]) -> None:
    """Outputs and gradients: largest error <= 2 x that of a plain low-precision implementation, on normal inputs."""
    torch.manual_seed(0)
    for dtype in (torch.float16, torch.bfloat16):
        for causal in (False, True):
            for d in (32, 40, 64, 128):
                for n_q, n_kv in ((113, 203), (128, 217), (108, 256), (256, 128), (128, 128)):
                    for heads in (4, 2) if d == 64 else (4,):
                        _twice(call, dtype, causal, (n_q, n_kv, d, heads))


def _twice(call: Callable[..., Tensor | None], dtype: torch.dtype, causal: bool, sizes: tuple[int, ...]) -> None:
    n_q, n_kv, d, heads = sizes
    q = torch.randn(2, 4, n_q, d, dtype=dtype, requires_grad=True)
    k, v = (torch.randn(2, heads, n_kv, d, dtype=dtype, requires_grad=True) for _ in range(2))
    out = call(q, k, v, causal=causal)
    if out is None:
        return
    wide = truth(q.float(), k.float(), v.float(), causal=causal).to(dtype)
    low = _low(q, k, v, causal)
    g = torch.randn_like(wide)
    names, found = ["out"], [(out, wide, low)]
    if out.requires_grad:
        names += ["dq", "dk", "dv"]
        found += list(zip(*(gradients(o, [q, k, v], g) for o in (out, wide, low)), strict=True))
    for name, (got, want, plain) in zip(names, found, strict=True):
        if got.shape != want.shape or not (got - want).abs().max() <= 2 * (plain - want).abs().max():
            raise Rejected(f"{name} at {dtype} causal={causal} n_q={n_q} n_kv={n_kv} d={d}")


def _low(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
    """Everything in the low precision, the key scaled instead of the query."""
    k, v = (x.repeat_interleave(q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    s = q @ (k / q.shape[-1] ** 0.5).mT
    if causal:
        s = s.masked_fill(~torch.ones(s.shape[-2:], dtype=torch.bool).tril(), float("-inf"))
    return torch.softmax(s, -1) @ v


# --- KernelBench -----------------------------------------------------------------------------------


def kernel_bench(call: Callable[..., Tensor | None]) -> None:
    """Five seeds, one shape, float32, forward alone: `allclose` at 1e-2 and 1e-2."""
    with torch.no_grad():
        for seed in range(5):
            torch.manual_seed(42 + seed)
            q, k, v = (torch.rand(4, 8, 128, 64) for _ in range(3))
            out, want = call(q, k, v), truth(q, k, v)
            if out is None:
                continue
            if out.shape != want.shape or not torch.allclose(want, out, atol=1e-2, rtol=1e-2):
                raise Rejected(f"seed {42 + seed}")


# --- TransformerEngine -----------------------------------------------------------------------------


def transformer_engine(call: Callable[..., Tensor | None]) -> None:
    """One backend against another on 0.1 randn: 5e-3 in float16, 2.5e-2 in bfloat16, forward and backward."""
    torch.manual_seed(1234)
    for dtype, tolerance in ((torch.float16, 5e-3), (torch.bfloat16, 2.5e-2)):
        for kind in ("no_mask", "causal", "padding", "bias"):
            for n_kv in (128, 256):
                for heads in (8, 2):
                    _backends(call, dtype, tolerance, kind, n_kv, heads)


def _backends(
    call: Callable[..., Tensor | None], dtype: torch.dtype, tolerance: float, kind: str, n_kv: int, heads: int
) -> None:
    n_q = 128
    if kind == "causal" and n_kv != n_q:
        return
    shapes = ((2, 8, n_q, 64), (2, heads, n_kv, 64), (2, heads, n_kv, 64))
    inputs = [(0.1 * torch.randn(shape)).to(dtype).requires_grad_() for shape in shapes]
    mask = None
    if kind == "padding":
        mask = (torch.arange(n_kv) < torch.randint(1, n_kv + 1, (2,))[:, None])[:, None, None]
    elif kind == "bias":
        mask = torch.randn(1, 8, n_q, n_kv).to(dtype)
    out = call(*inputs, mask=mask, causal=kind == "causal")
    if out is None:
        return
    want = truth(*inputs, mask=mask, causal=kind == "causal")
    what = f"{kind} {dtype} n_kv={n_kv} H_kv={heads}"
    close(out, want, f"out, {what}", atol=tolerance, rtol=tolerance)
    if out.requires_grad:
        g = (0.001 * torch.randint(0, 200, want.shape)).to(dtype)
        for name, got, true in zip("qkv", gradients(out, inputs, g), gradients(want, inputs, g), strict=True):
            close(got, true, f"d{name}, {what}", atol=tolerance, rtol=tolerance)


# --- transformers ----------------------------------------------------------------------------------

ALLOWED = {torch.float32: (1e-6, 1e-4), torch.float16: (5e-3, 5e-3), torch.bfloat16: (1e-2, 1e-2)}
"""Absolute and relative tolerance on the processor."""


def transformers(call: Callable[..., Tensor | None]) -> None:
    """Eager against SDPA in evaluation: the outputs of 80 % of the sequences are `allclose`; padding on either side."""
    torch.manual_seed(0)
    with torch.no_grad():
        for dtype, (atol, rtol) in ALLOWED.items():
            for side in ("left", "right", "none"):
                for causal in (True, False):
                    q, k, v = (torch.randn(13, 4, 7, 8).to(dtype) for _ in range(3))
                    keep = torch.ones(13, 1, 1, 7, dtype=torch.bool)
                    keep[-1, ..., slice(0, 2) if side == "left" else slice(5, 7)] = False
                    mask = None if side == "none" else keep
                    if causal and mask is not None:  # transformers puts both into one mask
                        mask = mask & torch.ones(7, 7, dtype=torch.bool).tril()
                    flag = causal and mask is None
                    out, want = call(q, k, v, mask=mask, causal=flag), truth(q, k, v, mask, flag)
                    if out is None:
                        continue
                    real = keep[:, :, 0, :, None].expand_as(want) if side != "none" else torch.ones_like(want).bool()
                    fit = [
                        o.shape == w.shape and bool(torch.allclose(o[r], w[r], atol=atol, rtol=rtol))
                        for o, w, r in zip(out, want, real, strict=True)
                    ] if out.shape[:1] == want.shape[:1] else [False]  # fmt: skip
                    if sum(fit) < 0.8 * len(fit):
                        raise Rejected(f"{sum(fit)} of {len(fit)} sequences, {dtype} {side} causal={causal}")


# --- a plain property test -------------------------------------------------------------------------


def plain_hypothesis(call: Callable[..., Tensor | None]) -> None:
    """A hundred examples of drawn sizes and seeds in float32: `assert_close` with its defaults against SDPA."""
    sizes = st.tuples(*(st.integers(1, top) for top in (3, 4, 40, 40, 32)))

    @hypothesis.settings(max_examples=100, database=None, deadline=None, phases=[hypothesis.Phase.generate])
    @hypothesis.seed(0)
    @hypothesis.given(sizes, st.booleans(), st.booleans(), st.integers(0, 2**31))
    def test(sizes: tuple[int, ...], causal: bool, masked: bool, seed: int) -> None:
        B, H, n_q, n_kv, d = sizes
        torch.manual_seed(seed)
        q, k, v = torch.randn(B, H, n_q, d), torch.randn(B, H, n_kv, d), torch.randn(B, H, n_kv, d)
        mask = None
        if masked and not causal:
            mask = torch.rand(B, 1, n_q, n_kv) < 0.7
            mask[..., 0] = True
        out = call(q, k, v, mask=mask, causal=causal)
        if out is not None:
            close(out, truth(q, k, v, mask, causal), f"{sizes}, causal={causal}, masked={masked}")

    test()


RULES = (
    Rule("flash-attention", "Dao-AILab/flash-attention, tests/test_flash_attn.py: \"numerical error is at most twice\" "
         "that of a plain implementation", flash_attention),
    Rule("KernelBench", "ScalingIntelligence/KernelBench, src/kernelbench/eval.py, run_and_check_correctness",
         kernel_bench),
    Rule("TransformerEngine", "NVIDIA/TransformerEngine, tests/pytorch/fused_attn/test_fused_attn.py, "
         "test_dot_product_attention", transformer_engine),
    Rule("transformers", "huggingface/transformers PR34512, test_eager_matches_sdpa_inference", transformers),
    Rule("plain Hypothesis", "what a careful author writes in ten lines", plain_hypothesis),
)  # fmt: skip


def applies(row: Row) -> bool:
    """Whether these rules say anything about a row: attention in torch."""
    return row.contract in CALLS and row.record.get("array", "torch") == "torch"


def verdicts(row: Row, rules: tuple[Rule, ...] = RULES) -> Iterator[dict[str, Any]]:
    """Each rule on one row: whether it rejects it, with what words, in how many processor seconds."""
    for rule in rules:
        start, words = time.process_time(), ""
        try:
            rule.check(calling(row))
        except Rejected as error:
            words = str(error) or "rejected"
        except Exception as error:  # the suite's own comparison fails on what came back
            words = f"{type(error).__name__}: {error}"
        seconds = time.process_time() - start
        yield {"name": row.name, "rule": rule.name, "rejected": bool(words), "words": words[:200], "seconds": seconds}
