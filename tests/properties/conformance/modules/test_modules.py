"""Modules as people write them get the right verdict; each with a fault planted is refuted."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from judging import refuted
from judging_contracts import conforming, first_refuting
from torch import Tensor, nn

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.engine.second_judgement import judge_under_conventions
from attention_core.conformance.engine.session import Session
from attention_core.conformance.modules.filled_module import ModuleSubject
from attention_core.conformance.modules.form import Construction, Form
from attention_core.conformance.modules.fused_roles import UNSEEN
from attention_core.conformance.modules.look import CANDIDATES, read_call
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.declaration.implementation import TargetError
from attention_core.declaration.sizes import SizeCondition
from attention_core.faults import model_forms
from attention_core.faults import module_forms as forms

CONTRACT = "multi-head"
DTYPES = ("float32",)  # of runs of all laws, where the dtype changes nothing that is looked at
TRUTH = "heads_attend_as_the_formula_says"
FORMS = (*forms.FORMS, *model_forms.FORMS)


@pytest.mark.thorough(keep=("GPT2-*", "CrossAttention-*"))
@pytest.mark.parametrize(("right", "fault", "record"), FORMS, ids=lambda x: getattr(x, "__name__", ""))
def test_a_module_as_people_write_it_conforms_and_its_fault_does_not(
    right: type[nn.Module], fault: type[nn.Module], record: dict[str, Any]
) -> None:
    conforming(right, CONTRACT, **record)
    assert first_refuting(fault, CONTRACT, **record)


@pytest.mark.parametrize(("right", "record"), [(f[0], f[2]) for f in FORMS if f[2]])
def test_what_is_declared_of_a_module_is_found_by_the_first_look(
    right: type[nn.Module], record: dict[str, Any]
) -> None:
    with Session(Implementation(right, "under test", CONTRACT), effort="quick") as session:
        look = session.first_look
    assert look is not None and look.agrees
    assert dict(look.found) == record


@pytest.mark.usefixtures("unshrunk", "fewest_cases")
def test_what_is_found_is_judged_in_the_same_run_as_where_it_is_declared() -> None:
    with Session(Implementation(forms.CausalSelfAttention, "f", CONTRACT, dtypes=DTYPES), effort="quick") as session:
        results = list(session.results(session.laws))
        report = session.report(results)
        judge_under_conventions(session, report, [law.name for law in session.laws], complete=True)
    declared = Implementation(forms.CausalSelfAttention, "f", CONTRACT, always_causal=True, dtypes=DTYPES)
    alone = check_implementation(declared, "quick")
    assert report.under_found is not None and report.under_found.verdict == alone.verdict
    counted = [[(r.law, r.status, r.cases, r.refused) for r in one.laws] for one in (report.under_found, alone)]
    assert counted[0] == counted[1]


class Interleaved(nn.Module):
    """A fused projection whose rows are query, key, key, value, ... in no known order."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.fused, self.out = nn.Linear(embed_dim, 3 * embed_dim), nn.Linear(embed_dim, embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        q1, k, v1, q2, v2 = self.fused(x).split([half, x.shape[-1], half, x.shape[-1] - half, x.shape[-1] - half], -1)
        q, k, v = (forms.heads(t, self.num_heads) for t in (torch.cat([q1, q2], -1), k, torch.cat([v1, v2], -1)))
        weights = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1)
        out: Tensor = self.out(forms.joined(weights @ v))
        return out


def test_a_fused_layout_that_is_not_known_is_not_refuted() -> None:
    with Session(Implementation(Interleaved, "f", CONTRACT), effort="quick") as session:
        results = {law.name: session.run(law) for law in session.laws}
    assert results[TRUTH].status == "not_applicable"
    before, after = UNSEEN.format(name="fused.weight", nearest="|").split("|")
    assert results[TRUTH].message.startswith(before) and results[TRUTH].message.endswith(after)
    assert re.search(r"in the nearest one an output is off by [0-9.]+, where \S+ is allowed", results[TRUTH].message)
    assert not [r for r in results.values() if r.status == "refuted"]


