"""Laws of sequence classifiers: a class `(vocab_size, length, classes) -> model`, see `classified.Classified`.

Shapes and batches stand here; padding, modes, pooling (which vectors are read) and gradients in files of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_core.conformance.laws.process_state import law_of
from attention_core.conformance.subjects.evidence import (
    Evidence,
    Result,
    Shown,
    Violation,
    require_finite,
    require_same,
)
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes
from finetune.laws.causal_lm.model import Held, noise
from finetune.laws.classifier.classified import Classified, row
from finetune.laws.classifier.gradients import padding_adds_nothing_to_gradients, what_moves_the_logits_has_a_gradient
from finetune.laws.classifier.modes import (
    evaluation_gives_the_same_logits,
    logits_outlive_the_next_batch,
    training_draws_after_an_evaluation,
)
from finetune.laws.classifier.padding import (
    an_empty_text_spoils_no_other,
    no_mask_means_no_padding,
    padding_behind_changes_nothing,
    padding_in_front_changes_nothing,
    the_ids_of_padding_do_not_matter,
)
from finetune.laws.classifier.pooling import a_text_said_twice_has_the_same_mean, the_pooling_is_the_stated_one

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
        message = "logits of text 0 put behind others"
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
    Source: lucidrains/audiolm-pytorch PR265 (the output of attention unused); a text cut shorter than it was told
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
        "because": f"padding stands on the other side alone (--parameter side={other})",
    }


RELATED: dict[str, Any] = {"adjust": room, "related": lambda s: s["n"] + s["more"] <= s["length"]}
RANGES = {"B": (2, 4), "n": (2, 14), "more": (1, 8), "vocab": (6, 24), "classes": (2, 5), "length": (3, 32)}
SPACE = Sizes(RANGES, **RELATED, dtypes=("float64", "float32"))
EXACT = Sizes(RANGES, **RELATED, dtypes=("float64",))
APART = Sizes({**RANGES, "n": (5, 9), "more": (9, 9), "vocab": (11, 13), "length": (41, 41)}, dtypes=("float64",))
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "classifier", "large": 4, "small": 0, "space": SPACE}
BY_IDS: dict[str, Any] = {
    "declares": told_by_the_mask,
    "because": "padding is told by its id (--parameter padding=ids)",
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
