r"""Names as a document writes them, where the checker has names of its own for what it reads.

A member of the family $x^{(\cdot)}$ is shown as $x^{(i)}$, an index that was renamed as it stood before, an integral
with its differential, and a derivative as a fraction.
"""

from __future__ import annotations

import re
from typing import Any

from attention_core.derivation.latex.printer import FAMILY_LABEL

_MEMBER = re.compile(rf"{re.escape(FAMILY_LABEL)}_(?:\{{([^{{}},]+)(?:,([^{{}}]+))?\}}|(\w+))")
_RENAMED = re.compile(r"(?<=[A-Za-z}'])§\d+")
_ANY_OF = re.compile(r"(?<=[A-Za-z})])\[\]")
_ANY_MEMBER = "^{(i)}"
_INTEGRAL = "\\int"
_SLOPE, _BY = r"\partial(", r" / \partial("
SET_SIZE = re.compile(r"N_\{\\text\{size(?P<curly>c?)(?P<letter>[A-Z])\}\}")
_VARIABLE = re.compile(r"\\?[A-Za-z]+(?:_(?:\w|\{[^{}]*\}))?")


def show_names(text: str) -> str:
    r"""A text with its names as documents write them.

    Args:
        text: A message, a formula or a name.

    Example:
        >>> show_names(r"x^{(\cdot)}_{i,j} = x^{(\cdot)}_1 + y^{(k§2)}")
        'x^{(i)}_{j} = x^{(1)} + y^{(k)}'
    """
    if "§" in text:
        text = _RENAMED.sub("", text)
    if FAMILY_LABEL in text:
        text = text.replace(f"{FAMILY_LABEL}[]", _ANY_MEMBER)
        text = _MEMBER.sub(_write_member, text).replace(FAMILY_LABEL, _ANY_MEMBER)
    text = show_set_sizes(text)
    text = _ANY_OF.sub("_i", text) if "[]" in text else text
    text = _write_slopes(text) if _SLOPE in text else text
    return _write_integrals(text) if _INTEGRAL in text else text


def show_set_sizes(text: str) -> str:
    r"""A text with the numbers of elements as the document writes them, see `reading.set_sizes`.

    Args:
        text: A formula or a message.

    Example:
        >>> show_set_sizes(r"N_{\text{sizeV}} + N_{\text{sizecD}}")
        '|V| + |\\mathcal{D}|'
    """
    if r"\text{size" not in text:
        return text
    return SET_SIZE.sub(lambda one: rf"|\mathcal{{{one['letter']}}}|" if one["curly"] else f"|{one['letter']}|", text)


def _write_slopes(text: str) -> str:
    r"""A text with `\partial(L) / \partial(x)` as `\frac{\partial L}{\partial x}`."""
    start = text.find(_SLOPE)
    if start < 0:
        return text
    end = find_closing(text, start + len(_SLOPE) - 1)
    if not text.startswith(_BY, end):
        return text[:end] + _write_slopes(text[end:])
    last = find_closing(text, end + len(_BY) - 1)
    body, by = _write_slopes(text[start + len(_SLOPE) : end - 1]), text[end + len(_BY) : last - 1]
    below = " ".join(rf"\partial {one.strip()}" for one in split_at_commas(by))
    return rf"{text[:start]}\frac{{\partial {body.strip()}}}{{{below}}}{_write_slopes(text[last:])}"


def _write_integrals(text: str) -> str:
    r"""A text with `\int_{a}^{b} (f,x)` as `\int_{a}^{b} f \, dx`; what has another form stays as it is."""
    start = text.find(_INTEGRAL)
    if start < 0:
        return text
    end = start + len(_INTEGRAL)
    while text[end : end + 2] in ("_{", "^{"):
        end = find_closing(text, end + 1)
    last = find_closing(text, end + 1) if text.startswith(" (", end) else 0
    parts = split_at_commas(text[end + 2 : last - 1]) if last else []
    if len(parts) < 2 or not all(map(_VARIABLE.fullmatch, parts[1:])):
        return text[:end] + _write_integrals(text[end:])
    body = " ".join((_write_integrals(parts[0]), *(rf"\, d{one}" for one in parts[1:])))
    return f"{text[:end]} {body}{_write_integrals(text[last:])}"


def find_closing(text: str, at: int) -> int:
    """The place behind the bracket that closes the one at a place; the end of the text if none does."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth == 0:
            return place + 1
    return len(text)


def split_at_commas(text: str) -> list[str]:
    """The parts between commas that stand in no bracket."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def _write_member(found: re.Match[str]) -> str:
    place, entry = found[1] or found[3], found[2]
    return f"^{{({place})}}" + (f"_{{{entry}}}" if entry else "")


def show_names_in(record: Any) -> Any:
    """A record of texts, lists and tables with its names as documents write them.

    Args:
        record: A text, or anything that holds some.
    """
    if isinstance(record, str):
        return show_names(record)
    if isinstance(record, dict):
        return {show_names_in(key): show_names_in(value) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return type(record)(show_names_in(one) for one in record)
    return record
