"""Shapes.

Where workloads come from: known models, sizes in words, TOML files; every bad word has its one clear line.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from attention_core.bench.workloads.shapes import read_shapes, workloads
from attention_core.declaration.implementation import TargetError


def test_known_models() -> None:
    (bert,) = read_shapes(["bert-base:128"])
    assert bert.sizes == {"H": 12, "d": 64, "n_q": 128, "n_kv": 128}
    assert bert.mask == "none"
    llama = read_shapes(["Llama-3-8B"])
    assert [s.sizes["n_kv"] for s in llama] == [512, 2048, 8192]
    assert all(s.sizes["H"] == 4 * s.sizes["H_kv"] and s.mask == "causal" for s in llama)


def test_sizes_in_words() -> None:
    (shape,) = read_shapes(["B=2, H=4,H_kv=1,n=16,n_q=3,d=8,d_v=5"])
    assert shape.sizes == {"B": 2, "H": 4, "H_kv": 1, "n_q": 3, "n_kv": 16, "d": 8, "d_v": 5}


def test_a_file_of_shapes(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[[shape]]\nname = "mine"\nH = 2\nn = 10\nmask = "window:4"\n[[shape]]\nH = 3\n')
    first, second = read_shapes([str(path)])
    assert (first.label, first.mask, first.sizes) == ("mine", "window:4", {"H": 2, "n_q": 10, "n_kv": 10})
    assert second.sizes == {"H": 3}


def test_every_combination_once() -> None:
    shapes = read_shapes(["GPT-2:64", "H=12,d=64,n=64"])
    made = workloads(shapes, ["float32", "bfloat16"], ["none", "causal"], ["fwd", "bwd"])
    assert len(made) == 8  # the two shapes are the same
    assert {str(w.mask) for w in workloads(shapes, ["float32"], [], ["fwd"])} == {"causal", "none"}


def test_lengths_and_decoding() -> None:
    made = workloads(read_shapes(["Llama-3-8B:512"]), ["float32"], [], ["fwd"], lengths=[64, 128], decode=True)
    assert [(w.n_q, w.n_kv, w.label) for w in made] == [
        (1, 64, "Llama-3-8B 64, decoding"), (1, 128, "Llama-3-8B 128, decoding"),
    ]  # fmt: skip


BAD_FILES = {
    "[[shape]]\nH = 0": "shape 1: H=0 is not a whole number of at least 1",
    "[[shape]]\nH = 2.5": "H=2.5 is not a whole number",
    "[[shape]]\nheads = 2": "no size is called 'heads'; there are n, B, H",
    "[[shape]]\nmask = 'diagonal'": "mask 'diagonal' is not understood",
    "[[shape]]\nname = 3": "name and mask are texts",
    "shape = 3": "holds no tables [[shape]]",
    "": "holds no tables [[shape]]",
    "[[shape": "is not valid TOML",
    "[[shapes]]\nn = 3": "'shapes' is not understood: write every shape under [[shape]]",
    "[[shape]]\nn = 3\n[other]\nn = 4": "'other' is not understood: write every shape under [[shape]]",
    "[[shape]]\nn = " + "9" * 5000: "is not valid TOML",
    "[[shape]]\nn = 0x" + "f" * 5000: "shape 1: n_q has more than 15 digits",
    "[[shape]]\nn = nan": "n_q=nan is not a whole number",
    "[[shape]]\nn = true": "n_q=True is not a whole number",
    "[[shape]]\nn = 4\nmask = 'window:99999999999999999999'": "of at most 15 digits",
    "a = " + "[" * 100_000: "it is nested too deeply",
}


@pytest.mark.parametrize("text", BAD_FILES, ids=lambda text: text[:30])
def test_bad_files(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(TargetError) as found:
        read_shapes([str(path)])
    assert BAD_FILES[text] in str(found.value)
    assert "bad.toml" in str(found.value) or "mask" in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("BERT-large", "shape 'BERT-large' is not one of BERT-base, GPT-2, Llama-3-8B"),
        ("BERT-base:", None),
        ("BERT-base:0", "write a length of at least 1"),
        ("BERT-base:long", "write a length of at least 1"),
        ("H=2,n", "size 'n' is not understood"),
        ("H=x", "size 'H=x' is not understood"),
        ("H=-1", "H=-1 is not a whole number of at least 1"),
        ("q=3", "no size is called 'q'"),
        ("n=--5", "size 'n=--5' is not understood"),
        ("n=" + "9" * 5000, "is not understood: write sizes as"),
        ("BERT-base:" + "9" * 5000, "write a length of at least 1"),
        ("n=4,n=5", "n is given twice"),
        ("", "shape '' is not one of"),
        ("nowhere.toml", "nowhere.toml cannot be read: No such file"),
    ],
)
def test_bad_words(text: str, words: str | None) -> None:
    if words is None:
        assert len(read_shapes([text])) == 2
        return
    with pytest.raises(TargetError) as found:
        read_shapes([text])
    assert words in str(found.value)
    assert len(str(found.value)) < 400
