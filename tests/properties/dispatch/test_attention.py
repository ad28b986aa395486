"""attention_core.dispatch.attention: every kernel of the table answers every mask as the loop does."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import attention_core
from attention_core.declaration.kernel import Kernel
from attention_core.dispatch import attention as dispatch
from attention_core.dispatch import plans
from attention_core.dispatch import tables as choice
from attention_core.dispatch.attention import attention
from attention_core.dispatch.tables import PLANS, forget
from attention_core.masking import causal, padding, prefix, segments, sliding_window
from attention_core.registry.load import answers
from attention_core.registry.table import OURS
from tests.properties.attention_loop import draw_call, rows_of

# The rows that take every call; the others refuse some.
KERNELS = ("core:dot_product", "core:tiled", "core:split_merge", "core:fused", "torch:default", "torch:math")
STRUCTURED = [
    causal(),
    causal("bottom_right"),
    sliding_window(2, "bottom_right"),
    prefix(2) | sliding_window(1),
    causal("bottom_right") & padding([1, 5]),
    segments([[0, 0, 1, 1, 1], [0, 1, 1, 2, 2]], "bottom_right") & causal("bottom_right"),
]


@settings(deadline=None, max_examples=40)
@given(st.data(), st.sampled_from(["auto", *KERNELS]))
def test_tensor_masks_and_grouped_heads_agree_with_the_loop(data: st.DataObject, kernel: str) -> None:
    """Float32 and float64, where every kernel accumulates in the dtype; seven keys, split in three parts."""
    call = draw_call(data)
    wide = torch.promote_types(call["query"].dtype, torch.float32)
    call = {name: x.to(wide) if name in ("query", "key", "value") else x for name, x in call.items()}
    if call["attn_mask"] is not None and call["attn_mask"].is_floating_point():
        call["attn_mask"] = call["attn_mask"].to(wide)
    call["is_causal"] = False
    q, k, v = call["query"], call["key"], call["value"]
    before = [x.clone() for x in (q, k, v)]
    out = attention(q, k, v, call["attn_mask"], scale=call["scale"], kernel=kernel)
    assert all(torch.equal(x, y) for x, y in zip((q, k, v), before, strict=True))
    assert out.dtype == wide
    n, d = k.shape[-2:]
    u = torch.finfo(wide).eps / 2
    for index, row in rows_of(call):
        # The widest of the kernels' bounds: merging adds errors of log-sum-exps to those of the scores.
        row.score_size += math.log(n)
        bound = row.bound(u, d + 3 * (d + n + 16), n + 18)
        error = np.abs(out[index].double().numpy() - row.out)
        assert (error <= 2 * bound + torch.finfo(wide).tiny).all()


@pytest.mark.parametrize("kernel", ["auto", *KERNELS, "core:block_sparse"])
@pytest.mark.parametrize("mask", STRUCTURED, ids=lambda mask: type(mask).__name__)
@pytest.mark.parametrize("n_q", [3, 5])
def test_structured_masks_mean_their_dense_form(kernel: str, mask: Any, n_q: int) -> None:
    """Values are powers of two and scores equal: a row's sum times its number of keys names its set of keys.

    A mean of m values is off by at most (m + 9) u times their sum, far below the smallest value, 1, over m.
    """
    q, k = torch.zeros(2, 3, n_q, 2), torch.zeros(2, 1, 5, 2)
    v = torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0]).reshape(5, 1).expand(2, 1, 5, 1)
    dense = mask.dense(n_q, 5).expand(2, 3, n_q, 5)
    names = attention(q, k, v, mask, kernel=kernel)[..., 0] * dense.sum(-1)
    assert torch.equal(names.round(), (dense * v[0, 0, :, 0]).sum(-1))
    assert ((names - names.round()).abs() <= 2 * 14 * 31 * torch.finfo(torch.float32).eps).all()


def test_the_sparse_kernel_by_name_reads_the_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of n x n is written, as auto writes nothing; with five axes there is no place for the pieces."""
    x = torch.zeros(1, 1, 4096, 8)
    mask = sliding_window(64)
    monkeypatch.setattr(type(mask), "dense", lambda *_: pytest.fail("written out"))
    attention(x, x, x, mask, kernel="core:block_sparse")
    monkeypatch.undo()
    assert (
        attention(
            x[None, ..., :64, :], x[None, ..., :64, :], x[None, ..., :64, :], mask, kernel="core:block_sparse"
        ).ndim
        == 5
    )


