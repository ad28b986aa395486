"""xFormers' masks are objects: a target that takes them is called with the right one, right and wrong ones alike."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
import torch
from judging_contracts import counterexample, outcomes
from torch import Tensor

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.worker.mask_objects import call_with_masks, takes_mask_objects
from attention_core.declaration.implementation import TargetError

CAUSAL = ("agrees_with_truth", "causal_alignment_is_as_declared", "causal_equals_tril_mask")
PACKED = ("packed_texts_agree_with_the_truth", "nothing_leaks_between_texts", "causal_is_of_each_text")


class AttentionBias:
    """A mask that builds itself: 0 where a query may attend, -inf elsewhere."""

    def materialize(self, shape: tuple[int, int]) -> Tensor:
        raise NotImplementedError


class LowerTriangularMask(AttentionBias):
    """The diagonal begins at the first key."""

    def seen(self, n: int, m: int) -> Tensor:
        return torch.ones(n, m, dtype=torch.bool).tril()

    def materialize(self, shape: tuple[int, int]) -> Tensor:
        return torch.zeros(shape).masked_fill(~self.seen(*shape), -torch.inf)


class LowerTriangularFromBottomRightMask(LowerTriangularMask):
    """The diagonal ends at the last key."""

    def seen(self, n: int, m: int) -> Tensor:
        return torch.ones(n, m, dtype=torch.bool).tril(m - n)


class BlockDiagonalMask(AttentionBias):
    """Texts of some lengths, one after the other."""

    def __init__(self, q: list[int], kv: list[int]) -> None:
        self.lengths = list(zip(q, kv, strict=True))

    @classmethod
    def from_seqlens(cls, q_seqlen: list[int], kv_seqlen: list[int] | None = None) -> BlockDiagonalMask:
        return cls(q_seqlen, q_seqlen if kv_seqlen is None else kv_seqlen)

    def seen(self, n: int, m: int) -> Tensor:
        return torch.ones(n, m, dtype=torch.bool)

    def materialize(self, shape: tuple[int, int]) -> Tensor:
        found, i, j = torch.full(shape, -torch.inf), 0, 0
        for n, m in self.lengths:
            found[i : i + n, j : j + m] = torch.zeros(n, m).masked_fill(~self.seen(n, m), -torch.inf)
            i, j = i + n, j + m
        return found


class BlockDiagonalCausalMask(BlockDiagonalMask):
    """Each text's diagonal begins at its first key."""

    def seen(self, n: int, m: int) -> Tensor:
        return torch.ones(n, m, dtype=torch.bool).tril()


def attend(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, scale: float | None) -> Tensor:
    """The formula, (B, n, H, d); what is hidden is not read."""
    if query.shape[2] != key.shape[2]:
        raise ValueError("as many heads of keys as of queries")
    q, k, v = (x.transpose(1, 2) for x in (query, key, value))
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    bias = torch.zeros(query.shape[1], key.shape[1]) if bias is None else bias
    scores = scores + bias.to(scores.dtype)
    dead = ~(bias > -torch.inf).any(-1, keepdim=True)
    weights = scores.masked_fill(dead, 0.0).softmax(-1).masked_fill(dead, 0.0)
    return (weights @ v).transpose(1, 2)


def memory_efficient_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_bias: Tensor | AttentionBias | None = None, p: float = 0.0,
    scale: float | None = None,
) -> Tensor:  # fmt: skip
    """The call of xFormers."""
    bias = attn_bias
    if isinstance(bias, AttentionBias):
        bias = bias.materialize((query.shape[1], key.shape[1]))
    return attend(query, key, value, bias, scale)


def one_key_late(
    query: Tensor, key: Tensor, value: Tensor, attn_bias: Tensor | AttentionBias | None = None, p: float = 0.0,
    scale: float | None = None,
) -> Tensor:  # fmt: skip
    """The diagonal of a triangle lies one key further."""
    bias = attn_bias
    if isinstance(bias, AttentionBias):
        n, m = query.shape[1], key.shape[1]
        late = bias.materialize((n, m))
        causal = isinstance(bias, LowerTriangularMask | BlockDiagonalCausalMask)
        bias = torch.cat([late[:, :1] if m else late, late], 1)[:, :m] if causal else late
    return attend(query, key, value, bias, scale)


def blocks_ignored(
    query: Tensor, key: Tensor, value: Tensor, attn_bias: Tensor | AttentionBias | None = None, p: float = 0.0,
    scale: float | None = None,
) -> Tensor:  # fmt: skip
    """All texts of a batch attend to each other."""
    bias = None if isinstance(attn_bias, BlockDiagonalMask) else attn_bias
    return memory_efficient_attention(query, key, value, bias, p, scale)


