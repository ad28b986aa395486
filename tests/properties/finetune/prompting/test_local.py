"""A model in this process: its draws, scores and kept keys against transformers' own numbers."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_language_models import make_language_model

from finetune.errors import BadInput
from finetune.prompting.local import LocalModel, choose, locate, penalize
from finetune.prompting.request import Controls, Mode, Request


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_language_model(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture(scope="module")
def model(folder: Path) -> LocalModel:
    return LocalModel(str(folder))


def request_of(
    model: LocalModel, prompt: str, mode: Mode = "completion", choices: tuple[str, ...] = (), **controls: object
) -> Request:
    return Request(model.identity, prompt, Controls(**controls), mode, choices)


@torch.no_grad()
def greedy(model: LocalModel, prompt: str, count: int) -> str:
    """transformers' own greedy text."""
    tokenizer, network = model._model
    ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
    whole = network.generate(ids, max_new_tokens=count, do_sample=False, pad_token_id=0)
    return tokenizer.decode(whole[0, ids.shape[1] :], skip_special_tokens=True)


@torch.no_grad()
def log_probability(model: LocalModel, prompt: str, choice: str) -> float:
    """log p(choice | prompt), a token at a time, nothing kept."""
    tokenizer, network = model._model
    ids, whole = tokenizer(prompt)["input_ids"], tokenizer(prompt + choice)["input_ids"]
    total = 0.0
    for end in range(len(ids), len(whole)):
        logits = network(torch.tensor([whole[:end]])).logits[0, -1].double()
        total += float(torch.log_softmax(logits, -1)[whole[end]])
    return total


def test_greedy_is_what_transformers_generates(model: LocalModel) -> None:
    for prompt in ("Hello", "The answer is", "x"):
        assert model.answer(request_of(model, prompt, max_tokens=12)).texts == (greedy(model, prompt, 12),)


@settings(max_examples=15)
@given(st.lists(st.text("ab", min_size=1, max_size=8), min_size=1, max_size=4))
def test_kept_keys_change_no_score(model: LocalModel, prompts: list[str]) -> None:
    for prompt in prompts:
        scores = model.answer(request_of(model, prompt, choices=(" yes", " no", "a"))).scores
        # float32 beside float64's log-softmax of the same logits: 2^-24 times sums of some tens, times the layers.
        assert scores == pytest.approx([log_probability(model, prompt, c) for c in (" yes", " no", "a")], abs=1e-3)


def test_a_model_with_sliding_windows_reads_a_shared_beginning_once(tmp_path: Path) -> None:
    model = LocalModel(str(make_language_model(tmp_path / "sliding", window=8)))
    read: list[int] = []
    hook = model._model[1].register_forward_pre_hook(
        lambda _, __, given: read.append(given["input_ids"].shape[1]), with_kwargs=True
    )
    shown, choices = "ab" * 50, (" yes", " no", "a", "bb")
    questions = [shown + question for question in ("aab", "bba", "abba", "aabb")]
    scores = [model.answer(request_of(model, question, choices=choices)).scores for question in questions]
    hook.remove()
    # The first question is read as a whole, again for the beginning that its choices share, and the demonstrations
    # again for the second; what is left is a few letters a choice.
    assert sum(read) < 3 * 104 + 4 * 4 * 10
    for question, got in zip(questions, scores, strict=True):
        # As above.
        assert got == pytest.approx([log_probability(model, question, choice) for choice in choices], abs=1e-3)


def test_an_answer_does_not_depend_on_what_was_asked_before(model: LocalModel) -> None:
    wanted = request_of(model, "abc", max_tokens=8, temperature=1.0, seed=3)
    alone = LocalModel(str(model.path)).answer(wanted)
    model.answer(request_of(model, "abcdef", max_tokens=3))
    assert model.answer(wanted) == alone
    assert model.answer(wanted) == alone


def test_another_seed_and_another_draw_are_others(model: LocalModel) -> None:
    texts = {model.answer(request_of(model, "a", max_tokens=8, temperature=2.0, seed=s)).texts for s in range(5)}
    assert len(texts) == 5
    several = model.answer(request_of(model, "a", max_tokens=8, temperature=2.0, n=4))
    assert len(set(several.texts)) == 4
    assert several.completion_tokens <= 32


