"""Laws of linear attention: a recurrence with a state, computed token by token or in blocks, all at once or in parts.

Kinds: plain sums (`linear`), a decay for each head (`retention`) or feature (`gla`), the delta rule with a decay for
each token (`gated-delta`) or feature (`kda`), and state spaces with a step (`ssd`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.recurrence_terms import Tokens
from attention_core.conformance.cases.counts import count_many
from attention_core.conformance.cases.null_models import SEPARATION
from attention_core.conformance.subjects.evidence import NotApplicable, require_close, require_same
from attention_core.conformance.subjects.law import DIAGNOSE, Law
from attention_core.conformance.subjects.linear_subject import LinearAttention, Truth, select_tokens
from attention_core.conformance.subjects.parameter_case import (
    UNDECLARED_SIZES,
    ParameterCase,
    Sizes,
    after,
    as_in_models,
    choose_sizes,
    supports,
)
from attention_core.conformance.worker.exchange import NDArray

CONTRACT = "linear-attention"
BLOCK = 16
"""The block of the null model whose blocks lose a token."""
GIVEN_SCALE = 0.3


def null_models(
    tokens: Tokens, start: NDArray | None, truth: Truth, scale: float
) -> dict[str, tuple[NDArray, NDArray]]:
    """What linear attention with one thing wrong gives: (outputs, state) by the name of what it gets wrong."""
    d = tokens.query.shape[-1]

    def run(**changed: Any) -> tuple[NDArray, NDArray]:
        return oracle.linear_attention(*tokens._replace(**changed).recur(), start, scale=scale)

    nulls = {
        "scaled twice": (truth.out * scale, truth.state),
        "not scaled": (truth.out / scale, truth.state),
        "scaled by 1/d": (truth.out / scale / d, truth.state),
    }
    if start is not None:
        nulls["initial state ignored"] = oracle.linear_attention(*tokens.recur(), scale=scale)
    if tokens.step is not None:
        nulls |= _nulls_of_a_step(tokens, start, scale)
        tokens = tokens.resolve()
    if tokens.log_decay is not None:
        late = np.concatenate([0 * tokens.log_decay[:, :, :1], tokens.log_decay[:, :, :-1]], axis=2)
        nulls["decay ignored"] = run(log_decay=None)
        nulls["decay of the token before"] = run(log_decay=late)
    if tokens.beta is None:
        own = (tokens.query * tokens.key).sum(axis=-1, keepdims=True) * tokens.value
        last = tokens.key[:, :, -1, :, None] * tokens.value[:, :, -1, None]
        nulls["its own token left out"] = (truth.out - scale * own, truth.state - last)
        if tokens.log_decay is not None:
            nulls["decay after adding"] = run(key=tokens.key * np.exp(tokens.log_decay))
    else:
        nulls["beta ignored"] = run(beta=np.ones(tokens.beta.shape))
        nulls["sums for the delta rule"] = run(beta=None)
    if tokens.key.shape[2] > BLOCK:
        key = tokens.key.copy()
        key[:, :, BLOCK - 1] = 0
        nulls["the last token of a block lost"] = run(key=key)
    return nulls


def _nulls_of_a_step(tokens: Tokens, start: NDArray | None, scale: float) -> dict[str, tuple[NDArray, NDArray]]:
    """What a state space with its step left out of the values, or of the decay, gives."""
    step, decay = np.asarray(tokens.step)[..., None], np.asarray(tokens.log_decay)
    wrong = {
        "the step left out of the values": (tokens.value, decay * step),
        "the step left out of the decay": (tokens.value * step, decay),
    }
    return {
        name: oracle.linear_attention(tokens.query, tokens.key, value, fade, None, start, scale=scale)
        for name, (value, fade) in wrong.items()
    }


def count_power(
    subject: LinearAttention, law: str, nulls: Mapping[str, tuple[NDArray, NDArray]], truth: Truth, *, state: bool
) -> None:
    """Note which null models a case could tell from the truth, by the outputs or by the state.

    Raises: NotApplicable where it could tell none: such a case cannot fail.
    """
    true, bound = (truth.state, truth.bounds.state) if state else (truth.out, truth.bounds.out)
    some = False
    for name, null in nulls.items():
        apart = np.abs(null[state] - true)
        separated = bool((apart > SEPARATION * bound).any())
        subject.relevant[law, name] += bool((apart > 1e-12).any())
        subject.powers[law, name] += separated
        some |= separated
    if not some:
        raise NotApplicable("no wrong linear attention that is tried would stand out")


def check(
    subject: LinearAttention, case: ParameterCase, tokens: Tokens, what: str, start: NDArray | None = None,
    *, law: str = "", state: bool = False, **how: Any,
) -> None:  # fmt: skip
    """One call agrees with the truth in its outputs, and in its state where it returns one; `law` counts its power."""
    scale = how.get("scale")
    truth = subject.truth(case, tokens, start, scale=scale)
    if law:
        nulls = null_models(tokens, start, truth, subject.scale(case, scale))
        count_power(subject, law, nulls, truth, state=state)
    out, last = subject.attend(case, tokens, start, **how)
    if state and last is None:
        raise NotApplicable("it returns no state")
    if not state:
        ratio = require_close(out, truth.out, truth.bounds.out, f"out of {what}")
        key = (case.dtype, "linear attention")
        subject.ratios[key] = max(subject.ratios.get(key, 0.0), ratio)
    if last is not None:
        require_close(last, truth.state, truth.bounds.state, f"state after {what}")


def linear_attention_agrees_with_the_truth(subject: LinearAttention, case: ParameterCase) -> None:
    """Every output is its query times the state, of all tokens up to its own.

    Formula: S_t = (I - beta_t k_t k_t^T) diag(e^g_t) S_(t-1) + beta_t k_t v_t^T, o_t = scale S_t^T q_t, within budget
    Source: derivations/linear_attention.md (state-sum); Katharopoulos et al. 2020; fla-org/flash-linear-attention#623
    Fault: decay_after_adding
    """
    law = "linear_attention_agrees_with_the_truth"
    check(subject, case, subject.tokens(case), "linear attention", law=law, ask=False)


def a_given_scale_is_the_scale(subject: LinearAttention, case: ParameterCase) -> None:
    """A scale that is given takes the place of the usual one.

    Formula: o = scale S^T q for scale = 0.3, too
    Source: fla-org/flash-linear-attention, parameter scale of every operator
    Fault: given_scale_times_the_usual_one
    """
    if "scale" not in subject.roles:
        raise NotApplicable("it takes no scale")
    law = "a_given_scale_is_the_scale"
    check(subject, case, subject.tokens(case), "a call with a scale", law=law, scale=GIVEN_SCALE)


def the_final_state_is_true(subject: LinearAttention, case: ParameterCase) -> None:
    """The state that is returned is that after the last token.

    Formula: |S - S_n| <= E, entry by entry
    Source: derivations/linear_attention.md (state-sum)
    Fault: state_before_the_last_token
    """
    check(subject, case, subject.tokens(case), "the last token", law="the_final_state_is_true", state=True)


def an_initial_state_counts(subject: LinearAttention, case: ParameterCase) -> None:
    """A state that is handed over is where the recurrence begins: it fades, is read, and is left as it was.

    Formula: S_0 = initial state
    Source: fla-org/flash-linear-attention#351 (a state that is handed over gives other outputs)
    Fault: initial_state_ignored
    """
    start = subject.start(case)
    check(subject, case, subject.tokens(case), "a call with a state", start, law="an_initial_state_counts")


def parts_that_carry_the_state_equal_the_whole(subject: LinearAttention, case: ParameterCase) -> None:
    """Tokens handed over in two calls, the second with the first's state, give what one call gives.

    Formula: f(x_1 .. x_n) = f(x_1 .. x_m), f(x_(m+1) .. x_n; S_m), outputs and last state
    Source: derivations/linear_attention.md (two-parts); ROCm/ATOM PR1759 (resumed from a wrong state)
    Fault: tail_missing_from_the_state
    """
    if "state" not in subject.roles:
        raise NotApplicable("it takes no initial state")
    tokens, n = subject.tokens(case), case["n"]
    cuts = [m for m in range(1, n) if all(supports(subject.implementation, case.with_(n=k)) for k in (m, n - m))]
    if not cuts:
        raise NotApplicable(UNDECLARED_SIZES)
    cut = cuts[int(case.rng("cut").integers(len(cuts)))]
    truth = subject.truth(case, tokens, parts=2)
    head, state = subject.attend(case, select_tokens(tokens, slice(0, cut)))
    if state is None:
        raise NotApplicable("it returns no state")
    tail, last = subject.attend(case, select_tokens(tokens, slice(cut, n)), state.values)
    bounds = truth.bounds
    require_close(head, truth.out[:, :, :cut], bounds.out[:, :, :cut], f"out of the first {cut} tokens")
    with after([head]):
        require_close(tail, truth.out[:, :, cut:], bounds.out[:, :, cut:], f"out of the tokens from {cut} on")
        if last is not None:
            require_close(last, truth.state, bounds.state, "state after two parts")


def lengths_around_blocks_agree(subject: LinearAttention, case: ParameterCase) -> None:
    """Lengths of a block, one token fewer and one more, are as right as any.

    Formula: |o - truth| <= E for n = 15, 16, 17, 31 .. 33, 63 .. 65, 127 .. 129
    Source: tails of blocks
    Fault: last_token_of_a_block_lost
    """
    lengths = [{"n": near + case["n"] - 2} for near in (16, 32, 64, 128)]
    case = choose_sizes(subject.implementation, case, lengths, case.rng("block"))
    check(subject, case, subject.tokens(case), f"{case['n']} tokens", law="lengths_around_blocks_agree")


def many_heads_and_features_agree(subject: LinearAttention, case: ParameterCase) -> None:
    """Every head and feature of a large call is as right as those of a small one.

    Formula: |o - truth| <= E for H up to 20, d and d_v up to 136
    Source: kernels that hold a state of 64 or 128 features
    Fault: features_beyond_64_dropped
    """
    check(subject, case, subject.tokens(case), "a large call", law="many_heads_and_features_agree")


def heads_of_a_group_share_their_projections(subject: LinearAttention, case: ParameterCase) -> None:
    """Several heads of a state space share its two projections, neighbours the same ones.

    Formula: head h reads and writes its state with B and C of group h // (H / G), 1 < G < H
    Source: Dao and Gu 2024, section 7.2 (groups of heads); mamba_ssm, mamba_chunk_scan_combined
    Fault: groups_in_turn
    """
    if "step" not in subject.call_form.inputs:
        raise NotApplicable("its heads have queries and keys of their own")
    grouped = (case.with_(seed=case.seed + i) for i in range(20))
    case = next((one for one in grouped if 1 < subject.groups(one) < one["H"]), case)
    law = "heads_of_a_group_share_their_projections"
    check(subject, case, subject.tokens(case), f"{case['H']} heads in {subject.groups(case)} groups", law=law)


def strong_decays_neither_overflow_nor_leak(subject: LinearAttention, case: ParameterCase) -> None:
    """Decays of e^-12 a token, and far stronger ones, leave the last tokens, and nothing overflows.

    Formula: |o - truth| <= E for sum_t |g_t| of several hundred
    Source: e^(G_i) e^(-G_j) overflows where e^(G_i - G_j) does not; fla-org/flash-linear-attention, secondary chunking
    Fault: decays_divided_by_their_product
    """
    if not subject.decay_role:
        raise NotApplicable("it takes no decay")
    check(subject, case, subject.tokens(case, pace=2.5), "tokens that fade fast")


def later_tokens_change_no_earlier_output(subject: LinearAttention, case: ParameterCase) -> None:
    """What comes after a token does not reach its output.

    Formula: x_j = x'_j for j <= i implies |o_i - o'_i| <= 2 E
    Source: derivations/linear_attention.md (state-sum): the sum ends at its own token
    Fault: whole_block_is_seen
    """
    tokens, n = subject.tokens(case), case["n"]
    cut = int(case.rng("cut").integers(1, n))
    other = subject.tokens(case.with_(seed=case.seed + 1))

    def mix(one: NDArray | None, later: NDArray | None) -> NDArray | None:
        return None if one is None or later is None else np.concatenate([one[:, :, :cut], later[:, :, cut:]], axis=2)

    mixed = Tokens(*map(mix, tokens, other))  # type: ignore[arg-type]
    if subject.decays_of == "heads":
        mixed = mixed._replace(log_decay=tokens.log_decay)
    bound = 2 * subject.truth(case, tokens).bounds.out
    first, _ = subject.attend(case, tokens)
    second, _ = subject.attend(case, mixed)
    rows = np.arange(n)[:, None] < cut
    require_same(second, first, bound, "out of tokens before those that changed", where=rows)


def batch_and_heads_do_not_mix(subject: LinearAttention, case: ParameterCase) -> None:
    """Other values in one sequence or head change no output of another.

    Formula: x_bh = x'_bh implies |o_bh - o'_bh| <= 2 E
    Source: every (b, h) has a state of its own
    Fault: one_state_for_all_heads
    """
    tokens = subject.tokens(case)
    b, h = (int(case.rng("place").integers(case[name])) for name in ("B", "H"))
    value = tokens.value.copy()
    value[b, h] = 1 - 2 * value[b, h]
    start = subject.start(case) if "state" in subject.roles and case.seed % 2 else None
    bound = 2 * subject.truth(case, tokens, start).bounds.out
    first, _ = subject.attend(case, tokens, start)
    second, _ = subject.attend(case, tokens._replace(value=value), start)
    others = np.ones((case["B"], case["H"], 1, 1), dtype=bool)
    others[b, h] = False
    require_same(second, first, bound, "out of other sequences and heads", where=others)


def asking_for_the_state_changes_no_output(subject: LinearAttention, case: ParameterCase) -> None:
    """A call that returns the state has the outputs of one that does not.

    Formula: |f(x, state asked for) - f(x)| <= 2 E
    Source: kernels of two paths, with and without a state
    Fault: state_path_unscaled
    """
    if "asks" not in subject.roles:
        raise NotApplicable("it has no parameter that asks for the state")
    tokens = subject.tokens(case)
    bound = 2 * subject.truth(case, tokens).bounds.out
    plain, _ = subject.attend(case, tokens, ask=False)
    beside, _ = subject.attend(case, tokens)
    require_same(beside, plain, bound, "out of a call that returns the state")


def an_earlier_call_leaves_no_state(subject: LinearAttention, case: ParameterCase) -> None:
    """A call without an initial state begins at 0, whatever was called before.

    Formula: f(x) after f(y) = f(x)
    Source: vllm-project/tpu-inference PR3412 (a state that another request has left)
    Fault: state_kept_between_calls
    """
    tokens = subject.tokens(case)
    truth = subject.truth(case, tokens)
    earlier, _ = subject.attend(case, subject.tokens(case.with_(seed=case.seed + 1)))
    out, _ = subject.attend(case, tokens)
    with after([earlier]):
        require_close(out, truth.out, truth.bounds.out, "out after another call")


def strides_of_tokens_are_followed(subject: LinearAttention, case: ParameterCase) -> None:
    """Tokens that are views of larger or turned memory are read by their strides.

    Formula: f(views of x) = f(x)
    Source: heads split by a transpose, slices of one array of q, k and v
    Fault: tokens_read_in_order
    """
    view = str(case.rng("view").choice(["transposed", "heads_last", "heads_chunk", "sliced", "padded", "offset"]))
    check(subject, case, subject.tokens(case), f"tokens whose memory is {view.replace('_', ' ')}", view=view)


RANGES = {"B": (1, 3), "H": (1, 3), "n": (1, 9), "d": (1, 8), "d_v": (1, 8)}
MODELS = {"n": (17, 70), "H": (2, 5), "d": (16, 64), "d_v": (16, 64)}


def _fewer_problems(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Many heads, or many features."""
    if rng.random() < 0.5:
        return {**sizes, "H": int(rng.integers(9, 21)), "d": int(rng.integers(1, 9)), "d_v": int(rng.integers(1, 9))}
    return {**sizes, "d": int(rng.integers(65, 137)), "d_v": int(rng.integers(65, 137)), "H": 1}


