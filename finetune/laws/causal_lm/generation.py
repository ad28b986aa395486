"""Laws of generation: greedy texts, and draws whose support and frequencies follow from the model's own logits.

Laws about chance raise a false alarm with probability below 1e-9 a case, by Bernstein's inequality for each token.
"""

from __future__ import annotations

import math

import numpy as np

from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Refused,
    Result,
    Shown,
    Violation,
    require_same,
)
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import NDArray
from finetune.laws.causal_lm.model import Held, Model, log_softmax, noise

ALARM = 1e-9
DRAWS = 2000
OTHERS, EACH = 6, 300
"""So many other prompts after them, and rows of each."""
FEWEST = 30
GAP = 1e-3
"""Probabilities at the edge of a support that are closer are not distinguished; such a case says nothing."""


def greedy_takes_the_likeliest(subject: Model, case: ParameterCase) -> None:
    """Without sampling, each new token is the likeliest one after the text before it, and the prompt stays in front.

    Formula: x_t = argmax_v z(x[:t])[t - 1, v], up to the block
    Source: the assignment's sample(); karpathy/minGPT generate(do_sample=False)
    Fault: one_token_behind
    """
    held, n = subject.new_model(case), max(1, case["n"] // 2)
    check_greedy(subject, case, held, n, case["n"] - n)


def check_greedy(subject: Model, case: ParameterCase, held: Held, n: int, steps: int) -> None:
    """Greedy texts follow the logits of the text before each token: all of it where the model takes so much."""
    ids = subject.ids(case)[:, :n]
    got = subject.generate(case, held, ids, steps, do_sample=False)
    text = got.values.astype(int)
    if (text[:, :n] != ids).any() or text.min() < 0 or text.max() >= case["vocab"]:
        raise wrong(held, got, "got another prompt, or a number that is not a token, but should be prompt and tokens")
    for place in range(n, n + steps):
        logits = after_all_of_it(subject, case, held, text[:, :place])
        last = logits.values[:, -1]
        short = last.max(-1) - np.take_along_axis(last, text[:, place, None], -1)[:, 0]
        if short.max() > 2 * noise(logits):
            b = int(short.argmax())
            best = int(last[b].argmax())
            message = f"got token {text[b, place]} at [{b}, {place}], but should be {best}"
            raise wrong(held, got, f"{message} (its logit is {short[b]:.3g} below the largest)", (b, place), best)


def after_all_of_it(subject: Model, case: ParameterCase, held: Held, text: NDArray) -> Result:
    """Logits of a text; of its last block where it is longer and the model does not take all of it."""
    if text.shape[1] > case["block"]:
        try:
            return subject.logits(case, held, text)
        except (Refused, Violation):
            text = text[:, -case["block"] :]
    return subject.logits(case, held, text)


def beyond_the_block_the_last_block_counts(subject: Model, case: ParameterCase) -> None:
    """Beyond the block, where that is not refused, the text goes on from the last block, or from all before.

    Formula: x_t = argmax_v z(x[:t])[-1, v] for t > block where the model takes x[:t], else of z(x[t - block : t])
    Source: the assignment's sample(), karpathy/minGPT generate(): idx[:, -block_size:]
    Fault: first_block_beyond_the_block
    """
    held, ids = subject.new_model(case), subject.ids(case)
    steps = case["block"] - case["n"] + 3
    if steps > 12:
        raise NotApplicable("too far from the end of the block")
    request = subject.build_request(case, held, ids, steps, method_="generate", do_sample=False)
    response = subject.runner.run(request)
    lacking = response.failure is not None and "AttributeError" in response.failure.types
    shorter = response.status == "ok" and response.outputs[0].values.size < case["B"] * (case["n"] + steps)
    if shorter or (response.status == "raised" and not lacking):
        raise NotApplicable("texts longer than the block are declined")
    check_greedy(subject, case, held, case["n"], steps)


# --- draws ----------------------------------------------------------------------------------------------


def sampling_follows_the_softmax(subject: Model, case: ParameterCase) -> None:
    """Drawn tokens come with the probabilities of the logits divided by the temperature.

    Formula: |count_v / N - p_v| <= sqrt(2 p_v (1 - p_v) L / N) + 2 L / (3 N), p = softmax(z / T), L = ln(2 V / 1e-9)
    Source: the assignment's sample(); Bernstein's inequality
    Fault: multiplied_by_the_temperature
    """
    rng = case.rng("temperature")
    check_draws(subject, case, float(rng.choice([0.5, 1.0, 2.0])))


def sampling_stays_in_the_top_k(subject: Model, case: ParameterCase) -> None:
    """With top_k = k, the k likeliest tokens are drawn and no other, with their probabilities among themselves.

    Formula: p_v > 0 iff z_v is among the k largest; frequencies as sampling_follows_the_softmax
    Source: Fan et al. (2018), section 5.1
    Fault: top_k_one_more
    """
    k = int(case.rng("k").integers(1, case["vocab"]))
    check_draws(subject, case, 1.0, top_k=k)


def sampling_stays_in_the_nucleus(subject: Model, case: ParameterCase) -> None:
    """With top_p = p, the fewest likeliest tokens that reach p are drawn and no other.

    Formula: p_v > 0 iff v is among the first k tokens by probability, k the least with p_1 + ... + p_k >= p
    Source: Holtzman et al. (2020), section 3.1
    Fault: nucleus_without_its_last
    """
    k = int(case.rng("k").integers(1, case["vocab"]))
    check_draws(subject, case, 1.0, nucleus=k)


def check_draws(
    subject: Model, case: ParameterCase, temperature: float, top_k: int | None = None, nucleus: int | None = None
) -> None:
    """Support and frequencies of one token after one prompt, drawn in many rows."""
    held, ids = subject.new_model(case), subject.ids(case)
    logits = subject.logits(case, held, ids)
    p = np.exp(log_softmax(logits.values[0, -1] / temperature))
    given: dict[str, float | int] = {} if temperature == 1.0 else {"temperature": temperature}
    keep, ordered = top_k or nucleus or len(p), np.sort(p)[::-1]
    if keep < len(p) and ordered[keep - 1] - ordered[keep] < GAP:
        raise NotApplicable("two tokens at the edge are about equally likely")
    if top_k is not None:
        given["top_k"] = top_k
    if nucleus is not None:
        given["top_p"] = float(ordered[: nucleus - 1].sum() + ordered[nucleus - 1] / 2)
        if not ordered[nucleus - 1] > GAP:
            raise NotApplicable("the token at the edge is hardly ever drawn")
    p = np.where(p >= ordered[keep - 1], p, 0.0)
    p /= p.sum()
    others = np.concatenate([subject.ids(case, f"other {number}") for number in range(OTHERS)])
    prompts = np.concatenate([np.repeat(ids, DRAWS, axis=0), np.repeat(others, EACH, axis=0)])
    got = subject.generate(case, held, prompts, 1, seed=case.seed, do_sample=True, **given)
    options = ", ".join(f"{k}={v:.4g}" for k, v in given.items()) or "temperature=1"
    drawn = drawn_tokens(held, got, len(p))
    compare(held, got, drawn[:DRAWS], p, f"with {options}", among=2)
    beside = np.exp(log_softmax(subject.logits(case, held, others).values[:, -1] / temperature))
    for number, own in enumerate(beside):
        kept = keep_likeliest(own, top_k, given.get("top_p"))
        if kept is not None:
            start = DRAWS + number * EACH
            what = f"with {options}, a text after {DRAWS} others"
            compare(held, got, drawn[start : start + EACH], kept, what, among=2 * OTHERS)


def drawn_tokens(held: Held, got: Result, vocab: int) -> NDArray:
    """The last token of each text. Raises: Violation where one is none of the vocabulary."""
    drawn = got.values[:, -1].astype(int)
    if drawn.min() < 0 or drawn.max() >= vocab:
        raise wrong(held, got, "got a number that is not a token, but should be tokens")
    return np.asarray(drawn)


def compare(held: Held, got: Result, drawn: NDArray, p: NDArray, what: str, among: int = 1) -> None:
    """Raise where a token was drawn that may not be, or one too often or too seldom.

    Args: among: in how many comparisons of one case the alarm is shared.
    """
    share, draws = np.bincount(drawn, minlength=len(p)) / len(drawn), len(drawn)
    L = math.log(2 * len(p) * among / ALARM)
    bound = np.where(p > 0, np.sqrt(2 * p * (1 - p) * L / draws) + 2 * L / (3 * draws), 0.0)
    off = np.abs(share - p) - bound
    v = int(off.argmax())
    if off[v] > 1e-12:
        raise wrong(
            held, got, f"{what}: got token {v} in {share[v]:.4f} of {draws} draws, but should be {p[v]:.4f} "
            f"(allowed error {bound[v]:.2g})",
        )  # fmt: skip


def keep_likeliest(p: NDArray, top_k: int | None, top_p: float | None) -> NDArray | None:
    """Probabilities among the k likeliest tokens, or those that reach top_p; None where rounding decides which."""
    order = np.argsort(-p)
    before = np.cumsum(p[order]) - p[order]
    keep = top_k if top_k is not None else len(p) if top_p is None else int((before < top_p).sum())
    edges = [before[keep - 1] - top_p, *(before[keep : keep + 1] - top_p)] if top_p is not None else []
    gap = [p[order[keep - 1]] - p[order[keep]]] if keep < len(p) else []
    if min([1.0, *gap, *map(abs, edges)]) < GAP:
        return None
    kept = np.where(np.isin(np.arange(len(p)), order[:keep]), p, 0.0)
    return np.asarray(kept / kept.sum())


def drawn_texts_go_on_from_what_was_drawn(subject: Model, case: ParameterCase) -> None:
    """The second drawn token has the probabilities that the model gives it after the first, whichever that was.

    Formula: |count_uv / N_u - p_v(x u)| <= Bernstein's bound for each first token u that came 30 times or more
    Source: a text that ends, or stops changing, at a token that nobody named the end
    Fault: token_zero_ends_the_text
    """
    held, ids, vocab = subject.new_model(case), subject.ids(case), case["vocab"]
    got = subject.generate(case, held, np.repeat(ids, DRAWS, axis=0), 2, seed=case.seed, do_sample=True)
    second, first = drawn_tokens(held, got, vocab), got.values[:, -2].astype(int)
    texts = np.concatenate([np.repeat(ids, vocab, axis=0), np.arange(vocab)[:, None]], 1)
    p = np.exp(log_softmax(subject.logits(case, held, texts).values[:, -1]))
    for u in range(vocab):
        if (first == u).sum() >= FEWEST:
            compare(held, got, second[first == u], p[u], f"after a drawn token {u}", among=vocab)


def one_seed_gives_one_text(subject: Model, case: ParameterCase) -> None:
    """The same seed of the library gives the same drawn text.

    Formula: seed(s), generate(x) = seed(s), generate(x)
    Source: a text that cannot be drawn again cannot be looked into
    Fault: draws_from_the_clock
    """
    held, n = subject.new_model(case), max(1, case["n"] // 2)
    ids, steps = subject.ids(case)[:, :n], case["n"] - n
    first, second = (subject.generate(case, held, ids, steps, seed=case.seed, do_sample=True) for _ in range(2))
    with held.report_calls():
        require_same(second, first, 0.0, "a text drawn again with its seed")


def wrong(held: Held, got: Result, flaw: str, index: tuple[int, ...] = (), want: float | None = None) -> Violation:
    """A violation about a generated text, with the preparation of the model in front."""
    before = tuple(Shown(r.request) for r in held.before)
    value = None if want is None else float(got.values[index])
    kind = "crash" if want is None else "value"
    want = None if want is None else float(want)
    return Violation(f"a text: {flaw}", Evidence((Shown(got.request, "out", index),), value, want, 0.0, kind, before))
