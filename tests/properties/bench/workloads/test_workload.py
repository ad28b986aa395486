"""Workloads.

What a workload counts before anything is allocated, and the shapes and directions that it refuses.
"""

from __future__ import annotations

import io

import pytest

from attention_core.bench.workloads import workload as module
from attention_core.bench.workloads.masks import read_mask
from attention_core.bench.workloads.workload import Workload, as_gib, machine_memory
from attention_core.declaration.implementation import TargetError


def test_counts_of_a_known_case() -> None:
    w = Workload(B=2, H=4, H_kv=2, n_q=3, n_kv=5, d=7, d_v=11, dtype="bfloat16")
    assert w.pairs == 2 * 4 * 15
    assert w.flops == 2 * w.pairs * 18
    assert w.elements == (2 * 4 * 3 * 7, 2 * 2 * 5 * 7, 2 * 2 * 5 * 11, 2 * 4 * 3 * 11)
    assert w.bytes == 2 * sum(w.elements)
    back = Workload(**{**_sizes(w), "direction": "bwd"})
    assert back.flops == 3 * w.flops
    assert back.bytes == 3 * w.bytes  # twice what the forward moves, for the backward


@pytest.mark.parametrize(("mask", "written"), [("none", 0), ("bool", 3 * 5), ("causal", 3 * 5), ("bias", 2 * 3 * 5)])
def test_memory_of_a_known_case(mask: str, written: int) -> None:
    """Two bytes a number, and eight where an input is drawn."""
    query, key, value, out = 2 * 4 * 3 * 7, 2 * 2 * 5 * 7, 2 * 2 * 5 * 11, 2 * 4 * 3 * 11
    sizes = {"B": 2, "H": 4, "H_kv": 2, "n_q": 3, "n_kv": 5, "d": 7, "d_v": 11, "dtype": "bfloat16"}
    forward = (2 + 8) * (query + key + value) + 2 * out + written
    assert Workload(**sizes, mask=read_mask(mask)).memory == forward
    # The three gradients, that of the output, and the output of the pass that is differentiated.
    backward = 2 * (query + key + value) + 2 * out + 2 * out
    assert Workload(**sizes, mask=read_mask(mask), direction="bwd").memory == forward + backward


def _sizes(w: Workload) -> dict[str, object]:
    return {name: getattr(w, name) for name in ("B", "H", "H_kv", "n_q", "n_kv", "d", "d_v", "dtype")}


def test_masks_take_work_away_and_tensors_add_bytes() -> None:
    plain = Workload(n_q=64, n_kv=64)
    causal = Workload(n_q=64, n_kv=64, mask=read_mask("causal"))
    assert causal.pairs == 8 * 65 * 32
    assert causal.bytes == plain.bytes
    assert Workload(n_q=64, n_kv=64, mask=read_mask("bool")).bytes == plain.bytes + 64 * 64
    assert Workload(n_q=64, n_kv=64, mask=read_mask("bias")).bytes == plain.bytes + 4 * 64 * 64


def test_defaults_of_grouped_heads_and_value_size() -> None:
    w = Workload(H=6, d=32)
    assert (w.H_kv, w.d_v) == (6, 32)


def test_what_does_not_fit_is_refused_with_its_figure() -> None:
    w = Workload(n_q=10**6, n_kv=10**6, mask=read_mask("bool"))
    assert w.memory > 10**12
    with pytest.raises(TargetError, match=r"needs at least 9\d\d\.\d GiB, and .* may be filled here"):
        w.check_memory()
    Workload(n_q=16, n_kv=16).check_memory()
    with pytest.raises(TargetError, match="may be filled here"):
        Workload(n_q=16, n_kv=16).check_memory(available=100)


def test_json_comes_back() -> None:
    w = Workload(n_q=3, n_kv=5, H=4, H_kv=2, dtype="float16", mask=read_mask("causal+segments:2"), direction="bwd",
                 label="a label", seed=3)  # fmt: skip
    assert Workload.from_json(w.to_json()) == w
    assert w.to_json()["counts"]["pairs"] == w.pairs


def test_the_key_tells_workloads_apart() -> None:
    seen = [Workload(), Workload(H=4), Workload(dtype="float64"), Workload(direction="bwd"), Workload(seed=1),
            Workload(mask=read_mask("causal")), Workload(d_v=3), Workload(form="5d")]  # fmt: skip
    assert len({w.key() for w in seen}) == len(seen)
    assert Workload(label="x").key() == Workload().key()


def test_names() -> None:
    w = Workload(H=32, H_kv=8, n_q=1, n_kv=64, d=128, mask=read_mask("window:8"), label="model", dtype="bfloat16")
    assert w.name() == "model: B=1 H=32/8 n_q=1 n_kv=64 d=128 bfloat16 fwd mask window:8"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"B": -1}, "B=-1 is not a whole number"),
        ({"n_q": 0}, "n_q=0 is not a whole number"),
        ({"H": 6, "H_kv": 4}, "H=6 query heads are not a multiple of H_kv=4"),
        ({"dtype": "float8"}, "dtype 'float8' is not one of float32"),
        ({"direction": "sideways"}, "direction 'sideways' is not one of fwd, bwd"),
        ({"n_q": 8, "n_kv": 4, "mask": read_mask("causal")}, "leaves queries without a key"),
        ({"form": "4d"}, "form '4d' is not one of plain, 3d"),
        ({"form": "3d", "B": 2}, "form 3d has no batch axis, and B=2"),
        ({"d": True}, "d=True is not a whole number"),
    ],
)
def test_impossible_shapes(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(TargetError) as found:
        Workload(**wrong)
    assert words in str(found.value)


def test_figures_for_people() -> None:
    assert [as_gib(x) for x in (10, 2048, 3 * 2**20, 5.5 * 2**30)] == ["10 B", "2.0 KiB", "3.0 MiB", "5.5 GiB"]
    assert machine_memory() > 2**20


def test_a_cell_may_fill_three_quarters_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    w = Workload(n_q=16, n_kv=16)
    monkeypatch.setattr(module, "machine_memory", lambda: int(w.memory / 0.74))
    w.check_memory()
    monkeypatch.setattr(module, "machine_memory", lambda: int(w.memory / 0.76))
    with pytest.raises(TargetError, match="may be filled here"):
        w.check_memory()


def test_a_container_has_the_memory_that_it_is_held_to(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = machine_memory()
    for text, memory in (("4096\n", 4096), ("max\n", None), (f"{10**18}\n", None)):
        monkeypatch.setattr("builtins.open", lambda *_, text=text, **__: io.StringIO(text))
        found = machine_memory()
        monkeypatch.undo()
        assert found == memory or (memory is None and found >= whole)