class FusedOverQueries(nn.Module):
    """A fused projection in the usual layout, and a softmax over queries."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.qkv, self.out = nn.Linear(embed_dim, 3 * embed_dim), nn.Linear(embed_dim, embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (forms.heads(t, self.num_heads) for t in self.qkv(x).chunk(3, -1))
        out: Tensor = self.out(forms.joined((q @ k.mT * q.shape[-1] ** -0.5).softmax(-2) @ v))
        return out


@pytest.mark.thorough
def test_a_wrong_computation_behind_a_fused_projection_may_be_told_as_one() -> None:
    report = check_implementation(Implementation(FusedOverQueries, "f", CONTRACT, dtypes=DTYPES), "quick")
    assert report.verdict == "incomplete"  # nothing was compared: a layout that is not known would look the same
    assert "none of the known layouts of the rows of qkv.weight (in the nearest one" in report.reason()
    assert "or its computation is wrong" in report.reason()


class Numbered(forms.LlamaStyle):
    """Parameters named by a number that grows from instance to instance, as in Keras."""

    made = 0

    def __init__(self, dim: int, n_heads: int) -> None:
        super().__init__(dim, n_heads)
        Numbered.made += 1
        for word in ("query", "key", "value", "out"):
            self.register_parameter(f"{word}_{Numbered.made}", nn.Parameter(torch.empty(dim, dim)))
        del self.wq, self.wk, self.wv, self.wo
        self.names = [f"{word}_{Numbered.made}" for word in ("query", "key", "value", "out")]

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = (forms.heads(x @ getattr(self, name).T, self.n_heads) for name in self.names[:3])
        scores = q @ k.transpose(2, 3) / self.head_dim**0.5
        scores = scores if mask is None else scores + mask
        out: Tensor = forms.joined(scores.softmax(-1) @ v) @ getattr(self, self.names[3]).T
        return out


def test_parameters_may_be_numbered_by_instance() -> None:
    results = conforming(Numbered, CONTRACT)
    assert results[TRUTH].status == results["lengths_may_change_between_calls"].status == "held"


ALIASES = {
    "pairs": "attn_mask mask attention_mask src_mask attn_bias tgt_mask bias_mask attention_bias",
    "keys": "key_padding_mask padding_mask src_key_padding_mask key_mask pad_mask kv_mask",
}
"""Names of masks in modules of torch, transformers, diffusers, timm, fairseq and textbooks."""


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in ALIASES for name in ALIASES[kind].split()])
def test_masks_of_modules_are_read_under_their_usual_names(kind: str, name: str) -> None:
    parameters = [{"name": own, "kind": "POSITIONAL_OR_KEYWORD", "default": own == name} for own in ("x", name)]
    (mask,) = read_call("f", Construction(), parameters, {}).masks
    assert (mask.name, mask.shapes) == (name, CANDIDATES[kind])


class Asking(forms.CausalSelfAttention):
    """A config with a name of its own."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.extra = config.my_window


def test_a_setting_that_is_not_known_is_named_with_its_option() -> None:
    with pytest.raises(TargetError, match="no value for 'my_window': give --config my_window=VALUE"):
        Session(Implementation(Asking, "f", CONTRACT))
    conforming(Asking, CONTRACT, config={"my_window": 3}, always_causal=True)


class Nameless(nn.Module):
    """Projections whose names say nothing."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.alpha, self.beta, self.delta = (nn.Linear(embed_dim, embed_dim) for _ in range(3))

    scale = 1.0

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (forms.heads(f(x), self.num_heads) for f in (self.alpha, self.beta, self.delta))
        return forms.joined((self.scale * q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1) @ v)


class NamelessTripled(Nameless):
    """Three times the scale."""

    scale = 3.0


def test_projections_may_be_named_by_declaring_them() -> None:
    with Session(Implementation(Nameless, "f", CONTRACT), effort="quick") as session:
        (law,) = (law for law in session.laws if law.name == TRUTH)
        result = session.run(law)
    assert result.status == "not_applicable" and "--parameter q_proj=NAME" in result.message
    named = {"q_proj": "alpha", "k_proj": "beta", "v_proj": "delta"}
    conforming(Nameless, CONTRACT, parameters=named)
    refuted(TRUTH, NamelessTripled, "quick", contract=CONTRACT, parameters=named)


class Latent(nn.Module):
    """DeepSeek's MLA: keys and values from a latent, a shared key that is rotated."""

    def __init__(self, dim: int, n_heads: int, factor: float = 1.0, turns: bool = True) -> None:
        super().__init__()
        self.heads, self.d, self.factor, self.turns = n_heads, dim // n_heads, factor, turns
        self.wq = nn.Linear(dim, n_heads * (self.d + 4), bias=False)
        self.wkv_a, self.wkv_b = nn.Linear(dim, 12, bias=False), nn.Linear(8, 2 * dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)

    def turned(self, x: Tensor) -> Tensor:
        angle = torch.arange(x.shape[-2])[:, None] * torch.tensor([1.0, 0.01]) * self.turns
        a, b = x.chunk(2, -1)
        return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)

    def forward(self, x: Tensor) -> Tensor:
        q, q_r = forms.heads(self.wq(x), self.heads).split([self.d, 4], -1)
        latent, k_r = self.wkv_a(x).split([8, 4], -1)
        k, v = forms.heads(self.wkv_b(latent), self.heads).chunk(2, -1)
        scores = q @ k.transpose(-1, -2) + self.turned(q_r) @ self.turned(k_r[:, None]).transpose(-1, -2)
        scores = scores * self.factor * (self.d + 4) ** -0.5
        out: Tensor = self.wo(forms.joined(scores.softmax(-1) @ v))
        return out


