"""Each of xFormers' classes of masks is given where it hides what is asked for, and where a target takes it alone."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.worker.mask_classes import CLASSES, choose, classes_in_annotation, find_masks
from attention_core.conformance.worker.mask_objects import call_with_masks, needs_objects
from attention_core.declaration.implementation import TargetError

FIRST = {
    "attention": ("agrees_with_truth", "a_window_agrees_with_the_truth"), "paged": ("paged_keys_agree_with_the_truth",),
    "varlen": ("packed_texts_agree_with_the_truth", "nothing_leaks_between_texts", "packed_windows_are_the_texts_own"),
}  # fmt: skip


class Mask:
    """What all classes have in common: texts (from, to) of queries and keys, and what each pair of them sees."""

    corner, causal, keys = "", False, "packed"

    def __init__(self, *sides: int, window_left: int = -1, window_right: int = -1) -> None:
        self.sides = (sides[0] - 1, 0) if sides else (window_left, window_right)
        self.texts: list[tuple[int, int, int, int]] = []

    @classmethod
    def from_seqlens(cls, q: list[int], *more: Any, device: Any = None) -> Any:
        made, i, j = cls(), 0, 0
        made.table, lengths = None, more[-1]
        starts = (
            more[0] if cls.keys == "gappy" else [more[0] * b for b in range(len(q))] if cls.keys == "padded" else None
        )
        if "Paged" in cls.__name__:
            lengths, made.table, made.page = more
        for b, (n, m) in enumerate(zip(q, lengths, strict=True)):
            first = j if starts is None else starts[b]
            made.texts.append((i, i + n, first, first + m))
            i, j = i + n, j + m
        return made

    @classmethod
    def from_seqlens_local(cls, q: list[int], room: int, keys: list[int], *sides: int) -> Any:
        made = cls.from_seqlens(q, room, keys)
        made.sides = sides if len(sides) == 2 else (sides[0] - 1, 0)
        return made

    def make_local_attention(self, width: int) -> Any:
        return self.as_kind("BlockDiagonalCausalLocalAttentionMask", width)

    def make_local_attention_from_bottomright(self, width: int) -> Any:
        return self.as_kind("BlockDiagonalCausalLocalAttentionFromBottomRightMask", width)

    def as_kind(self, name: str, width: int) -> Any:
        made = globals()[name]()
        made.texts, made.sides = self.texts, (width - 1, 0)
        return made

    def seen(self, n: int, m: int) -> Tensor:
        i = torch.arange(n)[:, None] + (m - n if self.corner == "bottom_right" else 0)
        apart = torch.arange(m) - i
        left, right = (x if x >= 0 else n + m for x in self.sides)
        return (apart <= (0 if self.causal else right)) & (apart >= -left)


for _name, _about in CLASSES.items():
    globals()[_name] = type(_name, (Mask,), {**_about._asdict(), "__module__": __name__})


def attend(q: Tensor, k: Tensor, v: Tensor, seen: Tensor) -> Tensor:
    """The formula, (n, H, d)."""
    q, k, v = (x.transpose(0, 1) for x in (q, k, v))
    scores = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(~seen, -torch.inf)
    dead = ~seen.any(-1, keepdim=True)
    return (scores.masked_fill(dead, 0.0).softmax(-1).masked_fill(dead, 0.0) @ v).transpose(0, 1)


def answer(query: Tensor, key: Tensor, value: Tensor, mask: Any, late: int) -> Tensor:
    """What an object of a mask stands for; `late` moves what each query sees by so many keys."""
    if query.shape[2] != key.shape[2]:
        raise ValueError("as many heads of keys as of queries")
    out = query.new_zeros(*query.shape[:3], value.shape[-1])
    for b in range(len(query)):
        for i, to, j, end in mask.texts or [(0, query.shape[1], 0, key.shape[1])]:
            text = (to - i, end - j)
            if getattr(mask, "table", None) is not None:
                at = torch.arange(end - j)
                rows = (
                    mask.table[mask.texts.index((i, to, j, end)), at // mask.page].long() * mask.page + at % mask.page
                )
            else:
                rows = torch.arange(j, end)
            seen = mask.seen(*text)
            seen = torch.cat([seen[:, :late], seen], 1)[:, : text[1]] if text[1] else seen
            out[b, i:to] = attend(query[b, i:to], key[b, rows], value[b, rows], seen)
    return out


def target_of(name: str, late: int = 0) -> Any:
    """A function that takes objects of one class alone."""

    def attention(query: Tensor, key: Tensor, value: Tensor, attn_bias: Any) -> Tensor:
        assert type(attn_bias).__name__ == name
        return answer(query, key, value, attn_bias, late)

    attention.__annotations__["attn_bias"] = name
    return attention


def judge(target: Any, contract: str, **record: Any) -> tuple[dict[str, str], Session]:
    record |= {"layout": "bnhd"} if contract == "attention" else {}
    made = Implementation(target, name="attention", contract=contract, dtypes=("float32",), **record)
    with Session(made, effort="quick", shrink=False) as session:
        laws = [law for law in session.laws if law.name in FIRST[contract]]
        return {law.name: session.run(law).status for law in laws}, session


@pytest.mark.thorough(table=True)
@pytest.mark.usefixtures("unshrunk")
@pytest.mark.parametrize("name", CLASSES)
def test_a_target_of_one_class_alone_is_called_with_it(name: str) -> None:
    contract, window = CLASSES[name].contract, CLASSES[name].window
    found, session = judge(target_of(name), contract)
    assert set(found.values()) <= {"held", "not_applicable"} and "held" in found.values()
    assert any(note.startswith(f"attn_bias is given {name}; not judged:") for note in session.notes)
    assert session.implementation.always_causal == CLASSES[name].causal
    assert (window == "") == all("window" not in law or status != "held" for law, status in found.items())


@pytest.mark.usefixtures("unshrunk")
@pytest.mark.thorough(keep=("BlockDiagonalCausalMask", "*Gappy*", "*Paged*Causal*", "LocalAttention*"))
@pytest.mark.parametrize("name", [name for name, about in CLASSES.items() if about.causal or about.window])
def test_one_that_sees_a_key_too_many_is_refuted(name: str) -> None:
    assert "refuted" in judge(target_of(name, late=1), CLASSES[name].contract)[0].values()


def read_in(annotation: str, default: str = "= None", **own: Any) -> Any:
    """A function of a module of its own, whose masks have an annotation."""
    module = ModuleType("kernels")
    vars(module).update(own)
    exec(f"def attention(query, key, value, attn_bias: '{annotation}' {default}): return query", vars(module))
    return module.attention


def test_a_module_with_blocks_alone_is_never_asked_for_causality() -> None:
    blocks = globals()["BlockDiagonalMask"]
    target = read_in("AttentionBias", BlockDiagonalMask=blocks)
    assert find_masks(target, "varlen") == {"BlockDiagonalMask": blocks}
    call = call_with_masks(target, "varlen")
    assert "causal" not in call.__signature__.parameters
    assert call.mask_objects == {"causal": "", "given": ["BlockDiagonalMask"], "others": [], "always_causal": False}


def test_classes_that_are_named_are_given_alone_and_others_for_another_contract_are_said() -> None:
    own = {name: globals()[name] for name in CLASSES}
    both = read_in("BlockDiagonalPaddedKeysMask | BlockDiagonalCausalWithOffsetPaddedKeysMask | None", **own)
    assert classes_in_annotation(both) == ["BlockDiagonalPaddedKeysMask", "BlockDiagonalCausalWithOffsetPaddedKeysMask"]
    chosen = choose(find_masks(both, "varlen"), "")
    assert (chosen.keys, chosen.corner, chosen.names) == ("padded", "bottom_right", classes_in_annotation(both))
    assert not needs_objects(both, "attention")  # it can do without
    with pytest.raises(TargetError, match="takes BlockDiagonalMask alone: give --contract varlen"):
        judge(read_in("BlockDiagonalMask", "", **own), "attention")
    with pytest.raises(TargetError, match="PagedBlockDiagonalGappyKeysMask alone: no contract gives it"):
        judge(read_in("PagedBlockDiagonalGappyKeysMask", **own), "varlen")
    with pytest.raises(TargetError, match="alone, none of which is of --causal top_left"):
        judge(both, "varlen", causal="top_left")
    plain = read_in("AttentionBias", **own)
    assert "BlockDiagonalPaddedKeysMask" in find_masks(plain, "varlen")  # its module names it
    assert choose(find_masks(plain, "varlen"), "").keys == "packed"


def test_what_no_class_hides_and_lengths_that_a_class_refuses_are_declined() -> None:
    class Refusing(Mask):
        @classmethod
        def from_seqlens(cls, *lengths: Any, device: Any = None) -> Any:
            raise ValueError("Expected num_keys >= num_queries")

    x, ends = torch.ones(2, 1, 1), torch.tensor([0, 2])
    call = call_with_masks(read_in("BlockDiagonalMask", BlockDiagonalMask=Refusing), "varlen")
    with pytest.raises(NotImplementedError, match="no object has such lengths: Expected"):
        call(x, x, x, ends, ends)
    triangle = globals()["LowerTriangularMask"]
    alone = call_with_masks(read_in("LowerTriangularMask | None", LowerTriangularMask=triangle), "attention")
    with pytest.raises(NotImplementedError, match="takes objects alone"):
        alone(x[None], x[None], x[None], attn_bias=torch.zeros(2, 2))
