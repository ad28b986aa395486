"""What an option takes: finite numbers, seeds that every generator takes, and the same from a configuration file.

click's FloatRange lets nan through, and a default of an option is converted where nobody says which file it came from.
"""

from __future__ import annotations

import math
from typing import Any

import click

from finetune.errors import BadInput


class Finite(click.FloatRange):
    """A number in a range; infinite ones and nan are in none."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Raises: click.BadParameter for what is none, or lies outside."""
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found


SEED = click.IntRange(0, 2**62)
"""Seeds that torch and NumPy take, with room for the ones that are counted on from them."""


def check_value(path: str, option: click.Parameter, value: Any) -> None:
    """Refuse what a configuration file has for an option that does not take it. Raises: BadInput, in one line."""
    if option.multiple or option.nargs != 1:
        return  # a list of choices, which its command reads by itself
    kind, fits = expected_value(option)
    if not fits(value):
        raise BadInput(f"{path}: {option.name} should be {kind}, not {value!r}")
    if kind == "true or false":
        return
    try:
        option.type.convert(value, option, None)
    except click.BadParameter as error:
        raise BadInput(f"{path}: {option.name}: {error.message}") from None


def expected_value(option: click.Parameter) -> tuple[str, Any]:
    """What TOML should have for an option, in words and as a test.

    Example: wanted of --epochs is ("a whole number", ...): 1.5, true and "3" are none.
    """
    number = (int, float)
    if getattr(option, "is_flag", False):
        return "true or false", lambda value: isinstance(value, bool)
    if isinstance(option.type, click.types.IntParamType):
        return "a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)
    if isinstance(option.type, click.types.FloatParamType):
        return "a number", lambda value: isinstance(value, number) and not isinstance(value, bool)
    return "a text in quotes", lambda value: isinstance(value, str)
