"""Encoders of transformers and ours, from the same folder.

finetune.models.huggingface and classifier against transformers itself: the same files give the same numbers.
Models are tiny, with random weights, made here; differences are held against a bound derived in numeric/encoder_error.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from lazy import lazily
from safetensors.torch import load_file, save_file
from torch import Tensor

from finetune.models.classifier import Classifier
from finetune.models.huggingface import load_encoder, load_masked_lm
from tests.numeric.encoder_error import bound

pytestmark = pytest.mark.slow
transformers = lazily("transformers")

V, L, H, E, N = 53, 2, 3, 12, 17
BERT = {
    "vocab_size": V, "hidden_size": E, "num_hidden_layers": L, "num_attention_heads": H, "intermediate_size": 19,
    "max_position_embeddings": N, "type_vocab_size": 3,
}  # fmt: skip
LAYOUTS: dict[str, Callable[[], tuple[Any, str]]] = {
    "bert": lambda: (transformers.BertConfig(**BERT), "Bert"),
    "roberta": lambda: (transformers.RobertaConfig(**BERT, layer_norm_eps=1e-5), "Roberta"),
    "distilbert": lambda: (
        transformers.DistilBertConfig(
            vocab_size=V, dim=E, n_layers=L, n_heads=H, hidden_dim=19, max_position_embeddings=N
        ),
        "DistilBert",
    ),
    "mpnet": lambda: (
        transformers.MPNetConfig(**{k: v for k, v in BERT.items() if k != "type_vocab_size"}, layer_norm_eps=1e-5),
        "MPNet",
    ),
}


def made(layout: str, task: str, folder: Path) -> Any:
    """A model of transformers with weights from N(0, 0.15), those of norms around 1, in float64; saved in float32."""
    config, name = LAYOUTS[layout]()
    model = getattr(transformers, f"{name}{task}")(config).eval()
    torch.manual_seed(7)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            parameter.normal_(1.0 if "LayerNorm.weight" in key or "norm.weight" in key else 0.0, 0.15)
    model.save_pretrained(folder)
    return model.double()


def texts(layout: str) -> dict[str, Tensor]:
    """Rows of different lengths, padded on the right with the layout's id, with segments where it has some."""
    torch.manual_seed(3)
    pad = 1 if layout in ("roberta", "mpnet") else 0
    lengths = torch.tensor([11, 4, 1, 8])
    real = torch.arange(11)[None] < lengths[:, None]
    ids = torch.where(real, torch.randint(2, V, (4, 11)), pad)
    found = {"input_ids": ids, "attention_mask": real.long()}
    return (
        found if layout in ("distilbert", "mpnet") else found | {"token_type_ids": torch.randint(0, 3, (4, 11)) * real}
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_outputs_equal_transformers_to_rounding(layout: str, tmp_path: Path) -> None:
    theirs = made(layout, "Model", tmp_path)
    ours = load_encoder(tmp_path).double().eval()
    batch = texts(layout)
    real = batch["attention_mask"].bool()
    most = 2 * bound(ours, batch["input_ids"], real, batch.get("token_type_ids"))
    assert most[real].max() < 1e-6, "a bound that would let faults through"
    with torch.no_grad():
        want = theirs(**batch).last_hidden_state
        assert ((ours(**batch) - want).abs() <= most)[real].all()
        # Without a mask every token is real, in both.
        ids = batch["input_ids"][:1]
        whole = 2 * bound(ours, ids, torch.ones_like(ids))
        assert ((ours(ids) - theirs(ids).last_hidden_state).abs() <= whole).all()
        # A weight that is off by a ten-thousandth is seen.
        ours.blocks[1].mlp[0].weight[2, 1] += 1e-4
        assert not ((ours(**batch) - want).abs() <= most)[real].all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_masked_words_equal_transformers(layout: str, tmp_path: Path) -> None:
    theirs = made(layout, "ForMaskedLM", tmp_path)
    ours = load_masked_lm(tmp_path).double().eval()
    batch = texts(layout)
    real = batch["attention_mask"].bool()
    with torch.no_grad():
        got, want = ours(**batch), theirs(**batch).logits
        chosen = ours(**batch, where=real)
        most = 2 * bound(ours, batch["input_ids"], real, batch.get("token_type_ids"))
    assert most[real].max() < 1e-6 < want[real].std()
    assert ((got - want).abs() <= most)[real].all()
    assert torch.equal(chosen, got[real])
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in theirs.parameters())


def test_tinybert_is_read_as_it_was_published(tmp_path: Path) -> None:
    """No model_type, norms with gamma and beta, a pooler, and matrices of the distillation that nothing uses."""
    theirs = made("bert", "ForPreTraining", tmp_path)
    path = tmp_path / "model.safetensors"
    state = {
        k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): v
        for k, v in load_file(path).items()
    }
    assert any(k.endswith("LayerNorm.gamma") for k in state)
    save_file(state | {"fit_dense.weight": torch.zeros(9, E)}, path)
    told = json.loads((tmp_path / "config.json").read_text())
    small = {k: told[k] for k in told if k not in ("model_type", "layer_norm_eps", "pad_token_id")}
    (tmp_path / "config.json").write_text(json.dumps(small | {"cell": {}, "emb_size": E, "pre_trained": ""}))
    ours = load_encoder(tmp_path).double().eval()
    batch = texts("bert")
    real = batch["attention_mask"].bool()
    with torch.no_grad():
        got, want = ours(**batch), theirs.bert(**batch).last_hidden_state
    assert ((got - want).abs() <= 2 * bound(ours, batch["input_ids"], real, batch["token_type_ids"]))[real].all()


def test_pieces_are_put_together(tmp_path: Path) -> None:
    theirs = made("bert", "Model", tmp_path)
    whole = load_encoder(tmp_path).state_dict()
    (tmp_path / "model.safetensors").unlink()
    theirs.float().save_pretrained(tmp_path, max_shard_size="3KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 2
    found = load_encoder(tmp_path).state_dict()
    assert all(torch.equal(found[k], v) for k, v in whole.items())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("pool", ["first", "mean"])
def test_an_automodel_stands_in_for_ours(layout: str, pool: Any, tmp_path: Path) -> None:
    theirs = made(layout, "Model", tmp_path)
    ours = load_encoder(tmp_path).double()
    heads = [Classifier(encoder, 4, pool=pool).double().eval() for encoder in (ours, theirs)]
    heads[1].head.load_state_dict(heads[0].head.state_dict())
    batch = texts(layout)
    with torch.no_grad():
        got, want = heads[0](**batch), heads[1](**batch)
        most = 2 * bound(ours, batch["input_ids"], batch["attention_mask"], batch.get("token_type_ids"))
    # A weighted sum of the encoder's errors, and the rounding of E products and a mean of 11 (far below the first).
    factor = heads[0].head.weight.abs().sum(1).max()
    assert (got - want).abs().max() <= 2 * factor * most[batch["attention_mask"].bool()].max()
