"""attention_core.dispatch.tables: which kernel auto takes, and how a table that is not one is met."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from attention_core.dispatch import attention as dispatch
from attention_core.dispatch import plans
from attention_core.dispatch import tables as choice
from attention_core.dispatch.tables import DEFAULT, FUSED, SPARSE, UNFUSED, choose
from attention_core.masking import Mask, causal, padding, prefix, segments, sliding_window
from attention_core.masking.kept import dense_mask
from attention_core.masking.pieces import plan
from attention_core.registry.table import kernel


@pytest.fixture(autouse=True)
def no_own_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The machine's own table must not decide a test."""
    own = tmp_path / "tuning.json"
    monkeypatch.setenv("ATTENTION_CORE_TUNING", str(own))
    choice.forget()
    yield own
    choice.forget()


def entry(number: float) -> dict[str, float]:
    return dict.fromkeys((*choice.WHY, "piece"), number) | {"short_from": 0, "short_to": 0}


def write(own: Path, **classes: dict[str, float]) -> None:
    own.write_text(choice.as_json({name.replace("_", "/"): c for name, c in classes.items()}, {"machine": "a test"}))
    choice.forget()


LONG, WIDE = torch.zeros(1, 2, 4096, 8), torch.zeros(1, 2, 4096, 16)
ONE, KEYS = torch.zeros(1, 8, 1, 64), torch.zeros(1, 2, 4096, 64)


def test_a_window_is_skipped_around_and_a_full_mask_is_not() -> None:
    assert choose(LONG, LONG, LONG, sliding_window(64)) == SPARSE
    assert choose(LONG, LONG, LONG, sliding_window(4095)) == SPARSE  # half of the pairs are in the future
    short = LONG[:, :, :8]
    assert choose(short, short, short, sliding_window(2)) == DEFAULT
    assert choose(LONG, LONG, LONG, None) == DEFAULT
    assert (
        choose(LONG[:, :, :64], LONG, LONG, sliding_window(4096, "bottom_right")) == DEFAULT
    )  # nearly all is attended


def test_many_pieces_cost_more_than_they_save(no_own_table: Path) -> None:
    """32 pieces of a sixteenth of all the work each; of a hundredth they are worth it."""
    work = choice.work_of(LONG, LONG, LONG)
    for piece, kernel_name in ((work / 16, DEFAULT), (work / 100, SPARSE)):
        write(no_own_table, cpu_float32_forward={**entry(0), "piece": piece})
        assert choose(LONG, LONG, LONG, sliding_window(64)) == kernel_name


def test_pairs_that_cost_more_in_pieces_are_weighed(no_own_table: Path) -> None:
    """Half of the pairs are left: worth it while each costs less than twice as much, and by default one as another.

    Where a pair that is masked out costs half, the mask written out costs three quarters.
    """
    half = prefix(2)
    for rates, kernel_name in (
        ({}, SPARSE), ({"rate": 1.9}, SPARSE), ({"rate": 2.1}, DEFAULT), ({"open": 9.0}, SPARSE),
        ({"rate": 1.4, "masked": 0.5}, SPARSE), ({"rate": 1.6, "masked": 0.5}, DEFAULT),
    ):  # fmt: skip
        write(no_own_table, cpu_float32_forward={**entry(0), "piece": 1.0, **rates})
        assert choose(LONG, LONG, LONG, half) == kernel_name
    documents = segments((torch.arange(4096) // 2048)[None])
    for open_, kernel_name in ((1.9, SPARSE), (2.1, DEFAULT)):
        write(no_own_table, cpu_float32_forward={**entry(0), "piece": 1.0, "open": open_, "rate": 9.0})
        assert choose(LONG, LONG, LONG, documents) == kernel_name, "rectangles without a mask"
    write(no_own_table, cpu_float32_forward={**entry(0), "rate": "fast"})  # type: ignore[dict-item]
    with pytest.warns(UserWarning, match="needs a number for each"):
        assert choose(LONG, LONG, LONG, half) == SPARSE, "the shipped table"


def test_the_block_that_costs_least_is_taken(no_own_table: Path) -> None:
    """Wide rectangles compute more pairs beside the diagonal, in fewer pieces."""
    seen: list[int] = []
    for wide, block in (({}, 128), ({"wide_piece": 1e9}, 128), ({"wide_piece": 1.0, "wide_rate": 9.0}, 128),
                        ({"wide_piece": 1.0, "wide_rate": 1.0}, 256), ({"wide_piece": 1.0}, 256)):  # fmt: skip
        write(no_own_table, cpu_float32_forward={**entry(0), "piece": 1e6, **wide})
        mask = prefix(2)
        assert choice.cheapest(LONG, LONG, LONG, mask)[0] == block
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dispatch, "block_sparse_attention", lambda q, *_, block: seen.append(block) or q)
            dispatch.attention(LONG, LONG, LONG, mask)
            dispatch.attention(LONG, LONG, LONG, mask, kernel=SPARSE)
        assert seen[-2:] == [block, block]
    write(no_own_table, cpu_float32_forward={**entry(0), "wide_piece": "much"})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="needs a number for each"):
        choice.read_table(no_own_table)


