"""attention_core.bench.tune: planted costs are found again, on a clock that knows them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

from attention_core.bench import tune
from attention_core.bench.cli import bench
from attention_core.bench.timing.sampling import StoppingRule, sample
from attention_core.declaration.implementation import TargetError
from attention_core.dispatch import tables as choice
from attention_core.masking import sliding_window
from attention_core.masking.pieces import plan

TIMING = StoppingRule(seconds=1.0, least=8, most=8)


class Counting:
    """A clock on which a call costs what a stand-in kernel says."""

    resolution = 1e-9

    def time(self, function: Callable[[], Any], count: int) -> float:
        return count * float(function())


def stand_in(cost: Callable[..., float]) -> Callable[..., Any]:
    return lambda *inputs, **options: cost(*inputs, **options)


@pytest.mark.parametrize("overhead", [0.0, 1e6, 5e6])
def test_the_work_from_which_a_fixed_cost_pays_is_found(monkeypatch: pytest.MonkeyPatch, overhead: float) -> None:
    """Fused costs half as much for each unit of work and `overhead` more at once: it pays from 2 overhead on."""
    monkeypatch.setattr(
        tune, "scaled_dot_product_attention", stand_in(lambda q, k, v, **_: 1e-9 * choice.work_of(q, k, v))
    )
    monkeypatch.setattr(
        tune, "fused_attention", stand_in(lambda q, k, v, **_: 1e-9 * (choice.work_of(q, k, v) / 2 + overhead))
    )
    found = tune.crossover("axes", torch.float32, False, Counting(), TIMING)
    works = [choice.work_of(*tune.fallback("axes", n, torch.float32)) for n in tune.LADDER]
    slower = [w for w in works if w / 2 + overhead >= w]
    assert found == max([choice.LEAST, *(1.01 * w for w in slower)])


def test_what_never_pays_is_never_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, cost in (("scaled_dot_product_attention", 1e-3), ("fused_attention", 2e-3)):
        monkeypatch.setattr(tune, name, stand_in(lambda *_, cost=cost, **__: cost))
    assert tune.crossover("decoding", torch.float32, False, Counting(), TIMING) == tune.NEVER


@pytest.mark.parametrize(
    ("why", "longest", "grouped"), [("decoding", 4096, True), ("groups", 512, True), ("axes", 512, False)]
)
def test_decoding_is_measured_at_longer_lengths_and_shared_heads_are_said(
    monkeypatch: pytest.MonkeyPatch, why: str, longest: int, grouped: bool
) -> None:
    seen: list[tuple[int, bool]] = []

    def fused(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, enable_gqa: bool = False) -> float:
        seen.append((key.shape[-2], enable_gqa))
        return 1e-3

    monkeypatch.setattr(tune, "fused_attention", fused)
    monkeypatch.setattr(tune, "scaled_dot_product_attention", stand_in(lambda *_, **__: 2e-3))
    assert tune.crossover(why, torch.float32, False, Counting(), TIMING) == choice.LEAST
    assert max(seen) == (longest, grouped) and {said for _, said in seen} == {grouped}


def test_a_dtype_that_a_kernel_refuses_is_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: Any, **__: Any) -> Any:
        raise RuntimeError("not implemented")

    monkeypatch.setattr(tune, "fused_attention", refuses)
    monkeypatch.setattr(tune, "scaled_dot_product_attention", stand_in(lambda *_, **__: 1e-3))
    assert tune.crossover("axes", torch.float32, False, Counting(), TIMING) == tune.NEVER


@pytest.mark.parametrize(
    ("faster", "found"),
    [((64, 128, 256), (64.0, 256.0)), ((64, 256), (64.0, 64.0)), ((16, 128), (128.0, 128.0)), ((), (0.0, 0.0))],
)
def test_lengths_at_which_the_unfused_kernel_is_faster(
    monkeypatch: pytest.MonkeyPatch, faster: tuple[int, ...], found: tuple[float, float]
) -> None:
    """A gap ends them; at 16 there is too little work to look (4 heads of 64: 131,072, and half of it does not count)."""

    def of(name: str) -> Callable[..., float]:
        return lambda q, *_, **__: 1e-3 if (name == choice.UNFUSED) == (q.shape[2] in faster) else 2e-3

    monkeypatch.setattr(tune, "load", of)
    monkeypatch.setattr(tune, "LEAST", 2e5)
    assert tune.short_lengths(torch.bfloat16, False, Counting(), TIMING) == found


def planted(monkeypatch: pytest.MonkeyPatch, pairs_per_piece: float, slower: float) -> None:
    """A piece costs as many attended pairs of a mask written out, each pair of it `slower` times one of these.

    In pieces of 256 queries twice as much. A masked pair written out costs three tenths, one without a mask a half.
    """

    def pieces(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any, block: int) -> float:
        cut = plan(mask, query.shape[-2], key.shape[-2], block)
        return 1e-9 * block / 128 * (slower * cut.pairs + pairs_per_piece * len(cut.pieces))

    def whole(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any = None) -> float:
        pairs = query.shape[-2] * key.shape[-2]
        return 1e-9 * (0.5 * pairs if mask is None else 0.3 * pairs + 0.7 * float(mask.sum()))

    monkeypatch.setattr(tune, "block_sparse_attention", stand_in(pieces))
    monkeypatch.setattr(tune, "scaled_dot_product_attention", stand_in(whole))


@pytest.mark.parametrize("slower", [1.5, 3.0])
@pytest.mark.parametrize("pairs_per_piece", [5_000.0, 50_000.0])
def test_the_costs_of_pieces_and_of_their_pairs_are_found(
    monkeypatch: pytest.MonkeyPatch, pairs_per_piece: float, slower: float
) -> None:
    planted(monkeypatch, pairs_per_piece, slower)
    work = choice.work_of(*tune.fallback("", tune.LENGTH, torch.float32)) / tune.LENGTH**2
    assert tune.piece_costs(torch.float32, False, Counting(), TIMING) == pytest.approx(
        {"piece": pairs_per_piece * work, "rate": slower, "wide_piece": 2 * pairs_per_piece * work,
         "wide_rate": 2 * slower, "masked": 0.3, "open": 0.5}, rel=1e-6,
    )  # fmt: skip


def test_each_of_the_functions_about_pieces_has_the_time_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, 1.0, 1.0)
    seen: list[tuple[int, float]] = []

    def noting(functions: Any, clock: Any, timing: StoppingRule, **options: Any) -> Any:
        seen.append((len(functions), timing.seconds))
        return sample(functions, clock, timing, **options)

    monkeypatch.setattr(tune, "sample", noting)
    tune.piece_costs(torch.float32, False, Counting(), TIMING)
    assert seen == [(7, 7 * TIMING.seconds)]


def test_pieces_that_seem_to_cost_nothing_cost_the_least(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise: a wide window took less time than its pairs tell. What is left is the cost of the call as a whole."""
    planted(monkeypatch, 0.0, 1.0)
    monkeypatch.setattr(
        tune, "block_sparse_attention", stand_in(lambda *inputs, block: 1e-9 if inputs[3].W > 500 else 1e-3)
    )
    found = tune.piece_costs(torch.float32, False, Counting(), TIMING)
    pairs = plan(sliding_window(tune.WINDOWS[0], "bottom_right"), tune.ROWS, tune.LENGTH, 128).pairs
    assert found["piece"] == choice.LEAST
    assert found["rate"] == pytest.approx(1e-3 / 1e-9 / pairs)


