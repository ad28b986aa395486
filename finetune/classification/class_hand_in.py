"""Mark an assignment's classes as they stand: `BertForSequenceClassification` and `BertForCLSMLM` (source 002, part 2).

Both are built from the folder of a small BERT that is drawn here, in float64. What they return is compared with cross
entropies in NumPy, and with what they return for other padding, other labels and other texts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from finetune.classification.hand_in import Check

Build = Callable[[str, int], nn.Module]
VOCABULARY, CLASSES, TEXTS, LENGTH = 29, 3, 4, 9
IGNORED = -100
"""The label of a place that is not masked."""
ALLOWED = 2.0**-26
"""A float64 pass through two layers of 16 rounds to about 2^-44 of its numbers, which are of the size of 1; leaving out
a mask, or a mean over other places, moves them by a thousandth and more. Anything between separates the two."""


def draw_folder(folder: Path) -> None:
    """Save a small BERT with drawn weights, as safetensors and as older code reads it, and its vocabulary."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=VOCABULARY, max_position_embeddings=64, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, initializer_range=0.5,
    )  # fmt: skip
    model = BertModel(config)
    model.save_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", *(f"w{n}" for n in range(1, VOCABULARY))]), encoding="utf-8")


def build_model(build: Build) -> nn.Module:
    """Build a class on the folder of a small BERT, in float64, and let its new layers be as large as the others."""
    with tempfile.TemporaryDirectory() as folder:
        draw_folder(Path(folder))
        torch.manual_seed(1)
        return build(folder, CLASSES).double().eval()


def draw_texts(seed: int, more: int = 0) -> dict[str, Tensor]:
    """Draw texts of 4 to LENGTH tokens and their mask; `more` places of padding after."""
    rng = np.random.default_rng(seed)
    ids = np.zeros((TEXTS, LENGTH + more), dtype=np.int64)
    for row, size in enumerate((LENGTH, 4, 6, 7)):
        ids[row, :size] = rng.integers(1, VOCABULARY, size)
    return {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy((ids != 0).astype(np.int64))}


def cross_entropy(logits: Tensor, labels: Tensor) -> float:
    """Return the mean of log sum_j exp z_ij - z_i,y_i over the rows."""
    z: npt.NDArray[np.float64] = logits.detach().numpy()
    z = z - z.max(1, keepdims=True)
    return float((np.log(np.exp(z).sum(1)) - z[np.arange(len(z)), labels.numpy()]).mean())


def mark_classifier(build: Build) -> list[Check]:
    """Judge a class `(model_name_or_path, num_labels)`: logits without labels, (loss, logits) with them.

    Args:
        build: the class; its forward takes input_ids, attention_mask and labels.
    """
    model, batch, labels = build_model(build), draw_texts(2), torch.tensor([2, 0, 1, 1])
    with torch.no_grad():
        logits = model(**batch)
    if not isinstance(logits, Tensor) or logits.shape != (TEXTS, CLASSES):
        got = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        return [Check("logits (B, num_labels) without labels", False, f"got {got}")]
    with torch.no_grad():
        padded, returned = model(**draw_texts(2, more=3)), model(**batch, labels=labels)
    found = [Check("logits (B, num_labels) without labels", True), check_padding("logits", padded, logits)]
    if not isinstance(returned, tuple) or len(returned) != 2:
        return [*found, Check("(loss, logits) with labels", False, f"got {describe(returned)}")]
    found += [
        Check("(loss, logits) with labels", True),
        check_number("the loss is the mean cross entropy", float(returned[0]), cross_entropy(logits, labels)),
        Check("labels leave the logits alone", bool(torch.equal(returned[1], logits)), "other logits with labels"),
    ]
    return [*found, check_draws(model, batch), check_gradients(model, lambda: model(**batch, labels=labels)[0], "loss")]


