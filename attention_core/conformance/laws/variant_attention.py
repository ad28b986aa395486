"""Laws of sigmoid attention, whose weights do not sum to one, and of differential attention, which subtracts two maps.

`--kind` says which of the two a target is, where the names of its parameters do not.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.budgets.head_norm_bound import HeadNorm, norm_heads
from attention_core.conformance.cases.counts import share_heads
from attention_core.conformance.laws.masked_calls import VIEWS, check_call, factor_of_far, note_ratio
from attention_core.conformance.subjects.evidence import NotApplicable, Violation, require_close
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import (
    APART,
    FAR_SCORES,
    ParameterCase,
    Sizes,
    as_argument,
    as_in_models,
)
from attention_core.conformance.subjects.variant_subject import (
    DIFFERENTIAL,
    SCALARS,
    SIGMOID,
    VariantCall,
    VariantSubject,
)
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import Implementation

CONTRACT = "variant-attention"
HUGE = {"float16": 1e3}
"""A value of keys that no query may have: 1e30, and less in float16."""


# --- what each law compares ---------------------------------------------------------------------------------


def softmax(scores: NDArray) -> NDArray:
    """Weights of rows of scores that are numbers or -inf; 0 in rows of -inf alone."""
    top = np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
    grown = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    total = grown.sum(-1, keepdims=True)
    return np.asarray(grown / np.where(total == 0, 1.0, total))


def null_models(subject: VariantSubject, call: VariantCall) -> dict[str, NDArray]:
    """What a call with one thing wrong gives, by the name of what it gets wrong."""
    usual = subject.scale(call.with_(scale=None))
    others = {"scale ignored": call.with_(scale=usual), "causality ignored": call.with_(causal=False)}
    others |= {"mask ignored": call.with_(mask=None), "scale of 1": call.with_(scale=1.0)}
    if call.lengths[1] > 128:
        early = np.arange(call.lengths[1]) < 128
        others["keys behind the first 128 left out"] = call.with_(mask=subject.pairs(call) & early)
    others |= of_sigmoid(subject, call) if subject.kind == SIGMOID else of_difference(call)
    found = {name: subject.outputs(other) for name, other in others.items()}
    if subject.kind == SIGMOID:
        plain, key, value = call.with_(norm=None), *(np.repeat(x, call.group, 1) for x in (call.key, call.value))
        scores = subject.scale(call) * (call.query @ key.swapaxes(-1, -2))
        unlike = {"softmax": softmax(np.where(subject.pairs(call), scores, -np.inf)) @ value}
        halves = 1 / (1 + np.exp(-subject.bias(call)))
        hidden = np.where(subject.pairs(call), 0.0, halves)
        unlike["hidden scores of 0"] = subject.outputs(plain) + hidden @ value
        found |= {name: out if call.norm is None else norm_heads(out, call.norm) for name, out in unlike.items()}
    return found | of_groups(subject, call) | of_norms(subject, call)


def of_groups(subject: VariantSubject, call: VariantCall) -> dict[str, NDArray]:
    """Outputs of a call whose query heads share other key heads, by what is wrong; none where none are shared."""
    if call.group == 1:
        return {}
    heads, shared = np.arange(call.query.shape[1]), call.key.shape[1]
    taken = {"key heads in turn": heads % shared, "the first key head": 0 * heads}
    taken["the next group's key head"] = np.roll(heads // call.group, call.group)
    arrays = {name: own for name in ("key", "value", "key2") if (own := getattr(call, name)) is not None}
    return {
        name: subject.outputs(call.with_(**{x: own[:, places] for x, own in arrays.items()}))
        for name, places in taken.items()
    }


def of_norms(subject: VariantSubject, call: VariantCall) -> dict[str, NDArray]:
    """Outputs of a call whose heads are normalised in another way, by what is wrong; none where none is declared."""
    norm = call.norm
    if norm is None:
        return {}
    plain = subject.outputs(call.with_(norm=None))
    others = {
        "factor left out": replace(norm, factor=1.0),
        "weight of the norm left out": replace(norm, weight=np.ones_like(norm.weight)),
        "epsilon left out": replace(norm, eps=0.0), "epsilon squared": replace(norm, eps=norm.eps**2),
        "another norm": replace(norm, kind="layer" if norm.kind == "rms" else "rms"),
    }  # fmt: skip
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {name: norm_heads(plain, other) for name, other in others.items()}
    found["norm left out"] = norm.factor * norm.weight * plain
    joined = plain.swapaxes(1, 2).reshape(len(plain), call.lengths[0], 1, -1).swapaxes(1, 2)
    whole = norm_heads(joined, HeadNorm(norm.kind, np.ones(joined.shape[-1]), norm.eps, norm.factor))
    whole = whole.swapaxes(1, 2).reshape(*plain.swapaxes(1, 2).shape).swapaxes(1, 2)
    return found | {"norm over all heads": whole * norm.weight}


def of_sigmoid(subject: VariantSubject, call: VariantCall) -> dict[str, VariantCall]:
    """Calls of sigmoid attention with another bias, by what is wrong with it."""
    bias = subject.bias(call)
    wrong = {"bias left out": 0.0, "bias of the other sign": -bias, "bias of the queries": -np.log(call.lengths[0])}
    wrong["bias given ignored"] = subject.bias(call.with_(shift=None))
    return {name: call.with_(shift=float(value)) for name, value in wrong.items()}


def of_difference(call: VariantCall) -> dict[str, VariantCall]:
    """Calls of differential attention with another second map, by what is wrong with it."""
    return {
        "first map alone": call.with_(weight=0.0), "maps added": call.with_(weight=-call.weight),
        "lambda of 1": call.with_(weight=1.0), "keys of the first map": call.with_(key2=call.key),
        "queries of the first map": call.with_(query2=call.query),
        "maps exchanged": call.with_(query=call.query2, key=call.key2, query2=call.query, key2=call.key),
    }  # fmt: skip


check = partial(check_call, null_models)
"""One call agrees with the truth, with the null models of this contract."""


def with_options(case: ParameterCase, **options: Any) -> ParameterCase:
    """The case with some options."""
    return case.with_(options={**case.options, **options})


# --- laws ---------------------------------------------------------------------------------------------------


def variants_agree_with_the_truth(subject: VariantSubject, case: ParameterCase) -> None:
    """Weights are sigmoids of the scores, each by itself, or the difference of two softmax maps.

    Formula: |o_i - sum_j sigma(c q_i . k_j + b) v_j| <= E_o, or |o - (P_1 - lambda P_2) V| <= E_o
    Source: Ramapuram et al., "Theory, Analysis, and Best Practices for Sigmoid Self-Attention" (2024), equation 3;
        Ye et al., "Differential Transformer" (2024), equation 1; derivations/variants.md (sum-error, difference)
    Fault: softmax_in_place_of_sigmoid
    """
    check(subject, case, subject.draw(case), "output", "variants_agree_with_the_truth")


def hidden_pairs_have_no_weight(subject: VariantSubject, case: ParameterCase) -> None:
    """A pair that a mask leaves out has no weight in either map: huge values of keys without a query are not seen.

    Formula: o_i = sum over { j : M_ij } of p_ij v_j
    Source: sigma(0) = 1/2 and sigma(b) = 1/(n + 1) where masked scores are 0; derivations/variants.md (hidden)
    Fault: masked_scores_are_zero
    """
    if "mask" not in subject.roles:
        raise NotApplicable("it has no parameter for a mask")
    call = subject.draw(with_options(case, mask=True))
    assert call.mask is not None
    unseen = np.asarray(~call.mask.any(axis=0))
    number = round_to(np.asarray(HUGE.get(case.dtype, 1e30)), case.dtype).item()
    sent = call.with_(value=np.where(unseen[:, None], number, call.value)) if case.seed % 2 else None
    law, about = "hidden_pairs_have_no_weight", ("mask ignored", "hidden scores of 0")
    check(subject, case, call, "output under a mask", law, about=about, sent=sent)


def later_keys_have_no_weight(subject: VariantSubject, case: ParameterCase) -> None:
    """A causal call leaves out later keys, in either map.

    Formula: o_i = sum over { j : j <= i + o } of p_ij v_j
    Source: the definition; a second map whose mask is forgotten
    Fault: second_map_sees_later_keys
    """
    if "causal" not in subject.roles and not subject.implementation.always_causal:
        raise NotApplicable("it has no parameter for causality")
    call = subject.draw(with_options(case, causal=True))
    law, about = "later_keys_have_no_weight", ("causality ignored", "hidden scores of 0")
    check(subject, case, call, "output of a causal call", law, about=about)


def the_bias_is_added_to_every_score(subject: VariantSubject, case: ParameterCase) -> None:
    """Sigmoid attention adds to scaled scores the bias that is given, 0 included, else -log of the number of keys.

    Formula: p_ij = sigma(c q_i . k_j + b), b = -log n_kv unless given
    Source: Ramapuram et al. (2024), section 3.1
    Fault: bias_of_the_number_of_queries
    """
    if subject.kind != SIGMOID:
        raise NotApplicable("differential attention has no bias")
    drawn = [None, 0.0, -2.5, 1.25] if "bias" in subject.roles else [None]
    call = subject.draw(with_options(case, bias=drawn[case.seed % len(drawn)]))
    law, about = "the_bias_is_added_to_every_score", ("bias left out", "bias of the queries", "bias given ignored")
    check(subject, case, call, f"output for a bias of {subject.bias(call):.3g}", law, about=about)


def the_second_map_is_weighed_by_lambda(subject: VariantSubject, case: ParameterCase) -> None:
    """Differential attention subtracts lambda times the second map, for any lambda, and does not normalise again.

    Formula: o = P_1 V - lambda P_2 V
    Source: Ye et al. (2024), equation 1: rows of P_1 - lambda P_2 sum to 1 - lambda
    Fault: difference_is_normalised_again
    """
    if subject.kind != DIFFERENTIAL:
        raise NotApplicable("sigmoid attention has one map")
    weight = [0.25, 1.0, 0.0, -0.5, 1.5][case.seed % 5]
    call = subject.draw(with_options(case, weight=weight))
    check(subject, case, call, f"output for lambda {weight:g}", "the_second_map_is_weighed_by_lambda")


def a_scale_that_is_given_scales_every_map(subject: VariantSubject, case: ParameterCase) -> None:
    """A scale that is given takes the place of 1/sqrt(d), 0 included, in either map and before the bias.

    Formula: s_ij = c q_i . k_j for the scale c
    Source: parameter scale of every library
    Fault: scale_taken_for_none_where_it_is_zero
    """
    if "scale" not in subject.roles:
        raise NotApplicable("it takes no scale")
    scale = [0.3, 0.0, 1.0, -0.5][case.seed % 4]
    call = subject.draw(with_options(case, scale=scale))
    law, about = "a_scale_that_is_given_scales_every_map", ("scale ignored",)
    check(subject, case, call, f"output with scale {scale:g}", law, about=about)


def scores_of_hundreds_give_numbers(subject: VariantSubject, case: ParameterCase) -> None:
    """Scores far above what exp can take, of either sign, give weights of 0 and 1, and no NaN.

    Formula: sigma(s) -> 1 or 0; softmax of s as of s - max s
    Source: e^s / (1 + e^s) is inf / inf; one maximum for both maps leaves one of them nothing
    Fault: exponential_of_large_scores
    """
    call = subject.draw(case)
    factor = factor_of_far(case)
    changes = {"query": round_to(call.query * factor, case.dtype)}
    if call.query2 is not None:
        changes["query2"] = round_to(-factor * call.query2, case.dtype)
    check(subject, case, call.with_(**changes), "output for large scores")


def rows_without_a_key_give_zero(subject: VariantSubject, case: ParameterCase) -> None:
    """A row whose pairs are all hidden gives 0, beside rows that attend.

    Formula: o_i = 0 where M_ij = 0 for all j
    Source: an empty sum; a softmax over -inf alone is NaN in both maps, and so is their difference
    Fault: rows_without_a_key_are_nan
    """
    if "mask" not in subject.roles or subject.implementation.dead_rows == "unspecified":
        raise NotApplicable("it has no parameter for a mask, or says nothing of such rows")
    call = subject.draw(with_options(case, mask=True))
    assert call.mask is not None
    mask = call.mask.copy()
    mask[int(case.rng("dead").integers(len(mask)))] = False
    check(subject, case, call.with_(mask=mask), "output of rows of which one has no key")


def keys_of_long_rows_all_count(subject: VariantSubject, case: ParameterCase) -> None:
    """The keys of a row of some hundreds all have their weight.

    Formula: as the comparison with the truth, for n_kv from 129 to 300
    Source: blocks of 128 keys
    Fault: keys_behind_the_first_block_left_out
    """
    law, about = "keys_of_long_rows_all_count", ("keys behind the first 128 left out",)
    check(subject, case, subject.draw(case), "output over many keys", law, about=about)


def strides_of_both_maps_are_followed(subject: VariantSubject, case: ParameterCase) -> None:
    """All arrays may be views of larger or turned memory.

    Formula: f(views of x) = f(x)
    Source: queries of both maps that are cut out of one projection
    Fault: queries_read_in_order
    """
    view = str(case.rng("view").choice(VIEWS))
    law, what = "strides_of_both_maps_are_followed", f"output of arrays whose memory is {view}"
    check(subject, case, subject.draw(case), what, law, view=view)


def query_heads_share_key_heads(subject: VariantSubject, case: ParameterCase) -> None:
    """Where there are fewer key heads, query heads share them one group after the other, in either map.

    Formula: query head h attends to key head h // (H / H_kv)
    Source: Ainslie et al., GQA (2023); parameter enable_gqa of torch
    Fault: key_heads_are_taken_in_turn
    """
    law, about = "query_heads_share_key_heads", ("key heads in turn", "the first key head", "the next group's key head")
    check(subject, case, subject.draw(case), "output of heads that share key heads", law, about=about)


def the_output_of_a_head_is_normalised(subject: VariantSubject, case: ParameterCase) -> None:
    """Where a norm is declared, each head's output is divided by its own root mean square, or its deviation.

    Formula: y = (1 - lambda_init) g o / sqrt(mean o^2 + eps) over the features of one head and row
    Source: Ye et al. (2024), equation 3; derivations/variants.md (norm-size, norm-error, norm-most)
    Fault: norm_over_all_heads
    """
    if not subject.norm_kind:
        raise NotApplicable("no norm of each head is declared (--parameter norm=rms)")
    rng = case.rng("of norm")
    eps = [None, 1e-3, 1e-5, 0.25][case.seed % 4]
    case = with_options(case, eps=eps, init=float(rng.choice([0.2, 0.8, 0.5])))
    call = subject.draw(case)
    small = 2.0 ** -int(rng.integers(0, 8))  # outputs that epsilon weighs against
    call = call.with_(value=round_to(call.value * small, case.dtype))
    what, law = "output whose heads are normalised", "the_output_of_a_head_is_normalised"
    nulls = of_norms(subject, call)
    check(subject, case, call, what, law, about=tuple(nulls))


def compare_variant_gradients(subject: VariantSubject, case: ParameterCase, *, learned: bool) -> None:
    """Gradients of a call against truth and budget: those of its arrays, or those of its learned numbers.

    Raises: NotApplicable where it carries none, or none is known.
    """
    eps, init = [0.25, None, 1e-3][case.seed % 3], [0.2, 0.8, 0.5][case.seed % 3]  # of a norm, where there is one
    call = subject.draw(with_options(case, eps=eps, init=init))
    down = case.values("cotangent", *call.query.shape[:3], call.value.shape[3])
    true = subject.true_gradients(case, call, down)
    wanted = [role for role in true if (role in SCALARS) == learned and role in subject.roles]
    if not wanted:
        raise NotApplicable("it has no number that is learned")
    sent = as_argument(np.ascontiguousarray(subject.own.to_target(subject.put_in_order(call, down))), case.dtype)
    places = tuple(subject.roles[role] for role in wanted)
    request = subject.request_of(case, call, learned=learned, wrt_=places, cotangent_=sent)
    as_arrays = learned and any(map(subject.takes_an_array, wanted))
    try:
        response = subject.send(request)
    except Violation as violation:
        if not learned or as_arrays:
            raise
        raise NotApplicable("it takes numbers that are learned as numbers alone") from violation
    if not response.has_graph and not as_arrays:
        raise NotApplicable("it carries no gradient")
    for role, place in zip(wanted, places, strict=True):
        want, bound = true[role]
        value = response.gradients.get(place)
        if value is None and learned and not subject.takes_an_array(role):
            raise NotApplicable(f"it takes {place} as a number, which has no gradient")
        got = subject.read_gradient_of(role, value, request, want)
        ratio = require_close(subject.from_order(call, role, got), want, bound, f"gradient of {place}")
        note_ratio(subject, case, role, ratio)


def gradients_of_variants_are_true(subject: VariantSubject, case: ParameterCase) -> None:
    """Queries and keys of either map, the value and a norm's weight have the gradients of such an attention.

    Formula: dS = p (1 - p) dP of sigmoids; of the second map the gradients of -lambda <o_2, dO>; behind a norm
        dO = (u - z mean(u z)) / r with u = (1 - lambda_init) g dY, z = o / r, and dg = sum (1 - lambda_init) dY z
    Source: derivations/variants.md (slope, slope-error, slope-product, map-gradient, norm-gradient, cotangent)
    Fault: slope_of_the_softmax
    """
    scale = [None, 0.3, None, 1.0][case.seed % 4]
    compare_variant_gradients(subject, with_options(case, scale=scale), learned=False)


def learned_numbers_have_their_gradients(subject: VariantSubject, case: ParameterCase) -> None:
    """The bias of sigmoids and lambda, given as arrays without axes, have the sum over all rows and heads.

    Formula: db = sum p (1 - p) dP, dlambda = -<o_2, dO>
    Source: derivations/variants.md (bias-gradient, lambda-gradient)
    Fault: gradient_of_lambda_of_the_other_sign
    """
    number = {"bias": [-1.25, 0.5, -2.5][case.seed % 3], "weight": [0.75, 0.25, -0.5, 1.5][case.seed % 4]}
    compare_variant_gradients(subject, with_options(case, **number), learned=True)


# --- which cases they want ----------------------------------------------------------------------------------


def _as_many(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """As many queries as keys, and several."""
    n = max(3, sizes["n_kv"])
    return {**sizes, "n_q": n, "n_kv": n}


def _other_numbers(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Another number of keys than of queries, several of both."""
    n_kv = max(3, sizes["n_kv"])
    return {**sizes, "n_kv": n_kv, "n_q": n_kv + 2 if sizes["n_q"] == n_kv else max(2, sizes["n_q"])}


