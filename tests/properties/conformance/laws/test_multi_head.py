"""Power and false alarms of the laws of multi-head self-attention.

Laws of multi-head attention: each refutes the fault it names, every fault is refuted, any naming is left in peace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from judging import held, judged, refuted
from judging_contracts import conforming, named_faults, refuting
from torch import Tensor, nn

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.laws import module_calls, module_weights, multi_head
from attention_core.conformance.laws.multi_head import CONTRACT
from attention_core.faults import multi_head as faults
from attention_core.faults import multi_head_masks, multi_head_projections
from attention_core.faults.bases import multi_head as bases
from attention_core.modules.self_attention import MultiHeadSelfAttention, shared_projection_attention
from attention_core.peers.torch_mha_module import mha_module

WEIGHTS = {"weights_flag": "need_weights"}
TRUTH, CAUSAL = "heads_attend_as_the_formula_says", "causal_heads_attend_as_the_formula_says"
MASKED, PATHS = "masked_heads_attend_as_the_formula_says", "the_weights_path_equals_the_fast_path"
RETURNED = "returned_weights_are_those_of_the_heads"
CONTEXT = "heads_attend_to_a_context_as_the_formula_says"
DEAD = "tokens_without_a_key_are_as_declared"
TWO_MASKS = "two_masks_mean_both"
BIASES = "biases_are_added_to_scaled_scores"
SILENT = (
    BIASES, CONTEXT, DEAD, TWO_MASKS, "values_come_from_their_own_input", "inputs_may_be_the_same_tensor",
    "evaluation_drops_nothing",
)  # fmt: skip
"""What modules without a context, a declaration of dead rows or a second mask are not asked."""
RECORDS: dict[str, dict[str, Any]] = {"dead_rows_zeroed_behind_the_projection": {"dead_rows": "zeros"}}
SEEN_BY = {  # one law that must see it
    "projections_kept_by_identity": "inputs_written_into_are_read_anew",
    "mask_kept_for_later_calls": "options_end_with_their_call",
    "bias_scaled_with_the_scores": BIASES,
    "scores_clamped_at_thirty": "large_scores_are_kept",
    "dropped_in_every_mode": "evaluation_drops_nothing",
    "values_read_from_the_key": "values_come_from_their_own_input",
    "self_attention_recognised_by_its_key": "inputs_may_be_the_same_tensor",
    "padding_dropped_beside_a_mask": TWO_MASKS,
    "far_keys_lost_beyond_a_hundred": TRUTH,
    "last_of_twelve_heads_uniform": TRUTH,
    "values_of_the_input_where_lengths_agree": CONTEXT,
    "context_kept_by_its_shape": CONTEXT,
    "mask_repeated_by_heads": MASKED,
    "mask_kept_by_its_shape": MASKED,
    "mask_kept_by_its_place": MASKED,
    "dead_rows_zeroed_behind_the_projection": DEAD,
    "scaled_by_model_size": TRUTH,
    "unscaled": TRUTH,
    "softmax_over_queries": TRUTH,
    "softmax_over_heads": TRUTH,
    "causal_flag_dropped": "later_tokens_are_invisible",
    "causal_needs_a_mask": CAUSAL,
    "causal_lost_on_the_weights_path": PATHS,
    "mask_lost_on_the_weights_path": PATHS,
    "mask_polarity_reversed": MASKED,
    "mask_after_softmax": MASKED,
    "masked_scores_discarded": MASKED,
    "mask_of_sequences_on_heads": MASKED,
    "mask_of_the_first_sequence": MASKED,
    "split_by_view": TRUTH,
    "merge_without_permute": TRUTH,
    "batch_and_heads_mixed": "batch_rows_are_independent",
    "sequence_first_by_view": "batch_rows_are_independent",
    "heads_reversed": TRUTH,
    "head_size_truncated": TRUTH,
    "attention_unused": TRUTH,
    "mode_changes_the_output": "training_without_dropout_is_evaluation",
    "dead_rows_on_the_weights_path": "dead_rows_are_the_same_on_both_paths",
    "causal_in_inference_alone": "training_without_dropout_is_evaluation",
    "causal_mask_of_the_first_length": "lengths_may_change_between_calls",
    "joined_in_one_buffer": "outputs_outlive_the_next_call",
    "joined_in_four_buffers": "outputs_outlive_the_next_call",
    "returned_weights_scaled_by_model_size": RETURNED,
    "returned_weights_of_the_first_head": RETURNED,
    "mask_dropped_beside_causality": "masks_and_causality_mean_both",
    "past_spoiled_by_a_mask": "masks_and_causality_mean_both",
    "context_for_keys_alone": CONTEXT,
    "evaluation_leaves_a_trace": "training_without_dropout_is_evaluation",
}


@pytest.mark.parametrize("law", [*multi_head.LAWS, *module_weights.LAWS, *module_calls.LAWS], ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: multi_head.Law) -> None:
    record = RECORDS.get(law.fault, {})
    refuted(law.name, getattr(faults, law.fault), effort="quick", contract=CONTRACT, parameters=WEIGHTS, **record)


@pytest.mark.thorough(
    table=True, leave_out=named_faults((*multi_head.LAWS, *module_weights.LAWS, *module_calls.LAWS), faults.FAULTY)
)
@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted(fault: Callable[..., Any]) -> None:
    record = RECORDS.get(fault.__name__, {})
    refuted(SEEN_BY[fault.__name__], fault, "quick", contract=CONTRACT, parameters=WEIGHTS, **record)


@pytest.mark.parametrize("seed", range(3))
def test_two_masks_mean_both(seed: int) -> None:
    assert judged(TWO_MASKS, bases.two_masks, seed=seed, contract=CONTRACT).status == "held"
    assert judged(TWO_MASKS, torch_module, seed=seed, contract=CONTRACT, mask_true="ignore").status == "held"


def torch_module(embed_dim: int, num_heads: int) -> nn.Module:
    return nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)


class OneMask(bases.two_masks):
    """Takes one mask at a time, and says so."""

    def together(self, keys: Tensor | None, pairs: Tensor | None) -> Tensor | None:
        if keys is not None and pairs is not None:
            raise ValueError("give one mask")
        return super().together(keys, pairs)


def test_a_module_may_refuse_two_masks_at_once() -> None:
    result = judged(TWO_MASKS, OneMask, contract=CONTRACT)
    assert result.status == "not_applicable"
    assert "the module takes one mask at a time: ValueError: give one mask" in result.message


class Grouped(nn.Module):
    """Fewer heads of keys than of queries."""

    def __init__(self, embed_dim: int, num_heads: int, num_kv_heads: int | None = None) -> None:
        super().__init__()
        self.heads, self.keys, d = num_heads, num_kv_heads or num_heads, embed_dim // num_heads
        self.q_proj, self.o_proj = nn.Linear(embed_dim, embed_dim), nn.Linear(embed_dim, embed_dim)
        self.k_proj, self.v_proj = (nn.Linear(embed_dim, self.keys * d) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        counts = (self.heads, self.keys, self.keys)
        parts = zip((self.q_proj, self.k_proj, self.v_proj), counts, strict=True)
        q, k, v = (f(x).unflatten(-1, (count, -1)).transpose(1, 2) for f, count in parts)
        k, v = (t.repeat_interleave(self.heads // self.keys, 1) for t in (k, v))
        out: Tensor = self.o_proj((self.scores(q, k) @ v).transpose(1, 2).flatten(2))
        return out

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1)


class GroupedOverQueries(Grouped):
    """softmax(dim=-2)."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return (q @ k.mT * q.shape[-1] ** -0.5).softmax(-2)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_a_wrong_module_of_grouped_heads_is_shrunk_and_keeps_a_head_of_keys(seed: int) -> None:
    conforming(Grouped, CONTRACT, seed=seed)
    with Session(Implementation(GroupedOverQueries, "f", CONTRACT), effort="quick", seed=seed) as session:
        (law,) = (law for law in session.laws if law.name == TRUTH)
        result = session.run(law)
    assert result.status == "refuted" and result.counterexample is not None, result.message
    assert result.counterexample.data["sizes"].get("H_kv", 1) >= 1


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_a_module_with_dropout_of_its_own_conforms(seed: int) -> None:
    conforming(bases.with_dropout, CONTRACT, seed=seed, parameters=WEIGHTS)


