r"""The text of a file, from its bytes.

A file is UTF-8, or it says what it is: by a byte-order mark, or as LaTeX and editors have it, by
`\usepackage[latin1]{inputenc}` or `% -*- coding: latin-1 -*-`. The encoding of any other file would be a guess, and a
wrong one changes words without a trace; such a file is refused, and the message has the command that converts it.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePath

from attention_core.derivation.latex.syntax import Unreadable

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
"""Byte-order marks and codecs; that of UTF-32 begins with that of UTF-16."""

NAMES = {
    "utf-8": "utf8 utf8x utf8unicode utf8mb4",
    "ascii": "ascii usascii",
    "latin-1": "latin1 isolatin isolatin1 iso88591 l1",
    "iso8859-2": "latin2 isolatin2 iso88592 l2",
    "iso8859-3": "latin3 iso88593",
    "iso8859-4": "latin4 iso88594",
    "iso8859-5": "iso88595",
    "iso8859-7": "iso88597",
    "iso8859-9": "latin5 isolatin5 iso88599",
    "iso8859-15": "latin9 latin0 isolatin9 iso885915 l9",
    "iso8859-16": "latin10 iso885916",
    "cp1250": "cp1250 windows1250",
    "cp1251": "cp1251 windows1251 windowscyrillic",
    "cp1252": "cp1252 windows1252 ansinew windowslatin1",
    "cp1253": "cp1253 windows1253",
    "cp1254": "cp1254 windows1254",
    "cp1257": "cp1257 windows1257",
    "cp437": "cp437",
    "cp850": "cp850",
    "cp852": "cp852",
    "cp855": "cp855",
    "cp858": "cp858",
    "cp865": "cp865",
    "cp866": "cp866",
    "mac-roman": "applemac macosroman macroman macintosh",
    "mac-latin2": "macce",
    "mac-cyrillic": "maccyr maccyrillic",
    "koi8-r": "koi8r",
    "koi8-u": "koi8u koi8ru",
    "gb18030": "gb18030 gbk gb2312 gb cp936 euccn chinesegbk chinesegb18030 chineseiso8bit",
    "big5hkscs": "big5hkscs",
    "cp950": "big5 bg5 cp950 chinesebig5",
    "cp932": "shiftjis sjis cp932 windows31j japaneseshiftjis",
    "euc-jp": "eucjp ujis jis japaneseiso8bit",
    "iso2022-jp": "iso2022jp jisjapanese junet",
    "cp949": "euckr cp949 uhc ks koreaniso8bit",
}
"""Codecs of Python, and the names that LaTeX and editors give them, as `_plain` writes a name."""

CODECS = {name: codec for codec, names in NAMES.items() for name in names.split()}
TEXTUAL = frozenset({".md", ".markdown", ".ipynb"})  # where a command of TeX is an example, not a declaration
FIRST_LINES, LAST_LINES, TEXSHOP_LINES = 2, 30, 20
LONGEST_COMMENT = 500  # characters of a line that an editor reads

_LOADED = re.compile(r"\\(?:usepackage|RequirePackage)\s*\[([^][]*)\]\s*\{\s*inputen[cx]\s*\}")
_CTEX = re.compile(r"\\(?:usepackage|documentclass)\s*\[([^][]*)\]\s*\{\s*ctex[a-z]*\s*\}")
_SWITCHED = (
    re.compile(r"\\inputencoding\s*\{([^{}]*)\}"),
    re.compile(r"\\XeTeX(?:input|default)encoding\s*\"?([\w-]+)"),
    re.compile(r"\\begin\s*\{CJK\*?\}\s*(?:\[[^][]*\]\s*)?\{([^{}]*)\}"),
)
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
_VERBATIM = re.compile(r"\\(begin|end)\s*\{(?:verbatim|lstlisting|minted|comment|filecontents)\*?\}")
_COOKIE = re.compile(r"-\*-(?:.*;)?\s*coding:\s*([\w.-]+)\s*(?:;.*)?-\*-")
_TEXSHOP = re.compile(r"(?i)^\s*%+\s*!\s*TEX\s+encoding\s*=\s*([\w .-]+)")
_LOCAL = re.compile(r"^\W*coding:\s*([\w.-]+)")
_VIM = re.compile(r"\bvim?:.*\b(?:fileencoding|fenc)=([\w-]+)")


def decode_text(data: bytes, name: str = "") -> str:
    r"""Return the text of a file, without a byte-order mark.

    Args:
        data: The bytes of the file.
        name: Its name: commands of TeX declare nothing in Markdown and in a notebook.

    Returns:
        The text, decoded by its byte-order mark, else as UTF-8, else as the file declares.

    Raises:
        Unreadable: The file is none of these; the message says how to convert it.

    Example:
        >>> decode_text("\\usepackage[latin1]{inputenc} % Poincaré".encode("latin-1"), "a.tex")[-8:]
        'Poincaré'
    """
    mark = next((codec for mark, codec in MARKS if data.startswith(mark)), "")
    if mark:
        return _decode(data, mark, "the file begins with a byte-order mark of " + mark.upper().removesuffix("-SIG"))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _decode_by_name(data, name, error)
    if "\0" in text:
        raise Unreadable(f"the file is not text: it has NUL bytes{_suggest_wide(data)}", 1)
    if "\x1b$" in text and set(_find_names(text, name)) == {"iso2022-jp"}:  # its bytes are those of ASCII
        return _decode(data, "iso2022-jp", "the file declares ISO-2022-JP")
    return text


def read_text(path: Path) -> str:
    """Return the text of a file, see `decode_text`.

    Args:
        path: The file.

    Raises:
        OSError: It cannot be opened.
        Unreadable: Its encoding is not known.
    """
    return decode_text(path.read_bytes(), path.name)


def _decode_by_name(data: bytes, name: str, error: UnicodeDecodeError) -> str:
    """The text of a file that is not UTF-8 as it declares."""
    line = data.count(b"\n", 0, error.start) + 1
    where = f"the file is not UTF-8 (byte {error.start}, in line {line})"
    found = _find_names(data.decode("latin-1"), name)
    names = [one for one in found if one]
    unknown = found.get("", "")
    if unknown:
        raise Unreadable(f"{where}, and its encoding '{unknown}' is not known here: {_convert(unknown)}", line)
    if len(names) > 1:
        raise Unreadable(f"{where} and declares {' and '.join(found.values())}: {_convert('NAME')}", line)
    if not names or names == ["utf-8"]:
        likely = suggest_encoding(data)
        looks = f"; it looks like {likely}" if likely else ""
        declares = "but declares that it is" if names else "and declares no encoding"
        raise Unreadable(f"{where} {declares}{looks}: save it as UTF-8, or {_convert(likely or 'NAME')}", line)
    return _decode(data, names[0], f"the file declares {found[names[0]]}")


def _decode(data: bytes, codec: str, why: str) -> str:
    """The text, or a refusal with the place of the first byte that the encoding does not have."""
    try:
        text = data.decode(codec)
    except UnicodeDecodeError as error:
        at, raw = error.start, data[error.start : error.start + 1].hex()
    else:
        control = re.search("[\x80-\x9f]", text)  # the Latin encodings leave these bytes without a character
        if control is None or "utf" in codec:
            return text
        at, raw = len(text[: control.start()].encode(codec)), f"{ord(control.group()):02x}"
    line = data.count(b"\n", 0, at) + 1
    raise Unreadable(f"{why}, but byte {at}, in line {line}, is 0x{raw}: save it as UTF-8", line)


def _convert(encoding: str) -> str:
    """The command that converts a file."""
    return f"convert it: iconv -f {encoding} -t UTF-8 FILE > NEW"


def _suggest_wide(data: bytes) -> str:
    """The command that converts UTF-16 without a mark, where every second byte of most letters is 0."""
    for first, name in ((1, "UTF-16LE"), (0, "UTF-16BE")):
        if data[first::2].count(0) * 10 > 7 * len(data[first::2]) and data[1 - first :: 2].count(0) == 0:
            return f", as {name} has; {_convert(name)}"
    return ""


def _find_names(text: str, name: str) -> dict[str, str]:
    """The codecs that a file declares, each with the name it gives; '' for a name that is not known."""
    written = _find_commands(text) if PurePath(name).suffix.lower() not in TEXTUAL else []
    written = written or ([] if name.lower().endswith(".ipynb") else _find_comments(text.splitlines()))
    return {CODECS.get(_plain(one), ""): one for one in written}


def _plain(name: str) -> str:
    """The name of an encoding without what people write differently."""
    return re.sub(r"[^a-z0-9]", "", re.sub(r"-(?:unix|dos|mac)$", "", name.strip().lower()))


def _find_commands(text: str) -> list[str]:
    """What the commands of TeX declare, outside comments and verbatim text.

    What the preamble loads holds for the whole file, so that UTF-8 is left out of several: the bytes are not that.
    """
    lines, inside = [], False
    for line in text.splitlines():
        end = _VERBATIM.search(line)
        if end is not None:
            inside = end.group(1) == "begin"
        elif not inside:
            lines.append(_COMMENT.sub(r"\1", line))
    text = "\n".join(lines)
    preamble = text.partition(r"\begin{document}")[0]
    loaded = [options.split(",")[-1].strip() for options in _LOADED.findall(preamble)]
    for options in _CTEX.findall(preamble):
        loaded += [one.strip() for one in options.split(",") if one.strip().lower() in ("gbk", "utf8")]
    others = [one for one in loaded if CODECS.get(_plain(one)) != "utf-8"]
    return (others or loaded) + [one.strip() for pattern in _SWITCHED for one in pattern.findall(text)]


def _find_comments(lines: list[str]) -> list[str]:
    """What comments declare to Emacs, TeXShop and vim, each where that editor looks for it."""
    ends = lines[:TEXSHOP_LINES] + lines[max(TEXSHOP_LINES, len(lines) - LAST_LINES) :]
    lines = [line[:LONGEST_COMMENT] for line in ends]
    last = lines[-LAST_LINES:]
    local = next((k for k, line in enumerate(last) if "Local Variables:" in line), len(last))
    looked = (
        (_COOKIE, lines[:FIRST_LINES]), (_TEXSHOP, lines[:TEXSHOP_LINES]), (_LOCAL, last[local:]),
        (_VIM, lines[:5] + lines[-5:]),
    )  # fmt: skip
    return [match.group(1).strip() for pattern, some in looked for match in map(pattern.search, some) if match]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An encoding that a file may have, and what texts in it are made of."""

    name: str  # as iconv has it
    codec: str
    usual: str  # the most frequent characters beyond ASCII
    share: float  # that they make of these at least
    mixed: bool = False  # whether words have letters of ASCII, too


