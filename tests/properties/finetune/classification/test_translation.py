"""Translation by entailment: correlations against SciPy's, both directions, and files that cannot be used."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from finetune.classification.translation import (
    Judgements,
    altered_references,
    change_name,
    change_negation,
    change_number,
    chrf,
    correlations,
    entailment_scores,
    kendall,
    pearson,
    read_judgements,
    sentence_bleu,
)
from finetune.cli.main import app
from finetune.errors import BadInput
from tests.tiny_encoders import sentences, write_encoder

NUMBERS = st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=3, max_size=12)


@given(pairs=NUMBERS)
def test_correlations_are_those_of_scipy(stats: ModuleType, pairs: list[tuple[int, int]]) -> None:
    """With ties on both sides."""
    a, b = (np.array(side, float) for side in zip(*pairs, strict=True))
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert np.isnan(pearson(a, b)) and np.isnan(kendall(a, b))
        return
    assert pearson(a, b) == pytest.approx(stats.pearsonr(a, b).statistic, abs=1e-12)
    assert kendall(a, b) == pytest.approx(stats.kendalltau(a, b).statistic, abs=1e-12)


@pytest.mark.parametrize(
    ("translation", "reference", "value"),
    [
        ("the cat sat", "a cat sat there", 0.4633492108468086),
        ("two men", "five men", 0.16573915525114153),
        ("a", "ab", 0.5555555555555556),
        ("", "ab", 0.0),
        ("rain", "rain", 1.0),
    ],
)
def test_chrf_is_that_of_sacrebleu(translation: str, reference: str, value: float) -> None:
    """Values of sacrebleu 2.6.0, CHRF(word_order=0): a float64 sum of at most six ratios rounds to 1e-15."""
    assert chrf(translation, reference) == pytest.approx(value, abs=1e-14)


@pytest.mark.parametrize(("pair", "retokenised"), [("cs-en", 2), ("fi-en", 0)])
def test_sentence_bleu_is_the_column_of_the_published_files(data_dir: Path, pair: str, retokenised: int) -> None:
    """They have it to six digits. Two lines of cs-en were cut into words in another way after they had been scored."""
    judged = read_judgements(data_dir / "wmt17_da" / f"testset_{pair}.tsv")
    ours = [sentence_bleu(*both) for both in zip(judged.translations, judged.references, strict=True)]
    assert (np.abs(ours - judged.bleu) > 1e-6).sum() == retokenised


def test_sentence_bleu_of_nothing_and_of_short_texts() -> None:
    # (2 / 3 * 1 / 2)^(1/4), and e^(1 - 3 / 2) for a word too few.
    assert sentence_bleu("the cat", "a cat sat") == pytest.approx((1 / 3) ** 0.25 * math.exp(-0.5), abs=1e-15)
    assert sentence_bleu("a b c d e", "v w x y z") == pytest.approx((1 / 6 / 5 / 4 / 3) ** 0.25, abs=1e-15)
    assert sentence_bleu("", "a b") < 0.4 and sentence_bleu("rain", "rain") == 1


def test_references_are_altered_in_one_thing() -> None:
    texts = ["mr putin was in moscow on 19 may", "ms merkel did not speak", "rain falls"]
    sources = ("Herr Putin war am 19. Mai in Moskau", "Frau Merkel sprach nicht", "Regen")
    zero = np.zeros(3)
    found = altered_references(Judgements("de-en", texts, texts, zero, zero, texts, sources))
    assert found["nothing"] == [(text, text) for text in texts]
    assert [b for _, b in found["negation"]] == ["mr putin was not in moscow on 19 may", "ms merkel did speak"]
    assert [b for _, b in found["number"]] == ["mr putin was in moscow on 18 may"]
    assert [b for _, b in found["name"]] == ["mr merkel was in moscow on 19 may", "ms putin did not speak"]
    assert change_negation("rain") is change_number("rain") is change_name("rain", "Regen", ["a"]) is None
    assert change_number("in 1999 and 07") == "in 1998 and 07"


def judgements(count: int, seed: int = 0) -> Judgements:
    generator = np.random.default_rng(seed)
    human = generator.normal(size=count)
    return Judgements("de-en", ["a"] * count, ["b"] * count, human, human + generator.normal(size=count), ["r"] * count)


def test_both_directions_are_asked_and_averaged() -> None:
    pairs = judgements(3).both_directions()
    assert pairs.first == ["b"] * 3 + ["a"] * 3 and pairs.second == ["a"] * 3 + ["b"] * 3
    # Left out: entailed by the reference, and does not entail it. One direction alone would give it 1.
    found = entailment_scores([[0, 1], [0, 1], [1, 0], [0, 1], [1, 0], [1, 0]], 1)
    assert found.tolist() == [1.0, 0.5, 0.0]


def test_a_score_that_follows_people_is_told_from_one_that_does_not() -> None:
    given_ = judgements(300)
    found = correlations(given_, {"good": given_.human + 0.1, "noise": np.random.default_rng(9).normal(size=300)})
    for kind in ("pearson", "kendall"):
        assert found["good"][kind].low > 0.99
        assert found["noise"][kind].low < 0 < found["noise"][kind].high


HEAD = "LP\tsource\ttranslation\treference\tHUMAN_score\tsentBLEU\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there is no column 'LP'"),
        (HEAD, "there is no translation"),
        (HEAD.replace("sentBLEU", "x") + "a\tb\tc\td\t1\t0\n", "there is no column 'sentBLEU'"),
        (HEAD + "a\tb\tc\td\t1\n", "line 2: 5 columns, but should be 6"),
        (HEAD + "a\tb\tc\td\tx\t0\n", "line 2: HUMAN_score 'x' is not a number"),
        (HEAD + "a\tb\tc\td\t1\tnan\n", "line 2: sentBLEU 'nan' is not a number"),
        (HEAD + "a\tb\tc\td\t1\t0\nz\tb\tc\td\t1\t0\n", "several language pairs: a, z"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "f.tsv").write_text(text)
    with pytest.raises(BadInput, match=words.replace("'", "'")):
        read_judgements(tmp_path / "f.tsv")


def test_the_command_scores_each_language_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_encoder(Path("m"))
    first, second = sentences(40, 1), sentences(41, 2)
    pairs = [(a, b) for shift in (0, 1) for a, b in zip(first, second[shift:], strict=False)]
    rows = [(text, other, ("no", "yes")[mood == same]) for (mood, text), (same, other) in pairs]
    Path("p.tsv").write_text("a\tb\tlabel\n" + "".join("\t".join(row) + "\n" for row in rows))
    run = ("classify", "--model", "m", "--data", "p.tsv", "--text_column", "a", "--pair_column", "b", "--num_epochs", "1",
           "--method", "head", "--device", "cpu", "--threads", "1", "--output_dir", "r")  # fmt: skip
    told = CliRunner().invoke(app, run, catch_exceptions=False)
    assert told.exit_code == 0, told.output
    lines = [
        f"de-en\tx\tthe film was {w}\tthe film was good\t{n}\t0.{n}"
        for n, w in enumerate(("bad", "warm", "fine", "good"))
    ]
    Path("t.tsv").write_text(HEAD + "\n".join(lines) + "\n")
    told = CliRunner().invoke(app, ("translation", "r", "t.tsv", "--entails", "yes", "--output", "o.json"))
    assert told.exit_code == 0 and "de-en    BLEU         1.000 " in told.output, told.output
    told = CliRunner().invoke(app, ("translation", "r", "t.tsv"))
    assert told.exit_code == 2 and "--entails ENTAILMENT: the classes of r are no, yes" in told.output
    told = CliRunner().invoke(
        app, ("translation", "r", "t.tsv", "--entails", "yes", "--altered", "5", "--output", "o.json")
    )
    assert told.exit_code == 0 and "de-en    chrF " in told.output, told.output
    altered = json.loads(Path("o.json").read_text())["altered"]
    assert set(altered) == {"nothing", "negation"} and altered["nothing"]["chrF"] == 1
    assert 0.5 < altered["negation"]["chrF"] < 1 and 0 < altered["negation"]["BLEU"] < 1
    assert "  number     no pair" in told.output
