"""Laws of attention to quantised keys and values: stored numbers, times their scales, are what is attended to.

The truth is attention on the dequantised numbers; how they were quantised is not judged. Gradients are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from attention_core.conformance.cases.counts import count_many, share_heads
from attention_core.conformance.cases.null_models import SEPARATION
from attention_core.conformance.subjects.evidence import NotApplicable, require_close
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import (
    APART,
    LARGE_SCORES,
    ParameterCase,
    Sizes,
    after,
    as_in_models,
    choose_sizes,
)
from attention_core.conformance.subjects.quantised_subject import Judged, Operands, QuantisedSubject

CONTRACT = "quantised"
GRADIENTS = False
GIVEN_SCALES = (0.3, 1.0, -0.5)


def null_models(operands: Operands) -> Iterator[tuple[str, Operands]]:
    """Operands that are read wrongly, by the name of what is wrong."""
    scales, zeros = operands.scales, operands.zeros
    for name in ("key", "value"):
        if name not in scales:
            continue
        own = scales[name]
        yield f"scale of {name}s ignored", operands.with_({name: np.ones_like(own)})
        yield f"scale of {name}s applied twice", operands.with_({name: own**2})
        yield f"half of the scale of {name}s", operands.with_({name: own / 2})
        for axis, (what, size) in enumerate(zip(PLACES[operands.granularity], own.shape, strict=True)):
            if size > 1:
                yield f"scale of the {what} before, of {name}s", operands.with_({name: np.roll(own, 1, axis)})
        if own.size > 1:
            yield f"one scale for all {name}s", operands.with_({name: np.full_like(own, own.flat[0])})
        if name in zeros and (name == "value" or own.shape[2:] > (1,)):  # one shift of all scores of a row changes none
            yield f"zero point of {name}s ignored", operands.with_(zeros={name: np.zeros_like(own)})
            unscaled = zeros[name] / own
            yield f"zero point of {name}s taken off after scaling", operands.with_(zeros={name: unscaled})
    if "value" in scales:
        yield "scales of keys and values exchanged", operands.with_({"key": scales["value"], "value": scales["key"]})
    if "query" in scales:
        yield "scale of queries ignored", operands.with_({"query": np.ones_like(scales["query"])})


PLACES: Mapping[str, tuple[str, ...]] = {
    "tensor": (), "head": ("head",), "sequence": ("sequence", "head"), "token": ("sequence", "head", "token"),
    "block": ("sequence", "head", "block"),
}  # fmt: skip
"""What each axis of scales counts."""


def count_power(
    subject: QuantisedSubject, case: ParameterCase, law: str, operands: Operands, judged: Judged,
    scale: float | None = None,
) -> None:  # fmt: skip
    """Note which null models a case could tell from the truth.

    Raises: NotApplicable where it could tell none: such a case cannot fail.
    """
    some = False
    for name, wrong in null_models(operands):
        with np.errstate(all="ignore"):
            apart = np.abs(subject.outputs(case, wrong, scale=scale).out - judged.out)
        separated = bool((apart > SEPARATION * judged.bound).any())
        subject.relevant[law, name] += bool((apart > 1e-12).any())
        subject.powers[law, name] += separated
        some |= separated
    if not some:
        raise NotApplicable("no wrong reading that is tried would stand out")


def check(
    subject: QuantisedSubject, case: ParameterCase, operands: Operands, what: str, *, law: str = "",
    scale: float | None = None, **how: Any,
) -> None:  # fmt: skip
    """One call agrees with the truth; `law` counts its power."""
    judged = subject.judge(case, operands, scale=scale)
    if law:
        count_power(subject, case, law, operands, judged, scale)
    out = subject.attend(case, operands, scale=scale, **how)
    ratio = require_close(out, judged.out, judged.bound, f"out of {what}")
    key = (case.dtype, "quantised")
    subject.ratios[key] = max(subject.ratios.get(key, 0.0), ratio)


def quantised_attention_agrees_with_the_truth(subject: QuantisedSubject, case: ParameterCase) -> None:
    """Attention to stored numbers is attention to what they stand for: a number, less its zero point, times its scale.

    Formula: k_j = s_k (n_k - z_k), v_j = s_v (n_v - z_v), o = softmax(scale q k^T) v, within its budget
    Source: derivations/quantised.md (scale-after, stored-terms); flashinfer-ai/flashinfer#4979, vllm-project/vllm
        PR51363
    Fault: scale_of_values_ignored
    """
    law = "quantised_attention_agrees_with_the_truth"
    check(subject, case, subject.operands(case), "quantised attention", law=law)


def every_scale_is_that_of_its_own_numbers(subject: QuantisedSubject, case: ParameterCase) -> None:
    """Scales that differ a hundredfold from head to head, or token to token, each belong to their own numbers.

    Formula: |o - truth| <= E for scales from 2^-12 to 2^10
    Source: derivations/quantised.md (scale-after); lablup/mlxcel PR717 (scales below 1 raised to 1)
    Fault: small_scales_raised
    """
    law = "every_scale_is_that_of_its_own_numbers"
    check(subject, case, subject.operands(case, "apart"), "numbers with scales far apart", law=law)


def all_numbers_of_the_format_are_read(subject: QuantisedSubject, case: ParameterCase) -> None:
    """The least, the largest and the smallest numbers of the format count as what they are.

    Formula: |o - truth| <= E for n in {-128, 127, 1, 0}; of float8 {+-448, +-2^-9, ...}
    Source: Micikevicius et al., FP8 Formats for Deep Learning (2022); two's complement has one negative number more
    Fault: numbers_read_unsigned
    """
    check(subject, case, subject.operands(case, "ends"), "the ends of the format")


def lengths_around_blocks_have_their_scales(subject: QuantisedSubject, case: ParameterCase) -> None:
    """Keys at the edge of a block, and those of a last block that is not full, have the scale of theirs.

    Formula: |o - truth| <= E for n_kv = c b - 1, c b, c b + 1, where b keys are a block
    Source: vllm-project/vllm#50749 (how full the last block is); tails of blocks
    Fault: last_block_with_the_scale_before
    """
    lengths = [near + case["n_kv"] - 2 for near in (subject.block, 2 * subject.block, 32, 64)]
    sizes = [{"n_kv": n, "n_q": min(case["n_q"], n)} for n in lengths]
    case = choose_sizes(subject.implementation, case, sizes, case.rng("near"))
    check(subject, case, subject.operands(case), f"{case['n_kv']} keys")


def query_heads_share_heads_and_their_scales(subject: QuantisedSubject, case: ParameterCase) -> None:
    """Several query heads share a key head with its scale, neighbours the same one.

    Formula: head h of the queries attends to head h // (H / H_kv), times that head's scale
    Source: Ainslie et al., GQA (2023); Dao-AILab/flash-attention PR1210 (scales of (B, H_kv))
    Fault: scale_of_the_query_head
    """
    check(subject, case, subject.operands(case), "shared heads", law="query_heads_share_heads_and_their_scales")


def many_keys_heads_and_features_are_read(subject: QuantisedSubject, case: ParameterCase) -> None:
    """Every key, head and feature of a large call is as right as those of a small one.

    Formula: |o - truth| <= E for n_kv up to 280, H_kv up to 20, d and d_v up to 136
    Source: kernels that hold 64 features or 128 keys at a time
    Fault: features_beyond_64_unscaled
    """
    check(subject, case, subject.operands(case), "a large call")


def a_given_scale_leaves_those_of_numbers(subject: QuantisedSubject, case: ParameterCase) -> None:
    """A scale of scores that is given takes the place of the usual one, not of the scale of keys.

    Formula: o = softmax(s q k^T) v for s = 0.3, 1 and -0.5, with k and v as they are dequantised
    Source: sgl-project/sglang PR18882, flashinfer-ai/flashinfer (sm_scale times k_scale)
    Fault: given_scale_for_that_of_keys
    """
    if "scale" not in subject.roles:
        raise NotApplicable("it takes no scale")
    given = GIVEN_SCALES[case.seed % 3]
    law = "a_given_scale_leaves_those_of_numbers"
    check(subject, case, subject.operands(case), "a call with a scale", law=law, scale=given)


def a_scale_of_queries_counts(subject: QuantisedSubject, case: ParameterCase) -> None:
    """Queries are multiplied by a scale of theirs, stored or not.

    Formula: q = s_q n_q
    Source: Dao-AILab/flash-attention PR1210 (q_descale); vllm-project/vllm PR48016
    Fault: scale_of_queries_ignored
    """
    if "query_scale" not in subject.roles:
        raise NotApplicable("it takes no scale of queries")
    operands = subject.operands(case, scaled_query=True)
    check(subject, case, operands, "scaled queries", law="a_scale_of_queries_counts")


def strides_of_numbers_and_scales_are_followed(subject: QuantisedSubject, case: ParameterCase) -> None:
    """Stored numbers and scales that are views of larger or turned memory are read by their strides.

    Formula: f(views of n, s) = f(n, s)
    Source: vllm-project/vllm#49716 (strides of scales computed from their shape)
    Fault: scales_read_in_order
    """
    first, second = (str(view) for view in case.rng("views").choice(VIEWS, size=2))
    what = f"numbers that lie {first.replace('_', ' ')} and scales that lie {second.replace('_', ' ')}"
    check(subject, case, subject.operands(case), what, view=first, view_of_scales=second)


def an_earlier_call_leaves_no_scale(subject: QuantisedSubject, case: ParameterCase) -> None:
    """Every call has its own scales, whatever was called before.

    Formula: f(n, s) after f(n', s') = f(n, s)
    Source: vllm-project/vllm PR51091 (scales written anew); scales that a layer computes in its first call
    Fault: scales_of_the_first_call
    """
    operands = subject.operands(case)
    judged = subject.judge(case, operands)
    other = case.with_(seed=case.seed + 1)
    earlier = subject.attend(case, subject.operands(other))
    with after([earlier]):
        require_close(subject.attend(case, operands), judged.out, judged.bound, "out after a call with other scales")


VIEWS = ("transposed", "heads_last", "heads_chunk", "sliced", "padded", "offset", "contiguous")


def _put_in_order(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """No more queries than keys, one query in a third of the cases: those are decoding."""
    return {**sizes, "n_q": 1 if rng.random() < 1 / 3 else min(sizes["n_q"], sizes["n_kv"])}


def _large(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Many heads, or many keys of many features."""
    if rng.random() < 0.5:
        few = {name: int(rng.integers(1, 9)) for name in ("d", "d_v")}
        return {**sizes, **few, "n_kv": int(rng.integers(2, 40)), "H_kv": int(rng.integers(9, 21)), "n_q": 1}
    many = {name: int(rng.integers(65, 137)) for name in ("d", "d_v")}
    return {**sizes, **many, "n_kv": int(rng.integers(130, 281)), "H_kv": 1, "n_q": 2}


