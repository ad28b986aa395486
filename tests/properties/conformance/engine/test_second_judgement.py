"""A target of another form than its contract's is judged in the form that it suits, in the same run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from judging import SEARCH
from torch import Tensor, nn

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.engine.advice import unjudged_masks
from attention_core.conformance.engine.second_judgement import judge_as_merge, judge_further, judge_without_refusals
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.engine.verify import exit_status, verify_target
from attention_core.conformance.first_look.findings import command
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.report.render_text import under_found_lines
from attention_core.conformance.report.results import Report
from attention_core.conformance.search.search import Search
from attention_core.declaration.implementation import TargetError
from attention_core.faults import module_forms as forms
from attention_core.faults import paged as paged_faults
from attention_core.kernels.packed import packed_attention

pytestmark = pytest.mark.usefixtures("unshrunk", "fewest_cases")


@pytest.fixture
def all_cases(fewest_cases: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """All cases after all, where what many laws refute is looked at together."""
    monkeypatch.setattr(Search, "to", SEARCH)


class Kept:
    """A cache that keeps copies, and joins them anew in every step."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.key: list[Tensor] = []
        self.value: list[Tensor] = []

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        self.key.append(key.clone())
        self.value.append(value.clone())
        keys, values = torch.cat(self.key, -2), torch.cat(self.value, -2)
        later = torch.ones(query.shape[-2], keys.shape[-2], dtype=torch.bool).tril(keys.shape[-2] - query.shape[-2])
        return nn.functional.scaled_dot_product_attention(query, keys, values, attn_mask=later)


class Dot(nn.Module):
    """Scaled dot-product attention as a module without sizes."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return ((q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5).softmax(-1) @ v


class Demanding(nn.Module):
    """Wants something that no table knows."""

    def __init__(self, d_model: int, n_heads: int, colour: str) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        return x


def cut(Q: Tensor, K: Tensor, V: Tensor, n_heads: int, causal: bool = False) -> Tensor:
    """Attention of projected tokens, as the seed's exercise writes it."""
    q, k, v = (forms.heads(t, n_heads) for t in (Q, K, V))
    return forms.joined(nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal))


def cut_wrong(Q: Tensor, K: Tensor, V: Tensor, n_heads: int, causal: bool = False) -> Tensor:
    """No attention at all."""
    return Q + K + V


FORMS: list[tuple[Any, dict[str, Any], str, str]] = [
    (
        forms.CausalSelfAttention,
        {"contract": "multi-head", "always_causal": True},
        "conforms",
        "dropout=0.0 (0.5 in evaluation), bias=True",
    ),
    (forms.NanoSeesOneAhead, {"contract": "multi-head"}, "refuted", ""),
    (forms.MultiHeadedAttention, {"contract": "multi-head"}, "conforms", "with dropout=0.0"),
    (forms.EinopsStyle, {"contract": "multi-head"}, "conforms", "with dropout=0.0"),
    (Kept, {"contract": "kv-cache"}, "conforms", ""),
    (cut, {"contract": "self-attention"}, "conforms", ""),
]


@pytest.mark.thorough(leave_out=("NanoSeesOneAhead-*", "MultiHeadedAttention-*"))
@pytest.mark.parametrize(("target", "found", "verdict", "words"), FORMS, ids=lambda x: getattr(x, "__name__", ""))
def test_a_target_of_another_form_is_judged_in_the_same_run(
    target: Any, found: dict[str, Any], verdict: str, words: str
) -> None:
    report = check_implementation(Implementation(target, "mine.py:T"), "quick")
    assert (report.verdict, exit_status([report])) == ("error", 2)
    assert report.first_look is not None and dict(report.first_look.found) == found
    assert report.under_found is not None and report.under_found.verdict == verdict
    assert words in report.under_found.reason()
    declaring = command("mine.py:T", report.under_found.declared)
    assert declaring == f"attention-core verify mine.py:T {report.first_look.options()}"