def judge(target: Any, laws: tuple[str, ...], **record: Any) -> tuple[dict[str, str], list[str]]:
    name = {"name": "memory_efficient_attention"}
    with Session(Implementation(target, **name, dtypes=("float32",), **record), effort="quick") as session:
        return {law.name: session.run(law).status for law in session.laws if law.name in laws}, session.notes


def test_causality_is_an_object_and_a_right_target_holds() -> None:
    found, notes = judge(memory_efficient_attention, CAUSAL)
    assert set(found.values()) == {"held"}
    assert "attn_bias is given LowerTriangularMask" in notes[-1] and "--contract varlen" in notes[-1]
    found, notes = judge(memory_efficient_attention, CAUSAL, causal="bottom_right")
    assert set(found.values()) == {"held"}
    assert "attn_bias is given LowerTriangularFromBottomRightMask" in notes[-1]


def test_blocks_keep_packed_texts_apart() -> None:
    found, notes = judge(memory_efficient_attention, PACKED, contract="varlen", masked_nan="unspecified")
    assert set(found.values()) == {"held"} and len(found) > 1
    assert "attn_bias is given BlockDiagonalMask and BlockDiagonalCausalMask" in notes[-1]


def test_wrong_masks_are_refuted() -> None:
    assert "refuted" in judge(one_key_late, CAUSAL)[0].values()
    found, _ = judge(blocks_ignored, PACKED, contract="varlen", masked_nan="unspecified")
    assert found["packed_texts_agree_with_the_truth"] == "refuted"


def test_a_snippet_builds_the_object_itself() -> None:
    target = f"{__file__}:blocks_ignored"
    snippet = counterexample("packed_texts_agree_with_the_truth", target, "varlen", dtypes=("float32",))
    assert "attention = call_with_masks(attention, 'varlen', 'top_left')" in snippet
    assert outcomes({"wrong": snippet})["wrong"].startswith("AssertionError")


def test_masks_are_known_by_the_annotation_by_the_module_or_as_declared() -> None:
    def plain(query: Any, key: Any, value: Any, attn_bias: Any = None) -> Any: ...
    def typed(query: Any, key: Any, value: Any, attn_bias: LowerTriangularMask | None = None) -> Any: ...

    lazy = read_in(ModuleType("lazy"))
    assert [takes_mask_objects(one) for one in (plain, typed, lazy, len)] == [True, True, False, False]
    imports = ModuleType("imports")
    imports.attn_bias = sys.modules[__name__]  # type: ignore[attr-defined]
    assert takes_mask_objects(read_in(imports))
    assert call_with_masks(read_in(imports), "attention").mask_objects["given"] == ["LowerTriangularMask"]


def read_in(module: ModuleType, annotation: str = "None") -> Any:
    """A function of a module, whose masks have an annotation."""
    text = f"def attention(query, key, value, attn_bias: '{annotation}' = None): return query"
    exec(text, vars(module))
    return module.attention


def test_where_there_is_no_class_a_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xformers.ops.fmha.attn_bias", None)
    target = read_in(ModuleType("empty"), "AttentionBias")
    with pytest.raises(TargetError, match="attn_bias has BlockDiagonalMask: define it there"):
        judge(target, (), contract="varlen")
    with pytest.raises(TargetError, match="has LowerTriangularMask: define it there, or install xformers"):
        judge(target, (), parameters={"attn_bias": "objects"})
    _, notes = judge(target, ())
    assert any(note.startswith("objects as masks (attn_bias) were not judged") for note in notes)
    with pytest.raises(TargetError, match="has BlockDiagonalCausalFromBottomRightMask"):
        judge(memory_efficient_attention, (), contract="varlen", causal="bottom_right")


def test_one_mask_at_a_time() -> None:
    call = call_with_masks(memory_efficient_attention, "attention")
    x = torch.ones(1, 2, 1, 1)
    with pytest.raises(NotImplementedError, match="causality or a tensor"):
        call(x, x, x, attn_bias=torch.zeros(2, 2), is_causal=True)
    packed = call_with_masks(memory_efficient_attention, "varlen")
    with pytest.raises(ValueError, match="more rows than there are"):
        packed(x[0], x[0], x[0], torch.tensor([0, 3]), torch.tensor([0, 2]))


def test_only_objects_can_be_declared_of_masks() -> None:
    with pytest.raises(TargetError, match="write attn_bias=objects"):
        judge(memory_efficient_attention, (), parameters={"attn_bias": "tensors"})
