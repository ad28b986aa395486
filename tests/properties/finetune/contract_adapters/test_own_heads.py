"""finetune.contract_adapters.own_heads: our measures of heads, gates and pruning conform to their contract."""

from __future__ import annotations

from judging_contracts import conforming

from finetune.contract_adapters.own_heads import heads


def test_ours_conform() -> None:
    results = conforming(heads, "head-importance")
    assert {r.status for r in results.values()} == {"held"}