@pytest.mark.parametrize("kernel", ["auto", "core:dot_product", "core:block_sparse", "torch:default"])
@pytest.mark.parametrize("empty", range(4))
def test_empty_inputs_under_a_structured_mask(kernel: str, empty: int) -> None:
    """No sequence, no head, no token or no channel."""
    sizes = [1, 2, 3, 4]
    sizes[empty] = 0
    x = torch.zeros(sizes)
    assert attention(x, x, x, sliding_window(2), kernel=kernel).shape == x.shape


ALIKE = [padding([250] * 3) & sliding_window(40), segments((torch.arange(300) % 3).expand(3, -1))]


@pytest.mark.parametrize("kernel", ["auto", "core:dot_product", "core:block_sparse", "torch:default"])
@pytest.mark.parametrize("mask", ALIKE, ids=["intervals", "scattered"])
@pytest.mark.parametrize("shape", [(2, 2, 300, 8), (2, 300, 8), (300, 8)])
def test_sequences_that_look_alike_are_still_as_many(
    kernel: str, mask: Any, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A mask of three sequences fits no batch of two, though one of the three would tell all."""
    cheap = dict.fromkeys((*choice.WHY, "piece"), 1.0) | {"short_from": 0, "short_to": 0}
    (tmp_path / "t.json").write_text(choice.as_json({"cpu/float32/forward": cheap}, {}))
    monkeypatch.setenv("ATTENTION_CORE_TUNING", str(tmp_path / "t.json"))
    forget()
    x = torch.zeros(shape)
    with pytest.raises(ValueError, match="does not broadcast to the scores"):
        attention(x, x, x, mask, kernel=kernel)
    three = torch.zeros(3, 2, 300, 8)
    assert attention(three, three, three, mask, kernel=kernel).shape == three.shape
    monkeypatch.undo()
    forget()


@pytest.fixture
def no_plans() -> Iterator[None]:
    """Nothing decided by earlier tests, and nothing left for later ones."""
    forget()
    yield
    forget()


def test_auto_tells_the_kernel_of_causality_only_where_the_alignments_agree(
    monkeypatch: pytest.MonkeyPatch, no_plans: None
) -> None:
    seen: list[tuple[bool, bool]] = []

    def spy(q: Any, k: Any, v: Any, attn_mask: Any = None, is_causal: bool = False, **_: Any) -> Any:
        seen.append((attn_mask is not None, is_causal))
        return q

    monkeypatch.setattr(plans, "load", lambda name: spy)
    monkeypatch.setattr(plans, "scaled_dot_product_attention", spy)
    monkeypatch.setattr(dispatch, "scaled_dot_product_attention", spy)
    q, k = torch.zeros(3, 2), torch.zeros(5, 2)
    attention(q, k, k, causal())
    attention(k, k, k, causal("bottom_right"))
    attention(q, k, k, causal("bottom_right"))
    attention(q, k, k, causal() & prefix(1))
    attention(q, k, k)
    attention(q, k, k, causal(), scale=-1.0)
    plain, causal_flag, dense = (False, False), (False, True), (True, False)
    assert seen == [causal_flag, causal_flag, dense, dense, plain, dense]


@pytest.mark.parametrize("scale", [-1.0, 0.0])
def test_a_causal_mask_holds_at_a_scale_that_is_not_positive(scale: float) -> None:
    """torch's flash kernel returns NaN here when told by its flag (docs/findings.md, 2)."""
    x, v = torch.ones(1, 1, 3, 1), torch.tensor([1.0, 3.0, 8.0]).reshape(1, 1, 3, 1)
    assert attention(x, x, v, causal(), scale=scale).flatten().tolist() == [1.0, 2.0, 4.0]


KEEP_NAN = ["core:dot_product", "core:tiled", "core:split_merge", "torch:math"]


@pytest.mark.parametrize("kernel", KEEP_NAN)
@pytest.mark.parametrize("place", range(3))
def test_the_kernels_that_are_said_to_keep_nan_do(kernel: str, place: int) -> None:
    arrays = [torch.ones(1, 2, 3, 2) for _ in range(3)]
    arrays[place][0, 0] = math.nan
    out = attention(*arrays, kernel=kernel)
    assert out[0, 0].isnan().all() and (out[0, 1] == 1).all()


@pytest.mark.parametrize("kernel", ["auto", "core:fused", "core:upcast"])
def test_a_nan_query_is_what_torchs_fused_kernel_makes_of_it(kernel: str) -> None:
    """The known failure of these rows: once torch mends it, the rows, the docstring and finding 3 have to change."""
    q, x = torch.full((1, 1, 1, 1), math.nan, requires_grad=True), torch.ones(1, 1, 2, 1)
    out = attention(q, x, x, kernel=kernel)
    (down,) = torch.autograd.grad(out.sum(), q)
    assert out.item() == 0 and down.isnan().all()


def test_what_becomes_of_nan_is_said_wherever_one_would_look() -> None:
    """Docstring, README, findings and the kernel table say the same of `attention()`."""
    rows = [row.name for row in OURS if "garbage_is_not_turned_into_a_number" in row.known_failures]
    assert rows == ["core:attention", "core:fused", "core:upcast", "core:block_sparse"]
    root = Path(__file__).parents[3]
    finding = (root / "docs/findings.md").read_text().split("\n## 3.")[1].split("\n## ")[0]
    for name in (*rows, *KEEP_NAN):
        assert f"`{name}`" in finding or f'"{name}"' in finding, name
    assert "docs/findings.md, 3" in str(attention.__doc__)
    assert "[finding 3](docs/findings.md)" in (root / "README.md").read_text()
    for text in (attention.__doc__, (root / "README.md").read_text()):
        assert 'kernel="core:dot_product"' in str(text)


@pytest.mark.parametrize("name", ["core:naive_causal", "torch:mha", "transformers:sdpa"])
def test_kernels_with_other_conventions_are_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match="has other conventions or is wrong on purpose; use auto, core:dot"):
        attention(X, X, X, kernel=name)