def test_what_costs_least_follows_the_table_and_the_class(no_own_table: Path) -> None:
    """A mask keeps what was found for it; another table, or gradients, are looked up again."""
    mask, leaf = sliding_window(64), LONG.clone().requires_grad_()
    write(no_own_table, cpu_float32_forward={**entry(0), "piece": 1.0}, cpu_float32_both={**entry(0), "piece": 1e6})
    cheap, dear = (choice.cheapest(x, x, x, mask)[1] for x in (LONG, leaf))
    work = choice.work_of(LONG, LONG, LONG)
    assert dear == pytest.approx(cheap + len(plan(mask, 4096, 4096).pieces) * (1e6 - 1.0) / work)
    assert choice.cheapest(LONG, LONG, LONG, mask)[1] == cheap
    write(no_own_table, cpu_float32_forward={**entry(0), "piece": 1e6})
    assert choice.cheapest(LONG, LONG, LONG, mask)[1] == dear


def test_more_heads_cost_more_in_a_piece(no_own_table: Path) -> None:
    """In proportion, from as many as were measured; a piece of one sequence of several has its heads alone."""
    write(no_own_table, cpu_float32_forward={**entry(0), "piece": 1e9, "rate": 0.0, "open": 0.0})
    x, pieces = torch.zeros(2, choice.HEADS, 512, 8), len(plan(sliding_window(64), 512, 512).pieces)

    def pieces_of(x: torch.Tensor, mask: Mask) -> float:
        return choice.cheapest(x, x, x, mask)[1] * choice.work_of(x, x, x) / 1e9

    assert pieces_of(x, sliding_window(64)) == pytest.approx(2 * pieces)
    assert pieces_of(x[:1, :1], sliding_window(64)) == pytest.approx(pieces)
    assert pieces_of(x, padding([100, 200])) == pytest.approx(2)


def test_a_mask_that_costs_nothing_written_out_is_written_out(no_own_table: Path) -> None:
    """No query attends anything, and what is masked is free: there is nothing to save."""
    write(no_own_table, cpu_float32_forward={**entry(0), "piece": 1.0, "masked": 0.0})
    assert choose(LONG, LONG, LONG, padding([0])) == DEFAULT


def test_work_is_that_of_both_products() -> None:
    assert choice.work_of(LONG, LONG[:, :1], LONG[:, :1, :, :4]) == 2 * 4096 * 4096 * (8 + 4)


def test_five_axes_are_never_cut_into_pieces() -> None:
    """A mask of several sequences has no place for a fifth axis."""
    assert choose(LONG[None], LONG[None], LONG[None], sliding_window(64)) == FUSED


def test_pieces_get_the_scale() -> None:
    taken: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "block_sparse_attention", lambda q, *args, block: taken.append(args[3]) or q)
        dispatch.attention(LONG, LONG, LONG, sliding_window(64), scale=0.5)
    assert taken == [0.5]