_MARKS_OF_HAN = "，。：；、（）“”"
_HAN = _MARKS_OF_HAN + "的一是在不了有和数中上以得可到其所如由于定理法式量即等明方"
_TRADITIONAL = _MARKS_OF_HAN + "的一是在不了有和數中上以得可到其所如由於定理法式量即等明方"
_KANA = "のにはをたがでてとしれさあいるなもらこ、。"
_CYRILLIC = "оеаинтсрвлкмдпуязыьбг"
_CANDIDATES = (
    _Candidate("GB18030", "gb18030", _HAN, 0.15),
    _Candidate("BIG5", "cp950", _TRADITIONAL, 0.15),
    _Candidate("SHIFT_JIS", "cp932", _KANA, 0.25),
    _Candidate("EUC-JP", "euc-jp", _KANA, 0.25),
    _Candidate("CP949", "cp949", "이다는의에을를가고하한지로은그과도수와서", 0.2),
    _Candidate("CP1251", "cp1251", _CYRILLIC, 0.6),
    _Candidate("KOI8-R", "koi8-r", _CYRILLIC, 0.6),
    _Candidate("MACINTOSH", "mac-roman", "éèàçùâêîôûëïüöäßñáóú“”‘’–—…", 0.9, mixed=True),
    _Candidate("CP1252", "cp1252", "éèàçùâêîôûëïüöäßñáíóúãõøåæÉÖÜÄÀ«»“”’–—°§", 0.9, mixed=True),
)
LEAST = 4  # usual characters that a text of other letters than Latin ones has, or nothing is said of it