def test_attention_is_no_kernel_of_its_own() -> None:
    with pytest.raises(ValueError, match="kernel 'core:attention' is attention itself; use auto, core:dot_product"):
        attention(X, X, X, kernel="core:attention")


@pytest.mark.parametrize(
    "declared",
    [
        {"contract": "rotary"}, {"layout": "bnhd"}, {"out_layout": "bnhd"}, {"returns": "out,weights"},
        {"mask_true": "ignore"}, {"causal": "bottom_right"}, {"factory": True},
    ],
)  # fmt: skip
def test_a_row_that_declares_another_convention_cannot_be_called(declared: dict[str, Any]) -> None:
    """Also one that no row of today's table declares."""
    assert answers(Kernel("a:row", "module:function", "as torch's", {"accumulate": "float32"}))
    assert not answers(Kernel("a:row", "module:function", "otherwise", declared))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("mask", [torch.tensor([True, False]), torch.tensor(True)])
def test_masks_with_fewer_axes_broadcast_in_every_kernel(kernel: str, mask: torch.Tensor) -> None:
    # Four axes: with two, torch's function takes its unfused path, which accepts such masks by itself.
    x, v = torch.zeros(1, 1, 3, 1), torch.tensor([2.0, 4.0]).reshape(1, 1, 2, 1)
    expected = 2.0 if mask.ndim else 3.0
    assert attention(x, x[..., :2, :], v, mask, kernel=kernel).flatten().tolist() == [expected] * 3


X = torch.zeros(4, 3, 2)
BAD_CALLS: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    (
        (X, X, X),
        {"kernel": "torch:none"},
        "kernel 'torch:none' is not known; use auto, core:dot_product, core:tiled",
    ),
    ((X, X[..., :1], X), {}, "head sizes of query and key differ"),
    ((X, X, X[:, :2]), {"mask": causal()}, "lengths of key and value differ"),
    ((X, X[:3], X[:3]), {}, "4 query heads are not divisible by H_kv = 3"),
    # Four axes, and little to do: auto looks at nothing there but the sizes.
    ((X[None], X[None], X[None, :, :2]), {}, "lengths of key and value differ"),
    ((X[None], X[None], X[None, :2]), {}, "value"),
    ((X[None], X[None, :3], X[None, :3]), {}, "4 query heads are not divisible by H_kv = 3"),
    ((X, X, X, torch.zeros(3, 2)), {}, "does not broadcast to the scores"),
    ((X, X, X, padding([1, 2])), {}, "does not broadcast to the scores"),  # (B, 1, n, n) against (H, n, n)
    ((X, X, X, padding([4])), {}, "a length of 4 exceeds n_kv = 3"),
]