def test_best_of_keeps_the_likeliest(model: LocalModel) -> None:
    all_ = model.answer(request_of(model, "a", max_tokens=6, temperature=2.0, n=5, best_of=5)).texts
    one = model.answer(request_of(model, "a", max_tokens=6, temperature=2.0, n=1, best_of=5)).texts
    assert one == all_[:1]
    means = [log_probability(model, "a", text) / 6 for text in all_]
    assert means == sorted(means, reverse=True)


def test_a_completion_ends_before_its_stop(model: LocalModel) -> None:
    text = greedy(model, "Hello", 12)
    stop = text[3:5]
    answer = model.answer(request_of(model, "Hello", max_tokens=12, stop=(stop, "never there")))
    assert answer.texts == (text[: text.index(stop)],)
    assert answer.finished == ("stop",)
    assert model.answer(request_of(model, "Hello", max_tokens=4)).finished == ("length",)


def test_penalties_are_the_formula() -> None:
    logits = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    got = penalize(logits, [3, 1, 3], Controls(frequency_penalty=0.5, presence_penalty=0.25))
    assert got.tolist() == [[1.0, 2.0 - 0.5 - 0.25, 3.0, 4.0 - 1.0 - 0.25]]


def test_a_high_frequency_penalty_repeats_less(model: LocalModel) -> None:
    plain = model.answer(request_of(model, "a", max_tokens=24)).texts[0]
    varied = model.answer(request_of(model, "a", max_tokens=24, frequency_penalty=2.0, presence_penalty=2.0)).texts[0]
    assert varied != plain
    assert len(set(varied)) > len(set(plain))


def test_top_p_draws_among_the_likeliest() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.2]]))
    generator = torch.Generator().manual_seed(0)
    drawn = {choose(logits, Controls(temperature=1.0, top_p=0.6), generator) for _ in range(200)}
    assert drawn == {0, 1}
    assert choose(logits, Controls(), generator) == 0


def test_chat_goes_through_the_dialogue(model: LocalModel) -> None:
    got = model.answer(request_of(model, "Hello", mode="chat", max_tokens=6))
    assert got.texts == (greedy(model, "<u>Hello</u><a>", 6),)


def test_a_model_without_a_dialogue_is_one_line(tmp_path: Path) -> None:
    silent = LocalModel(str(make_language_model(tmp_path / "silent", dialogue=False)))
    with pytest.raises(BadInput, match="has no dialogue: take --mode completion"):
        silent.answer(request_of(silent, "Hello", mode="chat"))


def test_a_prompt_beyond_the_context_is_one_line(model: LocalModel) -> None:
    with pytest.raises(
        BadInput, match=r"a prompt of 250 tokens with 16 more does not fit into the model's context of 256"
    ):
        model.answer(request_of(model, "a" * 250))
    assert math.isfinite(model.answer(request_of(model, "a" * 240, choices=("b",))).scores[0])


@pytest.mark.parametrize(
    ("prompt", "choices", "line"), [("", (), "the prompt is empty"), ("a", ("",), "adds no token")]
)
def test_nothing_to_do_is_one_line(model: LocalModel, prompt: str, choices: tuple[str, ...], line: str) -> None:
    with pytest.raises(BadInput, match=line):
        model.answer(request_of(model, prompt, choices=choices))


def test_other_weights_are_another_identity(model: LocalModel, tmp_path: Path) -> None:
    other = LocalModel(str(make_language_model(tmp_path / "tiny", seed=1)))
    assert other.identity != model.identity
    assert str(tmp_path) not in other.identity


@pytest.mark.parametrize("path", ["nowhere", "smollm3"])
def test_no_such_model_is_one_line(path: str) -> None:
    with pytest.raises(BadInput, match="no model at"):
        locate(path)


def test_a_folder_of_something_else_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"has no config\.json"):
        locate(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(BadInput, match="cannot be loaded as a causal language model"):
        LocalModel(str(tmp_path))._model  # noqa: B018  # loads


def test_a_broken_gguf_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    (tmp_path / "x.gguf").write_bytes(b"GGUF but not really")
    with pytest.raises(BadInput, match="cannot be loaded"):
        LocalModel(str(tmp_path / "x.gguf"))._model  # noqa: B018  # loads


def test_pickled_weights_are_never_read(model: LocalModel, tmp_path: Path) -> None:
    folder = make_language_model(tmp_path / "pickled")
    (folder / "model.safetensors").rename(folder / "kept")
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(BadInput, match="cannot be loaded"):
        LocalModel(str(folder))._model  # noqa: B018  # loads
