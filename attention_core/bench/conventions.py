"""A kernel's conventions in words: as `bench` takes them, after an @, and as `verify` does, in options.

What the suite says of a target names the options of `verify`; here they become what can be written to `bench`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from attention_core.declaration.implementation import TargetError
from attention_core.declaration.options import FLAGS, HELP, option_of

REPEATED = ("arguments", "parameters")
"""Fields that may be given more than once, each time one NAME=VALUE."""
OWN = ("device",)
"""Fields that are options of `bench` itself."""
FIELDS = {option_of(name): name for name in HELP if name not in OWN}
OPTION = re.compile(r"--(no-)?([a-z]+(?:-[a-z]+)*)(?![a-z-])( (?!does not apply))?")
PYTHON = re.compile(r" \(in Python [^()]*\)")


def conventions(name: str) -> list[tuple[str, str]]:
    """What stands after the @ of a kernel's name: fields and their texts.

    Raises: TargetError for a word that says nothing.

    Example:
        >>> conventions("f.py:f@layout=bnhd")
        [('layout', 'bnhd')]
    """
    found: list[tuple[str, str]] = []
    for word in filter(None, name.partition("@")[2].split(",")):
        field, equals, value = word.partition("=")
        if equals:
            found.append((field, value))
        elif found:  # the value itself has a comma, as in returns=out,weights
            found[-1] = found[-1][0], f"{found[-1][1]},{word}"
        else:
            raise TargetError(f"kernel {name!r}: write TARGET@FIELD=VALUE,...")
    return found


def with_convention(name: str, words: str) -> str:
    """A kernel's name with one convention more."""
    return f"{name}{',' if '@' in name else '@'}{words}"


def in_bench_words(text: str, name: str) -> str:
    """A sentence of the suite on a kernel, its options as they are written here.

    Example:
        >>> in_bench_words("give --factory", "f.py:f")
        'give f.py:f@factory=true'
    """

    def here(found: re.Match[str]) -> str:
        no, word, space = found.groups()
        field = FIELDS.get(f"--{word}", "")
        if field in FLAGS:
            return with_convention(name, f"{field}={'false' if no else 'true'}") + (space or "")
        if not field or no:
            return found[0]
        return with_convention(name, f"{field}=") if space else f"@{field}"

    return OPTION.sub(here, PYTHON.sub("", text))


@contextmanager
def bench_words(name: str) -> Iterator[None]:
    """Express what the suite refuses of a kernel in the options of `bench`."""
    try:
        yield
    except TargetError as error:
        raise TargetError(in_bench_words(str(error), name)) from error


def verify_words(name: str) -> str:
    """A kernel as `attention-core verify` takes it: its target, then options.

    Example:
        >>> verify_words("f.py:f@dead_rows=nan,gradients=false")
        'f.py:f --dead-rows nan --no-gradients'
    """
    words = [name.partition("@")[0]]
    for field, value in conventions(name):
        option = option_of(field)
        if field in FLAGS:
            off = value.lower() in ("false", "no", "0")
            words.append(f"--no-{option.removeprefix('--')}" if off else option)
        else:
            words.append(f"{option} '{value}'" if re.search(r"[\s*<>()'&|;$]", value) else f"{option} {value}")
    return " ".join(words)
