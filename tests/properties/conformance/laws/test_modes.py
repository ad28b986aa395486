"""attention_core.conformance.laws.modes: what training does to a module, and what no law judges of it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.report.results import Report

MODES = ("training_keeps_its_dropout_after_evaluation", "training_leaves_evaluation_alone")


class Core(nn.Module):
    """Attention whose own dropout, or whose own scale, is on in training."""

    def __init__(self, p: float = 0.0, scale: float | None = None) -> None:
        super().__init__()
        self.p, self.scale = p, scale

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        p, scale = (self.p, self.scale) if self.training else (0.0, None)
        return scaled_dot_product_attention(query, key, value, dropout_p=p, scale=scale)


class Heads(nn.Module):
    """A module with many heads that is built with a dropout of its own."""

    p = 0.3

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.H = num_heads
        self.qkv, self.out = nn.Linear(embed_dim, 3 * embed_dim), nn.Linear(embed_dim, embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (t.unflatten(-1, (self.H, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        out = scaled_dot_product_attention(q, k, v, dropout_p=self.p if self.training else 0.0)
        return torch.as_tensor(self.out(out.transpose(1, 2).flatten(2)))


class Undropped(Heads):
    """The same without dropout."""

    p = 0.0


def judge(module: nn.Module) -> Report:
    """The report of the laws of modes on a module."""
    return check_implementation(Implementation(module, dtypes=("float32",)), effort="quick", laws=MODES)


@pytest.mark.parametrize(("p", "unjudged"), [(0.0, []), (0.3, ["dropout in training"])])
def test_dropout_of_a_module_is_named_as_not_judged(p: float, unjudged: list[str]) -> None:
    report = judge(Core(p))
    assert report.passed and report.gaps == unjudged
    assert any(note.startswith("not judged: dropout in training (") for note in report.notes) == bool(unjudged)
    assert report.to_dict()["laws"][1]["unjudged"] == "".join(unjudged)
    assert ("; not judged: dropout in training" in str(Report("f", laws=report.laws))) == bool(unjudged)


@pytest.mark.usefixtures("unshrunk")
def test_training_without_dropout_is_compared_with_evaluation() -> None:
    report = judge(Core(scale=1.0))
    assert [r.law for r in report.with_status("refuted")] == ["training_leaves_evaluation_alone"]
    assert "output in training mode" in report.counterexamples[0].message


@pytest.mark.parametrize(("module", "unjudged"), [(Heads, ["dropout in training"]), (Undropped, [])])
def test_dropout_of_a_module_with_heads_is_named_as_not_judged(module: type[nn.Module], unjudged: list[str]) -> None:
    implementation = Implementation(module, contract="multi-head", dtypes=("float32",))
    laws = ["training_without_dropout_is_evaluation", "gradients_of_inputs_are_true"]
    report = check_implementation(implementation, effort="quick", laws=laws)
    assert report.passed and report.gaps == unjudged
    assert {result.unjudged for result in report.laws} == {"".join(unjudged)}