def _several(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Several queries and keys."""
    return {**sizes, "n_q": max(2, sizes["n_q"]), "n_kv": max(3, sizes["n_kv"])}


RANGES = {
    "B": (1, 3), "H_kv": (1, 4), "group": (1, 1), "n_q": (1, 8), "n_kv": (1, 12), "d": (1, 8), "d_v": (1, 8)
}  # fmt: skip
MODELS = {"H_kv": (2, 6), "d": (32, 64), "d_v": (32, 64), "n_q": (17, 40), "n_kv": (33, 70)}
OPTIONS: dict[str, tuple[Any, ...]] = {"causal": (False, False, True), "mask": (False, False, True)}
SPACE = Sizes(RANGES, OPTIONS, adjust=as_in_models(MODELS))
SMALL = Sizes(RANGES, adjust=_several)
SQUARE = Sizes(RANGES, adjust=_as_many)
UNLIKE = Sizes(RANGES, adjust=_other_numbers)
FAR = replace(SMALL, options=FAR_SCORES)
VIEWED = Sizes({**RANGES, "B": (2, 3), "H_kv": (2, 4), "d": (2, 8), "d_v": (2, 8)}, adjust=_several)
LONG = Sizes({**RANGES, "B": (1, 1), "H_kv": (1, 2), "n_q": (1, 3), "n_kv": (129, 300), "d": (1, 4)})


def _differentiable(implementation: Implementation) -> bool:
    return implementation.gradients and implementation.array == "torch"


GRADIENTS: dict[str, Any] = {
    "declares": _differentiable, "because": "gradients are not declared, or not of torch's arrays",
}  # fmt: skip
GROUPS = Sizes({**RANGES, "group": (2, 8)}, {**OPTIONS, **APART}, adjust=share_heads(_several))
NORMED = Sizes({**RANGES, "H_kv": (2, 4), "d_v": (2, 8)}, OPTIONS, adjust=as_in_models(MODELS, _several))
GRADED = Sizes({**RANGES, "group": (1, 8)}, OPTIONS, adjust=share_heads(_several, 0.3))
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "variant_attention", "large": 8, "small": 0, "space": SMALL}
LAWS = (
    Law(variants_agree_with_the_truth, **{**ROW, "large": 20, "space": SPACE}, central=True),
    Law(hidden_pairs_have_no_weight, **ROW),
    Law(later_keys_have_no_weight, **{**ROW, "space": SQUARE}),
    Law(the_bias_is_added_to_every_score, **{**ROW, "large": 12, "space": UNLIKE}),
    Law(the_second_map_is_weighed_by_lambda, **{**ROW, "large": 12}),
    Law(a_scale_that_is_given_scales_every_map, **{**ROW, "large": 12}),
    Law(scores_of_hundreds_give_numbers, **{**ROW, "space": FAR}),
    Law(rows_without_a_key_give_zero, **ROW),
    Law(keys_of_long_rows_all_count, **{**ROW, "large": 6, "space": LONG}),
    Law(strides_of_both_maps_are_followed, **{**ROW, "large": 12, "space": VIEWED}),
    Law(query_heads_share_key_heads, **{**ROW, "space": GROUPS}),
    Law(the_output_of_a_head_is_normalised, **{**ROW, "large": 14, "space": NORMED}),
    Law(gradients_of_variants_are_true, **{**ROW, "large": 14, "space": GRADED}, **GRADIENTS),
    Law(learned_numbers_have_their_gradients, **{**ROW, "large": 12, "space": GRADED}, **GRADIENTS),
)
COMPARISONS = tuple(law.name for law in LAWS[1:])