@pytest.mark.parametrize(
    ("query", "key", "value", "why"),
    [
        (LONG[0], LONG[0], LONG[0], "axes"),
        (LONG, LONG[:, :1], LONG[:, :1], "groups"),
        (ONE, KEYS, KEYS, "decoding"),
        (LONG, LONG, LONG[..., :4], "width"),
        (LONG[..., ::2], LONG[..., ::2], LONG[..., ::2], "stride"),
        (LONG[..., ::2], LONG[..., :4], LONG[..., :4], "stride"),
        (LONG[..., :4], LONG[..., ::2], LONG[..., :4], "stride"),
        (LONG, LONG, WIDE[..., ::2], "stride"),
        (LONG.expand(2, -1, -1, -1), LONG, LONG, "broadcast"),
        (LONG, LONG, LONG.expand(2, -1, -1, -1), "broadcast"),
    ],
)
def test_what_torch_computes_unfused_is_fused(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, why: str, no_own_table: Path
) -> None:
    assert choice.falls_back(query, key, value) == why
    assert choose(query, key, value, None) == FUSED
    taken: list[str] = []
    with pytest.MonkeyPatch.context() as patch:  # `attention` asks, whatever it looks at first
        blank = lambda q, k, v, **_: q.new_zeros(*q.shape[:-1], v.shape[-1])  # noqa: E731
        patch.setattr(plans, "load", lambda name: taken.append(name) or blank)
        dispatch.attention(query, key, value)
    assert taken == [FUSED]
    write(no_own_table, cpu_float32_forward={**entry(0), why: 1e18})
    assert choose(query, key, value, None) == DEFAULT  # from that work on, not before


def test_short_sequences_take_the_unfused_kernel(no_own_table: Path) -> None:
    write(no_own_table, cpu_float32_forward={**entry(0), "short_from": 64, "short_to": 128})
    x = torch.zeros(1, 4, 128, 64)
    assert choose(x, x, x, None) == UNFUSED and choose(x[:, :, :64], x, x, None) == UNFUSED
    assert choose(x, x, x, torch.zeros(128, 128)) == DEFAULT, "measured without a mask"
    short, long = x[:, :, :63], torch.zeros(1, 4, 129, 64)
    assert choose(short, short, short, None) == choose(x, long, long, None) == DEFAULT
    taken = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "load", lambda name: taken.append(name) or scaled_dot_product_attention)
        patch.setattr(plans, "scaled_dot_product_attention", lambda q, *_, **__: taken.append(DEFAULT) or q)
        dispatch.attention(x, x, x)
        dispatch.attention(long, long, long)
    assert taken == [UNFUSED, DEFAULT]


HALF = torch.randn(1, 4, 512, 64, generator=torch.Generator().manual_seed(0)).bfloat16()
UP = {"upcast_from": 64, "upcast_to": 512}


def dtypes_seen(mask: Any, x: torch.Tensor = HALF, **options: Any) -> list[torch.dtype]:
    """In what the kernels of one call compute; the result is of its inputs' dtype."""
    seen: list[torch.dtype] = []

    def kernel(q: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        seen.append(q.dtype)
        return torch.zeros_like(q)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "load", lambda name: kernel)
        patch.setattr(dispatch, "load", lambda name: kernel)
        patch.setattr(plans, "scaled_dot_product_attention", kernel)
        patch.setattr(dispatch, "block_sparse_attention", kernel)
        choice.forget()
        assert dispatch.attention(x, x, x, mask, **options).dtype == x.dtype
        choice.forget()
    return seen


@pytest.mark.parametrize("mask", [None, causal(), sliding_window(16), prefix(2), torch.zeros(512, 512) > 0])
def test_halves_are_computed_in_float32_where_that_is_faster(no_own_table: Path, mask: Any) -> None:
    """Whatever kernel is taken then, and never where one was named."""
    single = {**entry(0), "piece": 1.0}
    write(no_own_table, cpu_bfloat16_forward={**entry(0), **UP}, cpu_float32_forward=single)
    assert dtypes_seen(mask) == dtypes_seen(mask, HALF[0]) == [torch.float32]
    assert dtypes_seen(mask, kernel="core:fused") == dtypes_seen(mask, kernel=SPARSE) == [torch.bfloat16]
    assert dtypes_seen(mask, HALF.double()) == [torch.float64]
    write(no_own_table, cpu_bfloat16_forward={**entry(0), "upcast_from": 0, "upcast_to": 0}, cpu_float32_forward=single)
    assert dtypes_seen(mask) == [torch.bfloat16]


