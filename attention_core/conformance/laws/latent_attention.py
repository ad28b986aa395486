"""Laws of latent attention (MLA): absorbed or materialised, attention with keys and values projected from latents.

Two kinds of targets: those that take the up-projections, and those that are given queries of the latent's size and
return means of latents, as kernels for decoding do. Gradients are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from attention_core.conformance.cases.counts import count_many
from attention_core.conformance.cases.null_models import SEPARATION
from attention_core.conformance.subjects.evidence import NotApplicable, require_close
from attention_core.conformance.subjects.latent_subject import Inputs, Judged, LatentSubject
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import (
    LARGE_SCORES,
    ParameterCase,
    Sizes,
    after,
    as_in_models,
    choose_sizes,
)
from attention_core.conformance.worker.exchange import NDArray

CONTRACT = "mla"
GRADIENTS = False
GIVEN_SCALES = (0.3, 1.0, -0.5)


def null_models(
    subject: LatentSubject, case: ParameterCase, inputs: Inputs, scale: float | None
) -> Iterator[tuple[str, NDArray]]:
    """The outputs of calls that get something wrong, by the name of what it is."""

    def run(changed: Inputs = inputs, **how: Any) -> NDArray:
        return np.asarray(subject.truth(case, changed, **{"scale": scale, **how}).out)

    d, d_rope, r = (case[name] for name in ("d", "d_rope", "r"))
    for what, size in (("the latent's features", r + d_rope), ("the features without positions", d)):
        if size != d + d_rope:
            yield f"scale of {what}", run(scale=size**-0.5)
    yield "part with positions ignored", run(inputs._replace(query_rope=0 * inputs.query_rope))
    yield "part without positions ignored", run(inputs._replace(query=0 * inputs.query))
    yield "positions of the token before", run(inputs._replace(key_rope=np.roll(inputs.key_rope, 1, axis=1)))
    if subject.projects:
        if case["H"] > 1:
            for name in ("up_key", "up_value"):
                turned = np.roll(getattr(inputs, name), 1, axis=0)
                yield f"{name.replace('_', ' ')} of the head before", run(inputs._replace(**{name: turned}))
        if d == case["d_v"]:
            yield "projection of keys for values", run(inputs._replace(up_value=inputs.up_key))
    if subject.is_causal(case):
        yield "causality ignored", run(causal=False)
        if case["n_q"] < case["n_kv"]:
            yield "diagonal at the other corner", run(alignment=OTHER[subject.implementation.causal])


OTHER = {"top_left": "bottom_right", "bottom_right": "top_left"}


def count_power(
    subject: LatentSubject, case: ParameterCase, law: str, inputs: Inputs, judged: Judged, scale: float | None
) -> None:
    """Note which null models a case could tell from the truth.

    Raises: NotApplicable where it could tell none: such a case cannot fail.
    """
    some = False
    for name, wrong in null_models(subject, case, inputs, scale):
        apart = np.abs(wrong - judged.out)
        separated = bool((apart > SEPARATION * judged.bound).any())
        subject.relevant[law, name] += bool((apart > 1e-12).any())
        subject.powers[law, name] += separated
        some |= separated
    if not some:
        raise NotApplicable("no wrong latent attention that is tried would stand out")


def check(
    subject: LatentSubject, case: ParameterCase, what: str, *, law: str = "", scale: float | None = None, **how: Any
) -> None:
    """One call agrees with the truth; `law` counts its power."""
    inputs = subject.inputs(case)
    judged = subject.judge(case, inputs, scale=scale)
    if law:
        count_power(subject, case, law, inputs, judged, scale)
    out = subject.attend(case, inputs, scale=scale, **how)
    ratio = require_close(out, judged.out, judged.bound, f"out of {what}")
    key = (case.dtype, "latent attention")
    subject.ratios[key] = max(subject.ratios.get(key, 0.0), ratio)


def latent_attention_agrees_with_the_truth(subject: LatentSubject, case: ParameterCase) -> None:
    """Keys and values of every head are projections of the latents, beside keys with positions that all heads share.

    Formula: k_hj = [W_h c_j; k'_j], v_hj = V_h c_j, o = softmax((q_h k_hj) / sqrt(d + d')) v, within its budget
    Source: derivations/latent.md (absorbed-key, absorbed-value); DeepSeek-V2 (2024), section 2.1; ollama/ollama PR13893
    Fault: scale_of_the_latent
    """
    check(subject, case, "latent attention", law="latent_attention_agrees_with_the_truth")


def a_given_scale_of_latent_scores_counts(subject: LatentSubject, case: ParameterCase) -> None:
    """A scale that is given takes the place of the usual one, for both parts of a score.

    Formula: scores = s (q_h^T W_h c_j + q'_h^T k'_j) for s = 0.3, 1 and -0.5
    Source: derivations/latent.md (one-scale); NVIDIA/Megatron-LM#1501 (the scale of YaRN beside another head size)
    Fault: given_scale_of_one_part
    """
    if "scale" not in subject.roles:
        raise NotApplicable("it takes no scale")
    law, given = "a_given_scale_of_latent_scores_counts", GIVEN_SCALES[case.seed % 3]
    check(subject, case, "a call with a scale", law=law, scale=given)


def many_keys_heads_and_latent_features_are_read(subject: LatentSubject, case: ParameterCase) -> None:
    """Every key, head and feature of a large call is as right as those of a small one.

    Formula: |o - truth| <= E for n_kv up to 280, H up to 40, r up to 300, d and d_v up to 136
    Source: pengcuo/FlashMLA-ETAP#1 (sizes beside 512 and 64); blocks of 64 keys or features
    Fault: latent_features_beyond_128_dropped
    """
    check(subject, case, "a large call")


def latents_at_the_edge_of_a_block_are_read(subject: LatentSubject, case: ParameterCase) -> None:
    """Lengths of a block of keys, one fewer and one more, are as right as any.

    Formula: |o - truth| <= E for n_kv = 15, 16, 17, 31 .. 33, 63 .. 65, 127 .. 129
    Source: tails of blocks of keys
    Fault: last_key_of_a_block_lost
    """
    lengths = [near + case["n_kv"] - 2 for near in (16, 32, 64, 128)]
    sizes = [{"n_kv": n, "n_q": min(case["n_q"], n)} for n in lengths]
    case = choose_sizes(subject.implementation, case, sizes, case.rng("near"))
    check(subject, case, f"{case['n_kv']} keys")


def strides_of_latents_are_followed(subject: LatentSubject, case: ParameterCase) -> None:
    """Inputs that are views of larger or turned memory are read by their strides.

    Formula: f(views of x) = f(x)
    Source: latents and keys with positions are slices of one array of r + d' numbers
    Fault: latents_read_in_order
    """
    view = str(
        case.rng("view").choice(["transposed", "heads_last", "heads_chunk", "sliced", "chunk", "padded", "offset"])
    )
    check(subject, case, f"inputs whose memory is {view.replace('_', ' ')}", view=view)


def an_earlier_call_leaves_no_projection(subject: LatentSubject, case: ParameterCase) -> None:
    """Every call has its own weights and latents, whatever was called before.

    Formula: f(x) after f(y) = f(x)
    Source: weights that are absorbed once, when they are loaded, and are then replaced
    Fault: projection_of_the_first_call
    """
    inputs = subject.inputs(case)
    judged = subject.judge(case, inputs)
    earlier = subject.attend(case, subject.inputs(case.with_(seed=case.seed + 1)))
    with after([earlier]):
        require_close(subject.attend(case, inputs), judged.out, judged.bound, "out after a call with other weights")


def _put_in_order(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """No more queries than keys, one query in a third of the cases; values as wide as keys in a third."""
    sizes = {**sizes, "n_q": 1 if rng.random() < 1 / 3 else min(sizes["n_q"], sizes["n_kv"])}
    return {**sizes, "d_v": sizes["d"]} if rng.random() < 1 / 3 else sizes


def _large(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Many heads and keys, or many features."""
    if rng.random() < 0.5:
        few = {name: int(rng.integers(1, 9)) for name in ("r", "d", "d_rope", "d_v")}
        return {**sizes, **few, "n_kv": int(rng.integers(130, 281)), "H": int(rng.integers(17, 41)), "n_q": 1}
    many = {name: int(rng.integers(65, 137)) for name in ("d", "d_rope", "d_v")}
    return {**sizes, **many, "r": int(rng.integers(129, 300)), "n_kv": int(rng.integers(2, 9)), "H": 1, "n_q": 2}


