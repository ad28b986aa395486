"""Short names of data and weights: equal for equal content, and for nothing else."""

from __future__ import annotations

import torch

from finetune.training.digests import digest


def test_weights_are_named_by_names_dtypes_shapes_and_numbers() -> None:
    a, b = torch.arange(6.0), torch.ones(2)
    one = digest({"a": a, "b": b})
    assert one == digest({"b": b.clone(), "a": a.clone()}) and one.startswith("sha256:")
    others = [
        {"a": a, "c": b}, {"a": a.view(2, 3), "b": b}, {"a": a.double(), "b": b}, {"a": a + 1e-7, "b": b}, {"a": b, "b": a},
    ]  # fmt: skip
    assert len({one, *map(digest, others)}) == 1 + len(others)


def test_views_are_their_numbers() -> None:
    table = torch.arange(12.0).view(3, 4)
    assert digest({"t": table.T}) == digest({"t": table.T.contiguous()}) != digest({"t": table})


def test_texts_are_told_from_their_parts() -> None:
    assert len({digest(["a", "b"]), digest(["ab"]), digest("ab"), digest([["a"], "b"]), digest(["b", "a"])}) == 5