def suggest_encoding(data: bytes) -> str:
    r"""Return the one encoding in which bytes are a plausible text; '' if there are none or several.

    Args:
        data: The bytes of a file that is not UTF-8.

    Returns:
        The name, as iconv has it.

    Example:
        >>> suggest_encoding("证明：设 $x$ 是一个数，则有".encode("gb18030"))
        'GB18030'
    """
    found: dict[str, str] = {}
    for one in _CANDIDATES:
        try:
            text = data.decode(one.codec)
        except UnicodeDecodeError:
            continue
        if _is_plausible(text, one):
            found.setdefault(text, one.name)
    return next(iter(found.values())) if len(found) == 1 else ""


def _is_plausible(text: str, candidate: _Candidate) -> bool:
    counts = Counter(re.findall(r"[^\x00-\x7f]", text))
    usual = sum(counts[one] for one in set(candidate.usual))
    if usual < candidate.share * counts.total() or usual < (1 if candidate.mixed else LEAST):
        return False
    words = [word for word in re.findall(r"[^\W\d_]+", text) if not word.isascii()]
    whole = sum(not re.search("[A-Za-z]", word) and len(word) > 1 for word in words)
    return whole * 5 <= len(words) if candidate.mixed else whole * 2 > len(words)


__all__ = ["decode_text", "read_text", "suggest_encoding"]