@pytest.mark.parametrize(("seconds", "found"), [(1.0, 1.0), (1e-6, 0.0)])
def test_a_masked_pair_costs_at_most_what_an_attended_one_costs(
    monkeypatch: pytest.MonkeyPatch, seconds: float, found: float
) -> None:
    """Noise, too: a window written out took longer than all pairs, or nothing at all."""
    planted(monkeypatch, 1.0, 1.0)

    def whole(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any = None) -> float:
        return 1e-3 if mask is None or mask.all() else seconds

    monkeypatch.setattr(tune, "scaled_dot_product_attention", stand_in(whole))
    assert tune.piece_costs(torch.float32, False, Counting(), TIMING)["masked"] == found


@pytest.mark.parametrize("why", choice.WHY)
def test_inputs_are_those_that_fall_back(why: str) -> None:
    inputs = tune.fallback(why, 32, torch.float32)
    assert choice.falls_back(*inputs) == why
    result = tune.call(tune.fused_attention, inputs, True, **({"enable_gqa": True} if inputs[0].ndim == 4 else {}))()
    assert [g.shape for g in result] == [x.shape for x in inputs]
    assert choice.falls_back(*tune.fallback("", 32, torch.float32)) is None


def test_every_class_is_a_row_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune, "call", lambda function, inputs, gradients, *args, **options: lambda: 1e-3)
    found = dict(tune.tune("cpu", Counting(), 0.01, ("float32",)))
    assert set(found) == {"cpu/float32/forward", "cpu/float32/both"}
    every = {*choice.NUMBERS, *choice.OPTIONAL}
    assert all(set(numbers) == every - {*choice.UPCAST} for numbers in found.values())
    assert all(set(numbers) == every for _, numbers in tune.tune("cpu", Counting(), 0.01, ("float16",)))
    with pytest.raises(ValueError, match="only the processor is tuned"):
        next(tune.tune("cuda", Counting()))


