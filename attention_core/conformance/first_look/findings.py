"""What a first look found: plain lines, the conventions as fields of the record, and the command that declares them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from attention_core.declaration.implementation import Implementation

PLAIN = {"array": "torch", "contract": "attention"}
"""What needs no option."""


@dataclass(frozen=True)
class FirstLook:
    """Findings of a few calls, made before any law.

    Args:
        lines: one to four plain sentences for people.
        found: field of the record -> value, where it differs from what is declared.
        agrees: the target agrees with the truth on the plain call, under the declared conventions and those found.
        nearest: another operation with whose truth the target agrees ("sigmoid attention"), else "".
        calls: how many calls it took.
        seconds: how long it took.
        unjudged: what the conventions found leave out though the target answers it, as a sentence, else "".

    Example:
        >>> FirstLook(("takes query, key, value",), {"layout": "bnhd"}, agrees=True).options()
        '--layout bnhd'
    """

    lines: tuple[str, ...]
    found: Mapping[str, Any] = field(default_factory=dict)
    agrees: bool = False
    nearest: str = ""
    calls: int = 0
    seconds: float = 0.0
    unjudged: str = ""

    @property
    def explains(self) -> bool:
        """Whether other conventions than the declared ones make the target agree with the truth."""
        return self.agrees and bool(self.found)

    @property
    def judges(self) -> bool:
        """Whether the target is judged under what was found: it explains, or no call works with the declared arrays."""
        return self.explains or "array" in self.found

    def options(self) -> str:
        """The options of the command line that declare what was found."""
        return " ".join(option_text(name, value) for name, value in self.found.items())

    def pytest_options(self) -> str:
        """The options of the pytest plugin that declare what was found."""
        return " ".join(pytest_option_text(name, value) for name, value in self.found.items())

    def to_dict(self) -> dict[str, Any]:
        """The findings as JSON values."""
        return {
            "lines": list(self.lines),
            "found": {k: as_json(v) for k, v in self.found.items()},
            "options": self.options(), "agrees": self.agrees, "nearest": self.nearest, "calls": self.calls,
            "seconds": round(self.seconds, 3), "unjudged": self.unjudged,
        }  # fmt: skip


def as_json(value: Any) -> Any:
    """One convention as a JSON value; a condition on sizes as its text."""
    return list(value) if isinstance(value, tuple) else getattr(value, "text", value)


def option_text(name: str, value: Any) -> str:
    """One field of the record as options of the command line.

    Example:
        >>> option_text("gradients", False), option_text("dtypes", ("float32", "float64"))
        ('--no-gradients', '--dtype float32,float64')
    """
    from attention_core.declaration.options import option_of

    option = option_of(name)
    if isinstance(value, bool):
        return option if value else f"--no-{option.removeprefix('--')}"
    if isinstance(value, Mapping):
        return " ".join(f"{option} {shlex.quote(f'{k}={v}')}" for k, v in value.items())
    if isinstance(value, tuple) and name == "declines":
        return " ".join(f"{option} {shlex.quote(v)}" for v in value)
    text = ",".join(value) if isinstance(value, tuple) else str(getattr(value, "text", value))
    return f"{option} {shlex.quote(text)}"


def pytest_option_text(name: str, value: Any) -> str:
    """One field of the record as options of the pytest plugin.

    Example:
        >>> pytest_option_text("layout", "bnhd"), pytest_option_text("gradients", False)
        ('--attention-option layout=bnhd', '--attention-option gradients=false')
    """
    if isinstance(value, Mapping):
        return " ".join(pytest_option_text(name, f"{k}={v}") for k, v in value.items())
    text = str(value).lower() if isinstance(value, bool) else getattr(value, "text", value)
    text = ",".join(text) if isinstance(text, tuple) else text
    return f"--attention-option {shlex.quote(f'{name}={text}')}"


def command(target: str, declared: Mapping[str, Any]) -> str:
    """The command that puts a target through the laws under declared conventions (`Implementation.declared()`).

    Example:
        >>> command("mine.py:f", Implementation(None, name="mine.py:f", layout="bnhd").as_dict())
        'attention-core verify mine.py:f --layout bnhd'
    """
    options = [option_text(name, value) for name, value in select_non_defaults(target, declared).items()]
    return " ".join(["attention-core verify", shlex.quote(target), *options])


def select_non_defaults(target: str, declared: Mapping[str, Any]) -> dict[str, Any]:
    """What is declared and is not the default of the record."""
    # What follows from the array library or from the contract needs no option.
    own = {"array": declared.get("array", "torch"), "contract": declared.get("contract", "attention")}
    plain = Implementation(None, **own).as_dict()
    found: dict[str, Any] = {}
    for name, value in declared.items():
        if value == plain.get(name) and not (name in own and value != PLAIN[name]):
            continue
        if name == "name" or (name in ("arguments", "parameters", "config") and not value):
            continue
        found[name] = tuple(value) if isinstance(value, list) else value
    return found
