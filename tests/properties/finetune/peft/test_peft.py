"""The laws of every method, and each method's own.

finetune.peft on our own models: what is trained, what is not, merging, disabling, padding, files.
That the numbers are those of the library is shown in integration/finetune/test_peft_library.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from finetune.errors import BadInput
from finetune.models.classifier import MaskedLM
from finetune.peft import METHODS, Bias, Head, LoRA, Method, Prefix, Prompt, inject
from tests.properties.adapted_models import (
    ROWS,
    N,
    batch,
    called,
    encoder_bound,
    model,
    shaken,
)


@pytest.mark.parametrize(("method", "count"), ROWS)
def test_as_many_parameters_are_trained_as_the_formula_says(method: Method, count: int) -> None:
    of = model()
    adapter = inject(of, method)
    named = dict(of.named_parameters())
    assert sum(named[name].numel() for name in adapter.trainable()) == count
    assert {"head.weight", "head.bias"} <= set(adapter.trainable())


def test_the_table_is_that_of_the_methods() -> None:
    assert {name: kind.name for name, kind in METHODS.items()} == {name: name for name in METHODS}
    assert {type(method) for method, _ in ROWS} == set(METHODS.values())


@pytest.mark.parametrize("method", [Prompt(3), Prefix(3), LoRA(2)], ids=lambda m: m.name)
def test_padding_on_the_left_changes_nothing(method: Method) -> None:
    """The prompt stands in front of the text, not in front of the padding."""
    of = model("mean")
    inject(of, method)
    shaken(of)
    given = batch()
    rolled = [
        {k: given[k][row].roll(7 - n) for k in ("input_ids", "attention_mask")} for row, n in enumerate((7, 3, 5))
    ]
    left = {k: torch.stack([row[k] for row in rolled]) for k in ("input_ids", "attention_mask")}
    assert (left["attention_mask"][:, -1] == 1).all()
    # Twice the rounding of a classifier on a text that is longer by 3: the factor 100 holds the longer sums.
    most = 100 * float(of.head.weight.detach().abs().sum(1).max()) * float(encoder_bound(model("mean")))
    assert most < 1e-6
    assert (of(**left) - called(of)).abs().max() <= most


# --- refusals -----------------------------------------------------------------------------------------

REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: inject(model().encoder, Head()), "Encoder has no head that could be trained"),
    (lambda: inject(MaskedLM(model().encoder), Head()), "MaskedLM has no head"),
    (lambda: inject(nn.Linear(2, 2), LoRA()), "Linear is neither an encoder of ours nor a model of transformers"),
    (lambda: inject(model(), LoRA(targets=("q_proj",))), "no linear modules called q_proj"),
    (lambda: inject(model(), LoRA(targets=("query", "head"))), "no linear modules called query and head"),
    (lambda: inject(model(), LoRA(targets=())), "no linear modules called nothing"),
    (lambda: inject(model(), Prompt(2, "all")), "for a model of transformers as it is"),
    (lambda: inject(inject(model(), Head()).model, Prompt()), "the model holds an adapter already"),
    (lambda: inject(model(), Prompt()).merge(), "prompt cannot be merged"),
    (lambda: inject(model(), Bias()).unmerge(), "bias cannot be merged"),
    (lambda: LoRA(0), "a rank is at least 1"),
    (lambda: LoRA(dropout=1.0), "a dropout from 0 to below 1"),
    (lambda: Prompt(0), "no prompt is 0 vectors long"),
    (lambda: Prefix(0), "a prefix is at least 1 long"),
    (
        lambda: inject(model().encoder, Prompt()).model(torch.ones(1, 2).long(), position_ids=torch.ones(1, 2)),
        "position_ids",
    ),
    (lambda: inject(model().encoder, Prompt(N)).model(torch.ones(1, 1).long()), "30 tokens do not fit"),
]


@pytest.mark.parametrize(("made", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_cannot_be_is_refused(made: Callable[[], Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        made()
