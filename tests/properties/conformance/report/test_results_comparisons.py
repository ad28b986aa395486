"""No output compared with a truth, no "conforms": in every contract."""

from __future__ import annotations

from typing import Any

import pytest
from torch import Tensor, nn

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.contracts import contracts
from attention_core.conformance.engine.joint_results import explain_no_comparison
from attention_core.conformance.engine.session import Session
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.subjects.law import with_comparisons
from attention_core.kernels.dot_product import dot_product_attention

pytestmark = pytest.mark.usefixtures("fewest_cases")

CONTRACTS = contracts()


def results(contract: str, judged: bool) -> list[LawResult]:
    """Results of a run in which all laws held, those that compare only if `judged`."""
    found = []
    for law in CONTRACTS[contract].laws:
        away = law.compares and not judged
        found.append(LawResult(law.name, "not_applicable" if away else "held", 0 if away else 3, 0.0, None, "it hides"))
    return found


@pytest.mark.parametrize("name", CONTRACTS)
def test_every_contract_compares_and_says_where_nothing_was_compared(name: str) -> None:
    laws = CONTRACTS[name].laws
    assert any(law.compares for law in laws)
    assert all(law.compares for law in laws if law.central)
    assert explain_no_comparison(laws, results(name, judged=True)) == ""
    told = explain_no_comparison(laws, results(name, judged=False))
    assert told.startswith("no output was compared with a truth, because of ")
    assert told.endswith(": it hides")


class Unreadable(nn.Module):
    """Attention whose projections nobody recognises, with its scale tripled (DeepSeek's MLA went through so)."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.heads = num_heads
        self.down = nn.Linear(embed_dim, 3, bias=False)
        self.up = nn.Linear(3, 3 * embed_dim, bias=False)

    def forward(self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.up(self.down(x)).chunk(3, -1))
        scale = 3 * q.shape[-1] ** -0.5
        return dot_product_attention(q, k, v, attn_mask, is_causal=is_causal, scale=scale).transpose(1, 2).flatten(2)


def test_a_module_that_no_law_can_compare_does_not_conform() -> None:
    report = check_implementation(Implementation(Unreadable, name="mla", contract="multi-head"), "quick")
    assert report.verdict == "incomplete"
    assert "no output was compared with a truth, because of heads_attend_as_the_formula_says" in report.reason()


def detached(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None) -> Any:
    out, lse = dot_product_attention(q, k, v, attn_mask, return_lse=True)
    return out, lse.detach()


def test_a_log_sum_exp_without_gradient_is_named() -> None:
    declared: dict[str, Any] = {"dtypes": ("float32",), "masked_nan": "ignored", "mask_gradient": True}
    with Session(Implementation(detached, contract="attention-lse", **declared), effort="quick") as session:
        results = list(session.results(session.laws))
        report = session.report(results)
        session.implementation = session.implementation.with_(untested=("lse_gradient",))
        accepted = session.report(results)
    assert (report.verdict, report.untested) == ("incomplete", ["lse_gradient"])
    assert (accepted.verdict, accepted.accepted_untested) == ("conforms", ["lse_gradient"])


def test_laws_without_a_comparison_make_no_contract() -> None:
    laws = [law for law in CONTRACTS["rotary"].laws if not law.compares]
    with pytest.raises(ValueError, match="compares an output with a truth"):
        with_comparisons(laws)
    with pytest.raises(ValueError, match="no law 'nonsense'"):
        with_comparisons(laws, "nonsense")


@pytest.mark.parametrize(
    ("contract", "law"),
    [
        ("attention", "decoding_shapes_are_right"), ("attention", "views_of_wide_heads_change_nothing"),
        ("kv-cache", "decoding_after_a_long_prompt"), ("kv-cache", "tokens_outlive_the_callers_arrays"),
    ],
)  # fmt: skip
def test_laws_that_hold_outputs_against_the_truth_say_so(contract: str, law: str) -> None:
    assert {one.name: one.compares for one in CONTRACTS[contract].laws}[law]