def test_a_class_without_sizes_is_built_and_called() -> None:
    report = check_implementation(Implementation(Dot, dtypes=("float32",), gradients=False), "quick")
    assert report.first_look is not None and report.first_look.options() == "--factory"
    assert report.problem.endswith(
        "called with query, key and value: declare --factory, under which it is judged below"
    )
    assert report.under_found is not None and report.under_found.verdict == "conforms"


def test_what_a_constructor_wants_is_named() -> None:
    report = check_implementation(Demanding, "quick")
    assert report.verdict == "error" and report.under_found is None
    assert "--config colour=VALUE" in report.advice[0]


def test_a_function_under_a_contract_of_modules_is_told_to_leave_it_out() -> None:
    function = Implementation(lambda q, k, v: q, "mine.py:attend", contract="multi-head")
    words = (
        "mine.py:attend is a function of 'q', and this contract builds modules: leave out --contract, or name a class"
    )
    with pytest.raises(TargetError, match=words):
        check_implementation(function, "quick")


def test_names_alone_say_little_of_a_function() -> None:
    report = check_implementation(cut_wrong, "quick")
    assert "give --arg n_heads=VALUE" in report.problem
    assert report.under_found is None and report.first_look is None


def test_chosen_laws_belong_to_the_declared_contract() -> None:
    with pytest.raises(TargetError, match="is a class"):
        check_implementation(Kept, "quick", laws=("agrees_with_truth",))


def test_the_command_line_gets_it_too(tmp_path: Path) -> None:
    """One process after the other; a file names the class."""
    path = tmp_path / "caches.py"
    path.write_text("from __future__ import annotations\nimport torch\nfrom torch import Tensor, nn\n\n" + source(Kept))
    looks: list[tuple[str, ...]] = []
    report = verify_target(f"{path}:Kept", {}, effort="quick", announce=lambda look: looks.append(look.lines))
    assert looks == [("a class of caches of keys and values: it is judged under --contract kv-cache",)]
    under, declare = under_found_lines(report)
    assert under.startswith("under the conventions found (--contract kv-cache): conforms (")
    assert declare == f"to declare them: attention-core verify {path}:Kept --contract kv-cache"


def source(kind: type) -> str:
    """The text of a class of this file."""
    import inspect

    return inspect.getsource(kind)


def test_the_verdict_line_names_what_was_fixed() -> None:
    report = Report("t", laws=[], fixed=[f"p{i}=0.0" for i in range(5)])
    report.laws = [LawResult("agrees_with_truth", "held", 30, 0.0)]
    assert report.reason().endswith("no counterexample; with p0=0.0, p1=0.0, p2=0.0 and 2 more")