class LatentTripled(Latent):
    def __init__(self, dim: int, n_heads: int) -> None:
        super().__init__(dim, n_heads, factor=3.0)


class LatentScoreless(Latent):
    def __init__(self, dim: int, n_heads: int) -> None:
        super().__init__(dim, n_heads, factor=0.0)


class LatentUnturned(Latent):
    def __init__(self, dim: int, n_heads: int) -> None:
        super().__init__(dim, n_heads, turns=False)


@pytest.mark.thorough(keep=("Latent",))
@pytest.mark.parametrize("target", [Latent, LatentTripled, LatentScoreless, LatentUnturned])
def test_latent_attention_never_conforms_and_says_why(target: type[nn.Module]) -> None:
    report = check_implementation(Implementation(target, "f", CONTRACT, dtypes=DTYPES), "quick")
    assert report.verdict == "incomplete"
    assert "keys and values come from a latent (wkv_a.weight), as in MLA, which is not modelled" in report.reason()


class WithWeights(nn.Module):
    """Four projections, and weights beside the output where a flag asks for them."""

    mixes_batches = False
    before_softmax = False

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.q, self.k, self.v, self.out = (nn.Linear(embed_dim, embed_dim) for _ in range(4))

    def attend(self, x: Tensor, asked: bool) -> Tensor | tuple[Tensor, Tensor]:
        q, k, v = (forms.heads(layer(x), self.num_heads) for layer in (self.q, self.k, self.v))
        scores = q @ k.mT * q.shape[-1] ** -0.5
        weights = scores.softmax(-1)
        out: Tensor = self.out(forms.joined(weights @ v))
        if not asked:
            return out
        B, H, n, _ = weights.shape
        if self.mixes_batches:
            return out, weights.flatten(0, 1).view(H, B, n, n).mean(0)
        return out, scores if self.before_softmax else weights

    def forward(self, x: Tensor, need_weights: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        return self.attend(x, need_weights)


class WithMixedWeights(WithWeights):
    mixes_batches = True


class WithScores(WithWeights):
    """A flag whose name may mean scores, too."""

    before_softmax = True

    def forward(self, x: Tensor, return_attention: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        return self.attend(x, return_attention)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "verdict"), [(WithWeights, "conforms"), (WithMixedWeights, "refuted"), (WithScores, "incomplete")]
)
@pytest.mark.usefixtures("unshrunk", "fewest_cases")
def test_a_flag_that_says_weights_is_judged_and_what_only_the_first_look_tried_is_named(
    module: type, verdict: str
) -> None:
    report = check_implementation(Implementation(module, "f", CONTRACT, dtypes=DTYPES), "quick")
    assert report.verdict == verdict, report.reason()
    if verdict == "refuted":
        assert [r.law for r in report.laws if r.status == "refuted"] == ["returned_weights_are_those_of_the_heads"]
    if verdict == "incomplete":
        assert list(report.untested) == ["return_attention"]


@pytest.mark.parametrize(("drawn", "adapted"), [(1, 8), (8, 8), (39, 40)])
def test_a_head_whose_quarter_is_rotated_is_as_wide_as_the_next_multiple(drawn: int, adapted: int) -> None:
    """Not the least common one: 39 features would become 312, and a quick run takes minutes."""
    subject = ModuleSubject(None, Implementation(nn.MultiheadAttention, "f", CONTRACT), {"callable": True}, 0)
    subject.form = Form(rotation="position_embeddings", rotated=0.25)
    case = ParameterCase({"B": 1, "n": 3, "H": 2, "d": drawn})
    assert subject.adapt_case(case)["d"] == adapted


class OfFixedSizes(nn.Module):
    """Four heads of 16 features, whatever is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(64, 64) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (f(x).unflatten(-1, (4, 16)).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj))
        out: Tensor = self.out_proj((torch.softmax(q @ k.mT / 4, -1) @ v).transpose(1, 2).flatten(2))
        return out


def build_fixed(embed_dim: int, num_heads: int) -> nn.Module:
    return OfFixedSizes()


@pytest.mark.usefixtures("fewest_cases")
def test_a_module_of_fixed_sizes_says_how_it_can_be_judged() -> None:
    """Called with sizes it does not take, it would decline every case."""
    with pytest.raises(TargetError) as error:
        check_implementation(Implementation(OfFixedSizes, name="m", contract=CONTRACT), effort="quick")
    assert "name a function (embed_dim, num_heads) that returns it" in str(error.value)
    assert "--sizes 'E == 64 and H == 4'" in str(error.value)
    record = Implementation(
        build_fixed, name="m", contract=CONTRACT, dtypes=DTYPES, sizes=SizeCondition("E == 64 and H == 4")
    )
    assert check_implementation(record, effort="quick").verdict == "conforms"
