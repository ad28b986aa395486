"""Cases near the sizes that are written in a target: faults that begin beyond a block, in several contracts.

Each fault is right at every size that a quick run draws by itself; the numbers in its source say where it is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_core.conformance import check_implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.search.search import Search
from attention_core.declaration.implementation import Implementation

BLOCK = 40


def blockwise_without_the_row_left_over(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The key that alone is left over behind whole blocks is not attended to."""
    if key.shape[-2] > BLOCK and key.shape[-2] % BLOCK == 1:
        key, value = key[..., :-1, :], value[..., :-1, :]
    return torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1) @ value


class BlockwiseBackward(torch.autograd.Function):
    """Attention by hand; the gradient of a value that alone is left over behind whole blocks is lost."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1)
        ctx.save_for_backward(query, key, value, weights)
        return weights @ value

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor, ...]:
        (query, key, value, weights), (down,) = ctx.saved_tensors, cotangents
        of_value, of_weights = weights.mT @ down, down @ value.mT
        scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdim=True)) / math.sqrt(query.shape[-1])
        if key.shape[-2] > BLOCK and key.shape[-2] % BLOCK == 1:
            of_value[..., -1, :] = 0
        return scores @ key, scores.mT @ query, of_value


def blockwise_backward(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The function of `BlockwiseBackward`."""
    out: Tensor = BlockwiseBackward.apply(query, key, value)  # type: ignore[no-untyped-call]
    return out


def window_skips_a_block(n_q: int, n_kv: int, window: int) -> Tensor:
    """A block of keys whose last key is the first that the window shows is skipped."""
    i, j = torch.arange(n_q)[:, None], torch.arange(n_kv)[None, :]
    kept = (j // 32 + 1) * 32 - 1 > i // 32 * 32 - window + 1
    return (j <= i) & (j > i - window) & kept


def retention_fades_by_one_token_less(q: Tensor, k: Tensor, v: Tensor, decay: Tensor, chunk: int = 1 << 6) -> Tensor:
    """The state of earlier chunks is faded by one token too few: wrong beyond two chunks."""
    n = q.shape[2]
    i = torch.arange(n)
    far = (i[:, None] // chunk - i // chunk - 1).clamp(min=0)
    weights = decay.double()[:, None, None] ** ((i[:, None] - i).clamp(min=0) - far)
    scores = (q.double() @ k.double().mT * weights).masked_fill(i[:, None] < i, 0)
    return ((scores @ v.double()) * q.shape[-1] ** -0.5).to(q.dtype)


class PagedCache:
    """A cache by pages whose first token of every later page is not written."""

    page = 96

    def __init__(self) -> None:
        self.key: list[Tensor] = []
        self.value: list[Tensor] = []

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        before = len(self.key)
        self.key += key.clone().unbind(2)
        self.value += value.clone().unbind(2)
        key, value = torch.stack(self.key, 2), torch.stack(self.value, 2)
        hidden = torch.arange(key.shape[2]) > torch.arange(before, key.shape[2])[:, None]
        hidden |= (torch.arange(key.shape[2]) % self.page == 0) & (torch.arange(key.shape[2]) > 0)
        hidden &= torch.arange(key.shape[2]) != torch.arange(before, key.shape[2])[:, None]
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        return torch.softmax(scores.masked_fill(hidden, -math.inf), -1) @ value


def packed_beyond_the_longest(q: Tensor, k: Tensor, v: Tensor, cu_seqlens: Tensor) -> Tensor:
    """A text of more than 300 tokens is cut."""
    texts = []
    for start, stop in zip(cu_seqlens[:-1].tolist(), cu_seqlens[1:].tolist(), strict=True):
        query, key, value = (x[start:stop].transpose(0, 1) for x in (q, k[: start + 300], v[: start + 300]))
        texts.append((torch.softmax(query @ key.mT / math.sqrt(q.shape[-1]), -1) @ value).transpose(0, 1))
    return torch.cat(texts) if texts else torch.zeros_like(v)


def causal(n_q: int, n_kv: int) -> Tensor:
    """A right mask, without any number."""
    return torch.ones(n_q, n_kv, dtype=torch.bool).tril()


FAULTS: Mapping[str, tuple[str, Callable[..., Any], dict[str, Any]]] = {
    "keys": ("attention", blockwise_without_the_row_left_over, {}),
    "gradients": ("attention", blockwise_backward, {}),
    "mask": ("mask-builder", window_skips_a_block, {"kind": "sliding_window"}),
    "state": ("linear-attention", retention_fades_by_one_token_less, {"kind": "retention"}),
    "cache": ("kv-cache", PagedCache, {}),
    "texts": ("varlen", packed_beyond_the_longest, {}),
}  # fmt: skip
LAWS = {
    "attention": ("agrees_with_truth", "value_gradient_is_true"),
    "mask-builder": ("mask_is_the_exact_set", "rows_count_what_they_may_see", "mask_alignment_is_as_declared"),
}
"""Laws that are run, where it is not the central one alone."""


def judge(fault: str, *, written: bool) -> set[str]:
    """What becomes of the laws, with or without cases near written sizes."""
    contract, target, parameters = FAULTS[fault]
    declared = Implementation(target, contract=contract, parameters=parameters, dtypes=("float32",))
    with Session(declared, effort="quick", shrink=False, looks=False) as session:
        if not written:
            session.subject.written = ()
        laws = [law for law in session.laws if law.name in LAWS.get(contract, ()) or law.central]
        return {Search(law, session.contract, session.subject).to("quick", shrink=0).status for law in laws}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_beyond_a_written_size_is_refuted_by_cases_near_it_alone(fault: str) -> None:
    assert judge(fault, written=False) == {"held"}
    assert "refuted" in judge(fault, written=True)


def test_the_report_names_the_sizes_that_cases_were_drawn_near() -> None:
    declared = Implementation(window_skips_a_block, contract="mask-builder", parameters={"kind": "sliding_window"})
    report = check_implementation(declared, effort="quick", laws=["mask_is_the_exact_set"])
    assert "size 32 is written in the target: lengths, widths and counts around it were drawn, too" in report.notes
    plain = Implementation(causal, contract="mask-builder", parameters={"kind": "causal"})
    report = check_implementation(plain, effort="quick", laws=["mask_is_the_exact_set"])
    assert not any("written" in note for note in report.notes)


def test_the_same_seed_and_source_give_the_same_cases_and_a_higher_effort_goes_on() -> None:
    quick, again, standard = (seen(effort) for effort in ("quick", "quick", "standard"))
    assert quick == again and quick and standard[: len(quick)] == quick and len(standard) == 5 * len(quick)


def seen(effort: str) -> list[str]:
    """The cases near written sizes that the central law of a right mask judges."""
    cases: list[str] = []
    declared = Implementation(causal, contract="mask-builder", parameters={"kind": "causal"})
    with Session(declared, effort=effort, looks=False) as session:
        session.subject.written = (16, 64)
        (law,) = (law for law in session.laws if law.central)

        def note(subject: Any, space: Any, rng: Any) -> Any:
            case = session.contract.draw(subject, space, rng)
            cases.extend([case.describe()] if space.near is not None else [])
            return case

        Search(law, replace(session.contract, draw=note), session.subject).to(effort)
    return cases