@pytest.mark.parametrize("law", ["training_without_dropout_is_evaluation", TRUTH])
def test_a_module_with_dropout_of_its_own_is_judged_in_evaluation_mode(law: str) -> None:
    held(law, bases.with_dropout, contract=CONTRACT, parameters=WEIGHTS)


@pytest.mark.thorough(keep=("fused_by_heads",))
@pytest.mark.parametrize("target", bases.NAMINGS)
def test_projections_are_recognised_by_many_names(target: Callable[..., Any]) -> None:
    results = conforming(target, CONTRACT, parameters=WEIGHTS)
    assert {r.status for name, r in results.items() if name not in SILENT} == {"held"}


@pytest.mark.thorough(keep=("MultiHeadSelfAttention-*",))
@pytest.mark.parametrize(
    ("target", "mask_true"),
    [(MultiHeadSelfAttention, "attend"), (shared_projection_attention, "attend")],
)
def test_ours_conform(target: Callable[..., Any], mask_true: str) -> None:
    results = conforming(target, CONTRACT, parameters=WEIGHTS, mask_true=mask_true)
    assert {r.status for name, r in results.items() if name not in SILENT} == {"held"}


@pytest.mark.thorough
def test_torchs_module_differs_at_dead_rows_alone() -> None:
    assert refuting(mha_module, CONTRACT, parameters=WEIGHTS, mask_true="ignore") == {
        "dead_rows_are_the_same_on_both_paths"
    }


