"""The laws of every method, and each method's own.

finetune.peft on our own models: what is trained, what is not, merging, disabling, padding, files.
That the numbers are those of the library is shown in integration/finetune/test_peft_library.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from finetune.errors import BadInput
from finetune.models.classifier import Classifier, MaskedLM, classification_loss
from finetune.models.encoder import Encoder, EncoderConfig
from finetune.peft import METHODS, Bias, Head, LoRA, Method, Prefix, Prompt, inject, load
from finetune.peft.lora import LoRAAdapter
from finetune.peft.prompt import join
from finetune.training.optimizer import adamw
from tests.numeric.encoder_error import bound

V, N, E, H, L, h = 23, 29, 12, 3, 2, 7
HEAD = 2 * E + 2
ROWS: list[tuple[Method, int]] = [
    (Head(), HEAD),
    (Prompt(5), 5 * E + HEAD),
    (Prompt(4, start="random"), 4 * E + HEAD),
    (Prefix(5), 2 * L * 5 * E + HEAD),
    (LoRA(3), 2 * L * 2 * E * 3 + HEAD),
    (LoRA(2, dropout=0.5, rank_stabilised=True, targets=("0",)), L * (E + h) * 2 + HEAD),
    (Bias(), (7 * E + h) * L + E + HEAD),
]
EVERY = pytest.mark.parametrize("method", [row[0] for row in ROWS], ids=lambda m: f"{m.name}-{ROWS_INDEX[id(m)]}")
ROWS_INDEX = {id(row[0]): number for number, row in enumerate(ROWS)}


def model(pool: Any = "first") -> Classifier:
    """A small classifier in float64 and evaluation mode; the same weights every time."""
    torch.manual_seed(5)
    found = Classifier(Encoder(EncoderConfig(V, N, L, H, E, h, 2)), 2, pool=pool).double().eval()
    with torch.no_grad():
        for name, parameter in found.named_parameters():
            parameter.normal_(1.0 if ".ln" in name and name.endswith("weight") else 0.0, 0.15)
    return found


def batch() -> dict[str, Tensor]:
    """Three rows of different lengths, padded on the right."""
    torch.manual_seed(6)
    real = torch.arange(7)[None] < torch.tensor([7, 3, 5])[:, None]
    ids = torch.where(real, torch.randint(1, V, (3, 7)), 0)
    return {"input_ids": ids, "attention_mask": real.long(), "labels": torch.tensor([0, 1, 1])}


def called(of: nn.Module) -> Tensor:
    given = {k: v for k, v in batch().items() if k != "labels"}
    found: Tensor = of(**given)
    return found


def shaken(of: nn.Module) -> None:
    """Other values for everything that is trained, as after training."""
    torch.manual_seed(8)
    with torch.no_grad():
        for parameter in of.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter), alpha=0.3)


@pytest.mark.parametrize(("method", "count"), ROWS)
def test_as_many_parameters_are_trained_as_the_formula_says(method: Method, count: int) -> None:
    of = model()
    adapter = inject(of, method)
    named = dict(of.named_parameters())
    assert sum(named[name].numel() for name in adapter.trainable()) == count
    assert {"head.weight", "head.bias"} <= set(adapter.trainable())


@EVERY
def test_only_what_is_trainable_changes_and_it_does_change(method: Method) -> None:
    of = model()
    before = {name: p.detach().clone() for name, p in of.named_parameters()}
    adapter = inject(of, method)
    assert set(adapter.trainable()) == {*adapter.trained, *adapter.own} < set(dict(of.named_parameters()))
    shaken(of)  # B of LoRA starts at 0, and A has no gradient then
    start = {name: p.detach().clone() for name, p in of.named_parameters()}
    of.train()
    optimizer = adamw(of, 1e-2)
    classification_loss(of, batch())[0].backward()
    for name, p in of.named_parameters():
        assert (p.grad is not None) == (name in adapter.trainable()), name
    optimizer.step()
    for name, p in of.named_parameters():
        assert torch.equal(p, start[name]) == (name not in adapter.trainable()), name
        old = name.replace(".base.", ".")
        if old in before and name not in adapter.trainable():
            assert torch.equal(p, before[old])


@EVERY
def test_disabling_restores_the_model_and_then_the_adapter(method: Method) -> None:
    of = model()
    plain = called(of)
    adapter = inject(of, method)
    shaken(of)
    tuned = called(of)
    assert (tuned - plain).abs().max() > 1e-3
    objects = [id(p) for p in of.parameters()]
    with adapter.disabled():
        assert torch.equal(called(of), plain)
        with adapter.disabled():
            assert torch.equal(called(of), plain)
        assert torch.equal(called(of), plain)
        with pytest.raises(BadInput, match="the adapter is disabled"):
            adapter.save("nowhere")
    assert torch.equal(called(of), tuned)
    with pytest.raises(ZeroDivisionError), adapter.disabled():
        _ = 1 / 0
    assert torch.equal(called(of), tuned)
    assert [id(p) for p in of.parameters()] == objects, "an optimizer would train other objects than the model has"


@EVERY
def test_what_was_saved_is_had_again_from_the_files_alone(method: Method, tmp_path: Path) -> None:
    of = model()
    adapter = inject(of, method)
    shaken(of)
    adapter.save(tmp_path / "adapter")
    again = model()
    found = load(again, tmp_path / "adapter")
    assert torch.equal(called(again), called(of))
    assert found.trainable() == adapter.trainable()
    size = sum(path.stat().st_size for path in (tmp_path / "adapter").iterdir())
    assert size < 8 * sum(p.numel() for p in of.parameters() if p.requires_grad) + 4000, (
        "more than the adapter is saved"
    )
    # In float32, which the model of a user has.
    single = model().float()
    load(single, tmp_path / "adapter")
    assert all(p.dtype == torch.float32 for p in single.parameters())


def test_the_table_is_that_of_the_methods() -> None:
    assert {name: kind.name for name, kind in METHODS.items()} == {name: name for name in METHODS}
    assert {type(method) for method, _ in ROWS} == set(METHODS.values())


# --- LoRA ---------------------------------------------------------------------------------------------


def lora(**options: Any) -> tuple[Classifier, LoRAAdapter]:
    of = model()
    adapter = inject(of, LoRA(**{"rank": 3, **options}))
    assert isinstance(adapter, LoRAAdapter)
    return of, adapter


def test_lora_changes_nothing_at_first() -> None:
    of, adapter = lora()
    assert torch.equal(called(of), called(model()))
    assert all(layer.lora_A.weight.abs().max() > 0 for layer in adapter.layers.values())


@pytest.mark.parametrize("targets", [("query", "value"), ("0", "2")], ids=["square", "wide and narrow"])
@pytest.mark.parametrize(("stabilised", "scale"), [(False, 5 / 3), (True, 5 / 3**0.5)])
def test_merged_equals_unmerged(targets: tuple[str, ...], stabilised: bool, scale: float) -> None:
    of, adapter = lora(alpha=5.0, targets=targets, rank_stabilised=stabilised)
    shaken(of)
    bits = {name: p.detach().clone() for name, p in of.named_parameters()}
    apart = called(of)
    adapter.merge()
    together = called(of)
    plain = model()
    for name, layer in adapter.layers.items():
        matrix = layer.lora_B.weight @ layer.lora_A.weight
        with torch.no_grad():
            plain.get_submodule(name).weight += scale * matrix
    with torch.no_grad():
        plain.head.load_state_dict(of.head.state_dict())
    # The same function, its matrices rounded once more each: the errors of a forward pass bound what that does, since
    # they hold a term of gamma_(K + 2) for every entry of every matrix.
    most = 4 * float(of.head.weight.detach().abs().sum(1).max()) * float(encoder_bound(plain))
    assert most < 1e-5 < 1e-2 < (apart - called(model())).abs().max()
    assert (apart - together).abs().max() <= most
    assert (called(plain) - together).abs().max() <= most
    adapter.merge()
    assert torch.equal(called(of), together), "merged twice"
    with adapter.disabled():
        assert (called(of) - called(model())).abs().max() == 0
    assert torch.equal(called(of), together)
    adapter.unmerge()
    adapter.unmerge()
    assert torch.equal(called(of), apart)
    assert all(torch.equal(p, bits[name]) for name, p in of.named_parameters())


def encoder_bound(of: Classifier) -> Tensor:
    assert isinstance(of.encoder, Encoder)
    given = batch()
    return bound(of.encoder, given["input_ids"], given["attention_mask"])[given["attention_mask"].bool()].max()


def test_unmerging_gives_the_bits_back_in_two_bytes_too() -> None:
    """Subtracting what was added rounds twice, and drifts."""
    of = model().bfloat16()
    adapter = inject(of, LoRA(3))
    shaken(of)
    bits = {name: p.detach().clone() for name, p in of.named_parameters()}
    adapter.merge()
    assert not all(torch.equal(p, bits[name]) for name, p in of.named_parameters())
    adapter.unmerge()
    assert all(torch.equal(p, bits[name]) for name, p in of.named_parameters())


def test_what_is_merged_is_saved_unmerged(tmp_path: Path) -> None:
    of, adapter = lora()
    shaken(of)
    adapter.save(tmp_path / "apart")
    adapter.merge()
    adapter.save(tmp_path / "together")
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        assert (tmp_path / "apart" / name).read_bytes() == (tmp_path / "together" / name).read_bytes()


def test_dropout_is_on_what_goes_into_the_product_alone() -> None:
    of, adapter = lora(dropout=0.5)
    shaken(of)
    layer = next(iter(adapter.layers.values()))
    x = torch.ones(4, E).double()
    assert torch.equal(layer(x), layer(x))
    layer.train()
    assert not torch.equal(layer(x), layer(x))
    with torch.no_grad():
        layer.lora_B.weight.zero_()
    assert torch.equal(layer(x), layer.base(x))


# --- prompt and prefix --------------------------------------------------------------------------------


@pytest.mark.parametrize("pool", ["first", "mean"])
def test_a_prompt_is_vectors_in_front_of_the_text(pool: Any) -> None:
    of = model(pool)
    adapter = inject(of, Prompt(4))
    got = called(of)
    plain = model(pool)
    given = batch()
    front = of.get_parameter(adapter.own[0]).detach()
    x = torch.cat([front.expand(3, -1, -1), plain.encoder.tok_emb(given["input_ids"])], 1)
    mask = torch.cat([torch.ones(3, 4).long(), given["attention_mask"]], 1)
    vectors = plain.encoder(inputs_embeds=x, attention_mask=mask)[:, 4:]
    pooled = vectors[:, 0] if pool == "first" else (vectors * given["attention_mask"][..., None]).sum(1)
    pooled = pooled if pool == "first" else pooled / given["attention_mask"].sum(1, keepdim=True)
    want = nn.functional.linear(pooled, of.head.weight, of.head.bias)
    # The mean is added up in another order: 7 numbers of size 1 or so, then E products.
    assert (got - want).abs().max() <= 100 * 2.0**-53 * E


def test_a_prefix_is_keys_and_values_of_every_layer() -> None:
    of = model()
    adapter = inject(of, Prefix(4))
    table = of.get_parameter(adapter.own[0]).detach().view(4, L, 2, H, E // H)
    past = [
        tuple(table[:, number, kind].permute(1, 0, 2).expand(3, -1, -1, -1) for kind in (0, 1)) for number in range(L)
    ]
    plain = model()
    given = batch()
    mask = torch.cat([torch.ones(3, 4).long(), given["attention_mask"]], 1)
    vectors = plain.encoder(given["input_ids"], mask, past_key_values=past)
    assert torch.equal(called(of), nn.functional.linear(vectors[:, 0], of.head.weight, of.head.bias))


@pytest.mark.parametrize("method", [Prompt(3), Prefix(3), LoRA(2)], ids=lambda m: m.name)
def test_padding_on_the_left_changes_nothing(method: Method) -> None:
    """The prompt stands in front of the text, not in front of the padding."""
    of = model("mean")
    inject(of, method)
    shaken(of)
    given = batch()
    rolled = [
        {k: given[k][row].roll(7 - n) for k in ("input_ids", "attention_mask")} for row, n in enumerate((7, 3, 5))
    ]
    left = {k: torch.stack([row[k] for row in rolled]) for k in ("input_ids", "attention_mask")}
    assert (left["attention_mask"][:, -1] == 1).all()
    # Twice the rounding of a classifier on a text that is longer by 3: the factor 100 holds the longer sums.
    most = 100 * float(of.head.weight.detach().abs().sum(1).max()) * float(encoder_bound(model("mean")))
    assert most < 1e-6
    assert (of(**left) - called(of)).abs().max() <= most


def test_joining_goes_in_front_of_the_first_real_token() -> None:
    front, text = torch.tensor([[7, 8], [7, 8]]), torch.tensor([[1, 2, 3], [0, 0, 3]])
    both, order = join(front, text, torch.tensor([[1, 1, 1], [0, 0, 1]]))
    assert both.tolist() == [[7, 8, 1, 2, 3], [0, 0, 7, 8, 3]]
    assert order is not None
    assert join(front, text, None)[0].tolist() == [[7, 8, 1, 2, 3], [7, 8, 0, 0, 3]]


def test_positions_of_a_call_go_behind_the_prefix() -> None:
    of = model().encoder
    inject(of, Prefix(3))
    ids = batch()["input_ids"]
    assert torch.equal(of(ids, position_ids=torch.arange(7)[None].expand(3, -1)), of(ids))


# --- refusals -----------------------------------------------------------------------------------------

REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: inject(model().encoder, Head()), "Encoder has no head that could be trained"),
    (lambda: inject(MaskedLM(model().encoder), Head()), "MaskedLM has no head"),
    (lambda: inject(nn.Linear(2, 2), LoRA()), "Linear is neither an encoder of ours nor a model of transformers"),
    (lambda: inject(model(), LoRA(targets=("q_proj",))), "no linear modules called q_proj"),
    (lambda: inject(model(), LoRA(targets=("query", "head"))), "no linear modules called query and head"),
    (lambda: inject(model(), LoRA(targets=())), "no linear modules called nothing"),
    (lambda: inject(model(), Prompt(2, "all")), "for a model of transformers as it is"),
    (lambda: inject(inject(model(), Head()).model, Prompt()), "the model holds an adapter already"),
    (lambda: inject(model(), Prompt()).merge(), "prompt cannot be merged"),
    (lambda: inject(model(), Bias()).unmerge(), "bias cannot be merged"),
    (lambda: LoRA(0), "a rank is at least 1"),
    (lambda: LoRA(dropout=1.0), "a dropout from 0 to below 1"),
    (lambda: Prompt(0), "no prompt is 0 vectors long"),
    (lambda: Prefix(0), "a prefix is at least 1 long"),
    (
        lambda: inject(model().encoder, Prompt()).model(torch.ones(1, 2).long(), position_ids=torch.ones(1, 2)),
        "position_ids",
    ),
    (lambda: inject(model().encoder, Prompt(N)).model(torch.ones(1, 1).long()), "30 tokens do not fit"),
]


@pytest.mark.parametrize(("made", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_cannot_be_is_refused(made: Callable[[], Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        made()


def spoilt(**config: Any) -> Callable[[Path], None]:
    def run(folder: Path) -> None:
        path = folder / "adapter_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **config}))

    return run


FILES: list[tuple[Method, Callable[[Path], object], str]] = [
    (LoRA(2), lambda f: (f / "adapter_config.json").unlink(), "no such file"),
    (LoRA(2), lambda f: (f / "adapter_config.json").write_text("{"), "is not valid JSON"),
    (LoRA(2), lambda f: (f / "adapter_config.json").write_text("3"), "should hold a JSON object, got a int"),
    (
        LoRA(2),
        lambda f: (f / "adapter_model.safetensors").rename(f / "adapter_model.bin"),
        "is a pickle, which can run",
    ),
    (LoRA(2), lambda f: (f / "adapter_model.safetensors").write_bytes(b"12345678"), "may be cut short"),
    (LoRA(2), spoilt(peft_type="IA3"), "peft_type 'IA3' is none of those that are read here"),
    (LoRA(2), spoilt(use_dora=True), "use_dora=True is not supported"),
    (LoRA(2), spoilt(bias="all"), "bias='all' is not supported"),
    (LoRA(2), spoilt(lora_alpha="4"), "lora_alpha should be a number, got '4'"),
    (LoRA(2), spoilt(peft_type="FINETUNE_HEAD"), "base_model.head.weight is missing"),
    (Bias(), spoilt(peft_type="FINETUNE_HEAD"), "it has no place for base_model.encoder"),
    (Prompt(2), spoilt(num_virtual_tokens=3), r"the shape \(2, 12\), but should have \(3, 12\)"),
    (Prompt(2), spoilt(num_virtual_tokens=None), "num_virtual_tokens should be a number, got None"),
    (Prefix(2), spoilt(peft_type="LORA"), "holds no matrix A of LoRA"),
    (Head(), spoilt(peft_type="FINETUNE_BIAS"), "is missing"),
]


@pytest.mark.parametrize(("method", "spoil", "words"), FILES, ids=[words for _, _, words in FILES])
def test_files_that_do_not_fit_are_refused(
    method: Method, spoil: Callable[[Path], object], words: str, tmp_path: Path
) -> None:
    inject(model(), method).save(tmp_path)
    spoil(tmp_path)
    with pytest.raises(BadInput, match=words):
        load(model(), tmp_path)
