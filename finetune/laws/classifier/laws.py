"""Laws of sequence classifiers: a class `(vocab_size, length, classes) -> model`, see `classified.Classified`.

Shapes and batches; evaluation and training; gradients, for models that have `gradients` (see `logits_probe`); and
pooling as it is seen from outside: which tokens may change places without changing the logits. Without positions an
encoder treats its tokens alike, so that what remains is what the pooling does. Padding may stand in front or behind,
and may be all of a text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
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
    require_finite,
    require_same,
)
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes, after, require_same_later
from attention_core.conformance.worker.exchange import NDArray
from finetune.laws.causal_lm.model import Held, noise
from finetune.laws.classifier.classified import Batch, Classified, row


def padded_on(subject: Classified, case: ParameterCase, side: str, hint: str) -> None:
    """Texts in a padded batch have the logits that each has alone, for a little padding and for all that fits."""
    held, texts = subject.new_model(case), subject.texts(case)
    alone = [subject.score(case, held, subject.batch([text])) for text in texts]
    for width in sorted({case["n"], case["n"] + 1, case["n"] + case["more"], case["length"]}):
        got = subject.score(case, held, subject.batch(texts, width, side))
        with held.report_calls():
            what = f"logits of texts padded {hint} to {width} tokens, against each alone"
            for b, text in enumerate(alone):
                require_same(row(got, b), text, noise(got, text), what)


def padding_behind_changes_nothing(subject: Classified, case: ParameterCase) -> None:
    """Padding after a text changes nothing, however much it is.

    Formula: z(x padded to m)_b = z(x_b), m = n ... length
    Source: TransformerLensOrg/TransformerLens#1005 (padding not masked); a mean over places, or the last one
    Fault: padding_in_the_mean
    """
    padded_on(subject, case, "right", "at the end")


def padding_in_front_changes_nothing(subject: Classified, case: ParameterCase) -> None:
    """Padding in front of a text changes nothing: positions count from its first token, pooling begins there.

    Formula: z(x padded in front to m)_b = z(x_b), m = n ... length
    Source: unslothai/unsloth#3699, huggingface/peft#54 (positions count the padding); declare side=right where they do
    Fault: positions_count_the_padding
    """
    padded_on(subject, case, "left", "in front (if positions count it on purpose, declare --parameter side=right)")


def the_ids_of_padding_do_not_matter(subject: Classified, case: ParameterCase) -> None:
    """What stands at places of padding changes nothing, be it another token or another segment.

    Formula: z(x) = z(x') whenever x and x' agree where attention_mask = 1
    Source: padding is given by the mask; declare padding=ids where its id marks it, as in GPT-2 of transformers
    Fault: padding_of_id_zero_alone
    """
    held, batch = subject.new_model(case), subject.batch(subject.texts(case), case["n"] + case["more"])
    rng, real = case.rng("padding"), batch.mask == 1
    other = batch.with_(
        ids=np.where(real, batch.ids, rng.choice(subject.words(case), batch.ids.shape)),
        types=np.where(real, batch.types, rng.integers(0, 2, batch.ids.shape)),
    )
    first, second = subject.score(case, held, batch), subject.score(case, held, other)
    with held.report_calls():
        require_same(second, first, noise(first, second), "logits with other ids at places of padding")


def an_empty_text_spoils_no_other(subject: Classified, case: ParameterCase) -> None:
    """A text without tokens leaves the logits of the others as they are (its own may be anything).

    Formula: z([x, padding alone])_b = z(x)_b
    Source: a row that only fills a batch up; 0 / 0 in its mean, or a softmax over nothing
    Fault: empty_texts_dropped
    """
    held, batch = subject.new_model(case), subject.batch(subject.texts(case))
    empty = batch.with_(ids=batch.ids.copy(), mask=batch.mask.copy(), types=batch.types.copy())
    empty.ids[-1], empty.mask[-1], empty.types[-1] = subject.pad_id, 0, 0
    first = subject.score(case, held, batch)
    try:
        second = subject.score(case, held, empty)
    except Refused as refusal:
        raise NotApplicable(f"an empty text is refused: {refusal}") from None
    others = np.arange(case["B"])[:, None] < case["B"] - 1
    bound = noise(first, Result(second.values[:-1], second.request, extra=second.extra))
    with held.report_calls():
        require_same(second, first, bound, "logits beside an empty text", where=others)


def no_mask_means_no_padding(subject: Classified, case: ParameterCase) -> None:
    """Without a mask every token is real, also one that has the id of padding (not where padding=ids is declared).

    Formula: z(x) = z(x, attention_mask = 1)
    Source: huggingface/transformers, BertModel.forward; a mask that is guessed from the ids
    Fault: mask_guessed_from_ids
    """
    held, batch = subject.new_model(case), subject.batch(subject.texts(case))
    ids = batch.ids.copy()
    if subject.parameters.get("padding") == "ids":
        ids[batch.mask == 0] = subject.words(case)[0]
    batch = Batch(ids, np.ones_like(batch.mask), batch.types)
    first = subject.score(case, held, batch)
    got = subject.scored_without(case, held, batch, "attention_mask")
    with held.report_calls():
        require_same(got, first, noise(first, got), "logits without attention_mask, against a mask of ones")


MORE_ROWS = 4
"""So many rows more than tokens a table of positions may have (RoBERTa's has two)."""
MOVES = {"first": ("first",), "last": ("last",), "mean": ()}
"""Pooling -> the places whose token cannot change places with one in the middle."""


def without_positions(subject: Classified, case: ParameterCase) -> Held:
    """A model whose tables of positions are zero: those with as many rows as it takes tokens, or a few more."""
    held, length = subject.new_model(case), case["length"]
    for name, weight in held.weights.items():
        if weight.ndim == 2 and length <= weight.shape[0] <= length + MORE_ROWS:
            held.weights[name] = np.zeros_like(weight)
    subject.fill(held)
    return held


def text_of(subject: Classified, case: ParameterCase) -> NDArray:
    """n different words."""
    return case.rng("distinct").choice(subject.words(case), case["n"], replace=False)


def swap_tokens(
    subject: Classified, case: ParameterCase, held: Held, ids: NDArray, i: int, j: int
) -> tuple[bool, list[Result]]:
    """Whether the logits change when two tokens change places, and the two calls."""
    swapped = ids.copy()
    swapped[[i, j]] = ids[[j, i]]
    one, two = (subject.score(case, held, whole(each)) for each in (swapped, ids))
    return float(np.abs(one.values - two.values).max()) > noise(one, two), [one, two]


def whole(ids: NDArray) -> Batch:
    """One text without padding."""
    return Batch(ids[None], np.ones_like(ids[None]), np.zeros_like(ids[None]))


def the_pooling_is_the_stated_one(subject: Classified, case: ParameterCase) -> None:
    """The logits are made of the first token, the last, or the mean over all, as declared.

    Formula: without positions, swapping x_0 and x_2 changes z for pool=first alone, x_n and x_2 for pool=last alone
    Source: Devlin et al. (2019), section 4.1 (the first token); Reimers and Gurevych (2019), section 3 (the mean)
    Fault: first_in_place_of_the_mean
    """
    pool = str(subject.parameters["pool"])
    if pool not in MOVES:
        raise NotApplicable(f"pool={pool!r} is not one of {', '.join(MOVES)}")
    held, ids = without_positions(subject, case), text_of(subject, case)
    if swap_tokens(subject, case, held, ids, 1, 2)[0]:
        raise NotApplicable("without its tables of positions it still tells places apart")
    for name, place in (("first", 0), ("last", case["n"] - 1)):
        changed, calls = swap_tokens(subject, case, held, ids, place, 2)
        if changed is not (name in MOVES[pool]):
            got, want = ("other", "the same") if changed else ("the same", "other")
            message = f"the {name} token and one in the middle change places: got {got} logits, but should be {want}"
            with held.report_calls():
                shown = Evidence(tuple(Shown(r.request) for r in calls), kind="crash")
                raise Violation(f"pool={pool}, without positions: {message}", shown)


def a_text_said_twice_has_the_same_mean(subject: Classified, case: ParameterCase) -> None:
    """Without positions a text written twice has the logits of the text, where the mean over its tokens is pooled.

    Formula: z(x x) = z(x) for pool=mean without positions: attention over doubled keys, and the mean, are as before;
        for texts of several tokens and of one
    Source: Reimers and Gurevych (2019), section 3; a sum grows with the text
    Fault: sum_in_place_of_the_mean
    """
    held, ids = without_positions(subject, case), text_of(subject, case)
    if swap_tokens(subject, case, held, ids, 1, 2)[0]:
        raise NotApplicable("without its tables of positions it still tells places apart")
    for text in (ids, ids[:1]):
        once, twice = (subject.score(case, held, whole(each)) for each in (text, np.tile(text, 2)))
        with held.report_calls():
            what = f"logits of a text of {len(text)} written twice, without positions"
            require_same(twice, once, noise(once, twice), what)


DRAWS = 8
"""Passes in training mode, of which one at least must differ."""


def evaluation_gives_the_same_logits(subject: Classified, case: ParameterCase) -> None:
    """In evaluation the same batch gives the same logits, twice in turn, after other texts, and after training.

    Formula: z_eval(x) = z_eval(x), z_eval(x') or z_train(x) before them
    Source: huggingface/pytorch-image-models PR1978 (dropout in evaluation); running statistics that drift
    Fault: dropout_in_evaluation
    """
    held, batch = subject.new_model(case), subject.batch(subject.texts(case))
    other = subject.batch(subject.texts(case, "others"))
    first = subject.score(case, held, batch)
    between = subject.score(case, held, other)
    again = subject.score(case, held, batch)
    with held.report_calls():
        require_same_later(again, first, [between], noise(first, again), "logits of the same batch again")
    trained = subject.score(case, held, batch, mode="train")
    later, last = (subject.score(case, held, batch) for _ in range(2))
    with held.report_calls(), after([trained]):
        require_same_later(last, later, [], noise(later, last), "logits of the same batch twice after training")


def training_draws_after_an_evaluation(subject: Classified, case: ParameterCase) -> None:
    """A model that draws in training mode does so after an evaluation, too; with dropout=True declared, it must draw.

    Formula: z_train(x) != z_train(x), before z_eval(x) and after it
    Source: NVIDIA/Megatron-LM PR411 (evaluation sets p to 0 for ever)
    Fault: evaluation_ends_dropout
    """
    held, batch = subject.new_model(case, mode="train"), subject.batch(subject.texts(case))

    def draws() -> tuple[bool, list[Result]]:
        # Seeds of their own: two draws at p = 0.1 may otherwise be the same in a model as small as this.
        found = [subject.score(case, held, batch, mode="train", seed_=case.seed + n) for n in range(DRAWS)]
        return any(float(np.abs(r.values - found[0].values).max()) > noise(r, found[0]) for r in found[1:]), found

    before, calls = draws()
    if not before and not subject.parameters.get("dropout"):
        raise NotApplicable("passes in training mode are the same: nothing is drawn")
    calls.append(subject.score(case, held, batch))
    later, more = draws()
    if not (before and later):
        evidence = Evidence(tuple(Shown(r.request) for r in more[:2]), kind="crash")
        with after([*held.before, *calls[-1:]]):
            when = "after an evaluation" if before else f"in {DRAWS} passes"
            raise Violation(f"training: got the same logits {when}, but should be drawn", evidence)


def logits_outlive_the_next_batch(subject: Classified, case: ParameterCase) -> None:
    """Logits still hold their numbers after the next batch.

    Formula: y = z(x), z(x'), then y = z(x)
    Source: the definition of a function; a buffer that is reused is not one
    Fault: logits_in_one_buffer
    """
    held, batch = subject.new_model(case), subject.batch(subject.texts(case))
    plain = subject.score(case, held, batch)
    between = subject.build_request(case, held, **subject.arguments(subject.batch(subject.texts(case, "others"))))
    late = subject.score(case, held, batch, between_=between)
    with held.report_calls():
        require_same(late, plain, noise(plain, late), "logits, looked at after another batch")


def parts(held: Held) -> Iterator[tuple[str, int, int]]:
    """Name, start and end of each parameter in the row of all gradients."""
    start = 0
    for name, weight in held.weights.items():
        yield name, start, start + weight.size
        start += weight.size


def what_moves_the_logits_has_a_gradient(subject: Classified, case: ParameterCase) -> None:
    """A parameter that asks for a gradient, and whose numbers move the logits, gets one.

    Formula: z(theta + e_p) != z(theta) implies dL/dtheta_p is there, for every parameter p that is not frozen
    Source: gradient checkpointing with frozen inputs, a detached head: what is not trained, without a word about it
    Fault: encoder_under_no_grad
    """
    held, batch = subject.new_model(case), subject.batch(subject.texts(case))
    got, flags = subject.gradients(case, held, batch, subject.classes(case))
    before = subject.score(case, held, batch)
    for (name, _, _), flag in zip(parts(held), flags, strict=True):
        if flag != 0:
            continue
        own = held.weights[name]
        spread = 1 / math.sqrt(max(1, *own.shape, 0))
        held.weights[name] = own + spread * case.rng(f"moved {name}").standard_normal(own.shape)
        subject.fill(held)
        after = subject.score(case, held, batch)
        held.weights[name] = own
        if float(np.abs(after.values - before.values).max()) > noise(after, before):
            subject.fill(held)
            with held.report_calls():
                message = f"{name}: got no gradient, but should have one, since its numbers move the logits"
                raise Violation(message, Evidence((Shown(got.request),), kind="crash"))


def padding_adds_nothing_to_gradients(subject: Classified, case: ParameterCase) -> None:
    """The gradient of a padded batch is the sum of those of its texts, each alone and without padding.

    Formula: dL(x padded)/dtheta = sum_b dL(x_b)/dtheta for the summed loss L, tables of tokens and positions included
    Source: padding that is cut out of the forward pass by numbers alone still takes part in the backward pass
    Fault: padding_in_the_gradient
    """
    held, texts, labels = subject.new_model(case), subject.texts(case), subject.classes(case)
    whole, _ = subject.gradients(case, held, subject.batch(texts, case["n"] + case["more"]), labels)
    alone = [subject.gradients(case, held, subject.batch([text]), labels[b : b + 1])[0] for b, text in enumerate(texts)]
    want = np.sum([result.values for result in alone], axis=0)
    for name, start, end in parts(held):
        part = Result(whole.values[start:end], whole.request)
        part.expression = lambda i, start=start: f"{{out}}[{start + i}].item()"
        with held.report_calls():
            require_close(part, want[start:end], noise(whole, *alone), f"gradient of {name}")


CONTRACT = "classifier"
FLOATS = ("float64", "float32", "float16", "bfloat16")


def logits_are_a_row_for_each_text(subject: Classified, case: ParameterCase) -> None:
    """Logits are finite numbers of the model's dtype, one row of them for each text, for one text alone too.

    Formula: z(x) in R^(B x classes), dtype(z) = dtype(theta)
    Source: the definition; logits.squeeze() loses the batch where it holds one text
    Fault: squeezed_at_one
    """
    held, batch = subject.new_model(case), subject.batch(subject.texts(case))
    for rows in (slice(None), slice(0, 1)):
        got = subject.score(case, held, batch[rows])
        own = set(held.dtypes.values()) & set(FLOATS)
        with held.report_calls():
            if got.extra["dtype"] not in (own or FLOATS):
                wanted = " or ".join(sorted(own)) or "floats"
                message = f"logits: got dtype {got.extra['dtype']}, but should be {wanted}"
                raise Violation(message, Evidence((Shown(got.request),), kind="shape"))
            require_finite(got, "logits")


def logits_are_no_probabilities(subject: Classified, case: ParameterCase) -> None:
    """What comes back are logits and not their softmax, which the loss would take once more.

    Formula: not (z >= 0 and sum_c z_bc = 1 for all b)
    Source: torch.nn.functional.cross_entropy takes logits; a softmax before it learns slowly, and nothing complains
    Fault: returns_probabilities
    """
    held = subject.new_model(case)
    got = subject.score(case, held, subject.batch(subject.texts(case)))
    if (got.values >= 0).all() and (np.abs(got.values.sum(1) - 1) <= case["classes"] * noise(got)).all():
        with held.report_calls():
            message = "logits: got numbers from 0 to 1 with the sum 1 in every row, but should not be probabilities"
            raise Violation(message, Evidence((Shown(got.request),), kind="crash"))


# --- batches --------------------------------------------------------------------------------------------


def texts_are_judged_by_themselves(subject: Classified, case: ParameterCase) -> None:
    """A text's logits are the same in any company and at any place of a batch.

    Formula: z(x)_b = z(x[order])_(order^-1 b) = z([other texts, x_b])_B
    Source: lucidrains/graph-transformer-pytorch PR2 (one row's mask for all); statistics over a batch
    Fault: mask_of_the_first_text
    """
    held, texts, others = subject.new_model(case), subject.texts(case), subject.texts(case, "others")
    width = case["n"]
    whole = subject.score(case, held, subject.batch(texts, width))
    order = np.roll(np.arange(case["B"]), 1)
    turned = subject.score(case, held, subject.batch([texts[b] for b in order], width))
    moved = subject.score(case, held, subject.batch([*others[:-1], texts[0]], width))
    with held.report_calls():
        for place, b in enumerate(order):
            message = f"logits of text {b} in another order of the batch"
            require_same(row(turned, place), row(whole, int(b)), noise(whole, turned), message)
        message = "logits of text 0 put after others"
        require_same(row(moved, case["B"] - 1), row(whole, 0), noise(whole, moved), message)


# --- what must count ------------------------------------------------------------------------------------


def must_differ(held: Held, one: Result, two: Result, what: str) -> None:
    """Raise unless the logits of text 0 differ by more than rounding."""
    moved = float(np.abs(one.values[0] - two.values[0]).max())
    if not moved > noise(one, two):
        with held.report_calls():
            shown = (Shown(one.request), Shown(two.request))
            raise Violation(
                f"logits of text 0, {what}: got a change of {moved:.3g}, but should be more",
                Evidence(shown, kind="crash"),
            )


def every_token_counts(subject: Classified, case: ParameterCase) -> None:
    """Another token in a text gives other logits, at its first and last place and between them.

    Formula: z(x) != z(x') where x and x' differ at one real place
    Source: lucidrains/audiolm-pytorch PR265 (the output of attention unused); a text cut shorter than declared
    Fault: attention_unused
    """
    held, texts = subject.new_model(case), subject.texts(case)
    batch = subject.batch(texts)
    first = subject.score(case, held, batch)
    start = batch.ids.shape[1] - case["n"] if subject.side == "left" else 0
    words = subject.words(case)
    for place in sorted({0, case["n"] - 1, int(case.rng("place").integers(0, case["n"]))}):
        ids = batch.ids.copy()
        own = int(np.searchsorted(words, ids[0, start + place]))
        ids[0, start + place] = words[(own + 1) % len(words)]
        other = subject.score(case, held, batch.with_(ids=ids))
        must_differ(held, other, first, f"another token at {place} of {case['n']}")


def a_word_with_the_id_of_padding_counts(subject: Classified, case: ParameterCase) -> None:
    """A real token that has the id of padding counts as a token: only the mask tells padding.

    Formula: z(x, mask) != z(x, mask without i) where x_i = pad_id
    Source: a mask made of ids after masked-LM training has put a random word 0 in the place of a token
    Fault: padding_of_id_zero_alone
    """
    held, batch = subject.new_model(case), subject.batch(subject.texts(case))
    place = case["n"] - 1 if subject.side == "right" else 0
    ids, mask = batch.ids.copy(), batch.mask.copy()
    ids[0, place], mask[0, place] = subject.pad_id, 0
    real, hidden = batch.with_(ids=ids), batch.with_(ids=ids, mask=mask)
    what = f"the token at {place}, which has the id of padding, real and masked"
    must_differ(held, subject.score(case, held, hidden), subject.score(case, held, real), what)


def segments_count(subject: Classified, case: ParameterCase) -> None:
    """The same tokens in other segments give other logits, where token types are declared.

    Formula: z(x, types) != z(x, 1 - types)
    Source: Devlin et al. (2019), section 3, figure 2; huggingface/peft drops token types with a prompt
    Fault: segments_ignored
    """
    held, batch = subject.new_model(case), subject.batch(subject.texts(case))
    first = subject.score(case, held, batch)
    other = subject.score(case, held, batch.with_(types=np.where(batch.mask == 1, 1 - batch.types, 0)))
    must_differ(held, other, first, "the tokens in the other segments")


def no_segments_are_the_first(subject: Classified, case: ParameterCase) -> None:
    """Without token types every token belongs to the first segment.

    Formula: z(x) = z(x, types = 0)
    Source: huggingface/transformers, BertEmbeddings.forward
    Fault: segments_default_to_the_second
    """
    held, batch = subject.new_model(case), subject.batch(subject.texts(case))
    first = subject.score(case, held, batch.with_(types=np.zeros_like(batch.types)))
    got = subject.scored_without(case, held, batch, "token_type_ids")
    with held.report_calls():
        require_same(got, first, noise(first, got), "logits without token_type_ids, against zeros")


def room(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Texts and padding that fit; often there is no room left."""
    least = sizes["n"] + sizes["more"]
    return {**sizes, "length": least if rng.random() < 0.5 else max(sizes["length"], least)}


def told_by_the_mask(implementation: Any) -> bool:
    """Whether padding has no id that tells it."""
    return bool(implementation.parameters.get("padding") != "ids")


def on(side: str) -> dict[str, Any]:
    """What restricts a law to models that may be padded on a side."""
    other = {"right": "left", "left": "right"}[side]
    return {
        "declares": lambda i: i.parameters.get("side") != other,
        "because": f"padding is on the other side alone (--parameter side={other})",
    }


RELATED: dict[str, Any] = {"adjust": room, "related": lambda s: s["n"] + s["more"] <= s["length"]}
RANGES = {"B": (2, 4), "n": (2, 14), "more": (1, 8), "vocab": (6, 24), "classes": (2, 5), "length": (3, 32)}
SPACE = Sizes(RANGES, **RELATED, dtypes=("float64", "float32"))
EXACT = Sizes(RANGES, **RELATED, dtypes=("float64",))
APART = Sizes({**RANGES, "n": (5, 9), "more": (9, 9), "vocab": (11, 13), "length": (41, 41)}, dtypes=("float64",))
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "classifier", "large": 4, "small": 0, "space": SPACE}
BY_IDS: dict[str, Any] = {
    "declares": told_by_the_mask,
    "because": "padding is marked by its id (--parameter padding=ids)",
}
TYPES: dict[str, Any] = {
    "declares": lambda i: bool(i.parameters.get("token_types")),
    "because": "token types are not declared (--parameter token_types=True)",
}
LAWS = (
    Law(logits_are_a_row_for_each_text, **ROW),
    Law(logits_are_no_probabilities, **ROW),
    Law(padding_behind_changes_nothing, **ROW, **on("right")),
    Law(padding_in_front_changes_nothing, **ROW, **on("left")),
    Law(the_ids_of_padding_do_not_matter, **ROW, **BY_IDS),
    Law(an_empty_text_spoils_no_other, **ROW),
    Law(texts_are_judged_by_themselves, **ROW),
    Law(every_token_counts, **{**ROW, "space": EXACT}),
    Law(a_word_with_the_id_of_padding_counts, **{**ROW, "space": EXACT}, **BY_IDS),
    Law(segments_count, **{**ROW, "space": EXACT}, **TYPES),
    Law(no_segments_are_the_first, **ROW, **TYPES),
    Law(no_mask_means_no_padding, **ROW),
    Law(
        the_pooling_is_the_stated_one, **{**ROW, "space": APART},
        declares=lambda i: "pool" in i.parameters, because="no pooling is declared (--parameter pool=first|mean|last)",
    ),
    Law(
        a_text_said_twice_has_the_same_mean, **{**ROW, "space": APART},
        declares=lambda i: i.parameters.get("pool") == "mean", because="no mean is declared (--parameter pool=mean)",
    ),
    Law(evaluation_gives_the_same_logits, **ROW),
    Law(training_draws_after_an_evaluation, **ROW),
    Law(logits_outlive_the_next_batch, **ROW),
    Law(what_moves_the_logits_has_a_gradient, **{**ROW, "space": EXACT, "large": 2}),
    Law(padding_adds_nothing_to_gradients, **{**ROW, "space": EXACT}),
    law_of(CONTRACT, SPACE),
)  # fmt: skip
COMPARISONS = ("padding_behind_changes_nothing", "texts_are_judged_by_themselves")