def mark_joint(build: Build) -> list[Check]:
    """Judge a class of joint training: all of `mark_classifier`, and (cls_loss, mlm_loss, logits) with both labels.

    Args:
        build: the class; its forward takes mlm_input_ids, mlm_attention_mask and mlm_labels as well.
    """
    model, batch, labels = build_model(build), draw_texts(2), torch.tensor([2, 0, 1, 1])
    name = "(cls_loss, mlm_loss, logits) with both labels"

    def call(places: list[tuple[int, int]], text: dict[str, Tensor] = batch, more: int = 0) -> Any:
        hidden = draw_texts(3, more)
        targets = torch.full_like(hidden["input_ids"], IGNORED)
        for row, place in places:
            targets[row, place] = (7 * row + place) % VOCABULARY
        masked = {f"mlm_{key}": value for key, value in hidden.items()}
        return model(**text, labels=labels, **masked, mlm_labels=targets)

    some, others = [(0, 1), (0, 5), (2, 3)], [(1, 2), (3, 6)]
    with torch.no_grad():
        returned = call(some)
        if not isinstance(returned, tuple) or len(returned) != 3:
            return [*mark_classifier(build), Check(name, False, f"got {describe(returned)}")]
        logits = model(**batch)
        rest, both = float(call(others)[1]), float(call(some + others)[1])
        elsewhere, padded = call(some, draw_texts(5)), call(some, draw_texts(2, 3), more=3)
    mean = (len(some) * float(returned[1]) + len(others) * rest) / (len(some) + len(others))
    return [
        *mark_classifier(build),
        Check(name, True),
        check_number("cls_loss is that without masked texts", float(returned[0]), cross_entropy(logits, labels)),
        check_number("mlm_loss is the mean over the masked places alone", both, mean),
        check_number("mlm_loss is of the masked texts, not of the others", float(elsewhere[1]), float(returned[1])),
        check_number("padding leaves mlm_loss alone", float(padded[1]), float(returned[1])),
        check_gradients(model, lambda: sum(call(some)[:2]), "sum of both losses", unless=""),
    ]


def check_padding(what: str, padded: Tensor, plain: Tensor) -> Check:
    """Judge whether padding after the texts changes nothing."""
    off = float((padded - plain).abs().max())
    return Check(f"padding leaves the {what} alone", off <= ALLOWED, f"they move by {off:.3g}: is the mask passed on?")


def check_number(name: str, got: float, wanted: float) -> Check:
    """Judge a number."""
    return Check(
        name, abs(got - wanted) <= ALLOWED * max(1.0, abs(wanted)), f"got {got:.6g}, but should be {wanted:.6g}"
    )


def check_draws(model: nn.Module, batch: dict[str, Tensor]) -> Check:
    """Judge whether there is dropout between encoder and head: two passes in training mode differ."""
    model.train()
    encoders = [module for module in model.modules() if type(module).__name__ == "BertModel"]
    for encoder in encoders:  # the encoder's own dropout proves nothing
        encoder.eval()
    with torch.no_grad():
        same = torch.equal(model(**batch), model(**batch))
    model.eval()
    return Check("dropout before the head", not same, "two passes in training mode are equal")


def check_gradients(model: nn.Module, loss: Callable[[], Any], what: str, unless: str = "mlm") -> Check:
    """Judge whether a loss has a gradient for every parameter that wants one, but the pooler's and those with a name
    that holds `unless`: the masked-LM head has none of the classification's loss."""
    model.zero_grad(set_to_none=True)
    with suppress(RuntimeError):  # without a graph no gradient comes, which is reported below
        loss().backward()
    without = [name for name, p in model.named_parameters() if p.requires_grad and p.grad is None]
    without = [name for name in without if "pooler" not in name and not (unless and unless in name.lower())]
    model.zero_grad(set_to_none=True)
    return Check(f"the {what} trains head and encoder", not without, f"no gradient for {', '.join(without[:3])}")


def describe(returned: Any) -> str:
    """Say what was returned."""
    return f"{len(returned)} results" if isinstance(returned, tuple) else f"a {type(returned).__name__}"