def exp_of_score_less_lse(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> tuple[Tensor, Tensor]:
    """Right code as people write it: the rounding of the log-sum-exp moves every weight."""
    wide = torch.promote_types(q.dtype, torch.float32)
    scores = q.to(wide) @ k.to(wide).transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    lse = torch.logsumexp(scores, -1)
    return (torch.exp(scores - lse[..., None]) @ v.to(wide)).to(q.dtype), lse


@pytest.mark.thorough
def test_weights_that_are_exponentials_less_their_lse_are_found() -> None:
    record = Implementation(exp_of_score_less_lse, contract="attention-lse")  # which says what comes back
    report = check_implementation(record, effort="quick")
    assert report.verdict == "refuted"
    assert report.under_found is not None and report.under_found.verdict == "conforms"
    assert report.first_look is not None and report.first_look.found == {"merges": "lse"}


def in_log_space(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None) -> Tensor:
    """Right code in any dtype: with masks, many laws show the rounding of the log-sum-exp."""
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = torch.zeros(attn_mask.shape, dtype=q.dtype).masked_fill(~attn_mask, -torch.inf)
    scores = scores if attn_mask is None else scores + attn_mask
    return (scores - scores.logsumexp(-1, keepdim=True)).exp() @ v


@pytest.mark.usefixtures("all_cases")
def test_a_log_sum_exp_is_found_however_many_laws_show_its_rounding() -> None:
    names = [
        "weights_are_a_distribution", "doubled_keys_change_nothing", "masked_keys_stay_masked_at_low_logits",
        "a_constant_added_to_a_row_changes_nothing", "stays_finite",
        "a_common_offset_cancels", "calls_in_between_leave_no_trace",
        "the_order_of_calls_does_not_matter", "results_outlive_the_next_call",
    ]  # fmt: skip
    record = Implementation(in_log_space, dead_rows="nan", dtypes=("float32", "float64", "bfloat16"))
    with Session(record, effort="quick", shrink=False) as session:
        report = session.report(list(session.results(select_laws(session.laws, names))), complete=False)
        assert len(report.with_status("refuted")) > 8
        judge_as_merge(session, report, names)
    assert report.first_look is not None and report.first_look.found == {"merges": "lse"}
    assert report.under_found is not None and not report.under_found.with_status("refuted")


def row_by_row(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Loops over the keys and takes as many values: of a value too many it knows nothing."""
    weights = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1)
    parts = [weights[..., j : j + 1] * v[..., j : j + 1, :] for j in range(k.shape[-2])]
    return torch.stack(parts).sum(0) if parts else torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)


@pytest.mark.thorough(keep=("row_by_row-*",))
@pytest.mark.parametrize("call, found", [(row_by_row, True), (lambda q, k, v: row_by_row(q, k, v) * 2, False)])
def test_what_takes_misfits_and_is_right_else_is_judged_so(call: Any, found: bool) -> None:
    names = ["agrees_with_truth", "lengths_of_key_and_value_must_agree"]
    with Session(Implementation(call, name="f", gradients=False), effort="quick", shrink=False) as session:
        report = session.report(list(session.results(select_laws(session.laws, names))), complete=False)
        assert [law.law for law in report.with_status("refuted")] == names[found:]
        judge_without_refusals(session, report, names)
    assert report.first_look is not None and (report.first_look.found == {"misfits": "unspecified"}) is found
    if found:
        assert report.under_found is not None and not report.under_found.with_status("refuted")
        assert [law.law for law in report.under_found.with_status("held")] == names[:1]
        assert report.under_found.waived == {"misfits=unspecified": names[1:]}


def causal_by_rounded_positions(q: Tensor, k: Tensor, v: Tensor, is_causal: bool = False) -> Tensor:
    """Bfloat16 rounds positions beyond 256: a causal row there sees one key too many, or one too few."""
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if is_causal:
        i = torch.arange(max(scores.shape[-2:]), dtype=q.dtype)
        scores = scores.masked_fill(i[: scores.shape[-1]] > i[: scores.shape[-2], None], -torch.inf)
    return scores.softmax(-1) @ v


def test_a_fault_of_causal_calls_alone_is_no_rounding_of_merged_parts() -> None:
    record = Implementation(causal_by_rounded_positions, name="f", dtypes=("bfloat16",))
    report = check_implementation(record, effort="quick")
    assert [r.law for r in report.with_status("refuted")] == ["round_sizes_and_sizes_beyond_are_right"]
    assert report.first_look is not None and not report.first_look.found and report.under_found is None


def merged_halves(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Each half times exp(lse - total), as in decoding with split keys; keys without a value are not looked for."""
    wide = torch.promote_types(q.dtype, torch.float32)
    q, k, v, dtype = q.to(wide), k.to(wide), v.to(wide), q.dtype
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    pairs = zip(scores.tensor_split(2, -1), v.tensor_split(2, -2), strict=True)
    parts = [(s, w[..., : s.shape[-1], :]) for s, w in pairs if 0 < s.shape[-1] <= w.shape[-2]]
    lse = torch.stack([s.logsumexp(-1, keepdim=True) for s, _ in parts])
    share = torch.exp(lse - lse.logsumexp(0))
    out: Tensor = sum(w * (s.softmax(-1) @ x) for w, (s, x) in zip(share, parts, strict=True))
    return out.to(dtype)


def seeding_halves(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The same with lengths that must agree, and with a seed for everybody else."""
    if k.shape[-2] != v.shape[-2]:
        raise ValueError("lengths differ")
    torch.manual_seed(0)
    return merged_halves(q, k, v)


@pytest.mark.thorough
def test_merged_parts_are_found_beside_a_fault_without_numbers() -> None:
    record = Implementation(seeding_halves, name="f", dtypes=("float32", "float64"), gradients=False)
    report = check_implementation(record, effort="quick")
    assert report.first_look is not None and report.first_look.found == {"merges": "lse"}
    assert report.under_found is not None
    assert [r.law for r in report.under_found.with_status("refuted")] == ["a_call_leaves_the_process_as_it_was"]
    rest = "consistent with --merges lse, except for 1 refuted law: a_call_leaves_the_process_as_it_was"
    assert any(line.endswith(rest) for line in report.advice), report.advice


def tokens_last(q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor) -> Tensor:
    """Ours for (1, H, T, d)."""
    q, k, v = (x[0].transpose(0, 1) for x in (q, k, v))
    return packed_attention(q, k, v, cu_seqlens_q, cu_seqlens_k).transpose(0, 1)[None]


def pages_by_head(q: Tensor, k: Tensor, v: Tensor, block_table: Tensor, seq_lens: Tensor) -> Tensor:
    """Ours for one token a text, pages of keys (pages, H_kv, d, page), those of values (pages, H_kv, page, d)."""
    pages = k.permute(0, 3, 1, 2), v.transpose(1, 2)
    return paged_faults.build()(q[:, None], *pages, block_table=block_table, cache_seqlens=seq_lens)[:, 0]


OTHER_FORMS = [
    ("varlen", tokens_last, ["packed_gradients_are_true"], {"tokens": "bhnd"}),
    (
        "paged", pages_by_head, ["the_numbers_of_pages_do_not_matter"],
        {"query": "bhd", "pages": "phsd", "key_pages": "phds"},
    ),
]  # fmt: skip


@pytest.mark.thorough(keep=("texts",))
@pytest.mark.parametrize(("contract", "target", "laws", "parameters"), OTHER_FORMS, ids=["texts", "pages"])
def test_other_axes_of_texts_and_pages_are_found_in_the_same_run(
    contract: str, target: Any, laws: list[str], parameters: dict[str, str]
) -> None:
    record = Implementation(target, "f", contract, dtypes=("float32",), accumulate="float32")
    with Session(record, effort="quick", shrink=False) as session:
        laws = [*(law.name for law in session.laws if law.central), *laws]
        report = session.report(list(session.results(select_laws(session.laws, laws))))
        judge_further(session, report, laws)
    assert report.verdict != "conforms" and report.first_look is not None
    assert report.first_look.found == {"parameters": parameters}
    assert report.under_found is not None and {r.status for r in report.under_found.laws} == {"held"}


def pages_with_a_switch(
    q: Tensor, k: Tensor, v: Tensor, block_table: Tensor, cache_seqlens: Tensor, fast: bool = False
) -> Tensor:
    """Right pages, and a parameter that no law tests."""
    return paged_faults.build()(q, k, v, block_table=block_table, cache_seqlens=cache_seqlens)


def test_an_untested_parameter_alone_asks_for_no_other_form() -> None:
    record = Implementation(pages_with_a_switch, "f", "paged", dtypes=("float32",), accumulate="float32")
    with Session(record, effort="quick", shrink=False) as session:
        laws = [law.name for law in session.laws if law.central]
        report = session.report(list(session.results(select_laws(session.laws, laws))))
        judge_further(session, report, laws)
    assert report.verdict == "incomplete" and report.untested == ["fast"]
    assert report.under_found is None


def pages_without_the_last(q: Tensor, k: Tensor, v: Tensor, block_table: Tensor, seq_lens: Tensor) -> Tensor:
    """The same, but the last of several pages is lost."""
    size = v.shape[2]
    whole = torch.where(seq_lens > size, (seq_lens - 1) // size * size, seq_lens)
    return pages_by_head(q, k, v, block_table, whole)


@pytest.mark.thorough
def test_the_form_of_wrong_pages_is_told() -> None:
    record = Implementation(pages_without_the_last, "f", "paged", dtypes=("float32",), accumulate="float32")
    with Session(record, effort="quick", shrink=False) as session:
        laws = [law.name for law in session.laws if law.central]
        report = session.report(list(session.results(select_laws(session.laws, laws))))
        judge_further(session, report, laws)
    options = "--parameter query=bhd --parameter pages=phsd --parameter key_pages=phds"
    assert report.verdict == "incomplete" and report.under_found is None
    assert [line for line in report.advice if f"all are with {options}, and the results are wrong" in line]


def single_texts(q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor) -> Tensor:
    """Ours, but float64 is computed in float32."""
    return packed_attention(q.float(), k.float(), v.float(), cu_seqlens_q, cu_seqlens_k).to(q.dtype)


def single_texts_too_large(q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor) -> Tensor:
    """The same, and off by one part in ten thousand in float64."""
    out = single_texts(q, k, v, cu_seqlens_q, cu_seqlens_k)
    return out * (1 + 1e-4) if q.dtype == torch.float64 else out


@pytest.mark.parametrize(("target", "found"), [(single_texts, True), (single_texts_too_large, False)])
def test_float64_that_is_computed_in_float32_is_found_of_texts(target: Any, found: bool) -> None:
    record = Implementation(target, "f", "varlen", dtypes=("float32", "float64"), accumulate="float32")
    with Session(record, effort="quick", shrink=False) as session:
        laws = [law.name for law in session.laws if law.central or law.name == "packed_gradients_are_true"]
        report = session.report(list(session.results(select_laws(session.laws, laws))), complete=False)
        judge_further(session, report, laws)
    assert report.verdict == "refuted"
    look, under = report.first_look, report.under_found
    assert (look is not None and look.options() == "--dtype float32") == found
    assert (under is not None and {r.status for r in under.laws} == {"held"}) == found


@pytest.mark.thorough
def test_misfits_join_what_was_found_before() -> None:
    record = Implementation(merged_halves, name="f", dtypes=("float32",), gradients=False)
    report = check_implementation(record, effort="quick")
    assert report.first_look is not None
    assert report.first_look.found == {"merges": "lse", "misfits": "unspecified"}
    assert report.under_found is not None and not report.under_found.with_status("refuted")


def narrow_sums(q: Any, k: Any, v: Any) -> Any:
    """NumPy adds a long row of float16 in float16."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]).astype(q.dtype)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("...qk,...kd->...qd", weights / weights.sum(-1, keepdims=True), v)


@pytest.mark.thorough
@pytest.mark.usefixtures("all_cases")
@pytest.mark.filterwarnings("ignore")  # of NumPy, where laws ask for infinite scores
def test_dtypes_that_leave_half_precision_out_are_told() -> None:
    report = check_implementation(Implementation(narrow_sums, name="f", array="numpy"), effort="quick")
    assert report.verdict == "refuted"
    assert report.advice[-1] == (
        "every counterexample is in float16; the same laws hold in float32 and float64: "
        "--dtype float32,float64 leaves half precision out, which is then not judged"
    )


@pytest.mark.thorough
def test_a_fault_of_every_dtype_is_no_matter_of_half_precision() -> None:
    """One law ends with float16, another with float32: the wider dtypes are asked before anything is said."""
    record = Implementation(lambda q, k, v: 1.01 * v.mean(-2, keepdim=True).expand(q.shape), name="f", gradients=False)
    assert not any("half precision" in line for line in check_implementation(record, effort="quick").advice)


def test_a_function_with_weights_is_judged_with_them() -> None:
    def with_weights(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        weights = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1)
        return weights @ v, weights

    record = Implementation(with_weights, name="f", dtypes=("float32",), gradients=False)
    report = check_implementation(record, effort="quick")
    assert (report.verdict, exit_status([report])) == ("incomplete", 2)
    assert report.reason() == (
        "the call returns 2 values, but is declared to return 'out'; it is judged under --returns out,weights: conforms"
    )


def fill_added(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The TensorFlow tutorial's masking: 1 where a key is hidden, times -1e9, added to the scores."""
    logits = torch.matmul(q, k.transpose(-1, -2)) / k.shape[-1] ** 0.5
    if mask is not None:
        logits += mask * -1e9
    weights = torch.softmax(logits, dim=-1)
    return torch.matmul(weights, v), weights


def test_a_finite_mask_that_is_added_is_found() -> None:
    report = check_implementation(Implementation(fill_added, returns="out,weights", gradients=False), effort="quick")
    assert report.under_found is not None and report.under_found.verdict == "conforms", report.under_found
    assert report.first_look is not None and report.first_look.found["mask_added"] is True
    assert report.first_look.found["mask_fill"] == "-1e9"


def lse_of_the_halves(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """The output is right, the log-sum-exp is smaller by log 2."""
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    return scores.softmax(-1) @ v, scores.logsumexp(-1) - 0.6931


def test_a_right_output_beside_a_wrong_lse_is_named() -> None:
    record = Implementation(lse_of_the_halves, contract="attention-lse", gradients=False)
    report = check_implementation(record, effort="quick")
    assert report.verdict == "refuted"
    assert report.first_look is not None and "second result is not the log-sum-exp" in report.first_look.lines[0]


class Dropping(Dot):
    """Takes a rate that no law of attention tests."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)


@pytest.mark.thorough
def test_the_command_accepts_what_no_law_tests(tmp_path: Path) -> None:
    text = "import torch\nfrom torch import Tensor, nn\n\n" + source(Dot) + "\n\n" + source(Dropping)
    (tmp_path / "dropping.py").write_text(text, encoding="utf-8")
    plain = {"dtypes": ("float32",), "gradients": False}
    report = verify_target(f"{tmp_path}/dropping.py:Dropping", plain, effort="quick")
    assert under_found_lines(report)[-1].endswith("--factory --untested dropout")


@pytest.mark.thorough
def test_what_no_law_tests_is_accepted_where_it_is_declared(tmp_path: Path) -> None:
    text = "import torch\nfrom torch import Tensor, nn\n\n" + source(Dot) + "\n\n" + source(Dropping)
    (tmp_path / "dropping.py").write_text(text, encoding="utf-8")
    found = {"dtypes": ("float32",), "gradients": False, "factory": True, "untested": ("dropout",)}
    assert verify_target(f"{tmp_path}/dropping.py:Dropping", found, effort="quick").verdict == "conforms"


def test_a_mask_that_no_comparison_judged_is_named() -> None:
    law = "masked_heads_attend_as_the_formula_says"
    refused = [LawResult(law, "refused", 0, 0.0, None, "ValueError: lengths")]
    told = unjudged_masks({("", "mask"): "tested"}, ["mask"], refused)
    assert told == f"no output with mask was compared with a truth, because of {law}: ValueError: lengths"
    assert unjudged_masks({("", "mask"): "refused"}, ["mask"], refused) == ""
    held = [LawResult(law, "held", 3, 0.0, None, "")]
    assert unjudged_masks({("", "mask"): "tested"}, ["mask"], held) == ""


@pytest.mark.thorough
def test_a_wrong_function_of_numpy_is_refuted_in_the_run_that_finds_its_arrays(tmp_path: Path) -> None:
    """Nothing agrees with the truth, but its calls work with NumPy's arrays alone: it is judged with those as well."""
    target = tmp_path / "late.py"
    target.write_text(
        "import numpy as np\n\n\ndef attention(q, k, v):\n"
        "    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]).astype(q.dtype)\n"
        "    w = np.exp(s - s.max(-2, keepdims=True))\n    return w / w.sum(-2, keepdims=True) @ v\n"
    )
    report = verify_target(f"{target}:attention", {"gradients": False}, effort="quick", shrink=False)
    assert report.verdict == "incomplete" and "give --array numpy" in report.problem
    assert report.under_found is not None and report.under_found.verdict == "refuted"
    assert under_found_lines(report)[0].startswith("under the conventions found (--array numpy): refuted (")
    assert not any("consistent with" in line for line in report.advice)
