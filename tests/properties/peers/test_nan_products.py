"""attention_core.peers.nan_products: what depends on the processor's product is not judged where it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from attention_core.conformance.engine.verify import verify_target
from attention_core.peers import nan_products


def test_a_row_of_nan_in_float32_is_kept_by_every_processor() -> None:
    weights = torch.zeros(59, 7)
    weights[46] = torch.nan
    assert (weights @ torch.zeros(7, 10)).isnan().any(-1).nonzero().flatten().tolist() == [46]


@pytest.mark.parametrize("keeps", [True, False])
def test_bfloat16_is_left_out_where_nan_leaves_its_row(monkeypatch: pytest.MonkeyPatch, keeps: bool) -> None:
    def adapter() -> None: ...

    monkeypatch.setattr(nan_products, "keeps_nan_in_its_row", lambda: keeps)
    nan_products.leave_out_bfloat16(adapter)
    assert adapter.dtypes_left_out == ({} if keeps else {"bfloat16": nan_products.SPREADS})  # type: ignore[attr-defined]


@pytest.mark.parametrize("what", ["{'bfloat16': 'no unit for it'}", "('bfloat16',)"])
def test_a_report_says_which_dtype_is_left_out(tmp_path: Path, what: str) -> None:
    """And an attribute of that name that is something else leaves nothing out."""
    (tmp_path / "own.py").write_text(
        "import torch\n\ndef own(query, key, value):\n"
        "    return torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1) @ value\n\n"
        f"own.dtypes_left_out = {what}\n"
    )
    report = verify_target(f"{tmp_path}/own.py:own", {}, laws=["agrees_with_truth"], effort="quick")
    assert ("bfloat16" in report.declared["dtypes"]) == (what[0] == "(")
    assert ("bfloat16 is left out: no unit for it" in report.notes) == (what[0] == "{")