def test_a_structured_mask_is_written_for_the_dtype_of_the_call(no_own_table: Path) -> None:
    """Numbers to add, kept with the mask: turned at every call they would cost what they save."""
    asked: list[torch.dtype] = []
    write(no_own_table, cpu_bfloat16_forward={**entry(1e18), **UP}, cpu_float32_forward=entry(1e18))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "dense_mask", lambda mask, *form: asked.append(form[-1]) or dense_mask(mask, *form))
        for n in (512, 32):
            dispatch.attention(*[HALF[:, :, :n]] * 3, sliding_window(16))
    assert asked == [torch.float32, torch.bfloat16]


def test_float32_is_taken_between_the_lengths_that_were_measured(no_own_table: Path) -> None:
    write(no_own_table, cpu_bfloat16_forward={**entry(0), **UP}, cpu_bfloat16_both=entry(0))

    def dtype(n_q: int, n_kv: int, H: int = 4, gradients: bool = False) -> torch.dtype:
        q, k = (torch.zeros(1, H, n, 64, dtype=torch.bfloat16, requires_grad=gradients) for n in (n_q, n_kv))
        return choice.computed_in(q, k, k)

    inside, outside = (
        [(64, 64), (512, 512), (64, 512), (512, 64)],
        [(63, 512), (512, 63), (1, 512), (513, 64), (64, 513)],
    )
    assert {dtype(*n) for n in inside} == {torch.float32}
    assert {dtype(*n) for n in outside} == {torch.bfloat16}
    assert dtype(512, 512, gradients=True) == torch.bfloat16, "a class of its own, which does not name them"
    write(no_own_table, cpu_bfloat16_forward={**entry(0), "upcast_from": 1, "upcast_to": 512})
    assert [dtype(16, 16, H) for H in (1, 4)] == [torch.bfloat16, torch.float32], "so little work is not looked at"


def test_in_float32_the_kernel_is_chosen_by_the_numbers_of_float32(no_own_table: Path) -> None:
    """A last axis with gaps: the fused form pays in one class and not in the other."""
    gaps = torch.zeros(1, 4, 512, 128, dtype=torch.bfloat16)[..., ::2]
    for half, single, kernel_name in ((0, 1e18, DEFAULT), (1e18, 0, FUSED)):
        write(no_own_table, cpu_bfloat16_forward={**entry(half), **UP}, cpu_float32_forward=entry(single))
        assert choose(gaps, gaps, gaps, None) == kernel_name
    x = torch.randn(1, 4, 512, 64, generator=torch.Generator().manual_seed(0)).bfloat16()
    for mask in (None, causal(), sliding_window(16), padding([100])):
        found, in_float32 = dispatch.attention(x, x, x, mask), dispatch.attention(x.float(), x.float(), x.float(), mask)
        assert torch.equal(found, in_float32.bfloat16()), mask


def test_causality_that_torch_knows_of_is_left_to_torch() -> None:
    """Its fused kernel leaves out what is above the diagonal by itself."""
    assert choose(LONG, LONG, LONG, causal()) == DEFAULT
    assert choose(LONG[:, :, :2048], LONG, LONG, causal("top_left")) == DEFAULT
    assert choose(LONG[:, :, :2048], LONG, LONG, causal("bottom_right")) == SPARSE
    assert choose(LONG[0], LONG[0], LONG[0], causal()) == FUSED, "where torch would fall back it is told the same"
    assert choose(LONG, LONG, LONG, causal() & sliding_window(64)) == SPARSE


