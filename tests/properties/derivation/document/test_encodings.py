"""The text of a file: what is known for sure is decoded, and all else refused with the way out."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from attention_core.derivation.document.encodings import CODECS, NAMES, decode_text, read_text, suggest_encoding
from attention_core.derivation.latex.syntax import Unreadable

HEAD = "\\documentclass{article}\n"
BODY = "\n\\begin{document}\nSoit $x \\in \\mathbb{R}$, où é = 1.\n\\end{document}\n"


def refuse(data: bytes, name: str = "a.tex") -> str:
    """The message on bytes that are refused: one line."""
    with pytest.raises(Unreadable) as refusal:
        decode_text(data, name)
    assert "\n" not in refusal.value.message and refusal.value.line >= 1
    return refusal.value.message


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("name", ["a.tex", "a.md", "a.ipynb"])
def test_marks_decide(codec: str, name: str) -> None:
    text = "Let $x > 0$: é, 证, 𝔼.\n"
    assert decode_text(text.encode(codec), name) == text
    if codec == "utf-16":
        assert decode_text(codecs.BOM_UTF16_BE + text.encode("utf-16-be"), name) == text


@pytest.mark.parametrize(
    ("codec", "declared"),
    [
        ("latin-1", "\\usepackage[latin1]{inputenc}"),
        ("latin-1", "\\RequirePackage [T1,\n latin1] {inputenc}"),
        ("latin-1", "\\usepackage[utf8,latin1]{inputenc}"),  # LaTeX takes the last
        ("iso8859-15", "\\usepackage[latin9]{inputenc}"),
        ("cp1252", "\\usepackage[ansinew]{inputenc} % or utf8"),
        ("mac-roman", "\\inputencoding{applemac}"),
        ("latin-1", "% !TEX encoding = IsoLatin"),
        ("latin-1", "%!TEX encoding = ISO-8859-1"),
        ("latin-1", "\\XeTeXinputencoding \"latin1\""),
        ("latin-1", "\\ifx\\pdf\\undefined \\usepackage[latin1]{inputenc} \\else \\usepackage[utf8]{inputenc} \\fi"),
    ],
)  # fmt: skip
def test_a_latex_file_says_its_encoding(codec: str, declared: str) -> None:
    text = HEAD + declared + BODY
    assert decode_text(text.encode(codec), "a.tex") == text
    assert "declares no encoding" in refuse(text.replace(declared, "").encode(codec))


@pytest.mark.parametrize(
    ("codec", "first", "last"),
    [
        ("latin-1", "% -*- coding: latin-1 -*-", ""),
        ("latin-1", "% -*- mode: latex; coding: iso-8859-1-unix; -*-", ""),
        ("latin-1", "<!-- -*- coding: latin-1 -*- -->", ""),
        ("latin-1", "", "% Local Variables:\n% mode: latex\n% coding: latin-1\n% End:\n"),
        ("latin-1", "", "% vim: set fileencoding=latin1 tw=80:\n"),
        ("latin-1", "% vim: fenc=latin1", ""),
    ],
)
@pytest.mark.parametrize("name", ["a.tex", "a.md"])
def test_comments_for_an_editor_say_it(codec: str, first: str, last: str, name: str) -> None:
    text = first + BODY + last
    assert decode_text(text.encode(codec), name) == text


@pytest.mark.parametrize(
    ("codec", "declared", "words"),
    [
        ("gb18030", "\\begin{CJK*}{GBK}{song}", "设矩阵可逆"),
        ("gb18030", "\\usepackage[GBK]{ctex}", "设矩阵可逆"),
        ("gb18030", "\\documentclass[12pt, GBK]{ctexart}", "设矩阵可逆"),
        ("cp950", "\\begin{CJK}{Bg5}{bsmi}", "設矩陣可逆"),
        ("euc-jp", "\\begin{CJK}{JIS}{min}", "行列とする"),
        ("cp949", "\\begin{CJK}{KS}{}", "행렬의 역"),
        ("cp1251", "\\usepackage[cp1251]{inputenc}", "Пусть"),
        ("koi8-r", "\\usepackage[koi8-r]{inputenc}", "Пусть"),
        ("gb18030", "%!TEX encoding = GB 18030", "设矩阵可逆"),
        ("cp932", "% -*- coding: shift_jis -*-", "行列とする表"),
        ("iso2022-jp", "% -*- coding: iso-2022-jp -*-", "行列とする"),
    ],
)
def test_other_letters_are_declared_alike(codec: str, declared: str, words: str) -> None:
    text = f"{declared}\n{words} $x = x$\n"
    assert decode_text(text.encode(codec), "a.tex") == text


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        ("% \\usepackage[latin1]{inputenc}", "a.tex"),  # a comment
        ("\\begin{verbatim}\n\\usepackage[latin1]{inputenc}\n\\end{verbatim}", "a.tex"),
        ("```latex\n\\usepackage[latin1]{inputenc}\n```", "a.md"),
        ("Text.\n\nMore.\n\n% -*- coding: latin-1 -*-", "a.md"),  # not where an editor looks
        ("The line `% !TEX encoding = IsoLatin` says it.", "a.tex"),
        ("\\usepackage[T1]{fontenc}", "a.tex"),
    ],
)
def test_what_only_looks_like_a_declaration_is_none(declared: str, name: str) -> None:
    message = refuse((declared + BODY + "more\n" * 40).encode("latin-1"), name)
    assert "declares no encoding; it looks like CP1252" in message
    assert "iconv -f CP1252 -t UTF-8 FILE > NEW" in message


def test_a_notebook_is_never_in_an_encoding_that_its_cells_name() -> None:
    refuse('{"cells": "% -*- coding: latin-1 -*- é"}'.encode("latin-1"), "a.ipynb")


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ("\\usepackage[latin1]{inputenc}\n\\inputencoding{koi8-r}", "declares latin1 and koi8-r"),
        ("\\usepackage[latin1]{inputenc}\n\\begin{document}\n\\inputencoding{utf8}", "declares latin1 and utf8"),
        ("\\usepackage[next]{inputenc}", "its encoding 'next' is not known here"),
        ("\\usepackage[utf8]{inputenc}", "but declares that it is"),
        ("\\usepackage[ascii]{inputenc}", "the file declares ascii, but byte"),
    ],
)
def test_what_is_declared_and_cannot_be_is_refused(declared: str, words: str) -> None:
    assert words in refuse((declared + BODY).encode("latin-1"))


def test_bytes_without_a_character_are_refused_with_their_line() -> None:
    """0x92 is the apostrophe of Windows: the file is not in latin1, whatever it says."""
    data = b"\\usepackage[latin1]{inputenc}\nl\x92\xe9quation\n"
    assert "byte 31, in line 2, is 0x92" in refuse(data)
    assert decode_text(data.replace(b"latin1", b"cp1252"), "a.tex").endswith("l’équation\n")


def test_a_file_that_is_utf8_is_read_so_whatever_it_declares() -> None:
    text = "\\usepackage[latin1]{inputenc}\n" + BODY
    assert decode_text(text.encode(), "a.tex") == text


@pytest.mark.parametrize("order", ["le", "be"])
def test_sixteen_bits_without_a_mark_are_named(order: str) -> None:
    message = refuse("Let $x > 0$.\n".encode(f"utf-16-{order}"), "a.md")
    assert "NUL bytes" in message and f"iconv -f UTF-16{order.upper()} -t UTF-8" in message


def test_nul_bytes_alone_suggest_nothing() -> None:
    assert "iconv" not in refuse(b"x = \0 y", "a.md")


def test_a_mark_that_does_not_hold_is_refused() -> None:
    assert "byte-order mark of UTF-16" in refuse(codecs.BOM_UTF16_LE + b"abc", "a.md")


TEXTS = {
    "GB18030": "证明：设矩阵的秩为一，由定理可得方程的解。",
    "BIG5": "證明：設矩陣的秩為一，由定理可得方程的解。",
    "SHIFT_JIS": "ここで行列の固有値を考える。これは正である。",
    "EUC-JP": "ここで行列の固有値を考える。これは正である。",
    "CP949": "여기서 행렬의 고유값은 모두 양수이다. 따라서 증명이 끝난다.",
    "CP1251": "Пусть матрица симметрична, тогда её собственные значения вещественны.",
    "KOI8-R": "Пусть матрица симметрична, тогда её собственные значения вещественны.",
    "MACINTOSH": "This isn’t convex; l'équation a été démontrée.",
    "CP1252": "L'équation a été démontrée; für größere Werte à l'infini, señor.",
}


@pytest.mark.parametrize("name", TEXTS)
def test_one_plausible_encoding_is_suggested(name: str) -> None:
    data = f"Let $x = x$.\n{TEXTS[name]}\n".encode(name)
    assert suggest_encoding(data) == name
    assert f"it looks like {name}: save it as UTF-8, or convert it: iconv -f {name} " in refuse(data, "a.md")


@pytest.mark.parametrize(
    "data", [bytes(range(128, 256)), b"x = \xff\xfe", "Łódź, źdźbło".encode("iso8859-2"), b"\xe9" * 9]
)
def test_nothing_is_suggested_without_a_plausible_one(data: bytes) -> None:
    assert suggest_encoding(data) == ""
    assert "declares no encoding: save it as UTF-8, or convert it: iconv -f NAME " in refuse(data, "a.md")


def test_every_name_has_one_codec() -> None:
    names = [name for some in NAMES.values() for name in some.split()]
    assert len(names) == len(set(names)) == len(CODECS)
    assert {codecs.lookup(codec).name for codec in NAMES}


def test_long_lines_of_openings_are_searched_in_linear_time() -> None:
    for part in ("-*-;", "\\usepackage[", "\\begin{CJK}[", "vim:", "\\\\%"):
        assert "declares no encoding" in refuse(part.encode() * 300_000 + b"\xff\xfe")


def test_a_file_is_read_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.tex"
    path.write_bytes(b"\\usepackage[latin1]{inputenc} \xe9")
    assert read_text(path).endswith("é")
    with pytest.raises(Unreadable):
        read_text(path.rename(tmp_path / "a.md"))
