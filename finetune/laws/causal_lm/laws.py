"""Laws of causal language models: a class or function `(vocab_size, block_size) -> model`; see `model.Model`.

What is drawn, and how far equal logits may be apart, stands in `model`; the laws of generated texts in `generation`.
A loss is the mean over the real targets of what its own logits give, in float64. Steps through a text with a key-
value cache have the logits of one pass over all of it.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from attention_core.conformance.laws.process_state import law_of
from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Refused,
    Result,
    Shown,
    Violation,
    require_close,
    require_same,
)
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes, after, require_same_later
from attention_core.conformance.worker.exchange import NDArray
from finetune.laws.causal_lm.generation import (
    beyond_the_block_the_last_block_counts,
    drawn_texts_go_on_from_what_was_drawn,
    greedy_takes_the_likeliest,
    one_seed_gives_one_text,
    sampling_follows_the_softmax,
    sampling_stays_in_the_nucleus,
    sampling_stays_in_the_top_k,
)
from finetune.laws.causal_lm.model import Held, Model, loss_bound, mean_loss, noise


def check_loss(subject: Model, case: ParameterCase, targets: NDArray, what: str) -> None:
    """The loss of drawn texts is that of the model's own logits in float64."""
    held, ids = subject.new_model(case), subject.ids(case)
    logits = subject.logits(case, held, ids)
    got = subject.loss(case, held, ids, targets)
    want = np.array([mean_loss(logits.values, targets, subject.ignore_index)])
    with held.report_calls():
        require_close(got, want, loss_bound(logits, got, targets, subject.ignore_index), what)


def one_target_is_judged_at_its_own_place(subject: Model, case: ParameterCase) -> None:
    """With one target alone, the loss is that of the logits at its place.

    Formula: l(x, y) = -log softmax(z(x)[b, t])[y_bt] where only y_bt is not an ignored target
    Source: the assignment's GPT.forward; targets shifted twice, or not at all, are learnt without complaint
    Fault: shifted_once_more
    """
    rng = case.rng("one")
    b, t = int(rng.integers(case["B"])), int(rng.integers(case["n"] - 1))
    targets = np.full((case["B"], case["n"]), subject.ignore_index)
    targets[b, t] = int(rng.integers(1, case["vocab"]))
    check_loss(subject, case, targets, f"loss of one target at place {t}")


def the_loss_is_the_mean_over_targets(subject: Model, case: ParameterCase) -> None:
    """The loss is the mean over all targets of the negative log-probability, in nats.

    Formula: l(x, y) = -mean_bt log softmax(z(x)[b, t])[y_bt]
    Source: Radford et al. (2018), eq. 1; torch.nn.functional.cross_entropy
    Fault: loss_in_bits
    """
    check_loss(subject, case, subject.targets(case, 0.0), "loss")


def ignored_targets_do_not_count(subject: Model, case: ParameterCase) -> None:
    """Ignored targets add nothing to the loss, nor to the number that it is divided by.

    Formula: l(x, y) = -sum_(y_bt real) log p(y_bt) / |{y_bt real}|, rows without any included
    Source: EricFillion/happy-transformer#128 (another ignore index); padding counted as tokens
    Fault: padding_counted_as_tokens
    """
    check_loss(subject, case, subject.targets(case, 0.6), "loss with ignored targets")


def no_target_gives_a_number(subject: Model, case: ParameterCase) -> None:
    """A batch whose targets are all ignored has a finite loss, or is refused (NaN where all_ignored=nan is declared).

    Formula: y_bt ignored for all b, t implies |l(x, y)| < inf, or it raises
    Source: torch's cross_entropy gives 0 / 0 = NaN, which one step spreads over all weights
    Fault: no_target_is_not_a_number
    """
    held, ids = subject.new_model(case), subject.ids(case)
    targets = np.full((case["B"], case["n"]), subject.ignore_index)
    try:
        got = subject.loss(case, held, ids, targets)
    except Refused:
        return
    declared = subject.parameters.get("all_ignored") == "nan"
    if declared or np.isfinite(got.values).all():
        return
    value = float(got.values[0])
    with held.report_calls():
        raise Violation(
            f"loss without any target: got {value}, but should be finite, or refused (if NaN is meant, declare "
            "--parameter all_ignored=nan)", Evidence((got.show((0,)),), value, None, None, "nonfinite"),
        )  # fmt: skip