def test_each_pair_has_the_time_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[StoppingRule] = []
    monkeypatch.setattr(tune, "crossover", lambda *args: plans.append(args[4]) or 1.0)
    monkeypatch.setattr(tune, "short_lengths", lambda *args: plans.append(args[3]) or (0.0, 0.0))
    monkeypatch.setattr(tune, "piece_costs", lambda *args: plans.append(args[3]) or {"piece": 123456.0})
    ((_, numbers), _) = tune.tune("cpu", Counting(), 0.125, ("float32",))
    assert {p.seconds for p in plans} == {0.125}
    assert numbers["piece"] == 123000.0, "three digits are kept"


@pytest.mark.parametrize("block", choice.BLOCKS)
def test_two_windows_leave_rectangles_of_two_widths(block: int) -> None:
    """All with a mask, as many of them: else the two equations would be of other things than pairs and pieces."""
    masks = [sliding_window(W, "bottom_right") for W in tune.WINDOWS]
    few, many = (plan(m, tune.ROWS, tune.LENGTH, block) for m in masks)
    assert len(few.pieces) == len(many.pieces) == tune.ROWS // block and many.pairs > 3 * few.pairs
    assert {piece.kind for piece in (*few.pieces, *many.pieces)} == {"masked"}


def test_what_is_likely_continues_a_range_and_does_not_begin_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 64 it is certain, at the others the interval holds 1; and 2 % are not worth the memory of float32."""
    wide = {
        32: (0.5, 0.1, 9.0),
        64: (0.8, 0.7, 0.9),
        128: (0.9, 0.6, 1.2),
        512: (1.02, 0.7, 1.3),
        1024: (0.5, 0.0, 9.0),
    }
    asked: list[int] = []

    def compared(times: Any, others: Any) -> Any:
        ratio, low, high = wide.get(asked[-1], (0.98, 0.97, 0.99))
        return type("Comparison", (), {"ratio": ratio, "low": low, "high": high})

    monkeypatch.setattr(tune, "compare", compared)
    monkeypatch.setattr(tune, "sample", lambda functions, *_: type("Found", (), {"times": dict.fromkeys(functions)}))
    monkeypatch.setattr(tune, "fallback", lambda why, n, dtype: asked.append(n) or [torch.zeros(1, 4, n, 64)] * 3)
    half = torch.bfloat16, False, Counting(), TIMING
    assert tune.upcast_lengths(*half) == (64.0, tune.NEVER)
    del wide[1024]
    assert tune.upcast_lengths(*half) == (64.0, 128.0)
    wide[512] = (1.1, 1.01, 1.2)
    wide[1024] = (0.5, 0.4, 0.6)
    assert tune.upcast_lengths(*half) == (64.0, 128.0), "slower for certain between"


@pytest.mark.parametrize(
    ("costs", "found"),
    [
        ({}, (64.0, tune.NEVER)), ({"from": 1024}, (1024.0, tune.NEVER)), ({"to": 256}, (64.0, 256.0)),
        ({"from": 2048}, (0.0, 0.0)), ({"unfused": {128}}, (64.0, 64.0)), ({"unfused": {64, 128}}, (256.0, tune.NEVER)),
        ({"unfused": {1024}}, (64.0, tune.NEVER)),
    ],
)  # fmt: skip
def test_lengths_at_which_halves_are_faster_in_float32(
    monkeypatch: pytest.MonkeyPatch, costs: dict[str, Any], found: tuple[float, float]
) -> None:
    """Half as long between two lengths; the unfused kernel a quarter as long, and never asked beyond the ladder."""

    def fused(q: torch.Tensor, *_: Any, **__: Any) -> float:
        return 2e-3

    def upcast(q: torch.Tensor, *_: Any, **__: Any) -> float:
        return 1e-3 if costs.get("from", 64) <= q.shape[2] <= costs.get("to", 1024) else 3e-3

    def unfused(q: torch.Tensor, *_: Any, **__: Any) -> float:
        assert q.shape[2] <= 512, "its memory is quadratic"
        return 5e-4 if q.shape[2] in costs.get("unfused", ()) else 4e-3

    kernels = {choice.DEFAULT: fused, tune.IN_FLOAT32: upcast, choice.UNFUSED: unfused}
    monkeypatch.setattr(tune, "_kernel", kernels.__getitem__)
    assert tune.upcast_lengths(torch.bfloat16, False, Counting(), TIMING) == found


def test_what_is_tuned_is_kept_and_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Classes of other dtypes stay; a run that ends early keeps what it measured."""
    own = tmp_path / "folder" / "tuning.json"
    monkeypatch.setenv("ATTENTION_CORE_TUNING", str(own))
    numbers = dict.fromkeys(choice.NUMBERS, 7.0)

    def ends(*_: Any, dtypes: tuple[str, ...], **__: Any) -> Any:
        yield f"cpu/{dtypes[0]}/forward", numbers
        if dtypes[0] == "float64":
            raise KeyboardInterrupt

    x = torch.zeros(1, 1, 2, 2)
    choice.forget()
    assert choice.entry_of(x, x, x) != numbers, "known before, and read again"
    monkeypatch.setattr(tune, "tune", ends)
    threads: list[int] = []
    monkeypatch.setattr("torch.set_num_threads", threads.append)
    assert tune.keep_tuning("cpu", ["float32"]) == own
    assert threads == [1], "what is measured is one thread's"
    with pytest.raises(KeyboardInterrupt):
        tune.keep_tuning("cpu", ["float64"])
    assert choice.read_table(own) == {"cpu/float32/forward": numbers, "cpu/float64/forward": numbers}
    assert choice.entry_of(x, x, x) == numbers
    choice.forget()