@pytest.mark.parametrize("kernel", ["auto", *KERNELS])
@pytest.mark.parametrize(("args", "kwargs", "words"), BAD_CALLS)
def test_bad_calls_are_refused_by_every_kernel(kernel: str, args: Any, kwargs: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        attention(*args, **{"kernel": kernel, **kwargs})


def test_the_package_offers_the_function_by_name() -> None:
    """That importing the package alone stays light is judged in test_imports.py."""
    assert attention_core.attention is attention
    assert {"attention", "__version__"} <= set(dir(attention_core))
    with pytest.raises(AttributeError, match="no attribute 'attend'"):
        attention_core.attend  # type: ignore[attr-defined]  # noqa: B018


def forms() -> list[dict[str, Any]]:
    """Calls that differ from the first in one thing alone, each of which may change its plan."""
    x = torch.randn(1, 8, 128, 64, generator=torch.Generator().manual_seed(1))
    self_attention = {"query": x, "key": x, "value": x}
    strided = torch.randn(1, 8, 128, 128, generator=torch.Generator().manual_seed(2))[..., ::2]
    return [
        self_attention,
        *({**self_attention, name: strided} for name in self_attention),
        {**self_attention, "query": x[:, :, :64]}, {**self_attention, "value": x[..., :32]},
        {**self_attention, "key": x[:, :4], "value": x[:, :4]},
        dict.fromkeys(self_attention, x.bfloat16()), {**self_attention, "query": x.clone().requires_grad_()},
        {**self_attention, "mask": torch.ones(128, 128, dtype=torch.bool)},
        {**self_attention, "mask": torch.zeros(128)}, {**self_attention, "mask": torch.zeros(8, 1, 128)},
        {**self_attention, "mask": torch.zeros(128, 128, requires_grad=True)},
        {**self_attention, "mask": causal()}, {**self_attention, "mask": causal("bottom_right")},
        {**self_attention, "query": x[:, :, :64], "mask": causal()},
        {**self_attention, "query": x[:, :, :64], "mask": causal("bottom_right")},
        {**self_attention, "mask": causal(), "scale": -1.0}, {**self_attention, "scale": -1.0},
    ]  # fmt: skip


def test_calls_that_need_other_plans_have_plans_of_their_own(no_plans: None) -> None:
    """What each call does after all the others is what it does alone."""
    alone, together = [], []
    for call in forms():
        forget()
        alone.append(attention(**call))
    forget()
    for _ in range(2):
        together = [attention(**call) for call in forms()]
    for one, other in zip(alone, together, strict=True):
        assert torch.equal(one, other)
    kept = [PLANS[what] for what in PLANS]
    assert len(kept) == len(forms()) - 2, "all but the negative scales: with causality there is no plan, without it one"


@pytest.mark.parametrize("kernel", ["auto", "core:dot_product", "core:block_sparse", "core:tiled", "torch:default"])
@pytest.mark.parametrize("n", [64, 512, 1024])
@pytest.mark.parametrize("mask", ["packed", "mixed", "padding", "both"])
def test_inputs_of_three_axes_and_masks_of_one_sequence(mask: str, n: int, kernel: str, no_plans: None) -> None:
    """What each kernel answers does not hang on whether the mask is cut or written out."""
    q, k, v = torch.randn(3, 2, n, 16, generator=torch.Generator().manual_seed(n))
    token = torch.arange(n)[None]
    structure = {
        "packed": segments(token // (n // 8)), "mixed": segments(token % 8), "padding": padding(torch.tensor([n // 2])),
        "both": segments(token // (n // 8)) & causal(),
    }[mask]  # fmt: skip
    want = attention(q[None], k[None], v[None], structure, kernel="core:dot_product")[0]
    torch.testing.assert_close(attention(q, k, v, structure, kernel=kernel), want)
    torch.testing.assert_close(attention(q[0], k[0], v[0], structure, kernel=kernel), want[0])


ONE = torch.zeros(1, 2, 4, 8)
ALL = dict.fromkeys(("query", "key", "value"), ONE)
ALLOWED = torch.ones(4, 4, dtype=torch.bool)
LIKE_A_GOOD_ONE: list[tuple[dict[str, Any], str]] = [
    ({"query": ONE[..., :4].contiguous()}, "head sizes of query and key differ"),
    ({"key": ONE[..., :4].contiguous()}, "head sizes of query and key differ"),
    ({"value": ONE[:, :, :3].contiguous()}, "lengths of key and value differ"),
    *(({name: ONE.double()}, "need one floating-point dtype") for name in ALL),
    ({"mask": ALLOWED.int()}, "a mask is bool or floating"),
    ({"mask": torch.ones(3, 3, dtype=torch.bool)}, "does not broadcast to the scores"),
]


@pytest.mark.parametrize(("changed", "words"), LIKE_A_GOOD_ONE)
def test_a_bad_call_is_refused_after_a_good_one_like_it(changed: dict[str, Any], words: str, no_plans: None) -> None:
    """It differs in one thing alone; the plan of the good one must not answer it."""
    call = {**ALL, "mask": ALLOWED}
    attention(**call)
    with pytest.raises(ValueError, match=words):
        attention(**{**call, **changed})


@pytest.mark.parametrize("name", list(ALL))
def test_a_call_whose_gradients_may_be_asked_for_has_a_plan_of_its_own(name: str, no_plans: None) -> None:
    call = {**ALL, name: ONE.clone().requires_grad_()}
    attention(**ALL)
    with torch.no_grad():
        attention(**call)
    assert len(PLANS) == 1
    attention(**call)
    assert len(PLANS) == 2


def test_another_device_and_a_mask_with_a_gradient_have_plans_of_their_own(no_plans: None) -> None:
    for changed in ({}, dict.fromkeys(ALL, ONE.to("meta"))):
        attention(**{**ALL, **changed})
    assert len(PLANS) == 2
    for wanted in (False, True):
        attention(**ALL, mask=torch.zeros(4, 4, requires_grad=wanted))
    assert len(PLANS) == 4


def test_the_mask_of_a_plan_is_that_of_the_call(no_plans: None) -> None:
    x = torch.randn(1, 2, 4, 8, generator=torch.Generator().manual_seed(0))
    first, second = torch.zeros(4), torch.tensor([0.0, 0.0, 0.0, -torch.inf])
    for mask in (first, second, first):
        got, want = attention(x, x, x, mask), attention(x, x, x, mask, kernel="core:dot_product")
        torch.testing.assert_close(got, want)
    assert len(PLANS) == 1


def test_a_structured_mask_keeps_what_was_decided_for_it(monkeypatch: pytest.MonkeyPatch, no_plans: None) -> None:
    """For a form of call and these tables: each change of either is decided again, nothing else is."""
    chosen = []
    monkeypatch.setattr(plans, "choose", lambda *given: chosen.append(given) or choice.choose(*given))
    x = torch.randn(2, 2, 16, 8, generator=torch.Generator().manual_seed(0))
    one, other = sliding_window(3), segments(torch.arange(16).expand(2, 16) // 4)
    calls: list[tuple[dict[str, Any], int]] = [
        ({"mask": one}, 1), ({"mask": one}, 1), ({"mask": other}, 2), ({"mask": other}, 2), ({"mask": one}, 2),
        ({"mask": one, "scale": -0.5}, 3), ({"mask": one, "scale": 0.5}, 3), ({"mask": one, "scale": -0.1}, 3),
        ({"mask": one, "query": x[:, :, :8]}, 4), ({"mask": one, "query": x[:, :, :8]}, 4),
    ]  # fmt: skip
    for call, times in calls:
        full = {"query": x, "key": x, "value": x, **call}
        torch.testing.assert_close(attention(**full), attention(**full, kernel="core:dot_product"))
        assert len(chosen) == times
    forget()
    attention(x, x, x, one)
    assert len(chosen) == 5
    assert not PLANS


def test_a_window_of_all_keys_under_a_negative_scale_is_no_causality_to_torch(no_plans: None) -> None:
    """In either order: torch masks before it scales."""
    x = torch.randn(1, 2, 16, 8, generator=torch.Generator().manual_seed(0))
    for scales in ((0.5, -0.5), (-0.5, 0.5)):
        mask = sliding_window(16)
        for scale in scales:
            want = attention(x, x, x, mask, scale=scale, kernel="core:dot_product")
            torch.testing.assert_close(attention(x, x, x, mask, scale=scale), want)


def test_a_structured_mask_that_does_not_fit_is_refused_each_time(no_plans: None) -> None:
    x = torch.zeros(3, 2, 4, 8)
    mask = padding(torch.tensor([4, 3]))
    for _ in range(2):
        with pytest.raises(ValueError, match="does not broadcast to the scores"):
            attention(x, x, x, mask)


def test_no_more_plans_are_kept_than_stated(monkeypatch: pytest.MonkeyPatch, no_plans: None) -> None:
    monkeypatch.setattr(plans, "MOST", 3)
    for n in range(1, 9):
        x = torch.zeros(1, 1, n, 2)
        attention(x, x, x)
        assert 1 <= len(PLANS) <= 3


def test_a_call_that_is_refused_is_refused_again(no_plans: None) -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="lengths of key and value"):
            attention(torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 3, 2))
    assert not PLANS


@pytest.mark.compiles
def test_compiled_programs_answer_as_plain_ones_do(no_plans: None) -> None:
    """A compiler that reads the program must not be bound to what was decided before."""
    x = torch.randn(1, 2, 16, 8, generator=torch.Generator().manual_seed(0))
    compiled = torch.compile(attention, backend="eager", fullgraph=True, dynamic=True)
    for n in (16, 5, 9):
        part = x[:, :, :n]
        assert torch.equal(compiled(part, part, part), attention(part, part, part))
        assert torch.equal(compiled(part, part, part, causal()), attention(part, part, part, causal()))
        window = sliding_window(3)
        assert torch.equal(compiled(part, part, part, window), attention(part, part, part, window))


class Attending(torch.nn.Module):
    """Attention under a mask, as a program that can be exported."""

    def __init__(self, mask: Any = None) -> None:
        super().__init__()
        self.mask = mask

    def forward(self, q: torch.Tensor) -> torch.Tensor:
        return attention(q, q, q, self.mask)


@pytest.mark.compiles
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("mask", [None, causal()])
def test_exported_programs_take_every_length(mask: Any, strict: bool, no_plans: None) -> None:
    """Sizes that are symbols are not to be compared with numbers of the table: the program would hold for a few."""
    x = torch.randn(1, 2, 512, 64, generator=torch.Generator().manual_seed(0))
    dynamic = ({2: torch.export.Dim("n", min=2, max=4096)},)
    exported = torch.export.export(Attending(mask), (x,), dynamic_shapes=dynamic, strict=strict).module()
    for n in (512, 7):
        torch.testing.assert_close(exported(x[:, :, :n]), attention(x[:, :, :n], x[:, :, :n], x[:, :, :n], mask))


def test_a_window_is_exported_written_out(no_plans: None) -> None:
    x, window = torch.randn(1, 2, 512, 64, generator=torch.Generator().manual_seed(0)), sliding_window(3)
    exported = torch.export.export(Attending(window), (x,), strict=False).module()
    torch.testing.assert_close(exported(x), attention(x, x, x, window))


@pytest.mark.parametrize("n", [16, 512])
@pytest.mark.parametrize("mask", [None, causal(), sliding_window(3)])
def test_under_autocast_every_kernel_gives_its_dtype(mask: Any, n: int, no_plans: None) -> None:
    x = torch.randn(1, 4, n, 64, generator=torch.Generator().manual_seed(0))
    with torch.autocast("cpu", torch.bfloat16):
        got = attention(x, x, x, mask)
    assert got.dtype is torch.bfloat16
    torch.testing.assert_close(got.float(), attention(x, x, x, mask), rtol=0.05, atol=0.05)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("query", lambda x: attention(x.numpy(), x, x)), ("query", lambda x: attention(None, x, x)),
        ("value", lambda x: attention(x, x, [1.0])), ("mask", lambda x: attention(x, x, x, [[True]])),
        ("mask", lambda x: attention(x, x, x, x.numpy())), ("mask", lambda x: attention(x, x, x, 64, kernel="core:tiled")),
    ],
)  # fmt: skip
def test_what_is_no_tensor_is_named(name: str, call: Any) -> None:
    with pytest.raises(TypeError, match=f"{name} must be a"):
        call(torch.zeros(1, 1, 2, 2))


@pytest.mark.compiles
def test_within_a_compiled_program_nothing_is_chosen(monkeypatch: pytest.MonkeyPatch, no_plans: None) -> None:
    def chooses(*_: Any) -> str:
        raise AssertionError("a kernel was chosen")

    monkeypatch.setattr(plans, "choose", chooses)
    x = torch.randn(1, 2, 16, 8, generator=torch.Generator().manual_seed(0))
    compiled = torch.compile(attention, backend="eager", fullgraph=True)
    window = sliding_window(3)
    assert torch.equal(compiled(x, x, x, window), attention(x, x, x, window, kernel="torch:default"))


def test_autocast_leaves_float64_as_it_is(no_plans: None) -> None:
    """As torch does for its own function, whichever kernel a mask is answered by."""
    x = torch.randn(1, 4, 512, 64, dtype=torch.float64)
    with torch.autocast("cpu", torch.bfloat16):
        found = attention(x, x, x, sliding_window(64))
        assert found.dtype == torch.nn.functional.scaled_dot_product_attention(x, x, x).dtype == torch.float64
    torch.testing.assert_close(found, attention(x, x, x, sliding_window(64)), rtol=0, atol=1e-12)
