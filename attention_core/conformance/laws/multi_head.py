"""Laws of multi-head self-attention: a factory `(embed_dim, num_heads) -> nn.Module`.

The module is called in the form that the first look finds (see `modules`). Where its projections are recognised (see
`projections`) the attention inside is judged against the float64 truth; the other laws need no weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from attention_core.conformance.laws.chance import DROPOUT, SEEDS
from attention_core.conformance.laws.sharing import LATER_CALLS
from attention_core.conformance.modules.filled_module import Filled, drawn_pairs, ways
from attention_core.conformance.modules.form import Mask
from attention_core.conformance.modules.look import MultiHead
from attention_core.conformance.subjects.evidence import (
    NotApplicable,
    Refused,
    Result,
    Violation,
    require_close,
    require_same,
)
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import (
    ParameterCase,
    Sizes,
    after,
    allows_parameters,
    as_in_models,
    draw_parameters,
    require_same_later,
    require_sizes,
    supports,
)
from attention_core.conformance.worker.exchange import NDArray

__all__ = ["CONTRACT", "LAWS", "MultiHead"]

CONTRACT = "multi-head"
SAYS_NO = ("ValueError", "NotImplementedError", "TypeError", "AssertionError")
"""How a module says that it does not take two masks at once; an error of shapes says nothing of the kind."""
ONE_ROW = 0.3
"""The share of masks that are expanded from one row."""
ONE_HEAD, OWN_KEYS = "one head in place of several", "heads of keys that are not shared"
"""What a module could compute unseen where all cases of several heads, or of fewer heads of keys, say nothing."""


def heads_attend_as_the_formula_says(subject: MultiHead, case: ParameterCase) -> None:
    """Each head attends with its own slice of the projections, scaled by the head size, and heads are joined in order.

    Formula: concat_h softmax(q_h k_h^T / sqrt(E/H)) v_h W_o + b_o
    Source: Vaswani et al., section 3.2.2; lucidrains/vit-pytorch#65 (scaled by the model's size)
    Fault: scaled_by_model_size
    """
    case = subject.widen(case)
    try:
        _check_truth(subject, case)
    except NotApplicable:  # where other cases were compared, perhaps none of several heads ever is
        if subject.compares:
            note_heads(subject, case, compared=False)
        raise
    subject.compares = True
    note_heads(subject, case, compared=True)


def note_heads(subject: MultiHead, case: ParameterCase, *, compared: bool) -> None:
    """Note whether a case that only several heads, or shared heads of keys, answer as they do was compared."""
    keys = case.sizes.get("H_kv", case["H"])
    kinds = {ONE_HEAD: case["H"] > 1, OWN_KEYS: keys < case["H"]} if case["n"] > 1 else {}
    for name in (name for name, has in kinds.items() if has):
        subject.relevant[heads_attend_as_the_formula_says.__name__, name] += 1
        subject.powers[heads_attend_as_the_formula_says.__name__, name] += compared


def causal_heads_attend_as_the_formula_says(subject: MultiHead, case: ParameterCase) -> None:
    """With is_causal every head masks what is later, before its softmax.

    Formula: as heads_attend_as_the_formula_says with s_ij = -inf for j > i
    Source: seed exercise "apply_causal_mask"; pytorch/pytorch#99282
    Fault: causal_flag_dropped
    """
    subject.require_causality()
    _check_truth(subject, case, causal=True)


def masked_heads_attend_as_the_formula_says(subject: MultiHead, case: ParameterCase) -> None:
    """A mask, of pairs or of keys, shared or one per sequence, takes keys out of every head's softmax.

    A second mask of the same shape, written into the array of the first, takes out its own keys. Some masks are
    expanded from one row.

    Formula: as heads_attend_as_the_formula_says with s_ij = -inf where the mask forbids
    Source: rasbt/LLMs-from-scratch PR1062 (polarity), lucidrains/vit-pytorch#71 (sequences taken for heads)
    Fault: mask_polarity_reversed
    """
    mask = subject.mask(case, str(case.options["mask"]))
    mask = mask.of_one_row() if case.rng("memory of the mask").random() < ONE_ROW else mask
    found = subject.recognise(case)
    first = _check_truth(subject, case, mask, found=found)
    before = None
    if subject.implementation.array != "jax" and mask.view == "contiguous":  # one row cannot hold those of another
        before = replace(
            subject.make_request(case, found, subject.input(case), mask=mask), instance=None, parameters=None
        )
    with after([first]):
        second = replace(mask, pairs=np.roll(mask.pairs, 1, axis=-1))
        _check_truth(subject, case, second, found=found, earlier_=before)


def heads_attend_to_a_context_as_the_formula_says(subject: MultiHead, case: ParameterCase) -> None:
    """With a context, of another length or of the same, queries come from the input, keys and values from the context.

    A second context of the same shape has its own keys and values, whatever was kept of the first.

    Formula: concat_h softmax(q_h k_h^T / sqrt(E/H)) v_h W_o + b_o with q of x, k and v of the context
    Source: Vaswani et al., section 3.2.3; lucidrains/x-transformers#174 (the mask of the queries for the context)
    Fault: context_for_keys_alone
    """
    if not subject.form.crosses:
        raise NotApplicable("the module has no parameter for a context")
    if subject.always_causal:
        raise NotApplicable("the module is declared to be causal, which says nothing of another sequence")
    found, x = subject.recognise(case), subject.input(case)
    assert found.parts is not None
    earlier = list[Result]()
    for purpose in ("context", "another context"):
        context = subject.input(case, purpose, case["m"])
        want, bound = subject.truth(case, found.parts, x, context=context)
        with after(earlier):
            got = subject.module(case, found, x, context=context)
            require_close(got, want, bound, f"output with {purpose}")
        earlier.append(got)


def tokens_without_a_key_are_as_declared(subject: MultiHead, case: ParameterCase) -> None:
    """A token that may attend to nothing gives what is declared, and leaves the others as they are.

    Formula: m_ij = 0 for all j: heads of zeros, of NaN, or the mean of the values, then W_o and b_o
    Source: the declaration `dead_rows`; pytorch/pytorch#160064 (NaN), huggingface/transformers masks (the mean)
    Fault: dead_rows_zeroed_behind_the_projection
    """
    mask = subject.mask(case, str(case.options["mask"]))
    pairs = mask.pairs.copy()
    pairs[..., int(case.rng("dead").integers(pairs.shape[-2])), :] = False  # of keys alone: for every token
    if pairs.ndim == 4 and case["B"] > 1:  # one sequence has such tokens, the others have none
        pairs[1:] = mask.pairs[1:]
    _check_truth(subject, case, replace(mask, pairs=pairs))


def masks_and_causality_mean_both(subject: MultiHead, case: ParameterCase) -> None:
    """A mask beside is_causal leaves the keys that both allow, and the causal call after it knows nothing of the mask.

    Formula: as heads_attend_as_the_formula_says with s_ij = -inf where the mask forbids or j > i
    Source: pytorch/pytorch#99282; a buffer of past positions that a mask is combined with in place
    Fault: mask_dropped_beside_causality
    """
    subject.require_causality()
    mask = subject.mask(case)
    found, x = subject.prepare(case), subject.input(case)
    first = subject.module(case, found, x, causal=True)
    both = subject.module(case, found, x, causal=True, mask=mask)
    again = subject.module(case, found, x, causal=True)
    bound = subject.rounding(case, found, x, causal=True)
    require_same_later(again, first, [both], bound, "causal output after a call with a mask, too")
    _check_truth(subject, case, mask, causal=True)


def two_masks_mean_both(subject: MultiHead, case: ParameterCase) -> None:
    """A module that takes two masks, as of pairs and of keys, given both, leaves the keys that both allow.

    Formula: as heads_attend_as_the_formula_says with s_ij = -inf where either mask forbids
    Source: pytorch's key_padding_mask beside attn_mask; pytorch/pytorch#41508 (what a row without keys then gives)
    Fault: padding_dropped_beside_a_mask
    """
    if len(subject.form.masks) < 2:
        raise NotApplicable("the module has no two parameters for masks")
    rng = case.rng("two masks")
    masks = list[Mask]()
    for place in sorted(int(i) for i in rng.choice(len(subject.form.masks), 2, replace=False)):
        form = subject.form.masks[place]
        shape = form.shapes[int(rng.integers(len(form.shapes)))]
        pairs = drawn_pairs(case.with_(seed=case.seed + place), shape)
        pairs[..., 0] = True  # every token keeps a key
        masks.append(Mask(pairs, form, shape))
    found, x = subject.recognise(case), subject.input(case)
    assert found.parts is not None
    want, bound = subject.truth(case, found.parts, x, masks[0].pairs & masks[1].pairs)
    try:
        got = subject.module(case, found, x, mask=masks[0], also=masks[1])
    except Refused as refusal:
        if str(refusal).startswith(SAYS_NO):
            raise NotApplicable(f"the module takes one mask at a time: {refusal}") from None
        raise
    require_close(got, want, bound, f"multi-head output with {masks[0].form.name} and {masks[1].form.name}")


def _check_truth(
    subject: MultiHead, case: ParameterCase, mask: Mask | None = None, causal: bool = False,
    found: Filled | None = None, **fields: Any,
) -> Result:  # fmt: skip
    """The output of a module, a new one unless one is `found`, which must be its truth."""
    found, x = subject.recognise(case) if found is None else found, subject.input(case)
    assert found.parts is not None
    want, bound = subject.truth(case, found.parts, x, None if mask is None else mask.pairs, causal)
    got = subject.module(case, found, x, mask=mask, causal=causal, **fields)
    require_close(got, want, bound, "multi-head output")
    return got


def batch_rows_are_independent(subject: MultiHead, case: ParameterCase) -> None:
    """A sequence's output does not depend on the other sequences of its batch.

    Formula: f(x)[b] = f(x')[b] whenever x[b] = x'[b]
    Source: gazelle93/Transformer-Various-Positional-Encoding#1
    Fault: batch_and_heads_mixed
    """
    found, x = subject.prepare(case), subject.input(case)
    changed = subject.input(case, "other")
    changed[0] = x[0]
    first, second = subject.module(case, found, x), subject.module(case, found, changed)
    own = np.arange(case["B"])[:, None, None] == 0
    bound = subject.rounding(case, found, x, changed)
    require_same(second, first, bound, "sequence 0 after the others changed", where=own)


def later_tokens_are_invisible(subject: MultiHead, case: ParameterCase) -> None:
    """With is_causal, a token's output does not depend on later tokens.

    Formula: f(x)[:, :t] = f(x')[:, :t] whenever x and x' agree before t
    Source: facebookresearch/xformers#103, pytorch/pytorch#99282
    Fault: causal_flag_dropped
    """
    subject.require_causality()
    found, x = subject.prepare(case), subject.input(case)
    cut = int(case.rng("cut").integers(1, case["n"]))
    changed = x.copy()
    changed[:, cut:] = subject.input(case, "other")[:, cut:]
    first = subject.module(case, found, x, causal=True)
    second = subject.module(case, found, changed, causal=True)
    early = np.arange(case["n"])[:, None] < cut
    bound = subject.rounding(case, found, x, changed, causal=True)
    require_same(second, first, bound, f"tokens before {cut} after later ones changed", where=early)


def training_without_dropout_is_evaluation(subject: MultiHead, case: ParameterCase) -> None:
    """Without dropout, training and evaluation mode give the same, in any order of calls, causal, masked or neither.

    A module that is random in training (its own dropout is on) is judged in evaluation mode alone. One that drops half
    of its weights is taken for one without dropout with a probability below 2^-24.

    Formula: f_train(x) = f_eval(x)
    Source: NVIDIA/Megatron-LM PR411, huggingface/pytorch-image-models PR1978
    Fault: mode_changes_the_output
    """
    found, x = subject.prepare(case), subject.input(case)
    for flags, mask, causal in ways(subject, case):
        bound = subject.rounding(case, found, x, mask=mask, causal=causal)
        first, between = subject.module(case, found, x, mode="eval", **flags), list[Result]()
        for mode in ("train", "eval"):
            other = subject.module(case, found, x, mode=mode, **flags)
            between.append(other)
            try:
                require_same_later(other, first, between[:-1], bound, f"output in {mode} mode")
            except Violation:
                if mode == "eval" or not random_in_training(subject, case, found, x, other, flags):
                    raise


def random_in_training(
    subject: MultiHead, case: ParameterCase, found: Filled, x: NDArray, seen: Result, flags: dict[str, Any]
) -> bool:
    """Whether the same training call gives something else for another seed: tried until it does, 24 times at most."""
    calls = (subject.module(case, found, x, mode="train", seed_=seed, **flags) for seed in range(SEEDS))
    if all(np.array_equal(call.values, seen.values, equal_nan=True) for call in calls):
        return False
    subject.unjudged = DROPOUT
    return True


def lengths_may_change_between_calls(subject: MultiHead, case: ParameterCase) -> None:
    """A module answers a longer sequence after a shorter one as a new module does, causal or not.

    Formula: f(x[:, :m]), f(x)' = f(x)
    Source: facebookresearch/xformers PR660 (a causal mask sized by the first call)
    Fault: causal_mask_of_the_first_length
    """
    require_sizes(subject.implementation, case.with_(n=max(1, case["n"] // 2)))
    found, x = subject.prepare(case), subject.input(case)
    for causal in (False, True) if subject.form.causal else (False,):
        bound = subject.rounding(case, found, x, causal=causal)
        first = subject.module(case, found, x, causal=causal)
        again = replace(found, instance=subject.fresh_instance())
        short = subject.module(case, again, x[:, : max(1, case["n"] // 2)], causal=causal)
        after_short = subject.module(case, again, x, causal=causal)
        require_same_later(after_short, first, [short], bound, "output after a shorter sequence")


def outputs_outlive_the_next_call(subject: MultiHead, case: ParameterCase) -> None:
    """An output still holds its numbers after the next call of the same shape, and after seventeen.

    Formula: y = f(x), f(x') k times, then y = f(x), k = 17
    Source: the definition of a function
    Fault: joined_in_four_buffers
    """
    found, x = subject.prepare(case), subject.input(case)
    plain = subject.module(case, found, x)
    other = replace(subject.make_request(case, found, subject.input(case, "other")), instance=None, parameters=None)
    late = subject.module(case, found, x, between_=other, betweens_=LATER_CALLS)
    require_same(late, plain, subject.rounding(case, found, x), f"output, looked at after {LATER_CALLS} other calls")


def draw_module(subject: MultiHead, space: Sizes, rng: np.random.Generator) -> ParameterCase | None:
    """A case of sizes that the module's form allows, half of the time with fewer heads of keys where it takes those."""
    case = draw_parameters(subject, space, rng)
    if case is None:
        return None
    if subject.form.grouped and (group := int(rng.choice(GROUPS))) > 1:
        many = case["H"] >= MANY_HEADS and case["H"] % group == 0  # as many as models have: not three times as many
        keys = case["H"] // group if many else case["H"]
        grouped = case.with_(H_kv=keys, H=group * keys)
        return grouped if supports(subject.implementation, grouped) else case
    return case


def allows_module(subject: MultiHead, space: Sizes, case: ParameterCase) -> bool:
    """Whether a shrunk case is allowed."""
    return allows_parameters(subject, space, case) and subject.allows(case)


def _coinciding(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """As many sequences as heads half of the time: a mask on the wrong axis then has a shape that fits."""
    if rng.random() < 0.5:
        sizes["B"] = sizes["H"] = int(rng.integers(2, 4))
    return sizes


def _coinciding_or_many(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """As `_coinciding`, or more sequences than a kernel takes at a time: each has a mask of its own."""
    if rng.random() < 0.4:
        sizes["B"] = int(rng.integers(5, 18))
        return sizes
    return _coinciding(sizes, rng)


def _equal_lengths(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """A context as long as the input, half of the time: what looks at lengths takes one for the other."""
    return {**sizes, "m": sizes["n"]} if rng.random() < 0.5 else sizes


RANGES = {"B": (1, 3), "n": (1, 6), "H": (1, 4), "d": (1, 4)}
MODELS = {"B": (5, 6), "n": (65, 72), "H": (3, 6), "d": (33, 40)}
"""More texts than heads, more tokens than a small buffer holds, heads wider than 32."""
GROUPS = (1, 1, 2, 3, 3, 4, 5)
"""How many heads of queries one of keys has, where a module takes fewer of those."""
MANY_HEADS = 12
HEADS = {"B": (1, 2), "n": (4, 9), "H": (MANY_HEADS, MANY_HEADS), "d": (8, 8)}
"""As many heads as BERT's, of fewer features."""
TEXT = {"B": (1, 2), "n": (129, 136), "H": (1, 2), "d": (2, 4)}
"""More tokens than 128."""


def _in_models(
    adjust: Callable[[dict[str, int], np.random.Generator], dict[str, int]] | None = None, share: float = 0.25
) -> Callable[[dict[str, int], np.random.Generator], dict[str, int]]:
    """As `as_in_models`, with shares of cases of many heads, and of long texts, beside it."""
    return as_in_models(MODELS, as_in_models(HEADS, as_in_models(TEXT, adjust, 0.25), 0.2), share)


ANY = Sizes(RANGES, adjust=as_in_models(MODELS), dtypes=("float32",))
PLAIN = Sizes(RANGES, adjust=_in_models(), dtypes=("float32",))
SEVERAL = Sizes({**RANGES, "B": (2, 3)}, dtypes=("float32",))
TOKENS = Sizes({**RANGES, "n": (2, 6)}, adjust=as_in_models(MODELS), dtypes=("float32",))
MASKS = {"mask": ("shared", "by sequence", "rows", "keys", "wide keys")}
MASKED = Sizes({**RANGES, "n": (2, 6)}, MASKS, _coinciding_or_many, dtypes=("float32",))
MASKED_MODELS = replace(MASKED, adjust=_in_models(_coinciding_or_many, 0.0))
CAUSAL = replace(TOKENS, adjust=_in_models())
CROSSED = Sizes({**RANGES, "m": (1, 7)}, adjust=_equal_lengths, dtypes=("float32",))
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "multi_head", "large": 16, "small": 0}
LAWS = (
    Law(heads_attend_as_the_formula_says, space=PLAIN, **{**ROW, "large": 32}, central=True),
    Law(causal_heads_attend_as_the_formula_says, space=CAUSAL, **ROW),
    Law(masked_heads_attend_as_the_formula_says, space=MASKED_MODELS, **ROW),
    Law(heads_attend_to_a_context_as_the_formula_says, space=CROSSED, **ROW),
    Law(
        tokens_without_a_key_are_as_declared, space=MASKED, **ROW, declares=lambda i: i.dead_rows != "unspecified",
        because="what a token without any key gives is not declared (--dead-rows)",
    ),
    Law(masks_and_causality_mean_both, space=TOKENS, **ROW),
    Law(two_masks_mean_both, space=MASKED, **ROW),
    Law(batch_rows_are_independent, space=SEVERAL, **ROW),
    Law(later_tokens_are_invisible, space=TOKENS, **ROW),
    Law(training_without_dropout_is_evaluation, space=ANY, **ROW),
    Law(lengths_may_change_between_calls, space=TOKENS, **ROW),
    Law(outputs_outlive_the_next_call, space=ANY, **ROW),
)  # fmt: skip
COMPARISONS = (
    "tokens_without_a_key_are_as_declared",
    "causal_heads_attend_as_the_formula_says",
    "masked_heads_attend_as_the_formula_says",
    "masks_and_causality_mean_both",
)