class DeadRows(bases.MultiHead):
    """What a token without any key gives, by class."""

    def weights(self, s: Any, allow: Any) -> Any:
        dead = (~allow).all(-1, keepdim=True).expand(*s.shape[:-1], 1)
        p = super().weights(s, allow)
        return {"zeros": p.nan_to_num(), "nan": p, "uniform": p.masked_fill(dead, 1 / s.shape[-1])}[self.convention]

    convention = "zeros"


class Uniform(DeadRows):
    """The mean of all values."""

    convention = "uniform"


class NotANumber(DeadRows):
    """NaN."""

    convention = "nan"


@pytest.mark.thorough(one_for=("target", "declared"))
@pytest.mark.parametrize("target", [DeadRows, Uniform, NotANumber])
@pytest.mark.parametrize("declared", ["zeros", "nan", "uniform"])
@pytest.mark.parametrize("seed", range(2))
def test_tokens_without_a_key_are_as_declared(target: type[DeadRows], declared: str, seed: int) -> None:
    result = judged(DEAD, target, seed=seed, contract=CONTRACT, dead_rows=declared)
    assert result.status == ("held" if declared == target.convention else "refuted"), result.message


def test_what_such_tokens_give_is_asked_where_it_is_declared() -> None:
    assert judged(DEAD, NotANumber, contract=CONTRACT).status == "not_applicable"


class Averaged(bases.MultiHead):
    """The mean over heads, as torch gives by default."""

    def forward(self, *args: Any, need_weights: bool = False, **options: Any) -> Any:
        y, p = super().forward(*args, need_weights=True, **options)
        return (y, p.mean(1)) if need_weights else y


def test_weights_may_be_averaged_over_heads() -> None:
    held(RETURNED, Averaged, contract=CONTRACT, parameters=WEIGHTS)