def test_tuning_that_cannot_be_kept_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = tmp_path / "tuning.json"
    own.write_text("{")
    monkeypatch.setenv("ATTENTION_CORE_TUNING", str(own))
    with pytest.raises(TargetError, match=r"cannot tune: .* is not JSON.*; remove that file first"):
        tune.keep_tuning("cpu", ["float32"])
    own.unlink()
    with pytest.raises(TargetError, match="only the processor is tuned"):
        tune.keep_tuning("cuda", ["float32"])
    assert not own.exists()


def test_a_table_that_cannot_be_written_is_told_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tune, "tune", lambda *_, **__: pytest.fail("measured"))
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "fifo")
    for name, why in (("fifo", "it is not a regular file"), ("file/t.json", "Not a directory|File exists")):
        monkeypatch.setenv("ATTENTION_CORE_TUNING", str(tmp_path / name))
        with pytest.raises(TargetError, match=f"cannot tune: .*/{name} cannot be written: ({why})$"):
            tune.keep_tuning("cpu", ["float32"])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fifo", "file"]


def test_without_a_home_folder_a_tuning_says_how_to_name_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ATTENTION_CORE_TUNING", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(TargetError, match="there is no home folder; name a file by ATTENTION_CORE_TUNING"):
        tune.keep_tuning("cpu", ["float32"])


def test_a_link_to_the_table_stays_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("own")
    monkeypatch.setenv("ATTENTION_CORE_TUNING", str(tmp_path / "link"))
    numbers = dict.fromkeys(choice.NUMBERS, 7.0)
    monkeypatch.setattr(tune, "tune", lambda *_, **__: iter([("cpu/float32/forward", numbers)]))
    tune.keep_tuning("cpu", ["float32"])
    assert (tmp_path / "link").is_symlink() and "cpu/float32/forward" in choice.read_table(tmp_path / "own")
    choice.forget()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["torch:flash"], "KERNEL"),
        (["--shapes", "GPT-2", "--gate", "1.05"], "--shapes, --gate"),
        (["--self-test", "3"], "--self-test"),
        (["--json", "r.json"], "--json"),
        (["--seconds", "10"], "--seconds"),
    ],
)
def test_what_tuning_would_not_read_is_refused(words: list[str], named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune, "keep_tuning", lambda *_: pytest.fail("tuned"))
    result = CliRunner().invoke(bench, ["--tune", "--dtype", "float64", *words])
    assert result.exit_code == 2
    assert f"--tune does not go with {named}: it takes --dtype, --device and --quiet\n" in result.stderr


@pytest.mark.parametrize(
    ("words", "tuned"),
    [(["--dtype", "float64"], "float64"), ([], "float32-bfloat16-float16-float64")],
    ids=["one dtype", "all of them"],
)
def test_the_command_tunes(words: list[str], tuned: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tune, "keep_tuning", lambda device, dtypes, told: tmp_path / f"{device}-{'-'.join(dtypes)}")
    result = CliRunner().invoke(bench, ["--tune", *words])
    assert result.exit_code == 0 and f"cpu-{tuned} from now on" in result.output.replace("\n", "")
