"""Laws of sequence classifiers: padding, in front, behind, all of a text, and no mask that would tell it."""

from __future__ import annotations

import numpy as np

from attention_core.conformance.subjects.evidence import (
    NotApplicable,
    Refused,
    Result,
    require_same,
)
from attention_core.conformance.subjects.parameter_case import ParameterCase
from finetune.laws.causal_lm.model import noise
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
    """Padding behind a text changes nothing, however much it is.

    Formula: z(x padded to m)_b = z(x_b), m = n ... length
    Source: TransformerLensOrg/TransformerLens#1005 (padding not masked); a mean over places, or the last one
    Fault: padding_in_the_mean
    """
    padded_on(subject, case, "right", "behind")


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
    Source: padding is told by the mask; declare padding=ids where its id tells it, as in GPT-2 of transformers
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