def _is_ordered(sizes: Mapping[str, int]) -> bool:
    return sizes["n_q"] <= sizes["n_kv"]


def _sizes(
    options: Mapping[str, tuple[Any, ...]] | None = None, *, adjust: Any = _put_in_order, **ranges: Any
) -> Sizes:
    """Sizes of a call, with some ranges of their own."""
    usual = {"B": (1, 3), "H_kv": (1, 3), "group": (1, 1), "n_q": (1, 7), "n_kv": (1, 9), "d": (1, 8), "d_v": (1, 8)}
    options = {"causal": (False, True)} if options is None else options
    return Sizes({**usual, **ranges}, options, adjust=adjust, related=_is_ordered)


MODELS = {"n_q": (1, 4), "n_kv": (17, 70), "H_kv": (2, 4), "d": (16, 64), "d_v": (16, 64)}
SPACE = _sizes({"causal": (False, True), **LARGE_SCORES}, adjust=as_in_models(MODELS, _put_in_order))
SINKS = {"scores": (None, None, None, "sink")}
SMALL = _sizes({"causal": (False, True), **SINKS}, adjust=count_many(_put_in_order, 0.15))
BLOCKS = _sizes(B=(1, 2), H_kv=(1, 2), n_q=(1, 3), n_kv=(1, 3), d=(2, 6), d_v=(2, 6))
SHARED = _sizes({"causal": (False, True), **APART}, adjust=share_heads(_put_in_order), H_kv=(2, 5), group=(2, 8))
LARGE = _sizes(adjust=_large, B=(1, 2), n_kv=(2, 280), H_kv=(1, 20), d=(1, 136), d_v=(1, 136))
STRIDED = _sizes(B=(2, 3), H_kv=(2, 3), n_kv=(3, 9), d=(2, 8), d_v=(2, 8))
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "quantised", "large": 8, "small": 0, "space": SMALL}
LAWS = (
    Law(quantised_attention_agrees_with_the_truth, **{**ROW, "large": 20, "space": SPACE}, central=True),
    Law(every_scale_is_that_of_its_own_numbers, **ROW),
    Law(all_numbers_of_the_format_are_read, **ROW),
    Law(lengths_around_blocks_have_their_scales, **{**ROW, "space": BLOCKS}),
    Law(query_heads_share_heads_and_their_scales, **{**ROW, "large": 16, "space": SHARED}),
    Law(many_keys_heads_and_features_are_read, **{**ROW, "large": 12, "space": LARGE}),
    Law(a_given_scale_leaves_those_of_numbers, **{**ROW, "large": 8}),
    Law(a_scale_of_queries_counts, **{**ROW, "large": 4}),
    Law(strides_of_numbers_and_scales_are_followed, **{**ROW, "space": STRIDED}),
    Law(an_earlier_call_leaves_no_scale, **{**ROW, "large": 4}),
)
COMPARISONS = (
    "every_scale_is_that_of_its_own_numbers", "all_numbers_of_the_format_are_read",
    "lengths_around_blocks_have_their_scales", "query_heads_share_heads_and_their_scales",
    "many_keys_heads_and_features_are_read", "a_given_scale_leaves_those_of_numbers", "a_scale_of_queries_counts",
    "strides_of_numbers_and_scales_are_followed", "an_earlier_call_leaves_no_scale",
)  # fmt: skip
