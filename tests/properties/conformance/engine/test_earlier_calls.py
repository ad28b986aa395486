"""Where the cause of what is refuted is state between calls, no convention is proposed, and all laws are judged."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.engine.earlier_calls import depends_on_earlier_calls
from attention_core.conformance.engine.second_judgement import STATE
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.engine.verify import open_session, verify_target
from attention_core.conformance.report.law_result import NOT_RUN
from attention_core.faults.bases.reference import correct

KEPT = '''
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

kept = {}


def by_shape(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False):
    """The first mask of a shape serves all later calls."""
    if attn_mask is not None:
        attn_mask = kept.setdefault((attn_mask.shape, attn_mask.dtype), attn_mask)
    return scaled_dot_product_attention(query, key, value, attn_mask, 0.0, is_causal)


def by_size(query: Tensor, key: Tensor, value: Tensor):
    """The keys of the first call of some sizes serve all later ones."""
    return scaled_dot_product_attention(query, kept.setdefault((key.shape, key.dtype), key.clone()), value)


def rounded(query: Tensor, key: Tensor, value: Tensor):
    """No state: keys have lost a bit or two."""
    return scaled_dot_product_attention(query, (key * 64).round() / 64, value)
'''


@pytest.fixture
def kept(tmp_path: Path) -> str:
    file = tmp_path / "kept.py"
    file.write_text(KEPT, encoding="utf-8")
    return str(file)


def cast_once() -> object:
    """Keys of two bytes are cast once for each place in memory, which stays theirs: numbers written there are not seen."""
    wide: dict[tuple[int, torch.Size], tuple[Tensor, Tensor]] = {}

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if key.dtype in (torch.float16, torch.bfloat16) and not key.requires_grad:
            key = wide.setdefault((key.data_ptr(), key.shape), (key, key.clone()))[1]
        return correct(query, key, value)

    return attention


@pytest.mark.usefixtures("unshrunk")
def test_half_precision_is_not_left_out_for_a_cache_of_addresses() -> None:
    report = check_implementation(Implementation(cast_once(), "f"), "quick")
    assert [r.law for r in report.with_status("refuted")] == ["arrays_written_into_are_read_anew"]
    assert not [line for line in report.advice if "--dtype" in line]


@pytest.mark.thorough
@pytest.mark.usefixtures("fewest_cases")
def test_no_mask_is_left_out_for_a_cache_of_shapes_and_all_laws_are_judged(kept: str) -> None:
    report = verify_target(f"{kept}:by_shape", {"dtypes": ("float32",)}, effort="quick", shrink=False)
    assert report.verdict == "refuted" and report.under_found is None
    assert report.first_look is not None and report.first_look.lines == (STATE,)
    assert report.advice[0].startswith(STATE) and not [line for line in report.advice if "--masks" in line]
    assert not [r.law for r in report.laws if r.message.startswith(NOT_RUN)]


@pytest.mark.parametrize(("name", "law"), [("by_size", "agrees_with_truth"), ("rounded", "")])
def test_a_new_process_tells_state_from_rounding(kept: str, name: str, law: str) -> None:
    with open_session(
        f"{kept}:{name}", {"dtypes": ("float32",)}, effort="quick", shrink=False, seed=0, timeout=60.0
    ) as session:
        results = [session.run(one) for one in select_laws(session.laws, ["agrees_with_truth"])]
        assert [r.status for r in results] == ["refuted"]
        assert depends_on_earlier_calls(session, results) == law


def test_what_holds_depends_on_nothing() -> None:
    declared = Implementation(scaled_dot_product_attention, "f", dtypes=("float32",))
    with Session(declared, effort="quick") as session:
        results = [session.run(one) for one in select_laws(session.laws, ["agrees_with_truth"])]
        assert depends_on_earlier_calls(session, results) == ""