@pytest.mark.parametrize(
    ("form", "told"),
    [
        (lambda y, p: (y, None), "0 results come back beside the output"),
        (lambda y, p: (y, p, p), "2 results come back beside the output"),
        (lambda y, p: (y, p[..., None]), "which is not known as one of weights"),
    ],
)
def test_weights_in_other_forms_are_not_judged(form: Callable[..., Any], told: str) -> None:
    class Other(bases.MultiHead):
        def forward(self, *args: Any, need_weights: bool = False, **options: Any) -> Any:
            y, p = super().forward(*args, need_weights=True, **options)
            return form(y, p) if need_weights else y

    result = judged(RETURNED, Other, contract=CONTRACT, parameters=WEIGHTS)
    assert result.status == "not_applicable" and told in result.message


def test_parameters_that_are_not_recognised_are_named() -> None:
    result = judged(TRUTH, bases.normalised, contract=CONTRACT)
    assert result.status == "not_applicable"
    assert result.message.startswith("the parameter norm.weight is not recognised as a projection: say where")
    others = conforming(bases.normalised, CONTRACT, compared=False, parameters=WEIGHTS)
    assert others["batch_rows_are_independent"].status == "held"


def test_without_projections_the_other_laws_have_power() -> None:
    refuted("batch_rows_are_independent", faults.normalised_and_mixed, contract=CONTRACT)
    refuted("later_tokens_are_invisible", faults.normalised_and_not_causal, contract=CONTRACT)


class WeightsBeforeTheMask(bases.MultiHead):
    """The weights that a flag asks for are those of the scores before their mask."""

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False, need_weights: bool = False
    ) -> Any:
        out = super().forward(x, attn_mask, is_causal, False)
        plain = super().forward(x, None, False, True)
        return (out, plain[1]) if need_weights else out


def test_a_flag_of_weights_is_found_and_judged() -> None:
    refuted(RETURNED, WeightsBeforeTheMask, "quick", contract=CONTRACT)
    assert judged(RETURNED, bases.MultiHead, contract=CONTRACT).status == "held"


class SharedByHeads(nn.Module):
    """Projects each head's slice of the input by one matrix for all heads: it is known for a single head alone."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.heads, d = num_heads, embed_dim // num_heads
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(d, d, bias=False) for _ in range(3))
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        x = x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        weights = (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))


def test_a_module_judged_with_one_head_alone_does_not_conform() -> None:
    with Session(Implementation(SharedByHeads, "shared", CONTRACT, dtypes=("float32",)), effort="quick") as session:
        report = session.report([session.run(law) for law in session.laws if law.central])
    assert report.verdict == "incomplete"
    why = "these null models from the truth: one head in place of several (0); other cases say nothing: the parameter"
    assert any(f"{why} q_proj.weight of shape" in line for line in report.missing()), report.missing()


@pytest.mark.parametrize("fault", ["row_of_a_mask_written_into", "rows_behind_the_row_of_a_mask"])
def test_masks_expanded_from_one_row_are_read_by_their_strides(fault: str) -> None:
    refuted("masked_heads_attend_as_the_formula_says", getattr(multi_head_masks, fault), "quick", contract=CONTRACT)


@pytest.mark.parametrize(
    "fault",
    ["fused_until_the_mode_is_set", "fused_weights_known_by_their_sum", "projected_context_known_by_its_sum"],
)
def test_parameters_are_read_anew(fault: str) -> None:
    refuted("inputs_written_into_are_read_anew", getattr(multi_head_projections, fault), "quick", contract=CONTRACT)


def test_a_program_of_changed_parameters_runs_alone() -> None:
    law, fault = "inputs_written_into_are_read_anew", multi_head_projections.fused_until_the_mode_is_set
    found = judged(law, fault, shrink=True, contract=CONTRACT).counterexample
    assert found is not None and found.snippet.count("p.copy_(values[name])") == 2
    with pytest.raises(AssertionError, match="after a parameter was changed in place"):
        exec(found.snippet, {"__name__": "snippet"})
    right = found.snippet.replace(f"attention = {fault.__name__}\n", "attention = MultiHead\n")
    exec(right, {"__name__": "snippet", "MultiHead": bases.MultiHead})  # the same lines hold for what is right
