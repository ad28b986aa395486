"""The tensors of a workload: the same for every kernel, whatever else is drawn."""

from __future__ import annotations

from dataclasses import replace

import torch

from attention_core.bench.workloads.inputs import bias_rows, draw
from attention_core.bench.workloads.masks import read_mask
from attention_core.bench.workloads.workload import Workload

SMALL = Workload(B=1, H=2, H_kv=1, n_q=3, n_kv=5, d=4, d_v=7)


def test_one_seed_is_one_problem_in_every_dtype() -> None:
    wide = draw(replace(SMALL, dtype="float64"))
    narrow = draw(replace(SMALL, dtype="bfloat16"))
    assert torch.equal(wide.key.bfloat16(), narrow.key) and narrow.value.shape == (1, 1, 5, 7)
    assert not torch.equal(wide.query, draw(replace(SMALL, dtype="float64", seed=1)).query)
    alike = draw(replace(SMALL, d_v=4))
    assert not torch.equal(alike.key, alike.value), "each tensor has a generator of its own"


def test_a_backward_workload_has_leaves_and_a_cotangent() -> None:
    found = draw(replace(SMALL, direction="bwd"))
    assert found.query.requires_grad and found.cotangent is not None and found.cotangent.shape == (1, 2, 3, 7)
    forward = draw(replace(SMALL, direction="fwd"))
    assert forward.cotangent is None and not forward.query.requires_grad


def test_the_mask_is_written_once_and_its_bias_row_by_row() -> None:
    found = draw(replace(SMALL, mask=read_mask("bias")))
    dense = found.mask_tensor()
    assert dense is not None and dense is found.mask_tensor()
    rows = bias_rows(found.workload, 1, 3)
    allowed = dense[1:] > -torch.inf
    assert torch.equal(dense[1:][allowed], rows[allowed])
    assert draw(SMALL).mask_tensor() is None