def test_a_window_that_reaches_every_earlier_key_is_causality() -> None:
    assert choose(LONG, LONG, LONG, sliding_window(4096)) == DEFAULT
    assert choose(LONG[:, :, :2048], LONG, LONG, sliding_window(2048, "top_left")) == DEFAULT
    assert not choice.torch_skips(sliding_window(2048, "bottom_right"), 1024, 2048)
    x = torch.randn(1, 2, 64, 8, generator=torch.Generator().manual_seed(0))
    told = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            plans,
            "scaled_dot_product_attention",
            lambda *a, **named: told.append(named) or scaled_dot_product_attention(*a, **named),
        )
        wide, narrow = dispatch.attention(x, x, x, sliding_window(64)), dispatch.attention(x, x, x, sliding_window(63))
    assert [t["is_causal"] for t in told] == [True, False]
    torch.testing.assert_close(wide, dispatch.attention(x, x, x, causal()), rtol=0, atol=0)
    assert not torch.equal(wide[:, :, 63], narrow[:, :, 63])


def test_shared_key_heads_are_folded_where_no_mask_tells_queries_apart(no_own_table: Path) -> None:
    write(no_own_table, cpu_float32_forward=entry(0))
    q, k = torch.zeros(1, 8, 512, 64), torch.zeros(1, 2, 512, 64)
    row, rows = torch.ones(1, 1, 1, 512, dtype=torch.bool), torch.ones(512, 512, dtype=torch.bool)
    assert [choose(q, k, k, m) for m in (None, row[0, 0], row[0, 0, 0], row)] == [FUSED] * 4
    assert [choose(q, k, k, m) for m in (rows, row.expand(1, 8, 1, 512), causal())] == [DEFAULT] * 3


def test_a_mask_that_wants_a_gradient_stays_with_torch() -> None:
    mask = torch.zeros(4096, requires_grad=True)
    assert choose(LONG[0], LONG[0], LONG[0], mask) == DEFAULT
    assert choose(LONG[0], LONG[0], LONG[0], mask.detach()) == FUSED


def test_a_class_that_nobody_measured_is_left_to_torch() -> None:
    x = torch.zeros(1, 2, 4096, 8, dtype=torch.float8_e4m3fn)
    assert choice.entry_of(x, x, x) is None and choose(x, x, x, sliding_window(2)) == DEFAULT


@pytest.mark.parametrize("which", [(0, 1, 2), (0,), (1,), (2,)])
def test_directions_are_classes_of_their_own(which: tuple[int, ...], no_own_table: Path) -> None:
    """A gradient that one of the three wants is one of the call."""
    write(no_own_table, cpu_float32_both=entry(1e18))
    query, key, value = (torch.zeros(2, 4096, 8, requires_grad=k in which) for k in range(3))
    assert choose(query, key, value, None) == DEFAULT
    with torch.no_grad():
        assert choose(query, key, value, None) == FUSED


