"""attention_core.kernels.triton.flash: judged in Triton's interpreter, by the laws that its blocks can break."""

from __future__ import annotations

import sys

import pytest
import torch

from attention_core.conformance.engine.verify import verify_target
from attention_core.kernels.triton.flash import MOST_HEADS, check_block, check_grid, flash_attention

LAWS = {
    "core:triton_flash": ("every_length_around_blocks_is_right", "grouped_gradients_are_summed_over_the_group"),
    "core:triton_flash_lse": ("lse_gradient_is_true",),
}
"""What blocks may break first; `tox run -e verify` has all laws judge both, in every dtype."""


@pytest.mark.thorough(keep=("core:triton_flash-every*",))
@pytest.mark.skipif(sys.platform != "linux", reason="Triton is installed on Linux alone")
@pytest.mark.parametrize(("name", "law"), [(name, law) for name, laws in LAWS.items() for law in laws])
def test_the_kernel_keeps_the_laws_of_its_blocks(name: str, law: str) -> None:
    report = verify_target(name, {"dtypes": ("float32",)}, effort="quick", laws=(law,))
    assert [result.status for result in report.laws] == ["held"]


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"attn_mask": torch.ones(2, 2).bool()}, "no masks and no dropout"),
        ({"dropout_p": 0.5}, "no masks and no dropout"),
        ({"block": 24}, "a power of two of at least 16, got 24"),
        ({"block": 8}, "a power of two of at least 16, got 8"),
    ],
)
def test_what_the_kernel_lacks_is_refused(named: dict[str, object], message: str) -> None:
    x = torch.ones(1, 1, 2, 4)
    with pytest.raises(ValueError, match=message):
        flash_attention(x, x, x, **named)  # type: ignore[call-overload]


def test_float64_and_sizes_that_do_not_fit_are_refused() -> None:
    x = torch.ones(1, 1, 2, 4)
    with pytest.raises(ValueError, match="float64 is not supported"):
        flash_attention(x.double(), x.double(), x.double())
    with pytest.raises(ValueError, match="lengths of key and value differ: 2 and 1"):
        flash_attention(x, x, x[:, :, :1])
    check_block(128)


def test_more_heads_than_a_grid_has_are_refused() -> None:
    check_grid(MOST_HEADS)
    with pytest.raises(
        ValueError, match="65536 heads in all are too many for one call: at most 65535, split the batch"
    ):
        check_grid(MOST_HEADS + 1)
    x = torch.ones(1, 1, 1, 1).expand(MOST_HEADS + 1, 1, 1, 1)
    with pytest.raises(ValueError, match="split the batch"):
        flash_attention(x, x, x)


def test_a_processor_without_the_interpreter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton", reason="Triton is installed on Linux alone")
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    x = torch.ones(1, 1, 2, 4)
    with pytest.raises(RuntimeError, match="need a GPU, or TRITON_INTERPRET=1 set before triton is imported"):
        flash_attention(x, x, x)