def _is_ordered(sizes: Mapping[str, int]) -> bool:
    return sizes["n_q"] <= sizes["n_kv"]


def _sizes(*, adjust: Any = _put_in_order, **ranges: tuple[int, int]) -> Sizes:
    """Sizes of a call, with some ranges of their own."""
    usual = {
        "B": (1, 3), "H": (1, 3), "n_q": (1, 7), "n_kv": (1, 9), "r": (1, 8), "d": (1, 6), "d_rope": (1, 4),
        "d_v": (1, 6),
    }  # fmt: skip
    return Sizes({**usual, **ranges}, {"causal": (False, True)}, adjust=adjust, related=_is_ordered)


MODELS = {
    "n_q": (1, 4),
    "n_kv": (17, 70),
    "H": (2, 5),
    "r": (32, 80),
    "d": (16, 48),
    "d_rope": (8, 16),
    "d_v": (16, 48),
}
MANY = count_many(_put_in_order)
SPACE = _sizes(adjust=as_in_models(MODELS, MANY))
SPACE = replace(SPACE, options={**SPACE.options, **LARGE_SCORES})
SMALL = _sizes(adjust=MANY)
BLOCKS = _sizes(B=(1, 2), H=(1, 2), n_q=(1, 3), n_kv=(1, 3))
LARGE = _sizes(
    adjust=count_many(_large, 0.4),
    B=(1, 2),
    H=(1, 40),
    n_kv=(1, 280),
    r=(1, 300),
    d=(1, 136),
    d_rope=(1, 136),
    d_v=(1, 136),
)
STRIDED = _sizes(B=(2, 3), H=(2, 3), n_kv=(3, 9), r=(2, 8), d=(2, 6), d_rope=(2, 4), d_v=(2, 6))
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "latent_attention", "large": 8, "small": 0, "space": SMALL}
LAWS = (
    Law(latent_attention_agrees_with_the_truth, **{**ROW, "large": 20, "space": SPACE}, central=True),
    Law(a_given_scale_of_latent_scores_counts, **{**ROW, "large": 8}),
    Law(many_keys_heads_and_latent_features_are_read, **{**ROW, "large": 12, "space": LARGE}),
    Law(latents_at_the_edge_of_a_block_are_read, **{**ROW, "large": 12, "space": BLOCKS}),
    Law(strides_of_latents_are_followed, **{**ROW, "space": STRIDED}),
    Law(an_earlier_call_leaves_no_projection, **{**ROW, "large": 4}),
)
COMPARISONS = (
    "a_given_scale_of_latent_scores_counts", "many_keys_heads_and_latent_features_are_read",
    "latents_at_the_edge_of_a_block_are_read", "strides_of_latents_are_followed",
    "an_earlier_call_leaves_no_projection",
)  # fmt: skip