@pytest.mark.parametrize(("instructions", "name"), [("AVX2", "avx2"), ("AVX512", "avx512"), ("DEFAULT", "avx512")])
def test_the_shipped_table_is_that_of_the_instructions(
    instructions: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other instructions than those that were measured get what shipped first."""
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: instructions)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True}, raising=False)
    choice.forget()
    assert choice.find_shipped_table().name == f"tuning_{name}.json" and choice.table() == choice.read_table(
        choice.find_shipped_table()
    )
    long = torch.zeros(1, 4, 512, 64, dtype=torch.bfloat16, requires_grad=True)
    assert (choice.computed_in(long, long, long) == torch.float32) is (name == "avx2")


@pytest.mark.parametrize("limited_to", ["AVX2", "AVX512"])
@pytest.mark.parametrize(
    ("instruction", "dtype", "other"),
    [
        ("avx512_fp16", torch.float16, torch.bfloat16),
        ("amx_fp16", torch.float16, torch.bfloat16),
        ("fp16_arith", torch.float16, torch.bfloat16),
        ("amx_bf16", torch.bfloat16, torch.float16),
        ("bf16", torch.bfloat16, torch.float16),
        ("sve_bf16", torch.bfloat16, torch.float16),
    ],
)
def test_products_that_no_shipped_table_was_measured_with_are_used(
    instruction: str,
    dtype: torch.dtype,
    other: torch.dtype,
    limited_to: str,
    monkeypatch: pytest.MonkeyPatch,
    no_own_table: Path,
) -> None:
    """Whatever torch's own code is limited to. The user's own table was measured with them, and holds."""
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: limited_to)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True, instruction: True}, raising=False)
    choice.forget()
    with_, without = (torch.zeros(1, 4, 128, 64, dtype=t, requires_grad=True) for t in (dtype, other))
    assert choice.computed_in(with_, with_, with_) == dtype
    assert choice.computed_in(without, without, without) == torch.float32
    no_own_table.write_bytes(choice.find_shipped_table().read_bytes())
    choice.forget()
    assert choice.computed_in(with_, with_, with_) == torch.float32


@pytest.mark.parametrize(("instructions", "dtype"), [("AVX2", torch.float32), ("AVX512", torch.bfloat16)])
def test_an_older_torch_does_not_tell_of_its_products(
    instructions: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch, no_own_table: Path
) -> None:
    """With AVX2 alone there are none."""
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: instructions)
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    choice.forget()
    short = torch.zeros(1, 4, 128, 64, dtype=torch.bfloat16, requires_grad=True)
    assert choice.computed_in(short, short, short) == dtype


def test_the_shipped_table_names_every_class_of_the_cpu() -> None:
    dtypes, directions = ("float64", "float32", "bfloat16", "float16"), ("forward", "both")
    assert set(choice.read_table(choice.SHIPPED["AVX512"])) == set(choice.read_table(choice.SHIPPED["AVX2"]))
    assert set(choice.read_table(choice.find_shipped_table())) >= {f"cpu/{t}/{d}" for t in dtypes for d in directions}
    for name in (DEFAULT, FUSED, SPARSE, "core:upcast"):
        assert kernel(name).expected == "conforms"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ("[]", "not a tuning table of format 2"),
        ('{"format": 1, "classes": {}}', "not a tuning table of format 2"),
        ('{"format": 2, "classes": {"cpu/float32/forward": {"groups": 1}}}', "needs a number for each of decoding"),
        (json.dumps({"format": 2, "classes": {"x": {**entry(1), "piece": "1"}}}), "class 'x' needs a number"),
        *(
            (json.dumps({"format": 2, "classes": {"x": {**entry(1), "piece": wrong}}}), "all finite, none below 0")
            for wrong in (float("nan"), float("inf"), -5, True)
        ),
    ],
)
def test_a_table_that_is_none_is_said_and_not_used(text: str, words: str, no_own_table: Path) -> None:
    no_own_table.write_text(text)
    with pytest.raises(ValueError, match=words):
        choice.read_table(no_own_table)
    with pytest.warns(UserWarning, match=f"the shipped tuning is used: .*{words}"):
        assert choose(LONG[0], LONG[0], LONG[0], causal()) in (DEFAULT, FUSED, SPARSE)


def test_a_table_that_cannot_be_read_is_said_and_not_used(no_own_table: Path) -> None:
    no_own_table.mkdir()
    with pytest.warns(UserWarning, match="the shipped tuning is used: "):
        assert choose(LONG[0], LONG[0], LONG[0], causal()) == FUSED


def test_a_table_that_cannot_be_looked_for_is_said_and_not_used(
    monkeypatch: pytest.MonkeyPatch, no_own_table: Path
) -> None:
    monkeypatch.setenv("ATTENTION_CORE_TUNING", "x" * 5000)
    with pytest.warns(UserWarning, match="the shipped tuning is used: .*File name too long"):
        assert choose(LONG[0], LONG[0], LONG[0], causal()) == FUSED


def test_a_user_without_a_home_has_the_shipped_table(monkeypatch: pytest.MonkeyPatch, no_own_table: Path) -> None:
    """As in a container that runs under a number that no user has; nothing is to be said about it at every start."""
    monkeypatch.delenv("ATTENTION_CORE_TUNING")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert choose(LONG[0], LONG[0], LONG[0], causal()) == FUSED


def homeless() -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_where_the_own_table_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTION_CORE_TUNING", "/somewhere/t.json")
    assert choice.tuning_file() == Path("/somewhere/t.json")
    monkeypatch.delenv("ATTENTION_CORE_TUNING")
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert choice.tuning_file() == Path("/c/attention-core/tuning.json")
