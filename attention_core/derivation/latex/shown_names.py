r"""Names as a document writes them, where the checker has names of its own for what it reads.

A member of the family $x^{(\cdot)}$ is shown as $x^{(i)}$, and an index that was renamed as it stood before.
"""

from __future__ import annotations

import re
from typing import Any

from attention_core.derivation.latex.printer import FAMILY_LABEL

_MEMBER = re.compile(rf"{re.escape(FAMILY_LABEL)}_(?:\{{([^{{}},]+)(?:,([^{{}}]+))?\}}|(\w+))")
_RENAMED = re.compile(r"(?<=[A-Za-z}'])§\d+")
_ANY_OF = re.compile(r"(?<=[A-Za-z})])\[\]")
_ANY_MEMBER = "^{(i)}"


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
    return _ANY_OF.sub("_i", text) if "[]" in text else text


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
