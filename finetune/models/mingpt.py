"""Checkpoints of minGPT's two shapes: the assignment's fork (2020), and today's with a fused projection (2022).

Both become the weights of our GPT, so that a peer's trained model can be loaded, compared and gone on with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from torch import Tensor

from finetune.errors import BadInput
from finetune.models.gpt import GPT
from finetune.models.weights import put_weights

NAMES_2022 = {
    "transformer.wte.weight": "tok_emb.weight",
    "transformer.wpe.weight": "pos_emb",
    "transformer.ln_f.weight": "ln_f.weight",
    "transformer.ln_f.bias": "ln_f.bias",
    "lm_head.weight": "head.weight",
}
PARTS_2022 = {
    "ln_1": "ln1",
    "ln_2": "ln2",
    "attn.c_proj": "attn.proj",
    "mlp.c_fc": "mlp.0",
    "mlp.c_proj": "mlp.2",
}
BUFFERS = re.compile(r"(blocks|transformer\.h)\.\d+\.attn\.(mask|bias)$")
"""Causal masks, which minGPT stores with its weights."""


def from_mingpt(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a minGPT under our names.

    Args: state, a state dict of either shape, masks included. Today's minGPT has a GELU of its own: use it with
        GPTConfig(gelu="tanh"). The assignment's synthesizer (w1, w2, b2, value, proj) keeps its names.
    Returns: a state dict for `GPT.load_state_dict`. Raises: BadInput for a name that neither shape has.
    Source: karpathy/minGPT, mingpt/model.py, and its fork in the assignment.
    """
    found: dict[str, Tensor] = {}
    for name, value in state.items():
        if BUFFERS.match(name):
            continue
        if name.startswith(("tok_emb.", "blocks.", "ln_f.", "head.")) or name == "pos_emb":
            found[name] = value
        elif name in NAMES_2022:
            found[NAMES_2022[name]] = value[None] if name == "transformer.wpe.weight" else value
        else:
            found |= _of_a_block(name, value)
    return found


def _of_a_block(name: str, value: Tensor) -> dict[str, Tensor]:
    match = re.fullmatch(r"transformer\.h\.(\d+)\.(.+)\.(weight|bias)", name)
    if match is None:
        raise BadInput(f"{name!r} is not the name of a weight of minGPT")
    number, part, kind = match.groups()
    if part == "attn.c_attn":
        pieces = zip(("query", "key", "value"), value.chunk(3, dim=0), strict=True)
        return {f"blocks.{number}.attn.{piece}.{kind}": each for piece, each in pieces}
    if part not in PARTS_2022:
        raise BadInput(f"{name!r} is not the name of a weight of minGPT")
    return {f"blocks.{number}.{PARTS_2022[part]}.{kind}": value}


def load_weights(model: GPT, state: Mapping[str, Tensor], name: str = "the parameters") -> None:
    """Put weights under our names into a model.

    Raises: BadInput, naming the first difference, where they are of another model or of other sizes; nothing is
        changed then.
    """
    put_weights(
        model, state, f"{name} do not fit this model ({model.config.attention}, {len(model.state_dict())} tensors)"
    )
