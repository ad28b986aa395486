"""Loading minGPT's checkpoints.

finetune.models.mingpt: both shapes of minGPT's checkpoints become our weights, and what does not fit is refused.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from finetune.errors import BadInput
from finetune.models.gpt import GPT, GPTConfig
from finetune.models.mingpt import from_mingpt, load_weights

E, V, N, L = 8, 11, 6, 2


class MinGPT(nn.Module):
    """A model in the shape of today's minGPT (transformer.h, c_attn, lm_head), built from torch's own modules."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            E, 2, 4 * E, 0.0, lambda x: nn.functional.gelu(x, approximate="tanh"), batch_first=True, norm_first=True
        )
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                E, 2, 4 * E, 0.0, layer.activation, batch_first=True, norm_first=True
            )
            for _ in range(L)
        )  # fmt: skip
        self.wte, self.wpe, self.ln_f = nn.Embedding(V, E), nn.Embedding(N, E), nn.LayerNorm(E)
        self.lm_head = nn.Linear(E, V, bias=False)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape) / 3)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.wte(ids) + self.wpe.weight[: ids.shape[1]]
        later = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).triu(1)
        for layer in self.layers:
            x = layer(x, src_mask=later)
        logits: Tensor = self.lm_head(self.ln_f(x))
        return logits

    def state_2022(self) -> dict[str, Tensor]:
        """The state dict that today's minGPT would save."""
        names = {
            "self_attn.in_proj_weight": "attn.c_attn.weight", "self_attn.in_proj_bias": "attn.c_attn.bias",
            "self_attn.out_proj.weight": "attn.c_proj.weight", "self_attn.out_proj.bias": "attn.c_proj.bias",
            "linear1.weight": "mlp.c_fc.weight", "linear1.bias": "mlp.c_fc.bias",
            "linear2.weight": "mlp.c_proj.weight", "linear2.bias": "mlp.c_proj.bias",
            "norm1.weight": "ln_1.weight", "norm1.bias": "ln_1.bias",
            "norm2.weight": "ln_2.weight", "norm2.bias": "ln_2.bias",
        }  # fmt: skip
        state = {f"transformer.{k}": v for k, v in self.state_dict().items() if k.startswith(("wte", "wpe", "ln_f"))}
        state["lm_head.weight"] = self.lm_head.weight.detach()
        for number, layer in enumerate(self.layers):
            state[f"transformer.h.{number}.attn.bias"] = torch.ones(1, 1, N, N).tril()
            for name, value in layer.state_dict().items():
                state[f"transformer.h.{number}.{names[name]}"] = value
        return state


def config(attention: str = "vanilla", gelu: str = "tanh") -> GPTConfig:
    return GPTConfig(V, N, L, 2, E, attention, 0.0, gelu=gelu)


def test_todays_mingpt_gives_the_same_logits() -> None:
    """Against torch's own encoder layers in float64, an implementation that shares no code with ours."""
    torch.manual_seed(0)
    peer = MinGPT().double()
    ours = GPT(config()).double().eval()
    load_weights(ours, from_mingpt(peer.state_2022()))
    ids = torch.randint(0, V, (3, N))
    got, want = ours(ids), peer(ids)
    # Two layers of sums of at most 4 E terms on numbers of size 10 in float64: far below what one wrong weight does.
    assert (got - want).abs().max() <= 1000 * 4 * E * 10 * 2.0**-53
    assert want.abs().max() > 0.1


@pytest.mark.parametrize("attention", ["vanilla", "synthesizer"])
def test_the_assignments_names_are_ours_and_masks_are_left_out(attention: str) -> None:
    torch.manual_seed(0)
    one, other = GPT(config(attention)), GPT(config(attention))
    state = one.state_dict() | {f"blocks.{n}.attn.mask": torch.ones(1, 1, N, N).tril() for n in range(L)}
    load_weights(other, from_mingpt(state))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_names_of_another_model_are_refused() -> None:
    for name in ("encoder.layer.0.weight", "transformer.h.0.attn.c_other.weight", "transformer.h.x.ln_1.weight"):
        with pytest.raises(BadInput, match="not the name of a weight of minGPT"):
            from_mingpt({name: torch.zeros(1)})


def test_weights_that_do_not_fit_are_refused_and_change_nothing() -> None:
    torch.manual_seed(0)
    ours = GPT(config())
    before = {k: v.clone() for k, v in ours.state_dict().items()}
    state = GPT(config()).state_dict()
    wider = GPT(GPTConfig(V, N, L, 2, 2 * E)).state_dict()
    cases = [
        (
            {k: v for k, v in state.items() if k != "head.weight"},
            "p.params do not fit .*vanilla.* head.weight is missing",
        ),
        (wider, r"pos_emb has the shape \(1, 6, 16\), but should have \(1, 6, 8\)"),
        (state | {"blocks.7.ln1.weight": torch.zeros(E)}, "it has no blocks.7.ln1.weight"),
        (GPT(config("synthesizer")).state_dict(), "attn.key.weight is missing"),
    ]
    for wrong, words in cases:
        with pytest.raises(BadInput, match=words):
            load_weights(ours, wrong, "p.params")
    assert all(torch.equal(before[k], v) for k, v in ours.state_dict().items())