def perplexity_is_the_exponential_of_the_loss(subject: Model, case: ParameterCase) -> None:
    """Perplexity is exp of the mean loss over all real targets, not a mean of perplexities.

    Formula: perplexity(x, y) = exp(l(x, y)), padding left out
    Source: Jurafsky and Martin, Speech and Language Processing, eq. 3.14; evaluation as a mean of batch means
    Fault: perplexity_as_a_mean_of_perplexities
    """
    held, ids, targets = subject.new_model(case), subject.ids(case), subject.targets(case, 0.5)
    got = subject.number(subject.build_request(case, held, ids, subject.labels(targets), method_="perplexity"))
    logits = subject.logits(case, held, ids)
    want = math.exp(mean_loss(logits.values, targets, subject.ignore_index))
    bound = want * (math.expm1(loss_bound(logits, got, targets, subject.ignore_index)) + noise(logits))
    with held.report_calls():
        require_close(got, np.array([want]), bound, "perplexity")


def check_steps(subject: Model, case: ParameterCase, held: Held, cuts: list[int], what: str) -> list[Result]:
    """Steps between the cuts give the rows of one pass over the whole text."""
    ids = subject.ids(case)
    whole = subject.logits(case, held, ids)
    done: list[Result] = []
    for start, stop in pairwise(cuts):
        request = subject.build_request(case, held, ids[:, start:stop], method_="step")
        with Held(0, [*held.before, *done]).report_calls():
            try:
                got = subject.result(request, (case["B"], stop - start, case["vocab"]))
            except Refused as refusal:
                if not done:
                    raise
                message = f"{what}: the tokens {start} to {stop - 1} raised {refusal}, but those before them did not"
                raise Violation(message, Evidence((Shown(request),), kind="crash")) from None
            want = whole.values[:, start:stop]
            require_close(got, want, noise(got, whole), f"{what}: logits of the tokens {start} to {stop - 1}")
        done.append(got)
    return done


def steps_with_a_cache_are_the_full_pass(subject: Model, case: ParameterCase) -> None:
    """Tokens given a few at a time, cut anywhere, have the logits of one pass over the whole text.

    Formula: step(x[:, a:b]) = z(x)[:, a:b] for successive stretches, a prompt and then one by one among them
    Source: meta-llama/llama#899, keras-team/keras-hub#2861 (decoding wrong, prefill right)
    Fault: cached_tokens_at_position_zero
    """
    rng, n = case.rng("cuts"), case["n"]
    prompt = max(1, n - 3)
    some = sorted({0, *(int(c) for c in rng.integers(1, n, size=2)), n})
    for cuts in (some, [0, *range(prompt, n + 1)]):
        check_steps(subject, case, subject.new_model(case), cuts, "with a cache")


