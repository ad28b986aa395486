"""Domains that sentences say in passing."""

from __future__ import annotations

from attention_core.derivation.document.source import blocks_of
from attention_core.derivation.inference.written_domains import written_domains
from attention_core.derivation.latex.printer import symbol_name


def test_domains_in_sentences_lists_and_displays() -> None:
    text = (
        "We have keys $k, q \\in \\mathbb{R}^{d_k}$ and $n \\in \\mathbb{N}$.\n\n- $W \\in \\mathbb{R}^{2d \\times m}$\n\n"
        "$$ b \\in \\mathbb{R} $$\n\nIt is in $x \\in \\mathcal{X}$ and $T \\in \\mathbb{R}^{a \\times b \\times c}$.\n"
    )
    found = [(symbol_name(one.symbol), str(one.type), one.line) for one in written_domains(blocks_of(text))]
    assert found == [
        ("k", "a column of d_{k}", 1),
        ("q", "a column of d_{k}", 1),
        ("n", "None", 1),
        ("W", "a 2 d x m matrix", 3),
        ("b", "a number", 5),
    ]