SPACE = Sizes(RANGES, adjust=as_in_models(MODELS))
SMALL = Sizes(RANGES, adjust=count_many(share=0.15))
CUT = Sizes({**RANGES, "n": (2, 40)})
BLOCKS = Sizes({"B": (1, 1), "H": (1, 2), "n": (1, 3), "d": (2, 6), "d_v": (2, 6)})
LARGE = Sizes(
    {"B": (1, 2), "H": (1, 20), "n": (2, 9), "d": (1, 136), "d_v": (1, 136)}, adjust=_fewer_problems,
)  # fmt: skip
GROUPS = Sizes({**RANGES, "H": (4, 8), "n": (1, 5)})
STRONG = Sizes({**RANGES, "n": (2, 40), "d": (1, 5)})
VIEWS = Sizes({**RANGES, "n": (2, 6), "H": (2, 3), "d": (2, 8), "d_v": (2, 8)})
MIXED = Sizes({**RANGES, "B": (1, 3), "H": (2, 3), "n": (2, 9)})
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "linear_attention", "large": 8, "small": 0, "space": SMALL}
LAWS = (
    Law(linear_attention_agrees_with_the_truth, **{**ROW, "large": 20, "space": SPACE}, central=True),
    Law(the_final_state_is_true, **{**ROW, "space": SPACE}),
    Law(an_initial_state_counts, **ROW),
    Law(a_given_scale_is_the_scale, **{**ROW, "large": 4}),
    Law(parts_that_carry_the_state_equal_the_whole, **{**ROW, "space": CUT}),
    Law(lengths_around_blocks_agree, **{**ROW, "large": 12, "space": BLOCKS}),
    Law(many_heads_and_features_agree, **{**ROW, "large": 6, "space": LARGE}),
    Law(heads_of_a_group_share_their_projections, **{**ROW, "space": GROUPS}),
    Law(strong_decays_neither_overflow_nor_leak, **{**ROW, "space": STRONG}),
    Law(an_earlier_call_leaves_no_state, **{**ROW, "large": 4}),
    Law(strides_of_tokens_are_followed, **{**ROW, "space": VIEWS}),
    Law(later_tokens_change_no_earlier_output, **{**ROW, "space": CUT}, role=DIAGNOSE),
    Law(batch_and_heads_do_not_mix, **{**ROW, "space": MIXED}, role=DIAGNOSE),
    Law(asking_for_the_state_changes_no_output, **{**ROW, "large": 4}, role=DIAGNOSE),
)
COMPARISONS = (
    "the_final_state_is_true", "an_initial_state_counts", "a_given_scale_is_the_scale",
    "parts_that_carry_the_state_equal_the_whole", "lengths_around_blocks_agree", "many_heads_and_features_agree",
    "heads_of_a_group_share_their_projections", "strong_decays_neither_overflow_nor_leak",
    "an_earlier_call_leaves_no_state", "strides_of_tokens_are_followed",
)  # fmt: skip