def a_reset_forgets(subject: Model, case: ParameterCase) -> None:
    """After `reset()` the cache is empty: another text of other sizes has its own logits.

    Formula: step(x'), reset(), step(x) = z(x)
    Source: tenstorrent/tt-inference-server PR4557 (a stale position on reuse)
    Fault: reset_keeps_the_position
    """
    held = subject.new_model(case)
    other = subject.ids(case, "other", n=min(case["block"], case["n"] + 1), B=case["B"] + 1)
    used = subject.result(subject.build_request(case, held, other, method_="step"))
    request = subject.build_request(case, held, method_="reset")
    failure = subject.runner.run(request).failure  # what it returns is its own affair
    if failure is not None and "AttributeError" in failure.types:
        raise NotApplicable("it has no reset()")
    held.before += [used, Result(np.zeros(0), request)]
    check_steps(subject, case, held, [0, case["n"] // 2, case["n"]], "after reset()")


CONTRACT = "causal-lm"


def later_tokens_change_nothing_before(subject: Model, case: ParameterCase) -> None:
    """Logits do not depend on later tokens, at any place and up to the last one of the block.

    Formula: z(x)[:, :t] = z(x')[:, :t] whenever x and x' agree before t, t = 1 ... n - 1
    Source: Radford et al. (2018), eq. 1; facebookresearch/xformers#103; bugs of masks hide in validation loss
    Fault: mask_one_place_late
    """
    held, ids = subject.new_model(case), subject.ids(case)
    first = subject.logits(case, held, ids)
    for cut in places(case):
        changed = ids.copy()
        changed[:, cut:] = subject.ids(case, "other")[:, cut:]
        changed[:, cut] = (ids[:, cut] + 1) % case["vocab"]
        second = subject.logits(case, held, changed)
        early = np.arange(case["n"])[:, None] < cut
        with held.report_calls():
            require_same(second, first, noise(first, second), f"logits before place {cut}, changed", where=early)


def places(case: ParameterCase) -> list[int]:
    """Where to change tokens: the last place, the second, ones at and around block edges, and one drawn."""
    edges = {1, case["n"] - 1, 8, 16, 31, 32, 33, int(case.rng("place").integers(1, case["n"]))}
    return sorted(place for place in edges if 1 <= place < case["n"])


def training_sees_no_later_tokens(subject: Model, case: ParameterCase) -> None:
    """In training mode, too, logits do not depend on later tokens: with one seed, dropout falls alike.

    Formula: seed(s), z_train(x)[:, :t] = seed(s), z_train(x')[:, :t] whenever x and x' agree before t
    Source: keras-team/keras#23038 (the causal mask is lost on the path with dropout)
    Fault: causal_lost_in_training
    """
    held, ids = subject.new_model(case), subject.ids(case)
    first, again = (subject.logits(case, held, ids, mode="train", seed_=case.seed) for _ in range(2))
    if float(np.abs(first.values - again.values).max()) > noise(first, again):
        raise NotApplicable("the seed of the library does not decide what is drawn")
    for cut in places(case):
        changed = ids.copy()
        changed[:, cut] = (ids[:, cut] + 1) % case["vocab"]
        second = subject.logits(case, held, changed, mode="train", seed_=case.seed)
        early = np.arange(case["n"])[:, None] < cut
        with held.report_calls():
            what = f"in training mode: logits before place {cut}, changed"
            require_same(second, first, noise(first, second), what, where=early)


def the_token_before_counts(subject: Model, case: ParameterCase) -> None:
    """Logits depend on the token just before, not on the last one alone.

    Formula: z(x)[:, t] != z(x')[:, t] where x and x' differ at t - 1
    Source: lucidrains/audiolm-pytorch PR265 (the output of attention unused)
    Fault: attention_unused
    """
    held, ids = subject.new_model(case), subject.ids(case)
    changed, t = ids.copy(), int(case.rng("place").integers(1, case["n"]))
    changed[:, t - 1] = (ids[:, t - 1] + 1) % case["vocab"]
    first, second = subject.logits(case, held, ids), subject.logits(case, held, changed)
    moved = float(np.abs(first.values[:, t] - second.values[:, t]).max())
    if moved <= noise(first, second):
        shown = (Shown(second.request), Shown(first.request))
        with held.report_calls():
            raise Violation(
                f"logits at place {t}: got a change of {moved:.3g} by another token at {t - 1}, but should be more",
                Evidence(shown, kind="crash"),
            )


def sequences_are_independent(subject: Model, case: ParameterCase) -> None:
    """A sequence's logits are the same alone, among others, and at another place in the batch.

    Formula: z(x)[b] = z(x[b]) = z(x[order])[order^-1 b]
    Source: gazelle93/Transformer-Various-Positional-Encoding#1; statistics over a batch leak one row into the next
    Fault: normalised_over_the_batch
    """
    held, ids = subject.new_model(case), subject.ids(case)
    whole = subject.logits(case, held, ids)
    others = subject.ids(case, "other")
    others[-1] = ids[0]
    moved = subject.logits(case, held, others)
    alone = subject.logits(case, held, ids[:1])
    with held.report_calls():
        want = np.broadcast_to(whole.values[:1], alone.values.shape)
        require_close(alone, want, noise(whole, alone), "logits of sequence 0 alone")
        own = np.arange(case["B"])[:, None, None] == case["B"] - 1
        want = np.broadcast_to(whole.values[:1], whole.values.shape)
        require_close(moved, want, noise(whole, moved), "logits of sequence 0 put last", where=own)


def a_beginning_gives_the_same(subject: Model, case: ParameterCase) -> None:
    """The beginning of a text gives the logits that the whole text has there, at every length up to the block.

    Formula: z(x[:, :m]) = z(x)[:, :m], after a longer and after a shorter text
    Source: facebookresearch/xformers PR660 (a mask sized by the first call); the synthesizer's B must be cut to n
    Fault: positions_counted_from_the_end
    """
    held, ids = subject.new_model(case), subject.ids(case)
    whole = subject.logits(case, held, ids)
    for m in sorted({1, case["n"] // 2, case["n"] - 1, int(case.rng("m").integers(1, case["n"]))}):
        part = subject.logits(case, held, ids[:, :m])
        with held.report_calls():
            require_close(part, whole.values[:, :m], noise(part, whole), f"logits of the first {m} tokens")
    again = subject.logits(case, held, ids)
    with held.report_calls():
        require_same_later(again, whole, [], noise(again, whole), "logits after a shorter text")


def evaluation_repeats_itself(subject: Model, case: ParameterCase) -> None:
    """In evaluation the same text gives the same logits, before and after a step in training mode.

    Formula: z_eval(x) = z_eval(x), z_train(x), z_eval(x) = z_eval(x)
    Source: huggingface/pytorch-image-models PR1978, pytorch/pytorch#124464 (dropout in evaluation)
    Fault: dropout_in_evaluation
    """
    held, ids = subject.new_model(case), subject.ids(case)
    first = subject.logits(case, held, ids)
    between: list[Result] = []
    for mode in ("eval", "train"):
        if mode == "train":
            between.append(subject.logits(case, held, ids, mode="train"))
        again = subject.logits(case, held, ids)
        with held.report_calls():
            require_same_later(again, first, between, noise(first, again), "logits of the same text again")


def dropout_comes_back_after_evaluation(subject: Model, case: ParameterCase) -> None:
    """A model that draws in training mode still does after it was evaluated.

    Formula: z_train(x) != z_train(x) before z_eval(x) implies the same after it
    Source: NVIDIA/Megatron-LM PR411 (evaluation sets p to 0 for ever)
    Fault: evaluation_ends_dropout
    """
    held, ids = subject.new_model(case, mode="train"), subject.ids(case)

    def draws() -> tuple[bool, list[Result]]:
        one, two = (subject.logits(case, held, ids, mode="train") for _ in range(2))
        return float(np.abs(one.values - two.values).max()) > noise(one, two), [one, two]

    before, calls = draws()
    if not before:
        raise NotApplicable("two passes in training mode are the same: nothing is drawn")
    calls.append(subject.logits(case, held, ids))
    later, more = draws()
    if not later:
        evidence = Evidence(tuple(Shown(r.request) for r in more), kind="crash")
        with after([*held.before, *calls]):
            raise Violation("training: got the same logits twice after an evaluation, but should be drawn", evidence)


def logits_outlive_the_next_call(subject: Model, case: ParameterCase) -> None:
    """Logits still hold their numbers after the next text.

    Formula: y = z(x), z(x'), then y = z(x)
    Source: the definition of a function; a buffer that is reused is not one
    Fault: logits_in_one_buffer
    """
    held, ids = subject.new_model(case), subject.ids(case)
    plain = subject.logits(case, held, ids)
    between = subject.build_request(case, held, subject.ids(case, "other"))
    late = subject.logits(case, held, ids, between_=between)
    with held.report_calls():
        require_same(late, plain, noise(plain, late), "logits, looked at after another text")


def tied_weights_are_one(subject: Model, case: ParameterCase) -> None:
    """Where tying is declared, a row of the embedding is also the row of the head that scores its token.

    Formula: W_j += e implies z_j changes, for a token j that is not in the text
    Source: Press and Wolf (2017), section 3; weights untied by loading a checkpoint or by moving a module
    Fault: head_is_a_copy
    """
    held = subject.new_model(case)
    tables = [name for name, w in held.weights.items() if w.ndim == 2 and w.shape[0] == case["vocab"]]
    if not tables:
        raise NotApplicable("no parameter has a row for each token")
    j = case["vocab"] - 1
    ids = subject.ids(case) % j
    first = subject.logits(case, held, ids)
    held.weights[tables[0]][j] += 1.0
    subject.fill(held)
    second = subject.logits(case, held, ids)
    moved = float(np.abs(second.values[..., j] - first.values[..., j]).max())
    if moved <= noise(first, second):
        evidence = Evidence((Shown(second.request), Shown(first.request)), kind="crash")
        message = f"{tables[0]}[{j}] was changed: got the same logits of token {j}, but should be others"
        raise Violation(message, evidence)


def _sizes(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """A length up to the block: often the whole block, or one less."""
    short = int(rng.integers(2, sizes["block"] + 1))
    sizes["n"] = int(rng.choice([sizes["block"], max(2, sizes["block"] - 1), short]))
    return sizes


FLOATS = ("float64", "float32")
RELATED: dict[str, Any] = {"adjust": _sizes, "related": lambda s: s["n"] <= s["block"], "dtypes": FLOATS}
SPACE = Sizes({"B": (1, 3), "n": (2, 40), "vocab": (3, 24), "block": (2, 40)}, **RELATED)
PAIRS = Sizes({"B": (2, 4), "n": (2, 40), "vocab": (3, 24), "block": (2, 40)}, **RELATED)
DRAWS = Sizes({"B": (1, 1), "n": (2, 6), "vocab": (4, 9), "block": (7, 12)}, **{**RELATED, "adjust": None})
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "causal_lm", "large": 6, "small": 0, "space": SPACE}
LAWS = (
    *(
        Law(check, **ROW)
        for check in (
            later_tokens_change_nothing_before, training_sees_no_later_tokens, the_token_before_counts,
            a_beginning_gives_the_same, evaluation_repeats_itself, dropout_comes_back_after_evaluation,
            logits_outlive_the_next_call,
        )
    ),
    Law(sequences_are_independent, **{**ROW, "space": PAIRS}),
    *(
        Law(check, **{**ROW, "space": PAIRS})
        for check in (
            one_target_is_judged_at_its_own_place, the_loss_is_the_mean_over_targets, ignored_targets_do_not_count,
            no_target_gives_a_number, perplexity_is_the_exponential_of_the_loss,
        )
    ),
    Law(steps_with_a_cache_are_the_full_pass, **ROW),
    Law(a_reset_forgets, **ROW),
    Law(greedy_takes_the_likeliest, **{**ROW, "space": PAIRS}),
    Law(beyond_the_block_the_last_block_counts, **ROW),
    *(
        Law(check, **{**ROW, "space": DRAWS, "large": 4})
        for check in (
            sampling_follows_the_softmax, sampling_stays_in_the_top_k, sampling_stays_in_the_nucleus,
            drawn_texts_go_on_from_what_was_drawn,
        )
    ),
    Law(one_seed_gives_one_text, **{**ROW, "large": 4}),
    Law(
        tied_weights_are_one, **ROW, declares=lambda i: bool(i.parameters.get("tied")),
        because="tying is not declared (--parameter tied=True)",
    ),
    law_of(CONTRACT, SPACE),
)  # fmt: skip
COMPARISONS = ("the_loss_is_the_mean_over_targets", "later_tokens_change_nothing_before")
