"""What a process of the audit has to know: the target and its conventions, what stands in its place, pytest's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from attention_core.conformance.engine.verify import restored_fields
from attention_core.declaration.implementation import Implementation

MODES = ("plain", "watch", "replace")
"""The suite as it is; with its calls of the target counted; with a function of the catalogue in the target's place."""
RIGHT = ""
"""In the place of a fault's name: the right implementation."""


@dataclass(frozen=True)
class Plan:
    """One run of the suite.

    Args:
        target: package.module:name or path/to/file.py:name.
        mode: one of `MODES`.
        fault: the name of a fault of the catalogue, or `RIGHT`.
        declared: the conventions of the target, as `saved_fields` writes them.
        form: the fields of the `Form` in which the target answers.
        arguments: of pytest.
        leave_out: node ids of tests that are not run.
        path: folders that modules are looked for in, after those that are known.
        environment: variables of the run.
        bytecode: the folder for compiled files of all runs, outside the tree; "" for none.
    """

    target: str
    mode: str = "plain"
    fault: str = RIGHT
    declared: Mapping[str, Any] = field(default_factory=dict)
    form: Mapping[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    bytecode: str = ""

    def fields(self) -> dict[str, Any]:
        """The conventions as fields of the record."""
        return restored_fields(self.declared)

    def replacement(self) -> Implementation:
        """What stands in the target's place."""
        from attention_core.audit.choice import find_fault, right_implementation

        contract = str(self.declared.get("contract", "attention"))
        return find_fault(self.fault).implementation() if self.fault else right_implementation(contract)

    def to_json(self) -> dict[str, Any]:
        """As a message."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """The inverse of `to_json`."""
        form = {name: tuple(value) if isinstance(value, list) else value for name, value in data["form"].items()}
        lists = {name: tuple(data[name]) for name in ("arguments", "leave_out", "path")}
        return cls(**{**data, **lists, "form": form})
