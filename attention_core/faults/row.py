"""A row of the catalogue of faults: one target, what it declares, where it comes from, and what is expected of it.

Rows are data. The fast tests keep them sound; `tox run -e power` puts every law to every one of them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from attention_core.conformance import Implementation

THREAD = re.compile(r"[\w.-]+/[\w.-]+(?:#| PR)\d+")
EXPECTED = ("refuted", "conforms", "equivalent", "allowed")
"""equivalent: no input tells it from a correct one. allowed: its error is one that the declaration or the contract
allows.
"""


@dataclass(frozen=True)
class Row:
    """One target.

    Args:
        name: "file.target", unique; a fault that has moved keeps the name under which its results are published.
        make: gives the target, afresh (its state is new).
        about: the first line of its docstring, which tells the fault.
        source: the issue threads that its docstring names, or ("own",).
        bug: its name in the list of real faults; "" for those of our making.
        tags: "real", "law" (written beside the law that it is for), "hard", "set-1" to "set-5" (the hard ones that were
            written in one go without a look at the laws, in the order of their writing), "odd" (correct).
        expected: one of `EXPECTED`; anything but "refuted" and "conforms" has its argument.
        record: fields of `Implementation`, the contract among them.
        file: the module that defines it.
    """

    name: str
    make: Callable[[], Any]
    about: str
    source: tuple[str, ...]
    bug: str = ""
    tags: frozenset[str] = frozenset()
    expected: str = "refuted"
    argument: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)
    file: str = ""

    @property
    def contract(self) -> str:
        """The contract whose laws are put to it."""
        return str(self.record.get("contract", "attention"))

    @property
    def faulty(self) -> bool:
        """Whether it is counted among the faults."""
        return self.expected == "refuted"

    def implementation(self) -> Implementation:
        """The record under test, with a new target."""
        return Implementation(self.make(), name=self.name, **self.record)


SETS = {
    "first_sight": "set-1",
    "second_sight": "set-2",
    "third_sight": "set-3",
    "fourth_sight": "set-4",
    "fifth_sight": "set-5",
}
"""How the files began that a set was written in, and the tag of its faults."""


def rows(written_in: str, *targets: Any, **how: Any) -> tuple[Row, ...]:
    """Rows of hard faults that declare the same.

    Args:
        written_in: the file that they were written in, which their names begin with and which says their set.
        targets, how: as `row` takes them.
    """
    tags = ("hard", *(f"set-{n}" for n, start in enumerate(SETS, 1) if written_in.startswith(start)))
    return tuple(row(target, *tags, prefix=written_in, **how) for target in targets)


def row(
    target: Any, *tags: str, bug: str = "", direct: bool = False, expected: str = "refuted", argument: str = "",
    name: str = "", prefix: str = "", **record: Any,
) -> Row:  # fmt: skip
    """A row for a factory of targets, or (`direct`) for the target itself, which must have no state then.

    Its name is `name`, or that of the target behind `prefix`, which is its file's unless one is given.
    """
    text = inspect.getdoc(target) or ""
    if not text:
        raise ValueError(f"{target!r} has no docstring to tell its fault")
    if expected not in EXPECTED or (expected in EXPECTED[2:]) != bool(argument):
        raise ValueError(f"{target!r}: expected={expected!r} with argument {argument!r}")
    own = target if inspect.isfunction(target) or inspect.isclass(target) else type(target)
    prefix = prefix or own.__module__.rpartition(".")[2]
    threads = tuple(dict.fromkeys(THREAD.findall(" ".join(text.split()))))
    return Row(
        name or f"{prefix}.{own.__name__}", (lambda: target) if direct else target,
        text.split("\n\n")[0].replace("\n", " "),
        threads or ("own",), bug, frozenset(tags), expected, argument, record, own.__module__,
    )  # fmt: skip
