"""How far rounding can take the outputs of an encoder: a bound that goes through the model operation by operation.

With x the exact values and e a bound on the error of what came before, each operation adds what its own rounding can
do (Higham, "Accuracy and Stability of Numerical Algorithms", sections 3.1 and 3.5: a sum of k products is off by at
most gamma_k = k u / (1 - k u) of the sum of their sizes, in whatever order). It is of first order in the errors, on
values that are themselves computed; the factor `SLACK` covers what is left out as long as the errors are small, and
`bound` asserts that they are. Two programs of one formula differ by at most twice the bound.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from finetune.models.classifier import MaskedLM
from finetune.models.encoder import Encoder, distance_classes, places

SLACK = 2.0
Known = tuple[Tensor, Tensor]
"""Values, and a bound on their error."""


class Rounding:
    """The operations of an encoder, on values with errors, in a dtype of unit roundoff u."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.u = torch.finfo(dtype).eps / 2

    def gamma(self, k: int) -> float:
        return k * self.u / (1 - k * self.u)

    def linear(self, x: Known, of: nn.Linear) -> Known:
        W, b = of.weight.abs(), of.bias.abs()
        error = x[1] @ W.T + self.gamma(W.shape[1] + 2) * (x[0].abs() @ W.T + b)
        return of(x[0]), error

    def plus(self, x: Known, y: Known) -> Known:
        total = x[0] + y[0]
        return total, x[1] + y[1] + self.u * total.abs()

    def norm(self, x: Known, of: nn.LayerNorm) -> Known:
        """y = (x - m) / s w + b, with the variance summed in one pass or two, and the mean taken off before or after."""
        value, e = x
        E = value.shape[-1]
        m = value.mean(-1, keepdim=True)
        centred, size = value - m, value.abs() + m.abs()
        e_c = e + e.mean(-1, keepdim=True) + self.gamma(E + 2) * size.mean(-1, keepdim=True) + self.u * size
        v = (centred**2).mean(-1, keepdim=True)
        e_v = (2 * centred.abs() * e_c).mean(-1, keepdim=True) + self.gamma(2 * E + 4) * (v + m**2)
        s = (v + of.eps).sqrt()
        e_s = e_v / (2 * s) + 2 * self.u * s
        y = centred / s
        e_y = e_c / s + y.abs() * e_s / s + 4 * self.u * size / s
        w, b = of.weight.abs(), of.bias.abs()
        return of(value), w * e_y + 2 * self.u * (w * y.abs() + b)

    def attention(self, q: Known, k: Known, v: Known, real: Tensor, scale: float, bias: Tensor | None = None) -> Known:
        """Softmax: dp_j = p_j (ds_j - sum_i p_i ds_i); then a weighted sum, whose products and sums round, too.

        A bias is added to the scores, one rounding more.
        """
        n, d = k[0].shape[-2:]
        s = scale * (q[0] @ k[0].mT)
        e_s = scale * (q[1] @ k[0].abs().mT + q[0].abs() @ k[1].mT + self.gamma(d + 4) * (q[0].abs() @ k[0].abs().mT))
        if bias is not None:
            s = s + bias
            e_s = e_s + self.u * s.abs()
        s = s.masked_fill(~real, -torch.inf)
        p = s.softmax(-1)
        own = e_s + self.u * (4 + 2 * (s.amax(-1, keepdim=True) - s).nan_to_num(posinf=0.0))
        rho = own + (p * own).sum(-1, keepdim=True) + self.gamma(n + 2)
        out = p @ v[0]
        return out, (p * rho) @ v[0].abs() + p @ v[1] + self.gamma(n + 2) * (p @ v[0].abs())

    def gelu(self, x: Known) -> Known:
        """|gelu'| <= 1.13; 1 + erf cancels on the left, where its error is one of the size of x."""
        return nn.functional.gelu(x[0]), 1.13 * x[1] + 8 * self.u * x[0].abs()


def encoded(run: Rounding, model: Encoder, ids: Tensor, mask: Tensor, segments: Tensor | None) -> Known:
    """The model's vectors (B, n, E) with their errors."""
    rows = model.config.first_position + places(mask.bool(), ids.shape[1], ids.device)
    parts = [model.tok_emb(ids), model.pos_emb(rows)]
    if model.type_emb is not None:
        parts.append(model.type_emb(torch.zeros_like(ids) if segments is None else segments))
    stacked = torch.stack(torch.broadcast_tensors(*parts))
    x = run.norm((stacked.sum(0), run.gamma(2) * stacked.abs().sum(0)), model.ln_emb)
    H, real = model.config.n_head, mask.bool()[:, None, None, :]
    bias = None
    if model.distance_bias is not None:
        place = torch.arange(ids.shape[1])
        classes = distance_classes(place[None] - place[:, None], model.config.distances)
        bias = model.distance_bias(classes).permute(2, 0, 1)

    def heads(y: Known) -> Known:
        first, second = (t.unflatten(-1, (H, -1)).transpose(1, 2) for t in y)
        return first, second

    for block in model.blocks:
        q, k, v = (heads(run.linear(x, getattr(block.attn, name))) for name in ("query", "key", "value"))
        mixed = run.attention(q, k, v, real, (model.config.n_embd // H) ** -0.5, bias)
        joined = (mixed[0].transpose(1, 2).flatten(2), mixed[1].transpose(1, 2).flatten(2))
        x = run.norm(run.plus(x, run.linear(joined, block.attn.proj)), block.ln1)
        fed = run.linear(run.gelu(run.linear(x, block.mlp[0])), block.mlp[2])
        x = run.norm(run.plus(x, fed), block.ln2)
    return x


@torch.no_grad()
def bound(model: Encoder | MaskedLM, ids: Tensor, mask: Tensor, segments: Tensor | None = None) -> Tensor:
    """A bound on what rounding does to the model's outputs, in the dtype of its weights, without dropout.

    Returns: (B, n, E) for an encoder, (B, n, vocab) for a masked-LM; whatever at padding.
    """
    encoder = model.encoder if isinstance(model, MaskedLM) else model
    assert isinstance(encoder, Encoder)
    run = Rounding(encoder.tok_emb.weight.dtype)
    x = encoded(run, encoder, ids, mask, segments)
    if isinstance(model, MaskedLM):
        x = run.norm(run.gelu(run.linear(x, model.dense)), model.norm)
        out = nn.Linear(*encoder.tok_emb.weight.shape[::-1])
        out.weight, out.bias = encoder.tok_emb.weight, model.bias
        x = run.linear(x, out)
    assert x[1].max() < 0.01, "the errors are too large for a bound of first order"
    return SLACK * x[1]
