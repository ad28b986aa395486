"""Cases of several texts: how they are drawn, shrink and are saved."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core.conformance.subjects.packed_case import KINDS, PackedCase, draw_texts
from attention_core.conformance.subjects.parameter_case import supports
from attention_core.declaration.implementation import Implementation
from attention_core.declaration.sizes import SizeCondition

CASE = PackedCase({"H_kv": 2, "group": 3, "d": 4, "d_v": 5}, options={"texts": [[3, 3], [0, 2], [1, 9]]}, seed=3)


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_are_of_their_kind(kind: str) -> None:
    drawn = [draw_texts(kind, np.random.default_rng(seed)) for seed in range(60)]
    for texts in drawn:
        assert texts and all(len(pair) == 2 and min(pair) >= 0 for pair in texts)
    every = [pair for texts in drawn for pair in texts]
    says = {
        "any": any(a > b for a, b in every) and any(a < b for a, b in every),
        "same": all(a == b for a, b in every),
        "decode": all(a == 1 for a, _ in every) and any(b > 1 for _, b in every),
        "steps": all(a == 1 and 33 <= b < 280 for a, b in every),
        "chunk": all(a <= b for a, b in every) and any(1 < a < b for a, b in every),
        "empty": all(any(0 in pair for pair in texts) for texts in drawn)
        and any(not any(map(any, t)) or all(0 in p for p in t) for t in drawn),
        "edges": {64, 65, 128, 129} <= {n for pair in every for n in pair},
        "long": all(sum(a > 128 for a, _ in texts) == 1 for texts in drawn),
        "many": all(len(texts) > 16 for texts in drawn),
        "one": all(len(texts) == 1 for texts in drawn),
    }
    assert says[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_alike_means_as_many_queries_as_keys(kind: str) -> None:
    assert all(a == b for seed in range(20) for a, b in draw_texts(kind, np.random.default_rng(seed), alike=True))


def test_smaller_cases_have_fewer_or_shorter_texts_or_smaller_heads() -> None:
    found = list(CASE.smaller())
    texts = [case.options["texts"] for case in found]
    assert [[0, 2], [1, 9]] in texts and [[3, 3], [0, 2]] in texts and [[2, 2], [0, 2], [1, 9]] in texts
    assert [[3, 3], [0, 2], [1, 8]] in texts and any(case["group"] == 1 for case in found)
    assert all(case.texts != CASE.texts or dict(case.sizes) != dict(CASE.sizes) for case in found)  # type: ignore[attr-defined]


def test_a_case_comes_back_from_json_and_says_what_it_is() -> None:
    again = PackedCase.from_json(CASE.to_json())
    assert again.to_json() == CASE.to_json() and again.texts == [(3, 3), (0, 2), (1, 9)] and again.heads == 6
    assert CASE.describe() == "float32 texts 3:3 0:2 1:9 H_kv=2 group=3 d=4 d_v=5"


def test_conditions_speak_of_the_longest_text_and_of_heads() -> None:
    assert CASE.named_sizes() == [
        {"H_kv": 2, "d": 4, "d_v": 5, "H": 6, "E": 24, "B": 3, "n_q": 3, "n_kv": 9}
    ]  # fmt: skip
    for text, expected in (("n_kv == 9 and H == 6", True), ("d % 8 == 0", False), ("B > 3", False)):
        assert supports(Implementation(len, contract="varlen", sizes=SizeCondition(text)), CASE) is expected
